import ArgumentParser
import VaultAgent
import VaultArguments
import VaultConsole
import VaultFmt
import VaultLocal
import VaultSecretService

/// Options for the Secret Service, through which desktop programs access passwords.
struct SecretServiceOptions: ParsableArguments {
    @Option(
        "Also serve the generic passwords of this access group to desktop programs; may be repeated. The first one is the default collection.",
        value: "group", completion: .custom(VaultCompletion.groups))
    var collection: [String] = []

    @Flag(help: "Ask before a desktop program reads or changes a secret, or deletes an item.")
    var confirm = false

    @Flag(help: "Replace another secret service on the bus, if that service allows it; gnome-keyring does not.")
    var replace = false

    func validate() throws {
        guard !collection.isEmpty || !confirm && !replace else {
            throw ValidationError("--confirm and --replace apply to desktop programs; add --collection")
        }
        guard collection.allSatisfy({ $0.utf8.count <= Self.longestGroup }) else {
            throw ValidationError("--collection must name an access group of at most \(Self.longestGroup) bytes")
        }
    }

    private static let longestGroup = 255

    var isServed: Bool { !collection.isEmpty }

    /// Connects to the bus; returns nil if no collection is served.
    /// - `canAsk`: Whether there is a program that can ask for consent.
    func connect(canAsk: Bool) throws -> BusConnection? {
        guard isServed else { return nil }
        guard !confirm || canAsk else {
            throw CommandFailure(
                .unavailable,
                "--confirm needs a program that asks; set SSH_ASKPASS to its path, or name a pinentry with --pinentry")
        }
        return try BusConnection(for: ServiceName.bus, replaces: replace)
    }

    /// Warns about collections that the slot does not grant, since an owner may grant them later. Throws if the slot
    /// grants none, because nothing would be served.
    func check(_ vault: Vault) throws {
        guard isServed, case .scoped(let granted) = vault.access else { return }
        let missing = ServedGroups(collection).missing(in: granted)
        let names = missing.groups.map { TerminalText.quoted($0) }.joined(separator: ", ")
        guard !missing.isAll else {
            throw CommandFailure(
                .noAccess,
                "the slot that opened the vault does not grant \(names), so nothing would be served; "
                    + "name a group that it grants with --collection, or open the vault with another slot")
        }
        guard !missing.groups.isEmpty else { return }
        Terminal.warning("not served: \(names): the slot that opened the vault does not grant it")
    }

    /// Starts serving a vault's collections.
    func serve(_ vault: ServedVault, on bus: BusConnection) throws -> SecretServiceServer {
        try SecretServiceServer(SecretService(vault, ServedGroups(collection), confirms: confirm), on: bus)
    }
}
