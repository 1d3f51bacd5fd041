public import Foundation
public import KeychainCore

/// The accessibility of an item's secret, and the approval that each read requires.
public typealias SecAccessControl = KeychainCore.SecAccessControl

/// An item's attributes, together with its secret and references to it. Attributes that the item does not have are nil.
///
/// The secret here is in ordinary memory that is never wiped, so release this value soon.
public struct Attributes {
    private let attributes: [String: Any]

    init(_ attributes: [String: Any]) { self.attributes = attributes }

    /// Any attribute, by its `kSecAttr…` constant, including `kSecValueData` and the references.
    public subscript(key: String) -> Any? { attributes[key] }

    private func text(_ code: String) -> String? { attributes[code] as? String }

    /// The value of a `kSecClass…` constant.
    public var `class`: String? { text(SecKey.itemClass) }
    /// The secret.
    public var data: Data? { attributes[SecKey.valueData] as? Data }
    /// A reference. In a vault, it is the same as the persistent reference.
    public var ref: Data? { attributes[SecKey.valueReference] as? Data }
    /// A reference that finds the item again through `kSecValuePersistentRef`. It stays valid when the vault is closed
    /// and when the item is renamed, until the item is removed.
    public var persistentRef: Data? { attributes[SecKey.valuePersistentReference] as? Data }

    /// The value of a `kSecAttrAccessible…` constant.
    public var accessible: String? { text(SecKey.accessible) }
    /// The accessibility of the secret, and the approval that each read requires.
    public var accessControl: SecAccessControl? { attributes[SecKey.accessControl] as? SecAccessControl }
    /// The access group; empty for the default one.
    public var accessGroup: String? { text(SecKey.accessGroup) }
    /// True if the item is meant to be synchronized.
    public var synchronizable: Bool? { attributes[SecKey.synchronizable] as? Bool }
    /// The creation date.
    public var creationDate: Date? { attributes[SecKey.creationDate] as? Date }
    /// The date of the last change.
    public var modificationDate: Date? { attributes[SecKey.modificationDate] as? Date }
    /// A description of the kind of item.
    public var attributeDescription: String? { text(SecKey.description) }
    /// Notes on the item.
    public var comment: String? { text(SecKey.comment) }
    /// The creator: a string, or the digits of a number.
    public var creator: String? { textOrDigits(SecKey.creator) }
    /// The type: a string, or the digits of a number.
    public var type: String? { textOrDigits(SecKey.type) }
    /// The display name.
    public var label: String? { text(SecKey.label) }
    /// True if the item should not be shown.
    public var isInvisible: Bool? { attributes[SecKey.isInvisible] as? Bool }
    /// True if the item deliberately has no password.
    public var isNegative: Bool? { attributes[SecKey.isNegative] as? Bool }
    /// The account, which `Keychain` calls the key.
    public var account: String? { text(SecKey.account) }
    /// The service of a generic password.
    public var service: String? { text(SecKey.service) }
    /// Arbitrary data that the program stored with a generic password.
    public var generic: Data? { attributes[SecKey.generic] as? Data }
    /// The security domain of an internet password.
    public var securityDomain: String? { text(SecKey.securityDomain) }
    /// The server of an internet password.
    public var server: String? { text(SecKey.server) }
    /// The value of a `kSecAttrProtocol…` constant.
    public var `protocol`: String? { text(SecKey.protocolType) }
    /// The value of a `kSecAttrAuthenticationType…` constant.
    public var authenticationType: String? { text(SecKey.authenticationType) }
    /// The port of an internet password; 0 for none.
    public var port: Int? { attributes[SecKey.port] as? Int }
    /// The path of an internet password.
    public var path: String? { text(SecKey.path) }

    private func textOrDigits(_ code: String) -> String? { text(code) ?? (attributes[code] as? Int).map { String($0) } }
}

extension Attributes: CustomStringConvertible, CustomDebugStringConvertible {
    /// The attributes, by Apple's codes. Foundation shows only the size of the secret.
    public var description: String { "\(attributes)" }

    /// The same as the description.
    public var debugDescription: String { description }
}
