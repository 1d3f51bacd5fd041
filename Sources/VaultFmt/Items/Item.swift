package import VaultBytes
internal import VaultStore

/// An item without its secret, as read by listing and searching.
public struct Item: Sendable {
    /// The item's entry in its page.
    package let entry: ItemEntry
    /// The offset of the frame that refers to its records; they end before this offset.
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

    /// Makes a copy in which more attributes have been read.
    init(_ item: Item, _ attributes: Attributes) {
        entry = item.entry
        largeRecords = item.largeRecords
        hasAttributesInRecord = item.hasAttributesInRecord
        unreadAttributes = attributes.unread
        referrer = item.referrer
        compartment = item.compartment
        content = .apart(item.key, .decoded(attributes))
    }

    /// The item's random id, which never changes.
    public var id: ItemID { ItemID(entry.id) }
    /// The item's key.
    public var key: ItemKey { content.key }
    /// The item's attributes. In a listing, only unsealed ones of at most 256 bytes have a value; in an opened item,
    /// those of at most 4096 bytes do.
    public var attributes: Attributes { content.attributes }
    /// The number of attributes whose values were not read.
    public let unreadAttributes: Int
    /// The number of its earlier values.
    public var earlierValues: Int { entry.versions?.count ?? 0 }
    /// When the item's secret can be read.
    public var accessibility: Accessibility { compartment.accessibility }
    /// The device that the item is bound to, if any.
    public var device: DeviceID? { compartment.info.isDeviceBound ? DeviceID(compartment.info.device) : nil }
    /// When the item was created, in milliseconds since 1970-01-01T00:00:00Z.
    public var created: Int64 { entry.created }
    /// When its secret or attributes were last changed, in milliseconds since 1970.
    public var modified: Int64 { entry.modified }
    /// A hybrid logical clock, which shows which of two states of the item is newer.
    public var revision: UInt64 { entry.revision }
    /// The approximate size of its secret in bytes, from the padded record.
    public var paddedSize: Int { max(0, entry.record.length - Format.recordOverhead) }

    /// Returns whether its key equals a range of bytes.
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

    /// Moves the secret out.
    public consuming func takeSecret() -> Secret { secret }

}

/// An item's key and attributes: either as checked ranges of a page, copied out on request, or as separate values.
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

/// The position of an item in its page. A page's body has fewer than 65,536 bytes.
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

/// Checked attributes as stored in a page, decoded on request.
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
    /// Makes a set from the attributes of a page or of an earlier value.
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
