import ArgumentParser
import Glibc
import VaultAgent
import VaultArguments
import VaultConsole
import VaultFmt
import VaultLocal

/// Options for an agent whose vault is locked: when to open it, and what to list until then.
struct OnDemandOptions: ParsableArguments {
    @Flag(
        help: "Open the vault when a client needs it, with the given factors or a passphrase that a pinentry asks for.")
    var onDemand = false

    @Flag(help: "Keep listing the public keys and their names after the vault has been locked.")
    var listLocked = false

    /// Throws a usage error if the factors come from a source that can be read only once.
    func requireFiles(_ factors: FactorOptions) throws {
        guard onDemand else { return }
        let hasPassphrase = getenv("VAULTFMT_PASSPHRASE").map { $0.pointee != 0 } ?? false
        guard factors.descriptors.isEmpty, !hasPassphrase else {
            throw ValidationError(
                "--on-demand reads factors when they are needed; give files, not a descriptor or VAULTFMT_PASSPHRASE")
        }
    }

    /// Returns how to open the vault at a path when a client needs it; nil if it is not opened on demand.
    func opening(
        _ path: String, _ access: AccessOptions, isWritable: @escaping () -> Bool, _ programs: AskingPrograms
    ) throws -> ServedVault.OnDemand? {
        guard onDemand else { return nil }
        guard programs.canAskForPassphrase || access.factors.isAnythingGiven else {
            throw CommandFailure(
                .unavailable,
                "--on-demand needs a pinentry that asks for the passphrase, or a factor such as --key-file; "
                    + "install pinentry, or name one with --pinentry")
        }
        try access.factors.requireNoPlugins()
        return ServedVault.OnDemand(canAsk: programs.canAskForPassphrase) { () throws(AgentError) in
            try Self.open { try access.openSilently(path, writable: isWritable()) }
        } begin: { (socket) throws(AgentError) in
            try TypedOpening.start(socket)
        } finish: { (answer) throws(AgentError) in
            try TypedOpening.vault(answer) { key in try access.open(path, handed: key, writable: isWritable()) }
        }
    }

    /// Calls a closure that opens a vault, and converts its failure to an `AgentError`, which is `refused` if no slot
    /// opens.
    static func open(_ call: () throws -> Vault?) throws(AgentError) -> Vault? {
        do { return try call() } catch {
            let failure = CommandFailure(error)
            throw AgentError(failure.code == .noSlotOpens ? .refused : .unavailable, failure.message)
        }
    }
}
