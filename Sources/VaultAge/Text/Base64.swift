internal import CSodium
internal import VaultCrypto

/// Standard Base64 without padding (RFC 4648, section 4), canonical in both directions.
enum Base64 {
    private static let variant = Int32(sodium_base64_VARIANT_ORIGINAL_NO_PADDING)

    /// Encodes bytes that are not secret.
    static func encode(_ bytes: [UInt8]) -> String {
        // There are four characters for every three bytes, and libsodium appends a zero byte.
        var text = [CChar](repeating: 0, count: sodium_base64_encoded_len(bytes.count, variant))
        sodium_bin2base64(&text, text.count, bytes, bytes.count, variant)
        return String(decoding: text.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// Decodes a text; returns nil if it contains padding or other characters, or if its unused bits are not zero.
    static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
        // libsodium 1.0.18 mistakes the byte 255 for a character of the alphabet.
        guard text.allSatisfy({ $0 < 0x80 }), text.count % 4 != 1 else { return nil }
        let text = text.map { CChar(bitPattern: $0) }
        var bytes = [UInt8](repeating: 0, count: text.count / 4 * 3 + 2)
        var count = 0
        var end: UnsafePointer<CChar>?
        let isDecoded = text.withUnsafeBufferPointer { text in
            sodium_base642bin(&bytes, bytes.count, text.baseAddress, text.count, nil, &count, &end, variant) == 0
                && end == text.baseAddress.map { $0 + text.count }
        }
        guard isDecoded || text.isEmpty else { return nil }
        return Array(bytes[..<count])
    }
}
