package import VaultBytes
internal import VaultStore

/// An item without its secret: what listing and searching read.
public struct Item: Sendable {
    /// What its page says of it.
    package let entry: ItemEntry
    /// The offset of the frame that refers to its records, before which they end.
    package let referrer: UInt64
    /// The records of its large attributes.
    package let largeRecords: [RecordRef]
    /// Whether its record has attributes besides the secret.
    let hasAttributesInRecord: Bool
    private let compartment: KeyringView.Compartment
    private let content: ItemContent

    init(
        _ decoded: ItemCodec.Decoded, _ compartment: KeyringView.Compartment, _ content: ItemContent, referrer: UInt64
    ) {
        entry = decoded.entry
        largeRecords = decoded.largeRecords
        hasAttributesInRecord = decoded.inRecord > 0
        unreadAttributes = decoded.inRecord + decoded.largeRecords.count
        self.referrer = referrer
        self.compartment = compartment
        self.content = content
    }

    /// The same with more of its attributes read.
    init(_ item: Item, _ attributes: Attributes) {
        entry = item.entry
        largeRecords = item.largeRecords
        hasAttributesInRecord = item.hasAttributesInRecord
        unreadAttributes = attributes.unread
        referrer = item.referrer
        compartment = item.compartment
        content = .apart(item.key, .decoded(attributes))
    }

    /// Random, and the item's own as long as it exists.
    public var id: ItemID { ItemID(entry.id) }
    /// What it is found by.
    public var key: ItemKey { content.key }
    /// Its attributes. From a listing, only those of at most 256 bytes that are not sealed have a value; from an opened
    /// item, those of at most 4096.
    public var attributes: Attributes { content.attributes }
    /// How many of its attributes have no value here.
    public let unreadAttributes: Int
    /// How many earlier values it has.
    public var earlierValues: Int { entry.versions?.count ?? 0 }
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
    public var paddedSize: Int { max(0, entry.record.length - Format.recordOverhead) }

    /// Whether its key is a part of some bytes.
    func hasKey(_ bytes: Span<UInt8>, _ range: Range<Int>) -> Bool { content.hasKey(bytes, range) }
}

/// An item with its secret.
public struct OpenedItem: ~Copyable {
    /// The item, with all attributes of at most 4096 bytes; `Vault.attribute(_:of:)` reads larger ones.
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

/// An item's key and attributes: where they stand in a page, checked, and copied out when somebody asks; or apart from
/// one.
enum ItemContent: Sendable {
    case inPage(Page, ItemPlace)
    case apart(ItemKey, ItemAttributes)

    var key: ItemKey {
        switch self {
        case .inPage(let page, let place):
            ItemKey(checked: page.key(Int(place.index)), groupStart: Int(place.groupStart))
        case .apart(let key, _): key
        }
    }

    var attributes: Attributes {
        switch self {
        case .inPage(let page, let place): ItemAttributes.inPage(page, place.attributes).attributes
        case .apart(_, let attributes): attributes.attributes
        }
    }

    func hasKey(_ bytes: Span<UInt8>, _ range: Range<Int>) -> Bool {
        switch self {
        case .inPage(let page, let place): page.hasKey(Int(place.index), bytes, range)
        case .apart(let key, _): ByteOrder.compare(bytes, range, key.bytes.span, 0..<key.bytes.count) == 0
        }
    }
}

/// Where an item is in its page. A page's body has fewer than 65,536 bytes.
struct ItemPlace: Sendable {
    let index: UInt16
    let groupStart: UInt16
    private let attributesStart: UInt16
    private let attributesEnd: UInt16

    init(index: Int, groupStart: Int, attributes: Range<Int>) {
        self.index = UInt16(truncatingIfNeeded: index)
        self.groupStart = UInt16(truncatingIfNeeded: groupStart)
        attributesStart = UInt16(truncatingIfNeeded: attributes.lowerBound)
        attributesEnd = UInt16(truncatingIfNeeded: attributes.upperBound)
    }

    var attributes: Range<Int> { Int(attributesStart)..<Int(attributesEnd) }
}

/// Attributes as they stand in a page, checked, and taken apart when somebody asks.
enum ItemAttributes: Sendable {
    case inPage(Page, Range<Int>)
    case encoded([UInt8])
    case decoded(Attributes)

    var attributes: Attributes {
        switch self {
        case .decoded(let attributes): return attributes
        case .encoded(let bytes): return Self.decode(bytes, 0..<bytes.count)
        case .inPage(let page, let range): return Self.decode(page.bytes, range)
        }
    }

    private static func decode(_ bytes: [UInt8], _ range: Range<Int>) -> Attributes {
        var cursor = Cursor(over: range, of: Cursor(bytes.span, at: 0, else: .structureInvalid))
        do throws(FormatError) { return Attributes(inPage: try PageAttributes.decode(bytes.span, &cursor)) } catch {
            preconditionFailure("attributes were checked when their page was read")
        }
    }
}

extension Attributes {
    /// Those of a page or of an earlier value.
    init(inPage attributes: [PageAttribute]) {
        let all = attributes.map { attribute in
            let content: Attribute.Content =
                switch attribute.value {
                case .inPage(let value): .bytes(value)
                case .inItemRecord: .inItemRecord
                case .inOwnRecord(let record): .inOwnRecord(record)
                }
            return Attribute(
                attribute.name, content, flags: Attribute.Flags(rawValue: attribute.flags.meaning.rawValue))
        }
        self.init(sorted: all)
    }
}
