import ArgumentParser
import VaultArguments
import VaultConsole
import VaultExchange
import VaultFmt
import VaultLocal
import VaultSync

/// `move`: renames items or moves them.
struct Move: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "move",
        abstract: "Rename items, or change their folder or group.",
        discussion: """
            The secret and the attributes move with the item; fields without a --to-… option do not change. Given just \
            two names, the command renames the first item to the second name; if the last name ends with a slash, it \
            moves the other items into that folder. If the new name is taken, the command fails (exit 1). Moving an \
            item out of a group that a scoped slot opens rewrites the file, so that the slot cannot open the item's \
            old records. The slot's holder may have kept a copy of the secret, so change the secret.

            Examples:
              vaultfmt move gogle google
              vaultfmt move github.com alice --to-account alice.b
              vaultfmt move netflix spotify entertainment/
              vaultfmt move --folder acme --to-folder zenith
            """)

    @OptionGroup var chosen: ItemSelection
    @OptionGroup(title: "Filters") var filters: ItemFilters
    @OptionGroup(title: "Where to") var destination: Destination
    @OptionGroup var narrowing: NarrowingOption
    @OptionGroup var vault: VaultOptions

    /// The parts of the name to change, and the folder.
    struct Destination: ParsableArguments {
        @Option("The new service of a generic password.")
        var toService: String?

        @Option("The new account.")
        var toAccount: String?

        @Option("The new server for an internet password.")
        var toServer: String?

        @Option("The server's new protocol.")
        var toProtocol: String?

        @Option("The server's new port.")
        var toPort: UInt32?

        @Option("The server's new path.")
        var toPath: String?

        @Option("The new access group.", completion: .custom(VaultCompletion.groups))
        var toGroup: String?

        @Option(
            "The new folder; '' for none. If a folder is moved with --folder, its subfolders keep their names.",
            completion: .custom(VaultCompletion.folders))
        var toFolder: String?
    }

    /// The result for one item.
    private struct Step {
        let item: Item
        let key: ItemKey
        let attributes: AttributeChanges
    }

    func run() throws {
        try chosen.check(isFiltered: filters.isAnyGiven)
        let (chosen, target) = try split()
        let criteria = try ItemCriteria(id: chosen.id, filters, chosen.place)
        guard destination.isGiven || target != nil else { throw Self.nothingToChange }
        guard destination.toService != "", destination.toServer != "" else {
            throw CommandFailure(.usage, "the new service or server is empty; specify a name")
        }
        if chosen.maySelectSeveral(isFiltered: !filters.attribute.isEmpty) {
            try chosen.requireConsent(vault.access, doing: Self.doing)
        }
        let opened = try vault.openVault(writable: true)
        if case .name(let name) = target { try requireNoAccount(name, in: opened, criteria) }
        let items = try found(chosen, criteria, target, in: opened)
        let steps = try items.map { item in try step(for: item, target, in: opened) }
        try requireFree(steps, in: opened)
        if items.count > 1, try !chosen.isConfirmed(items, "Move", vault.access, doing: Self.doing) {
            throw CommandFailure.declined("nothing was moved")
        }
        let conflicts = try ConflictsBefore(of: items, in: opened)
        try narrowing.change(opened) { (transaction) throws(VaultError) in
            for step in steps {
                try transaction.move(step.item.key, to: step.key)
                if !step.attributes.isEmpty { try transaction.update(step.key, attributes: step.attributes) }
            }
        }
        for step in steps where step.key != step.item.key {
            try ItemSelection.noteNewHolder(of: step.item.key, in: opened)
        }
        if items.count > 1 { Terminal.note("moved \(items.count) items") }
        try conflicts.report(in: opened)
    }

    /// Finds the items. A word that names no item can be the name of a folder or a group, which another option moves.
    private func found(
        _ chosen: ItemSelection, _ criteria: ItemCriteria, _ target: Target?, in vault: Vault
    ) throws -> [Item] {
        do {
            return try chosen.find(
                in: vault, criteria, isFiltered: !filters.attribute.isEmpty,
                mayAsk: !chosen.yes && !self.vault.access.noInput)
        } catch let failure as CommandFailure where failure.status == .noSuchItem {
            guard chosen.names.count == 1, let word = chosen.names.first, case .name(let new) = target else {
                throw failure
            }
            let (old, name) = (TerminalText.word(word), TerminalText.word(new))
            if try ItemFilter(folder: word).isKnown(in: vault) {
                throw CommandFailure(
                    .noSuchItem,
                    "\(TerminalText.quoted(word)) is a folder; 'vaultfmt move --folder \(old) --to-folder \(name)' renames it"
                )
            }
            if try ItemFilter().isKnown(in: vault, group: word) {
                throw CommandFailure(
                    .noSuchItem,
                    "\(TerminalText.quoted(word)) is a group; 'vaultfmt move --group \(old) --all --to-group \(name)' renames it"
                )
            }
            throw failure
        }
    }

    private static let doing = "moving several items"
    private static let nothingToChange = CommandFailure(
        .usage, "nothing to change; use --to-service, --to-account, --to-folder or a similar option, or a new name")

    /// Throws an error if two words together name an item, because the command has no new name.
    private func requireNoAccount(_ name: String, in opened: Vault, _ criteria: ItemCriteria) throws {
        let whole = try ItemName.of(chosen.names.first, name, chosen.fields)
        guard try whole.findAll(in: opened, criteria).isEmpty else { throw Self.nothingToChange }
    }

    /// The meaning of the last word if no --to-… option is given.
    private enum Target {
        case name(String)
        case folder(String)
    }

    /// Returns the items' names and the destination given by the last word: a folder if it ends with a slash, or a new
    /// name if there are two words and no option.
    private func split() throws -> (ItemSelection, Target?) {
        guard chosen.names.count > 1, let last = chosen.names.last else { return (chosen, nil) }
        var rest = chosen
        rest.names.removeLast()
        if last.hasSuffix("/"), last.count > 1, destination.toFolder == nil {
            return (rest, .folder(String(last.dropLast())))
        }
        guard chosen.names.count == 2, !destination.isGiven else { return (chosen, nil) }
        return (rest, .name(last))
    }

    private func step(for item: Item, _ target: Target?, in opened: Vault) throws -> Step {
        // A suffix that distinguishes an item from another one with the same name is not part of its name.
        var isRenamed = destination.changesKey
        if case .name = target { isRenamed = true }
        var key = try destination.key(from: isRenamed ? item.storedKey : item.key)
        var folder = destination.toFolder
        switch target {
        case .name(let name): key = try key.renamed(name)
        case .folder(let name): folder = name
        case nil: break
        }
        var attributes = changes(of: item, folder)
        // A label that only repeats the name changes with it.
        if let label = item.attributes.label, label == ItemText.name(item.key).first,
            let name = ItemText.name(key).first
        {
            if name != label { attributes.set[AttributeName.label] = Array(name.utf8) }
        }
        try attributes.keepDate(ofSecretOf: item, in: opened)
        return Step(item: item, key: key, attributes: attributes)
    }

    /// The new value of the folder attribute. If a folder is moved, its subfolders move with it.
    private func changes(of item: Item, _ folder: String?) -> AttributeChanges {
        guard let folder else { return AttributeChanges() }
        let moved = chosen.place.folder.map(FolderPath.names) ?? []
        let below = moved.isEmpty ? [] : Array(ItemPlace.folder(of: item).dropFirst(moved.count))
        let path = FolderPath.text(FolderPath.names(folder) + below)
        if path.isEmpty { return AttributeChanges(remove: [AttributeName.folder]) }
        return AttributeChanges(set: [AttributeName.folder: path])
    }

    /// Throws an error for names that are already in use or that two items would share.
    private func requireFree(_ steps: [Step], in opened: Vault) throws {
        var taken: Set<ItemKey> = []
        for step in steps {
            let isFree = try step.key == step.item.key || opened.item(step.key) == nil
            guard isFree, taken.insert(step.key).inserted else {
                throw CommandFailure(
                    .noSuchItem, "\(ItemText.summary(step.key)) already exists; choose another name")
            }
        }
    }
}

extension Move.Destination {
    /// The fields of the key to change.
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

    var isGiven: Bool { changesKey || toFolder != nil }
    var changesKey: Bool { !fields.isEmpty || toGroup != nil }

    /// Returns the key with the given parts replaced.
    func key(from key: ItemKey) throws -> ItemKey {
        let fields = fields
        try ItemFields.requirePort(toPort)
        if fields.keys.contains(where: { !$0.classes.contains(key.itemClass) }) {
            switch key.itemClass {
            case .genericPassword: throw refusal("a generic password has no server")
            case .internetPassword: throw refusal("an internet password has a server, not a service")
            default: throw refusal("only the group of an item of class \(key.itemClass.name) can be changed")
            }
        }
        return try key.replacing(fields, group: toGroup)
    }

    private func refusal(_ reason: String) -> CommandFailure {
        CommandFailure(.usage, "\(reason); see 'vaultfmt move --help'")
    }
}
