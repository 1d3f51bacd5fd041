import VaultFmt

extension FactorSources {
    /// The factors to open the vault at `path` with. What the options and the environment do not give is asked for, if a slot wants it.
    /// - Parameter mayAsk: False with `--no-input`.
    func opening(_ path: String, limits: ReaderLimits, mayAsk: Bool) throws(CommandFailure) -> Factors {
        if let rawKey = try rawKey() { return try Self.factors(rawKey: rawKey) }
        let passphrase = try passphrase()
        let keyFile = try readKeyFile()
        if passphrase != nil { return try Self.factors(passphrase: passphrase, keyFile: keyFile) }
        let slots = try Self.slots(of: path, limits: limits)
        if let keyFile {
            guard Self.needsPassphrase(slots, isGenerated: keyFile.isGenerated) else { return try Self.factors(keyFile: keyFile) }
            let passphrase = try ask(path, mayAsk: mayAsk)
            return try Self.factors(passphrase: passphrase, keyFile: keyFile)
        }
        guard slots.contains(where: { $0.factors == .passphrase }) else {
            let wanted = slots.map(\.factors.description).joined(separator: ", or ")
            throw CommandFailure(
                .noAccess,
                "no slot of \(TerminalText.quoted(path)) opens with a passphrase alone (\(wanted)); give --key-file or --raw-key-file")
        }
        let asked = try ask(path, mayAsk: mayAsk)
        return try Self.factors(passphrase: asked)
    }

    /// The factors for a slot that is made or changed. Without any given, a passphrase is asked for, twice.
    /// - Parameters:
    ///   - question: What is asked for.
    ///   - mayAsk: False with `--no-input`.
    func creating(_ question: String, mayAsk: Bool) throws(CommandFailure) -> Factors {
        if let rawKey = try rawKey() { return try Self.factors(rawKey: rawKey) }
        let passphrase = try passphrase()
        let keyFile = try readKeyFile()
        if passphrase != nil { return try Self.factors(passphrase: passphrase, keyFile: keyFile) }
        if keyFile != nil { return try Self.factors(keyFile: keyFile) }
        let asked = try askNew(question, mayAsk: mayAsk)
        return try Self.factors(passphrase: asked)
    }

    /// A new passphrase, typed twice; an empty one is refused.
    func askNew(_ question: String, mayAsk: Bool) throws(CommandFailure) -> Secret {
        let instead = "give \(twin.optionPrefix)passphrase-file, \(twin.variablePrefix)PASSPHRASE or \(twin.optionPrefix)key-file"
        guard mayAsk else { throw CommandFailure(.noAccess, "no factor is given and --no-input forbids asking; \(instead)") }
        let passphrase = try Prompt.newSecret(question, instead: instead)
        guard passphrase.count > 0 else { throw CommandFailure(.usage, "an empty passphrase protects nothing; type a longer one") }
        return passphrase
    }

    private func ask(_ path: String, mayAsk: Bool) throws(CommandFailure) -> Secret {
        let instead = "give --passphrase-file, VAULTFMT_PASSPHRASE or --key-file"
        guard mayAsk else { throw CommandFailure(.noAccess, "no passphrase is given and --no-input forbids asking; \(instead)") }
        let passphrase = try Prompt.secret("Passphrase for \(TerminalText.escaped(path))", instead: instead)
        guard passphrase.count > 0 else { throw CommandFailure(.noAccess, "no passphrase was typed; \(instead)") }
        return passphrase
    }

    /// Whether a key file of this kind opens slots only together with a passphrase.
    private static func needsPassphrase(_ slots: [SlotInfo], isGenerated: Bool) -> Bool {
        let kind: FactorKinds = isGenerated ? .generatedKeyFile : .otherKeyFile
        let isEnough = slots.contains { $0.factors == kind }
        return !isEnough && slots.contains { $0.factors == [kind, .passphrase] }
    }

    private static func slots(of path: String, limits: ReaderLimits) throws(CommandFailure) -> [SlotInfo] {
        try attempt { () throws(VaultError) in try Vault.inspect(path, limits: limits).slots }
    }

    static func factors(passphrase: consuming Secret? = nil, keyFile: consuming KeyFile? = nil) throws(CommandFailure) -> Factors {
        do throws(VaultError) {
            return try Factors(passphrase: passphrase, keyFile: keyFile)
        } catch {
            throw CommandFailure(error)
        }
    }

    static func factors(rawKey: consuming Secret) throws(CommandFailure) -> Factors {
        do throws(VaultError) {
            return try Factors(rawKey: rawKey)
        } catch {
            throw CommandFailure(error)
        }
    }
}
