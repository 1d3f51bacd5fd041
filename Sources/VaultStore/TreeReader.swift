package import VaultBytes
internal import VaultFaults

/// Looks things up in the tree under one root.
package struct TreeReader: Sendable {
    package let source: PageSource
    package let root: Commit.Root?

    package init(source: PageSource, root: Commit.Root?) {
        self.source = source
        self.root = root
    }

    /// The leaf entry with this key.
    package func find(_ key: [UInt8]) throws(VaultError) -> (page: Page, index: Int)? {
        guard let root else { return nil }
        var page = try source.page(root.ref, level: root.level)
        var bounds = TreeBounds()
        while !page.layout.isLeaf {
            try bounds.check(page)
            let index = page.childIndex(for: key)
            bounds.enter(page, index)
            page = try source.page(try page.child(index), level: page.layout.level - 1)
        }
        try bounds.check(page)
        let place = page.lowerBound(key)
        return place.isEqual ? (page, place.index) : nil
    }

    /// A cursor that starts at the first key not less than `key`.
    package func cursor(from key: [UInt8] = []) throws(VaultError) -> TreeCursor {
        var cursor = TreeCursor(source: source)
        if let root { try cursor.descend(root, to: key) }
        return cursor
    }
}

/// The separators that a page's keys must lie between, the nearest ones on the way down.
struct TreeBounds: Sendable {
    private var low: (page: Page, index: Int)?
    private var high: (page: Page, index: Int)?

    mutating func enter(_ parent: Page, _ index: Int) {
        if index > 0 { low = (parent, index) }
        if index + 1 < parent.count { high = (parent, index + 1) }
    }

    func check(_ page: Page) throws(VaultError) {
        let first = page.layout.isLeaf ? 0 : 1
        guard first < page.count, !PlantedFault.treeBoundsUnchecked.isPlanted else { return }
        if let low, page.compareKey(first, to: low.page, low.index) < 0 { throw outside(page) }
        if let high, page.compareKey(page.count - 1, to: high.page, high.index) >= 0 { throw outside(page) }
    }

    private func outside(_ page: Page) -> VaultError {
        VaultError(.structureInvalid, "a page holds a key that belongs elsewhere", at: page.offset)
    }
}

/// Walks leaf entries in the order of their keys.
package struct TreeCursor: Sendable {
    private struct Level {
        let page: Page
        var index: Int
    }

    private let source: PageSource
    private var path: [Level] = []
    /// Without the cache: for walks over everything.
    package var isBypassingCache = false

    fileprivate init(source: PageSource) { self.source = source }

    fileprivate mutating func descend(_ root: Commit.Root, to key: [UInt8]) throws(VaultError) {
        var page = try source.page(root.ref, level: root.level)
        while !page.layout.isLeaf {
            try check(page)
            let index = page.childIndex(for: key)
            path.append(Level(page: page, index: index))
            page = try source.page(try page.child(index), level: page.layout.level - 1)
        }
        try check(page)
        path.append(Level(page: page, index: page.lowerBound(key).index))
    }

    /// The next entry: its leaf, and where it is there.
    package mutating func next() throws(VaultError) -> (page: Page, index: Int)? {
        while let last = path.last {
            if last.page.layout.isLeaf, last.index < last.page.count {
                path[path.count - 1].index += 1
                return (last.page, last.index)
            }
            try advance()
        }
        return nil
    }

    /// Leaves the used-up leaf for the next one.
    private mutating func advance() throws(VaultError) {
        path.removeLast()
        while let last = path.last {
            guard last.index + 1 < last.page.count else {
                path.removeLast()
                continue
            }
            path[path.count - 1].index += 1
            var page = try load(try last.page.child(last.index + 1), last.page.layout.level - 1)
            while !page.layout.isLeaf {
                try check(page)
                path.append(Level(page: page, index: 0))
                page = try load(try page.child(0), page.layout.level - 1)
            }
            try check(page)
            path.append(Level(page: page, index: 0))
            return
        }
    }

    private func load(_ ref: ObjectRef, _ level: UInt8) throws(VaultError) -> Page {
        // Leaves are met once in a walk; what is above them, again and again.
        isBypassingCache && level == 0 ? try source.load(ref, level: level) : try source.page(ref, level: level)
    }

    private func check(_ page: Page) throws(VaultError) {
        var bounds = TreeBounds()
        for level in path { bounds.enter(level.page, level.index) }
        try bounds.check(page)
    }
}
