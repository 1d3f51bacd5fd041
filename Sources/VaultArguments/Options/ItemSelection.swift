package import ArgumentParser
import VaultConsole
import VaultExchange
package import VaultFmt
import VaultLocal

/// One or more items to be changed together, selected by name or by filters.
package struct ItemSelection: ParsableArguments {
    @Argument(
        help: "The item, SERVICE [ACCOUNT], or the names of several items; * matches any characters.",
        completion: .custom(VaultCompletion.services))
    package var names: [String] = []

    @OptionGroup(title: "Item") package var fields: ItemFields

    @Option("The item's id, or at least its first 4 digits; 'vaultfmt show' prints it.", value: "id")
    package var id: String?

    @OptionGroup(title: "Filters") package var place: PlaceFilters

    @Flag(help: "Select all items that match, after showing them.")
    var all = false

    @Flag(name: [.short, .long], help: "Do not ask for confirmation.")
    package var yes = false

    package init() {}

    /// Returns whether more than one item may be meant, so that confirmation is needed.
    package func maySelectSeveral(isFiltered: Bool = false) -> Bool {
        all || names.count > 2 || (names.isEmpty && (place.isAnyGiven || isFiltered))
    }

    /// True if only the command's own filters limit the selection.
    package var isEverything: Bool { all && names.isEmpty && !fields.isAnyGiven && id == nil && !place.isAnyGiven }

    /// Throws an error if the command does not name an item, before any prompt.
    /// - `isFiltered`: Whether any of the command's own filters are given.
    package func check(isFiltered: Bool = false) throws {
        guard !names.isEmpty || fields.isAnyGiven || id != nil || place.isAnyGiven || all || isFiltered else {
            throw ItemName.missing
        }
    }

    /// Finds the items.
    /// - `criteria`: Conditions that the items must also meet.
    /// - `isFiltered`: Whether the command's own filters are enough to select items.
    /// - `mayAsk`: As for `ItemName.find`.
    package func find(
        in vault: Vault, _ criteria: ItemCriteria, isFiltered: Bool = false, mayAsk: Bool
    ) throws -> [Item] {
        try criteria.filter.requireKnown(in: vault, group: nil)
        if let items = try matches(in: vault, criteria, mayAsk: mayAsk) { return items }
        let first = try name(names.first, names.count == 2 ? names[1] : nil)
        if all || (names.isEmpty && (place.isAnyGiven || isFiltered)) {
            let items =
                names.count > 2
                ? try names.flatMap { try name($0).findAll(in: vault, criteria) }
                : try first.findAll(in: vault, criteria)
            guard !items.isEmpty else {
                try criteria.filter.requireKnown(in: vault, group: fields.group)
                throw CommandFailure(.noSuchItem, "nothing matches; 'vaultfmt list' shows all items")
            }
            return items
        }
        guard names.count > 1 else {
            return [try offeringAll { try first.find(in: vault, criteria, mayAsk: mayAsk) }]
        }
        if names.count == 2 {
            let exact = try first.findAll(in: vault, criteria)
            let each = try names.map { try name($0).findAll(in: vault, criteria) }
            guard exact.isEmpty, each.allSatisfy({ !$0.isEmpty }) else {
                return [try first.find(in: vault, criteria, mayAsk: mayAsk)]
            }
        }
        var items: [Item] = []
        for word in names {
            let item = try name(word).find(in: vault, criteria, mayAsk: mayAsk)
            if !items.contains(where: { $0.key == item.key }) { items.append(item) }
        }
        return items
    }

    /// Returns the items whose names match patterns such as `aws*`; nil if no word is a pattern, or if an item's name
    /// is exactly the pattern.
    private func matches(in vault: Vault, _ criteria: ItemCriteria, mayAsk: Bool) throws -> [Item]? {
        guard names.contains(where: { $0.contains("*") }) else { return nil }
        if names.count == 2, try !name(names[0], names[1]).findAll(in: vault, criteria).isEmpty { return nil }
        var found: [Item] = []
        var usesPattern = false
        for word in names {
            var items = try name(word).findAll(in: vault, criteria)
            if items.isEmpty, word.contains("*") {
                usesPattern = true
                let pattern = NamePattern(word)
                items = try name(nil).findAll(in: vault, criteria).filter { pattern.matches($0) }
            }
            guard !items.isEmpty else {
                throw CommandFailure(
                    .noSuchItem, "nothing matches \(TerminalText.quoted(word)); 'vaultfmt list' shows all items")
            }
            found += items.filter { item in !found.contains { $0.key == item.key } }
        }
        guard usesPattern else { return nil }
        // If there are several items, the command asks for confirmation.
        if found.count == 1, !yes {
            guard mayAsk, ItemMenu.isPossible else {
                throw CommandFailure(
                    .usage, "a pattern needs confirmation, but there is no terminal to prompt on; use --yes")
            }
            Terminal.errorLine("Using \(ItemText.summary(found[0].key, label: found[0].attributes.label))")
        }
        return found
    }

    /// Adds a mention of `--all` to the failure if several items match.
    private func offeringAll(_ find: () throws -> Item) throws -> Item {
        do { return try find() } catch let failure as CommandFailure where failure.status == .ambiguous {
            throw CommandFailure(.ambiguous, "\(failure.message), or --all for all of them")
        }
    }

    private func name(_ service: String?, _ account: String? = nil) throws -> ItemName {
        try ItemName.of(service, account, fields)
    }
}

extension ItemSelection {
    /// Fails if confirmation is needed and there is no terminal for the prompt.
    /// - `doing`: A description of the action, such as "removing".
    package func requireConsent(_ access: AccessOptions, doing: String) throws {
        guard !yes, access.noInput || !Prompt.isPossible else { return }
        throw CommandFailure(
            .usage, "\(doing) needs confirmation, but there is no terminal to prompt on; use --yes")
    }

    /// Shows the items and asks one question about all of them.
    /// - `verb`: The word that the question begins with, such as "Remove".
    /// - `doing`: As for `requireConsent`.
    package func isConfirmed(_ items: [Item], _ verb: String, _ access: AccessOptions, doing: String) throws -> Bool {
        if all { Terminal.note("\(items.count) \(items.count == 1 ? "item matches" : "items match")") }
        if yes {
            if items.count > 1 { Self.show(items) }
            return true
        }
        try requireConsent(access, doing: doing)
        guard items.count > 1 else { return try Prompt.confirm("\(verb) \(Self.words(items))?", instead: "use --yes") }
        Self.show(items)
        return try Prompt.confirm("\(verb) these \(items.count) items?", instead: "use --yes")
    }

    /// Prints the items' names, one per line.
    private static func show(_ items: [Item]) {
        let most = 100
        for item in items.prefix(most) {
            Terminal.errorLine("  \(ItemText.summary(item.key, label: item.attributes.label))")
        }
        if items.count > most { Terminal.errorLine("  … and \(items.count - most) more") }
    }

    /// Returns the number of items ("3 items"), or the name of a single item.
    package static func words(_ items: [Item]) -> String {
        guard items.count == 1, let item = items.first else { return "\(items.count) items" }
        return ItemText.summary(item.key, label: item.attributes.label)
    }

    /// Reports that a name released by an item now belongs to another item: two items can have the same name after a
    /// merge.
    package static func noteNewHolder(of key: ItemKey, in vault: Vault) throws {
        guard try vault.item(key) != nil else { return }
        Terminal.note("\(ItemText.summary(key)) now refers to the other item with this name")
    }
}
