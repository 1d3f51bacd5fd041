internal import Foundation
internal import KeychainCore

/// The search criteria of a `Keychain`, and the settings of the items that it stores.
struct Options: Sendable {
    var itemClass: ItemClass = .genericPassword
    var service = ""
    var accessGroup: String?
    var server: URL?
    var protocolType: ProtocolType?
    var authenticationType: AuthenticationType = .default
    var accessibility: Accessibility = .afterFirstUnlock
    var authenticationPolicy: AuthenticationPolicy?
    var synchronizable = false
    var label: String?
    var comment: String?
    var authenticationPrompt: String?
    var authenticationUI: AuthenticationUI?
    /// Additional attributes, or the reason why they cannot be stored.
    private var attributes: Result<ItemChanges, KeychainFailure> = .success(ItemChanges())

    static var defaultService: String { Bundle.main.bundleIdentifier ?? ProcessInfo.processInfo.processName }

    mutating func add(_ more: [String: Any]) {
        do throws(KeychainFailure) {
            attributes = .success(try attributes.get().merged(with: try ItemChanges(more, of: itemClass.inVault)))
        } catch { attributes = .failure(error) }
    }

    /// Returns the dictionary that finds the keychain's items, in the form of Apple's API.
    func query(ignoringAttributeSynchronizable: Bool = true, key: String? = nil, context: AnyObject?) -> [String: Any] {
        var query = place(key)
        query[SecKey.synchronizable] =
            ignoringAttributeSynchronizable ? SecKey.synchronizableAny : synchronizable as Any
        query[SecKey.useOperationPrompt] = authenticationPrompt
        query[SecKey.useAuthenticationContext] = context
        query[SecKey.useAuthenticationUI] = authenticationUI?.rawValue
        return query
    }

    /// Returns the contents of a new item.
    func newItem(_ value: Data, key: String) throws(KeychainFailure) -> ItemChanges {
        var attributes = place(key)
        attributes[SecKey.itemClass] = nil
        return try ItemChanges(attributes, of: itemClass.inVault).merged(with: try changes(value))
    }

    /// Returns the changes to an existing item.
    func changes(_ value: Data) throws(KeychainFailure) -> ItemChanges {
        var attributes: [String: Any] = [SecKey.valueData: value, SecKey.synchronizable: synchronizable]
        attributes[SecKey.label] = label
        attributes[SecKey.comment] = comment
        if let authenticationPolicy {
            attributes[SecKey.accessControl] = SecAccessControl(
                checking: accessibility.rawValue, flags: authenticationPolicy.rawValue)
        } else {
            attributes[SecKey.accessible] = accessibility.rawValue
        }
        return try ItemChanges(attributes, of: itemClass.inVault).merged(with: try self.attributes.get())
    }

    private func place(_ key: String?) -> [String: Any] {
        var place: [String: Any] = [SecKey.itemClass: itemClass.rawValue]
        place[SecKey.accessGroup] = accessGroup
        place[SecKey.account] = key
        switch itemClass {
        case .genericPassword: place[SecKey.service] = service
        case .internetPassword:
            // Text without a scheme has no host, and must not match all servers.
            place[SecKey.server] = server.map { $0.host ?? $0.absoluteString }
            place[SecKey.port] = server?.port
            place[SecKey.protocolType] = protocolType?.rawValue
            place[SecKey.authenticationType] = authenticationType.rawValue
        }
        return place
    }
}
