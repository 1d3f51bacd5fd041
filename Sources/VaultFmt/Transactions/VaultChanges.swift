internal import VaultBytes
internal import VaultStore

extension Vault {
    // MARK: reading

    /// The item with this key, without its secret; nil if there is none.
    public func item(_ key: ItemKey) throws(VaultError) -> Item? {
        try withCore { (core) throws(VaultError) in try core.find(key) }
    }

    /// The item with this key and its secret; nil if there is none.
    ///
    /// Throws `locked`, `notPermitted` (a scoped slot without the item's group), `deviceBound`, `authenticationFailed`,
    /// `structureInvalid`, `io`.
    public func get(_ key: ItemKey) throws(VaultError) -> OpenedItem? {
        try withCore { (core) throws(VaultError) -> OpenedItem? in
            guard let item = try core.find(key) else { return nil }
            return try core.open(item)
        }
    }

    /// The secret of an item that a cursor gave, with its attributes of at most 4096 bytes. The item must be of the
    /// state that is being read: after a compaction or rotation, get it again. Throws as `get` does.
    public func open(_ item: Item) throws(VaultError) -> OpenedItem {
        try withCore { (core) throws(VaultError) in try core.open(item) }
    }

    /// The item with this key, its secret and all of its attributes, large ones too; nil if there is none. Throws as
    /// `get` does.
    package func whole(_ key: ItemKey) throws(VaultError) -> OpenedItem? {
        try withCore { (core) throws(VaultError) -> OpenedItem? in
            guard let item = try core.find(key) else { return nil }
            return try core.open(item).whole { (attribute) throws(VaultError) in
                try core.open(large: attribute, of: item.entry.id, before: item.referrer)
            }
        }
    }

    /// All matching items of the current state, in the order of their keys, read a page at a time. No secret is
    /// decrypted.
    public func items(matching query: Query = Query()) throws(VaultError) -> ItemCursor {
        try withCore { (core) throws(VaultError) in ItemCursor(core, query) }
    }

    /// The value of an attribute, of any size and sealed or not; nil if the item has none of this name. The item must
    /// be of the state that is being read. Throws as `get` does.
    public func attribute(_ name: String, of item: Item) throws(VaultError) -> Secret? {
        guard let attribute = item.attributes.attribute(name) else { return nil }
        switch attribute.content {
        case .bytes, .secret: return attribute.secret
        case .inItemRecord: return try open(item).item.attributes.attribute(name)?.secret
        case .inOwnRecord:
            return try withCore { (core) throws(VaultError) in
                try core.open(large: attribute, of: item.entry.id, before: item.referrer)
            }
        }
    }

    // MARK: earlier values

    /// The earlier values of an item, the oldest first. No secret is decrypted. Throws `noSuchItem`, `notPermitted` for
    /// a scoped slot, `locked`.
    public func earlierValues(of key: ItemKey) throws(VaultError) -> [EarlierValue] {
        try withCore { (core) throws(VaultError) in
            try core.requireEarlierValues()
            guard let item = try core.find(key) else { throw VaultError(.noSuchItem, "no such item") }
            return try core.earlierValues(of: item)
        }
    }

    /// The same for an item that a cursor gave, of the state that is being read.
    public func earlierValues(of item: Item) throws(VaultError) -> [EarlierValue] {
        try withCore { (core) throws(VaultError) in try core.earlierValues(of: item) }
    }

    /// The secret of an earlier value, with the attributes of the time. It must be of the state that is being read:
    /// after a compaction or rotation, ask for the item's earlier values again. Throws as `get` does.
    public func open(_ value: EarlierValue) throws(VaultError) -> OpenedEarlierValue {
        try withCore { (core) throws(VaultError) in try core.open(value) }
    }

    /// The secret of an earlier value. Throws as `open` does.
    public func secret(of value: EarlierValue) throws(VaultError) -> Secret { try open(value).takeSecret() }

    /// The value of an attribute that an item had, of any size; nil if it had none of this name. Throws as `open` does.
    public func attribute(_ name: String, of value: EarlierValue) throws(VaultError) -> Secret? {
        guard let attribute = value.attributes.attribute(name) else { return nil }
        switch attribute.content {
        case .bytes, .secret: return attribute.secret
        case .inItemRecord: return try open(value).attributes.attribute(name)?.secret
        case .inOwnRecord:
            return try withCore { (core) throws(VaultError) in
                try core.requireEarlierValues()
                return try core.open(large: attribute, of: value.item.bytes, before: value.referrer)
            }
        }
    }

    /// How many earlier values an item keeps.
    public var keptVersions: Int { reading(0) { $0.store.keyring.keeping.count } }

    // MARK: changing

    /// Runs changes that become durable together, in one commit, or not at all.
    ///
    /// `body` runs under the writer's lock and on the newest state; if it throws, nothing has changed. Within it, use
    /// the transaction and not the vault.
    /// Throws `readOnly`, `locked`, `notPermitted`, `busy`, `noSpace`, `io`, and `outcomeUnknown` if syncing failed.
    /// Other threads that use the vault meanwhile wait as long as they would for another process, and get `busy` then.
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
        _ key: ItemKey, secret: borrowing Secret, attributes: Attributes = .init(),
        accessibility: Accessibility = .whenUnlocked,
        created: Int64? = nil, modified: Int64? = nil
    ) throws(VaultError) {
        try transaction { (transaction) throws(VaultError) in
            try transaction.add(
                key, secret: secret, attributes: attributes, accessibility: accessibility, created: created,
                modified: modified)
        }
    }

    /// Adds an item, or replaces its secret and the attributes named; those not named stay.
    public func set(
        _ key: ItemKey, secret: borrowing Secret, attributes: AttributeChanges = .init(),
        accessibility: Accessibility? = nil,
        created: Int64? = nil, modified: Int64? = nil
    ) throws(VaultError) {
        try transaction { (transaction) throws(VaultError) in
            try transaction.set(
                key, secret: secret, attributes: attributes, accessibility: accessibility, created: created,
                modified: modified)
        }
    }

    /// Changes attributes or accessibility, not the secret. Throws `noSuchItem`.
    public func update(_ key: ItemKey, attributes: AttributeChanges = .init(), accessibility: Accessibility? = nil)
        throws(VaultError)
    {
        try transaction { (transaction) throws(VaultError) in
            try transaction.update(key, attributes: attributes, accessibility: accessibility)
        }
    }

    /// Gives an item another key of the same class. Throws `noSuchItem`, `duplicateItem`.
    public func move(_ key: ItemKey, to newKey: ItemKey) throws(VaultError) {
        try transaction { (transaction) throws(VaultError) in try transaction.move(key, to: newKey) }
    }

    /// Removes an item; false if there is none. Its ciphertext stays in the file until `compact()`, and in copies of
    /// it.
    @discardableResult
    public func remove(_ key: ItemKey) throws(VaultError) -> Bool {
        try transaction { (transaction) throws(VaultError) in try transaction.remove(key) }
    }

    /// Sets how many earlier values an item keeps, 0 to 50. Those beyond that go when an item changes, or the vault is
    /// compacted.
    public func keepVersions(_ count: Int) throws(VaultError) {
        try transaction { (transaction) throws(VaultError) in try transaction.keepVersions(count) }
    }

    /// Makes an item what it was. Throws as `Transaction.restore` does.
    public func restore(_ value: EarlierValue, of key: ItemKey) throws(VaultError) {
        try transaction { (transaction) throws(VaultError) in try transaction.restore(value, of: key) }
    }

    /// Forgets earlier values of an item: these, or all of them. Returns how many. Throws as
    /// `Transaction.forgetEarlierValues` does.
    @discardableResult
    public func forgetEarlierValues(of key: ItemKey, _ values: [EarlierValue]? = nil) throws(VaultError) -> Int {
        try transaction { (transaction) throws(VaultError) in try transaction.forgetEarlierValues(of: key, values) }
    }
}
