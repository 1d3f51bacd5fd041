import VaultFmt

extension Output {
    /// Appends bytes in Base64 (RFC 4648, with padding). The bytes may be secret; every buffer used is wiped.
    package func write(base64 bytes: UnsafeRawBufferPointer) throws {
        var encoded = Secret(count: 4096)
        for start in stride(from: 0, to: bytes.count, by: 3072) {
            let piece = UnsafeRawBufferPointer(rebasing: bytes[start..<min(start + 3072, bytes.count)])
            let count = encoded.withUnsafeMutableBytes { Self.encode(piece, into: $0) }
            try encoded.withUnsafeBytes { text in
                try write(UnsafeRawBufferPointer(rebasing: text[..<count]))
            }
        }
    }

    /// Encodes bytes and returns the length of the text.
    private static func encode(_ bytes: UnsafeRawBufferPointer, into text: UnsafeMutableRawBufferPointer) -> Int {
        var end = 0
        for position in stride(from: 0, to: bytes.count, by: 3) {
            let rest = bytes.count - position
            var bits = UInt32(bytes[position]) << 16
            if rest > 1 { bits |= UInt32(bytes[position + 1]) << 8 }
            if rest > 2 { bits |= UInt32(bytes[position + 2]) }
            for index in 0..<4 {
                let digit = UInt8(truncatingIfNeeded: bits >> UInt32(18 - 6 * index)) & 63
                text[end] = index <= rest ? base64Digit(digit) : 0x3D
                end += 1
            }
        }
        return end
    }

    private static func base64Digit(_ value: UInt8) -> UInt8 {
        switch value {
        case 0..<26: 0x41 + value
        case 26..<52: 0x61 + value - 26
        case 52..<62: 0x30 + value - 52
        case 62: 0x2B
        default: 0x2F
        }
    }
}
