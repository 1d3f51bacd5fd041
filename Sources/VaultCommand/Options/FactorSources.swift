import VaultFmt

/// Where factors come from: options first, then the environment, then the terminal.
struct FactorSources {
    /// Current factors, their `--new-…` twins and the `--keep-…` ones differ in names only; the last have no variables.
    enum Twin {
        case current, new, kept

        var optionPrefix: String {
            switch self {
            case .current: "--"
            case .new: "--new-"
            case .kept: "--keep-"
            }
        }

        /// The value of one of this twin's variables.
        func value(_ name: String) -> String? { variable(name).flatMap(Environment.nonEmpty) }

        /// The full name of one of this twin's variables.
        func variable(_ name: String) -> String? {
            switch self {
            case .current: "VAULTFMT_" + name
            case .new: "VAULTFMT_NEW_" + name
            case .kept: nil
            }
        }
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
        ["PASSPHRASE", "PASSPHRASE_FILE", "KEY_FILE"].contains { twin.value($0) != nil }
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

    /// The contents of the key file, from the option or the environment.
    func readKeyFile() throws(CommandFailure) -> Secret? {
        guard let path = keyFile ?? twin.value("KEY_FILE") else { return nil }
        return try Descriptor.readFile(path, what: "key file", limit: 64 << 20)
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
        if let variable = twin.variable("PASSPHRASE"), let passphrase = Environment.secret(variable) { return passphrase }
        guard let path = twin.value("PASSPHRASE_FILE") else { return nil }
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
