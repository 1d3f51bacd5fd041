package import VaultFmt

/// The sources of factors: those that the caller specifies take precedence over the environment. Factors from the
/// environment only complete them (``GivenFactors/Named``).
package struct FactorSources: Sendable {
    /// The options for current, new (`--new-…`) and kept (`--keep-…`) factors and for those of another copy of the
    /// vault (`--other-…`) or of another vault (`--to-…`) differ only in their names. The last three do not have
    /// environment variables.
    package enum Twin: Sendable {
        case current, new, kept, otherCopy, other

        package var optionPrefix: String {
            switch self {
            case .current: "--"
            case .new: "--new-"
            case .kept: "--keep-"
            case .otherCopy: "--other-"
            case .other: "--to-"
            }
        }

        /// Returns the value of an environment variable for factors of this kind.
        func value(_ name: String) -> String? { variable(name).flatMap(Environment.nonEmpty) }

        /// Returns the full name of an environment variable for factors of this kind; nil if there is none.
        package func variable(_ name: String) -> String? {
            switch self {
            case .current: "VAULTFMT_" + name
            case .new: "VAULTFMT_NEW_" + name
            case .kept, .otherCopy, .other: nil
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

    /// The sources from the environment only.
    package static let environment = FactorSources(twin: .current)

    /// True if any factor is given; the user is then not asked for one.
    package var isAnyGiven: Bool { isOptionGiven || isInEnvironment }

    /// True if a factor is given by an option.
    package var isOptionGiven: Bool {
        passphraseFile != nil || passphraseDescriptor != nil || keyFile != nil || rawKeyFile != nil
    }

    /// The options that give factors, such as `--key-file`.
    package var givenOptions: [String] {
        let options = [
            ("passphrase-file", passphraseFile != nil), ("passphrase-fd", passphraseDescriptor != nil),
            ("key-file", keyFile != nil), ("raw-key-file", rawKeyFile != nil),
        ]
        return options.compactMap { name, isGiven in isGiven ? twin.optionPrefix + name : nil }
    }

    private var isInEnvironment: Bool {
        ["PASSPHRASE", "PASSPHRASE_FILE", "KEY_FILE"].contains { twin.value($0) != nil }
    }

    /// Reads the factors given by options and the environment. Throws `invalidArgument` for mutually exclusive options,
    /// and `noSuchFile` or `io` if a file cannot be read.
    package func read() throws(VaultError) -> GivenFactors {
        if let rawKey = try rawKey() { return GivenFactors(passphrase: nil, keyFile: nil, rawKey: rawKey) }
        let passphrase = try passphrase()
        let keyFile = try readKeyFile()
        return GivenFactors(passphrase: passphrase, keyFile: keyFile, rawKey: nil, named: named)
    }

    /// The open descriptors that the sources refer to.
    package var descriptors: [Int32] {
        let files = [passphraseFile, keyFile, rawKeyFile, twin.value("PASSPHRASE_FILE"), twin.value("KEY_FILE")]
        return [passphraseDescriptor].compactMap { $0 } + files.compactMap { $0.flatMap(FactorInput.descriptor) }
    }

    private var named: GivenFactors.Named {
        var named: GivenFactors.Named = []
        if passphraseFile != nil || passphraseDescriptor != nil { named.insert(.passphrase) }
        if keyFile != nil { named.insert(.keyFile) }
        return named
    }

    private func rawKey() throws(VaultError) -> Secret? {
        guard let rawKeyFile else { return nil }
        guard passphraseFile == nil, passphraseDescriptor == nil, keyFile == nil else {
            throw VaultError(
                .invalidArgument,
                "\(twin.optionPrefix)raw-key-file cannot be combined; leave out the passphrase and the key file")
        }
        let key = try FactorInput.file(rawKeyFile, what: "raw key file", limit: 32)
        guard key.count == 32 else {
            throw VaultError(
                .invalidArgument,
                "a raw key file must contain exactly 32 bytes, but \(TerminalText.path(rawKeyFile)) has \(key.count)")
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
                    "\(twin.optionPrefix)passphrase-file and \(twin.optionPrefix)passphrase-fd are mutually exclusive; use only one"
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
