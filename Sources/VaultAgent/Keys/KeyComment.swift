internal import VaultFmt
internal import VaultLocal

/// Key comments. Other people may have chosen them, so they are reduced to one line without control characters.
enum KeyComment {
    static func shown(_ text: String, limit: Int = AgentMessage.longestComment) -> String {
        let line = TerminalText.singleLine(text)
        guard line.utf8.count > limit else { return line }
        var short = ""
        for character in line {
            guard short.utf8.count + String(character).utf8.count <= limit else { break }
            short.append(character)
        }
        return short
    }

    /// Returns the comment in bytes that may not be valid UTF-8.
    static func shown(_ bytes: some Collection<UInt8>) -> String {
        shown(String(decoding: bytes.prefix(AgentMessage.longestComment), as: UTF8.self))
    }
}

/// Base64 (RFC 4648, with padding) for data that is not secret.
enum Base64Text {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    static func encode(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        text.reserveCapacity(bytes.count * 4 / 3 + 4)
        var start = 0
        while start < bytes.count {
            let count = min(3, bytes.count - start)
            var bits: UInt32 = 0
            for index in 0..<3 { bits = bits << 8 | (index < count ? UInt32(bytes[start + index]) : 0) }
            for index in 0..<4 {
                text.append(index <= count ? alphabet[Int(bits >> UInt32(18 - 6 * index) & 63)] : UInt8(ascii: "="))
            }
            start += 3
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Decodes padded Base64; returns nil if the text is not the canonical encoding.
    static func decode(_ text: String) -> [UInt8]? {
        let letters = Array(text.utf8)
        guard letters.count.isMultiple(of: 4) else { return nil }
        var bytes: [UInt8] = []
        var bits: UInt32 = 0
        var count = 0
        for letter in letters.prefix(while: { $0 != UInt8(ascii: "=") }) {
            guard let value = value(letter) else { return nil }
            bits = bits << 6 | UInt32(value)
            count += 1
            if count == 4 {
                for shift in [UInt32(16), 8, 0] { bytes.append(UInt8(truncatingIfNeeded: bits >> shift)) }
                (bits, count) = (0, 0)
            }
        }
        if count == 2 { bytes.append(UInt8(truncatingIfNeeded: bits >> 4)) }
        if count == 3 {
            bytes += [UInt8(truncatingIfNeeded: bits >> 10), UInt8(truncatingIfNeeded: bits >> 2)]
        }
        return encode(bytes) == text ? bytes : nil
    }

    private static func value(_ letter: UInt8) -> UInt8? {
        switch letter {
        case 0x41...0x5A: letter - 0x41
        case 0x61...0x7A: letter - 0x61 + 26
        case 0x30...0x39: letter - 0x30 + 52
        case 0x2B: 62
        case 0x2F: 63
        default: nil
        }
    }
}
