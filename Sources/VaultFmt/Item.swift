package import VaultBytes
internal import VaultStore

/// An item without its secret: what listing and searching read.
public struct Item: Sendable {
    /// What its page says of it.
    package let entry: ItemEntry
    /// How many attributes are longer or named `sealed:…`, and so only in an opened item.
    public let largeAttributes: Int
    private let compartment: KeyringView.Compartment
    private let content: ItemContent

    init(_ decoded: ItemCodec.Decoded, _ compartment: KeyringView.Compartment, _ content: ItemContent) {
        entry = decoded.entry
        largeAttributes = decoded.largeAttributes
        self.compartment = compartment
        self.content = content
    }

    /// The same with the attributes that stand in the record.
    init(_ item: Item, adding large: [AttributeList.Entry]) throws(VaultError) {
        self = item
        guard !large.isEmpty else { return }
        var all = item.attributes
        for entry in large {
            guard all[entry.name] == nil else { throw VaultError(.structureInvalid, "an attribute stands twice") }
            all[entry.name] = entry.value
        }
        self.init(copying: item, .apart(item.key, .decoded(all)))
    }

    private init(copying item: Item, _ content: ItemContent) {
        entry = item.entry
        largeAttributes = item.largeAttributes
        compartment = item.compartment
        self.content = content
    }

    /// Random, and the item's own as long as it exists.
    public var id: ItemID { ItemID(entry.id) }
    /// What it is found by.
    public var key: ItemKey { content.key }
    /// Its attributes; from a listing, only those of at most 256 bytes.
    public var attributes: Attributes { content.attributes }
    /// When its secret can be read.
    public var accessibility: Accessibility { compartment.accessibility }
    /// The device that it is for, if it is for one only.
    public var device: DeviceID? { compartment.info.isDeviceBound ? DeviceID(compartment.info.device) : nil }
    /// When it was made: milliseconds since 1970-01-01T00:00:00Z.
    public var created: Int64 { entry.created }
    /// When secret or attributes were changed last: milliseconds since 1970.
    public var modified: Int64 { entry.modified }
    /// A hybrid logical clock: which of two states of the item is newer.
    public var revision: UInt64 { entry.revision }
    /// A rough size of its secret in bytes: what the padded record tells.
    public var paddedSize: Int { entry.record.length - Format.recordOverhead }

    /// Whether its key is a part of some bytes.
    func hasKey(_ bytes: Span<UInt8>, _ range: Range<Int>) -> Bool { content.hasKey(bytes, range) }
}

/// An item with its secret.
public struct OpenedItem: ~Copyable {
    /// The item, with all attributes.
    public let item: Item
    /// The secret.
    public var secret: Secret

    init(item: Item, secret: consuming Secret) {
        self.item = item
        self.secret = secret
    }

    /// Gives the secret away.
    public consuming func takeSecret() -> Secret { secret }
}
