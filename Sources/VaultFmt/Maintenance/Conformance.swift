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

    /// Returns the checked past of an item; nil if it has none. For owners only.
    package func past(of item: Item) throws(VaultError) -> Past? {
        try withCore { (core) throws(VaultError) in try core.past(of: item) }
    }

    /// Opens an item's record. If the item has no secret, the result's secret is empty.
    package func openRecord(of item: Item) throws(VaultError) -> OpenedItem {
        try withCore { (core) throws(VaultError) in try core.openedRecord(item) }
    }

    /// Opens a value of an item's past that is stored in a record. For a secret, `attributes` is called with the item's
    /// attributes at that time.
    package func open(
        _ value: Past.Value, of item: Item, attributes: (Attributes) -> Void
    ) throws(VaultError) -> Secret {
        try withCore { (core) throws(VaultError) in try core.open(value, of: item, attributes: attributes) }
    }

    /// Opens an attribute of an item's past that is stored in a separate record.
    package func openLarge(_ attribute: Attribute, inPastOf item: Item) throws(VaultError) -> Secret {
        try withCore { (core) throws(VaultError) in
            try core.large(attribute, of: item.entry.id, before: item.entry.past?.offset ?? item.referrer)
        }
    }
}
