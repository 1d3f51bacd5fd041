// Code as it is found: README.md beside it.
// swift-format-ignore-file: NeverForceUnwrap, AllPublicDeclarationsHaveDocumentation

import Foundation
import SecItem

/// Why a request failed, by its status.
public enum StorableError: Error, Equatable {
    case duplicate, notFound, param, other(OSStatus)

    init?(_ status: OSStatus) {
        switch status {
        case errSecSuccess: return nil
        case errSecDuplicateItem: self = .duplicate
        case errSecItemNotFound: self = .notFound
        case errSecParam: self = .param
        default: self = .other(status)
        }
    }
}

public typealias PerformRequest = (_ request: CFDictionary, _ result: inout AnyObject?) -> OSStatus

/// What can be kept, with its attributes.
public protocol Storable {
    var service: String { get }
    var account: String { get }
    var accessible: CFString? { get }
    var label: String? { get }
    var comment: String? { get }
    var creator: UInt? { get }
    var isInvisible: Bool? { get }
    var generic: NSData? { get }
}

extension Storable {
    public var accessible: CFString? { return nil }
    public var label: String? { return nil }
    public var comment: String? { return nil }
    public var creator: UInt? { return nil }
    public var isInvisible: Bool? { return nil }
    public var generic: NSData? { return nil }

    fileprivate var attributes: [String: Any] {
        let optional: [String: Any?] = [
            String(kSecAttrAccessible): accessible, String(kSecAttrLabel): label, String(kSecAttrComment): comment,
            String(kSecAttrCreator): creator, String(kSecAttrIsInvisible): isInvisible,
            String(kSecAttrGeneric): generic,
        ]
        var attributes = [String: Any]()
        for case let (key, value?) in optional { attributes[key] = value }
        attributes[String(kSecClass)] = String(kSecClassGenericPassword)
        attributes[String(kSecAttrService)] = service
        attributes[String(kSecAttrAccount)] = account
        return attributes
    }

    @discardableResult
    fileprivate func perform(_ request: [String: Any], with closure: PerformRequest) throws -> [String: Any]? {
        var result: AnyObject?
        let status = closure(request as CFDictionary, &result)
        if let error = StorableError(status) { throw error }
        guard let dictionary = result as? NSDictionary, dictionary[String(kSecValueData)] as? NSData != nil else {
            return nil
        }
        return result as? [String: Any]
    }
}

/// What can be made and changed: a dictionary of texts is its secret.
public protocol CreatableStorable: Storable {
    var data: [String: String] { get }
}

extension CreatableStorable {
    private func request() throws -> [String: Any] {
        var request = attributes
        request[String(kSecValueData)] = try PropertyListSerialization.data(
            fromPropertyList: data, format: .binary, options: 0)
        return request
    }

    public func create() throws {
        try perform(request()) { request, result in
            withUnsafeMutablePointer(to: &result) { pointer in SecItemAdd(request, pointer) }
        }
    }

    /// Updates with its whole request as the query, the secret included, as the original does.
    public func update() throws {
        let query = try request()
        var changes = query
        changes[String(kSecClass)] = nil
        let status = SecItemUpdate(query as CFDictionary, changes as CFDictionary)
        guard let error = StorableError(status) else { return }
        guard error == .notFound else { throw error }
        try create()
    }
}

/// What can be read.
public protocol ReadableStorable: Storable {}

/// What was read.
public struct StorableResult {
    public let dictionary: [String: Any]

    public var account: String { return dictionary[String(kSecAttrAccount)] as! String }
    public var label: String? { return dictionary[String(kSecAttrLabel)] as? String }
    public var creator: UInt? { return dictionary[String(kSecAttrCreator)] as? UInt }
    public var isInvisible: Bool? { return dictionary[String(kSecAttrIsInvisible)] as? Bool }
    public var generic: NSData? { return dictionary[String(kSecAttrGeneric)] as? NSData }
    public var created: Date? { return dictionary[String(kSecAttrCreationDate)] as? Date }
    public var data: [String: String]? {
        guard let data = dictionary[String(kSecValueData)] as? NSData else { return nil }
        return (try? PropertyListSerialization.propertyList(from: data as Data, options: [], format: nil))
            as? [String: String]
    }
}

extension ReadableStorable {
    public func read() -> StorableResult? {
        var request: [String: Any] = [
            String(kSecClass): String(kSecClassGenericPassword), String(kSecAttrService): service,
            String(kSecAttrAccount): account,
        ]
        request[String(kSecReturnData)] = kCFBooleanTrue
        request[String(kSecMatchLimit)] = kSecMatchLimitOne
        request[String(kSecReturnAttributes)] = kCFBooleanTrue
        let found = try? perform(request) { request, result in
            withUnsafeMutablePointer(to: &result) { SecItemCopyMatching(request, UnsafeMutablePointer($0)) }
        }
        return found.map { StorableResult(dictionary: $0) }
    }
}

/// What can be removed.
public protocol DeletableStorable: Storable {}

extension DeletableStorable {
    public func delete() throws {
        try perform(attributes) { request, _ in SecItemDelete(request) }
    }
}
