internal import VaultBytes
internal import VaultStore

// Reads, restores, forgets and adds earlier values within a transaction (specification, section 6.4).
extension Transaction {
    /// Returns the earlier values of an item, oldest first. Throws `noSuchItem`.
    public func earlierValues(of key: ItemKey) throws(VaultError) -> [EarlierValue] {
        try allEarlierValues(of: try existing(key))
    }

    /// Opens an earlier value, with the attributes that the item had at the time.
    public func open(_ value: EarlierValue) throws(VaultError) -> OpenedEarlierValue {
        try requireOpen()
        return try opened(value)
    }

    /// Returns the value, of any size, that an attribute had at the time of an earlier secret; nil if the item did not
    /// have this attribute, or if the attribute was sealed.
    package func attribute(_ name: String, of value: EarlierValue) throws(VaultError) -> Secret? {
        try requireOpen()
        return try self.value(of: name, value)
    }

    /// Restores an earlier secret or sealed attribute of an item. The current value becomes an earlier value, unless it
    /// is damaged or the vault does not keep earlier values. Other fields of the item do not change. If the item already
    /// has as many earlier values as the vault keeps, the oldest is dropped: the restored one is no longer listed, but
    /// still counts (specification, R-6.26).
    ///
    /// Throws `noSuchItem` if the item or this earlier value does not exist.
    public func restore(_ value: EarlierValue, of key: ItemKey) throws(VaultError) {
        try restore(value, of: key, changing: AttributeChanges())
    }

    /// Restores an earlier value, as the function above does, and changes attributes in the same change, for example
    /// those that are lost with the damaged record of the current secret.
    package func restore(
        _ value: EarlierValue, of key: ItemKey, changing attributes: AttributeChanges
    ) throws(VaultError) {
        let item = try existing(key)
        let opened = try opened(try Self.current(value, among: try allEarlierValues(of: item)))
        guard let attribute = value.attribute else {
            return try set(item.key, secret: opened.secret, attributes: attributes)
        }
        var changes = attributes
        changes.set.set(Attribute(attribute, secret: opened.takeSecret(), flags: value.flags))
        try update(item.key, attributes: changes)
    }

    /// Forgets the given earlier values of an item, or all of them, and returns how many were forgotten. Forgetting all
    /// of them includes values that are no longer listed because the vault now keeps fewer. Forgotten values do not
    /// return from any copy of the vault, and values with the same bytes are forgotten as well. The records of
    /// forgotten values stay in the file until it is compacted.
    ///
    /// If the list of earlier values is damaged, forgetting all of them drops the list together with the values to
    /// settle, and counts as forgetting one value. Throws `noSuchItem` if the item or one of these values does not
    /// exist.
    @discardableResult
    public func forgetEarlierValues(of key: ItemKey, _ values: [EarlierValue]? = nil) throws(VaultError) -> Int {
        let old = try existing(key)
        var change = ItemChange(old)
        change.modified = old.modified
        do throws(VaultError) {
            let known = try allEarlierValues(of: old, most: values == nil ? .max : nil)
            for value in values ?? known { change.edit.forgotten.insert(try Self.current(value, among: known).name) }
        } catch {
            let isDamaged = error.code == .authenticationFailed || error.code == .structureInvalid
            guard isDamaged, values == nil else { throw error }
            change.losesPast = true
            try apply(change)
            return 1
        }
        let count = change.edit.forgotten.count
        if count > 0 { try apply(change) }
        return count
    }

    /// Returns the current stored form of an earlier value. Throws `noSuchItem` if the value does not exist.
    private static func current(
        _ value: EarlierValue, among known: [EarlierValue]
    ) throws(VaultError) -> EarlierValue {
        guard let found = known.first(where: { $0.item == value.item && $0.name == value.name }) else {
            throw VaultError(.noSuchItem, "the item has no such earlier value")
        }
        return found
    }

    /// Adds earlier values, oldest first, to an item, for example in an import. Only the newest values are added, up to
    /// the number that the vault keeps; returns how many were added.
    ///
    /// The added values are listed after the item's existing earlier values, and before those that the item received
    /// earlier in the same transaction. Throws `noSuchItem`, and the same errors as adding an item with such a secret
    /// and such attributes.
    @discardableResult
    public func addEarlierValues(_ values: [NewEarlierValue], to key: ItemKey) throws(VaultError) -> Int {
        let old = try existing(key)
        for value in values {
            try value.withSecret { (secret) throws(VaultError) in
                try ItemLimits.check(secretBytes: secret.count, value.attributes, created: nil, modified: nil)
            }
            try ItemLimits.check(date: value.replaced)
        }
        let new = values.suffix(ring.kept)
        guard !new.isEmpty else { return 0 }
        let device = ring.compartment(old.entry.compartment)?.info.device ?? .zero
        let compartment = try ring.owners(device)
        var change = ItemChange(old)
        change.modified = old.modified
        for value in new { try add(value, of: old, in: compartment, to: &change.edit) }
        renew(&change)
        try apply(change)
        return new.count
    }

    /// Sets the dots of fields that receive earlier values to the dot of the change, if these fields were written in
    /// this transaction, because their current values must be newer than the added ones.
    private func renew(_ change: inout ItemChange) {
        let entry = change.old.entry
        func isNew(_ field: Int) -> Bool { entry.dot(of: field).revision > core.store.clock }
        for field in Set(change.edit.added.keys.map(\.field)) {
            if field == .secret, !entry.lacksSecret, isNew(FieldSet.secret) {
                change.writesSecret = true
                change.edit.renewed.insert(field)
            }
            guard case .attribute(let name) = field,
                let index = change.attributes.index(of: String(decoding: name, as: UTF8.self)),
                isNew(FieldSet.firstAttribute + index)
            else { continue }
            change.setAttributes.insert(name)
            change.edit.renewed.insert(field)
        }
    }

    /// Seals an earlier secret and its sealed attributes, each in a separate record, under one dot.
    private func add(
        _ value: NewEarlierValue, of item: Item, in compartment: UInt64, to edit: inout ItemEdit
    ) throws(VaultError) {
        let (id, key) = (item.entry.id, try item.storedKey.replacing(group: value.group ?? item.storedKey.group))
        let dot = try nextDot()
        let plain = Attributes(sorted: value.attributes.all.filter { !$0.flags.contains(.sealed) })
        let placed = try place(plain, of: key, id, in: compartment)
        let record = try value.withSecret { (secret) throws(VaultError) in
            try append(secret, plain.inRecord, of: key, id, in: compartment)
        }
        edit.added[ValueName(.secret, dot)] = HeldValue(
            .secret(record, attributes: placed.listed), replaced: value.replaced)
        for attribute in value.attributes.all where attribute.flags.contains(.sealed) {
            let flags = attribute.fileFlags
            let record =
                flags.contains(.inOwnRecord)
                ? try append(attribute, of: key, id, in: compartment)
                : try append(Secret(count: 0), [attribute], of: key, id, in: compartment)
            edit.added[ValueName(.attribute(attribute.name), dot)] = HeldValue(
                .attribute(flags: flags, .inRecord(record)), replaced: value.replaced)
        }
    }
}
