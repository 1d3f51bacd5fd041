package import VaultBytes

/// Finds keys in the tree under one root.
package struct TreeReader: Sendable {
    package let source: PageSource
    package let root: Commit.Root?

    package init(source: PageSource, root: Commit.Root?) {
        self.source = source
        self.root = root
    }

    /// Returns the leaf entry with this key.
    package func find(_ key: [UInt8]) throws(VaultError) -> (page: Page, index: Int)? {
        guard let root else { return nil }
        // A lookup does not backtrack, so it does not need the path of a walk.
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

    /// Returns the leaves, starting with the one that may contain `key`.
    package func leaves(from key: [UInt8] = [], isCaching: Bool = true) -> LeafWalker {
        LeafWalker(source: source, isCaching: isCaching, walk: TreeWalk(root, from: key))
    }
}

/// A page that a walk has reached but not read: its reference, its level, and the range of its keys.
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

    /// Returns the page's reference, after checking that it may be followed.
    package func ref() throws(VaultError) -> ObjectRef {
        switch place {
        case .root(let ref): ref
        case .child(let parent, let index): try parent.child(index)
        }
    }

    /// The lower bound of the page's keys (inclusive); nil if there is none.
    package var low: [UInt8]? { bounds.low.map { $0.page.key($0.index) } }

    /// The upper bound of the page's keys (exclusive); nil if there is none.
    package var high: [UInt8]? { bounds.high.map { $0.page.key($0.index) } }

    /// Checks that the keys of the page lie within its bounds.
    package func check(_ page: Page) throws(VaultError) { try bounds.check(page) }
}

/// Visits the pages of a tree in the order of their keys, each page before its children.
///
/// The caller reads the pages, and enters those whose children it visits.
package struct TreeWalk: Sendable {
    private struct Level {
        let page: Page
        let bounds: TreeBounds
        var index: Int
    }

    private var root: PageRef?
    private var path: [Level] = []
    private let key: [UInt8]
    /// True if the first leaf has not been reached yet; until then, earlier pages are skipped.
    private var isDescending = true

    /// `key`: the walk starts at the leaf that may contain this key.
    package init(_ root: Commit.Root?, from key: [UInt8] = []) {
        self.root = root.map { PageRef($0) }
        self.key = key
    }

    /// Returns the next page, or nil after the last.
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

    /// Continues with the children of the page that `next` last returned, which must not be a leaf.
    package mutating func enter(_ page: Page, _ ref: PageRef) {
        // Start with the first child, even if its separator is greater than the key.
        let index = isDescending && !key.isEmpty ? page.childIndex(for: key) : 0
        if page.layout.level == 1 { isDescending = false }
        path.append(Level(page: page, bounds: ref.bounds, index: index))
    }
}

/// Visits the leaves of a tree without reading them; the caller can read them in parallel.
package struct LeafWalker: Sendable {
    fileprivate let source: PageSource
    /// True if the pages above the leaves are kept in the cache.
    fileprivate let isCaching: Bool
    fileprivate var walk: TreeWalk
    /// The error that occurred after the leaves that were returned last.
    private var failure: VaultError?

    fileprivate init(source: PageSource, isCaching: Bool, walk: TreeWalk) {
        self.source = source
        self.isCaching = isCaching
        self.walk = walk
    }

    /// Returns the next leaves, at most `most`, or none after the last. If an error occurs, the leaves before it are
    /// returned first, and the next call throws the error.
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

/// The separators that bound a page's keys, taken from the nearest pages on the way down.
private struct TreeBounds: Sendable {
    private(set) var low: (page: Page, index: Int)?
    private(set) var high: (page: Page, index: Int)?

    mutating func enter(_ parent: Page, _ index: Int) {
        if index > 0 { low = (parent, index) }
        if index + 1 < parent.count { high = (parent, index + 1) }
    }

    /// The page's place in its parent, if its bounds are the separators next to it in the parent. Such bounds do not
    /// depend on the path to the page, so a cached page is checked against them only once.
    private var place: UInt64? {
        guard let low, let high, low.page === high.page, high.index == low.index + 1 else { return nil }
        return low.page.place(low.index)
    }

    func check(_ page: Page) throws(VaultError) {
        let place = place
        if let place, page.isChecked(at: place) { return }
        let first = page.layout.isLeaf ? 0 : 1
        guard first < page.count else { return }
        if let low, page.compareKey(first, to: low.page, low.index) < 0 { throw outside(page) }
        if let high, page.compareKey(page.count - 1, to: high.page, high.index) >= 0 { throw outside(page) }
        if let place { page.noteChecked(at: place) }
    }

    private func outside(_ page: Page) -> VaultError {
        VaultError(.structureInvalid, "a page has a key that belongs elsewhere", at: page.offset)
    }
}

extension PageSource {
    /// Reads a page that a walk has reached, and adds it to the cache.
    package func page(_ page: PageRef) throws(VaultError) -> Page {
        let read = try self.page(try page.ref(), level: page.level)
        try page.check(read)
        return read
    }

    /// Reads a page, and caches it only if there is room; used for walks over many pages.
    package func inPassing(_ page: PageRef) throws(VaultError) -> Page {
        let read = try inPassing(try page.ref(), level: page.level)
        try page.check(read)
        return read
    }

    /// Reads a page without using the cache; used for walks that visit each page only once.
    package func load(_ page: PageRef) throws(VaultError) -> Page {
        let read = try load(try page.ref(), level: page.level)
        try page.check(read)
        return read
    }
}
