import ArgumentParser
import VaultFmt
import VaultLocal

/// The factors that open a vault.
struct FactorOptions: ParsableArguments {
    @Option(
        parsing: .unconditional, help: "Read the passphrase from a file; one newline at its end is not part of it.",
        completion: .file())
    var passphraseFile: String?

    @Option(parsing: .unconditional, help: "Read the passphrase from an open descriptor, as a file.")
    var passphraseFd: Int32?

    @Option(parsing: .unconditional, help: "The key file.", completion: .file())
    var keyFile: String?

    @Option(
        parsing: .unconditional, help: "A file of exactly 32 random bytes, in place of passphrase and key file.",
        completion: .file())
    var rawKeyFile: String?

    func validate() throws { try requireOpen(passphraseFd, option: "--passphrase-fd") }

    var sources: FactorSources {
        FactorSources(
            passphraseFile: passphraseFile, passphraseDescriptor: passphraseFd, keyFile: keyFile,
            rawKeyFile: rawKeyFile, twin: .current)
    }
}

/// The factors that a slot is to take from now on.
struct NewFactorOptions: ParsableArguments {
    @Option(parsing: .unconditional, help: "Read the new passphrase from a file.", completion: .file())
    var newPassphraseFile: String?

    @Option(parsing: .unconditional, help: "Read the new passphrase from an open descriptor.")
    var newPassphraseFd: Int32?

    @Option(parsing: .unconditional, help: "The new key file.", completion: .file())
    var newKeyFile: String?

    @Option(parsing: .unconditional, help: "A file of exactly 32 random bytes, the new raw key.", completion: .file())
    var newRawKeyFile: String?

    func validate() throws { try requireOpen(newPassphraseFd, option: "--new-passphrase-fd") }

    var sources: FactorSources {
        FactorSources(
            passphraseFile: newPassphraseFile, passphraseDescriptor: newPassphraseFd, keyFile: newKeyFile,
            rawKeyFile: newRawKeyFile,
            twin: .new)
    }
}

/// Refuses a descriptor that is not open for reading, before any file is opened: one of ours would get its number.
private func requireOpen(_ descriptor: Int32?, option: String) throws {
    guard let descriptor, !Descriptor.isReadable(descriptor) else { return }
    throw ValidationError("\(option) \(descriptor): this descriptor is not open for reading; open it, or give a file")
}
