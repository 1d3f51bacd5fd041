import ArgumentParser
import VaultFmt

/// `move`: gives an item another name.
struct Move: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Give an item another name or access group; secret and attributes go with it.",
        discussion: """
            What no --to-… option names stays as it is. A name that is taken is an error (exit 1). A move out of a group that a scoped slot \
            opens rewrites the file, so that the slot opens no old record of the item. What its holder could read before, they may have kept: \
            change the secret.

            Examples:
              vaultfmt move github.com alice --to-account alice.b
              vaultfmt move intranet --to-service intranet.example.org --to-group work
            """)

    @OptionGroup var chosen: ItemChoice
    @OptionGroup(title: "Where to") var destination: Destination
    @OptionGroup var narrowing: NarrowingOption
    @OptionGroup var vault: VaultOptions

    /// The parts of the name that change.
    struct Destination: ParsableArguments {
        @Option("The new service of a generic password.")
        var toService: String?

        @Option("The new account.")
        var toAccount: String?

        @Option("The new server of an internet password.")
        var toServer: String?

        @Option("Its new protocol.")
        var toProtocol: String?

        @Option("Its new port.")
        var toPort: UInt32?

        @Option("Its new path.")
        var toPath: String?

        @Option("The new access group.")
        var toGroup: String?
    }

    func run() throws {
        guard chosen.name.isGiven else { throw ItemName.missing }
        guard destination.isGiven else {
            throw CommandFailure(.usage, "nothing to change; give --to-service, --to-account or the like")
        }
        let opened = try vault.openVault(writable: true)
        let item = try chosen.find(in: opened)
        let key = try destination.key(from: item.key)
        guard destination.toService != "", destination.toServer != "" else {
            throw CommandFailure(.usage, "the new service or server is empty; name it")
        }
        guard try opened.item(key) == nil || key == item.key else {
            throw CommandFailure(.noSuchItem, "\(ItemText.summary(key)) exists already; choose another name")
        }
        try narrowing.change(opened) { (transaction) throws(VaultError) in try transaction.move(item.key, to: key) }
    }
}

extension Move.Destination {
    /// The fields of the key that are to change.
    private var fields: [ItemKey.Field: ItemKey.Value] {
        var fields: [ItemKey.Field: ItemKey.Value] = [:]
        fields[.service] = toService.map { .text($0) }
        fields[.account] = toAccount.map { .text($0) }
        fields[.server] = toServer.map { .text($0) }
        fields[.protocol] = toProtocol.map { .text($0) }
        fields[.port] = toPort.map { .number($0) }
        fields[.path] = toPath.map { .text($0) }
        return fields
    }

    var isGiven: Bool { !fields.isEmpty || toGroup != nil }

    /// The key with the parts that are given put in.
    func key(from key: ItemKey) throws -> ItemKey {
        let fields = fields
        if fields.keys.contains(where: { !$0.classes.contains(key.itemClass) }) {
            switch key.itemClass {
            case .genericPassword: throw refusal("a generic password has no server")
            case .internetPassword: throw refusal("an internet password has a server, not a service")
            default: throw refusal("of an item of class \(key.itemClass.name) only the group can change")
            }
        }
        return try key.replacing(fields, group: toGroup)
    }

    private func refusal(_ reason: String) -> CommandFailure {
        CommandFailure(.usage, "\(reason); see 'vaultfmt move --help'")
    }
}
