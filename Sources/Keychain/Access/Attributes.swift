public import Foundation
public import KeychainCore

/// When an item's secret can be read, and who must agree.
public typealias SecAccessControl = KeychainCore.SecAccessControl

/// The attributes of an item, with its secret and the references to it. Those that an item does not have are nil.
///
/// The secret is ordinary memory here, which nobody wipes: let go of it soon.
public struct Attributes {
    private let attributes: [String: Any]

    init(_ attributes: [String: Any]) { self.attributes = attributes }

    /// Any attribute by its `kSecAttr…` constant, `kSecValueData` and the references included.
    public subscript(key: String) -> Any? { attributes[key] }

    private func text(_ code: String) -> String? { attributes[code] as? String }

    /// The value of a `kSecClass…` constant.
    public var `class`: String? { text(SecKey.itemClass) }
    /// The secret.
    public var data: Data? { attributes[SecKey.valueData] as? Data }
    /// A reference: here the same as the persistent one.
    public var ref: Data? { attributes[SecKey.valueReference] as? Data }
    /// What finds the item again by `kSecValuePersistentRef`, also after the vault was closed, and after the item was
    /// renamed; not after it was removed.
    public var persistentRef: Data? { attributes[SecKey.valuePersistentReference] as? Data }

    /// The value of a `kSecAttrAccessible…` constant.
    public var accessible: String? { text(SecKey.accessible) }
    /// When the secret can be read and who must agree.
    public var accessControl: SecAccessControl? { attributes[SecKey.accessControl] as? SecAccessControl }
    /// The access group; empty for the default one.
    public var accessGroup: String? { text(SecKey.accessGroup) }
    /// Whether it is meant to be synchronised.
    public var synchronizable: Bool? { attributes[SecKey.synchronizable] as? Bool }
    /// When it was made.
    public var creationDate: Date? { attributes[SecKey.creationDate] as? Date }
    /// When it was changed last.
    public var modificationDate: Date? { attributes[SecKey.modificationDate] as? Date }
    /// What kind of item it is, in words.
    public var attributeDescription: String? { text(SecKey.description) }
    /// Notes on it.
    public var comment: String? { text(SecKey.comment) }
    /// Who made it: a text, or a number's digits.
    public var creator: String? { textOrDigits(SecKey.creator) }
    /// Its type: a text, or a number's digits.
    public var type: String? { textOrDigits(SecKey.type) }
    /// Its name for people.
    public var label: String? { text(SecKey.label) }
    /// Whether it should not be shown.
    public var isInvisible: Bool? { attributes[SecKey.isInvisible] as? Bool }
    /// Whether there is deliberately no password.
    public var isNegative: Bool? { attributes[SecKey.isNegative] as? Bool }
    /// The account: what a `Keychain` calls key.
    public var account: String? { text(SecKey.account) }
    /// The service of a generic password.
    public var service: String? { text(SecKey.service) }
    /// Whatever the program stored beside a generic password.
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
    /// The attributes by Apple's codes. Foundation shows only the size of the secret.
    public var description: String { "\(attributes)" }

    /// The same as the description.
    public var debugDescription: String { description }
}
