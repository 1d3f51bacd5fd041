package import VaultBytes
internal import VaultStore

/// An earlier value of an item, without its secret: the state of the item before its secret or a sealed attribute was
/// replaced (specification, section 6.4).
public struct EarlierValue: Sendable {
    /// The item's id.
    public let item: ItemID
    /// The device that made the value, if it is known.
    public let device: DeviceID?
    package let version: Versions.Version
    /// The offset of the frame that refers to its records.
    package let referrer: UInt64

    init(_ version: Versions.Version, of item: Bytes16, _ view: KeyringView, referrer: UInt64) {
        self.item = ItemID(item)
        device = view.device(version.device)
        self.version = version
        self.referrer = referrer
    }

    /// The item's revision when this was its value.
    public var revision: UInt64 { version.revision }
    /// The time at which it was replaced, in milliseconds since 1970-01-01T00:00:00Z.
    public var replaced: Int64 { version.replaced }
    /// The time at which it was last changed, in milliseconds since 1970.
    public var modified: Int64 { version.modified }
    /// The item's attributes at the time; only unsealed ones of at most 256 bytes have a value.
    public var attributes: Attributes { Attributes(inPage: version.attributes) }
    /// The approximate size of its secret in bytes, from the padded record.
    public var paddedSize: Int { max(0, version.record.length - Format.recordOverhead) }

    /// Returns whether this is the same value of the same item, wherever it is stored.
    func isSame(as other: Versions.Version) -> Bool {
        version.revision == other.revision && version.device == other.device
    }
}

/// An earlier value with its secret.
public struct OpenedEarlierValue: ~Copyable {
    /// The earlier value, without its secret.
    public let value: EarlierValue
    /// The item's key at the time.
    public let key: ItemKey
    /// The item's attributes at the time, without the values of large ones: `Vault.attribute(_:of:)` reads those.
    public let attributes: Attributes
    /// The secret.
    public var secret: Secret

    /// Moves the secret out.
    public consuming func takeSecret() -> Secret { secret }
}

/// An earlier value that an import adds.
public struct NewEarlierValue: Sendable {
    /// The attributes at the time.
    public var attributes: Attributes
    /// The time at which it was last changed, in milliseconds since 1970.
    public var modified: Int64
    /// The time at which it was replaced, in milliseconds since 1970.
    public var replaced: Int64
    private let box: SecretBox

    /// Makes a value; its dates are milliseconds since 1970-01-01T00:00:00Z.
    public init(secret: consuming Secret, attributes: Attributes = .init(), modified: Int64, replaced: Int64) {
        box = SecretBox(secret)
        self.attributes = attributes
        self.modified = modified
        self.replaced = replaced
    }

    /// Passes the secret to a closure.
    func withSecret<R>(_ body: (borrowing Secret) throws(VaultError) -> R) throws(VaultError) -> R {
        try body(box.secret)
    }
}

/// Opens and checks frames with earlier values.
enum VersionsReader {
    /// Decodes the frame that the item refers to; its hash must have been checked.
    static func read(
        _ frame: [UInt8], _ ref: ObjectRef, _ item: Item, _ pages: PageSource, _ check: EntryCheck
    ) throws(VaultError) -> Versions {
        try read(frame, ref, item.entry, item.largeRecords, pages, check)
    }

    static func read(
        _ frame: [UInt8], _ ref: ObjectRef, _ entry: ItemEntry, _ large: [RecordRef], _ pages: PageSource,
        _ check: EntryCheck
    ) throws(VaultError) -> Versions {
        let body = try pages.open(frame, .versions, at: ref.offset)
        let versions = try decoding { () throws(FormatError) in try Versions(body.span, at: ref.offset) }
        try check.check(versions, of: entry, large, at: ref.offset)
        return versions
    }
}
