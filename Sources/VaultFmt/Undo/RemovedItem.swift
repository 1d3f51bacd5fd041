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
            try core.removals().map { removal in
                RemovedItem(
                    item: removal.item, state: core.id(of: removal.last),
                    removed: Revision.time(removal.next.commit.clock))
            }
        }
    }
}

/// An item that the newest state of a file lacks.
struct Removal {
    /// The item as it was in the last state that contains it.
    let item: Item
    /// The last state that contains the item.
    let last: CommittedState
    /// The state in which the item was removed.
    let next: CommittedState
}

extension VaultCore {
    /// Returns the items that were removed after a state of the file, most recently removed first, each as it last was.
    ///
    /// `oldest`: the state; nil for the oldest one in the file. `wanted`: the ids after which the search ends; nil for
    /// all items. Throws `authenticationFailed` if a commit in between is damaged.
    func removals(
        after oldest: CommittedState? = nil, of wanted: Set<Bytes16>? = nil
    ) throws(VaultError) -> [Removal] {
        var out: [Removal] = []
        var known: Set<Bytes16> = []
        var newer = store.state
        while newer != oldest, !(wanted?.isSubset(of: known) ?? false),
            let older = try store.past.states(before: newer, most: 1).first
        {
            let difference = try StateDifference(from: older, to: newer, self)
            for item in difference.removed.sorted(by: { $0.key < $1.key }) {
                // States are read newest first, so the first result for an item is the newest one.
                guard known.insert(item.entry.id).inserted else { continue }
                out.append(Removal(item: item, last: older, next: newer))
            }
            known.formUnion(difference.others)
            newer = older
        }
        return out
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
