internal import VaultCrypto

/// A recipient of a plugin, `age1NAME1…`. It is only stored, because only the plugin can use it.
public struct PluginRecipient: Sendable, Hashable {
    /// The plugin's name. Its program is called `age-plugin-NAME`.
    public let name: String
    /// The text as the user entered it.
    public let text: String
}

/// A decoded recipient.
public enum RecipientText: Sendable {
    /// A recipient that needs no other program.
    case native(any Recipient)
    /// A recipient of a plugin.
    case plugin(PluginRecipient)

    /// The text that is stored for owners.
    public var text: String {
        switch self {
        case .native(let recipient): recipient.text
        case .plugin(let recipient): recipient.text
        }
    }

    /// The kind of recipient.
    public var kind: RecipientKind {
        switch self {
        case .native(let recipient): recipient.kind
        case .plugin(let recipient): .plugin(recipient.name)
        }
    }

    /// Reads `age1…`, `age1pq1…`, `age1NAME1…` or a line with an OpenSSH public key. Throws `invalidRecipient` or
    /// `unsupportedRecipient`.
    public init(_ text: String) throws(AgeError) {
        guard text.utf8.count <= AgeLimit.key else {
            throw AgeError(.invalidRecipient, "a recipient must not exceed \(AgeLimit.key) characters")
        }
        if text.hasPrefix("ssh-") || text.hasPrefix("ecdsa-") || text.hasPrefix("sk-") {
            self = .native(try SSHRecipientLine.recipient(text))
        } else {
            self = try Self.bech32(text)
        }
    }

    private static func bech32(_ text: String) throws(AgeError) -> RecipientText {
        guard !text.utf8.starts(with: "AGE-SECRET-KEY-".utf8), !text.utf8.starts(with: "AGE-PLUGIN-".utf8) else {
            throw AgeError(
                .invalidRecipient,
                "this is an identity, which is secret; use the corresponding recipient, which starts with age1")
        }
        let malformed = AgeError(.invalidRecipient, "not a recipient: it is mistyped or incomplete")
        // Bech32 allows upper case, but age does not. A recipient is not secret, so it may be copied.
        guard text.utf8.starts(with: "age1".utf8),
            let decoded = Secret(text: text).withUnsafeBytes({ Bech32.decode($0) })
        else { throw malformed }
        let bytes = decoded.bytes.withUnsafeBytes { Array($0) }
        switch decoded.prefix {
        case X25519Recipient.prefix:
            guard bytes.count == KeyAgreement.size else { throw malformed }
            return .native(X25519Recipient(publicKey: bytes))
        case HybridRecipient.prefix:
            guard bytes.count == HybridRecipient.publicKeySize else { throw malformed }
            return .native(HybridRecipient(publicKey: bytes))
        default:
            let name = String(decoded.prefix.dropFirst("age1".count))
            guard PluginName.isValid(name) else { throw malformed }
            return .plugin(PluginRecipient(name: name, text: text))
        }
    }

    /// Reads a list of recipients, one per line, skipping empty lines and lines that start with `#`. Throws `tooLarge`,
    /// or the same errors as `init`, with the line number added.
    public static func list(_ text: String) throws(AgeError) -> [RecipientText] {
        guard text.utf8.count <= AgeLimit.identityFile else {
            throw AgeError(.tooLarge, "a list of recipients must not exceed 1 MiB")
        }
        var all: [RecipientText] = []
        for (index, bytes) in text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            .enumerated()
        {
            var line = bytes
            if line.last == UInt8(ascii: "\r") { line.removeLast() }
            guard let first = line.first, first != UInt8(ascii: "#") else { continue }
            guard all.count < AgeLimit.identities else {
                throw AgeError(.tooLarge, "a list can contain at most \(AgeLimit.identities) recipients")
            }
            do throws(AgeError) { all.append(try RecipientText(String(decoding: line, as: UTF8.self))) } catch {
                throw AgeError(error.code, "line \(index + 1): \(error.detail)")
            }
        }
        return all
    }
}

/// The names of plugins.
public enum PluginName {
    /// Returns whether a plugin can have this name. The name becomes part of a program's name, so it must not lead to
    /// another folder.
    public static func isValid(_ name: String) -> Bool {
        (1...64).contains(name.utf8.count)
            && name.utf8.allSatisfy {
                (97...122).contains($0) || (48...57).contains($0) || [0x2B, 0x2D, 0x2E, 0x5F].contains($0)
            }
    }
}

/// A line as in `authorized_keys`: type, key in Base64, and a comment.
enum SSHRecipientLine {
    static func recipient(_ line: String) throws(AgeError) -> any Recipient {
        let words = line.utf8.split(separator: UInt8(ascii: " "), maxSplits: 2, omittingEmptySubsequences: true)
        let type = words.first.map { String(decoding: $0, as: UTF8.self) } ?? ""
        guard type == SSHEd25519Recipient.type else {
            throw AgeError(
                .unsupportedRecipient,
                "SSH keys of this type are not supported as recipients; use an ssh-ed25519 key, or one that starts with age1"
            )
        }
        let malformed = AgeError(.invalidRecipient, "not an ssh-ed25519 public key: it is mistyped or incomplete")
        guard words.count >= 2 else { throw malformed }
        var text = words[1]
        // OpenSSH pads its Base64; the canonical text is compared without padding below.
        while text.last == UInt8(ascii: "=") { text.removeLast() }
        let head = SSHWire.encode(Array(type.utf8)) + [0, 0, 0, 32]
        guard let wire = Base64.decode(text), wire.count == head.count + 32, wire.starts(with: head) else {
            throw malformed
        }
        let comment = words.count > 2 ? String(decoding: words[2], as: UTF8.self) : ""
        return try SSHEd25519Recipient(publicKey: Array(wire[head.count...]), comment: kept(comment))
    }

    /// Returns the comment to store, or an empty string if the comment is too long or is not printable ASCII.
    static func kept(_ comment: String) -> String {
        comment.utf8.count <= 128 && comment.utf8.allSatisfy { (32...126).contains($0) } ? comment : ""
    }
}
