package import VaultExchange
package import VaultFmt
internal import VaultLocal

// How a vault is opened, again or when a client needs something of it.
extension ServedVault {
    /// Opens the vault with the key that `vaultfmt unlock` keeps; returns nil if it keeps none.
    package typealias Reopening = () throws -> Vault?

    /// Until when `vaultfmt unlock` keeps a key, in seconds since 1970; nil if it keeps none.
    package struct KeptEnds {
        /// A key of any slot of a vault.
        let any: (VaultID) -> UInt64?
        /// The key of the slot that has opened a vault: another one must not keep that open.
        let ofSlot: (Vault) -> UInt64?

        package init(any: @escaping (VaultID) -> UInt64?, ofSlot: @escaping (Vault) -> UInt64?) {
            self.any = any
            self.ofSlot = ofSlot
        }

        /// What is in the kernel's keyring. What cannot be read there is not kept.
        package static var ofKernel: KeptEnds {
            KeptEnds { vault in
                do throws(VaultError) { return try Machine.unlockedUntil(vault) } catch { return nil }
            } ofSlot: { vault in
                do throws(VaultError) { return try Machine.unlockedUntil(asOpened: vault) } catch { return nil }
            }
        }
    }

    /// How the vault is opened when a client needs something of it.
    package struct OnDemand {
        /// Opens the vault with the factors that were given; returns nil if a passphrase is needed, too. It asks
        /// nobody. Throws `AgentError` with a reason for people.
        let asGiven: () throws(AgentError) -> Vault?
        /// Opens the vault with these factors and a passphrase. Throws `AgentError`: `refused` if the passphrase is
        /// wrong.
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

    /// Whether a client can have what it needs of the vault.
    package enum Readiness: Sendable, Equatable {
        case open
        /// It is locked, and stays so.
        case closed
        /// A person is to be asked for a passphrase; then `open(typed:now:)` is called.
        case needsPassphrase
    }

    /// What a typed passphrase has led to.
    enum Typed: Sendable, Equatable {
        case opened
        case wrong
        /// The vault is not opened, for a reason that another passphrase does not change.
        case refused(String)
    }
}
