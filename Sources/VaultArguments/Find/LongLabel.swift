import VaultExchange
import VaultFmt

/// Labels that are too long for the index, which contains at most 256 bytes of each attribute.
enum LongLabel {
    /// Returns the item's label, which is read from the record if the index does not contain it; nil if the item has no
    /// label, if the label is sealed, or if this vault's slot or device cannot open the record.
    static func read(of item: Item, in vault: Vault) -> String? {
        guard let attribute = item.attributes.attribute(AttributeName.label) else { return nil }
        guard !attribute.isRead else { return item.attributes.label }
        guard !attribute.flags.contains(.sealed), !attribute.flags.contains(.concealed) else { return nil }
        do throws(VaultError) {
            return try vault.attribute(AttributeName.label, of: item)?.withUnsafeBytes {
                String(validating: $0, as: UTF8.self)
            }
        } catch {
            // The listing continues: other columns name the item, and opening the item reports the problem.
            return nil
        }
    }
}
