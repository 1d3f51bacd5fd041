public import VaultCrypto

/// The content of a file that a user specifies as an identity.
public enum IdentityFile: Sendable {
    /// Identities, one per line, as `age-keygen` writes them.
    case identities([IdentityText])
    /// Identities encrypted to a passphrase with `age -p`.
    case encrypted(EncryptedIdentities)
    /// An OpenSSH private key.
    case openSSH(any NativeIdentity)
    /// An encrypted OpenSSH private key. The caller must decrypt the file and read it again.
    case encryptedOpenSSH

    /// Reads a file's content. Throws `invalidIdentity`, `unsupportedIdentity` or `tooLarge`, or `malformedStanza` for
    /// a damaged age file.
    public static func read(_ content: borrowing Secret) throws(AgeError) -> IdentityFile {
        guard content.count <= AgeLimit.identityFile else {
            throw AgeError(.tooLarge, "an identity file must not exceed 1 MiB")
        }
        if content.starts(with: OpenSSHPrivateKey.begin) {
            guard let key = try OpenSSHPrivateKey.read(content) else { return .encryptedOpenSSH }
            return .openSSH(key)
        }
        if content.starts(with: AgeFile.start) || content.starts(with: Armor.begin) {
            return .encrypted(try EncryptedIdentities(content))
        }
        return .identities(try IdentityList.read(content))
    }
}

/// A file of identities encrypted to a passphrase.
public struct EncryptedIdentities: Sendable {
    private let file: AgeFile
    private let stanza: ScryptStanza

    /// Throws `malformedStanza` for a damaged file, or `unsupportedIdentity` if the file is not encrypted to a
    /// passphrase.
    fileprivate init(_ content: borrowing Secret) throws(AgeError) {
        // The ciphertext is not secret.
        let bytes = content.withUnsafeBytes { Array($0) }
        file = try AgeFile(try Armor.decoded(bytes))
        // A scrypt stanza must be the only stanza, so that only someone who knows the passphrase can have created the
        // file.
        guard file.stanzas.count == 1, file.stanzas[0].type == ScryptStanza.type else {
            throw AgeError(
                .unsupportedIdentity,
                "this file is encrypted to recipients, not to a passphrase: decrypt it with age first")
        }
        stanza = try ScryptStanza(file.stanzas[0])
    }

    /// The binary logarithm of the scrypt work factor: 2 to this power is the memory in KiB.
    public var workFactor: Int { stanza.workFactor }

    /// Decrypts the file. Throws `excessiveWork` before doing any work, `wrongPassphrase`, `outOfMemory`, or any error
    /// of `IdentityList.read`.
    public func open(passphrase: borrowing Secret) throws(AgeError) -> [IdentityText] {
        guard let fileKey = try stanza.unwrap(passphrase) else {
            throw AgeError(.wrongPassphrase, "the passphrase does not decrypt this identity file")
        }
        return try IdentityList.read(try file.open(fileKey))
    }
}

extension Secret {
    borrowing func starts(with prefix: [UInt8]) -> Bool { withUnsafeBytes { $0.starts(with: prefix) } }
}
