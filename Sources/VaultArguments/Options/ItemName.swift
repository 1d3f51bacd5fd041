package import ArgumentParser
import VaultConsole
import VaultExchange
package import VaultFmt
import VaultLocal

/// The name of one item: `SERVICE [ACCOUNT]`, or `SERVER [ACCOUNT]` for an internet password, with options for
/// everything else.
package struct ItemName: ParsableArguments {
    @Argument(
        help: "The service; the server of an internet password; the label of a certificate, key or identity.",
        completion: .custom(VaultCompletion.services))
    package var service: String?

    @Argument(help: "The account.", completion: .custom(VaultCompletion.accounts))
    package var account: String?

    @OptionGroup(title: "Item") package var fields: ItemFields

    package init() {}

    /// Finds the only item with this name.
    /// - Throws: `ExitStatus.noSuchItem`; `ExitStatus.ambiguous`, after writing the matches to standard error.
    package func find(in vault: Vault, label: String? = nil, accessibility: Accessibility? = nil) throws -> Item {
        let matches = try findAll(in: vault, label: label, accessibility: accessibility)
        guard let item = try single(matches) else {
            try ItemFilter().requireKnown(in: vault, group: fields.group)
            throw CommandFailure(.noSuchItem, "no item is named \(shown); 'vaultfmt list' shows all items")
        }
        return item
    }

    /// Returns the only item with this name, or nil if no item has it.
    /// - Throws: `ExitStatus.ambiguous`, like `find`.
    package func findOnly(in vault: Vault) throws -> Item? { try single(findAll(in: vault)) }

    /// Returns the only match, if any; several matches are written to standard error.
    func single(_ matches: [Item]) throws -> Item? {
        guard matches.count <= 1 else {
            for match in matches.prefix(20) {
                Terminal.errorLine("  \(ItemText.summary(match.key, label: match.attributes.label))")
            }
            if matches.count > 20 { Terminal.errorLine("  … and \(matches.count - 20) more") }
            throw CommandFailure(
                .ambiguous, "\(matches.count) items are named \(shown); add \(Self.differences(matches.map(\.key)))")
        }
        return matches.first
    }

    /// Returns the options that distinguish items with the same name.
    private static func differences(_ keys: [ItemKey]) -> String {
        let parts: [(String, (ItemKey) -> String)] = [
            ("the account", { $0.account ?? "" }), ("--class", { $0.itemClass.name }), ("--group", { $0.group }),
            ("--protocol", { $0[.protocol]?.text ?? "" }), ("--port", { String($0[.port]?.number ?? 0) }),
            ("--path", { $0[.path]?.text ?? "" }),
            ("--synchronizable or --no-synchronizable", { String($0.synchronizable) }),
        ]
        let hasEmptyAccount = keys.contains { $0.account?.isEmpty ?? true }
        let different = parts.filter { part in Set(keys.map { Array(part.1($0).utf8) }).count > 1 }.map(\.0)
        guard let last = different.last else { return "other options until only one item is left" }
        let names = different.count == 1 ? last : different.dropLast().joined(separator: ", ") + " or " + last
        return different.first == "the account" && hasEmptyAccount ? "\(names) ('' for none)" : names
    }

    /// Finds all items that match the name and the options, sorted by key.
    func findAll(in vault: Vault, label: String? = nil, accessibility: Accessibility? = nil) throws -> [Item] {
        let progress = Progress("searching")
        defer { progress.finish() }
        var matches: [Item] = []
        for query in try queries(label: label, accessibility: accessibility) {
            try ItemSearch.each(in: vault, query) { item in matches.append(item) }
        }
        return matches
    }

    /// The failure of a command that requires a name but was given none.
    static let missing = CommandFailure(.usage, "no item is named; specify SERVICE [ACCOUNT] or options")

    /// True if any option or argument narrows the search.
    package var isGiven: Bool { service != nil || fields.isAnyGiven }

    /// The key of the named item, which need not exist; an omitted account is empty.
    package func key() throws -> ItemKey {
        let itemClass = fields.impliedClass ?? .genericPassword
        if let option = fields.misplaced(in: itemClass) {
            throw CommandFailure(
                .usage,
                "\(option) does not apply to items of class \(itemClass.name); leave it out or use another --class")
        }
        let fields = try keyFields(itemClass)
        return try ItemKey(
            itemClass, fields, group: self.fields.group ?? "", synchronizable: self.fields.synchronizable ?? false)
    }

    private func keyFields(_ itemClass: ItemClass) throws -> [ItemKey.Field: ItemKey.Value] {
        var values = fields.given
        switch itemClass {
        case .genericPassword:
            let service = try one(service, fields.service, "service")
            values[.service] = .text(try required(service, "a service: vaultfmt … SERVICE [ACCOUNT]"))
            values[.account] = .text(try accountGiven() ?? "")
        case .internetPassword:
            let server = try one(service, fields.server, "server")
            values[.server] = .text(try required(server, "a server: --server, or the first argument"))
            values[.account] = .text(try accountGiven() ?? "")
        case .certificate, .identity:
            try rejectArguments("--issuer and --serial-number")
            _ = try required(values[.issuer], "--issuer")
            _ = try required(values[.serialNumber], "--serial-number")
            values[.type] = values[.type] ?? 3
        case .key:
            try rejectArguments("--key-class and the options after it")
            _ = try required(values[.keyClass], "--key-class")
            values[.effectiveSize] = values[.effectiveSize] ?? values[.sizeInBits]
        case .reserved:
            throw CommandFailure(
                .unavailable, "this version cannot create items of class \(itemClass.name); a newer vaultfmt is needed")
        }
        return values
    }

    /// Returns the queries to search with: a name without a class is a service or a server; for classes that have
    /// neither, the name is the label.
    package func queries(label: String?, accessibility: Accessibility?) throws -> [Query] {
        var query = fields.query
        query.label = label
        query.accessibility = accessibility
        query[.account] = try accountGiven().map { .text($0) }
        guard let service else { return [query] }
        func named(_ itemClass: ItemClass, _ field: ItemKey.Field) -> Query {
            var query = query
            query.itemClass = itemClass
            query[field] = .text(service)
            return query
        }
        switch fields.impliedClass {
        case nil: return [named(.genericPassword, .service), named(.internetPassword, .server)]
        case .genericPassword:
            _ = try one(service, fields.service, "service")
            return [named(.genericPassword, .service)]
        case .internetPassword:
            _ = try one(service, fields.server, "server")
            return [named(.internetPassword, .server)]
        case .certificate, .key, .identity, .reserved:
            query.label = try one(service, label, "label")
            return [query]
        }
    }

    private func accountGiven() throws -> String? { try one(account, fields.account, "account") }

    /// Returns a value that can be given as an argument or as an option, but not as both.
    private func one(_ argument: String?, _ option: String?, _ name: String) throws -> String? {
        guard let argument, let option, argument != option else { return argument ?? option }
        throw CommandFailure(
            .usage,
            "the \(name) is given twice, \(TerminalText.quoted(argument)) and \(TerminalText.quoted(option)); leave one out"
        )
    }

    private func required<Value>(_ value: Value?, _ what: String) throws -> Value {
        guard let value else { throw CommandFailure(.usage, "the item's name is incomplete; specify \(what)") }
        return value
    }

    private func rejectArguments(_ options: String) throws {
        guard let service else { return }
        throw CommandFailure(
            .usage, "\(TerminalText.quoted(service)) cannot name an item of this class; name it with \(options)")
    }

    /// The name as given, for messages.
    var shown: String {
        let words = [service, account].compactMap { $0 }.map { TerminalText.quoted($0) }
        return words.isEmpty ? "by these options" : words.joined(separator: " ")
    }
}

extension ItemKey {
    /// Returns the key with another service or server; certificates, keys and identities have only labels.
    package func renamed(_ name: String) throws -> ItemKey {
        switch itemClass {
        case .genericPassword: return try replacing([.service: .text(name)], group: nil)
        case .internetPassword: return try replacing([.server: .text(name)], group: nil)
        default:
            throw CommandFailure(
                .usage,
                "an item of class \(itemClass.name) is renamed by changing its label: 'vaultfmt update … --label NAME'"
            )
        }
    }
}
