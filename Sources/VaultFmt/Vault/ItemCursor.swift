internal import VaultBytes

/// Goes through items in the order of their keys, as they were when the cursor was made. Reads ahead, on two threads,
/// the further it gets.
public struct ItemCursor: Sendable {
    private var leaves: LeafBatches<Item>
    /// The items of the leaves that were read last, and which is next; then those that the other thread has read.
    private var items: [Item] = []
    private var index = 0
    private var further: [Item] = []
    private var hasEnded = false
    /// What was met after the items that were read: it is thrown once those were given.
    private var failure: VaultError?

    private let vaultProcess = OwnProcess()

    /// What is compared in the end; only for a cursor that goes through all items.
    private var tally: TreeTally?

    init(_ core: VaultCore, _ query: Query) {
        let reader = LeafReader(source: core.store.pages, check: core.entryCheck, query: query)
        leaves = LeafBatches(core.store.tree, from: reader.prefix) { (leaf, inPassing, items) throws(VaultError) in
            try reader.read(leaf, inPassing: inPassing, into: &items)
        }
        tally = query.isUnrestricted ? TreeTally(core.store.tree, core.store.state.commit, core.entryCheck) : nil
    }

    /// The next matching item, or nil after the last. Throws what reading a page can throw: `authenticationFailed`,
    /// `structureInvalid`, `io`.
    public mutating func next() throws(VaultError) -> Item? {
        while index == items.count {
            index = 0
            items = further
            further = []
            guard items.isEmpty else { break }
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
        guard let batch = try leaves.next() else {
            hasEnded = true
            return
        }
        (items, hasEnded, failure) = batch.first
        if !hasEnded, failure == nil, let second = batch.second { (further, hasEnded, failure) = second }
    }
}

/// Turns leaves into the items of a query.
struct LeafReader: Sendable {
    let source: PageSource
    private let check: EntryCheck
    private let query: Query
    private let takesAll: Bool
    /// What all wanted keys start with.
    let prefix: [UInt8]

    init(source: PageSource, check: EntryCheck, query: Query) {
        self.source = source
        self.check = check
        self.query = query
        takesAll = query.isUnrestricted
        prefix = query.keyPrefix
    }

    /// Adds the matching items of a leaf; true if no further leaf can have any.
    func read(_ leaf: LeafRef, inPassing: Bool, into items: inout [Item]) throws(VaultError) -> Bool {
        let page = try source.leaf(leaf, inPassing: inPassing)
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
