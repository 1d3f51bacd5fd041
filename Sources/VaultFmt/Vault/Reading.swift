internal import VaultBytes
internal import VaultStore

extension Vault {
    // MARK: reading

    /// Returns the item with this key, without its secret; nil if it does not exist.
    public func item(_ key: ItemKey) throws(VaultError) -> Item? {
        try withCore { (core) throws(VaultError) in try core.find(key) }
    }

    /// Returns the item with this key and its secret; nil if it does not exist.
    ///
    /// Throws `locked`, `notPermitted` (a scoped slot without the item's group), `deviceBound`, `noSecret`,
    /// `authenticationFailed`, `structureInvalid`, `io`.
    public func get(_ key: ItemKey) throws(VaultError) -> OpenedItem? {
        try withCore { (core) throws(VaultError) -> OpenedItem? in
            guard let item = try core.find(key) else { return nil }
            return try core.opened(item)
        }
    }

    /// Opens the secret of an item returned by a cursor, with the item's attributes of at most 4096 bytes. The item
    /// must be from the state that is being read: after a compaction or rotation, get the item again. Throws the same
    /// errors as `get`.
    public func open(_ item: Item) throws(VaultError) -> OpenedItem {
        try withCore { (core) throws(VaultError) in try core.opened(item) }
    }

    /// Returns the reason why an item that lacks a secret (`lacksSecret`) shows none. The item must be from the state
    /// that is being read.
    package func missingSecret(of item: Item) throws(VaultError) -> VaultError.MissingSecret {
        try withCore { (core) throws(VaultError) in try core.missingSecret(of: item) }
    }

    /// Returns the item with this key, its secret and all of its attributes, including large ones; nil if it does not
    /// exist. Throws the same errors as `get`.
    package func whole(_ key: ItemKey) throws(VaultError) -> OpenedItem? {
        try withCore { (core) throws(VaultError) -> OpenedItem? in
            guard let item = try core.find(key) else { return nil }
            return try core.whole(item)
        }
    }

    /// Returns a cursor over all matching items of the current state, sorted by key and read a page at a time. No
    /// secret is decrypted.
    public func items(matching query: Query = Query()) throws(VaultError) -> ItemCursor {
        try withCore { (core) throws(VaultError) in ItemCursor(core, query) }
    }

    /// Returns the value, of any size, of an attribute, sealed or not; nil if the item does not have this attribute.
    /// The item must be from the state that is being read. Throws the same errors as `get`.
    public func attribute(_ name: String, of item: Item) throws(VaultError) -> Secret? {
        // A value that is already in memory is returned without accessing the vault.
        if let attribute = item.attributes.attribute(name), attribute.isRead { return attribute.secret }
        return try withCore { (core) throws(VaultError) in try core.value(of: name, item) }
    }

    // MARK: earlier values

    /// Returns the earlier values of an item's secret and sealed attributes, oldest first. No secret is returned.
    /// Throws `noSuchItem`, `notPermitted` for a scoped slot, and `locked`.
    public func earlierValues(of key: ItemKey) throws(VaultError) -> [EarlierValue] {
        try withCore { (core) throws(VaultError) in
            try core.requireEarlierValues()
            return try core.earlierValues(of: try core.existing(key))
        }
    }

    /// Returns the earlier values of an item returned by a cursor; the item must be from the state that is being read.
    public func earlierValues(of item: Item) throws(VaultError) -> [EarlierValue] {
        try withCore { (core) throws(VaultError) in try core.earlierValues(of: item) }
    }

    /// Returns the number of an item's earlier values that are in the file but not listed, because the vault has kept
    /// more than it keeps now; they are dropped when the item changes. The item must be from the state that is
    /// being read.
    package func unlistedEarlierValues(of item: Item) throws(VaultError) -> Int {
        try withCore { (core) throws(VaultError) in
            try core.requireEarlierValues()
            return try core.allEarlierValues(of: item, most: .max).count - core.allEarlierValues(of: item).count
        }
    }

    /// Returns the secrets and sealed attributes that merges have left to settle in an item returned by a cursor,
    /// oldest first. These values are read like earlier values, and become earlier values if the item is settled in
    /// favor of the shown values.
    public func unsettledValues(of item: Item) throws(VaultError) -> [EarlierValue] {
        try withCore { (core) throws(VaultError) in
            try core.requireEarlierValues()
            return try core.allUnsettledValues(of: item)
        }
    }

    /// Opens an earlier value: the secret with the attributes that the item had at the time, or the value of a sealed
    /// attribute. The value must be from the state that is being read: after a compaction or rotation, get the item's
    /// earlier values again. Throws the same errors as `get`.
    public func open(_ value: EarlierValue) throws(VaultError) -> OpenedEarlierValue {
        try withCore { (core) throws(VaultError) in try core.open(value) }
    }

    /// Returns the device to which an earlier value is bound; nil if the value is not bound to a device. The value must
    /// be from the state that is being read. Throws `locked`.
    public func device(of value: EarlierValue) throws(VaultError) -> DeviceID? {
        try withCore { (core) throws(VaultError) in
            guard let number = value.value.record?.compartment,
                let info = core.store.keyring.compartments.first(where: { $0.number == number }), info.isDeviceBound
            else { return nil }
            return DeviceID(info.device)
        }
    }

    /// Returns an earlier secret, or the earlier value of a sealed attribute. Throws the same errors as `open`.
    public func secret(of value: EarlierValue) throws(VaultError) -> Secret { try open(value).takeSecret() }

    /// Returns the value, of any size, that an attribute had at the time of an earlier secret; nil if the item did not
    /// have this attribute, or if the attribute was sealed. Throws the same errors as `open`.
    public func attribute(_ name: String, of value: EarlierValue) throws(VaultError) -> Secret? {
        if let attribute = value.attributes.attribute(name), attribute.isRead { return attribute.secret }
        return try withCore { (core) throws(VaultError) in try core.attribute(name, of: value) }
    }

    /// The number of earlier values that each field of an item keeps.
    public var keptVersions: Int { reading(0) { $0.limit } }
}
