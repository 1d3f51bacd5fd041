internal import VaultBytes

/// The text form of a generated key file (section 3.1): marker, 64 hexadecimal digits, `-`, 8 check digits, newline.
package enum KeyFileFormat {
    private static let marker = Array("VAULTFMT-KEY-".utf8)
    private static let version = Array("VAULTFMT-KEY-1-".utf8)
    package static let size = 89

    /// Returns whether the content starts with the marker of a generated key file. Content that does must have this
    /// form.
    package static func isGenerated(_ content: borrowing Secret) -> Bool {
        content.withUnsafeBytes { $0.count >= marker.count && $0[..<marker.count].elementsEqual(marker) }
    }

    package static func encode(_ key: borrowing Secret) -> Secret {
        let check = checkDigits(key)
        var out = Secret(count: size)
        out.withUnsafeMutableBytes { out in
            out.copyBytes(from: version)
            key.withUnsafeBytes { key in
                for (index, byte) in key.enumerated() {
                    out[15 + index * 2] = digit(byte >> 4)
                    out[16 + index * 2] = digit(byte & 15)
                }
            }
            out[79] = UInt8(ascii: "-")
            for (index, byte) in check.enumerated() { out[80 + index] = byte }
            out[88] = UInt8(ascii: "\n")
        }
        return out
    }

    package static func decode(_ content: borrowing Secret) throws(CryptoError) -> Secret {
        guard content.count == size else { throw .keyFileDamaged }
        var key = Secret(count: 32)
        let isFormed = key.withUnsafeMutableBytes { key in
            content.withUnsafeBytes { text in
                guard text[..<15].elementsEqual(version), text[79] == UInt8(ascii: "-"), text[88] == UInt8(ascii: "\n")
                else {
                    return false
                }
                for index in 0..<32 {
                    guard let high = value(text[15 + index * 2]), let low = value(text[16 + index * 2]) else {
                        return false
                    }
                    key[index] = high << 4 | low
                }
                return true
            }
        }
        guard isFormed else { throw .keyFileDamaged }
        let check = checkDigits(key)
        guard content.withUnsafeBytes({ $0[80..<88].elementsEqual(check) }) else { throw .keyFileDamaged }
        return key
    }

    private static func checkDigits(_ key: borrowing Secret) -> [UInt8] {
        var hash = Blake2b()
        hash.update(Label.keyFileCheck)
        key.withUnsafeBytes { hash.update($0) }
        let output = hash.finish()
        return withUnsafeBytes(of: output.words) { bytes in bytes[..<4].flatMap { [digit($0 >> 4), digit($0 & 15)] } }
    }

    private static func digit(_ value: UInt8) -> UInt8 { value < 10 ? 48 + value : 87 + value }

    private static func value(_ digit: UInt8) -> UInt8? {
        switch digit {
        case 48...57: digit - 48
        case 97...102: digit - 87
        default: nil
        }
    }
}
