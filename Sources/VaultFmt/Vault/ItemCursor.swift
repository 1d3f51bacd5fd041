internal import VaultBytes

/// Iterates over items in key order, as they were when the cursor was made. The cursor reads ahead, using more threads
/// the further it gets.
public struct ItemCursor: Sendable {
    private var leaves: LeafBatches<Item>
    /// The items of the most recently read leaves, and the index of the next item; then the items of further leaves.
    private var items: [Item] = []
    private var index = 0
    private var further: [[Item]] = []
    private var hasEnded = false
    /// The error that occurred after the items that were read; it is thrown once these have been returned.
    private var failure: VaultError?

    private let vaultProcess = OwnProcess()

    /// The counts to compare at the end, for a cursor that visits all items.
    private var tally: TreeTally?

    init(_ core: VaultCore, _ query: Query) {
        let reader = LeafReader(core.store.tree, check: core.entryCheck, query: query)
        leaves = LeafBatches(core.store.tree, from: reader.prefix, on: Workers(core.store.threads)) {
            (leaf, inPassing, items) throws(VaultError) in
            try reader.read(leaf, inPassing: inPassing, into: &items)
        }
        tally = query == Query() ? TreeTally(core.store.tree, core.store.state.commit, core.entryCheck) : nil
    }

    /// Returns the next matching item, or nil after the last. Throws the errors that can occur when a page is read:
    /// `authenticationFailed`, `structureInvalid`, `io`.
    public mutating func next() throws(VaultError) -> Item? {
        while index == items.count {
            index = 0
            items = further.popLast() ?? []
            guard items.isEmpty, further.isEmpty else { continue }
            if let failure { throw failure }
            guard !hasEnded else {
                try tally?.finish()
                return nil
            }
            try readOn()
        }
        tally?.add(items[index])
        defer { index += 1 }
        return items[index]
    }

    private mutating func readOn() throws(VaultError) {
        try vaultProcess.require()
        let parts = try leaves.next()
        hasEnded = parts.isEmpty
        for part in parts {
            further.append(part.outputs)
            (hasEnded, failure) = (part.isLast, part.failure)
            if hasEnded || failure != nil { break }
        }
        further.reverse()
    }
}

extension ItemCursor: AsyncSequence, AsyncIteratorProtocol {
    /// Returns the cursor itself, so a loop continues from its current position.
    public func makeAsyncIterator() -> ItemCursor { self }
}

/// Converts leaves into the items of a query.
struct LeafReader: Sendable {
    private let tree: TreeReader
    private let check: EntryCheck
    private let query: Query
    private let takesAll: Bool
    /// The prefix of all wanted keys.
    let prefix: [UInt8]

    init(_ tree: TreeReader, check: EntryCheck, query: Query) {
        self.tree = tree
        self.check = check
        self.query = query
        takesAll = query == Query()
        prefix = query.keyPrefix
    }

    /// Adds the matching items of a leaf; returns true if no further leaf can contain matching items.
    func read(_ leaf: PageRef, inPassing: Bool, into items: inout [Item]) throws(VaultError) -> Bool {
        let page = inPassing ? try tree.source.inPassing(leaf) : try tree.source.page(leaf)
        var check = check
        var key = page.prefix
        key.reserveCapacity(128)
        for index in page.lowerBound(prefix).index..<page.count {
            page.key(index, after: &key)
            // Only forgotten values follow.
            if key.first == Format.forgottenTag { return true }
            guard prefix.isEmpty || key.starts(with: prefix) else { return true }
            let item = try ItemCodec.item(page, index, key: key.span, &check)
            if !item.hasKeyPlain { try TwinSearch(tree, check).requirePlain(before: item) }
            if takesAll || query.matches(item) { items.append(item) }
        }
        return false
    }
}

/// Compares the whole tree with the counts of the commit.
struct TreeTally: Sendable {
    private let tree: TreeReader
    private let commit: Commit
    private let check: EntryCheck
    private var items: UInt64 = 0
    private var pasts: UInt64 = 0

    init(_ tree: TreeReader, _ commit: Commit, _ check: EntryCheck) {
        self.tree = tree
        self.commit = commit
        self.check = check
    }

    /// Counts an item; called once for each item.
    mutating func add(_ item: Item) {
        items += 1
        if item.hasPast { pasts += 1 }
    }

    /// Reads the forgotten values, which follow the last item, and compares the counts.
    func finish() throws(VaultError) {
        var forgotten: UInt64 = 0
        try ForgottenValues.forEach(tree, check) { (_) throws(VaultError) in forgotten += 1 }
        guard items == commit.items, pasts == commit.pasts, forgotten == commit.forgotten else {
            throw VaultError(.structureInvalid, "the newest commit's counts differ from the index")
        }
    }
}

/// The forgotten values that a tree lists.
enum ForgottenValues {
    /// Calls `body` with each forgotten value, in the order of their dots; throws when it reaches a malformed value.
    static func forEach(
        _ tree: TreeReader, _ check: EntryCheck, _ body: (ForgottenValue) throws(VaultError) -> Void
    ) throws(VaultError) {
        let start = [Format.forgottenTag]
        var leaves = tree.leaves(from: start)
        while let leaf = try leaves.next(1).first {
            let page = try tree.source.inPassing(leaf)
            for index in page.lowerBound(start).index..<page.count {
                try body(try ForgottenCodec.decode(page, index, check))
            }
        }
    }
}
