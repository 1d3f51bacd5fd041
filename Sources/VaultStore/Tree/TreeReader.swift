package import VaultBytes

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
        // Without the path of a walk, since it never goes back.
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

    /// The leaves from the one that may hold `key` on.
    package func leaves(from key: [UInt8] = [], isCaching: Bool = true) -> LeafWalker {
        LeafWalker(source: source, isCaching: isCaching, walk: TreeWalk(root, from: key))
    }
}

/// A page that a walk has come to and not read: its place, its level, and the keys that it may hold.
package struct PageRef: Sendable {
    private enum Place {
        case root(ObjectRef)
        case child(of: Page, Int)
    }

    private let place: Place
    package let level: UInt8
    fileprivate let bounds: TreeBounds

    fileprivate init(_ root: Commit.Root) {
        place = .root(root.ref)
        level = root.level
        bounds = TreeBounds()
    }

    fileprivate init(child index: Int, of parent: Page, within bounds: TreeBounds) {
        place = .child(of: parent, index)
        level = parent.layout.level - 1
        var bounds = bounds
        bounds.enter(parent, index)
        self.bounds = bounds
    }

    /// The reference to the page, checked to be one that may be followed.
    package func ref() throws(VaultError) -> ObjectRef {
        switch place {
        case .root(let ref): ref
        case .child(let parent, let index): try parent.child(index)
        }
    }

    /// The least key that the page may hold; nil if there is no bound.
    package var low: [UInt8]? { bounds.low.map { $0.page.key($0.index) } }

    /// The key that all keys of the page are less than; nil if there is no bound.
    package var high: [UInt8]? { bounds.high.map { $0.page.key($0.index) } }

    /// Checks that the keys of the page lie within its bounds.
    package func check(_ page: Page) throws(VaultError) { try bounds.check(page) }
}

/// Goes over the pages of a tree in the order of their keys, each before its children.
///
/// The caller reads the pages, and enters those whose children it wants to come to.
package struct TreeWalk: Sendable {
    private struct Level {
        let page: Page
        let bounds: TreeBounds
        var index: Int
    }

    private var root: PageRef?
    private var path: [Level] = []
    private let key: [UInt8]
    /// Whether the first leaf is still to come, and pages before it are left out.
    private var isDescending = true

    /// - Parameter key: The walk starts at the leaf that may hold it.
    package init(_ root: Commit.Root?, from key: [UInt8] = []) {
        self.root = root.map { PageRef($0) }
        self.key = key
    }

    /// The next page; nil after the last.
    package mutating func next() -> PageRef? {
        if let root = root.take() { return root }
        while let last = path.last {
            guard last.index < last.page.count else {
                path.removeLast()
                continue
            }
            path[path.count - 1].index += 1
            return PageRef(child: last.index, of: last.page, within: last.bounds)
        }
        return nil
    }

    /// Goes on with the children of the page that `next` returned last, which is no leaf.
    package mutating func enter(_ page: Page, _ ref: PageRef) {
        // From the start on, also where a separator claims that nothing is before it.
        let index = isDescending && !key.isEmpty ? page.childIndex(for: key) : 0
        if page.layout.level == 1 { isDescending = false }
        path.append(Level(page: page, bounds: ref.bounds, index: index))
    }
}

/// Goes over the leaves of a tree without reading them, so that they can be read side by side.
package struct LeafWalker: Sendable {
    fileprivate let source: PageSource
    /// Whether the pages above the leaves are kept in the cache.
    fileprivate let isCaching: Bool
    fileprivate var walk: TreeWalk
    /// What was met after the leaves that were returned last.
    private var failure: VaultError?

    fileprivate init(source: PageSource, isCaching: Bool, walk: TreeWalk) {
        self.source = source
        self.isCaching = isCaching
        self.walk = walk
    }

    /// The next leaves, `most` at most; none after the last. An error behind some leaves is thrown only after
    /// these have been returned.
    package mutating func next(_ most: Int) throws(VaultError) -> [PageRef] {
        if let failure { throw failure }
        var out: [PageRef] = []
        while out.count < most, let next = walk.next() {
            guard next.level > 0 else {
                out.append(next)
                continue
            }
            do throws(VaultError) {
                walk.enter(isCaching ? try source.page(next) : try source.load(next), next)
            } catch {
                guard !out.isEmpty else { throw error }
                failure = error
                break
            }
        }
        return out
    }
}

/// The separators that a page's keys must lie between, the nearest ones on the way down.
private struct TreeBounds: Sendable {
    private(set) var low: (page: Page, index: Int)?
    private(set) var high: (page: Page, index: Int)?

    mutating func enter(_ parent: Page, _ index: Int) {
        if index > 0 { low = (parent, index) }
        if index + 1 < parent.count { high = (parent, index + 1) }
    }

    func check(_ page: Page) throws(VaultError) {
        let first = page.layout.isLeaf ? 0 : 1
        guard first < page.count else { return }
        if let low, page.compareKey(first, to: low.page, low.index) < 0 { throw outside(page) }
        if let high, page.compareKey(page.count - 1, to: high.page, high.index) >= 0 { throw outside(page) }
    }

    private func outside(_ page: Page) -> VaultError {
        VaultError(.structureInvalid, "a page has a key that belongs elsewhere", at: page.offset)
    }
}

extension PageSource {
    /// Reads a page that a walk has come to, and keeps it in the cache.
    package func page(_ page: PageRef) throws(VaultError) -> Page {
        let read = try self.page(try page.ref(), level: page.level)
        try page.check(read)
        return read
    }

    /// Reads a page that is kept in the cache only if there is room: for walks over many pages.
    package func inPassing(_ page: PageRef) throws(VaultError) -> Page {
        let read = try inPassing(try page.ref(), level: page.level)
        try page.check(read)
        return read
    }

    /// Reads a page without the cache: for walks that meet each page once.
    package func load(_ page: PageRef) throws(VaultError) -> Page {
        let read = try load(try page.ref(), level: page.level)
        try page.check(read)
        return read
    }
}
