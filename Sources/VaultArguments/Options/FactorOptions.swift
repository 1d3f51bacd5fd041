package import ArgumentParser
import VaultAge
import VaultConsole
import VaultExchange
package import VaultFmt
package import VaultLocal

/// The factors that open a vault.
package struct FactorOptions: ParsableArguments {
    @Option("Read the passphrase from a file; one trailing newline is ignored.", isFile: true)
    var passphraseFile: String?

    @Option("Read the passphrase from an open file descriptor; one trailing newline is ignored.")
    package var passphraseFd: Int32?

    @Option("The key file.", isFile: true)
    package var keyFile: String?

    @Option("A file of exactly 32 random bytes, instead of a passphrase and key file.", isFile: true)
    package var rawKeyFile: String?

    @Option("A file of age identities; may be repeated.", isFile: true)
    package var identity: [String] = []

    package init() {}

    package func validate() throws {
        try requireOpen(passphraseFd, option: "--passphrase-fd")
        guard identity.isEmpty || rawKeyFile == nil else {
            throw ValidationError("--raw-key-file cannot be combined with --identity; leave one out")
        }
        // No slot requires both, and each slot that is tried must require all factors that options name.
        guard identity.isEmpty || keyFile == nil else {
            throw ValidationError("--key-file cannot be combined with --identity; leave one out")
        }
    }

    /// True if any given factors take precedence over a key that `unlock` keeps. An identity in the environment does
    /// not take precedence, because using it may require a touch, which `unlock` is meant to avoid.
    var isAnyGiven: Bool { sources.isAnyGiven || !identity.isEmpty }

    /// True if any given factor can open a vault without asking for a passphrase.
    package var isAnythingGiven: Bool { isAnyGiven || Environment.nonEmpty(Self.identityVariable) != nil }

    private static let identityVariable = "VAULTFMT_IDENTITY"

    /// The factors from the options and the environment, except for an identity that the environment names.
    package func read(mayAsk: Bool) throws -> GivenFactors {
        var given = try whileOpening { try sources.read() }
        if given.rawKey == nil, !identity.isEmpty {
            given.external = try IdentityFiles.factor(identity, mayAsk: mayAsk)
            given.named.insert(.external)
        }
        return given
    }

    /// The identity file that the environment names, if a slot of the vault may need it. The variable applies to all
    /// vaults, so the file is read and used only if no other given factor opens this vault. If options name a
    /// passphrase, the identity can only complete the passphrase; if options name other factors, no slot requires an
    /// identity as well.
    /// - `source`: Where to read the slots.
    package func spareIdentity(
        for path: String, beside given: borrowing GivenFactors, in source: SlotSource = .header
    ) -> String? {
        guard given.rawKey == nil, given.named.isSubset(of: .passphrase),
            let file = Environment.nonEmpty(Self.identityVariable)
        else { return nil }
        let needed: FactorKinds = given.named.isEmpty ? .externalKey : [.externalKey, .passphrase]
        do {
            let isOfUse = try source.slots(at: path).contains { $0.isKnown && $0.factors.isSuperset(of: needed) }
            return isOfUse ? file : nil
        } catch {
            // The slots of a damaged vault may still be found when the vault is opened.
            return file
        }
    }

    /// Reads the factors like `read`, for a program that must not wait: it never prompts, and throws if an identity
    /// needs a plugin. An identity that only the environment names is left out.
    /// - `path`: The path of the vault that the factors may open.
    func readWithoutPlugins(for path: String) throws -> GivenFactors {
        var given = try whileOpening { try sources.read() }
        if given.rawKey == nil, !identity.isEmpty {
            given.external = try IdentityFiles.factorWithoutPlugins(identity, required: true)
            given.named.insert(.external)
        }
        if let spare = spareIdentity(for: path, beside: given) {
            try requireThere(spare)
            given.external = try IdentityFiles.factorWithoutPlugins([spare], required: false)
        }
        return given
    }

    /// Throws if `--identity` names an identity of a plugin. A file that does not exist yet is not checked.
    package func requireNoPlugins() throws {
        let files = try identity.filter { try UserFiles.exists($0) }
        _ = try IdentityFiles.factorWithoutPlugins(files, required: true)
    }

    /// Reads the identity file that the environment names.
    package func identity(in file: String, mayAsk: Bool) throws -> any SlotFactor {
        try requireThere(file)
        return try IdentityFiles.factor([file], mayAsk: mayAsk)
    }

    private func requireThere(_ file: String) throws {
        guard try UserFiles.exists(file) else {
            throw CommandFailure(
                .noSuchFile,
                "\(Self.identityVariable) names \(TerminalText.path(file)), which does not exist; "
                    + "correct it, or use another factor, such as --key-file")
        }
    }

    /// The open descriptors from which factors would be read.
    package var descriptors: [Int32] {
        let identities = identity + [Environment.nonEmpty(Self.identityVariable)].compactMap { $0 }
        return sources.descriptors + identities.compactMap { FactorInput.descriptor($0) }
    }

    package var sources: FactorSources {
        FactorSources(
            passphraseFile: passphraseFile, passphraseDescriptor: passphraseFd, keyFile: keyFile,
            rawKeyFile: rawKeyFile, twin: .current)
    }
}

/// The factors of the copies that are merged, if they differ from the vault's factors.
package struct OtherFactorOptions: ParsableArguments {
    @Option("Read the other copy's passphrase from a file.", isFile: true)
    var otherPassphraseFile: String?

    @Option("The other copy's key file.", isFile: true)
    var otherKeyFile: String?

    @Option("The other copy's raw key: a file of exactly 32 random bytes.", isFile: true)
    var otherRawKeyFile: String?

    package init() {}

    /// The copies' factors; nil if none are given.
    package var sources: FactorSources? {
        let sources = FactorSources(
            passphraseFile: otherPassphraseFile, keyFile: otherKeyFile, rawKeyFile: otherRawKeyFile, twin: .otherCopy)
        return sources.isOptionGiven ? sources : nil
    }
}

/// The new factors of a slot.
package struct NewFactorOptions: ParsableArguments {
    @Option("Read the new passphrase from a file.", isFile: true)
    package var newPassphraseFile: String?

    @Option("Read the new passphrase from an open file descriptor.")
    var newPassphraseFd: Int32?

    @Option("The new key file.", isFile: true)
    package var newKeyFile: String?

    @Option("The new raw key: a file of exactly 32 random bytes.", isFile: true)
    var newRawKeyFile: String?

    package init() {}

    package func validate() throws { try requireOpen(newPassphraseFd, option: "--new-passphrase-fd") }

    package var sources: FactorSources {
        FactorSources(
            passphraseFile: newPassphraseFile, passphraseDescriptor: newPassphraseFd, keyFile: newKeyFile,
            rawKeyFile: newRawKeyFile,
            twin: .new)
    }
}

/// Throws an error if a descriptor is not open for reading. The check comes before any file is opened, because a file
/// that this process opens could be assigned that number.
private func requireOpen(_ descriptor: Int32?, option: String) throws {
    guard let descriptor, !Descriptor.isReadable(descriptor) else { return }
    throw ValidationError("\(option) \(descriptor): this descriptor is not open for reading; open it, or use a file")
}
