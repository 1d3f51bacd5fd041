package import VaultBytes
internal import VaultStore

/// What conformance checks read of a vault besides what programs read (`Spec/vectors/README.md`).
extension Vault {
    /// Calls `body` with every tombstone and the id of the item that was removed, in the order of ids; throws for a
    /// malformed one when it gets there.
    package func forEachTombstone(
        _ body: (Bytes16, TombstoneEntry) throws(VaultError) -> Void
    ) throws(VaultError) {
        try withCore { (core) throws(VaultError) in try Tombstones.forEach(core.store.tree, core.entryCheck, body) }
    }

    /// What a slot's owner part says, and the groups that a scoped slot grants; for owners.
    package func ownerPart(of slot: Slot) throws(VaultError) -> (part: OwnerPart, groups: [UInt64]) {
        try withCore { (core) throws(VaultError) in
            let part = try core.ownerPart(of: slot).part
            return (part, try core.grantedGroups(of: slot)?.sorted() ?? [])
        }
    }
}
