package import VaultBytes
internal import VaultFaults

/// An item without its secret: what listing and searching read.
public struct Item: Sendable {
    /// Random, and the item's own as long as it exists.
    public let id: ItemID
    /// What it is found by.
    public let key: ItemKey
    /// Its attributes; from a listing, only those of at most 256 bytes.
    public var attributes: Attributes { content.attributes }
    /// How many attributes are longer or named `sealed:…`, and so only in an opened item.
    public let largeAttributes: Int
    /// When its secret can be read.
    public let accessibility: Accessibility
    /// The device that it is for, if it is for one only.
    public let device: DeviceID?
    /// When it was made: milliseconds since 1970-01-01T00:00:00Z.
    public let created: Int64
    /// When secret or attributes were changed last: milliseconds since 1970.
    public let modified: Int64
    /// A hybrid logical clock: which of two states of the item is newer.
    public let revision: UInt64

    /// What its page says of it.
    package let entry: ItemEntry
    private let content: ItemAttributes

    init(_ key: ItemKey, _ decoded: ItemCodec.Decoded, _ compartment: KeyringView.Compartment) {
        id = ItemID(decoded.entry.id)
        self.key = key
        largeAttributes = decoded.largeAttributes
        accessibility = compartment.accessibility
        device = compartment.info.isDeviceBound ? DeviceID(compartment.info.device) : nil
        created = decoded.entry.created
        modified = decoded.entry.modified
        revision = decoded.entry.revision
        entry = decoded.entry
        content = decoded.attributes
    }

    /// The same with the attributes that stand in the record.
    init(_ item: Item, adding large: [AttributeList.Entry]) throws(VaultError) {
        guard !large.isEmpty else {
            self.init(copying: item, item.content)
            return
        }
        var all = item.attributes
        for entry in large {
            guard all[entry.name] == nil else { throw VaultError(.structureInvalid, "an attribute stands twice") }
            all[entry.name] = entry.value
        }
        self.init(copying: item, .decoded(all))
    }

    private init(copying item: Item, _ content: ItemAttributes) {
        id = item.id
        key = item.key
        largeAttributes = item.largeAttributes
        accessibility = item.accessibility
        device = item.device
        created = item.created
        modified = item.modified
        revision = item.revision
        entry = item.entry
        self.content = content
    }

    /// A rough size of its secret in bytes: what the padded record tells.
    public var paddedSize: Int { entry.record.length - Format.recordOverhead }
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

/// A keyring in the form that reading items needs: who may read what, by compartment number.
final class KeyringView: Sendable {
    struct Compartment: Sendable {
        let info: Keyring.Compartment
        let group: Keyring.Group
        let encodedGroup: [UInt8]
        let accessibility: Accessibility
    }

    let keyring: Keyring
    private let compartments: [UInt32: Compartment]

    init(_ keyring: Keyring) {
        self.keyring = keyring
        var all: [UInt32: Compartment] = [:]
        let groups = Dictionary(keyring.groups.map { ($0.number, $0) }, uniquingKeysWith: { first, _ in first })
        for info in keyring.compartments {
            guard let group = groups[info.group], let accessibility = Accessibility(rawValue: info.accessibility)
            else { continue }
            all[info.number] = Compartment(
                info: info, group: group, encodedGroup: ItemKey.encodedGroup(group.name), accessibility: accessibility)
        }
        compartments = all
    }

    func compartment(_ number: UInt32) -> Compartment? { compartments[number] }

}

/// Looks up the compartments of many items, which are mostly the same one's.
struct CompartmentLookup {
    let view: KeyringView
    private var last: KeyringView.Compartment?

    init(_ view: KeyringView) { self.view = view }

    ///
    mutating func compartment(of entry: ItemEntry, _ key: ItemKey, at offset: UInt64) throws(VaultError) -> KeyringView.Compartment {
        if let last, last.info.number == entry.compartment, key.isInGroup(last.encodedGroup) { return last }
        guard let found = view.compartment(entry.compartment) else {
            throw VaultError(.structureInvalid, "an item's compartment does not exist", at: offset)
        }
        guard key.isInGroup(found.encodedGroup) || PlantedFault.compartmentOfOtherGroup.isPlanted else {
            throw VaultError(.structureInvalid, "an item's compartment is of another group than its name", at: offset)
        }
        last = found
        return found
    }
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
        do throws(FormatError) { return Attributes(sorted: try AttributeList.decode(bytes.span, &cursor, .inPage)) } catch {
            preconditionFailure("attributes were checked when their page was read")
        }
    }
}

/// Leaf values of items.
enum ItemCodec {
    struct Decoded {
        let entry: ItemEntry
        let largeAttributes: Int
        let attributes: ItemAttributes
    }

    static func encode(_ entry: ItemEntry, _ attributes: Attributes) -> [UInt8] {
        var out: [UInt8] = []
        out.reserveCapacity(160)
        entry.encode(into: &out)
        out.append(varint: UInt64(attributes.inRecord.count))
        AttributeList.encode(attributes.inPage, into: &out)
        return out
    }

    /// `page` is the offset of the page that holds the value.
    static func decode(_ value: [UInt8], page: UInt64) throws(VaultError) -> Decoded {
        try decoding { () throws(FormatError) in
            var cursor = Cursor(value.span, at: page, else: .structureInvalid)
            let (entry, large, attributes) = try decode(value.span, &cursor, page: page)
            return Decoded(entry: entry, largeAttributes: large, attributes: .encoded(cursor.copy(value.span, attributes)))
        }
    }

    static func decode(_ page: Page, _ index: Int) throws(VaultError) -> Decoded {
        let bytes = page.bytes
        return try decoding { () throws(FormatError) in
            var cursor = page.cursor(index)
            let (entry, large, attributes) = try decode(bytes.span, &cursor, page: page.offset)
            return Decoded(entry: entry, largeAttributes: large, attributes: .inPage(page, attributes))
        }
    }

    /// The entry, how many attributes stand in the record, and where the others are.
    private static func decode(
        _ bytes: Span<UInt8>, _ cursor: inout Cursor, page: UInt64
    ) throws(FormatError) -> (ItemEntry, Int, Range<Int>) {
        let entry = try ItemEntry(bytes, &cursor, page: page)
        let large = try cursor.count(bytes, most: Format.Limit.attributes, "large attributes")
        let start = cursor.position
        let count = try AttributeList.skip(bytes, &cursor, .inPage)
        guard count + large <= Format.Limit.attributes else { throw cursor.limit("an item's attributes") }
        try cursor.finish()
        return (entry, large, start..<cursor.position)
    }

    static func item(_ key: ItemKey, _ decoded: Decoded, _ view: KeyringView, at offset: UInt64) throws(VaultError) -> Item {
        var lookup = CompartmentLookup(view)
        return try item(key, decoded, &lookup, at: offset)
    }

    static func item(
        _ key: ItemKey, _ decoded: Decoded, _ lookup: inout CompartmentLookup, at offset: UInt64
    ) throws(VaultError) -> Item {
        let view = lookup.view
        let compartment = try lookup.compartment(of: decoded.entry, key, at: offset)
        guard decoded.entry.device <= view.keyring.devices.count || PlantedFault.deviceUnchecked.isPlanted else {
            throw VaultError(.structureInvalid, "an item's device does not exist", at: offset)
        }
        return Item(key, decoded, compartment)
    }
}

/// Leaf values of removed items (specification, section 6.4).
package enum TombstoneCodec {
    ///
    package static func decode(_ page: Page, _ index: Int, _ keyring: Keyring) throws(VaultError) -> TombstoneEntry {
        let bytes = page.bytes
        let entry = try decoding { () throws(FormatError) in
            var cursor = page.cursor(index)
            return try TombstoneEntry(bytes.span, &cursor)
        }
        let key = page.key(index)
        guard key.first == Format.tombstoneTag, key.count == 1 + Format.idSize, entry.device <= keyring.devices.count else {
            throw VaultError(.structureInvalid, "a tombstone's key or device is not possible", at: page.offset)
        }
        return entry
    }
}
