public import Foundation
internal import KeychainCore

// swift-format-ignore: AlwaysUseLowerCamelCase
/// Adds an item to the vault in use.
///
/// - Parameters:
///   - attributes: Class (`kSecClass`), attributes, and the secret (`kSecValueData`; empty by default). The default
///     access group and `kSecAttrAccessibleWhenUnlocked` are used if no others are given. If there are return keys,
///     `result` receives the parts that they request.
///   - result: Receives the result; may be nil.
/// - Returns: `errSecDuplicateItem` if an item with the class's primary key exists; `errSecParam` or `errSecNoSuchAttr`
///   if the dictionary is invalid; `errSecAuthFailed` if the vault was opened by a scoped slot; other codes as listed
///   in the guide.
@discardableResult
public func SecItemAdd(_ attributes: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus {
    status { () throws(KeychainFailure) in
        let request = try ItemRequest(dictionary(attributes))
        let added = try ItemStore.add(request)
        result?.pointee = added.result(request.returns).map { $0 as AnyObject }
    }
}

// swift-format-ignore: AlwaysUseLowerCamelCase
/// Finds items and returns the parts that the query's return keys request.
///
/// It returns one item unless `kSecMatchLimit` requests more, in which case it returns an array. With a single return
/// key, the result is that value itself (`Data`, or a dictionary of attributes); with several, it is a dictionary.
/// Secrets are returned as `Data` in ordinary memory that is not wiped, so release them soon.
///
/// - Parameters:
///   - query: Class or reference, attributes that items must have, match and return keys. Without
///     `kSecAttrSynchronizable`, only items that are not synchronizable match; without an access group, items in all
///     groups match. `kSecValueData` and `kSecAttrAccessControl` are ignored, as on Apple platforms.
///   - result: Receives the result; nil if only the existence of an item is of interest.
/// - Returns: `errSecItemNotFound`; `errSecInteractionNotAllowed` for a secret in a locked vault; `errSecAuthFailed`
///   for a secret in an access group that the vault's slot does not grant; `errSecDataNotAvailable` for a secret that
///   belongs to another device; `errSecDecode` for a damaged secret; other codes as listed in the guide.
@discardableResult
public func SecItemCopyMatching(_ query: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus {
    result?.pointee = nil
    return status { () throws(KeychainFailure) in
        let request = try ItemRequest(dictionary(query))
        let found = try ItemStore.find(request)
        if request.limit ?? 1 == 1 {
            result?.pointee = found.first?.result(request.returns).map { $0 as AnyObject }
        } else if !request.returns.isEmpty {
            result?.pointee = found.compactMap { $0.result(request.returns) } as AnyObject
        }
    }
}

// swift-format-ignore: AlwaysUseLowerCamelCase
/// Changes every item that matches, in one commit.
///
/// - Parameters:
///   - query: As for `SecItemCopyMatching`, but a return key that is true results in `errSecParam`.
///   - attributesToUpdate: The new attributes, which may include `kSecValueData`; all others are kept. Changing the
///     primary key renames the item.
/// - Returns: `errSecItemNotFound`; `errSecDuplicateItem` if the new primary key exists; `errSecReadOnlyAttr` for
///   dates; otherwise as `SecItemAdd`.
@discardableResult
public func SecItemUpdate(_ query: CFDictionary, _ attributesToUpdate: CFDictionary) -> OSStatus {
    status { () throws(KeychainFailure) in
        let request = try ItemRequest(dictionary(query))
        try ItemStore.update(request, try ItemChanges(dictionary(attributesToUpdate), of: request.itemClass))
    }
}

// swift-format-ignore: AlwaysUseLowerCamelCase
/// Removes every item that matches, in one commit. The encrypted data stays in the file until it is compacted, and in
/// copies of the file.
///
/// - Parameter query: As for `SecItemCopyMatching`; return keys are ignored.
/// - Returns: `errSecItemNotFound`; otherwise as `SecItemAdd`.
@discardableResult
public func SecItemDelete(_ query: CFDictionary) -> OSStatus {
    status { () throws(KeychainFailure) in try ItemStore.remove(try ItemRequest(dictionary(query))) }
}

/// Converts a dictionary to Swift's own types.
private func dictionary(_ dictionary: CFDictionary) throws(KeychainFailure) -> [String: Any] {
    guard let dictionary = dictionary as? [String: Any] else {
        throw KeychainFailure(.param, "a key in the dictionary is not a string")
    }
    return dictionary
}

private func status(_ body: () throws(KeychainFailure) -> Void) -> OSStatus {
    do throws(KeychainFailure) {
        try ItemStore.call(body)
        return errSecSuccess
    } catch { return error.status }
}
