import VaultAgent
import VaultConsole
import VaultExchange
package import VaultFmt

/// An item's Ed25519 key in the format of ssh-keygen.
package enum OpenSSHForm {
    /// Returns the text of a key file. Of a secret that already has this format, as a generated key does, only the
    /// block with the key is returned, because ssh refuses text before it, and a last line without a line ending; DER
    /// and PEM are converted.
    /// - Throws: `CommandFailure` if the secret is not an Ed25519 key, or is encrypted.
    package static func text(
        of key: ItemKey, _ attributes: Attributes, _ secret: borrowing Secret
    ) throws -> Secret {
        let comment = attributes.label ?? ""
        if let text = converted(secret, comment: comment) { return text }
        guard try keyType(of: secret, key) == .ed25519 else { throw notEd25519(key) }
        let block: PrivateKeyBlock?
        do { block = try PrivateKeyBlock.first(in: secret) } catch { throw notEd25519(key) }
        switch consume block {
        case .none: throw notEd25519(key)
        case .some(let block):
            let label = block.label
            if label == "OPENSSH PRIVATE KEY" { return block.contents.withUnsafeBytes { PEMText.block(label, $0) } }
            guard let text = converted(block.contents, comment: comment) else { throw notEd25519(key) }
            return text
        }
    }

    /// Returns the text of an Ed25519 key in PKCS #8, with or without its public key; nil for anything else.
    private static func converted(_ der: borrowing Secret, comment: String) -> Secret? {
        let seed = der.withUnsafeBytes { bytes -> Secret? in
            PrivateKeyDER.ed25519Seed(bytes).map { Secret(copying: $0) }
        }
        switch consume seed {
        case .none: return nil
        case .some(let seed): return OpenSSHText.text(seed: seed, comment: comment)
        }
    }

    /// Returns the type of the key in a secret; nil if there is no key that can be read.
    private static func keyType(of secret: borrowing Secret, _ key: ItemKey) throws -> KeyType? {
        do throws(AgentError) { return try StoredKey.read(secret).publicKey.type } catch {
            // The key exists, but has a passphrase of its own; the message says so.
            guard error.code != .refused else { throw ItemSSHKey.failure(error, key) }
            return nil
        }
    }

    private static func notEd25519(_ key: ItemKey) -> CommandFailure {
        let advice =
            key.itemClass == .key
            ? "OpenSSH reads RSA and ECDSA keys with --pem"
            : "without --openssh, the secret is written as it is stored"
        return CommandFailure(.noSuchItem, "\(ItemText.summary(key)) is not an Ed25519 key; \(advice)")
    }
}
