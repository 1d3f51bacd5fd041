package import Foundation
internal import VaultFmt

/// An item found by a request, with the requested parts.
package struct FoundItem {
    private let item: Item
    private let reference: ItemReference
    /// The secret, if requested.
    package let secret: Data?

    init(_ item: Item, in vault: Vault, secret: Data?) {
        self.item = item
        reference = ItemReference(item, in: vault.id)
        self.secret = secret
    }

    /// The attributes, by Apple's codes.
    package var attributes: [String: Any] { ItemAttributes.dictionary(item) }

    /// Returns the result in the form of Apple's API: the requested part, a dictionary if several parts were requested,
    /// or nil if no part was requested.
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
