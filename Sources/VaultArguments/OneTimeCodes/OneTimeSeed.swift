import VaultConsole
import VaultExchange
import VaultFmt

/// A seed for one-time codes, as entered by a user, checked and converted into the form that items store: an `otpauth:`
/// address.
struct OneTimeSeed: ~Copyable {
    let address: Secret
    /// The code that the address yields.
    let code: OneTimeCode

    /// The maximum length of a seed's text, which is more than twice the capacity of a QR code.
    static let longest = 8192
    /// The minimum length in bytes: 80 bits, which sites with short keys use. RFC 4226 requires 128 bits.
    private static let shortestUsual = 10

    /// Accepts an `otpauth:` address, Steam's `steam://…`, or a key in Base32. For a key, `issuer` and `account` name
    /// the owner of the codes.
    init(_ text: borrowing Secret, issuer: String, account: String) throws(CommandFailure) {
        let trimmed = SharedSecret(Self.trimmed(text))
        if trimmed.withBytes({ $0.starts(with: Array("otpauth-migration:".utf8)) }) {
            throw Self.refusal("this is an export of several accounts; use the QR code of a single account")
        }
        let address = OneTimePassword.address(of: trimmed, issuer: issuer, account: account)
        if !trimmed.withBytes({ $0.starts(with: Array("otpauth:".utf8)) }), !Base32.isComplete(trimmed.secret) {
            throw Self.refusal("a character is missing or extra; compare the key with the one that the site shows")
        }
        let code = try Self.code(address)
        self.address = address.secret.copy()
        self.code = code
    }

    private static func code(_ address: SharedSecret) throws(CommandFailure) -> OneTimeCode {
        do throws(OneTimeCode.Problem) {
            return try OneTimeCode(address: address.secret)
        } catch {
            throw refusal("\(error.text); copy it again from the site")
        }
    }

    /// The attribute that stores the seed in an item.
    var attribute: Attribute { Attribute(AttributeName.oneTimePassword, secret: address.copy(), flags: .sealed) }

    /// Warns if a key is shorter than the keys that sites usually use: the user may have typed something else at the
    /// prompt by mistake.
    func warnIfShort() {
        guard code.key.count < Self.shortestUsual else { return }
        Terminal.warning(
            "the seed has only \(code.key.count * 8) bits, fewer than any site uses; compare it with the key that the site shows"
        )
    }

    private static func refusal(_ why: String) -> CommandFailure {
        CommandFailure(.usage, "the seed for one-time codes cannot be used: \(why)")
    }

    private static func trimmed(_ text: borrowing Secret) -> Secret {
        text.withUnsafeBytes { bytes in
            let isBlank = { (byte: UInt8) in byte == 0x20 || (0x09...0x0D).contains(byte) }
            let start = bytes.firstIndex { !isBlank($0) } ?? bytes.count
            let end = bytes.lastIndex { !isBlank($0) }.map { $0 + 1 } ?? start
            return Secret(copying: UnsafeRawBufferPointer(rebasing: bytes[start..<end]))
        }
    }
}
