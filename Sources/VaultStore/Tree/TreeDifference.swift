internal import VaultBytes

/// The entries that differ between two trees, sorted by key.
///
/// Both trees are walked side by side. A page that occurs in both, at the same offset and with the same hash, is
/// skipped with everything below it, so comparing two copies of a file takes time proportional to their differences,
/// not to their size. Entries with identical values are skipped as well.
package struct TreeDifference {
    /// An entry of a leaf that was read and checked.
    package struct Entry {
        package let page: Page
        package let index: Int
    }

    /// The two trees' entries for one key; at least one of them is not nil.
    package typealias Pair = (left: Entry?, right: Entry?)

    private var left: Walk
    private var right: Walk

    package init(_ left: TreeReader, _ right: TreeReader) {
        self.left = Walk(left)
        self.right = Walk(right)
    }

    /// Returns the next difference, or nil after the last.
    package mutating func next() throws(VaultError) -> Pair? {
        while true {
            switch (try left.top(), try right.top()) {
            case (nil, nil): return nil
            case (.page(let one, let level)?, .page(let other, let otherLevel)?):
                if one == other, level == otherLevel {
                    left.skip()
                    right.skip()
                    continue
                }
                if level >= otherLevel { try left.enter() }
                if otherLevel >= level { try right.enter() }
            case (.page?, _): try left.enter()
            case (_, .page?): try right.enter()
            case (.entry(let entry)?, nil):
                left.skip()
                return (entry, nil)
            case (nil, .entry(let entry)?):
                right.skip()
                return (nil, entry)
            case (.entry(let one)?, .entry(let other)?):
                let order = one.page.compareKey(one.index, to: other.page, other.index)
                if order <= 0 { left.skip() }
                if order >= 0 { right.skip() }
                if order < 0 { return (one, nil) }
                if order > 0 { return (nil, other) }
                if !one.hasSameValue(as: other) { return (one, other) }
            }
        }
    }
}

extension TreeDifference.Entry {
    fileprivate func hasSameValue(as other: Self) -> Bool {
        let (bytes, others) = (page.bytes, other.page.bytes)
        let (own, range) = (page.layout.entries[index].value, other.page.layout.entries[other.index].value)
        return own.count == range.count && ByteOrder.compare(bytes.span, own, others.span, range) == 0
    }
}

/// A walk over one tree that visits the entries of leaves, and enters a page only on request.
private struct Walk {
    enum Top {
        case page(ObjectRef, level: UInt8)
        case entry(TreeDifference.Entry)
    }

    private let source: PageSource
    private var walk: TreeWalk
    /// The page that was reached but not entered.
    private var next: PageRef?
    private var leaf: (page: Page, index: Int)?

    init(_ tree: TreeReader) {
        source = tree.source
        walk = TreeWalk(tree.root)
    }

    /// Returns the next element: a page that was not entered, or an entry of a page that was entered.
    mutating func top() throws(VaultError) -> Top? {
        if let leaf, leaf.index < leaf.page.count { return .entry(.init(page: leaf.page, index: leaf.index)) }
        leaf = nil
        if next == nil { next = walk.next() }
        guard let next else { return nil }
        return .page(try next.ref(), level: next.level)
    }

    /// Skips the next element.
    mutating func skip() {
        if leaf == nil { next = nil } else { leaf?.index += 1 }
    }

    /// Reads and enters the next page.
    mutating func enter() throws(VaultError) {
        guard case .page? = try top(), let ref = next else { return }
        // A leaf is visited only once: caching it would evict pages that are needed again.
        let page = ref.level == 0 ? try source.load(ref) : try source.inPassing(ref)
        next = nil
        if page.layout.isLeaf { leaf = (page, 0) } else { walk.enter(page, ref) }
    }
}
