import VaultFmt

/// Encodes private keys in DER, given their numbers, in memory that is wiped after use.
enum DERText {
    /// The supported curves.
    enum Curve: String {
        case nistp256, nistp384, nistp521

        /// The size of a coordinate in bytes.
        var size: Int {
            switch self {
            case .nistp256: 32
            case .nistp384: 48
            case .nistp521: 66
            }
        }

        /// The curve's object identifier, with tag and length.
        fileprivate var identifier: [UInt8] {
            switch self {
            case .nistp256: [0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07]
            case .nistp384: [0x06, 0x05, 0x2B, 0x81, 0x04, 0x00, 0x22]
            case .nistp521: [0x06, 0x05, 0x2B, 0x81, 0x04, 0x00, 0x23]
            }
        }
    }

    private static let sequence: UInt8 = 0x30
    private static let octets: UInt8 = 0x04
    private static let bits: UInt8 = 0x03

    /// PKCS #8 (RFC 8410).
    ///
    /// `seed`: 32 bytes.
    static func ed25519(_ seed: UnsafeRawBufferPointer) -> Secret {
        var body = SecretBuffer(capacity: 64)
        // Version 0, and the identifier of the algorithm.
        body.append(contentsOf: [0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2B, 0x65, 0x70])
        var inner = SecretBuffer(capacity: 64)
        append(octets, seed, to: &inner)
        inner.withUnsafeBytes { append(octets, $0, to: &body) }
        return wrapped(body)
    }

    /// PKCS #1 (RFC 8017, A.1.2). The numbers are greater than zero, and p and q are odd.
    static func rsa(
        n: UnsafeRawBufferPointer, e: UnsafeRawBufferPointer, d: UnsafeRawBufferPointer, p: UnsafeRawBufferPointer,
        q: UnsafeRawBufferPointer, coefficient: UnsafeRawBufferPointer
    ) -> Secret {
        var body = SecretBuffer(capacity: 8 * n.count)
        body.append(contentsOf: [0x02, 0x01, 0x00])
        for number in [n, e, d, p, q] { append(integer: number, to: &body) }
        for prime in [p, q] {
            remainder(d, byOneLessThan: prime).withUnsafeBytes { append(integer: $0, to: &body) }
        }
        append(integer: coefficient, to: &body)
        return wrapped(body)
    }

    /// SEC 1 (RFC 5915).
    ///
    /// `d`: the private key, at most as long as a coordinate.
    /// `point`: the public key, uncompressed.
    static func curve(_ curve: Curve, d: UnsafeRawBufferPointer, point: UnsafeRawBufferPointer) -> Secret {
        var body = SecretBuffer(capacity: 4 * point.count)
        body.append(contentsOf: [0x02, 0x01, 0x01])
        var padded = SecretBuffer(capacity: curve.size)
        for _ in d.count..<curve.size { padded.append(0) }
        padded.append(d)
        padded.withUnsafeBytes { append(octets, $0, to: &body) }
        curve.identifier.withUnsafeBytes { append(0xA0, $0, to: &body) }
        var key = SecretBuffer(capacity: point.count + 1)
        key.append(0)
        key.append(point)
        var inner = SecretBuffer(capacity: point.count + 8)
        key.withUnsafeBytes { append(bits, $0, to: &inner) }
        inner.withUnsafeBytes { append(0xA1, $0, to: &body) }
        return wrapped(body)
    }

    private static func wrapped(_ body: borrowing SecretBuffer) -> Secret {
        var out = SecretBuffer(capacity: body.count + 8)
        body.withUnsafeBytes { append(sequence, $0, to: &out) }
        return out.secret()
    }

    private static func append(integer magnitude: UnsafeRawBufferPointer, to out: inout SecretBuffer) {
        var number = SecretBuffer(capacity: magnitude.count + 1)
        // Without the zero byte, the first bit would be interpreted as a sign.
        if magnitude.first.map({ $0 >= 0x80 }) ?? true { number.append(0) }
        number.append(magnitude)
        number.withUnsafeBytes { append(0x02, $0, to: &out) }
    }

    private static func append(_ tag: UInt8, _ contents: UnsafeRawBufferPointer, to out: inout SecretBuffer) {
        out.append(tag)
        let length = contents.count
        if length < 0x80 {
            out.append(UInt8(length))
        } else {
            let size = (64 - length.leadingZeroBitCount + 7) / 8
            out.append(0x80 | UInt8(size))
            for index in (0..<size).reversed() { out.append(UInt8(truncatingIfNeeded: length >> (8 * index))) }
        }
        out.append(contents)
    }

    /// Returns the remainder of a number divided by an odd number minus one, computed bit by bit, without leading
    /// zeros.
    private static func remainder(_ number: UnsafeRawBufferPointer, byOneLessThan odd: UnsafeRawBufferPointer)
        -> Secret
    {
        var divisor = Secret(copying: odd)
        divisor.withUnsafeMutableBytes { $0[$0.count - 1] &-= 1 }
        let size = odd.count
        // One extra byte is needed for the carry of a shift.
        var rest = Secret(count: size + 1)
        divisor.withUnsafeBytes { divisor in
            rest.withUnsafeMutableBytes { rest in
                for byte in number {
                    for shift in (0..<8).reversed() {
                        var carry = byte >> UInt8(shift) & 1
                        for index in rest.indices.reversed() {
                            let next = rest[index] >> 7
                            rest[index] = rest[index] << 1 | carry
                            carry = next
                        }
                        if isAtLeast(rest, divisor) { subtract(divisor, from: rest) }
                    }
                }
            }
        }
        return rest.withUnsafeBytes { rest in
            let zeros = rest.prefix { $0 == 0 }.count
            return Secret(copying: UnsafeRawBufferPointer(rebasing: rest[zeros...]))
        }
    }

    /// Returns whether a number is at least as large as another number that has one byte fewer.
    private static func isAtLeast(_ number: UnsafeMutableRawBufferPointer, _ other: UnsafeRawBufferPointer) -> Bool {
        guard number[0] == 0 else { return true }
        for index in other.indices where number[index + 1] != other[index] {
            return number[index + 1] > other[index]
        }
        return true
    }

    private static func subtract(_ other: UnsafeRawBufferPointer, from number: UnsafeMutableRawBufferPointer) {
        var borrow: Int16 = 0
        for index in other.indices.reversed() {
            let difference = Int16(number[index + 1]) - Int16(other[index]) - borrow
            number[index + 1] = UInt8(truncatingIfNeeded: difference)
            borrow = difference < 0 ? 1 : 0
        }
        number[0] = UInt8(truncatingIfNeeded: Int16(number[0]) - borrow)
    }
}
