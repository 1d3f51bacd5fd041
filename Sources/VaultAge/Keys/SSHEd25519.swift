internal import CSodium
internal import Crypto
package import VaultCrypto

/// An Ed25519 OpenSSH public key, used for X25519 in the same way as age does.
public struct SSHEd25519Recipient: Recipient, Hashable {
    static let type = "ssh-ed25519"
    static let info: StaticString = "age-encryption.org/v1/ssh-ed25519"

    /// The text after the key in `authorized_keys`; printable ASCII, or empty.
    let comment: String
    fileprivate let publicKey: [UInt8]
    /// The same point on Curve25519.
    fileprivate let montgomery: [UInt8]

    /// Creates a recipient from the 32 bytes of a public key. Throws `invalidRecipient` if the bytes do not encode a
    /// point of the prime-order group.
    init(publicKey: [UInt8], comment: String = "") throws(AgeError) {
        var montgomery = [UInt8](repeating: 0, count: KeyAgreement.size)
        guard publicKey.count == Int(crypto_sign_ed25519_PUBLICKEYBYTES),
            crypto_sign_ed25519_pk_to_curve25519(&montgomery, publicKey) == 0
        else { throw AgeError(.invalidRecipient, "the ssh-ed25519 key is not a point on the curve") }
        self.publicKey = publicKey
        self.comment = comment
        self.montgomery = montgomery
    }

    /// The key in SSH's wire format.
    var wire: [UInt8] { SSHWire.encode(Array(Self.type.utf8)) + SSHWire.encode(publicKey) }

    /// The text that is stored for owners.
    public var text: String {
        "\(Self.type) \(Base64.encode(wire).paddedBase64)" + (comment.isEmpty ? "" : " \(comment)")
    }
    /// The kind of recipient.
    public var kind: RecipientKind { .sshEd25519 }

    /// The first four bytes of the key's SHA-256. They allow anyone to link a stanza to a published key.
    fileprivate var tag: String { Base64.encode(Array(SHA256.hash(data: wire).prefix(4))) }

    /// Multiplies the shared secret by a scalar derived from the whole key, so that using the same point for another
    /// purpose results in a different secret.
    fileprivate func tweaked(_ shared: borrowing Secret) -> Secret? {
        KeyAgreement.shared(KeyDerivation.derive(Secret(count: 0), salt: wire, info: Self.info), point: shared)
    }

    fileprivate func wrappingKey(_ shared: borrowing Secret, share: [UInt8]) -> Secret {
        KeyDerivation.derive(shared, salt: share + montgomery, info: Self.info)
    }

    /// Throws `invalidRecipient` if the shared secret is all zeros.
    public func wrap(_ fileKey: borrowing FileKey) throws(AgeError) -> WrappedFileKey {
        let ephemeral = Secret.random(count: KeyAgreement.size)
        let share = KeyAgreement.publicKey(ephemeral)
        guard let shared = KeyAgreement.shared(ephemeral, montgomery), let tweaked = tweaked(shared) else {
            throw AgeError(.invalidRecipient, "the ssh-ed25519 key is a point of small order")
        }
        let body = KeyWrap.seal(fileKey, wrappingKey(tweaked, share: share))
        let stanza = try Stanza(type: Self.type, arguments: [tag, Base64.encode(share)], body: body)
        return WrappedFileKey(stanzas: [stanza])
    }

    /// Compares the keys, without their comments.
    public static func == (left: Self, right: Self) -> Bool { left.publicKey == right.publicKey }

    /// Hashes the key, without its comment.
    public func hash(into hasher: inout Hasher) { hasher.combine(publicKey) }
}

/// An Ed25519 OpenSSH private key.
public final class SSHEd25519Identity: NativeIdentity {
    private let scalar: Secret
    private let own: SSHEd25519Recipient

    /// Creates an identity from a seed of 32 bytes.
    package init(seed: consuming Secret, comment: String = "") throws(AgeError) {
        var publicKey = [UInt8](repeating: 0, count: Int(crypto_sign_ed25519_PUBLICKEYBYTES))
        var pair = Secret(count: Int(crypto_sign_ed25519_SECRETKEYBYTES))
        var scalar = Secret(count: KeyAgreement.size)
        pair.withUnsafeMutableBytes { pair in
            seed.withUnsafeBytes { seed in _ = crypto_sign_ed25519_seed_keypair(&publicKey, pair.u8, seed.u8) }
            scalar.withUnsafeMutableBytes { _ = crypto_sign_ed25519_sk_to_curve25519($0.u8, pair.u8) }
        }
        self.scalar = scalar
        own = try SSHEd25519Recipient(publicKey: publicKey, comment: comment)
    }

    /// The recipient of this identity.
    public var recipient: any Recipient { own }

    var publicKey: [UInt8] { own.publicKey }

    /// Returns the file key of a stanza, or nil if the stanza is not for this identity. Throws `malformedStanza`.
    public func unwrap(_ stanza: Stanza) throws(AgeError) -> FileKey? {
        guard stanza.type == SSHEd25519Recipient.type else { return nil }
        let share = try stanza.share(at: 1, of: 2, size: KeyAgreement.size)
        guard stanza.arguments[0] == own.tag else { return nil }
        guard let shared = KeyAgreement.shared(scalar, share), let tweaked = own.tweaked(shared) else {
            throw AgeError(.malformedStanza, "an ssh-ed25519 stanza's share is a point of small order")
        }
        return try KeyWrap.open(stanza.body, own.wrappingKey(tweaked, share: share))
    }
}

/// Strings of the SSH protocol (RFC 4251, section 5): a four-byte big-endian length, followed by that many bytes.
enum SSHWire {
    static func encode(_ bytes: [UInt8]) -> [UInt8] {
        withUnsafeBytes(of: UInt32(bytes.count).bigEndian) { Array($0) } + bytes
    }
}

extension String {
    /// The Base64 text with padding, as OpenSSH writes it.
    fileprivate var paddedBase64: String { self + String(repeating: "=", count: (4 - utf8.count % 4) % 4) }
}
