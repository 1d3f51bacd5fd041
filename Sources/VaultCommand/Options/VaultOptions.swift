import ArgumentParser
import VaultFmt

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
    func openVault(writable: Bool = false, device: DeviceNeed = .ifThere) throws(CommandFailure) -> Vault {
        try access.open(path, writable: writable, device: device)
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
