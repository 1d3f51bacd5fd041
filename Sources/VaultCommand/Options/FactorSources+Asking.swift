import VaultFmt
import VaultLocal

extension FactorSources {
    /// Whether a passphrase is to be asked for, because a slot wants one and neither the options nor the environment
    /// give it.
    /// - `given`: What they give.
    func wantsPassphrase(_ path: String, beside given: borrowing GivenFactors) throws -> Bool {
        if given.rawKey != nil || given.passphrase != nil { return false }
        let all = try Vault.slots(at: path)
        let slots = all.filter(\.isKnown).map(\.factors)
        // A slot that takes the key file alone is tried first; the passphrase is asked for only if none does.
        if let kind = try whileOpening({ try given.keyFileKind() }) {
            return !slots.contains(kind) && slots.contains([kind, .passphrase])
        }
        guard !slots.contains(.passphrase) else { return true }
        throw CommandFailure(
            .noAccess, "\(TerminalText.quoted(path)) does not open with a passphrase alone; \(SlotAdvice.text(all))")
    }

    /// The factors for a slot that is made or changed. Without any given, a passphrase is asked for, twice.
    /// - `question`: What is asked for.
    /// - `mayAsk`: False with `--no-input`.
    func creating(_ question: String, mayAsk: Bool) throws -> GivenFactors {
        var given = try whileOpening { try read() }
        if given.rawKey == nil, given.passphrase == nil, given.keyFile == nil {
            given.passphrase = try askNew(question, mayAsk: mayAsk)
        }
        return given
    }

    /// A new passphrase, typed twice; an empty one is refused.
    private func askNew(_ question: String, mayAsk: Bool) throws -> Secret {
        let instead =
            "give \(twin.optionPrefix)passphrase-file, \(twin.variable("PASSPHRASE") ?? "") or \(twin.optionPrefix)key-file"
        guard mayAsk else {
            throw CommandFailure(.noAccess, "no factor is given and --no-input forbids asking; \(instead)")
        }
        let passphrase = try Prompt.newSecret(question, instead: instead)
        guard passphrase.count > 0 else {
            throw CommandFailure(.usage, "an empty passphrase protects nothing; type a longer one")
        }
        return passphrase
    }

    /// Asks for the passphrase of the vault at `path`.
    /// - `mayAsk`: False with `--no-input`.
    func ask(_ path: String, mayAsk: Bool) throws -> Secret {
        let instead = "give --passphrase-file, VAULTFMT_PASSPHRASE or --key-file"
        guard mayAsk else {
            throw CommandFailure(.noAccess, "no passphrase is given and --no-input forbids asking; \(instead)")
        }
        let passphrase = try Prompt.secret("Passphrase for \(TerminalText.escaped(path))", instead: instead)
        guard passphrase.count > 0 else { throw CommandFailure(.noAccess, "no passphrase was typed; \(instead)") }
        return passphrase
    }
}
