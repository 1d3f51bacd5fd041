import ArgumentParser
import VaultAgent
import VaultSecretService

/// Options for the Secret Service, which desktop programs ask for passwords.
struct SecretServiceOptions: ParsableArguments {
    @Option(
        "Also serve the generic passwords of this access group to desktop programs; may be repeated. The first one is the default collection.",
        value: "group", completion: .custom(VaultCompletion.groups))
    var collection: [String] = []

    @Flag(help: "Ask before a desktop program may read or change a secret, or delete an item.")
    var confirm = false

    @Flag(help: "Take the place of another secret service, if it allows that.")
    var replace = false

    func validate() throws {
        guard !collection.isEmpty || !confirm && !replace else {
            throw ValidationError("--confirm and --replace are about desktop programs; add --collection")
        }
        guard collection.allSatisfy({ $0.utf8.count <= Self.longestGroup }) else {
            throw ValidationError("--collection must name an access group of at most \(Self.longestGroup) bytes")
        }
    }

    private static let longestGroup = 255

    var isServed: Bool { !collection.isEmpty }

    /// Connects to the bus; returns nil if no collection is served.
    func connect() throws -> BusConnection? {
        guard isServed else { return nil }
        guard !confirm || ConfirmationProgram.find() != nil else {
            throw CommandFailure(
                .unavailable,
                "--confirm needs a program that asks; set SSH_ASKPASS to its path, or install ssh-askpass")
        }
        return try BusConnection(for: ServiceName.bus, replaces: replace)
    }

    /// Begins to serve a vault's collections.
    func serve(_ vault: ServedVault, on bus: BusConnection) throws -> SecretServiceServer {
        try SecretServiceServer(SecretService(vault, ServedGroups(collection), confirms: confirm), on: bus)
    }
}
