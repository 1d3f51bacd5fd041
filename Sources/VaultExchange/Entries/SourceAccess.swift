package import VaultFmt

/// The means of opening a source, and the choice of which parts to read.
package struct SourceAccess {
    package let factors: any SourceFactors
    package var limits: SourceLimits
    /// True if entries in the source's recycle bin are read.
    package var includesRecycleBin: Bool
    /// Called with remarks on the source, one line each.
    package var remark: (String) -> Void

    package init(
        _ factors: any SourceFactors, limits: SourceLimits = SourceLimits(), includesRecycleBin: Bool = false,
        remark: @escaping (String) -> Void = { _ in }
    ) {
        self.factors = factors
        self.limits = limits
        self.includesRecycleBin = includesRecycleBin
        self.remark = remark
    }
}

/// The limits on the work that a source may require.
package struct SourceLimits {
    /// The limits on Argon2, as for vaults.
    package var derivation = ReaderLimits()
    /// The maximum number of rounds of AES-KDF or PBKDF2.
    package var rounds = KDBX.Limit.rounds
    /// The maximum number of bcrypt rounds that an OpenSSH key may require. A hundred rounds take about a second.
    package var bcryptRounds: UInt32 = 512
    /// The maximum size in bytes of all attachments and one entry together; nil to derive it from the size of the
    /// source.
    package var memory: Int?

    package init() {}
}

/// The means of opening an encrypted source. A front end prompts its user, reads files and starts programs; a reader
/// only requests the factors that it needs.
package protocol SourceFactors {
    /// Calls `open` with the source's passphrase, or with nil if the user provided only a key file. `open` throws
    /// `ExchangeError.Code.noAccess` if the passphrase is wrong, and can be called again with another passphrase.
    ///
    /// `source`: the source's name in messages.
    func withPassphrase<R: ~Copyable>(for source: String, _ open: (borrowing Secret?) throws -> R) throws -> R

    /// Returns the contents of the key file, or nil if the user provided no key file.
    func keyFile() throws -> Secret?

    /// Returns an encrypted OpenSSH private key (the text of its PEM block) without encryption, or nil if the
    /// passphrase does not open the key or the key is damaged. `limit`: the maximum length of the result in bytes;
    /// `place`: the key's place in the source, for messages.
    func decryptedOpenSSH(
        _ key: borrowing Secret, _ passphrase: borrowing Secret, limit: Int, _ place: String
    ) throws -> Secret?
}
