import VaultFmt

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

    /// Returns whether a field has a part of a one-time password in one of the dialects.
    static func isField(_ name: String) -> Bool {
        name == KDBXString.otp || (ofKeePass + ofKeePassCounter + ofPlugins).contains(name)
    }

    /// Returns the one-time password of a KeePass entry, and the names of the fields that contain it: KeePassXC's and
    /// KeeOtp's `otp`, KeePass's `TimeOtp-…` and `HmacOtp-…`, the plugins' `TOTP Seed` with `TOTP Settings`. Returns
    /// nil if no field can be expressed as a URL; the fields are then left unchanged.
    static func found(in entry: KDBXEntry) -> (address: SharedSecret, fields: [String])? {
        let (issuer, account) = (entry.text(KDBXString.title), entry.text(KDBXString.userName))
        if let otp = entry[KDBXString.otp], otp.count > 0 {
            let isAddress = otp.withBytes { $0.starts(with: Array("otpauth:".utf8)) }
            if isAddress { return (otp, [KDBXString.otp]) }
            // Other programs store only the seed there.
            let made = keeOtp(otp) ?? OneTimePassword(seed: otp)
            guard let address = made.address(issuer: issuer, account: account) else { return nil }
            return (address, [KDBXString.otp])
        }
        for (made, fields) in [
            (keePass(entry), ofKeePass), (keePassCounter(entry), ofKeePassCounter), (plugins(entry), ofPlugins),
        ] {
            if let address = made?.address(issuer: issuer, account: account) { return (address, fields) }
        }
        return nil
    }

    /// Returns why the fields of a one-time password, for which `found(in:)` returns nil, cannot be expressed as a URL;
    /// nil if the entry has no such fields.
    static func problem(in entry: KDBXEntry) -> String? {
        let hasField = [KDBXString.otp, "TOTP Seed"].contains { entry[$0]?.count ?? 0 > 0 }
        let isTimed = seed(entry, "TimeOtp-Secret") != nil
        guard hasField || isTimed || seed(entry, "HmacOtp-Secret") != nil else { return nil }
        guard !isTimed || keePass(entry) != nil else { return "its algorithm is not SHA1, SHA256 or SHA512" }
        return "its seed is not in the encoding that its fields state, such as Base32, or its parameters are unknown"
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

    /// Parses "30;6", or "30;S" for Steam, possibly followed by the time source.
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

    /// Parses "key=BASE32&step=30&size=6&otpHashMode=Sha256".
    private static func keeOtp(_ value: SharedSecret) -> OneTimePassword? {
        value.withBytes { bytes in
            var seed: SharedSecret?
            var others: [String: String] = [:]
            for part in bytes.split(separator: UInt8(ascii: "&")) {
                guard let sign = part.firstIndex(of: UInt8(ascii: "=")) else { return nil }
                let name = String(decoding: part[..<sign], as: UTF8.self).lowercased()
                let text = part[part.index(after: sign)...]
                if name == "key" {
                    // The padding is percent-encoded.
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
