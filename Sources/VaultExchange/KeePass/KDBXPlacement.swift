import VaultFmt

/// The place where our export stores an attribute of an item. It is recorded in the entry's custom data, so that
/// importing the file restores the same item.
struct KDBXPlacement: Equatable {
    /// A place in an entry.
    enum Place: Hashable {
        /// A field or an attachment.
        case string(String), binary(String)
        /// `URL` and the fields for further addresses, one line each.
        case addresses
        /// The tags, one line each; the path of the groups; the expiry time; the icon's number; the keys to type.
        case tags, folder, expiry, icon, autoType
    }

    let name: String
    let flags: UInt8
    let place: Place

    /// The keys of the custom data, after `KDBX.ownPrefix`.
    enum Key {
        static let item = "key"
        static let accessibility = "accessible"
        static let created = "created"
        static let modified = "modified"
        static let replaced = "replaced"
        /// The access group of an earlier state, if the item is in a different group now.
        static let group = "group"
        static let secret = "secret"
        static let attributes = "attributes"
    }

    /// Encodes a list as text that contains, for each attribute, its name in Base64, its flags, a letter for the place,
    /// and the name of the place in Base64.
    static func text(_ list: [KDBXPlacement]) -> String {
        list.map { placement in
            let (letter, name) = placement.place.parts
            return [encoded(placement.name), String(placement.flags), letter, encoded(name)].joined(separator: " ")
        }.joined(separator: ";")
    }

    /// Decodes text in this form; returns nil for anything else.
    static func list(_ text: String) -> [KDBXPlacement]? {
        var list: [KDBXPlacement] = []
        for part in text.split(separator: ";") {
            let words = part.split(separator: " ", omittingEmptySubsequences: false)
            guard words.count == 4, let name = decoded(words[0]), let flags = UInt8(words[1]), flags < 8,
                let place = Place(String(words[2]), decoded(words[3]))
            else { return nil }
            list.append(KDBXPlacement(name: name, flags: flags, place: place))
        }
        return list
    }

    static func encoded(_ text: String) -> String {
        let encoded = KDBXBase64.text(Array(text.utf8))
        return encoded.isEmpty ? "=" : encoded
    }

    static func decoded(_ text: Substring) -> String? {
        guard text != "=" else { return "" }
        var copy = String(text)
        let bytes = copy.withUTF8 { decodedBase64(UnsafeRawBufferPointer($0))?.withUnsafeBytes { Array($0) } }
        return bytes.flatMap { String(validating: $0, as: UTF8.self) }
    }
}

extension KDBXPlacement.Place {
    fileprivate var parts: (letter: String, name: String) {
        switch self {
        case .string(let name): ("s", name)
        case .binary(let name): ("b", name)
        case .addresses: ("u", "")
        case .tags: ("t", "")
        case .folder: ("g", "")
        case .expiry: ("e", "")
        case .icon: ("i", "")
        case .autoType: ("a", "")
        }
    }

    fileprivate init?(_ letter: String, _ name: String?) {
        switch (letter, name) {
        case ("s", let name?): self = .string(name)
        case ("b", let name?): self = .binary(name)
        case ("u", _): self = .addresses
        case ("t", _): self = .tags
        case ("g", _): self = .folder
        case ("e", _): self = .expiry
        case ("i", _): self = .icon
        case ("a", _): self = .autoType
        default: return nil
        }
    }
}

/// Encodes bytes that are not secret in Base64.
enum KDBXBase64 {
    private static let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    static func text(_ bytes: [UInt8]) -> String {
        var out: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = bytes[start..<min(start + 3, bytes.count)]
            let bits = group.reduce(0) { $0 << 8 | Int($1) } << (8 * (3 - group.count))
            for index in 0..<4 {
                out.append(index <= group.count ? letters[bits >> (18 - 6 * index) & 63] : UInt8(ascii: "="))
            }
        }
        return String(decoding: out, as: UTF8.self)
    }
}

extension KDBXPlacement {
    /// Decodes Base64; returns nil for anything else.
    static func decodedBytes(_ text: String) -> [UInt8]? {
        var copy = text
        return copy.withUTF8 { decodedBase64(UnsafeRawBufferPointer($0))?.withUnsafeBytes { Array($0) } }
    }
}

/// Text that can be a string in a KDBX file.
enum KDBXText {
    /// Returns whether XML 1.0 can represent the text and programs leave it unchanged: UTF-8 without control characters
    /// except tab, newline and carriage return, and without the two noncharacters.
    static func isPlain(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard String(validating: bytes.bindMemory(to: UInt8.self), as: UTF8.self) != nil else { return false }
        var index = 0
        while index < bytes.count {
            let byte = bytes[index]
            if byte < 0x20, byte != 0x09, byte != 0x0A, byte != 0x0D { return false }
            if byte == 0xEF, bytes[index + 1] == 0xBF, bytes[index + 2] >= 0xBE { return false }
            index += 1
        }
        return true
    }

    /// Returns whether a field can store the text unchanged. The text must be plain and must not contain a reference to
    /// another entry's field, which would be replaced by that field's value, here and in other programs.
    static func isLiteral(_ bytes: UnsafeRawBufferPointer) -> Bool { isPlain(bytes) && !hasReference(bytes) }

    static func isLiteral(_ text: String) -> Bool {
        var copy = text
        return copy.withUTF8 { isLiteral(UnsafeRawBufferPointer($0)) }
    }

    /// The start of a reference, in lower case.
    static let reference = Array("{ref:".utf8)

    private static func hasReference(_ bytes: UnsafeRawBufferPointer) -> Bool {
        bytes.indices.contains { bytes[$0] == reference[0] && isReference(bytes, at: $0) }
    }

    /// Returns whether a reference begins at the given position in a value.
    static func isReference(_ bytes: UnsafeRawBufferPointer, at index: Int) -> Bool {
        bytes.count - index > reference.count
            && zip(bytes[index...], reference).allSatisfy { $0 == $1 || $0 | 0x20 == $1 && (0x41...0x5A).contains($0) }
    }

    static func isPlain(_ text: String) -> Bool {
        var copy = text
        return copy.withUTF8 { isPlain(UnsafeRawBufferPointer($0)) }
    }
}
