package import ArgumentParser
import VaultConsole
package import VaultFmt
import VaultLocal

/// An existing item, selected by its name and by filters that are not part of the name.
package struct ItemChoice: ParsableArguments {
    @OptionGroup package var name: ItemName

    @Option("The item's id, or at least its first 4 digits; 'vaultfmt show' prints it.", value: "id")
    package var id: String?

    @OptionGroup(title: "Filters") package var filters: ItemFilters
    @OptionGroup(title: "Filters") package var place: PlaceFilters

    package init() {}

    /// Throws an error if the command does not name an item, before any prompt.
    package func check() throws {
        guard name.isGiven || id != nil || filters.isAnyGiven || place.isAnyGiven else { throw ItemName.missing }
        _ = try criteria()
    }

    /// Finds the item; see `ItemName.find`.
    /// - `mayAsk`: Whether the user at a terminal may be asked which item is meant. Part of the item's name is then
    ///   sufficient.
    package func find(in vault: Vault, mayAsk: Bool = false) throws -> Item {
        try name.find(in: vault, criteria(), mayAsk: mayAsk)
    }

    /// All items that match.
    package func findAll(in vault: Vault) throws -> [Item] { try name.findAll(in: vault, criteria()) }

    private func criteria() throws -> ItemCriteria { try ItemCriteria(id: id, filters, place) }
}

/// Conditions for an item in addition to its name.
package struct ItemCriteria {
    var label: String?
    var accessibility: Accessibility?
    var filter = ItemFilter()
    /// The beginning of the item's id.
    var id: String?

    /// Criteria with no condition beyond the item's name.
    init() {}

    package init(id: String?, _ filters: ItemFilters, _ place: PlaceFilters) throws {
        try self.init(id: id, place)
        label = filters.label
        accessibility = filters.accessible?.value
        filter = try filters.filter(place)
    }

    package init(id: String?, _ place: PlaceFilters) throws {
        filter = place.filter
        self.id = id?.lowercased()
        guard let id else { return }
        guard (4...32).contains(id.utf8.count), id.allSatisfy(\.isHexDigit) else {
            throw CommandFailure(
                .usage,
                "--id takes 4 to 32 hexadecimal digits, not \(TerminalText.quoted(id)); 'vaultfmt show' prints them"
            )
        }
    }
}

extension ItemName {
    /// Finds the only item that has this name and meets the criteria.
    /// - `mayAsk`: Whether the user at a terminal may be asked which item is meant. Part of the item's name or label is
    ///   then sufficient, and the chosen item is shown. In a script, names must be exact.
    /// - Throws: `ExitStatus.noSuchItem`, with similar names; `ExitStatus.ambiguous`, after writing the matches to
    ///   standard error.
    func find(in vault: Vault, _ criteria: ItemCriteria, mayAsk: Bool) throws -> Item {
        let asks = mayAsk && ItemMenu.isPossible
        let exact = try findAll(in: vault, criteria)
        if exact.count > 1, asks {
            return try ItemMenu.choose(exact, title: "\(exact.count) items are named \(shown):")
        }
        if let item = try single(exact) { return item }
        if let item = try single(findLabelled(in: vault, criteria)) { return item }
        try criteria.filter.requireKnown(in: vault, group: fields.group)
        guard criteria.id == nil else {
            throw CommandFailure(
                .noSuchItem, "no item has this id; 'vaultfmt list --columns name,account,id' shows the ids")
        }
        var query = fields.query
        query.label = criteria.label
        query.accessibility = criteria.accessibility
        let near = try NearItems(to: [service, account].compactMap { $0 }, in: vault, query, criteria.filter)
        if asks, let item = try near.chosen(for: shown) { return item }
        try refuseFilters(in: vault, criteria)
        try refuseField(in: vault, criteria)
        throw CommandFailure(
            .noSuchItem,
            "no item is named \(shown)\(near.question.isEmpty ? ";" : near.question) 'vaultfmt list' shows all items"
        )
    }

    /// Reports that a second word is the name of a field, if the first word alone would have found an item with that
    /// field.
    private func refuseField(in vault: Vault, _ criteria: ItemCriteria) throws {
        guard let service, let account, !account.isEmpty else { return }
        let items = try ItemName.of(service, nil, fields).findAll(in: vault, criteria)
        guard items.count == 1, let item = items.first, item.attributes.attribute(account) != nil else { return }
        throw CommandFailure(
            .noSuchItem,
            "\(TerminalText.quoted(service)) has no account \(TerminalText.quoted(account)), but a field of that name, which 'vaultfmt get "
                + "\(TerminalText.word(service)) --field \(TerminalText.word(account))' prints")
    }

    /// Reports that options select items, if the name alone would have found an item: the options were probably meant
    /// to change that item.
    private func refuseFilters(in vault: Vault, _ criteria: ItemCriteria) throws {
        guard service != nil, fields.isAnyGiven || !criteria.filter.attributes.isEmpty || criteria.label != nil,
            try !ItemName.of(service, account).findAll(in: vault, ItemCriteria()).isEmpty
        else { return }
        throw CommandFailure(
            .noSuchItem,
            "\(shown) exists, but does not match the options, which select items; 'vaultfmt move' changes names, and 'vaultfmt update' attributes"
        )
    }

    /// All items that have this name and meet the criteria, in key order.
    package func findAll(in vault: Vault, _ criteria: ItemCriteria) throws -> [Item] {
        let named = try findAll(in: vault, label: criteria.label, accessibility: criteria.accessibility)
        guard !criteria.filter.isEmpty || criteria.id != nil else { return named }
        let matcher = ItemFilter.Matcher(criteria.filter, in: vault)
        return try named.filter { item in
            try (criteria.id.map { item.id.description.hasPrefix($0) } ?? true) && matcher.matches(item)
        }
    }

    /// Finds all certificates, keys and identities that have this label, which is their only name, and meet the
    /// criteria.
    private func findLabelled(in vault: Vault, _ criteria: ItemCriteria) throws -> [Item] {
        guard let service, account == nil, fields.impliedClass == nil, criteria.label == nil else { return [] }
        var found: [Item] = []
        for itemClass in [ItemClass.certificate, .key, .identity] {
            var fields = fields
            fields.className = ClassName(argument: itemClass.name)
            found += try Self.of(service, nil, fields).findAll(in: vault, criteria)
        }
        return found
    }

    /// Returns a name with the given words and options; without words and options, the name is empty.
    package static func of(
        _ service: String?, _ account: String? = nil, _ fields: ItemFields? = nil
    ) throws -> ItemName {
        var name: ItemName
        do { name = try ItemName.parse([]) } catch {
            throw CommandFailure(.bug, "an empty name does not parse; this is a bug in vaultfmt: please report it")
        }
        name.service = service
        name.account = account
        if let fields { name.fields = fields }
        return name
    }
}
