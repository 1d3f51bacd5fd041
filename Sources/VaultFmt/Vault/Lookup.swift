internal import VaultBytes
internal import VaultStore

/// Identifies one of an item's earlier values, for callers without an `EarlierValue`.
package struct EarlierValueID: Sendable, Hashable {
    /// The revision of the change that set the value.
    package let revision: UInt64
    /// The replica id under which the value was set.
    package let replica: UInt64
    /// The name of the attribute in UTF-8; nil for a secret.
    package let attribute: [UInt8]?

    package init(revision: UInt64, replica: UInt64, attribute: [UInt8]? = nil) {
        self.revision = revision
        self.replica = replica
        self.attribute = attribute
    }

    package init(_ value: EarlierValue) {
        let name = if case .attribute(let name) = value.name.field { name } else { nil as [UInt8]? }
        self.init(revision: value.revision, replica: value.replica, attribute: name)
    }

    /// Finds the value among an item's values. Throws `noSuchItem`.
    package func find(among values: [EarlierValue]) throws(VaultError) -> EarlierValue {
        guard let found = values.first(where: { EarlierValueID($0) == self }) else {
            throw VaultError(.noSuchItem, "the item has no such earlier value")
        }
        return found
    }
}

// Functions that find an item by its key and read it from the same state, regardless of other threads.
extension Vault {
    /// Returns the value, of any size, of an attribute; nil if the item does not have this attribute. Throws
    /// `noSuchItem`, and the same errors as `get`.
    package func attribute(_ name: String, of key: ItemKey) throws(VaultError) -> Secret? {
        try withCore { (core) throws(VaultError) in
            try core.value(of: name, try core.existing(key))
        }
    }

    /// Opens an earlier value with its secret. Throws `noSuchItem`, and the same errors as `open`.
    package func openEarlierValue(_ id: EarlierValueID, of key: ItemKey) throws(VaultError) -> OpenedEarlierValue {
        try withCore { (core) throws(VaultError) in try core.open(try core.earlierValue(id, of: key)) }
    }

    /// Returns the value, of any size, that an attribute had at that time; nil if the item did not have this attribute.
    /// Throws `noSuchItem`, and the same errors as `open`.
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
    /// Throws unless the slot that opened the vault grants earlier values.
    func requireEarlierValues() throws(VaultError) {
        guard !isLocked else { throw VaultError(.locked, "the vault is locked") }
        guard isOwner else {
            throw VaultError(.notPermitted, "the slot that opened this vault does not grant access to earlier values")
        }
    }

    /// Returns an item's earlier values, oldest first.
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
