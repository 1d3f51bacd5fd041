package import VaultBytes

/// A leaf that a walk has come to and not read: where it is, and which keys it may hold.
package struct LeafRef: Sendable {
    package let ref: ObjectRef
    fileprivate let bounds: TreeBounds
}

/// Goes over the leaves of a tree in the order of their keys without reading them, so that they can be read side by
/// side.
package struct LeafWalker: Sendable {
    private struct Level {
        let page: Page
        var index: Int
    }

    private let source: PageSource
    /// Whether the pages above the leaves are kept in the cache.
    private let isCaching: Bool
    private var path: [Level] = []
    /// A tree of one leaf.
    private var only: LeafRef?
    /// What was met after the leaves that were given last.
    private var failure: VaultError?

    init(_ tree: TreeReader, from key: [UInt8], isCaching: Bool) throws(VaultError) {
        source = tree.source
        self.isCaching = isCaching
        guard let root = tree.root else { return }
        guard root.level > 0 else {
            only = LeafRef(ref: root.ref, bounds: TreeBounds())
            return
        }
        var page = try read(root.ref, root.level)
        // From the start on, also where a separator claims that nothing is before it.
        func start(_ page: Page) -> Int { key.isEmpty ? 0 : page.childIndex(for: key) }
        while page.layout.level > 1 {
            let index = start(page)
            path.append(Level(page: page, index: index))
            page = try inner(try page.child(index), page.layout.level - 1)
        }
        path.append(Level(page: page, index: start(page)))
    }

    /// The next leaves, `most` at most; none after the last. What is wrong behind some leaves is thrown after they were
    /// given.
    package mutating func next(_ most: Int) throws(VaultError) -> [LeafRef] {
        if let failure { throw failure }
        if let only {
            self.only = nil
            return [only]
        }
        var out: [LeafRef] = []
        do throws(VaultError) {
            while out.count < most, let last = path.last {
                guard last.index < last.page.count else {
                    try advance()
                    continue
                }
                out.append(LeafRef(ref: try last.page.child(last.index), bounds: bounds))
                path[path.count - 1].index += 1
            }
        } catch {
            guard !out.isEmpty else { throw error }
            failure = error
        }
        return out
    }

    private func inner(_ ref: ObjectRef, _ level: UInt8) throws(VaultError) -> Page {
        let page = try read(ref, level)
        try bounds.check(page)
        return page
    }

    private func read(_ ref: ObjectRef, _ level: UInt8) throws(VaultError) -> Page {
        isCaching ? try source.page(ref, level: level) : try source.load(ref, level: level)
    }

    private var bounds: TreeBounds {
        var bounds = TreeBounds()
        for level in path { bounds.enter(level.page, level.index) }
        return bounds
    }

    /// Leaves a page of level 1 whose children were all given for the next one.
    private mutating func advance() throws(VaultError) {
        path.removeLast()
        while let last = path.last {
            guard last.index + 1 < last.page.count else {
                path.removeLast()
                continue
            }
            path[path.count - 1].index += 1
            var page = try inner(try last.page.child(last.index + 1), last.page.layout.level - 1)
            while page.layout.level > 1 {
                path.append(Level(page: page, index: 0))
                page = try inner(try page.child(0), page.layout.level - 1)
            }
            path.append(Level(page: page, index: 0))
            return
        }
    }
}

extension TreeReader {
    /// A walk over the leaves from the one that may hold `key` on.
    package func leaves(from key: [UInt8] = [], isCaching: Bool = true) throws(VaultError) -> LeafWalker {
        try LeafWalker(self, from: key, isCaching: isCaching)
    }
}

extension PageSource {
    /// The leaf that a walk has come to. One that is read in passing is kept in the cache only if there is room.
    package func leaf(_ leaf: LeafRef, inPassing: Bool) throws(VaultError) -> Page {
        let page = inPassing ? try self.inPassing(leaf.ref, level: 0) : try self.page(leaf.ref, level: 0)
        try leaf.bounds.check(page)
        return page
    }

    /// The same without the cache: for walks that meet each leaf once.
    package func load(_ leaf: LeafRef) throws(VaultError) -> Page {
        let page = try load(leaf.ref, level: 0)
        try leaf.bounds.check(page)
        return page
    }
}
