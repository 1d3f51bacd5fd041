public import Foundation
internal import KeychainCore

// swift-format-ignore: AlwaysUseLowerCamelCase
/// Adds an item to the vault in use.
///
/// - Parameters:
///   - attributes: Class (`kSecClass`), attributes, and the secret (`kSecValueData`, else an empty one). Without an
///     access group it is in the default one, without an accessibility `kSecAttrAccessibleWhenUnlocked`. With return
///     keys, `result` gets what they say.
///   - result: Where the result goes, or nil.
/// - Returns: `errSecDuplicateItem` if the class's primary key exists, `errSecParam` and `errSecNoSuchAttr` for a
///   dictionary that cannot be understood, `errSecAuthFailed` if the vault was opened by a scoped slot; else as the
///   guide's table says.
@discardableResult
public func SecItemAdd(_ attributes: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus {
    status { () throws(KeychainFailure) in
        let request = try ItemRequest(dictionary(attributes))
        let added = try ItemStore.add(request)
        result?.pointee = added.result(request.returns).map { $0 as AnyObject }
    }
}

// swift-format-ignore: AlwaysUseLowerCamelCase
/// Finds items, and returns what the query's return keys say.
///
/// One item unless `kSecMatchLimit` says otherwise; then an array. A single return key gives the thing itself (`Data`,
/// or a dictionary of attributes), several give a dictionary. Secrets come as `Data`, ordinary memory that is not
/// wiped: let go of it soon.
///
/// - Parameters:
///   - query: Class or reference, attributes that items must have, match and return keys. Without
///     `kSecAttrSynchronizable`, only items that are not synchronizable; without an access group, those of all.
///     `kSecValueData` and `kSecAttrAccessControl` in it are ignored, as at Apple.
///   - result: Where the result goes, or nil to learn only whether there is an item.
/// - Returns: `errSecItemNotFound`; `errSecInteractionNotAllowed` for a secret of a locked vault; `errSecAuthFailed`
///   for one of an access group that the vault's slot does not grant; `errSecDataNotAvailable` for one of another
///   device; `errSecDecode` for a damaged one; else as the guide's table says.
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
///   - query: As for `SecItemCopyMatching`; a return key that is true is `errSecParam`.
///   - attributesToUpdate: New attributes, `kSecValueData` among them; what is not named stays. A changed primary key
///     renames the item.
/// - Returns: `errSecItemNotFound`; `errSecDuplicateItem` if a changed primary key exists; `errSecReadOnlyAttr` for
///   dates; else as `SecItemAdd`.
@discardableResult
public func SecItemUpdate(_ query: CFDictionary, _ attributesToUpdate: CFDictionary) -> OSStatus {
    status { () throws(KeychainFailure) in
        let request = try ItemRequest(dictionary(query))
        try ItemStore.update(request, try ItemChanges(dictionary(attributesToUpdate), of: request.itemClass))
    }
}

// swift-format-ignore: AlwaysUseLowerCamelCase
/// Removes every item that matches, in one commit. What was encrypted stays in the file until it is compacted, and in
/// copies of it.
///
/// - Parameter query: As for `SecItemCopyMatching`; return keys are ignored.
/// - Returns: `errSecItemNotFound`; else as `SecItemAdd`.
@discardableResult
public func SecItemDelete(_ query: CFDictionary) -> OSStatus {
    status { () throws(KeychainFailure) in try ItemStore.remove(try ItemRequest(dictionary(query))) }
}

/// What a dictionary holds, in Swift's own types.
private func dictionary(_ dictionary: CFDictionary) throws(KeychainFailure) -> [String: Any] {
    guard let dictionary = dictionary as? [String: Any] else {
        throw KeychainFailure(.param, "a key of the dictionary is not a text")
    }
    return dictionary
}

private func status(_ body: () throws(KeychainFailure) -> Void) -> OSStatus {
    do throws(KeychainFailure) {
        try ItemStore.call(body)
        return errSecSuccess
    } catch { return error.status }
}
