import VaultFmt

/// An item as it was before one of its secrets or sealed attributes was replaced, as exports write it.
struct EarlierState {
    /// When the state began, as far as that is known, in milliseconds since 1970.
    let modified: Int64
    /// When a value of it was replaced.
    let replaced: Int64
    let secret: SharedSecret
    /// All attributes of that time, with their values.
    let attributes: Attributes

    /// Returns the states of an item that its earlier values tell of, oldest first.
    ///
    /// Each field has earlier values of its own, and other programs know only whole entries. A state has the value that
    /// each field had until then; an import finds equal values again.
    static func all(of opened: borrowing OpenedItem, in vault: Vault) throws -> [EarlierState] {
        let item = opened.item
        guard item.hasPast, vault.access == .owner else { return [] }
        let values = try EarlierValues.newestFirst(of: item, in: vault)
        let current = SharedSecret(opened.secret.copy())
        return try Set(values.map(\.lastUsed)).sorted().map { time in
            // The last value that was replaced at this time or later is the one of this time.
            let known = values.last { $0.attribute == nil && $0.lastUsed >= time }
            var attributes = try known.map { try plain(of: $0, in: vault) } ?? plain(of: item, in: vault)
            for attribute in try sealed(of: item, values, at: time, in: vault) { attributes.set(attribute) }
            return EarlierState(
                modified: min(time, values.last { $0.lastUsed == time }?.modified ?? time), replaced: time,
                secret: try known.map { SharedSecret(try vault.secret(of: $0)) } ?? current, attributes: attributes)
        }
    }

    /// Returns the attributes that were recorded with an earlier secret.
    private static func plain(of value: EarlierValue, in vault: Vault) throws -> Attributes {
        var read = Attributes()
        for attribute in value.attributes.all {
            if attribute.isRead {
                read.set(attribute)
            } else if let bytes = try vault.attribute(attribute.name, of: value) {
                read.set(Attribute(attribute.name, secret: bytes, flags: attribute.flags))
            }
        }
        return read
    }

    private static func plain(of item: Item, in vault: Vault) throws -> Attributes {
        var all = Attributes()
        for attribute in item.attributes.all where !attribute.flags.contains(.sealed) {
            if let attribute = try read(attribute, of: item, in: vault) { all.set(attribute) }
        }
        return all
    }

    private static func read(_ attribute: Attribute, of item: Item, in vault: Vault) throws -> Attribute? {
        if attribute.isRead { return attribute }
        guard let bytes = try vault.attribute(attribute.name, of: item) else { return nil }
        return Attribute(attribute.name, secret: bytes, flags: attribute.flags)
    }

    /// Returns the sealed attributes that an item had at a time.
    private static func sealed(
        of item: Item, _ values: [EarlierValue], at time: Int64, in vault: Vault
    ) throws -> [Attribute] {
        var sealed: [Attribute] = []
        var names = Set(values.compactMap(\.attribute))
        let now = item.attributes.all.filter { $0.flags.contains(.sealed) }
        names.formUnion(now.map(\.name))
        for name in names.sorted() {
            if let value = values.last(where: { $0.attribute == name && $0.lastUsed >= time }) {
                sealed.append(Attribute(name, secret: try vault.secret(of: value), flags: value.flags))
            } else if let attribute = now.first(where: { $0.name == name }),
                let read = try read(attribute, of: item, in: vault)
            {
                sealed.append(read)
            }
        }
        return sealed
    }
}
