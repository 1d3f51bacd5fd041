package import ArgumentParser
import VaultConsole
package import VaultFmt
import VaultLocal

/// The vault for a command that works on items.
package struct VaultOptions: ParsableArguments {
    @Option(
        "The vault; if omitted, VAULTFMT_VAULT or the default vault.",
        name: [.customShort("f"), .customLong("vault")], value: "file", isFile: true)
    var vaults: [String] = []

    @OptionGroup(title: "Access") package var access: AccessOptions

    package init() {}

    package func validate() throws { try requireOne(vaults) }

    /// The path of the vault.
    package var path: String { get throws { try VaultPath.resolve(vaults.first) } }

    /// Opens the vault.
    package func openVault(writable: Bool = false, device: DeviceNeed = .ifThere) throws -> Vault {
        try access.open(path, writable: writable, device: device)
    }
}

/// The vaults for a command that searches.
package struct SearchedVaults: ParsableArguments {
    @Option(
        "The vault; if omitted, VAULTFMT_VAULT or the default vault; may be repeated.",
        name: [.customShort("f"), .customLong("vault")], value: "file", isFile: true)
    var vaults: [String] = []

    @OptionGroup(title: "Access") var access: AccessOptions

    package init() {}

    /// Opens all the vaults, with their paths.
    package func open() throws -> [(path: String, vault: Vault)] {
        let paths = vaults.isEmpty ? [try VaultPath.resolve(nil)] : try vaults.map { try VaultPath.resolve($0) }
        return try paths.map { path in (path, try access.open(path)) }
    }
}

/// The vault for a command that works on the whole file.
package struct VaultFileOptions: ParsableArguments {
    @OptionGroup package var name: VaultFileName
    @OptionGroup(title: "Access") package var access: AccessOptions

    package init() {}

    /// The path that was given, if any.
    package var file: String? { get throws { try name.given } }

    /// The path of the vault.
    package var path: String { get throws { try VaultPath.resolve(name.given) } }

    /// Opens the vault.
    package func openVault(writable: Bool = false) throws -> Vault {
        try access.open(path, writable: writable)
    }
}

/// A vault that can be named by an argument, because the command works on the whole file, or by the option that every
/// command has.
package struct VaultFileName: ParsableArguments {
    @Argument(
        help: ArgumentHelp("The vault; if omitted, VAULTFMT_VAULT or the default vault.", valueName: "file"),
        completion: .file())
    package var file: String?

    @Option(
        "The vault, given as an option.", name: [.customShort("f"), .customLong("vault")], value: "file", isFile: true)
    var vaults: [String] = []

    package init() {}

    package func validate() throws { try requireOne(vaults) }

    /// The value of the option.
    package var vault: String? { vaults.first }

    /// The path that was given, if any.
    package var given: String? {
        get throws {
            if let file, let vault, file != vault {
                throw CommandFailure(
                    .usage,
                    "two vaults are named, \(TerminalText.path(file)) and \(TerminalText.path(vault)); leave one out"
                )
            }
            return file ?? vault
        }
    }
}

/// Throws an error for a second `--vault`: otherwise, the command would use one of the two vaults and silently ignore
/// the other.
private func requireOne(_ vaults: [String]) throws {
    guard vaults.count <= 1 else {
        throw ValidationError("--vault is given twice, but this command uses only one; leave one out")
    }
}
