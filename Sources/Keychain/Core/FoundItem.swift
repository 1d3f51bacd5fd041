package import Foundation
internal import VaultFmt

/// An item that a request found, with what was to be given back of it.
package struct FoundItem {
    private let item: Item
    private let reference: ItemReference
    /// The secret, if it was asked for.
    package let secret: Data?

    init(_ item: Item, in vault: Vault, secret: Data?) {
        self.item = item
        reference = ItemReference(item, in: vault.id)
        self.secret = secret
    }

    /// The attributes, by Apple's codes.
    package var attributes: [String: Any] { ItemAttributes.dictionary(item) }

    /// What Apple's API gives for this choice: the one thing asked for, or a dictionary of several; nil for nothing.
    package func result(_ returns: ItemRequest.Returns) -> Any? {
        switch returns {
        case []: return nil
        case .data: return secret
        case .attributes: return attributes
        case .reference, .persistentReference: return reference.data
        default: break
        }
        var all = returns.contains(.attributes) ? attributes : [:]
        if returns.contains(.data) { all[SecKey.valueData] = secret }
        if returns.contains(.reference) { all[SecKey.valueReference] = reference.data }
        if returns.contains(.persistentReference) { all[SecKey.valuePersistentReference] = reference.data }
        return all
    }
}
