import VaultBytes
package import VaultFmt

extension AttributeChanges {
    /// Removes the attributes that an item has in the same record as its secret, if that record is damaged: a new secret
    /// repairs the item, but these attributes cannot be read any more. Those that are set or removed anyway are not
    /// affected. The next merge carries the removal to other copies, where the attributes may be intact.
    /// - Returns: Whether the record is damaged, and the names of the attributes that are lost.
    package mutating func dropDamaged(
        of key: ItemKey, in transaction: Transaction
    ) throws(VaultError) -> (isDamaged: Bool, lost: [String]) {
        guard let item = try transaction.item(key) else { return (false, []) }
        let isSecretDamaged = Self.isDamaged { () throws(VaultError) in _ = try transaction.get(key) }
        let names = item.attributes.all.filter { $0.fileFlags.contains(.inItemRecord) && !$0.isRead }.map(\.name)
        guard let first = names.first,
            Self.isDamaged({ () throws(VaultError) in _ = try transaction.attribute(first, of: key) })
        else { return (isSecretDamaged, []) }
        let lost = names.filter { set.attribute($0) == nil && !remove.contains($0) }
        remove += lost
        return (true, lost)
    }

    /// Returns whether reading fails because of damage. If another device is needed, or the system fails, nothing is
    /// lost; the change itself then fails.
    private static func isDamaged(_ read: () throws(VaultError) -> Void) -> Bool {
        do throws(VaultError) {
            try read()
            return false
        } catch { return error.isDamage }
    }
}
