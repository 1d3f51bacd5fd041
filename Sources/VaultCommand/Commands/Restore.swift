import ArgumentParser
import VaultArguments
import VaultConsole
import VaultExchange
import VaultFmt
import VaultLocal
import VaultSync

/// `restore`: restores an earlier value, a removed item, or a backup of the whole vault.
struct Restore: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore",
        abstract: "Restore an earlier value of an item, a removed item, or a backup.",
        discussion: """
            Without --earlier, this restores the most recently replaced secret; --field restores a sealed attribute. The \
            current value becomes an earlier value; nothing else about the item changes. If the item already has as many earlier \
            values as the vault keeps, the oldest is dropped, even though the restored one is no longer listed. A value from when the \
            item was in another group, or bound to another device, is restored only after confirmation, because others may be \
            able to read it here.

            A removed item can be restored, with its earlier values, until 'vaultfmt compact' or another change rewrites the file.

            --from verifies a backup of the same vault, and then replaces the vault's file with it. The old file is \
            kept next to the vault, and this machine accepts the older state.

            Examples:
              vaultfmt restore github.com alice --earlier 3
              vaultfmt restore --group clients --all
              vaultfmt restore --from yesterday.vault
            """)

    @OptionGroup var chosen: ItemChoice
    @OptionGroup var choice: EarlierOption

    @Option("Restore this sealed attribute instead of the secret.", value: "name")
    var field: String?

    @Flag(help: "Bring back all removed items that match.")
    var all = false

    @Option("Restore the whole vault from this backup.", value: "backup", isFile: true)
    var from: String?

    @Flag(name: [.short, .long], help: "Do not ask for confirmation.")
    var yes = false

    @OptionGroup var vault: VaultOptions

    func validate() throws {
        guard from == nil || (!all && choice.earlier == nil && !chosen.name.isGiven && chosen.id == nil && field == nil)
        else {
            throw ValidationError(
                "--from restores the whole vault; leave out the item, or read it with 'vaultfmt get' and --vault BACKUP"
            )
        }
        guard !all || (choice.earlier == nil && field == nil) else {
            throw ValidationError("--all brings back removed items; leave out --earlier and --field")
        }
    }

    func run() throws {
        if let from { return try BackupRestore(from, to: vault, isConfirmed: yes).run() }
        if !all { try chosen.check() }
        let opened = try vault.openVault(writable: true)
        if all { return try bringBack(removed(in: opened), in: opened) }
        if choice.earlier == nil, field == nil, try chosen.findAll(in: opened).isEmpty {
            let removed = try removed(in: opened)
            if !removed.isEmpty { return try bringBack(removed, in: opened) }
        }
        let item = try chosen.find(in: opened)
        let value = try choice.value(of: item, field, in: opened)
        guard field == nil || field == value.attribute else {
            throw CommandFailure(
                .noSuchItem,
                "\(TerminalText.quoted(field ?? "")) has no earlier values; 'vaultfmt history' lists the values that can be restored"
            )
        }
        guard try confirm(value, of: item, in: opened) else { throw CommandFailure.declined("nothing was restored") }
        let before = Set(try opened.earlierValues(of: item).map(\.identity))
        let conflicts = try ConflictsBefore(of: [item], in: opened)
        var lost: [String] = []
        try NarrowingOption.changeAtOnce(opened) { (transaction) throws(VaultError) in
            var changes = AttributeChanges()
            if value.attribute == nil { lost = try changes.dropDamaged(of: item.key, in: transaction).lost }
            try transaction.restore(value, of: item.key, changing: changes)
        }
        Terminal.note(
            "restored \(value.words) of \(ItemText.summary(item.key)); \(try kept(value, item, before, in: opened))")
        try conflicts.report(in: opened)
        guard lost.isEmpty else { throw CommandFailure.lost(lost, of: item.key) }
    }

    /// Asks before a value becomes readable in a group that did not contain the item when the item had that value.
    private func confirm(_ value: EarlierValue, of item: Item, in vault: Vault) throws -> Bool {
        guard !yes else { return true }
        let then = try vault.open(value).key.group
        let device = try vault.device(of: value)
        let isElsewhere = !then.utf8.elementsEqual(item.key.group.utf8)
        guard isElsewhere || device != nil && device != item.device else { return true }
        if isElsewhere {
            Terminal.warning(
                "this value is from when the item was in \(Self.words(then)); the item is now in \(Self.words(item.key.group)), "
                    + "so everyone who can read items there could read the value")
        }
        if let device, device != item.device {
            Terminal.warning(
                "this value can be read only on the device \(device), but the item is not bound to that device, so every machine could read the value"
            )
        }
        guard !self.vault.access.noInput, Prompt.isPossible else {
            throw CommandFailure(.usage, "nothing was restored: there is no terminal to prompt on; use --yes")
        }
        return try Prompt.confirm("Restore it there?", instead: "use --yes")
    }

    private static func words(_ group: String) -> String {
        group.isEmpty ? "the default group" : "group \(TerminalText.quoted(group))"
    }

    /// Returns the removed items that match; if several have the same name, only the one removed last.
    private func removed(in vault: Vault) throws -> [RemovedItem] {
        guard chosen.filters.attribute.isEmpty, !chosen.place.isAnyGiven, chosen.id == nil else {
            throw CommandFailure(
                .usage,
                "removed items are found by name, group and label; leave out --id, --attribute, --folder and --tag")
        }
        let queries = try chosen.name.queries(
            label: chosen.filters.label, accessibility: chosen.filters.accessible?.value)
        let removed = try Progress.during("searching") { try vault.removedItems() }
        var names: Set<[UInt8]> = []
        return removed.filter { removed in
            queries.contains { $0.matches(removed.item) } && names.insert(removed.item.key.bytes).inserted
        }
    }

    private func bringBack(_ removed: [RemovedItem], in vault: Vault) throws {
        guard !removed.isEmpty else {
            throw CommandFailure(
                .noSuchItem,
                "no removed item matches, or the file no longer contains it; a backup may contain it, and 'vaultfmt log' shows the changes in the file"
            )
        }
        guard all || removed.count == 1 else {
            for one in removed {
                Terminal.errorLine("  \(ItemText.summary(one.item.key, label: one.item.attributes.label))")
            }
            throw CommandFailure(
                .ambiguous,
                "\(removed.count) removed items match this name; specify more of the name, or bring back all of them with --all"
            )
        }
        for one in removed where try vault.item(one.item.key) != nil {
            throw CommandFailure(
                .noSuchItem,
                "\(ItemText.summary(one.item.key)) already exists: another item has this name now; move that item first with 'vaultfmt move'"
            )
        }
        do {
            try Progress.during("writing") { _ = try vault.bringBack(removed) }
        } catch let error as VaultError where error.code == .invalidArgument {
            // The item is not one that can be brought back; the command itself was correct.
            throw CommandFailure(
                .unavailable, "\(error.description); 'vaultfmt list' shows the items that exist", code: error.code)
        }
        for one in removed.prefix(20) { Terminal.note("\(ItemText.summary(one.item.key)) is back") }
        if removed.count > 20 { Terminal.note("… and \(removed.count - 20) more") }
    }

    /// Describes what happened to the value that a restored one replaced; `item` and its earlier values, `before`, are
    /// those from before the change.
    private func kept(
        _ restored: EarlierValue, _ item: Item, _ before: Set<EarlierValue.Identity>, in vault: Vault
    ) throws -> String {
        let hadValue = restored.attribute.map { item.attributes.attribute($0) != nil } ?? !item.lacksSecret
        guard hadValue else { return "the item showed none before" }
        if let name = restored.attribute, item.attributes.attribute(name)?.flags.contains(.sealed) == false {
            return "the previous value was not secret, and was discarded"
        }
        guard vault.keptVersions > 0 else {
            return "the vault keeps no earlier values, so the previous value is lost"
        }
        guard let now = try vault.item(item.key) else { return "the item has another name now" }
        let values = try EarlierValues.numbered(of: now, in: vault)
        guard let kept = values.first(where: { !before.contains($0.value.identity) }) else {
            return "the previous value was the same, or was too damaged to be kept"
        }
        return "the previous value is now earlier value \(kept.number)"
    }
}
