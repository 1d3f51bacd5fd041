internal import VaultBytes
internal import VaultFmt

/// Converts arbitrary bytes to text for a field of an item key, and back.
///
/// UTF-8 is kept unchanged. Other bytes become U+FDD0 followed by two lower-case hexadecimal digits each, and so does
/// text that itself begins with U+FDD0, so that two different values never have the same text. U+FDD0 is a
/// noncharacter, which Unicode reserves for the internal use of programs.
enum KeyText {
    /// U+FDD0 in UTF-8.
    private static let mark: [UInt8] = [0xEF, 0xB7, 0x90]

    /// Returns the field text that represents these bytes.
    static func encode(_ bytes: [UInt8]) -> String {
        if !bytes.starts(with: mark), let text = String(validating: bytes, as: UTF8.self) { return text }
        return String(decoding: mark, as: UTF8.self) + Hex.encode(bytes)
    }

    /// Returns the value that a field's text represents: text, or bytes that are not UTF-8. Text that `encode` never
    /// produces is returned unchanged.
    static func decode(_ text: String) -> AttributeValue {
        let all = Array(text.utf8)
        guard all.starts(with: mark), let bytes = Hex.decode(String(decoding: all[mark.count...], as: UTF8.self)),
            Array(encode(bytes).utf8) == all
        else {
            return .text(text)
        }
        return String(validating: bytes, as: UTF8.self).map { .text($0) } ?? .bytes(bytes)
    }
}

/// The attributes of an item whose values were given as the less usual of two types: as bytes instead of text, or as
/// text instead of bytes.
struct OtherTypes: Equatable {
    /// The name of the attribute in which a vault's item lists those attributes, by their codes.
    static let name = "keychain-types"

    private(set) var codes: Set<String> = []

    init() {}

    init(_ item: Item) {
        codes = Set((item.attributes.string(Self.name) ?? "").split(separator: " ").map { String($0) })
    }

    func contains(_ code: String) -> Bool { codes.contains(code) }

    /// Records the types of new values.
    mutating func note(_ values: [String: AttributeValue], _ table: AttributeTable) {
        for (code, value) in values {
            switch (table[code]?.kind, value) {
            case (.textOrBytes, .bytes), (.bytesOrText, .text): codes.insert(code)
            case (.textOrBytes, _), (.bytesOrText, _): codes.remove(code)
            default: break
            }
        }
    }

    /// The attribute's value, or nil if the list is empty.
    var stored: [UInt8]? { codes.isEmpty ? nil : Array(codes.sorted().joined(separator: " ").utf8) }
}
