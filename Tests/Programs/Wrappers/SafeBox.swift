// Code as it is found: README.md beside it.
// swift-format-ignore-file: NeverForceUnwrap, AllPublicDeclarationsHaveDocumentation

import Foundation
import SecItem

/// Why a `SafeBox` refused.
public enum SafeBoxError: Error, Equatable {
    case couldNotAccess, emptyKey, emptyValue, itemNotFound, missingEntitlement, userCancelled, migrationFailed

    init(status: OSStatus) {
        switch status {
        case errSecItemNotFound: self = .itemNotFound
        case errSecUserCanceled, errSecAuthFailed: self = .userCancelled
        case errSecMissingEntitlement: self = .missingEntitlement
        default: self = .couldNotAccess
        }
    }
}

/// Texts by key, of one identifier and accessibility.
public final class SafeBox {
    private static let canary = "SafeBox canary"
    private static let secItemLock = NSLock()
    private let base: [String: AnyHashable]

    public init(identifier: String, accessibility: CFString = kSecAttrAccessibleWhenUnlocked) {
        base = [
            kSecClass as String: kSecClassGenericPassword,
            kSecAttrService as String: "SafeBox_\(identifier)_\(accessibility)",
            kSecAttrAccessible as String: accessibility,
        ]
    }

    /// One that asks for presence at each reading.
    public init(guarded identifier: String, by flags: SecAccessControlCreateFlags) {
        base = [
            kSecClass as String: kSecClassGenericPassword,
            kSecAttrService as String: "SafeBox_\(identifier)_guarded",
            kSecAttrAccessControl as String: SecAccessControlCreateWithFlags(
                nil, kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly, flags, nil),
        ]
    }

    public func canAccessKeychain() -> Bool {
        if (try? string(forKey: Self.canary)) == "canary" { return true }
        var item = base
        item[kSecAttrAccount as String] = Self.canary
        item[kSecValueData as String] = Data("canary".utf8)
        try? add(item)
        return (try? string(forKey: Self.canary)) == "canary"
    }

    public func setString(_ string: String, forKey key: String) throws {
        let data = Data(string.utf8)
        guard !key.isEmpty else { throw SafeBoxError.emptyKey }
        guard !data.isEmpty else { throw SafeBoxError.emptyValue }
        var query = base
        query[kSecAttrAccount as String] = key
        if performCopy(query) == errSecSuccess {
            try update([kSecValueData as String: data], matching: query)
        } else {
            query[kSecValueData as String] = data
            try add(query)
        }
    }

    public func string(forKey key: String, withPrompt prompt: String? = nil) throws -> String {
        var query = base
        query[kSecAttrAccount as String] = key
        query[kSecMatchLimit as String] = kSecMatchLimitOne
        query[kSecReturnData as String] = true
        if let prompt { query[kSecUseOperationPrompt as String] = prompt }
        let data: Data = try copy(matching: query)
        guard let string = String(data: data, encoding: .utf8) else { throw SafeBoxError.itemNotFound }
        return string
    }

    public func containsObject(forKey key: String) throws -> Bool {
        var query = base
        query[kSecAttrAccount as String] = key
        let status = performCopy(query)
        switch status {
        case errSecSuccess, errSecInteractionNotAllowed: return true
        case errSecItemNotFound: return false
        default: throw SafeBoxError(status: status)
        }
    }

    public func allKeys() throws -> Set<String> {
        var query = base
        query[kSecMatchLimit as String] = kSecMatchLimitAll
        query[kSecReturnAttributes as String] = true
        do {
            let found: Any = try copy(matching: query)
            guard let items = found as? [[String: AnyHashable]] else { return [] }
            return Set(items.compactMap { $0[kSecAttrAccount as String] as? String }.filter { $0 != Self.canary })
        } catch SafeBoxError.itemNotFound { return [] }
    }

    public func removeObject(forKey key: String) throws {
        var query = base
        query[kSecAttrAccount as String] = key
        try delete(matching: query)
    }

    public func removeAllObjects() throws { try delete(matching: base) }

    /// Takes over everything that a query finds, by reference, and removes it there.
    public func migrateObjects(matching query: [String: AnyHashable]) throws {
        guard query[kSecClass as String] as? String as CFString? == kSecClassGenericPassword,
            query[kSecMatchLimit as String] as? String as CFString? != kSecMatchLimitOne
        else { throw SafeBoxError.migrationFailed }
        var search = query
        search[kSecMatchLimit as String] = kSecMatchLimitAll
        search[kSecReturnAttributes as String] = true
        search[kSecReturnData as String] = false
        search[kSecReturnRef as String] = false
        search[kSecReturnPersistentRef as String] = true
        let items: [[String: AnyHashable]] = try copy(matching: search)
        for item in items {
            guard let reference = item[kSecValuePersistentRef as String],
                let key = item[kSecAttrAccount as String] as? String
            else {
                throw SafeBoxError.migrationFailed
            }
            let data: Data = try copy(matching: [
                kSecValuePersistentRef as String: reference, kSecReturnData as String: true,
            ])
            guard let string = String(data: data, encoding: .utf8), try !containsObject(forKey: key) else {
                throw SafeBoxError.migrationFailed
            }
            try setString(string, forKey: key)
        }
        try delete(matching: query)
    }

    // MARK: calls

    private func copy<Wanted>(matching query: [String: AnyHashable]) throws -> Wanted {
        var status = errSecNotAvailable
        var result: AnyObject? = nil
        Self.secItemLock.lock()
        status = SecItemCopyMatching(query as CFDictionary, &result)
        Self.secItemLock.unlock()
        guard status == errSecSuccess else { throw SafeBoxError(status: status) }
        guard let wanted = result as? Wanted else { throw SafeBoxError.itemNotFound }
        return wanted
    }

    private func performCopy(_ query: [String: AnyHashable]) -> OSStatus {
        SecItemCopyMatching(query as CFDictionary, nil)
    }

    private func add(_ attributes: [String: AnyHashable]) throws {
        var result: AnyObject? = nil
        let status = SecItemAdd(attributes as CFDictionary, &result)
        guard status == errSecSuccess else { throw SafeBoxError(status: status) }
    }

    private func update(_ attributes: [String: AnyHashable], matching query: [String: AnyHashable]) throws {
        let status = SecItemUpdate(query as CFDictionary, attributes as CFDictionary)
        guard status == errSecSuccess else { throw SafeBoxError(status: status) }
    }

    private func delete(matching query: [String: AnyHashable]) throws {
        var query = query
        query[kSecMatchLimit as String] = kSecMatchLimitAll
        let status = SecItemDelete(query as CFDictionary)
        guard status == errSecSuccess || status == errSecItemNotFound else { throw SafeBoxError(status: status) }
    }
}
