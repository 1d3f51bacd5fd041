import VaultConsole
package import VaultFmt
package import VaultLocal

/// The need for a passphrase in addition to the given factors.
package enum PassphraseNeed {
    case no, yes
    /// At least one slot may not need a passphrase; such slots are tried first.
    case ifNothingElseOpens
}

extension FactorSources {
    /// Returns whether a slot needs a passphrase that neither the options nor the environment provide.
    /// - `given`: The factors that the options and the environment provide.
    /// - `source`: Where the slots are read.
    package func passphraseNeed(
        _ path: String, beside given: borrowing GivenFactors, in source: SlotSource = .header
    ) throws -> PassphraseNeed {
        if given.isEmpty { return .yes }
        if given.rawKey != nil || given.passphrase != nil { return .no }
        let kinds = try whileOpening { try given.combinations() }
        let slots = try source.slots(at: path).filter(\.isKnown).map(\.factors)
        guard kinds.contains(where: { slots.contains([$0, .passphrase]) }) else { return .no }
        return kinds.contains(where: { slots.contains($0) }) ? .ifNothingElseOpens : .yes
    }

    /// Returns the options that give factors, including the one for an identity, which is not one of these sources.
    func options(of given: borrowing GivenFactors) -> [String] {
        givenOptions + (given.named.contains(.external) ? ["\(twin.optionPrefix)identity"] : [])
    }

    /// Throws an error if none of the vault's slots can be opened with only a passphrase.
    package func requirePassphraseSlot(_ path: String, in source: SlotSource = .header) throws {
        let slots = try source.slots(at: path)
        guard slots.contains(where: { $0.isKnown && $0.factors == .passphrase }) else {
            throw CommandFailure(
                .noAccess,
                "\(TerminalText.path(path)) does not open with a passphrase alone; \(SlotAdvice.text(slots))")
        }
    }

    /// Returns the factors for a slot that is being added or changed. If none are given, asks twice for a passphrase.
    /// - `question`: The text of the prompt.
    /// - `mayAsk`: False with `--no-input`.
    /// - `recipients`: The recipients' factor, if the slot is for recipients.
    package func creating(
        _ question: String, mayAsk: Bool, recipients: (any SlotFactor)? = nil
    ) throws -> GivenFactors {
        var given = try whileOpening { try read() }
        given.external = recipients
        if given.rawKey != nil, recipients != nil {
            throw CommandFailure(
                .usage, "\(twin.optionPrefix)raw-key-file cannot be combined with recipients; leave one out")
        }
        if given.keyFile != nil, recipients != nil {
            throw CommandFailure(
                .usage,
                "a slot for recipients can require a passphrase but not a key file; leave out the key file, or create two slots"
            )
        }
        if given.isEmpty {
            given.passphrase = try askNew(question, mayAsk: mayAsk)
        }
        return given
    }

    /// Asks twice for a new passphrase; an empty passphrase is rejected.
    private func askNew(_ question: String, mayAsk: Bool) throws -> Secret {
        guard mayAsk else {
            throw CommandFailure(.noAccess, "no factor is given, and --no-input forbids prompting; \(instead)")
        }
        let passphrase = try Prompt.newSecret(question, instead: instead)
        guard passphrase.count > 0 else {
            throw CommandFailure(.usage, "an empty passphrase protects nothing; type a longer one")
        }
        return passphrase
    }

    /// A description of the options to use if prompting is not possible.
    private var instead: String {
        let ways = ["\(twin.optionPrefix)passphrase-file"] + (twin.variable("PASSPHRASE").map { [$0] } ?? [])
        return "use \(ways.joined(separator: ", ")) or \(twin.optionPrefix)key-file"
    }

    /// Asks for the passphrase of the vault at `path`.
    /// - `name`: The vault's name in the question, if the name is not the path.
    /// - `isAlone`: Whether no other factor is given. The vault must then have a slot that needs only a passphrase.
    /// - `mayAsk`: False with `--no-input`.
    /// - `source`: Where the slots are read.
    func ask(
        _ path: String, called name: String? = nil, isAlone: Bool, mayAsk: Bool, in source: SlotSource
    ) throws -> Secret {
        if isAlone { try requirePassphraseSlot(path, in: source) }
        guard mayAsk else {
            throw CommandFailure(.noAccess, "no passphrase is given, and --no-input forbids prompting; \(instead)")
        }
        let passphrase = try Prompt.secret("Passphrase for \(TerminalText.escaped(name ?? path))", instead: instead)
        guard passphrase.count > 0 else { throw CommandFailure(.noAccess, "no passphrase was typed; \(instead)") }
        return passphrase
    }
}
