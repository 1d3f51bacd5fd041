internal import VaultBytes
internal import VaultStore

/// The second keys that a transaction has assigned to items, and the first keys of the items that it has moved.
struct ItemNames {
    private(set) var second: [ItemKey: Set<Bytes16>] = [:]
    /// The key that each moved item had before the transaction.
    private(set) var before: [Bytes16: ItemKey] = [:]

    mutating func note(_ name: PageName) {
        if let item = name.second { second[name.key, default: []].insert(item) }
    }

    /// Notes that an item is about to get another key.
    mutating func noteMove(of item: Item) {
        if before[item.entry.id] == nil { before[item.entry.id] = item.storedKey }
    }
}

// If several items have the same key, the one with the smallest id is listed under the plain key (specification,
// section 6.1).
extension Transaction {
    /// Returns the item with this key in a page, as this transaction has changed it.
    func entry(_ name: PageName) throws(VaultError) -> Item? {
        if let change = changes.find(name.bytes) {
            // Records appended by this transaction end before the page that will refer to them; that page has not been
            // written yet.
            guard let value = change else { return nil }
            return try ItemCodec.item(name, value, entryCheck, before: appender.position)
        }
        guard let (page, index) = try core.store.tree.find(name.bytes) else { return nil }
        return try ItemCodec.item(name, page, index, entryCheck)
    }

    /// Returns an item as this transaction has changed it, unless it was moved; nil if it was removed.
    func current(_ item: Item) throws(VaultError) -> Item? {
        for name in [PageName(item.storedKey), PageName(item.storedKey, second: item.entry.id)] {
            if let found = try entry(name), found.entry.id == item.entry.id { return found }
        }
        return nil
    }

    /// Returns an item as it was when the transaction began; nil if the transaction created it.
    func committed(_ item: Item) throws(VaultError) -> Item? {
        let id = item.entry.id
        let key = names.before[id] ?? item.storedKey
        for name in [PageName(key), PageName(key, second: id)] {
            guard let (page, index) = try core.store.tree.find(name.bytes) else { continue }
            let found = try ItemCodec.item(name, page, index, entryCheck)
            if found.entry.id == id { return found }
        }
        return nil
    }

    /// Returns the item that is listed under a key with a suffix.
    func other(listed key: ItemKey) throws(VaultError) -> Item? {
        guard TwinKey.start(ofListed: key) != nil else { return nil }
        for (known, ids) in names.second {
            for id in ids where TwinKey.listed(known, id) == key {
                if let item = try entry(PageName(known, second: id)) { return item }
            }
        }
        return try TwinSearch(core.store.tree, entryCheck).item(listed: key).flatMap { (item) throws(VaultError) in
            // The item may now be listed under its plain key.
            try current(item)
        }
    }

    /// Sets the entry of an item under a key that other items may also have. Any entry of the item under another key
    /// has already been removed.
    func put(_ value: [UInt8], for id: Bytes16, under key: ItemKey) throws(VaultError) {
        guard let plain = try entry(PageName(key)), plain.entry.id != id else {
            return changes.set(key.bytes, value)
        }
        guard id < plain.entry.id else { return set(value, PageName(key, second: id)) }
        set(ItemCodec.encode(plain.entry, plain.attributes.listed), PageName(key, second: plain.entry.id))
        changes.set(key.bytes, value)
    }

    /// Removes the entry of an item. If the item was listed under its plain key, the remaining item with the smallest
    /// id moves to that key.
    func take(_ item: Item) throws(VaultError) {
        changes.set(item.pageName.bytes, nil)
        guard item.hasKeyPlain else { return }
        let key = item.storedKey
        var ids = names.second[key] ?? []
        for other in try TwinSearch(core.store.tree, entryCheck).others(key) { ids.insert(other.entry.id) }
        for id in ids.sorted() {
            let name = PageName(key, second: id)
            guard let other = try entry(name) else { continue }
            changes.set(name.bytes, nil)
            changes.set(key.bytes, ItemCodec.encode(other.entry, other.attributes.listed))
            return
        }
    }

    private func set(_ value: [UInt8], _ name: PageName) {
        names.note(name)
        changes.set(name.bytes, value)
    }
}
