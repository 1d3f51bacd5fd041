internal import VaultBytes

extension Vault {
    // MARK: reading

    /// The item with this key, without its secret; nil if there is none.
    public func item(_ key: ItemKey) throws(VaultError) -> Item? {
        try withCore { (core) throws(VaultError) in try core.find(key) }
    }

    /// The item with this key and its secret; nil if there is none.
    ///
    /// Throws `locked`, `notPermitted` (a scoped slot without the item's group), `deviceBound`, `authenticationFailed`, `structureInvalid`, `io`.
    public func get(_ key: ItemKey) throws(VaultError) -> OpenedItem? {
        try withCore { (core) throws(VaultError) -> OpenedItem? in
            guard let item = try core.find(key) else { return nil }
            return try core.open(item)
        }
    }

    /// The secret of an item that a cursor gave, with all its attributes. The item must be of the state that is being read: after a compaction or
    /// rotation, get it anew. Throws as `get` does.
    public func open(_ item: Item) throws(VaultError) -> OpenedItem {
        try withCore { (core) throws(VaultError) in try core.open(item) }
    }

    /// All matching items of the current state, in the order of their keys, read a page at a time. No secret is decrypted.
    public func items(matching query: Query = Query()) throws(VaultError) -> ItemCursor {
        try withCore { (core) throws(VaultError) in ItemCursor(core, query) }
    }

    // MARK: changing

    /// Runs changes that become durable together, in one commit, or not at all.
    ///
    /// `body` runs under the writer's lock and on the newest state; if it throws, nothing has changed. Within it, use the transaction and not the vault.
    /// Throws `readOnly`, `locked`, `notPermitted`, `busy`, `noSpace`, `io`, and `outcomeUnknown` if syncing failed. Other threads that use the vault
    /// meanwhile wait as long as they would for another process, and get `busy` then.
    public func transaction<R>(_ body: (Transaction) throws(VaultError) -> R) throws(VaultError) -> R {
        try withCore { (core) throws(VaultError) in
            try core.transaction { (transaction) throws(VaultError) in
                // Only while the caller's code runs: what comes before and after ends by itself.
                exclusive.keepForTransaction()
                defer { exclusive.endTransaction() }
                return try body(transaction)
            }
        }
    }

    /// Adds an item. Throws `duplicateItem` if the key exists, else as `transaction`.
    public func add(
        _ key: ItemKey, secret: borrowing Secret, attributes: Attributes = .init(), accessibility: Accessibility = .whenUnlocked,
        created: Int64? = nil, modified: Int64? = nil
    ) throws(VaultError) {
        try transaction { (transaction) throws(VaultError) in
            try transaction.add(
                key, secret: secret, attributes: attributes, accessibility: accessibility, created: created, modified: modified)
        }
    }

    /// Adds an item, or replaces its secret and the attributes named; those not named stay.
    public func set(
        _ key: ItemKey, secret: borrowing Secret, attributes: AttributeChanges = .init(), accessibility: Accessibility? = nil,
        created: Int64? = nil, modified: Int64? = nil
    ) throws(VaultError) {
        try transaction { (transaction) throws(VaultError) in
            try transaction.set(
                key, secret: secret, attributes: attributes, accessibility: accessibility, created: created, modified: modified)
        }
    }

    /// Changes attributes or accessibility, not the secret. Throws `noSuchItem`.
    public func update(_ key: ItemKey, attributes: AttributeChanges = .init(), accessibility: Accessibility? = nil) throws(VaultError) {
        try transaction { (transaction) throws(VaultError) in
            try transaction.update(key, attributes: attributes, accessibility: accessibility)
        }
    }

    /// Gives an item another key of the same class. Throws `noSuchItem`, `duplicateItem`.
    public func move(_ key: ItemKey, to newKey: ItemKey) throws(VaultError) {
        try transaction { (transaction) throws(VaultError) in try transaction.move(key, to: newKey) }
    }

    /// Removes an item; false if there is none. Its ciphertext stays in the file until `compact()`, and in copies of it.
    @discardableResult
    public func remove(_ key: ItemKey) throws(VaultError) -> Bool {
        try transaction { (transaction) throws(VaultError) in try transaction.remove(key) }
    }
}
