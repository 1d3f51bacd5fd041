internal import VaultBytes
internal import VaultStore

extension Vault {
    /// Checks what `Transaction.add` would refuse of an item, and changes nothing: limits, dates, the rights of the
    /// slot and the device.
    ///
    /// Throws what `add` would throw, but for a key that exists.
    package func rehearseAdding(
        secretBytes: Int, attributes: Attributes, accessibility: Accessibility, group: String, created: Int64?,
        modified: Int64?
    ) throws(VaultError) {
        try Transaction.check(secretBytes: secretBytes, attributes, created: created, modified: modified)
        try withCore { (core) throws(VaultError) in
            try core.requireOwner()
            if accessibility.isThisDeviceOnly && core.deviceID == .zero { throw Transaction.noDevice }
            guard group.utf8.count <= Format.Limit.field else { throw Transaction.groupTooLong }
        }
    }
}
