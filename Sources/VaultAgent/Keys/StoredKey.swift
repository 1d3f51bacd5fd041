internal import VaultExchange
package import VaultFmt

/// The private key stored in an item's secret.
///
/// Items of class `key` hold DER, as written by imports. Identities hold a certificate and a key in PEM. Items of any
/// other class may hold the text of a key file, in OpenSSH's format or in PEM.
package enum StoredKey {
    /// The maximum size of a secret that is searched for a key.
    private static let longest = 1 << 20

    /// Reads a key. Throws `malformed`, `unsupported` if there is no key or a key of another type, or `refused` if the
    /// key is encrypted.
    package static func read(_ secret: borrowing Secret) throws(AgentError) -> PrivateKey {
        let stored = try decoded(secret)
        return try stored.bytes.withUnsafeBytes { (bytes) throws(AgentError) in
            try stored.isOpenSSH ? OpenSSHFile.read(bytes) : PrivateKey(der: bytes)
        }
    }

    /// Returns the key in the encoding of the agent protocol, for adding it to an agent.
    static func wire(_ secret: borrowing Secret) throws(AgentError) -> Secret {
        let stored = try decoded(secret)
        return try stored.bytes.withUnsafeBytes { (bytes) throws(AgentError) in
            try stored.isOpenSSH ? OpenSSHFile.wire(bytes) : KeyWireForm.ofDER(bytes)
        }
    }

    /// The decoded contents of a secret: DER, or the Base64 part of an OpenSSH key file.
    private struct Decoded: ~Copyable {
        let bytes: Secret
        let isOpenSSH: Bool
    }

    private static func decoded(_ secret: borrowing Secret) throws(AgentError) -> Decoded {
        guard secret.count <= longest else { throw noKey }
        guard secret.withUnsafeBytes({ $0.first != 0x30 }) else {
            return Decoded(bytes: secret.copy(), isOpenSSH: false)
        }
        let block: PrivateKeyBlock?
        do { block = try PrivateKeyBlock.first(in: secret) } catch { throw noKey }
        switch consume block {
        case .none: throw noKey
        case .some(let block):
            guard !block.isEncrypted else {
                throw AgentError(
                    .refused, "the key has its own passphrase; store it without one, because the vault encrypts it")
            }
            let isOpenSSH = block.label == OpenSSHFile.label
            return Decoded(bytes: block.contents.copy(), isOpenSSH: isOpenSSH)
        }
    }

    private static let noKey = AgentError(.unsupported, "the secret contains no readable private key")
}
