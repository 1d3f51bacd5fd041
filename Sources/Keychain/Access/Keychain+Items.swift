public import Foundation
internal import KeychainCore

extension Keychain {
    // MARK: reading

    /// Returns the secret for the given key as text, or nil if there is no such item.
    ///
    /// - Parameters:
    ///   - key: The account of the item.
    ///   - ignoringAttributeSynchronizable: Whether items match even if their `synchronizable` differs from this
    ///     `Keychain`'s.
    /// - Returns: The text, or nil if there is no such item.
    /// - Throws: `Status.conversionError` if the secret is not UTF-8; otherwise, the same errors as `getData`.
    public func get(_ key: String, ignoringAttributeSynchronizable: Bool = true) throws -> String? {
        try getString(key, ignoringAttributeSynchronizable: ignoringAttributeSynchronizable)
    }

    /// Returns the secret for the given key as text, or nil if there is no such item. See `get`.
    public func getString(_ key: String, ignoringAttributeSynchronizable: Bool = true) throws -> String? {
        guard let data = try getData(key, ignoringAttributeSynchronizable: ignoringAttributeSynchronizable) else {
            return nil
        }
        guard let text = String(data: data, encoding: .utf8) else { throw Status.conversionError }
        return text
    }

    /// Returns the secret for the given key, or nil if there is no such item.
    ///
    /// - Throws: `Status.interactionNotAllowed` if the vault is locked, or the user must be asked and cannot be;
    ///   `authFailed` if the vault's slot does not grant the access group, the vault does not open, or the program's
    ///   authentication handler refuses; `dataNotAvailable` if the item belongs to another device; `decode` if it is
    ///   damaged; other errors as listed in the guide. `lastFailure` contains the exact reason.
    public func getData(_ key: String, ignoringAttributeSynchronizable: Bool = true) throws -> Data? {
        var query = query(ignoringAttributeSynchronizable, key)
        query[SecKey.returnData] = true
        return try find(query).first?.secret
    }

    /// Calls `handler` with the attributes of the item for the given key, including its secret and references, or with
    /// nil if there is no item, and returns the handler's result.
    public func get<T>(_ key: String, ignoringAttributeSynchronizable: Bool = true, handler: (Attributes?) -> T) throws
        -> T
    {
        var query = query(ignoringAttributeSynchronizable, key)
        for name in [
            SecKey.returnData, SecKey.returnAttributes, SecKey.returnReference, SecKey.returnPersistentReference,
        ] {
            query[name] = true
        }
        let all: ItemRequest.Returns = [.data, .attributes, .reference, .persistentReference]
        let found = try find(query).first?.result(all) as? [String: Any]
        return handler(found.map { Attributes($0) })
    }

    /// Returns whether there is an item for the given key. The user is not asked, regardless of the item's policy.
    ///
    /// - Parameters:
    ///   - key: The account of the item.
    ///   - withoutAuthenticationUI: Whether to count an item that cannot be read because the user must not be asked.
    /// - Returns: Whether there is an item.
    /// - Throws: A `Status` if the vault cannot be read.
    public func contains(_ key: String, withoutAuthenticationUI: Bool = false) throws -> Bool {
        var query = query(true, key)
        if withoutAuthenticationUI { query[SecKey.useAuthenticationUI] = authenticationUIOrFail.rawValue }
        do throws(KeychainFailure) {
            _ = try ItemStore.find(try ItemRequest(query))
            return true
        } catch {
            switch error.status {
            case Status.itemNotFound.rawValue: return false
            case Status.interactionNotAllowed.rawValue: return withoutAuthenticationUI
            default: throw Self.status(error)
            }
        }
    }

    // MARK: writing

    /// Stores a string as the secret for a key, in a new item or in the existing one, whose other attributes are kept.
    /// See `set(_:key:)` for `Data`.
    public func set(_ value: String, key: String, ignoringAttributeSynchronizable: Bool = true) throws {
        try set(Data(value.utf8), key: key, ignoringAttributeSynchronizable: ignoringAttributeSynchronizable)
    }

    /// Stores the secret for a key, in a new item or in the existing one, whose other attributes are kept.
    ///
    /// The change is durable on return. Without an access group, items with this key are changed in all groups.
    /// - Throws: `Status.unimplemented` for a policy without `authenticate`; `authFailed` if a scoped slot opened the
    ///   vault; `interactionNotAllowed` if it is locked; `dataTooLarge`, `diskFull`, `io`; `notAvailable` if another
    ///   process holds the write lock for too long.
    public func set(_ value: Data, key: String, ignoringAttributeSynchronizable: Bool = true) throws {
        let query = query(ignoringAttributeSynchronizable, key)
        try call { () throws(KeychainFailure) in
            try ItemStore.set(
                try ItemRequest(query), try options.changes(value), orAdd: try options.newItem(value, key: key))
        }
    }

    /// Removes the item for the given key; it is not an error if the item does not exist. The encrypted data stays in
    /// the file until it is compacted.
    public func remove(_ key: String, ignoringAttributeSynchronizable: Bool = true) throws {
        try remove(matching: query(ignoringAttributeSynchronizable, key))
    }

    /// Removes all items of this service or server (and access group), in one commit.
    public func removeAll() throws { try remove(matching: query(true, nil)) }

    private func remove(matching query: [String: Any]) throws {
        do { try call { () throws(KeychainFailure) in try ItemStore.remove(try ItemRequest(query)) } } catch Status
            .itemNotFound
        {}
    }

    // MARK: subscripts

    // The original's subscripts hide errors, so these must do so as well; `lastFailure` and the notice handler report
    // the errors.

    /// The secret for the given key as text; nil if the item does not exist or cannot be read. Assigning nil removes
    /// the item. Errors are reported only in `lastFailure`.
    public subscript(key: String) -> String? {
        get { ignoringErrors { try get(key) } }
        set { ignoringErrors { if let newValue { try set(newValue, key: key) } else { try remove(key) } } }
    }

    /// The same as `keychain[key]`.
    public subscript(string key: String) -> String? {
        get { self[key] }
        set { self[key] = newValue }
    }

    /// The secret for the given key; nil if the item does not exist or cannot be read. Assigning nil removes the item.
    /// Errors are reported only in `lastFailure`.
    public subscript(data key: String) -> Data? {
        get { ignoringErrors { try getData(key) } }
        set { ignoringErrors { if let newValue { try set(newValue, key: key) } else { try remove(key) } } }
    }

    /// The attributes of the item for the given key, including its secret; nil if the item does not exist or cannot be
    /// read.
    public subscript(attributes key: String) -> Attributes? { ignoringErrors { try get(key) { $0 } } }

    private func ignoringErrors<T>(_ body: () throws -> T?) -> T? {
        do { return try body() } catch { return nil }
    }

    private func ignoringErrors(_ body: () throws -> Void) {
        do { try body() } catch {}
    }

    // MARK: calls

    func query(_ ignoringAttributeSynchronizable: Bool, _ key: String?) -> [String: Any] {
        options.query(
            ignoringAttributeSynchronizable: ignoringAttributeSynchronizable, key: key, context: authenticationContext)
    }

    private var authenticationUIOrFail: AuthenticationUI { options.authenticationUI ?? .fail }

    private func find(_ query: [String: Any]) throws -> [FoundItem] {
        do { return try call { () throws(KeychainFailure) in try ItemStore.find(try ItemRequest(query)) } } catch Status
            .itemNotFound
        {
            return []
        }
    }

    private func call<R>(_ body: () throws(KeychainFailure) -> R) throws -> R { try Self.call(body) }

    static func call<R>(_ body: () throws(KeychainFailure) -> R) throws -> R {
        do throws(KeychainFailure) { return try ItemStore.call(body) } catch { throw Status(status: error.status) }
    }

    private static func status(_ failure: KeychainFailure) -> Status {
        Notices.report(failure, vault: VaultInUse.path)
        return Status(status: failure.status)
    }
}
