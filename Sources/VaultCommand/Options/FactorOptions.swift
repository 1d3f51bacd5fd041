import ArgumentParser
import VaultFmt
import VaultLocal

/// The factors that open a vault.
struct FactorOptions: ParsableArguments {
    @Option("Read the passphrase from a file; one newline at its end is not part of it.", isFile: true)
    var passphraseFile: String?

    @Option("Read the passphrase from an open descriptor, as a file.")
    var passphraseFd: Int32?

    @Option("The key file.", isFile: true)
    var keyFile: String?

    @Option("A file of exactly 32 random bytes, in place of passphrase and key file.", isFile: true)
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
    @Option("Read the new passphrase from a file.", isFile: true)
    var newPassphraseFile: String?

    @Option("Read the new passphrase from an open descriptor.")
    var newPassphraseFd: Int32?

    @Option("The new key file.", isFile: true)
    var newKeyFile: String?

    @Option("A file of exactly 32 random bytes, the new raw key.", isFile: true)
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
