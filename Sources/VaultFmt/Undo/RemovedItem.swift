internal import VaultBytes
internal import VaultStore

/// A removed item that an earlier state of the file still contains.
public struct RemovedItem: Sendable {
    /// The item before its removal; its secret is not opened.
    public let item: Item
    /// The state that contains the item, for `Vault.bringBack(_:)`.
    public let state: StateID
    /// The time at which the item was removed, in milliseconds since 1970-01-01T00:00:00Z.
    public let removed: Int64
}

extension Vault {
    /// Returns the items that were removed since the file was last compacted or rewritten, most recently removed first.
    ///
    /// - Throws: `authenticationFailed` if an earlier commit is damaged.
    public func removedItems() throws(VaultError) -> [RemovedItem] {
        try withCore { (core) throws(VaultError) in
            let store = core.store
            let states = [store.state] + (try store.past.states(before: store.state, most: .max))
            var out: [RemovedItem] = []
            var known: Set<Bytes16> = []
            for (newer, older) in zip(states, states.dropFirst()) {
                let difference = try StateDifference(from: older, to: newer, core)
                for item in difference.removed.sorted(by: { $0.key < $1.key }) {
                    // States are read newest first, so the first result for an item is the newest one.
                    guard known.insert(item.entry.id).inserted else { continue }
                    out.append(
                        RemovedItem(
                            item: item, state: core.id(of: older), removed: Revision.time(newer.commit.clock)))
                }
                known.formUnion(difference.others)
            }
            return out
        }
    }
}

/// The items that differ between two states of one file.
struct StateDifference {
    /// The items that only the earlier state has.
    private(set) var removed: [Item] = []
    /// The items that only the later state has.
    private(set) var added: [Item] = []
    /// The items that are in both states, with different entries or keys.
    private(set) var changed: [(then: Item, now: Item)] = []

    init(from older: CommittedState, to newer: CommittedState, _ core: VaultCore) throws(VaultError) {
        var then: [Bytes16: Item] = [:]
        var now: [Bytes16: Item] = [:]
        func tree(_ state: CommittedState) -> TreeReader {
            TreeReader(source: core.store.pages, root: state.commit.root)
        }
        var difference = TreeDifference(tree(older), tree(newer))
        while let pair = try difference.next() {
            if let item = try Self.item(pair.left, core) { then[item.entry.id] = item }
            if let item = try Self.item(pair.right, core) { now[item.entry.id] = item }
        }
        for (id, item) in then {
            if let other = now.removeValue(forKey: id) { changed.append((item, other)) } else { removed.append(item) }
        }
        added = Array(now.values)
    }

    /// The ids of the items that the later state has.
    var others: Set<Bytes16> { Set(added.map(\.entry.id) + changed.map(\.now.entry.id)) }

    private static func item(_ entry: TreeDifference.Entry?, _ core: VaultCore) throws(VaultError) -> Item? {
        guard let entry, !entry.page.isForgotten(entry.index) else { return nil }
        var check = core.entryCheck
        return try ItemCodec.item(entry.page, entry.index, key: entry.page.key(entry.index).span, &check)
    }
}
