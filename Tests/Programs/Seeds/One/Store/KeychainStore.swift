// The snippet as it is; README.md beside this folder lists what was added.
// swift-format-ignore-file
import Foundation
import KeychainStores
import Logging
import SecItem

public struct KeychainStore: KeyValueStore {
    private let service: String
    private let groupId: String?
    private let accesibility: KeychainAccesibility
    private let securityClass: KeychainSecurityClass
    private let logger: Logger?
    
    public init(logger: Logger? = nil) {
        self.init(service: Bundle.main.bundleIdentifier ?? "",
                  groupId: nil,
                  accesibility: .afterFirstUnlock,
                  securityClass: .genericPassword,
                  logger: logger)
    }
    
    public init(service: String? = Bundle.main.bundleIdentifier,
                groupId: String? = nil,
                accesibility: KeychainAccesibility,
                securityClass: KeychainSecurityClass,
                logger: Logger?) {
        self.service = service ?? ""
        self.groupId = groupId
        self.accesibility = accesibility
        self.securityClass = securityClass
        self.logger = logger
    }

    public func save(data: Data, key: String) -> Bool {
        var item = item(key)
        item[kSecValueData as String] = data
        item[kSecAttrAccessible as String] = accesibility.value
        return log(SecItemAdd(item as CFDictionary, nil))
    }

    public func update(data: Data, key: String) -> Bool {
        log(SecItemUpdate(item(key) as CFDictionary, [kSecValueData: data] as CFDictionary))
    }

    public func delete(key: String) -> Bool { log(SecItemDelete(item(key) as CFDictionary)) }

    public func fetch(key: String) -> Data? {
        var query = item(key)
        query[kSecReturnData as String] = true
        var result: AnyObject?
        return log(SecItemCopyMatching(query as CFDictionary, &result)) ? result as? Data : nil
    }

    private func item(_ key: String) -> [String: Any] {
        var item: [String: Any] = [kSecClass as String: securityClass.value, kSecAttrService as String: service, kSecAttrAccount as String: key]
        if let groupId { item[kSecAttrAccessGroup as String] = groupId }
        return item
    }

    private func log(_ status: OSStatus) -> Bool {
        logger?.info("status \(status)")
        return status == errSecSuccess
    }
}

extension KeychainAccesibility {
    var value: CFString {
        switch self {
        case .whenUnlocked: kSecAttrAccessibleWhenUnlocked
        case .afterFirstUnlock: kSecAttrAccessibleAfterFirstUnlock
        case .whenPasscodeSetThisDeviceOnly: kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly
        case .whenUnlockedThisDeviceOnly: kSecAttrAccessibleWhenUnlockedThisDeviceOnly
        case .afterFirstUnlockThisDeviceOnly: kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly
        }
    }
}

extension KeychainSecurityClass {
    var value: CFString {
        switch self {
        case .internetPassword: kSecClassInternetPassword
        case .genericPassword: kSecClassGenericPassword
        case .certificate: kSecClassCertificate
        case .key: kSecClassKey
        case .identity: kSecClassIdentity
        }
    }
}
