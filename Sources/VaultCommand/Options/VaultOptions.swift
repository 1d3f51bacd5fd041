import ArgumentParser
import VaultFmt

/// How to get into a vault: its factors, what may be asked, and how far to trust its header's costs.
struct AccessOptions: ParsableArguments {
    @OptionGroup(title: "Factors") var factors: FactorOptions

    @Flag(help: "Never ask anything; fail instead.")
    var noInput = false

    @Option(parsing: .unconditional, help: ArgumentHelp("Wait so long for another writer.", valueName: "seconds"))
    var wait: Double = 10

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Most memory that a slot's key derivation may take.", valueName: "MiB", visibility: .hidden))
    var maxKdfMemory: UInt32?

    @Option(parsing: .unconditional, help: ArgumentHelp("Most passes of a slot's key derivation.", visibility: .hidden))
    var maxKdfPasses: UInt32?

    @Option(parsing: .unconditional, help: ArgumentHelp("Most lanes of a slot's key derivation.", visibility: .hidden))
    var maxKdfLanes: UInt32?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Most memory times passes over all slots that are tried.", valueName: "MiB", visibility: .hidden))
    var maxKdfWork: UInt32?

    func validate() throws {
        guard wait.isFinite, wait >= 0, wait <= 86_400 else { throw ValidationError("--wait takes 0 to 86400 seconds") }
        guard (maxKdfMemory ?? 0) < 1 << 22 else { throw ValidationError("--max-kdf-memory takes at most 4194303 MiB") }
    }

    /// The reader's limits, raised as the options say.
    var limits: ReaderLimits {
        var limits = ReaderLimits()
        if let maxKdfMemory { limits.memoryKiB = maxKdfMemory << 10 }
        if let maxKdfPasses { limits.passes = maxKdfPasses }
        if let maxKdfLanes { limits.lanes = maxKdfLanes }
        if let maxKdfWork { limits.totalKiBPasses = UInt64(maxKdfWork) << 10 }
        return limits
    }

    /// Opens a vault, and compares it with what this machine remembers of it.
    func open(_ path: String, writable: Bool = false, anchors: AnchorPolicy = .enforce) throws(CommandFailure) -> Vault {
        let factors = try factors.sources.opening(path, limits: limits, mayAsk: !noInput)
        return try open(path, with: factors, writable: writable, anchors: anchors)
    }

    /// As `open`, with factors that were read already.
    func open(
        _ path: String, with factors: borrowing Factors, writable: Bool, anchors: AnchorPolicy = .enforce
    ) throws(CommandFailure) -> Vault {
        var options = OpenOptions()
        options.writable = writable
        options.limits = limits
        options.lockWait = wait
        options.device = try DeviceFile.load()
        let vault: Vault
        do throws(VaultError) {
            vault = try Vault.open(path, factors: factors, options: options)
        } catch {
            throw CommandFailure(error)
        }
        if case .enforce = anchors { try AnchorMemory.check(vault) }
        return vault
    }
}

/// What to do with the state that this machine remembers of a vault.
enum AnchorPolicy {
    /// Refuse an older or forked vault.
    case enforce
    /// Leave the verdict to the caller.
    case ignore
}

/// The vault of a command about items.
struct VaultOptions: ParsableArguments {
    @Option(
        name: [.customShort("f"), .long], parsing: .unconditional,
        help: ArgumentHelp("The vault (else VAULTFMT_VAULT, else the default vault).", valueName: "file"), completion: .file())
    var vault: String?

    @OptionGroup var access: AccessOptions

    /// The path of the vault.
    var path: String { get throws(CommandFailure) { try VaultPath.resolve(vault) } }

    /// Opens the vault.
    func openVault(writable: Bool = false) throws(CommandFailure) -> Vault {
        try access.open(path, writable: writable)
    }
}

/// The vault of a command about the whole file.
struct VaultFileOptions: ParsableArguments {
    @Argument(help: ArgumentHelp("The vault (else VAULTFMT_VAULT, else the default vault).", valueName: "file"), completion: .file())
    var file: String?

    @OptionGroup var access: AccessOptions

    /// The path of the vault.
    var path: String { get throws(CommandFailure) { try VaultPath.resolve(file) } }

    /// Opens the vault.
    func openVault(writable: Bool = false) throws(CommandFailure) -> Vault {
        try access.open(path, writable: writable)
    }
}
