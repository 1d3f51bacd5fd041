internal import Foundation
internal import KeychainCore

extension Keychain {
    /// Returns the keys of this keychain's items, in the vault's order. If the items cannot be read, the array is empty
    /// and `lastFailure` contains the reason.
    public func allKeys() -> [String] { items().compactMap { Self.text($0[SecKey.account]) } }

    /// Returns this keychain's items, with `class`, `service` or `server`, `key`, `accessGroup`, `protocol`,
    /// `authenticationType`, `accessibility`, `synchronizable`.
    ///
    /// Secrets are not included, as in the original library on macOS; on iOS, that library includes them as `value`.
    /// If the items cannot be read, the array is empty and `lastFailure` contains the reason.
    public func allItems() -> [[String: Any]] { items().map { Self.readable($0, itemClass) } }

    /// Returns the service or server and the key of each item of a class.
    public static func allKeys(_ itemClass: ItemClass) -> [(String, String)] {
        let place = itemClass == .genericPassword ? SecKey.service : SecKey.server
        return items(itemClass).map { (text($0[place]) ?? "", text($0[SecKey.account]) ?? "") }
    }

    /// Returns all items of a class, for every service and server, synchronizable or not, in the form of `allItems()`.
    public static func allItems(_ itemClass: ItemClass) -> [[String: Any]] {
        items(itemClass).map { readable($0, itemClass) }
    }

    private func items() -> [[String: Any]] { Self.items(query(true, nil)) }

    private static func items(_ itemClass: ItemClass) -> [[String: Any]] {
        items([SecKey.itemClass: itemClass.rawValue, SecKey.synchronizable: SecKey.synchronizableAny])
    }

    private static func items(_ query: [String: Any]) -> [[String: Any]] {
        var query = query
        query[SecKey.matchLimit] = SecKey.matchLimitAll
        query[SecKey.returnAttributes] = true
        do {
            return try call { () throws(KeychainFailure) in try ItemStore.find(try ItemRequest(query)).map(\.attributes)
            }
        } catch {
            return []
        }
    }

    /// Returns a value as text, even if it was passed to `SecItemAdd` as bytes.
    private static func text(_ value: Any?) -> String? {
        value as? String ?? (value as? Data).flatMap { String(data: $0, encoding: .utf8) }
    }

    /// Returns attributes under human-readable names.
    private static func readable(_ attributes: [String: Any], _ itemClass: ItemClass) -> [String: Any] {
        var item: [String: Any] = ["class": itemClass.description]
        func text(_ code: String) -> String? { Self.text(attributes[code]) }
        item["accessGroup"] = text(SecKey.accessGroup)
        item["key"] = text(SecKey.account)
        item["accessibility"] = text(SecKey.accessible).flatMap { Accessibility(rawValue: $0) }?.description
        item["synchronizable"] = (attributes[SecKey.synchronizable] as? Bool).map { $0 ? "true" : "false" }
        switch itemClass {
        case .genericPassword: item["service"] = text(SecKey.service)
        case .internetPassword:
            item["server"] = text(SecKey.server)
            item["protocol"] = text(SecKey.protocolType).flatMap { ProtocolType(rawValue: $0) }?.description
            item["authenticationType"] =
                text(SecKey.authenticationType).flatMap { AuthenticationType(rawValue: $0) }?.description
        }
        return item
    }
}

extension Keychain: CustomStringConvertible, CustomDebugStringConvertible {
    /// The items, one per line, without secrets.
    public var description: String {
        let items = allItems()
        guard !items.isEmpty else { return "[]" }
        return "[\n" + items.map { "  \($0)\n" }.joined() + "]"
    }

    /// The items with all attributes, by Apple's codes, without secrets.
    public var debugDescription: String { "\(items())" }
}
