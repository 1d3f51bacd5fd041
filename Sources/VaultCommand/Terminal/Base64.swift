extension Output {
    /// Appends bytes in base 64 (RFC 4648, with padding).
    func write(base64 bytes: UnsafeRawBufferPointer) throws(CommandFailure) {
        for position in stride(from: 0, to: bytes.count, by: 3) {
            let rest = bytes.count - position
            var bits = UInt32(bytes[position]) << 16
            if rest > 1 { bits |= UInt32(bytes[position + 1]) << 8 }
            if rest > 2 { bits |= UInt32(bytes[position + 2]) }
            for index in 0..<4 {
                let digit = UInt8(truncatingIfNeeded: bits >> UInt32(18 - 6 * index)) & 63
                try write(byte: index <= rest ? Self.base64Digit(digit) : 0x3D)
            }
        }
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
