public import Foundation
internal import KeychainCore

extension Keychain {
    // MARK: reading

    /// The secret of a key as text; nil if there is none.
    ///
    /// - Parameters:
    ///   - key: The account of the item.
    ///   - ignoringAttributeSynchronizable: Whether an item counts that is synchronizable where this `Keychain` is not,
    ///     and the other way round.
    /// - Returns: The text, or nil if there is no such item.
    /// - Throws: `Status.conversionError` if it is not UTF-8; else as `getData`.
    public func get(_ key: String, ignoringAttributeSynchronizable: Bool = true) throws -> String? {
        try getString(key, ignoringAttributeSynchronizable: ignoringAttributeSynchronizable)
    }

    /// The secret of a key as text; nil if there is none. See `get`.
    public func getString(_ key: String, ignoringAttributeSynchronizable: Bool = true) throws -> String? {
        guard let data = try getData(key, ignoringAttributeSynchronizable: ignoringAttributeSynchronizable) else {
            return nil
        }
        guard let text = String(data: data, encoding: .utf8) else { throw Status.conversionError }
        return text
    }

    /// The secret of a key; nil if there is none.
    ///
    /// - Throws: `Status.interactionNotAllowed` if the vault is locked, or somebody must be asked and cannot;
    ///   `authFailed` if the vault's slot does not grant the access group, the vault does not open, or the program's
    ///   authentication refuses; `dataNotAvailable` for an item of another device; `decode` for a damaged one; else as
    ///   the guide's table says. Why exactly is in `lastFailure`.
    public func getData(_ key: String, ignoringAttributeSynchronizable: Bool = true) throws -> Data? {
        var query = query(ignoringAttributeSynchronizable, key)
        query[SecKey.returnData] = true
        return try find(query).first?.secret
    }

    /// Calls `handler` with the attributes of a key's item, its secret and references among them, or with nil if there
    /// is none; returns what it returns.
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

    /// Whether there is an item of a key. Nobody is asked, whatever its policy.
    ///
    /// - Parameters:
    ///   - key: The account of the item.
    ///   - withoutAuthenticationUI: Whether an item counts that may not be read because the user may not be asked.
    /// - Returns: Whether there is one.
    /// - Throws: A `Status`, if the vault cannot be read.
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

    /// Stores a text as the secret of a key: a new item, or the one that is there, whose attributes that are not named
    /// stay. See `set(_:key:)` for `Data`.
    public func set(_ value: String, key: String, ignoringAttributeSynchronizable: Bool = true) throws {
        try set(Data(value.utf8), key: key, ignoringAttributeSynchronizable: ignoringAttributeSynchronizable)
    }

    /// Stores the secret of a key: a new item, or the one that is there, whose attributes that are not named stay.
    ///
    /// Durable when it returns. Without an access group, items of the key in all groups are changed.
    /// - Throws: `Status.unimplemented` for a policy without `authenticate`; `authFailed` if a scoped slot opened the
    ///   vault; `interactionNotAllowed` if it is locked; `dataTooLarge`, `diskFull`, `io`; `notAvailable` if another
    ///   process writes for too long.
    public func set(_ value: Data, key: String, ignoringAttributeSynchronizable: Bool = true) throws {
        let query = query(ignoringAttributeSynchronizable, key)
        try call { () throws(KeychainFailure) in
            try ItemStore.set(
                try ItemRequest(query), try options.changes(value), orAdd: try options.newItem(value, key: key))
        }
    }

    /// Removes the item of a key; none is no error. What was encrypted stays in the file until it is compacted.
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

    // The original's subscripts hide errors, and so must these; `lastFailure` and the notice handler have them.

    /// The secret of a key as text. Nil if there is none or it cannot be read; nil removes it. What fails is found in
    /// `lastFailure` only.
    public subscript(key: String) -> String? {
        get { ignoringErrors { try get(key) } }
        set { ignoringErrors { if let newValue { try set(newValue, key: key) } else { try remove(key) } } }
    }

    /// The same as `keychain[key]`.
    public subscript(string key: String) -> String? {
        get { self[key] }
        set { self[key] = newValue }
    }

    /// The secret of a key. Nil if there is none or it cannot be read; nil removes it. What fails is found in
    /// `lastFailure` only.
    public subscript(data key: String) -> Data? {
        get { ignoringErrors { try getData(key) } }
        set { ignoringErrors { if let newValue { try set(newValue, key: key) } else { try remove(key) } } }
    }

    /// The attributes of a key's item, its secret among them. Nil if there is none or it cannot be read.
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
