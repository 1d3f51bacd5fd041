package import VaultBytes
internal import VaultStore

/// Additional access to a vault for conformance checks (`Spec/vectors/README.md`).
extension Vault {
    /// Calls `body` with each forgotten value, in the order of the keys. Throws when it reaches a malformed one.
    package func forEachForgottenValue(
        _ body: (ForgottenValue) throws(VaultError) -> Void
    ) throws(VaultError) {
        try withCore { (core) throws(VaultError) in
            try ForgottenValues.forEach(core.store.tree, core.entryCheck, body)
        }
    }

    /// Returns a slot's owner part, and the groups that a scoped slot grants; for owners only.
    package func ownerPart(of slot: Slot) throws(VaultError) -> (part: OwnerPart, groups: [UInt64]) {
        try withCore { (core) throws(VaultError) in
            let part = try core.ownerPart(of: slot).part
            return (part, try core.grantedGroups(of: slot)?.sorted() ?? [])
        }
    }
}
