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
    var isGiven: Bool {
        toService != nil || toAccount != nil || toServer != nil || toProtocol != nil || toPort != nil || toPath != nil
            || toGroup != nil
    }

    /// The key with the parts that are given put in.
    func key(from key: ItemKey) throws -> ItemKey {
        let fields: ItemKey.Fields
        switch key.fields {
        case .genericPassword(let service, let account):
            try reject(
                toServer != nil || toProtocol != nil || toPort != nil || toPath != nil,
                "a generic password has no server")
            fields = .genericPassword(service: toService ?? service, account: toAccount ?? account)
        case .internetPassword(
            let server, let networkProtocol, let port, let path, let account, let domain, let authentication):
            try reject(toService != nil, "an internet password has a server, not a service")
            fields = .internetPassword(
                server: toServer ?? server, protocol: toProtocol ?? networkProtocol, port: toPort ?? port,
                path: toPath ?? path,
                account: toAccount ?? account, securityDomain: domain, authenticationType: authentication)
        case .certificate, .key, .identity, .reserved:
            let others =
                toService != nil || toAccount != nil || toServer != nil || toProtocol != nil || toPort != nil
                || toPath != nil
            try reject(others, "of an item of class \(key.itemClass.name) only the group can change")
            fields = key.fields
        }
        return try ItemKey(fields, group: toGroup ?? key.group, synchronizable: key.synchronizable)
    }

    private func reject(_ condition: Bool, _ reason: String) throws {
        if condition { throw CommandFailure(.usage, "\(reason); see 'vaultfmt move --help'") }
    }
}
