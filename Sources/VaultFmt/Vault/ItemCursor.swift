internal import VaultBytes

/// Iterates over items in key order, as they were when the cursor was made. It reads ahead, using more threads the
/// further it gets.
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
        let reader = LeafReader(source: core.store.pages, check: core.entryCheck, query: query)
        leaves = LeafBatches(core.store.tree, from: reader.prefix, on: Workers(core.store.threads)) {
            (leaf, inPassing, items) throws(VaultError) in
            try reader.read(leaf, inPassing: inPassing, into: &items)
        }
        tally = query == Query() ? TreeTally(core.store.tree, core.store.state.commit, core.entryCheck) : nil
    }

    /// Returns the next matching item, or nil after the last. Throws the errors of reading a page:
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
    let source: PageSource
    private let check: EntryCheck
    private let query: Query
    private let takesAll: Bool
    /// The prefix of all wanted keys.
    let prefix: [UInt8]

    init(source: PageSource, check: EntryCheck, query: Query) {
        self.source = source
        self.check = check
        self.query = query
        takesAll = query == Query()
        prefix = query.keyPrefix
    }

    /// Adds the matching items of a leaf; returns true if no further leaf can contain any.
    func read(_ leaf: PageRef, inPassing: Bool, into items: inout [Item]) throws(VaultError) -> Bool {
        let page = inPassing ? try source.inPassing(leaf) : try source.page(leaf)
        var check = check
        var key = page.prefix
        key.reserveCapacity(128)
        for index in page.lowerBound(prefix).index..<page.count {
            page.key(index, after: &key)
            // Only tombstones follow.
            if key.first == Format.tombstoneTag { return true }
            guard prefix.isEmpty || key.starts(with: prefix) else { return true }
            let item = try ItemCodec.item(page, index, key: key.span, &check)
            if takesAll || query.matches(item) { items.append(item) }
        }
        return false
    }
}

/// Compares the whole tree with the counts of the commit, and the ids of items with those of tombstones
///
struct TreeTally: Sendable {
    private let tree: TreeReader
    private let commit: Commit
    private let check: EntryCheck
    private var items: UInt64 = 0
    private var versions: UInt64 = 0
    /// The ids of all items, collected if there are tombstones to compare them with.
    private var ids: [Bytes16] = []

    init(_ tree: TreeReader, _ commit: Commit, _ check: EntryCheck) {
        self.tree = tree
        self.commit = commit
        self.check = check
    }

    /// Counts an item; called once for each item, in key order.
    mutating func add(_ item: Item) {
        items += 1
        versions += UInt64(item.earlierValues)
        if commit.tombstones > 0 { ids.append(item.entry.id) }
    }

    /// Reads the tombstones, which follow the last item, and compares the counts.
    mutating func finish() throws(VaultError) {
        var tombstones: UInt64 = 0
        ids.sort()
        try Tombstones.forEach(tree, check) { (item, _) throws(VaultError) in
            tombstones += 1
            guard !contains(item) else {
                throw VaultError(.structureInvalid, "an item and a removed item have the same id")
            }
        }
        guard items == commit.items, versions == commit.versions, tombstones == commit.tombstones else {
            throw VaultError(.structureInvalid, "the newest commit's counts differ from the index")
        }
    }

    /// Searches for an id by binary search.
    private func contains(_ id: Bytes16) -> Bool {
        var low = 0
        var high = ids.count
        while low < high {
            let middle = (low + high) / 2
            if ids[middle] == id { return true }
            if ids[middle] < id { low = middle + 1 } else { high = middle }
        }
        return false
    }
}

/// The tombstones of a tree.
enum Tombstones {
    /// Calls `body` with each tombstone and the id of its item, sorted by id; throws when it reaches a malformed one.
    static func forEach(
        _ tree: TreeReader, _ check: EntryCheck, _ body: (Bytes16, TombstoneEntry) throws(VaultError) -> Void
    ) throws(VaultError) {
        let start = [Format.tombstoneTag]
        var leaves = tree.leaves(from: start)
        while let leaf = try leaves.next(1).first {
            let page = try tree.source.inPassing(leaf)
            for index in page.lowerBound(start).index..<page.count {
                let (item, entry) = try TombstoneCodec.decode(page, index, check)
                try body(item, entry)
            }
        }
    }
}
