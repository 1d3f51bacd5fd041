internal import CSodium
internal import Crypto
internal import FoundationEssentials
public import VaultCrypto

/// A public key of ML-KEM-768 and X25519: `age1pq1…` (C2SP age.md, *The MLKEM768-X25519 hybrid post-quantum recipient
/// type*).
///
/// HPKE and its KEM come from swift-crypto, which returns its results as `Data`; copies that contain secrets are wiped
/// here.
public struct HybridRecipient: Recipient, Hashable {
    static let prefix = "age1pq"
    static let type = "mlkem768x25519"
    static let publicKeySize = 1216
    static let encapsulatedSize = 1120
    static let info = Data("age-encryption.org/mlkem768x25519".utf8)
    static let suite = HPKE.Ciphersuite(kem: .XWingMLKEM768X25519, kdf: .HKDF_SHA256, aead: .chaChaPoly)

    let publicKey: [UInt8]

    /// - Parameter publicKey: The public key, which has 1216 bytes.
    init(publicKey: [UInt8]) { self.publicKey = publicKey }

    /// The text that is stored for owners.
    public var text: String { Bech32.encode(prefix: Self.prefix, Secret(bytes: publicKey)).asText }
    /// The kind of recipient.
    public var kind: RecipientKind { .hybrid }

    /// Throws `invalidRecipient` if the key is not a valid ML-KEM-768 key.
    public func wrap(_ fileKey: borrowing FileKey) throws(AgeError) -> WrappedFileKey {
        let (share, body) = try fileKey.secret.withUnsafeBytes { (plain) throws(AgeError) in
            do {
                let key = try XWingMLKEM768X25519.PublicKey(rawRepresentation: publicKey)
                var sender = try HPKE.Sender(recipientKey: key, ciphersuite: Self.suite, info: Self.info)
                return ([UInt8](sender.encapsulatedKey), [UInt8](try sender.seal(plain)))
            } catch {
                throw AgeError(.invalidRecipient, "the recipient is not an ML-KEM-768 and X25519 public key")
            }
        }
        let stanza = try Stanza(type: Self.type, arguments: [Base64.encode(share)], body: body)
        return WrappedFileKey(stanzas: [stanza], labels: [WrappedFileKey.postQuantum])
    }
}

/// A seed of ML-KEM-768 and X25519: `AGE-SECRET-KEY-PQ-1…`.
public final class HybridIdentity: NativeIdentity {
    static let prefix = "age-secret-key-pq-"
    static let seedSize = 32

    private let seed: Secret
    private let publicKey: [UInt8]

    /// Creates an identity from a seed of 32 bytes. Throws `invalidIdentity` if the seed does not produce a key.
    init(seed: consuming Secret) throws(AgeError) {
        publicKey = [UInt8](try Self.privateKey(seed).publicKey.rawRepresentation)
        self.seed = seed
    }

    /// Generates a new identity.
    public static func generate() throws(AgeError) -> HybridIdentity {
        try HybridIdentity(seed: Secret.random(count: seedSize))
    }

    /// The recipient of this identity.
    public var recipient: any Recipient { HybridRecipient(publicKey: publicKey) }

    /// The identity's text, which is secret.
    public var text: Secret { Bech32.encode(prefix: Self.prefix, seed).uppercased() }

    /// swift-crypto's form of the key. Its memory is not wiped, so the object exists only during a call.
    private static func privateKey(_ seed: borrowing Secret) throws(AgeError) -> XWingMLKEM768X25519.PrivateKey {
        try seed.withUnsafeBytes { (seed) throws(AgeError) in
            do { return try XWingMLKEM768X25519.PrivateKey(seedRepresentation: seed, publicKey: nil) } catch {
                throw AgeError(.invalidIdentity, "the identity is not an ML-KEM-768 and X25519 seed")
            }
        }
    }

    /// Returns the file key of a stanza, or nil if the stanza is not for this identity. Throws `malformedStanza`.
    public func unwrap(_ stanza: Stanza) throws(AgeError) -> FileKey? {
        guard stanza.type == HybridRecipient.type else { return nil }
        let share = try stanza.share(at: 0, of: 1, size: HybridRecipient.encapsulatedSize)
        guard stanza.body.count == KeyWrap.size else {
            throw AgeError(.malformedStanza, "a stanza's body has \(stanza.body.count) bytes, not \(KeyWrap.size)")
        }
        let key = try Self.privateKey(seed)
        guard var plain = Self.opened(key, share, stanza.body) else { return nil }
        var secret = Secret(count: plain.count)
        plain.withUnsafeMutableBytes { plain in
            secret.withUnsafeMutableBytes { $0.copyMemory(from: UnsafeRawBufferPointer(plain)) }
            sodium_memzero(plain.baseAddress, plain.count)
        }
        return try FileKey(secret)
    }

    /// Decrypts the body; returns nil if it does not open. HPKE cannot distinguish a stanza for another recipient from
    /// an altered stanza.
    private static func opened(_ key: XWingMLKEM768X25519.PrivateKey, _ share: [UInt8], _ body: [UInt8]) -> Data? {
        do {
            var recipient = try HPKE.Recipient(
                privateKey: key, ciphersuite: HybridRecipient.suite, info: HybridRecipient.info,
                encapsulatedKey: Data(share))
            return try recipient.open(body)
        } catch { return nil }
    }
}
