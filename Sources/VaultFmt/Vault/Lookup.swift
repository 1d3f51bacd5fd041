internal import VaultBytes
internal import VaultStore

/// Which of an item's earlier values is meant, for callers that hold no `EarlierValue`: an item has no two of one
/// revision and device.
package struct EarlierValueID: Sendable, Hashable {
    /// The revision that the item had when this was its value.
    package let revision: UInt64
    /// The device that made it, if it had a name then.
    package let device: DeviceID?

    package init(revision: UInt64, device: DeviceID?) {
        self.revision = revision
        self.device = device
    }

    private func names(_ value: EarlierValue) -> Bool { value.revision == revision && value.device == device }

    /// The value among those of an item. Throws `noSuchItem`.
    package func find(among values: [EarlierValue]) throws(VaultError) -> EarlierValue {
        guard let found = values.first(where: { names($0) }) else {
            throw VaultError(.noSuchItem, "the item has no such earlier value")
        }
        return found
    }
}

// Reading by names alone: each call finds the item and reads from one and the same state, whatever other threads do.
extension Vault {
    /// The value of an attribute, of any size; nil if the item has none of this name. Throws `noSuchItem`, else as
    /// `get` does.
    package func attribute(_ name: String, of key: ItemKey) throws(VaultError) -> Secret? {
        try withCore { (core) throws(VaultError) in
            try core.value(of: name, try core.existing(key))
        }
    }

    /// An earlier value with its secret. Throws `noSuchItem`, else as `open` does.
    package func openEarlierValue(_ id: EarlierValueID, of key: ItemKey) throws(VaultError) -> OpenedEarlierValue {
        try withCore { (core) throws(VaultError) in try core.open(try core.earlierValue(id, of: key)) }
    }

    /// The value of an attribute that an item had, of any size; nil if it had none of this name. Throws `noSuchItem`,
    /// else as `open` does.
    package func attribute(_ name: String, of id: EarlierValueID, of key: ItemKey) throws(VaultError) -> Secret? {
        try withCore { (core) throws(VaultError) in
            try core.attribute(name, of: try core.earlierValue(id, of: key))
        }
    }
}

extension VaultCore {
    func existing(_ key: ItemKey) throws(VaultError) -> Item {
        guard let item = try find(key) else { throw VaultError(.noSuchItem, "no such item") }
        return item
    }

    fileprivate func earlierValue(_ id: EarlierValueID, of key: ItemKey) throws(VaultError) -> EarlierValue {
        try requireEarlierValues()
        return try id.find(among: try earlierValues(of: try existing(key)))
    }
}

extension VaultCore {
    ///
    func requireEarlierValues() throws(VaultError) {
        guard !isLocked else { throw VaultError(.locked, "the vault is locked") }
        guard isOwner else {
            throw VaultError(.notPermitted, "the slot that opened this vault does not grant earlier values")
        }
    }

    /// An item's earlier values, the oldest first.
    func earlierValues(of item: Item) throws(VaultError) -> [EarlierValue] {
        try requireEarlierValues()
        return try allEarlierValues(of: item)
    }

    func open(_ value: EarlierValue) throws(VaultError) -> OpenedEarlierValue {
        try requireEarlierValues()
        return try opened(value)
    }

    func attribute(_ name: String, of value: EarlierValue) throws(VaultError) -> Secret? {
        try requireEarlierValues()
        return try self.value(of: name, value)
    }
}
