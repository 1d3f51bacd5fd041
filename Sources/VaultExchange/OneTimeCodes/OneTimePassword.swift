import VaultFmt

/// Converts the seed of a one-time password, with the parameters stored by KeePass plugins or KeePassXC, to an
/// `otpauth:` address.
package struct OneTimePassword {
    /// The encoding of the seed.
    package enum Encoding {
        case text, hexadecimal, base32, base64
    }

    package let seed: SharedSecret
    package var encoding = Encoding.base32
    package var algorithm = "SHA1"
    package var digits = "6"
    package var period = "30"
    /// The counter, if the password is counter-based.
    package var counter: String?
    /// True if the codes are Steam's: five letters and digits.
    var isSteam = false

    /// Returns the address; nil if the seed is not in the stated encoding.
    ///
    /// `issuer`: The issuer of the code. `account`: The account that the code is for.
    package func address(issuer: String, account: String) -> SharedSecret? {
        guard let secret = inBase32(), secret.count > 0, isNumber(digits), isNumber(period) else { return nil }
        var out = SecretBuffer(capacity: 256)
        out.append(counter == nil ? "otpauth://totp/" : "otpauth://hotp/")
        let names = [issuer, account].filter { !$0.isEmpty }
        out.append(contentsOf: names.map(Self.escaped).joined(separator: ":").utf8)
        out.append("?secret=")
        out.append(secret)
        if !issuer.isEmpty { out.append(contentsOf: "&issuer=\(Self.escaped(issuer))".utf8) }
        if algorithm != "SHA1" { out.append(contentsOf: "&algorithm=\(algorithm)".utf8) }
        if digits != "6" { out.append(contentsOf: "&digits=\(digits)".utf8) }
        if let counter {
            guard isNumber(counter) else { return nil }
            out.append(contentsOf: "&counter=\(counter)".utf8)
        } else if period != "30" {
            out.append(contentsOf: "&period=\(period)".utf8)
        }
        if isSteam { out.append("&encoder=steam") }
        return SharedSecret(out.secret())
    }

    private func isNumber(_ text: String) -> Bool {
        (1...10).contains(text.utf8.count) && text.utf8.allSatisfy { (0x30...0x39).contains($0) }
    }

    /// Converts a password manager's one-time password field to an address. The field may contain an address, Steam's
    /// form, or a seed in Base32; anything else is returned unchanged.
    package static func address(of value: SharedSecret, issuer: String, account: String) -> SharedSecret {
        let steam = Array("steam://".utf8)
        let (isAddress, isSteam) = value.withBytes { bytes in
            (bytes.starts(with: Array("otpauth:".utf8)), bytes.starts(with: steam))
        }
        guard !isAddress else { return value }
        let seed = value.withBytes { bytes in
            Secret(copying: UnsafeRawBufferPointer(rebasing: bytes[(isSteam ? steam.count : 0)...]))
        }
        var otp = OneTimePassword(seed: SharedSecret(seed))
        if isSteam { (otp.isSteam, otp.digits) = (true, "5") }
        return otp.address(issuer: issuer, account: account) ?? value
    }

    /// Returns the seed in Base32, without padding and white space; nil if the seed does not match its encoding.
    private func inBase32() -> Secret? {
        seed.withBytes { bytes in
            switch encoding {
            case .text: return Self.base32(bytes)
            case .base64: return decodedBase64(bytes)?.withUnsafeBytes { Self.base32($0) }
            case .hexadecimal: return KDBXKeyFile.unhex(bytes)?.withUnsafeBytes { Self.base32($0) }
            case .base32:
                var out = SecretBuffer(capacity: bytes.count)
                for byte in bytes {
                    switch byte {
                    case 0x41...0x5A, 0x32...0x37: out.append(byte)
                    case 0x61...0x7A: out.append(byte - 0x20)
                    case 0x20, 0x2D, 0x3D, 0x09, 0x0A, 0x0D: continue
                    default: return nil
                    }
                }
                return out.secret()
            }
        }
    }

    private static func base32(_ bytes: UnsafeRawBufferPointer) -> Secret {
        let letters: StaticString = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
        var out = SecretBuffer(capacity: bytes.count * 8 / 5 + 8)
        var bits: UInt16 = 0
        var count = 0
        func append(_ value: UInt16, to out: inout SecretBuffer) {
            out.append(letters.utf8Start[Int(value & 31)])
        }
        for byte in bytes {
            bits = bits << 8 | UInt16(byte)
            count += 8
            while count >= 5 {
                append(bits >> UInt16(count - 5), to: &out)
                count -= 5
            }
        }
        if count > 0 { append(bits << UInt16(5 - count), to: &out) }
        return out.secret()
    }

    /// Percent-encodes everything except the characters that are unreserved in a URI.
    package static func escaped(_ text: String) -> String {
        var out = ""
        for byte in text.utf8 {
            switch byte {
            case 0x41...0x5A, 0x61...0x7A, 0x30...0x39, 0x2D, 0x2E, 0x5F, 0x7E:
                out.unicodeScalars.append(Unicode.Scalar(byte))
            default: out += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
            }
        }
        return out
    }
}
