internal import VaultExchange
package import VaultFmt
internal import VaultLocal

// How a vault is opened: with a kept key, or when a client needs it.
extension ServedVault {
    /// Opens the vault with the key that `vaultfmt unlock` keeps; returns nil if it keeps none.
    package typealias Reopening = () throws -> Vault?

    /// The time at which the key that `vaultfmt unlock` keeps expires, in seconds since 1970; nil if it keeps none.
    package struct KeptEnds {
        /// Returns the time at which the kept key expires, whichever of the vault's slots it belongs to.
        let any: (VaultID) -> UInt64?
        /// Returns that time only if the key belongs to the slot that opened the vault, because another slot's key must
        /// not keep the vault open.
        let ofSlot: (Vault) -> UInt64?

        package init(any: @escaping (VaultID) -> UInt64?, ofSlot: @escaping (Vault) -> UInt64?) {
            self.any = any
            self.ofSlot = ofSlot
        }

        /// Looks in the kernel's keyring. A key that cannot be read is treated as not kept.
        package static var ofKernel: KeptEnds {
            KeptEnds { vault in
                do throws(VaultError) { return try Machine.unlockedUntil(vault) } catch { return nil }
            } ofSlot: { vault in
                do throws(VaultError) { return try Machine.unlockedUntil(asOpened: vault) } catch { return nil }
            }
        }
    }

    /// How to open the vault when a client needs it.
    package struct OnDemand {
        /// Opens the vault with the given factors, without prompting; returns nil if a passphrase is also needed.
        /// Throws an `AgentError` with a reason to show to the user.
        let asGiven: () throws(AgentError) -> Vault?
        /// Starts a process that opens the vault with the given factors and the passphrase that it reads, as
        /// ``Opening`` describes; returns its process id.
        let begin: (_ socket: Int32) throws(AgentError) -> Int32
        /// Opens the vault with that process's answer, without deriving a key. Throws an `AgentError`, which is
        /// `refused` if the passphrase is wrong.
        let finish: (_ answer: UnsafeRawBufferPointer) throws(AgentError) -> Vault
        /// True if there is a program that asks for passphrases.
        let canAsk: Bool

        package init(
            canAsk: Bool, asGiven: @escaping () throws(AgentError) -> Vault?,
            begin: @escaping (_ socket: Int32) throws(AgentError) -> Int32,
            finish: @escaping (_ answer: UnsafeRawBufferPointer) throws(AgentError) -> Vault
        ) {
            self.canAsk = canAsk
            self.asGiven = asGiven
            self.begin = begin
            self.finish = finish
        }
    }

    /// The availability of the vault to a client.
    package enum Readiness: Sendable, Equatable {
        case open
        /// The vault is locked and cannot be opened now.
        case closed
        /// A person has to be asked for a passphrase first; then call `beginOpening(typed:now:)`.
        case needsPassphrase
    }

    /// The result of trying a typed passphrase.
    enum Typed: Sendable, Equatable {
        case opened
        case wrong
        /// The vault was not opened, for a reason that no other passphrase would change.
        case refused(String)
    }

    // MARK: typed passphrases

    /// Starts to open the vault with a passphrase that was typed because a client needs the vault. Returns the result
    /// if it is already known; otherwise, `finishOpening` returns it later.
    func beginOpening(typed passphrase: SharedSecret, now: UInt64) -> Typed? {
        if let reason = lockedReason, isBarred { return .refused(reason) }
        guard let reason = lockedReason else { return .opened }
        guard let onDemand else { return .refused(reason) }
        abandonOpening()
        do throws(AgentError) {
            opening = try Opening.start(passphrase, now: now, by: onDemand.begin)
            return nil
        } catch { return refused(error.message) }
    }

    /// Returns the result of trying a typed passphrase once it is known; nil while its key is derived. Call it when
    /// the descriptor of `opening` becomes readable, and at its end.
    func finishOpening(now: UInt64) -> Typed? {
        guard let onDemand, let opening else { return nil }
        opening.readAnswer()
        guard opening.hasAnswered else {
            guard opening.end <= now else { return nil }
            abandonOpening()
            return refused("deriving its key took longer than \(Opening.patience / 1000) seconds")
        }
        defer { opening.abandon() }
        self.opening = nil
        do throws(AgentError) {
            let vault = try opening.withAnswer { (answer) throws(AgentError) in try onDemand.finish(answer) }
            return admit(vault, now: now) ? .opened : .refused(lockedReason ?? "it is locked")
        } catch {
            guard error.code != .refused else { return .wrong }
            return refused(error.message)
        }
    }

    /// Ends the process that opens the vault with a typed passphrase, if there is one; its result is not used.
    func abandonOpening() {
        opening?.abandon()
        opening = nil
    }

    private func refused(_ reason: String) -> Typed {
        lock(reason)
        return .refused(reason)
    }
}
