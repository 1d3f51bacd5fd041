package import VaultFmt

/// Certificates, keys and identities as PEM (RFC 7468), in memory that is wiped after use.
package enum PEMText {
    /// Returns the PEM form of an item's secret; nil if the item cannot be written as PEM.
    package static func text(_ itemClass: ItemClass, _ secret: borrowing Secret) -> Secret? {
        secret.withUnsafeBytes { bytes in
            switch itemClass {
            case .certificate: return DERElements.tags(bytes) == nil ? nil : block("CERTIFICATE", bytes)
            case .key: return DERElements.tags(bytes).flatMap(label).map { block($0, bytes) }
            // Both parts of an identity are already in PEM.
            case .identity: return bytes.starts(with: Array("-----BEGIN ".utf8)) ? Secret(copying: bytes) : nil
            default: return nil
            }
        }
    }

    /// Returns the PEM label for a key, determined by the elements of its sequence.
    private static func label(_ tags: [UInt8]) -> String? {
        let (integer, sequence, octets, bits) = (UInt8(0x02), UInt8(0x30), UInt8(0x04), UInt8(0x03))
        switch tags {
        case _ where tags.starts(with: [integer, sequence, octets]): return "PRIVATE KEY"
        case _ where tags.starts(with: [integer, octets]): return "EC PRIVATE KEY"
        case [integer, integer]: return "RSA PUBLIC KEY"
        case _ where tags.count >= 9 && tags.prefix(9).allSatisfy({ $0 == integer }): return "RSA PRIVATE KEY"
        case [sequence, bits]: return "PUBLIC KEY"
        default: return nil
        }
    }

    /// Returns a block with the given label.
    package static func block(_ label: String, _ der: UnsafeRawBufferPointer) -> Secret {
        var out = SecretBuffer(capacity: der.count * 3 / 2 + 128)
        out.append(contentsOf: "-----BEGIN \(label)-----\n".utf8)
        let letters: StaticString = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
        var column = 0
        for start in stride(from: 0, to: der.count, by: 3) {
            let count = min(3, der.count - start)
            var bits: UInt32 = 0
            for index in 0..<3 { bits = bits << 8 | (index < count ? UInt32(der[start + index]) : 0) }
            for index in 0..<4 {
                let letter = letters.utf8Start[Int(bits >> UInt32(18 - 6 * index) & 63)]
                out.append(index <= count ? letter : UInt8(ascii: "="))
            }
            column += 4
            if column == 64 {
                out.append(UInt8(ascii: "\n"))
                column = 0
            }
        }
        if column > 0 { out.append(UInt8(ascii: "\n")) }
        out.append(contentsOf: "-----END \(label)-----\n".utf8)
        return out.secret()
    }
}

/// The elements of a sequence in DER.
private enum DERElements {
    /// Returns the tags of the elements; nil if the bytes are not exactly one sequence.
    static func tags(_ bytes: UnsafeRawBufferPointer) -> [UInt8]? {
        var rest = bytes[...]
        guard let (tag, contents) = next(&rest), tag == 0x30, rest.isEmpty else { return nil }
        var inner = contents
        var tags: [UInt8] = []
        while !inner.isEmpty {
            guard let (tag, _) = next(&inner) else { return nil }
            tags.append(tag)
        }
        return tags
    }

    private static func next(_ rest: inout Slice<UnsafeRawBufferPointer>) -> (UInt8, Slice<UnsafeRawBufferPointer>)? {
        guard let tag = rest.popFirst(), let first = rest.popFirst() else { return nil }
        var length = Int(first)
        if first >= 0x80 {
            guard (0x81...0x84).contains(first) else { return nil }
            length = 0
            for _ in 0x80..<first {
                guard let byte = rest.popFirst() else { return nil }
                length = length << 8 | Int(byte)
            }
        }
        guard length <= rest.count else { return nil }
        defer { rest = rest.dropFirst(length) }
        return (tag, rest.prefix(length))
    }
}
