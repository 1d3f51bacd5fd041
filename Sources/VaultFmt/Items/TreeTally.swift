internal import VaultBytes
internal import VaultStore

/// Compares what the whole tree has with what the commit states, and ids of items with those of tombstones
///
struct TreeTally: Sendable {
    private let tree: TreeReader
    private let commit: Commit
    private let check: EntryCheck
    private var items: UInt64 = 0
    private var versions: UInt64 = 0
    /// Of all items, if there are tombstones to compare them with.
    private var ids: [Bytes16] = []

    init(_ tree: TreeReader, _ commit: Commit, _ check: EntryCheck) {
        self.tree = tree
        self.commit = commit
        self.check = check
    }

    /// Counts an item; each comes once, in the order of keys.
    mutating func add(_ item: Item) {
        items += 1
        versions += UInt64(item.earlierValues)
        if commit.tombstones > 0 { ids.append(item.entry.id) }
    }

    /// After the last item: reads the tombstones, which follow, and compares.
    mutating func finish() throws(VaultError) {
        var tombstones: UInt64 = 0
        ids.sort()
        try Tombstones.forEach(tree, check) { (item, _) throws(VaultError) in
            tombstones += 1
            guard !contains(item) else {
                throw VaultError(.structureInvalid, "an id is both an item's and a removed item's")
            }
        }
        guard items == commit.items, versions == commit.versions, tombstones == commit.tombstones else {
            throw VaultError(.structureInvalid, "the newest commit states other numbers than the index has")
        }
    }

    /// Binary search.
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
    /// Calls `body` with each one and the id of the item, in the order of ids; throws for a malformed one when it gets
    /// there.
    static func forEach(
        _ tree: TreeReader, _ check: EntryCheck, _ body: (Bytes16, TombstoneEntry) throws(VaultError) -> Void
    ) throws(VaultError) {
        let start = [Format.tombstoneTag]
        var leaves = try tree.leaves(from: start)
        while let leaf = try leaves.next(1).first {
            let page = try tree.source.leaf(leaf, inPassing: true)
            for index in page.lowerBound(start).index..<page.count {
                let (item, entry) = try TombstoneCodec.decode(page, index, check)
                try body(item, entry)
            }
        }
    }
}
