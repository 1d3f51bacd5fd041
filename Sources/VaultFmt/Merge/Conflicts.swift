internal import VaultBytes
internal import VaultStore

/// The conflicts that merges have left in one item.
public struct Conflict: Sendable {
    /// A losing value of a field: the winning value was set later, or on another machine.
    public struct Value: Sendable {
        let lost: LostValue

        /// The field that the value belongs to.
        public var field: ConflictField { lost.field }
        /// The revision of the item that had this value (a hybrid logical clock).
        public var revision: UInt64 { lost.stamp.revision }
        /// The device that made that revision, if known.
        public var device: DeviceID? { lost.stamp.device == .zero ? nil : DeviceID(lost.stamp.device) }
        /// The flags, if the field is an attribute.
        public var flags: Attribute.Flags { Attribute.Flags(rawValue: lost.flags.rawValue) }
        /// The value: a secret, an attribute's bytes, text, a four-byte big-endian number, or one byte of accessibility
        /// followed by a device's id.
        public var value: Secret { lost.value.secret.copy() }
        /// The accessibility, if the field is `accessibility`.
        public var accessibility: Accessibility? {
            guard lost.kind == .accessibility else { return nil }
            return lost.value.secret.withUnsafeBytes { $0.first }.flatMap { Accessibility(rawValue: $0) }
        }
    }

    /// The item's key.
    public let key: ItemKey
    /// The item.
    public let item: ItemID
    /// The conflicts, oldest first.
    public let values: [Value]
}

extension Vault {
    /// Returns the conflicts that merges have left, sorted by item key. Throws the same errors as `items` and `get`.
    public func conflicts() throws(VaultError) -> [Conflict] {
        var found: [Conflict] = []
        var cursor = try items()
        while let item = try cursor.next() {
            guard item.attributes.attribute(ConflictAttribute.name) != nil else { continue }
            if let conflict = try self.conflict(in: item) { found.append(conflict) }
        }
        return found
    }

    /// Returns the conflicts that merges have left in one item; nil if there are none. Throws `noSuchItem`, and the
    /// same errors as `get`.
    public func conflict(in key: ItemKey) throws(VaultError) -> Conflict? {
        guard let item = try item(key) else { throw VaultError(.noSuchItem, "no such item") }
        return try conflict(in: item)
    }

    private func conflict(in item: Item) throws(VaultError) -> Conflict? {
        guard let value = try attribute(ConflictAttribute.name, of: item) else { return nil }
        return Conflict(try ConflictAttribute.decode(value), of: item)
    }

    /// Settles the conflicts of an item. Throws the same errors as `Transaction.settle`.
    public func settle(_ key: ItemKey, keeping values: [Conflict.Value] = []) throws(VaultError) {
        try transaction { (transaction) throws(VaultError) in try transaction.settle(key, keeping: values) }
    }
}

extension Transaction {
    /// Returns the conflicts that merges have left in one item; nil if there are none. Throws `noSuchItem`, and the
    /// same errors as `get`.
    public func conflict(in key: ItemKey) throws(VaultError) -> Conflict? {
        let item = try existing(key)
        guard let value = try attribute(ConflictAttribute.name, of: key) else { return nil }
        return Conflict(try ConflictAttribute.decode(value), of: item)
    }

    /// Settles the conflicts of an item: the given values replace the current ones, and all others are discarded. If no
    /// values are given, only the conflicts are discarded.
    ///
    /// Throws `noSuchItem`; `invalidArgument` for a value that is not among the item's conflicts, for two values of the
    /// same field, or for a key of another class; `duplicateItem` if the resulting key exists; `deviceBound` for
    /// another device's accessibility.
    public func settle(_ key: ItemKey, keeping values: [Conflict.Value] = []) throws(VaultError) {
        guard let conflict = try conflict(in: key) else { return }
        var change = AttributeChanges(remove: [ConflictAttribute.name])
        var accessibility: Accessibility?
        var secret: SecretBox?
        var newKey = KeyParts(key)
        var fields: Set<ConflictField> = []
        for value in values {
            let lost = value.lost
            guard conflict.values.contains(where: { $0.lost.isSame(as: lost) }) else {
                throw VaultError(.invalidArgument, "this value is not among the item's conflicts")
            }
            guard fields.insert(value.field).inserted else {
                throw VaultError(.invalidArgument, "a field can have only one value")
            }
            switch lost.kind {
            case .secret: secret = lost.value
            case .attribute:
                change.set.set(Attribute(lost.name, secret: lost.value.secret.copy(), flags: value.flags))
            case .keyField: try newKey.set(lost.name, to: lost.value.secret.withUnsafeBytes { Array($0) })
            case .accessibility: accessibility = try self.accessibility(lost)
            }
        }
        if let secret {
            try set(key, secret: secret.secret, attributes: change, accessibility: accessibility)
        } else {
            try update(key, attributes: change, accessibility: accessibility)
        }
        let moved = try newKey.encoded()
        if moved != key { try move(key, to: moved) }
    }

    private func accessibility(_ lost: LostValue) throws(VaultError) -> Accessibility {
        let bytes = lost.value.secret.withUnsafeBytes { Array($0) }
        guard bytes.count == 1 + Format.idSize, let accessibility = Accessibility(rawValue: bytes[0]),
            let device = Bytes16(Array(bytes[1...]))
        else { throw VaultError(.structureInvalid, "a conflict does not contain a valid accessibility") }
        guard device == .zero || device == core.deviceID else { throw ItemLimits.noDevice }
        return accessibility
    }
}

extension Conflict {
    fileprivate init(_ lost: [LostValue], of item: Item) {
        self.init(key: item.key, item: item.id, values: lost.map(Value.init))
    }
}

extension KeyParts {
    /// Sets a field by its name in conflicts; `key` stands for all fields.
    fileprivate mutating func set(_ name: String, to value: [UInt8]) throws(VaultError) {
        if name == "key" {
            self = KeyParts(try ItemKey(value))
        } else if let index = names.firstIndex(of: name) {
            self[index] = value
        } else {
            throw VaultError(.structureInvalid, "a conflict refers to a field that the item does not have")
        }
    }
}
