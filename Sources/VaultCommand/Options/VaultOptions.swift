import ArgumentParser
import VaultFmt
import VaultLocal

/// The vault of a command about items.
struct VaultOptions: ParsableArguments {
    @Option(
        "The vault (else VAULTFMT_VAULT, else the default vault).",
        name: [.customShort("f"), .long], value: "file", isFile: true)
    var vault: String?

    @OptionGroup var access: AccessOptions

    /// The path of the vault.
    var path: String { get throws { try VaultPath.resolve(vault) } }

    /// Opens the vault.
    func openVault(writable: Bool = false, device: DeviceNeed = .ifThere) throws -> Vault {
        try access.open(path, writable: writable, device: device)
    }
}

/// The vault of a command about the whole file.
struct VaultFileOptions: ParsableArguments {
    @OptionGroup var name: VaultFileName
    @OptionGroup var access: AccessOptions

    /// The path that was given, if any.
    var file: String? { get throws { try name.given } }

    /// The path of the vault.
    var path: String { get throws { try VaultPath.resolve(name.given) } }

    /// Opens the vault.
    func openVault(writable: Bool = false) throws -> Vault {
        try access.open(path, writable: writable)
    }
}

/// A vault that may be named by an argument, as the file that a command is about, or by the option that every command
/// has.
struct VaultFileName: ParsableArguments {
    @Argument(
        help: ArgumentHelp("The vault (else VAULTFMT_VAULT, else the default vault).", valueName: "file"),
        completion: .file())
    var file: String?

    @Option("The same.", name: [.customShort("f"), .long], value: "file", isFile: true)
    var vault: String?

    /// The path that was given, if any.
    var given: String? {
        get throws {
            if let file, let vault, file != vault {
                throw CommandFailure(
                    .usage,
                    "two vaults are named, \(TerminalText.quoted(file)) and \(TerminalText.quoted(vault)); leave one out"
                )
            }
            return file ?? vault
        }
    }
}
