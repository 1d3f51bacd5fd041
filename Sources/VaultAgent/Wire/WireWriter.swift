package import VaultExchange
internal import VaultFmt

/// A destination for encodings of the SSH protocol: either an array for public data or a wiped buffer for secrets.
protocol WireTarget: ~Copyable {
    mutating func append(_ byte: UInt8)
    mutating func append(contentsOf bytes: some Collection<UInt8>)
}

extension Array: WireTarget where Element == UInt8 {}
extension SecretBuffer: WireTarget {}

extension WireTarget where Self: ~Copyable {
    mutating func append(number: UInt32) {
        withUnsafeBytes(of: number.bigEndian) { append(contentsOf: $0) }
    }

    mutating func append(number64 number: UInt64) {
        withUnsafeBytes(of: number.bigEndian) { append(contentsOf: $0) }
    }

    /// Appends a string. No encoded string reaches 4 GiB.
    mutating func append(string: some Collection<UInt8>) {
        append(number: UInt32(clamping: string.count))
        append(contentsOf: string)
    }

    mutating func append(text: String) { append(string: text.utf8) }

    /// Appends a non-negative number, given as bytes.
    mutating func append(magnitude bytes: some Collection<UInt8>) {
        let significant = bytes.drop { $0 == 0 }
        let isHigh = (significant.first ?? 0) >= 0x80
        append(number: UInt32(clamping: significant.count + (isHigh ? 1 : 0)))
        if isHigh { append(0) }
        append(contentsOf: significant)
    }
}
