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
        guard first < page.count else { return }
        if let low, page.compareKey(first, to: low.page, low.index) < 0 { throw outside(page) }
        if let high, page.compareKey(page.count - 1, to: high.page, high.index) >= 0 { throw outside(page) }
    }

    private func outside(_ page: Page) -> VaultError {
        VaultError(.structureInvalid, "a page has a key that belongs elsewhere", at: page.offset)
    }
}
