package import VaultFmt

/// Where factors come from: what a caller names first, then the environment.
package struct FactorSources: Sendable {
    /// Current factors, their `--new-…` twins and the `--keep-…` ones differ in names only; the last have no variables.
    package enum Twin: Sendable {
        case current, new, kept

        package var optionPrefix: String {
            switch self {
            case .current: "--"
            case .new: "--new-"
            case .kept: "--keep-"
            }
        }

        /// The value of one of this twin's variables.
        func value(_ name: String) -> String? { variable(name).flatMap(Environment.nonEmpty) }

        /// The full name of one of this twin's variables.
        package func variable(_ name: String) -> String? {
            switch self {
            case .current: "VAULTFMT_" + name
            case .new: "VAULTFMT_NEW_" + name
            case .kept: nil
            }
        }
    }

    package var passphraseFile: String?
    package var passphraseDescriptor: Int32?
    package var keyFile: String?
    package var rawKeyFile: String?
    package let twin: Twin

    package init(
        passphraseFile: String? = nil, passphraseDescriptor: Int32? = nil, keyFile: String? = nil,
        rawKeyFile: String? = nil, twin: Twin
    ) {
        self.passphraseFile = passphraseFile
        self.passphraseDescriptor = passphraseDescriptor
        self.keyFile = keyFile
        self.rawKeyFile = rawKeyFile
        self.twin = twin
    }

    /// What the environment alone gives.
    package static let environment = FactorSources(twin: .current)

    /// Whether any factor is given, so that nothing need be asked.
    package var isAnyGiven: Bool { isOptionGiven || isInEnvironment }

    /// Whether a factor is given by an option.
    package var isOptionGiven: Bool {
        passphraseFile != nil || passphraseDescriptor != nil || keyFile != nil || rawKeyFile != nil
    }

    private var isInEnvironment: Bool {
        ["PASSPHRASE", "PASSPHRASE_FILE", "KEY_FILE"].contains { twin.value($0) != nil }
    }

    /// What options and environment give. Throws `invalidArgument` for options that exclude each other, `noSuchFile`,
    /// `io`.
    package func read() throws(VaultError) -> GivenFactors {
        if let rawKey = try rawKey() { return GivenFactors(passphrase: nil, keyFile: nil, rawKey: rawKey) }
        let passphrase = try passphrase()
        let keyFile = try readKeyFile()
        return GivenFactors(passphrase: passphrase, keyFile: keyFile, rawKey: nil)
    }

    private func rawKey() throws(VaultError) -> Secret? {
        guard let rawKeyFile else { return nil }
        guard passphraseFile == nil, passphraseDescriptor == nil, keyFile == nil else {
            throw VaultError(
                .invalidArgument,
                "\(twin.optionPrefix)raw-key-file stands alone; leave out the passphrase and the key file")
        }
        let key = try FactorInput.file(rawKeyFile, what: "raw key file", limit: 32)
        guard key.count == 32 else {
            throw VaultError(
                .invalidArgument,
                "a raw key file has exactly 32 bytes, \(TerminalText.path(rawKeyFile)) has \(key.count)")
        }
        return key
    }

    private func readKeyFile() throws(VaultError) -> Secret? {
        guard let path = keyFile ?? twin.value("KEY_FILE") else { return nil }
        return try FactorInput.file(path, what: "key file", limit: FactorInput.longestKeyFile)
    }

    private func passphrase() throws(VaultError) -> Secret? {
        if let passphraseDescriptor {
            guard passphraseFile == nil else {
                throw VaultError(
                    .invalidArgument,
                    "\(twin.optionPrefix)passphrase-file and \(twin.optionPrefix)passphrase-fd exclude each other; give one"
                )
            }
            return try FactorInput.passphrase(descriptor: passphraseDescriptor)
        }
        if let passphraseFile { return try FactorInput.passphrase(file: passphraseFile) }
        if let variable = twin.variable("PASSPHRASE"), let passphrase = Environment.secret(variable) {
            return passphrase
        }
        guard let path = twin.value("PASSPHRASE_FILE") else { return nil }
        return try FactorInput.passphrase(file: path)
    }
}
