import ArgumentParser
import VaultFmt

/// The factors that open a vault.
struct FactorOptions: ParsableArguments {
    @Option(
        parsing: .unconditional, help: "Read the passphrase from a file; one newline at its end is not part of it.", completion: .file())
    var passphraseFile: String?

    @Option(parsing: .unconditional, help: "Read the passphrase from an open descriptor, as a file.")
    var passphraseFd: Int32?

    @Option(parsing: .unconditional, help: "The key file.", completion: .file())
    var keyFile: String?

    @Option(parsing: .unconditional, help: "A file of exactly 32 random bytes, in place of passphrase and key file.", completion: .file())
    var rawKeyFile: String?

    var sources: FactorSources {
        FactorSources(
            passphraseFile: passphraseFile, passphraseDescriptor: passphraseFd, keyFile: keyFile, rawKeyFile: rawKeyFile, twin: .current)
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

    var sources: FactorSources {
        FactorSources(
            passphraseFile: newPassphraseFile, passphraseDescriptor: newPassphraseFd, keyFile: newKeyFile, rawKeyFile: newRawKeyFile,
            twin: .new)
    }
}

/// Where factors come from: options first, then the environment, then the terminal.
struct FactorSources {
    /// Current factors and their `--new-…` twins differ in names only.
    enum Twin {
        case current
        case new

        var optionPrefix: String { self == .current ? "--" : "--new-" }
        var variablePrefix: String { self == .current ? "VAULTFMT_" : "VAULTFMT_NEW_" }
    }

    var passphraseFile: String?
    var passphraseDescriptor: Int32?
    var keyFile: String?
    var rawKeyFile: String?
    let twin: Twin

    /// Whether any factor is given, so that nothing need be asked.
    var isAnyGiven: Bool { isOptionGiven || isInEnvironment }

    /// Whether a factor is given by an option.
    var isOptionGiven: Bool { passphraseFile != nil || passphraseDescriptor != nil || keyFile != nil || rawKeyFile != nil }

    private var isInEnvironment: Bool {
        ["PASSPHRASE", "PASSPHRASE_FILE", "KEY_FILE"].contains { Environment.nonEmpty(twin.variablePrefix + $0) != nil }
    }

    /// The raw key, where one is given.
    func rawKey() throws(CommandFailure) -> Secret? {
        guard let rawKeyFile else { return nil }
        guard passphraseFile == nil, passphraseDescriptor == nil, keyFile == nil else {
            throw CommandFailure(.usage, "\(twin.optionPrefix)raw-key-file stands alone; leave out the passphrase and the key file")
        }
        let key = try Descriptor.readFile(rawKeyFile, what: "raw key file", limit: 32)
        guard key.count == 32 else {
            throw CommandFailure(.usage, "a raw key file has exactly 32 bytes, \(TerminalText.quoted(rawKeyFile)) has \(key.count)")
        }
        return key
    }

    /// The key file, from the option or the environment.
    func readKeyFile() throws(CommandFailure) -> KeyFile? {
        guard let path = keyFile ?? Environment.nonEmpty(twin.variablePrefix + "KEY_FILE") else { return nil }
        let contents = try Descriptor.readFile(path, what: "key file", limit: 64 << 20)
        return try attempt { () throws(VaultError) in try KeyFile(contents: contents) }
    }

    /// The passphrase, from an option or the environment.
    func passphrase() throws(CommandFailure) -> Secret? {
        if let passphraseDescriptor {
            guard passphraseFile == nil else {
                throw CommandFailure(
                    .usage, "\(twin.optionPrefix)passphrase-file and \(twin.optionPrefix)passphrase-fd exclude each other; give one")
            }
            let name = "descriptor \(passphraseDescriptor)"
            return try Self.withoutNewline(Descriptor.readAll(passphraseDescriptor, name: name, limit: Self.longestPassphrase))
        }
        if let passphraseFile { return try Self.readPassphrase(passphraseFile) }
        if let passphrase = Environment.secret(twin.variablePrefix + "PASSPHRASE") { return passphrase }
        guard let path = Environment.nonEmpty(twin.variablePrefix + "PASSPHRASE_FILE") else { return nil }
        return try Self.readPassphrase(path)
    }

    /// Reads a passphrase file; one newline at its end is not part of the passphrase.
    static func readPassphrase(_ path: String) throws(CommandFailure) -> Secret {
        try withoutNewline(Descriptor.readFile(path, what: "passphrase file", limit: longestPassphrase))
    }

    /// Drops one line end (LF or CR LF).
    static func withoutNewline(_ secret: consuming Secret) -> Secret {
        let count = secret.withUnsafeBytes { bytes in
            guard bytes.last == 0x0A else { return bytes.count }
            return bytes.dropLast().last == 0x0D ? bytes.count - 2 : bytes.count - 1
        }
        return count == secret.count ? secret : secret.prefix(count)
    }

    /// What the format allows, and a line end.
    private static let longestPassphrase = 65_538
}
