import VaultFmt

/// Where an export of ours has put an attribute of an item: noted in the entry's custom data, so that importing the
/// file gives the same item again.
struct KDBXPlacement: Equatable {
    /// A place in an entry.
    enum Place: Hashable {
        /// A field, an attachment.
        case string(String), binary(String)
        /// `URL` and the fields for further addresses, a line each.
        case addresses
        /// The tags, a line each; the groups' names as a path; when it expires; the icon's number.
        case tags, folder, expiry, icon
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
        static let secret = "secret"
        static let attributes = "attributes"
    }

    /// A list as one text: for each attribute its name in base 64, its flags, a letter, and a name in base 64.
    static func text(_ list: [KDBXPlacement]) -> String {
        list.map { placement in
            let (letter, name) = placement.place.parts
            return [encoded(placement.name), String(placement.flags), letter, encoded(name)].joined(separator: " ")
        }.joined(separator: ";")
    }

    /// Reads such a text; nil for anything else.
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
        default: return nil
        }
    }
}

/// Base 64 of what is no secret.
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
    /// Bytes in base 64; nil for anything else.
    static func decodedBytes(_ text: String) -> [UInt8]? {
        var copy = text
        return copy.withUTF8 { decodedBase64(UnsafeRawBufferPointer($0))?.withUnsafeBytes { Array($0) } }
    }
}

/// Text that can be a string in a KDBX file.
enum KDBXText {
    /// Whether XML 1.0 can have it, and programs leave it as it is: UTF-8 without controls but tab, line end and
    /// carriage return, and without the two code points that are no characters.
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

    static func isPlain(_ text: String) -> Bool {
        var copy = text
        return copy.withUTF8 { isPlain(UnsafeRawBufferPointer($0)) }
    }
}
