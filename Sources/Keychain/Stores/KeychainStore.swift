public import Foundation
internal import KeychainCore
public import Logging
internal import SecItem

/// The conditions under which the items in a `KeychainStore` can be read.
public enum KeychainAccesibility: Sendable, CaseIterable {
    /// Readable while the vault is unlocked.
    case whenUnlocked
    /// Readable after the vault has been unlocked once (recommended).
    case afterFirstUnlock
    /// The same as `whenUnlockedThisDeviceOnly`: a vault has no passcode.
    case whenPasscodeSetThisDeviceOnly
    /// Readable while the vault is unlocked, only on this device.
    case whenUnlockedThisDeviceOnly
    /// Readable after the vault has been unlocked once, only on this device.
    case afterFirstUnlockThisDeviceOnly

    var constant: CFString {
        switch self {
        case .whenUnlocked: kSecAttrAccessibleWhenUnlocked
        case .afterFirstUnlock: kSecAttrAccessibleAfterFirstUnlock
        case .whenPasscodeSetThisDeviceOnly: kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly
        case .whenUnlockedThisDeviceOnly: kSecAttrAccessibleWhenUnlockedThisDeviceOnly
        case .afterFirstUnlockThisDeviceOnly: kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly
        }
    }
}

/// The class of the items in a `KeychainStore`.
public enum KeychainSecurityClass: Sendable, CaseIterable {
    /// Passwords for a server, whose name is the service.
    case internetPassword
    /// Passwords for a service.
    case genericPassword
    /// Certificates: the service is the issuer, and the key is the serial number.
    case certificate
    /// Cryptographic keys: the service is the application tag, and the key is the application label.
    case key
    /// Certificates with their private keys, identified like certificates.
    case identity

    var constant: CFString {
        switch self {
        case .internetPassword: kSecClassInternetPassword
        case .genericPassword: kSecClassGenericPassword
        case .certificate: kSecClassCertificate
        case .key: kSecClassKey
        case .identity: kSecClassIdentity
        }
    }

    /// The attributes that hold a store's service and an item's key: for each class, two attributes of its primary key.
    var names: (service: CFString, key: CFString) {
        switch self {
        case .internetPassword: (kSecAttrServer, kSecAttrAccount)
        case .genericPassword: (kSecAttrService, kSecAttrAccount)
        case .certificate, .identity: (kSecAttrIssuer, kSecAttrSerialNumber)
        case .key: (kSecAttrApplicationTag, kSecAttrApplicationLabel)
        }
    }
}

/// A key-value store of bytes. Each value is an item in the vault that the process uses (`SecItemVault`, `Keychain`).
///
/// Calls and failures are logged with key, service and status, but never with a secret.
public struct KeychainStore: KeyValueStore, Sendable {
    private let service: String
    private let groupId: String?
    private let accesibility: KeychainAccesibility
    private let securityClass: KeychainSecurityClass
    private let logger: Logger?

    /// Creates a store for this program's generic passwords, accessible after the vault has been unlocked once.
    public init(logger: Logger? = nil) {
        self.init(accesibility: .afterFirstUnlock, securityClass: .genericPassword, logger: logger)
    }

    /// Creates a store for a service's items.
    ///
    /// - Parameters:
    ///   - service: The service; by default the bundle's identifier or, if there is none, as on Linux, the name of the
    ///     program.
    ///   - groupId: The access group; nil for the default one.
    ///   - accesibility: When the items can be read.
    ///   - securityClass: The class of the items.
    ///   - logger: The logger for the store's calls; nil disables logging.
    public init(
        service: String? = Bundle.main.bundleIdentifier, groupId: String? = nil, accesibility: KeychainAccesibility,
        securityClass: KeychainSecurityClass, logger: Logger?
    ) {
        self.service = service ?? ProcessInfo.processInfo.processName
        self.groupId = groupId
        self.accesibility = accesibility
        self.securityClass = securityClass
        self.logger = logger
    }

    /// Atomically stores the value for a key, replacing any existing one. Returns false if the value cannot be stored.
    public func save(data: Data, key: String) -> Bool {
        let item = item(key)
        let status = Self.status { () throws(KeychainFailure) in
            let request = try ItemRequest(Self.strings(item))
            let changes = try ItemChanges(Self.strings(changes(data)), of: request.itemClass)
            let attributes = Self.strings(item).filter { $0.key != kSecClass as String }
            try ItemStore.set(
                request, changes, orAdd: try ItemChanges(attributes, of: request.itemClass).merged(with: changes))
        }
        return succeeds("save", key, status)
    }

    /// Replaces the value for a key. Returns false if the key does not exist or the value cannot be replaced.
    public func update(data: Data, key: String) -> Bool {
        succeeds("update", key, SecItemUpdate(item(key) as CFDictionary, changes(data) as CFDictionary))
    }

    /// Removes a key and its value. Returns false if the key does not exist or cannot be removed.
    public func delete(key: String) -> Bool { succeeds("delete", key, SecItemDelete(item(key) as CFDictionary)) }

    /// Returns the value for a key, or nil if the key does not exist or the value cannot be read.
    public func fetch(key: String) -> Data? {
        var query = item(key)
        query[kSecReturnData] = true
        var result: CFTypeRef?
        guard succeeds("fetch", key, SecItemCopyMatching(query as CFDictionary, &result)) else { return nil }
        return result as? Data
    }

    private func item(_ key: String) -> [CFString: Any] {
        let names = securityClass.names
        return [
            kSecClass: securityClass.constant, names.service: service, names.key: key,
            kSecAttrAccessGroup: groupId ?? "",
        ]
    }

    private func changes(_ data: Data) -> [CFString: Any] {
        [kSecValueData: data, kSecAttrAccessible: accesibility.constant]
    }

    private static func strings(_ dictionary: [CFString: Any]) -> [String: Any] {
        Dictionary(uniqueKeysWithValues: dictionary.map { ($0 as String, $1) })
    }

    private static func status(_ body: () throws(KeychainFailure) -> Void) -> OSStatus {
        do throws(KeychainFailure) {
            try ItemStore.call(body)
            return errSecSuccess
        } catch { return error.status }
    }

    private func succeeds(_ action: StaticString, _ key: String, _ status: OSStatus) -> Bool {
        guard let logger else { return status == errSecSuccess }
        let facts: Logger.Metadata = ["action": "\(action)", "service": "\(service)", "key": "\(key)"]
        switch status {
        case errSecSuccess: logger.debug("keychain item", metadata: facts)
        case errSecItemNotFound: logger.debug("no such keychain item", metadata: facts)
        default:
            let reason = SecItemVault.lastFailure ?? ""
            logger.error(
                "keychain item failed",
                metadata: facts.merging(["status": "\(status)", "reason": "\(reason)"]) { first, _ in first })
        }
        return status == errSecSuccess
    }
}
