internal import VaultBytes
internal import VaultStore

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
