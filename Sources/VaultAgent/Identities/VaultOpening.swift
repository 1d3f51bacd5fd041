package import VaultExchange
package import VaultFmt
internal import VaultLocal

// How a vault is opened: with a kept key, or when a client needs it.
extension ServedVault {
    /// Opens the vault with the key that `vaultfmt unlock` keeps; returns nil if it keeps none.
    package typealias Reopening = () throws -> Vault?

    /// The time at which the key that `vaultfmt unlock` keeps expires, in seconds since 1970; nil if it keeps none.
    package struct KeptEnds {
        /// Returns this time for the key of any slot of a vault.
        let any: (VaultID) -> UInt64?
        /// Returns this time for the slot that opened a vault, because another slot's key must not keep the vault open.
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
        /// Opens the vault with the given factors and a passphrase. Throws an `AgentError`, which is `refused` if the
        /// passphrase is wrong.
        let typed: (SharedSecret) throws(AgentError) -> Vault
        /// Whether there is a program that asks for passphrases.
        let canAsk: Bool

        package init(
            canAsk: Bool, asGiven: @escaping () throws(AgentError) -> Vault?,
            typed: @escaping (SharedSecret) throws(AgentError) -> Vault
        ) {
            self.canAsk = canAsk
            self.asGiven = asGiven
            self.typed = typed
        }
    }

    /// Whether the vault is available to a client.
    package enum Readiness: Sendable, Equatable {
        case open
        /// The vault is locked and cannot be opened now.
        case closed
        /// A person has to be asked for a passphrase first; then call `open(typed:now:)`.
        case needsPassphrase
    }

    /// The result of trying a typed passphrase.
    enum Typed: Sendable, Equatable {
        case opened
        case wrong
        /// The vault was not opened, for a reason that no other passphrase would change.
        case refused(String)
    }
}
