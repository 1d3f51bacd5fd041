internal import VaultBytes
internal import VaultStore

/// An earlier value of an item, without its bytes: a secret or a sealed attribute that was replaced (specification,
/// section 6.4).
public struct EarlierValue: Sendable {
    /// The item's id.
    public let item: ItemID
    package let name: ValueName
    package let value: HeldValue
    /// The offset of the frame that refers to the value's records.
    package let referrer: UInt64

    init(_ name: ValueName, _ value: HeldValue, of item: Bytes16, referrer: UInt64) {
        self.item = ItemID(item)
        self.name = name
        self.value = value
        self.referrer = referrer
    }

    /// The attribute's name; nil for a secret.
    public var attribute: String? {
        if case .attribute(let name) = name.field { String(decoding: name, as: UTF8.self) } else { nil }
    }
    /// The revision of the change that set the value.
    public var revision: UInt64 { name.dot.revision }
    /// The replica id under which the value was set. An item's earlier value is identified by its revision, its replica
    /// id and its attribute. If the vault's vector is damaged, this number only distinguishes values from each other.
    public var replica: UInt64 { name.dot.replica }
    /// The time at which the value was replaced, in milliseconds since 1970-01-01T00:00:00Z; 0 if unknown.
    public var replaced: Int64 { value.replaced }
    /// The time at which the value was set, in milliseconds since 1970; for an imported or salvaged value, the time of
    /// the import or salvage.
    public var modified: Int64 { name.dot.time }
    /// The unsealed attributes that the item had at the time of an earlier secret; only those of at most 256 bytes have
    /// a value.
    public var attributes: Attributes {
        guard case .secret(_, let attributes) = value.content else { return Attributes() }
        return Attributes(inPage: attributes)
    }
    /// The flags of an attribute's value.
    public var flags: Attribute.Flags {
        guard case .attribute(let flags, _) = value.content else { return [] }
        return Attribute.Flags(rawValue: flags.meaning.rawValue)
    }
    /// The approximate size of the value in bytes, from the padded record.
    public var paddedSize: Int { max(0, (value.record?.record.length ?? 0) - Format.recordOverhead) }
}

/// An earlier value that a change dropped.
package struct DroppedValue: Sendable {
    /// The item's key after the change.
    package let key: ItemKey
    package let value: EarlierValue
}

/// An earlier value with its bytes.
public struct OpenedEarlierValue: ~Copyable {
    /// The earlier value, without its bytes.
    public let value: EarlierValue
    /// The item's key when the record was sealed.
    public let key: ItemKey
    /// The attributes that the item had at the time of an earlier secret. Large values are omitted;
    /// `Vault.attribute(_:of:)` reads them.
    public let attributes: Attributes
    /// The device to which the value is bound; nil if every device can read it. When the value is restored, it is bound
    /// to the device that the item has at that time.
    public let device: DeviceID?
    /// The secret, or the value of the sealed attribute.
    public var secret: Secret

    /// Moves the secret out.
    public consuming func takeSecret() -> Secret { secret }
}

/// An earlier secret that an import adds.
public struct NewEarlierValue: Sendable {
    /// The attributes that the item had at the time; sealed ones become separate earlier values.
    public var attributes: Attributes
    /// The time at which the secret was replaced, in milliseconds since 1970-01-01T00:00:00Z.
    public var replaced: Int64
    /// The item's access group at the time; nil for its current group. Restoring a value from another group can make it
    /// readable to other people.
    public var group: String?
    private let box: SecretBox

    /// Makes a value.
    public init(
        secret: consuming Secret, attributes: Attributes = .init(), replaced: Int64, group: String? = nil
    ) {
        box = SecretBox(secret)
        self.attributes = attributes
        self.replaced = replaced
        self.group = group
    }

    /// Passes the secret to a closure.
    func withSecret<R>(_ body: (borrowing Secret) throws(VaultError) -> R) throws(VaultError) -> R {
        try body(box.secret)
    }
}
