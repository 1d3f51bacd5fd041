package import VaultBytes
internal import VaultStore

/// An item without its secret, as read by listing and searching.
public struct Item: Sendable {
    /// The item's entry in its page.
    package let entry: ItemEntry
    /// The offset of the frame that refers to the item's records; the records end before this offset.
    package let referrer: UInt64
    /// The records of the item's large attributes.
    package let largeRecords: [RecordRef]
    /// True if the item's record contains attributes.
    let hasAttributesInRecord: Bool
    /// True if the item is listed under its plain key rather than under a second key.
    package let hasKeyPlain: Bool
    private let compartment: KeyringView.Compartment
    private let content: ItemContent

    init(
        _ decoded: ItemCodec.Decoded, _ compartment: KeyringView.Compartment, _ content: ItemContent, isPlain: Bool,
        referrer: UInt64
    ) {
        entry = decoded.entry
        largeRecords = decoded.largeRecords
        hasAttributesInRecord = decoded.inRecord > 0
        unreadAttributes = decoded.inRecord + decoded.largeRecords.count
        hasKeyPlain = isPlain
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
        hasKeyPlain = item.hasKeyPlain
        referrer = item.referrer
        compartment = item.compartment
        content = .apart(item.storedKey, .decoded(attributes))
    }

    /// The item's random id, which never changes.
    public var id: ItemID { ItemID(entry.id) }
    /// The key under which the item is listed and found. If an item with a smaller id has the same key, this key ends
    /// with ` (conflict ID)`, where ID is the first 8 digits of the item's id.
    public var key: ItemKey { hasKeyPlain ? content.key : pageName.listed }
    /// The item's key without a suffix; another item may have the same key.
    package var storedKey: ItemKey { content.key }
    /// The key of the entry in a page, by which listings are ordered (section 6.1).
    package var pageKey: [UInt8] { pageName.bytes }

    /// Returns whether the item's key, which has been checked, is in a page and equals a range of other bytes.
    func hasKey(_ bytes: Span<UInt8>, _ range: Range<Int>) -> Bool {
        guard case .inPage(let page, let place) = content else { return false }
        return page.hasKey(Int(place.index), bytes, range)
    }

    /// The item's key in a page.
    var pageName: PageName { PageName(content.key, second: hasKeyPlain ? nil : entry.id) }
    /// The item's attributes. In a listing, only unsealed attributes of at most 256 bytes have a value; in an opened
    /// item, attributes of at most 4096 bytes do.
    public var attributes: Attributes { content.attributes }
    /// The number of attributes whose values were not read.
    public let unreadAttributes: Int
    /// True if the item has earlier values, or values that a merge has left to settle.
    public var hasPast: Bool { entry.past != nil }
    /// True if a merge has left values of the item to settle.
    public var needsSettling: Bool { entry.hasConflicts }
    /// True if the item shows no secret: the secret was forgotten, is left to settle, or is an earlier value.
    public var lacksSecret: Bool { entry.lacksSecret }
    /// The conditions under which the item's secret can be read.
    public var accessibility: Accessibility { compartment.accessibility }
    /// The device that the item is bound to, if any.
    public var device: DeviceID? { compartment.info.isDeviceBound ? DeviceID(compartment.info.device) : nil }
    /// The time at which the item was created, in milliseconds since 1970-01-01T00:00:00Z.
    public var created: Int64 { entry.created }
    /// The time of the last change to the item's secret or attributes, in milliseconds since 1970.
    public var modified: Int64 { entry.modified }
    /// The time of the last change to the item's secret, in milliseconds since 1970; for an imported item, the time of
    /// the import.
    public var secretChanged: Int64 { entry.dot(of: FieldSet.secret).time }
    /// True if the item has not changed since its secret was set.
    package var isSecretOfLastChange: Bool { entry.dot(of: FieldSet.secret) == entry.dot }
    /// A hybrid logical clock value; of two states of the item, the newer one has the greater revision.
    public var revision: UInt64 { entry.dot.revision }
    /// The approximate size of the item's secret in bytes, from the padded record.
    public var paddedSize: Int { max(0, entry.record.length - Format.recordOverhead) }

    /// The access group, the accessibility and the device.
    var place: Place { compartment.place }
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
    package init(inPage attributes: [PageAttribute]) {
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
