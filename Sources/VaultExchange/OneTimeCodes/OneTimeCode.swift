import Crypto
import FoundationEssentials
package import VaultFmt

/// The key and parameters of one-time codes (RFC 6238), from an `otpauth:` address.
package struct OneTimeCode: ~Copyable {
    /// The hash that the HMAC uses.
    package enum Algorithm: String {
        case sha1 = "SHA1"
        case sha256 = "SHA256"
        case sha512 = "SHA512"
    }

    package let key: Secret
    package let algorithm: Algorithm
    package let digits: Int
    /// How long a code is valid, in seconds.
    package let period: Int64
    /// True if the codes are Steam's: five letters and digits.
    let isSteam: Bool

    /// The reason why an address yields no codes. The text never repeats the address.
    package struct Problem: Error {
        package let text: String
        package init(_ text: String) { self.text = text }
    }

    /// Reads an `otpauth:` address.
    package init(address: borrowing Secret) throws(Problem) {
        let parts = try address.withUnsafeBytes { (bytes) throws(Problem) in try AddressParts(bytes) }
        guard let seed = parts.seed, seed.count > 0 else { throw Problem("it has no secret=…") }
        guard let key = Base32.decoded(seed) else {
            throw Problem("its secret is not Base32, which consists of letters and the digits 2 to 7")
        }
        guard key.count > 0 else { throw Problem("its secret is truncated by one character") }
        let others = parts.others
        let isSteam = others["encoder"]?.lowercased() == "steam"
        let algorithm = try Self.algorithm(others["algorithm"])
        let digits =
            try isSteam ? 5 : Self.number(others["digits"], 6, in: 6...8, "its number of digits is not 6, 7 or 8")
        let period = try Self.number(others["period"], 30, in: 1...86_400, "its period is not 1 to 86400 seconds")
        self.key = key
        self.algorithm = algorithm
        self.digits = Int(digits)
        self.period = period
        self.isSteam = isSteam
    }

    /// Returns why the seed in an item's attributes yields no codes; nil if it yields codes, or if there is none.
    package static func problem(in attributes: Attributes) -> String? {
        for name in [AttributeName.oneTimePassword, AttributeName.earlierOneTimePassword] {
            guard let address = attributes.attribute(name)?.secret else { continue }
            do throws(Problem) {
                _ = try OneTimeCode(address: address)
                return nil
            } catch { return error.text }
        }
        return nil
    }

    private static func algorithm(_ text: String?) throws(Problem) -> Algorithm {
        guard let text else { return .sha1 }
        // Some sites write HMAC-SHA-256 or SHA-256.
        let name = text.uppercased().split(separator: "-").joined()
        guard let known = Algorithm(rawValue: name.hasPrefix("HMAC") ? String(name.dropFirst(4)) : name) else {
            throw Problem("its algorithm is not SHA1, SHA256 or SHA512")
        }
        return known
    }

    private static func number(
        _ text: String?, _ usual: Int64, in range: ClosedRange<Int64>, _ problem: String
    ) throws(Problem) -> Int64 {
        guard let text else { return usual }
        guard let number = Int64(text), range.contains(number) else { throw Problem(problem) }
        return number
    }

    /// Returns the code for the given time, in seconds since 1970-01-01 UTC.
    package borrowing func code(at time: Int64) -> Secret { code(counter: UInt64(clamping: max(time, 0) / period)) }

    /// Returns for how many seconds the code for the given time remains valid, including the current second.
    package borrowing func secondsLeft(at time: Int64) -> Int64 { period - max(time, 0) % period }

    /// Returns the code for a counter (RFC 4226).
    package borrowing func code(counter: UInt64) -> Secret {
        let message = (0..<8).map { UInt8(truncatingIfNeeded: counter >> UInt64(56 - 8 * $0)) }
        let key = key.withUnsafeBytes { SymmetricKey(data: $0) }
        return switch algorithm {
        case .sha1: text(HMAC<Insecure.SHA1>.authenticationCode(for: message, using: key))
        case .sha256: text(HMAC<SHA256>.authenticationCode(for: message, using: key))
        case .sha512: text(HMAC<SHA512>.authenticationCode(for: message, using: key))
        }
    }

    /// Truncates a MAC (RFC 4226, section 5.3): returns four of its bytes, without the highest bit, at the offset in
    /// its last four bits.
    private borrowing func text(_ mac: some ContiguousBytes) -> Secret {
        var number = mac.withUnsafeBytes { bytes -> UInt32 in
            let start = Int((bytes.last ?? 0) & 0x0F)
            return bytes[start..<start + 4].reduce(0) { $0 << 8 | UInt32($1) } & 0x7FFF_FFFF
        }
        var text = Secret(count: digits)
        let letters: StaticString = isSteam ? "23456789BCDFGHJKMNPQRTVWXY" : "0123456789"
        let base = UInt32(letters.utf8CodeUnitCount)
        for position in 0..<digits {
            // Steam writes the least significant letter first.
            let place = isSteam ? position : digits - 1 - position
            let letter = letters.utf8Start[Int(number % base)]
            text.withUnsafeMutableBytes { $0[place] = letter }
            number /= base
        }
        return text
    }
}

/// The parameters of an `otpauth:` address that determine the codes.
private struct AddressParts: ~Copyable {
    private(set) var seed: Secret?
    private(set) var others: [String: String] = [:]

    init(_ bytes: UnsafeRawBufferPointer) throws(OneTimeCode.Problem) {
        let query = bytes.firstIndex(of: UInt8(ascii: "?")) ?? bytes.count
        let scheme = String(decoding: bytes[..<query].prefix(15), as: UTF8.self).lowercased()
        guard scheme.hasPrefix("otpauth://") else {
            throw OneTimeCode.Problem(
                "it is neither an otpauth: address nor a key in Base32, which consists of letters and the digits 2 to 7"
            )
        }
        guard !scheme.hasPrefix("otpauth://hotp") else {
            throw OneTimeCode.Problem("its codes are counter-based (hotp), and only time-based codes are supported")
        }
        guard scheme.hasPrefix("otpauth://totp") else { throw OneTimeCode.Problem("its type is not totp") }
        for part in bytes[query...].dropFirst().split(separator: UInt8(ascii: "&")) {
            guard let sign = part.firstIndex(of: UInt8(ascii: "=")) else { continue }
            let name = String(decoding: part[..<sign], as: UTF8.self).lowercased()
            let value = UnsafeRawBufferPointer(rebasing: part[part.index(after: sign)...])
            if name == "secret" {
                guard seed == nil else { throw OneTimeCode.Problem("it has secret=… twice") }
                seed = Self.percentDecoded(value)
            } else {
                others[name] = Self.percentDecoded(value).withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
            }
        }
    }

    /// Decodes percent-encoded bytes; an incomplete escape is kept, and fails when the value is used.
    private static func percentDecoded(_ bytes: UnsafeRawBufferPointer) -> Secret {
        var out = SecretBuffer(capacity: max(bytes.count, 1))
        var at = 0
        while at < bytes.count {
            if bytes[at] == UInt8(ascii: "%"), at + 2 < bytes.count,
                let high = Character(UnicodeScalar(bytes[at + 1])).hexDigitValue,
                let low = Character(UnicodeScalar(bytes[at + 2])).hexDigitValue
            {
                out.append(UInt8(high << 4 | low))
                at += 3
            } else {
                out.append(bytes[at])
                at += 1
            }
        }
        return out.secret()
    }
}

/// Base32 (RFC 4648), in the forms in which people copy it.
package enum Base32 {
    /// Decodes text; returns nil if a character is not in Base32. Case, white space, hyphens, padding and leftover bits
    /// are ignored.
    package static func decoded(_ text: borrowing Secret) -> Secret? {
        var out = SecretBuffer(capacity: text.count * 5 / 8 + 1)
        var bits: UInt32 = 0
        var count = 0
        return text.withUnsafeBytes { bytes -> Secret? in
            for byte in bytes where !isIgnored(byte) {
                guard let value = value(of: byte) else { return nil }
                bits = bits << 5 | UInt32(value)
                count += 5
                guard count >= 8 else { continue }
                count -= 8
                out.append(UInt8(truncatingIfNeeded: bits >> UInt32(count)))
            }
            return out.secret()
        }
    }

    /// Returns whether text of the given length can encode a whole number of bytes; truncated text usually cannot.
    package static func isComplete(_ text: borrowing Secret) -> Bool {
        let count = text.withUnsafeBytes { bytes in bytes.count { !isIgnored($0) } }
        return ![1, 3, 6].contains(count % 8)
    }

    private static func isIgnored(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x2D || byte == 0x3D || (0x09...0x0D).contains(byte)
    }

    private static func value(of byte: UInt8) -> UInt8? {
        switch byte {
        case 0x41...0x5A: byte - 0x41
        case 0x61...0x7A: byte - 0x61
        case 0x32...0x37: byte - 0x32 + 26
        default: nil
        }
    }
}
