// Code as it is found: README.md beside it.
// swift-format-ignore-file: NeverForceUnwrap, AllPublicDeclarationsHaveDocumentation

import Foundation
import SecItem

/// When a `SimpleStore`'s item can be read.
public enum SimpleAccess {
    case whenUnlocked, whenUnlockedThisDeviceOnly, afterFirstUnlock, afterFirstUnlockThisDeviceOnly,
        whenPasscodeSetThisDeviceOnly

    static let standard: SimpleAccess = .whenUnlocked

    var value: String {
        switch self {
        case .whenUnlocked: return string(kSecAttrAccessibleWhenUnlocked)
        case .whenUnlockedThisDeviceOnly: return string(kSecAttrAccessibleWhenUnlockedThisDeviceOnly)
        case .afterFirstUnlock: return string(kSecAttrAccessibleAfterFirstUnlock)
        case .afterFirstUnlockThisDeviceOnly: return string(kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly)
        case .whenPasscodeSetThisDeviceOnly: return string(kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly)
        }
    }

    private func string(_ value: CFString) -> String { return value as String }
}

/// The constants as strings, so that queries are dictionaries of strings.
public struct SimpleConstants {
    public static var itemClass: String { return string(kSecClass) }
    public static var account: String { return string(kSecAttrAccount) }
    public static var accessible: String { return string(kSecAttrAccessible) }
    public static var accessGroup: String { return string(kSecAttrAccessGroup) }
    public static var synchronizable: String { return string(kSecAttrSynchronizable) }
    public static var valueData: String { return string(kSecValueData) }
    public static var matchLimit: String { return string(kSecMatchLimit) }
    public static var returnData: String { return string(kSecReturnData) }
    public static var returnReference: String { return string(kSecReturnPersistentRef) }
    public static var returnAttributes: String { return string(kSecReturnAttributes) }

    static func string(_ value: CFString) -> String { return value as String }
}

/// Texts, bytes and truth values by key.
open class SimpleStore {
    open var lastResultCode: OSStatus = noErr
    open var accessGroup: String?
    open var synchronizable: Bool = false
    let keyPrefix: String
    private let lock = NSLock()

    public init(keyPrefix: String = "") { self.keyPrefix = keyPrefix }

    @discardableResult
    open func set(_ value: String, forKey key: String, withAccess access: SimpleAccess? = nil) -> Bool {
        guard let value = value.data(using: String.Encoding.utf8) else { return false }
        return set(value, forKey: key, withAccess: access)
    }

    @discardableResult
    open func set(_ value: Data, forKey key: String, withAccess access: SimpleAccess? = nil) -> Bool {
        lock.lock()
        defer { lock.unlock() }
        deleteNoLock(key)
        var query: [String: Any] = [
            SimpleConstants.itemClass: kSecClassGenericPassword,
            SimpleConstants.account: keyPrefix + key,
            SimpleConstants.valueData: value,
            SimpleConstants.accessible: access?.value ?? SimpleAccess.standard.value,
        ]
        query = completed(query, adding: true)
        lastResultCode = SecItemAdd(query as CFDictionary, nil)
        return lastResultCode == noErr
    }

    @discardableResult
    open func set(_ value: Bool, forKey key: String, withAccess access: SimpleAccess? = nil) -> Bool {
        let bytes: [UInt8] = value ? [1] : [0]
        return set(Data(bytes), forKey: key, withAccess: access)
    }

    open func get(_ key: String) -> String? {
        guard let data = getData(key) else { return nil }
        if let text = String(data: data, encoding: .utf8) { return text }
        lastResultCode = errSecInvalidEncoding
        return nil
    }

    open func getData(_ key: String, asReference: Bool = false) -> Data? {
        lock.lock()
        defer { lock.unlock() }
        var query: [String: Any] = [
            SimpleConstants.itemClass: kSecClassGenericPassword,
            SimpleConstants.account: keyPrefix + key,
            SimpleConstants.matchLimit: kSecMatchLimitOne,
        ]
        query[asReference ? SimpleConstants.returnReference : SimpleConstants.returnData] = kCFBooleanTrue
        query = completed(query, adding: false)
        var result: AnyObject?
        lastResultCode = withUnsafeMutablePointer(to: &result) {
            SecItemCopyMatching(query as CFDictionary, UnsafeMutablePointer($0))
        }
        return lastResultCode == noErr ? result as? Data : nil
    }

    open func getBool(_ key: String) -> Bool? {
        guard let data = getData(key), let first = data.first else { return nil }
        return first == 1
    }

    @discardableResult
    open func delete(_ key: String) -> Bool {
        lock.lock()
        defer { lock.unlock() }
        return deleteNoLock(key)
    }

    @discardableResult
    private func deleteNoLock(_ key: String) -> Bool {
        let query: [String: Any] = [
            SimpleConstants.itemClass: kSecClassGenericPassword, SimpleConstants.account: keyPrefix + key,
        ]
        lastResultCode = SecItemDelete(completed(query, adding: false) as CFDictionary)
        return lastResultCode == noErr
    }

    public var allKeys: [String] {
        var query: [String: Any] = [
            SimpleConstants.itemClass: kSecClassGenericPassword,
            SimpleConstants.returnData: true,
            SimpleConstants.returnAttributes: true,
            SimpleConstants.returnReference: true,
            SimpleConstants.matchLimit: kSecMatchLimitAll,
        ]
        query = completed(query, adding: false)
        var result: AnyObject?
        lastResultCode = withUnsafeMutablePointer(to: &result) {
            SecItemCopyMatching(query as CFDictionary, UnsafeMutablePointer($0))
        }
        guard lastResultCode == noErr else { return [] }
        return (result as? [[String: Any]])?.compactMap { $0[SimpleConstants.account] as? String } ?? []
    }

    @discardableResult
    open func clear() -> Bool {
        lock.lock()
        defer { lock.unlock() }
        let query: [String: Any] = [kSecClass as String: kSecClassGenericPassword]
        lastResultCode = SecItemDelete(completed(query, adding: false) as CFDictionary)
        return lastResultCode == noErr
    }

    private func completed(_ items: [String: Any], adding: Bool) -> [String: Any] {
        var items = items
        if let accessGroup = accessGroup { items[SimpleConstants.accessGroup] = accessGroup }
        if synchronizable { items[SimpleConstants.synchronizable] = adding == true ? true : kSecAttrSynchronizableAny }
        return items
    }
}
