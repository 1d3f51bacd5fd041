public import VaultCrypto

/// An X25519 public key: `age1…` (C2SP age.md, *The X25519 recipient type*).
public struct X25519Recipient: Recipient, Hashable {
    static let prefix = "age"
    static let type = "X25519"
    static let info: StaticString = "age-encryption.org/v1/X25519"

    let publicKey: [UInt8]

    /// - Parameter publicKey: The public key, which has 32 bytes.
    init(publicKey: [UInt8]) { self.publicKey = publicKey }

    /// The text that is stored for owners.
    public var text: String { Bech32.encode(prefix: Self.prefix, Secret(bytes: publicKey)).asText }
    /// The kind of recipient.
    public var kind: RecipientKind { .x25519 }

    /// Throws `invalidRecipient` for a point of small order, because every shared secret with it is all zeros.
    public func wrap(_ fileKey: borrowing FileKey) throws(AgeError) -> WrappedFileKey {
        let ephemeral = Secret.random(count: KeyAgreement.size)
        let share = KeyAgreement.publicKey(ephemeral)
        guard let shared = KeyAgreement.shared(ephemeral, publicKey) else {
            throw AgeError(.invalidRecipient, "the recipient is a point of small order")
        }
        let key = KeyDerivation.derive(shared, salt: share + publicKey, info: Self.info)
        let stanza = try Stanza(
            type: Self.type, arguments: [Base64.encode(share)], body: KeyWrap.seal(fileKey, key))
        return WrappedFileKey(stanzas: [stanza])
    }
}

/// An X25519 private key: `AGE-SECRET-KEY-1…`.
public final class X25519Identity: NativeIdentity {
    static let prefix = "age-secret-key-"

    private let privateKey: Secret
    private let publicKey: [UInt8]

    /// - Parameter privateKey: The private key, which has 32 bytes.
    init(privateKey: consuming Secret) {
        publicKey = KeyAgreement.publicKey(privateKey)
        self.privateKey = privateKey
    }

    /// Generates a new identity.
    public static func generate() -> X25519Identity {
        X25519Identity(privateKey: Secret.random(count: KeyAgreement.size))
    }

    /// The recipient of this identity.
    public var recipient: any Recipient { X25519Recipient(publicKey: publicKey) }

    /// The identity's text, which is secret.
    public var text: Secret { Bech32.encode(prefix: Self.prefix, privateKey).uppercased() }

    /// Returns the file key of a stanza, or nil if the stanza is not for this identity. Throws `malformedStanza`.
    public func unwrap(_ stanza: Stanza) throws(AgeError) -> FileKey? {
        guard stanza.type == X25519Recipient.type else { return nil }
        let share = try stanza.share(at: 0, of: 1, size: KeyAgreement.size)
        guard let shared = KeyAgreement.shared(privateKey, share) else {
            throw AgeError(.malformedStanza, "an X25519 stanza's share is a point of small order")
        }
        let key = KeyDerivation.derive(shared, salt: share + publicKey, info: X25519Recipient.info)
        return try KeyWrap.open(stanza.body, key)
    }
}

extension Stanza {
    /// Returns the bytes of an argument. Throws `malformedStanza` unless the stanza has `count` arguments after its
    /// type and this argument is the canonical Base64 of `size` bytes.
    func share(at index: Int, of count: Int, size: Int) throws(AgeError) -> [UInt8] {
        guard arguments.count == count else {
            throw AgeError(.malformedStanza, "a stanza of type \(type) has \(arguments.count) arguments, not \(count)")
        }
        guard let share = Base64.decode(Array(arguments[index].utf8)), share.count == size else {
            throw AgeError(
                .malformedStanza, "an argument of a stanza of type \(type) is not the base64 encoding of \(size) bytes")
        }
        return share
    }
}

extension Secret {
    /// The bytes as a string; for public values only.
    var asText: String {
        borrowing get { withUnsafeBytes { String(decoding: $0, as: UTF8.self) } }
    }

    /// The ASCII text in upper case.
    consuming func uppercased() -> Secret {
        var text = self
        text.withUnsafeMutableBytes { text in
            for index in text.indices where (97...122).contains(text[index]) { text[index] -= 32 }
        }
        return text
    }
}
