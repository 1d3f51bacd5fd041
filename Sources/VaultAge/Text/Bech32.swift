internal import CSodium
internal import VaultCrypto

/// Bech32 (BIP 173) without its length limit, as age writes recipients and identities.
enum Bech32 {
    private static let alphabet = Array("qpzry9x8gf2tvdw0s3jn54khce6mua7l".utf8)
    private static let checksumLength = 6

    /// A decoded text.
    struct Decoded: ~Copyable {
        /// The prefix in lower case.
        let prefix: String
        let bytes: Secret
    }

    /// Decodes a text. It may be an identity, so its bytes are stored only in memory that is wiped after use. Returns
    /// nil unless its case is uniform, its checksum is correct and its padding is zero.
    static func decode(_ text: UnsafeRawBufferPointer) -> Decoded? {
        guard text.count <= AgeLimit.key, let separator = text.lastIndex(of: UInt8(ascii: "1")), separator >= 1,
            text.count - separator - 1 >= checksumLength, text.allSatisfy({ (33...126).contains($0) }),
            isOfOneCase(text)
        else { return nil }
        let prefix = text[..<separator].map(lowercased)
        var checksum = Checksum(prefix: prefix)
        let symbols = text[(separator + 1)...]
        var bytes = Secret(count: (symbols.count - checksumLength) * 5 / 8)
        guard bytes.withUnsafeMutableBytes({ fill($0, symbols, &checksum) }), checksum.isRight else { return nil }
        return Decoded(prefix: String(decoding: prefix, as: UTF8.self), bytes: bytes)
    }

    private static func fill(
        _ out: UnsafeMutableRawBufferPointer, _ symbols: Slice<UnsafeRawBufferPointer>, _ checksum: inout Checksum
    ) -> Bool {
        let dataEnd = symbols.endIndex - checksumLength
        var (pending, bits, written) = (UInt32(0), 0, 0)
        for index in symbols.indices {
            guard let value = alphabet.firstIndex(of: lowercased(symbols[index])) else { return false }
            checksum.add(UInt8(value))
            guard index < dataEnd else { continue }
            pending = (pending << 5 | UInt32(value)) & 0xFFF
            bits += 5
            if bits >= 8 {
                bits -= 8
                out[written] = UInt8(truncatingIfNeeded: pending >> UInt32(bits))
                written += 1
            }
        }
        // The padding is zero and shorter than five bits, so each value has only one encoding.
        return bits < 5 && pending & (1 << UInt32(bits) - 1) == 0 && written == out.count
    }

    /// Encodes bytes in lower case. An identity's text is secret, so the text is returned in memory that is wiped after
    /// use.
    static func encode(prefix: String, _ bytes: borrowing Secret) -> Secret {
        let prefix = Array(prefix.utf8)
        var checksum = Checksum(prefix: prefix)
        let length = prefix.count + 1 + (bytes.count * 8 + 4) / 5 + checksumLength
        var text = Secret(count: length)
        text.withUnsafeMutableBytes { text in
            text.copyBytes(from: prefix + [UInt8(ascii: "1")])
            var at = prefix.count + 1
            func append(_ value: UInt32) {
                text[at] = alphabet[Int(value & 31)]
                at += 1
            }
            bytes.withUnsafeBytes { bytes in
                var (pending, bits) = (UInt32(0), 0)
                for byte in bytes {
                    pending = (pending << 8 | UInt32(byte)) & 0xFFF
                    bits += 8
                    while bits >= 5 {
                        bits -= 5
                        checksum.add(UInt8(pending >> UInt32(bits) & 31))
                        append(pending >> UInt32(bits))
                    }
                }
                if bits > 0 {
                    checksum.add(UInt8(pending << UInt32(5 - bits) & 31))
                    append(pending << UInt32(5 - bits))
                }
            }
            for value in checksum.finish() { append(UInt32(value)) }
        }
        return text
    }

    private static func lowercased(_ byte: UInt8) -> UInt8 { (65...90).contains(byte) ? byte + 32 : byte }

    private static func isOfOneCase(_ text: UnsafeRawBufferPointer) -> Bool {
        !(text.contains { (65...90).contains($0) } && text.contains { (97...122).contains($0) })
    }

    /// Computes BIP 173's checksum, one symbol at a time.
    private struct Checksum {
        private static let generators: [UInt32] = [0x3B6A_57B2, 0x2650_8E6D, 0x1EA1_19FA, 0x3D42_33DD, 0x2A14_62B3]
        private var state: UInt32 = 1

        init(prefix: [UInt8]) {
            for byte in prefix { add(byte >> 5) }
            add(0)
            for byte in prefix { add(byte & 31) }
        }

        mutating func add(_ value: UInt8) {
            let top = state >> 25
            state = (state & 0x1FF_FFFF) << 5 ^ UInt32(value)
            for (bit, generator) in Self.generators.enumerated() where top >> UInt32(bit) & 1 == 1 {
                state ^= generator
            }
        }

        var isRight: Bool { state == 1 }

        consuming func finish() -> [UInt8] {
            for _ in 0..<6 { add(0) }
            let state = state ^ 1
            return (0..<6).map { UInt8(state >> UInt32(5 * (5 - $0)) & 31) }
        }
    }
}
