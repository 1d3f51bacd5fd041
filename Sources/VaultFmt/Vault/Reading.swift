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
            return try core.opened(item)
        }
    }

    /// The secret of an item that a cursor gave, with its attributes of at most 4096 bytes. The item must be of the
    /// state that is being read: after a compaction or rotation, get it again. Throws as `get` does.
    public func open(_ item: Item) throws(VaultError) -> OpenedItem {
        try withCore { (core) throws(VaultError) in try core.opened(item) }
    }

    /// The item with this key, its secret and all of its attributes, large ones too; nil if there is none. Throws as
    /// `get` does.
    package func whole(_ key: ItemKey) throws(VaultError) -> OpenedItem? {
        try withCore { (core) throws(VaultError) -> OpenedItem? in
            guard let item = try core.find(key) else { return nil }
            return try core.whole(item)
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
        // What is at hand is read without the vault.
        if let attribute = item.attributes.attribute(name), attribute.isRead { return attribute.secret }
        return try withCore { (core) throws(VaultError) in try core.value(of: name, item) }
    }

    // MARK: earlier values

    /// The earlier values of an item, the oldest first. No secret is decrypted. Throws `noSuchItem`, `notPermitted` for
    /// a scoped slot, `locked`.
    public func earlierValues(of key: ItemKey) throws(VaultError) -> [EarlierValue] {
        try withCore { (core) throws(VaultError) in
            try core.requireEarlierValues()
            return try core.earlierValues(of: try core.existing(key))
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
        if let attribute = value.attributes.attribute(name), attribute.isRead { return attribute.secret }
        return try withCore { (core) throws(VaultError) in try core.attribute(name, of: value) }
    }

    /// How many earlier values an item keeps.
    public var keptVersions: Int { reading(0) { $0.store.keyring.keeping.count } }
}
