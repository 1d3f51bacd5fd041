internal import VaultBytes
internal import VaultStore

/// The key of an item's entry in a page: the item's plain key, or a second key if another item is listed under the
/// plain key (specification, section 6.1).
struct PageName: Hashable, Sendable {
    /// The item's key.
    let key: ItemKey
    /// The item's id if it is listed under a second key; otherwise nil.
    let second: Bytes16?

    init(_ key: ItemKey, second: Bytes16? = nil) {
        self.key = key
        self.second = second
    }

    /// Reads the key of this item's entry.
    init(_ bytes: [UInt8], _ item: Bytes16) throws(VaultError) {
        second = PageKey.isSecond(bytes.span, item) ? item : nil
        key = try ItemKey(PageKey.itemKey(bytes, item))
    }

    /// The key in the page.
    var bytes: [UInt8] { second.map { PageKey.second(key.bytes, $0) } ?? key.bytes }

    static func precedes(_ left: PageName, _ right: PageName) -> Bool { ByteOrder.isLess(left.bytes, right.bytes) }

    /// The key shown to users, with a suffix if the item is listed under a second key.
    var listed: ItemKey { second.map { TwinKey.listed(key, $0) } ?? key }
}

/// The keys shown to users for items with a second key. Their suffix is never stored.
enum TwinKey {
    /// Returns the key with the suffix of, in a field that is shortened if it would be too long.
    static func listed(_ key: ItemKey, _ item: Bytes16) -> ItemKey {
        let suffix = Twins.suffix(item)
        guard let (range, isText) = suffixed(key) else { return key }
        var value = unescaped(key, range)
        while true {
            var bytes = Array(key.bytes[..<range.lowerBound])
            KeyFields.append(value + suffix, to: &bytes)
            bytes.append(contentsOf: key.bytes[range.upperBound...])
            if value.count + suffix.count <= Format.Limit.field, bytes.count <= Format.Limit.itemKey {
                let grown = bytes.count - key.bytes.count
                return ItemKey(checked: bytes, groupStart: key.groupRange.lowerBound + grown)
            }
            guard let shorter = shortened(value, isText) else { return key }
            value = shorter
        }
    }

    /// Returns the common prefix of the keys of items that may be listed under this key; nil if this key does not have
    /// the suffix of a listed key.
    static func start(ofListed key: ItemKey) -> [UInt8]? {
        guard let (range, _) = suffixed(key) else { return nil }
        let value = unescaped(key, range)
        let length = Twins.suffix(.zero).count
        guard value.count >= length, Twins.isSuffix(value.suffix(length)) else { return nil }
        var start = Array(key.bytes[..<range.lowerBound])
        KeyFields.append(Array(value.dropLast(length)), to: &start)
        return start.dropLast(2)
    }

    /// Returns whether the value of a field ends with the suffix of a listed key.
    static func endsLikeListed(_ value: ItemKey.Value) -> Bool {
        let bytes: [UInt8] =
            switch value {
            case .text(let text): Array(text.utf8)
            case .bytes(let bytes): bytes
            case .number: []
            }
        return Twins.isSuffix(bytes.suffix(Twins.suffix(.zero).count))
    }

    /// Returns the range of the encoded field that gets the suffix, and whether it is text; nil if the key has no such
    /// field.
    private static func suffixed(_ key: ItemKey) -> (Range<Int>, isText: Bool)? {
        let kinds: [ItemKey.Kind]
        let index: Int
        switch key.itemClass {
        case .reserved:
            guard !key.texts.isEmpty else { return nil }
            (kinds, index) = ([.text], 0)
        default:
            let wanted: ItemKey.Field =
                switch key.itemClass {
                case .certificate, .identity: .serialNumber
                case .key: .applicationTag
                default: .account
                }
            kinds = key.itemClass.fields.map(\.kind)
            guard let found = key.itemClass.fields.firstIndex(of: wanted) else { return nil }
            index = found
        }
        return (key.range(ofField: index, kinds), kinds[index] == .text)
    }

    private static func unescaped(_ key: ItemKey, _ range: Range<Int>) -> [UInt8] {
        var cursor = Cursor(over: range, of: Cursor(key.bytes.span, at: 0, else: .structureInvalid))
        do throws(FormatError) { return try KeyFields.field(key.bytes.span, &cursor) } catch {
            preconditionFailure("an item key was checked when it was made")
        }
    }

    /// Returns a value without its last character or byte; nil if the value is empty.
    private static func shortened(_ value: [UInt8], _ isText: Bool) -> [UInt8]? {
        guard !value.isEmpty else { return nil }
        guard isText else { return value.dropLast() }
        var value = value
        while let last = value.popLast(), last & 0xC0 == 0x80 {}
        return value
    }
}
