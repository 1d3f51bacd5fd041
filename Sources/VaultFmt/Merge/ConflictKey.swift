internal import VaultBytes

/// An item key in parts that can be compared and replaced one by one.
struct KeyParts: Equatable {
    private typealias Row = (name: String, kind: ItemKey.Kind)

    let itemClass: UInt8
    /// The fields, in order, with the names used in conflicts.
    private let rows: [Row]
    /// The value of each field as stored in a conflict; numbers are big-endian.
    private(set) var values: [[UInt8]]
    private(set) var group: [UInt8]
    private(set) var isSynchronizable: Bool

    init(_ key: ItemKey) {
        itemClass = key.itemClass.rawValue
        rows = Self.rows(key)
        group = Array(key.group.utf8)
        isSynchronizable = key.synchronizable
        do throws(FormatError) { values = try Self.values(key.bytes, rows) } catch {
            preconditionFailure("an item key was checked when it was made")
        }
    }

    private static func values(_ bytes: [UInt8], _ rows: [Row]) throws(FormatError) -> [[UInt8]] {
        var cursor = Cursor(bytes.span, at: 0, else: .structureInvalid)
        _ = try cursor.u8(bytes.span)
        var values: [[UInt8]] = []
        for row in rows {
            switch row.kind {
            case .number: values.append(cursor.copy(bytes.span, try cursor.slice(4, "a number")))
            case .text, .bytes: values.append(try KeyFields.field(bytes.span, &cursor))
            }
        }
        return values
    }

    static func == (left: KeyParts, right: KeyParts) -> Bool {
        left.itemClass == right.itemClass && left.values == right.values && left.group == right.group
            && left.isSynchronizable == right.isSynchronizable
    }

    private static func rows(_ key: ItemKey) -> [Row] {
        guard key.itemClass.isDefined else { return key.texts.indices.map { ("\($0 + 1)", .text) } }
        return key.itemClass.fields.map { ($0.words.joined(separator: " "), $0.kind) }
    }

    /// The names of all fields, including `group` and `sync`.
    var names: [String] { rows.map(\.name) + ["group", "sync"] }

    /// Returns whether both have the same fields.
    func isLike(_ other: KeyParts) -> Bool { itemClass == other.itemClass && rows.count == other.rows.count }

    /// The value of a field, by its position in `names`.
    subscript(_ index: Int) -> [UInt8] {
        get {
            switch index - rows.count {
            case 0: group
            case 1: [isSynchronizable ? 1 : 0]
            default: values[index]
            }
        }
        set {
            switch index - rows.count {
            case 0: group = newValue
            case 1: isSynchronizable = newValue == [1]
            default: values[index] = newValue
            }
        }
    }

    /// Returns the encoded key. Throws `limitExceeded` if it is too long, or `structureInvalid` if a field is invalid.
    func encoded() throws(VaultError) -> ItemKey {
        guard let key = try encodedIfItFits() else {
            throw VaultError(.limitExceeded, "an item's key has at most \(Format.Limit.itemKey) bytes")
        }
        return key
    }

    func encodedIfItFits() throws(VaultError) -> ItemKey? {
        var out: [UInt8] = [itemClass]
        for (row, value) in zip(rows, values) {
            switch row.kind {
            case .number: out += value
            case .text, .bytes:
                guard value.count <= Format.Limit.field else { return nil }
                KeyFields.append(value, to: &out)
            }
        }
        KeyFields.append(group, to: &out)
        out.append(isSynchronizable ? 1 : 0)
        guard out.count <= Format.Limit.itemKey, group.count <= Format.Limit.field else { return nil }
        return try ItemKey(out)
    }

    // MARK: the suffixed field

    /// The index of the field to which the suffix of is added; nil if no field can take it.
    private var suffixed: Int? {
        let index = [1: 1, 2: 4, 3: 2, 4: 3, 5: 2][Int(itemClass)] ?? 0
        return index < rows.count ? index : nil
    }

    /// The value of that field; nil if no field can take a suffix.
    fileprivate var suffixedValue: [UInt8]? {
        get { suffixed.map { values[$0] } }
        set { if let suffixed, let newValue { values[suffixed] = newValue } }
    }

    /// Returns the common prefix of all keys that have additional text after this value.
    fileprivate func start(with value: [UInt8]) -> [UInt8]? {
        guard let suffixed else { return nil }
        var out: [UInt8] = [itemClass]
        for index in 0...suffixed {
            switch rows[index].kind {
            case .number: out += values[index]
            case .text, .bytes: KeyFields.append(index == suffixed ? value : values[index], to: &out)
            }
        }
        return out.dropLast(2)
    }

    /// Returns a value without its last character or byte.
    fileprivate func shortened(_ value: [UInt8]) -> [UInt8] {
        guard let suffixed, rows[suffixed].kind == .text else { return value.dropLast() }
        var value = value
        while let last = value.popLast(), last & 0xC0 == 0x80 {}
        return value
    }
}

/// The keys of items that had to give up their original keys to other items in a merge.
enum ConflictKey {
    private static func suffix(_ item: Bytes16) -> [UInt8] {
        Array(" (conflict \(Hex.encode(Array(item.bytes.prefix(4)))))".utf8)
    }

    /// Returns a key without the suffix that an earlier merge added to it.
    static func plain(_ key: ItemKey, _ item: Bytes16) -> ItemKey {
        let suffix = suffix(item)
        // Most keys do not contain such text.
        guard key.bytes.contains(UInt8(ascii: ")")), mayHold(suffix, key.bytes) else { return key }
        var parts = KeyParts(key)
        guard let value = parts.suffixedValue, value.suffix(suffix.count).elementsEqual(suffix) else { return key }
        parts.suffixedValue = value.dropLast(suffix.count)
        do throws(VaultError) { return try parts.encoded() } catch { return key }
    }

    private static func mayHold(_ suffix: [UInt8], _ bytes: [UInt8]) -> Bool {
        guard bytes.count >= suffix.count else { return false }
        return (0...bytes.count - suffix.count).contains { start in
            bytes[start] == suffix[0] && bytes[start..<start + suffix.count].elementsEqual(suffix)
        }
    }

    /// Returns the key that an item gets if another item has this one; nil if no field can take the suffix.
    static func other(_ key: ItemKey, _ item: Bytes16) throws(VaultError) -> ItemKey? {
        var parts = KeyParts(key)
        guard var value = parts.suffixedValue else { return nil }
        let suffix = suffix(item)
        while true {
            parts.suffixedValue = value + suffix
            if let key = try parts.encodedIfItFits() { return key }
            guard !value.isEmpty else { return nil }
            value = parts.shortened(value)
        }
    }

    /// Returns the common prefix of the keys of all items that may have given up this key; nil if there cannot be any.
    static func start(_ key: ItemKey) -> [UInt8]? {
        let parts = KeyParts(key)
        guard let value = parts.suffixedValue else { return nil }
        return parts.start(with: value + Array(" (conflict ".utf8))
    }
}
