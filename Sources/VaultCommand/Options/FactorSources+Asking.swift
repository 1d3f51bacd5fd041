import VaultFmt
import VaultLocal

extension FactorSources {
    /// Whether to ask for a passphrase: a slot needs one, and neither the options nor the environment provide it.
    /// - `given`: The factors that the options and the environment provide.
    /// - `hasIdentityOption`: Whether identities are given by an option, and are therefore meant for this vault.
    func wantsPassphrase(
        _ path: String, beside given: borrowing GivenFactors, hasIdentityOption: Bool = false
    ) throws -> Bool {
        if given.rawKey != nil || given.passphrase != nil { return false }
        let all = try Vault.slots(at: path)
        let slots = all.filter(\.isKnown).map(\.factors)
        // Likewise, a slot that needs only an identity is tried before one that also needs a passphrase. If this vault
        // has no such slot, an identity named by the environment is meant for other vaults.
        if given.external != nil {
            if slots.contains(.externalKey) { return false }
            if slots.contains([.externalKey, .passphrase]) { return true }
            if hasIdentityOption { return false }
        }
        // A slot that needs only the key file is tried first; the passphrase is asked for only if there is none.
        if let kind = try whileOpening({ try given.keyFileKind() }) {
            return !slots.contains(kind) && slots.contains([kind, .passphrase])
        }
        guard !slots.contains(.passphrase) else { return true }
        throw CommandFailure(
            .noAccess, "\(TerminalText.path(path)) does not open with a passphrase alone; \(SlotAdvice.text(all))")
    }

    /// Returns the factors for a slot that is being added or changed. If none are given, asks twice for a passphrase.
    /// - `question`: The text of the prompt.
    /// - `mayAsk`: False with `--no-input`.
    /// - `recipients`: The recipients' factor, if the slot is for recipients.
    func creating(_ question: String, mayAsk: Bool, recipients: (any SlotFactor)? = nil) throws -> GivenFactors {
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

    /// Asks twice for a new passphrase; an empty one is refused.
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

    /// What to give where nobody can be asked.
    private var instead: String {
        let ways = ["\(twin.optionPrefix)passphrase-file"] + (twin.variable("PASSPHRASE").map { [$0] } ?? [])
        return "give \(ways.joined(separator: ", ")) or \(twin.optionPrefix)key-file"
    }

    /// Asks for the passphrase of the vault at `path`.
    /// - `mayAsk`: False with `--no-input`.
    func ask(_ path: String, mayAsk: Bool) throws -> Secret {
        guard mayAsk else {
            throw CommandFailure(.noAccess, "no passphrase is given, and --no-input forbids prompting; \(instead)")
        }
        let passphrase = try Prompt.secret("Passphrase for \(TerminalText.escaped(path))", instead: instead)
        guard passphrase.count > 0 else { throw CommandFailure(.noAccess, "no passphrase was typed; \(instead)") }
        return passphrase
    }
}
