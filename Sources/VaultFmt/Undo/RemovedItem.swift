internal import VaultBytes
internal import VaultStore

/// A removed item that an earlier state of the file still contains.
public struct RemovedItem: Sendable {
    /// The item before its removal; its secret is not opened.
    public let item: Item
    /// The state that contains it, for `Vault.bringBack(_:)`.
    public let state: Anchor
    /// The time at which it was removed, in milliseconds since 1970-01-01T00:00:00Z.
    public let removed: Int64
}

extension Vault {
    /// Returns the items that were removed since the file was last compacted or rewritten, most recently removed first.
    ///
    /// - Throws: `authenticationFailed` if an earlier commit is damaged.
    public func removedItems() throws(VaultError) -> [RemovedItem] {
        try withCore { (core) throws(VaultError) in
            let store = core.store
            let now = Branch(core)
            let states = [store.state] + (try store.past.states(before: store.state, most: .max))
            var out: [RemovedItem] = []
            var known: Set<Bytes16> = []
            for (newer, older) in zip(states, states.dropFirst()) {
                let then = Branch(core, root: older.commit.root)
                for held in try Self.left(then, Branch(core, root: newer.commit.root)) {
                    let isGone = try now.tree.find(TombstoneEntry.key(held.id)) != nil
                    guard isGone, known.insert(held.id).inserted else { continue }
                    out.append(
                        RemovedItem(
                            item: held.item, state: core.anchor(of: older),
                            removed: Int64(clamping: newer.commit.clock >> 16)))
                }
            }
            return out
        }
    }

    /// Returns the items that exist only in the first of two states, sorted by key.
    private static func left(_ older: Branch, _ newer: Branch) throws(VaultError) -> [HeldItem] {
        var gone: [HeldItem] = []
        var present: Set<Bytes16> = []
        var difference = TreeDifference(older.tree, newer.tree)
        while let pair = try difference.next() {
            if let entry = pair.left, case .item(let held) = try older.read(entry.page, entry.index) {
                gone.append(held)
            }
            if let entry = pair.right, case .item(let held) = try newer.read(entry.page, entry.index) {
                present.insert(held.id)
            }
        }
        return gone.filter { !present.contains($0.id) }
    }
}

extension VaultCore {
    fileprivate func anchor(of state: CommittedState) -> Anchor {
        Anchor(
            vault: VaultID(store.vault), generation: state.commit.generation, chain: state.chain,
            owners: OwnersPublicKey(store.ownersPublicKey))
    }
}
