import ArgumentParser
import Glibc
import VaultArguments
import VaultConsole
import VaultExchange
import VaultFmt
import VaultLocal
import VaultSync

/// `copy`: copies items to another vault.
struct CopyItems: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "copy",
        abstract: "Copy items to another vault, or duplicate an item.",
        discussion: """
            Items are copied with their attributes, attached files and dates, in one change or not at all. Earlier values and \
            unsettled conflicts are left out unless --history is given. Device-only items cannot be copied; they are listed (exit 3).

            If the other vault does not exist, it is created, with factors of its own: --to-… or a passphrase that you \
            type twice. To choose its recipients, or how many earlier values it keeps, create it first with 'vaultfmt \
            create'. An existing vault is opened with --to-…, with the key that 'unlock' keeps, or with a passphrase \
            that you are asked for. This vault's passphrase is not tried.

            Examples:
              vaultfmt copy netflix spotify --to family.vault
              vaultfmt copy --folder clients/acme --to acme.vault --to-key-file acme.key
              vaultfmt copy netflix --to guest.vault --without otp --without notes
              vaultfmt copy 'staging db' --as 'production db'
            """,
        aliases: ["cp"])

    @OptionGroup var chosen: ItemSelection
    @OptionGroup(title: "Filters") var filters: ItemFilters

    @Option("The other vault.", value: "vault", isFile: true)
    var to: String?

    @Option("Store the copies in this group instead of their own.", value: "group")
    var toGroup: String?

    @Option("Copy one item within this vault, giving the copy this name.", name: .customLong("as"), value: "name")
    var newName: String?

    @Option("Leave out this attribute; may be repeated.", value: "name")
    var without: [String] = []

    @Flag(help: "Copy earlier values too.")
    var history = false

    @Option(
        help:
            "What to do if an item already exists there: fail, skip, replace, keep-both or update-newer; see 'vaultfmt import'."
    )
    var onDuplicate: DuplicatePolicy = .fail

    @OptionGroup(title: "The other vault") var other: TargetFactorOptions
    @OptionGroup(title: "The other vault") var cost: CostOptions
    @OptionGroup var vault: VaultOptions

    func validate() throws {
        let isForOther = to != nil || history || onDuplicate != .fail || cost.isGiven || other.isAnyGiven
        guard newName == nil || !isForOther else {
            throw ValidationError(
                "--as copies within this vault: leave out --to, the other vault's factors, --history, --on-duplicate and --kdf…"
            )
        }
        guard without.isEmpty || !history else {
            throw ValidationError(
                "--without cannot be combined with --history, whose values have attributes too; leave one out")
        }
    }

    func run() throws {
        let isFiltered = filters.isAnyGiven
        try chosen.check(isFiltered: isFiltered)
        if let newName { return try copyWithin(as: newName) }
        guard let to else {
            throw CommandFailure(
                .usage, "no other vault is named; use --to VAULT, or --as NAME for a copy in this one")
        }
        let criteria = try ItemCriteria(id: chosen.id, filters, chosen.place)
        if chosen.maySelectSeveral(isFiltered: isFiltered) {
            try chosen.requireConsent(vault.access, doing: Self.doing)
        }
        let isNew = try !UserFiles.exists(to)
        guard isNew || !cost.isGiven else {
            throw CommandFailure(
                .usage, "\(TerminalText.path(to)) exists; leave out --kdf…, which applies only to a new vault")
        }
        ControllingTerminal.beginSeries()
        let opened = try vault.openVault()
        let items = try chosen.find(
            in: opened, criteria, isFiltered: isFiltered, mayAsk: !chosen.yes && !vault.access.noInput)
        if items.count > 1, try !chosen.isConfirmed(items, "Copy", vault.access, doing: Self.doing) {
            throw CommandFailure.declined("nothing was copied")
        }
        var source = VaultSource(vault: opened, items: items, hasHistory: history, without: Set(without))
        try requireKnown(without, of: items, in: opened)
        // With a scoped slot, an item seems to have no earlier values; this call refuses such a slot.
        if history, let item = items.first { _ = try opened.earlierValues(of: item) }
        guard !source.copied.isEmpty else {
            throw CommandFailure(
                .usage, "device-only items cannot be copied, and nothing else was selected; nothing was written")
        }
        let target = try isNew ? create(at: to) : openOther(to, than: opened)
        ControllingTerminal.endSeries()
        var session = ImportSession(policy: onDuplicate, group: toGroup.map { .named($0) } ?? .own)
        let report = ImportReport(participle: "copied", isConfirmed: chosen.yes, mayAsk: !vault.access.noInput)
        let progress = Progress("copying", of: "items")
        defer { progress.finish() }
        let created = target.state
        let conflicts = try onDuplicate.changesItems ? ConflictsBefore(in: target) : nil
        do {
            try session.run(&source, into: target, counted: { progress.count($0) }, accept: report.accept)
        } catch {
            progress.finish()
            if isNew { removeUnchanged(target, at: to, since: created) }
            throw error
        }
        progress.finish()
        report.write(session, verb: "copied")
        NarrowingOption.noteRewriting(session.remnants)
        try conflicts?.report(in: target)
        try report.refuseLosses(in: session, verb: "copied")
    }

    private static let doing = "copying several items"

    /// Makes a second item from an existing one. The new item keeps no link to the first item, and a later import does
    /// not recognize the new item.
    private func copyWithin(as name: String) throws {
        let criteria = try ItemCriteria(id: chosen.id, filters, chosen.place)
        let opened = try vault.openVault(writable: true)
        let items = try chosen.find(
            in: opened, criteria, isFiltered: filters.isAnyGiven, mayAsk: !chosen.yes && !vault.access.noInput)
        guard items.count == 1, let item = items.first else {
            throw CommandFailure(.usage, "--as copies a single item, not \(items.count); specify one")
        }
        try requireKnown(without, of: items, in: opened)
        let key = try item.key.renamed(name).replacing([:], group: toGroup)
        guard try opened.item(key) == nil else {
            throw CommandFailure(.noSuchItem, "\(ItemText.summary(key)) already exists; choose another name")
        }
        let leftOut = Set(without + [AttributeName.origin])
        let source = VaultSource(vault: opened, items: items, hasHistory: false, without: leftOut)
        var attributes = try source.attributes(of: item, lastChange: Int64(time(nil)) * 1000)
        // A label that only repeats the name changes with it.
        if let label = item.attributes.label, label == ItemText.name(item.key).first {
            attributes[AttributeName.label] = Array(name.utf8)
        }
        let secret = try opened.open(item).takeSecret()
        try Progress.during("writing") {
            try opened.add(key, secret: secret, attributes: attributes, accessibility: item.accessibility)
        }
        Terminal.note("copied \(ItemText.summary(item.key)) as \(ItemText.summary(key))")
    }

    /// Throws an error for an attribute name that no item has: because of a misspelling, the attribute that was meant
    /// to be omitted would be disclosed.
    private func requireKnown(_ names: [String], of items: [Item], in vault: Vault) throws {
        guard !names.isEmpty else { return }
        var known: Set<String> = []
        for item in items where !item.accessibility.isThisDeviceOnly || newName != nil {
            known.formUnion(try vault.open(item).item.attributes.names)
        }
        for name in names where !known.contains(name) {
            throw CommandFailure(
                .noSuchItem,
                "none of the items to copy has an attribute \(TerminalText.quoted(name)); 'vaultfmt show' lists them"
            )
        }
    }

    private func create(at to: String) throws -> Vault {
        let folder = UserFiles.parent(of: to)
        guard try UserFiles.exists(folder) else {
            throw CommandFailure(
                .noSuchFile, "the folder \(TerminalText.path(folder)) for the vault does not exist; create it first")
        }
        guard other.toIdentity.isEmpty else {
            throw CommandFailure(
                .usage,
                "a vault is created for recipients, not identities; create it first with 'vaultfmt create --recipient'")
        }
        let given = try other.sources.creating(
            "New passphrase for \(TerminalText.escaped(to))", mayAsk: !vault.access.noInput)
        PassphraseStrength.remark(on: given)
        let factors = try whileOpening { try given.together() }
        var options = CreateOptions()
        options.cost = try cost.cost()
        options.allowWeak = cost.allowWeak
        options.keptVersions = 10
        options.lockWait = .seconds(vault.access.lockWait)
        let machine = try ThisMachine.current()
        options.device = machine.deviceFile.loadIfSound()
        let progress = Progress("creating")
        defer { progress.finish() }
        do throws(VaultError) {
            let made = try machine.create(at: to, factors: factors, options: options)
            Terminal.note("created \(TerminalText.path(to))")
            return made
        } catch {
            throw CommandFailure(error)
        }
    }

    /// Removes the vault that this command has created, unless another program has changed or replaced it since.
    private func removeUnchanged(_ target: Vault, at to: String, since created: StateID) {
        var isRemoved = false
        do throws(VaultError) {
            try target.whileNobodyWrites { (held) throws(VaultError) in
                guard held.state == created, try held.isInPlace() else { return }
                isRemoved = unlink(to) == 0
            }
        } catch {
            return Terminal.warning("the new vault \(TerminalText.path(to)) was not removed: \(error.description)")
        }
        if isRemoved { Terminal.note("removed the new vault \(TerminalText.path(to)), because nothing was copied") }
    }

    private func openOther(_ to: String, than opened: Vault) throws -> Vault {
        let id = try whileOpening { try Vault.id(at: to) }
        guard id != opened.id else {
            throw CommandFailure(
                .usage,
                "\(TerminalText.path(to)) is this vault, or a copy of it; use 'vaultfmt merge' to combine copies")
        }
        return try vault.access.openOther(to, other)
    }
}

/// A vault's items as a source to import from.
private struct VaultSource: ImportSource {
    let vault: Vault
    let copied: [Item]
    private let deviceOnly: [Item]
    private let hasHistory: Bool
    /// The attributes to omit.
    private let without: Set<String>

    init(vault: Vault, items: [Item], hasHistory: Bool, without: Set<String>) {
        self.vault = vault
        self.without = without
        self.hasHistory = hasHistory
        copied = items.filter { !$0.accessibility.isThisDeviceOnly }
        deviceOnly = items.filter(\.accessibility.isThisDeviceOnly)
    }

    mutating func read(_ take: (consuming ImportRecord) throws -> Void) throws -> [Omission] {
        var losses: [Omission] = []
        for (index, item) in copied.enumerated() {
            let opened = try vault.open(item)
            var record = ImportRecord(place: "item \(index + 1)", key: item.key, secret: opened.secret.copy())
            record.attributes = try attributes(of: opened.item, lastChange: item.modified)
            (record.accessibility, record.created, record.modified) = (item.accessibility, item.created, item.modified)
            if hasHistory {
                var refused = 0
                record.earlier = try EarlierState.all(of: opened, in: vault) { _ in refused += 1 }
                    .map(ImportRecord.Earlier.init)
                if refused > 0 { losses.append(.loss(LeftOutValues.text(refused, of: item))) }
            }
            try take(record)
        }
        return losses
            + deviceOnly.map {
                .loss("\(ItemText.summary($0.key, label: $0.attributes.label)), because it is device-only")
            }
    }

    /// Returns the attributes with their values, for a copy whose last change will have the given time.
    func attributes(of item: Item, lastChange: Int64) throws -> Attributes {
        var attributes = Attributes()
        for attribute in item.attributes.all where !without.contains(attribute.name) {
            guard let value = try vault.attribute(attribute.name, of: item) else { continue }
            attributes.set(Attribute(attribute.name, keeping: value, flags: attribute.flags))
        }
        if !without.contains(SecretDate.attribute) { attributes.stateDate(ofSecretOf: item, lastChange: lastChange) }
        return attributes
    }
}

extension ImportRecord.Earlier {
    /// A state that the item had in the other vault.
    fileprivate init(_ state: EarlierState) {
        self.init(
            value: NewEarlierValue(
                secret: state.secret.secret.copy(), attributes: state.attributes, replaced: state.replaced,
                group: state.group),
            secret: state.secret, modified: state.modified ?? state.replaced)
    }
}
