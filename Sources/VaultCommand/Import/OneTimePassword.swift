import VaultFmt

/// The seed of a one-time password, and what KeePass's plugins and KeePassXC say of it, as an `otpauth:` address.
struct OneTimePassword {
    /// What the seed is written as.
    enum Encoding {
        case text, hexadecimal, base32, base64
    }

    let seed: SharedSecret
    var encoding = Encoding.base32
    var algorithm = "SHA1"
    var digits = "6"
    var period = "30"
    /// Of a counter-based one.
    var counter: String?
    /// Whether the code is Steam's, of five letters and digits.
    var isSteam = false

    /// The address; nil where the seed is not what it is said to be.
    /// - Parameters:
    ///   - issuer: Whose code it is.
    ///   - account: And of which account.
    func address(issuer: String, account: String) -> SharedSecret? {
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

    /// What a manager's field for one-time passwords has, as an address: one already, Steam's, or a seed in base 32.
    /// Anything else stays as it is.
    static func address(of value: SharedSecret, issuer: String, account: String) -> SharedSecret {
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

    /// The seed in base 32, without padding and white space; nil where it is not in its encoding.
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

    /// Percent-encoded, but for the characters that are unreserved in a URI.
    static func escaped(_ text: String) -> String {
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

extension OneTimePassword {
    /// The names of the fields that each dialect uses.
    private static let ofKeePass = [
        "TimeOtp-Secret", "TimeOtp-Secret-Hex", "TimeOtp-Secret-Base32", "TimeOtp-Secret-Base64", "TimeOtp-Length",
        "TimeOtp-Period", "TimeOtp-Algorithm",
    ]
    private static let ofKeePassCounter = [
        "HmacOtp-Secret", "HmacOtp-Secret-Hex", "HmacOtp-Secret-Base32", "HmacOtp-Secret-Base64", "HmacOtp-Counter",
    ]
    private static let ofPlugins = ["TOTP Seed", "TOTP Settings"]

    /// The one-time password of an entry of KeePass, and the fields that it was in: KeePassXC's and KeeOtp's `otp`,
    /// KeePass's `TimeOtp-…` and `HmacOtp-…`, the plugins' `TOTP Seed` with `TOTP Settings`. Nil where there is none
    /// that can be said as an address: the fields stay fields.
    static func found(in entry: KDBXEntry) -> (address: SharedSecret, fields: [String])? {
        let (issuer, account) = (entry.text(KDBXString.title), entry.text(KDBXString.userName))
        if let otp = entry[KDBXString.otp], otp.count > 0 {
            let isAddress = otp.withBytes { $0.starts(with: Array("otpauth:".utf8)) }
            if isAddress { return (otp, [KDBXString.otp]) }
            guard let address = keeOtp(otp)?.address(issuer: issuer, account: account) else { return nil }
            return (address, [KDBXString.otp])
        }
        for (made, fields) in [
            (keePass(entry), ofKeePass), (keePassCounter(entry), ofKeePassCounter), (plugins(entry), ofPlugins),
        ] {
            if let address = made?.address(issuer: issuer, account: account) { return (address, fields) }
        }
        return nil
    }

    private static func seed(_ entry: KDBXEntry, _ prefix: String) -> OneTimePassword? {
        for (suffix, encoding) in [
            ("", Encoding.text), ("-Hex", .hexadecimal), ("-Base32", .base32), ("-Base64", .base64),
        ] {
            if let seed = entry[prefix + suffix], seed.count > 0 {
                return OneTimePassword(seed: seed, encoding: encoding)
            }
        }
        return nil
    }

    private static func keePass(_ entry: KDBXEntry) -> OneTimePassword? {
        guard var otp = seed(entry, "TimeOtp-Secret") else { return nil }
        let (length, period) = (entry.text("TimeOtp-Length"), entry.text("TimeOtp-Period"))
        if !length.isEmpty { otp.digits = length }
        if !period.isEmpty { otp.period = period }
        switch entry.text("TimeOtp-Algorithm") {
        case "", "HMAC-SHA-1": break
        case "HMAC-SHA-256": otp.algorithm = "SHA256"
        case "HMAC-SHA-512": otp.algorithm = "SHA512"
        default: return nil
        }
        return otp
    }

    private static func keePassCounter(_ entry: KDBXEntry) -> OneTimePassword? {
        guard var otp = seed(entry, "HmacOtp-Secret") else { return nil }
        let counter = entry.text("HmacOtp-Counter")
        otp.counter = counter.isEmpty ? "0" : counter
        return otp
    }

    /// "30;6", "30;S" for Steam, and more that says where the time comes from.
    private static func plugins(_ entry: KDBXEntry) -> OneTimePassword? {
        guard let seed = entry["TOTP Seed"], seed.count > 0 else { return nil }
        var otp = OneTimePassword(seed: seed)
        let settings = entry.text("TOTP Settings").split(separator: ";", omittingEmptySubsequences: false)
        if let period = settings.first, !period.isEmpty { otp.period = String(period) }
        if settings.count > 1 {
            otp.isSteam = settings[1] == "S"
            otp.digits = otp.isSteam ? "5" : String(settings[1])
        }
        return otp
    }

    /// "key=BASE32&step=30&size=6&otpHashMode=Sha256"
    private static func keeOtp(_ value: SharedSecret) -> OneTimePassword? {
        value.withBytes { bytes in
            var seed: SharedSecret?
            var others: [String: String] = [:]
            for part in bytes.split(separator: UInt8(ascii: "&")) {
                guard let sign = part.firstIndex(of: UInt8(ascii: "=")) else { return nil }
                let name = String(decoding: part[..<sign], as: UTF8.self).lowercased()
                let text = part[part.index(after: sign)...]
                if name == "key" {
                    // Its padding is percent-encoded.
                    var plain = text
                    while plain.count >= 3,
                        plain.suffix(3).elementsEqual("%3d".utf8) || plain.suffix(3).elementsEqual("%3D".utf8)
                    {
                        plain = plain.dropLast(3)
                    }
                    seed = SharedSecret(Secret(copying: UnsafeRawBufferPointer(rebasing: plain)))
                } else {
                    others[name] = String(decoding: text, as: UTF8.self)
                }
            }
            guard let seed, others["type"]?.lowercased() != "hotp" else { return nil }
            var otp = OneTimePassword(seed: seed)
            otp.period = others["step"] ?? "30"
            otp.digits = others["size"] ?? "6"
            switch others["otphashmode"]?.lowercased() {
            case nil, "sha1": break
            case "sha256": otp.algorithm = "SHA256"
            case "sha512": otp.algorithm = "SHA512"
            default: return nil
            }
            return otp
        }
    }
}
