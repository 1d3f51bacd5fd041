import VaultConsole
import VaultExchange
import VaultFmt
import VaultLocal

/// Items whose names are similar to the given one.
struct NearItems {
    /// The items that match the words, most likely first.
    private(set) var found: [Item] = []
    /// The item that is probably meant: the only match, or the only one whose name or label differs from the given name
    /// only in case and accents.
    private(set) var only: Item?
    /// Items with similarly spelled names; empty unless no item matches.
    private(set) var misspelled: [Item] = []

    /// How well an item matches; the best match comes first.
    private enum Fit: Int {
        case label, folded, start, word, part, elsewhere
    }

    /// Searches the items that match a query and a filter.
    init(to words: [String], in vault: Vault, _ query: Query, _ filter: ItemFilter) throws {
        let joined = words.joined(separator: " ")
        let folded = TextFolding.folded(joined)
        guard !folded.isEmpty else { return }
        let search = SearchWords(words)
        var fitting: [(fit: Fit, item: Item)] = []
        try filter.forEach(in: vault, query) { item in
            let label = LongLabel.read(of: item, in: vault)
            let names = Self.names(of: item.key, label)
            if label == joined {
                fitting.append((.label, item))
            } else if let fit = Self.fit(names, folded) {
                fitting.append((fit, item))
            } else if search.matches(item, label: label) {
                fitting.append((.elsewhere, item))
            } else if fitting.isEmpty, Self.isMisspelled(names, folded) {
                misspelled.append(item)
            }
        }
        rank(fitting)
    }

    private mutating func rank(_ fitting: [(fit: Fit, item: Item)]) {
        guard !fitting.isEmpty else { return }
        misspelled = []
        let places = fitting.indices.sorted {
            (fitting[$0].fit.rawValue, $0) < (fitting[$1].fit.rawValue, $1)
        }
        found = places.map { fitting[$0].item }
        for fits in [[Fit.label], [.label, .folded]] {
            let same = fitting.filter { fits.contains($0.fit) }
            if same.count == 1 { only = same[0].item }
            if !same.isEmpty { return }
        }
        if found.count == 1 { only = found[0] }
    }

    /// An item's folded names: its service or server, its label, and each of these followed by the account.
    private static func names(of key: ItemKey, _ label: String?) -> [String] {
        let name = [key.service ?? key.server ?? "", label ?? ""].filter { !$0.isEmpty }.map(TextFolding.folded)
        guard let account = key.account, !account.isEmpty else { return name }
        return name + name.map { "\($0) \(TextFolding.folded(account))" }
    }

    private static func fit(_ names: [String], _ wanted: String) -> Fit? {
        if names.contains(wanted) { return .folded }
        if names.contains(where: { $0.hasPrefix(wanted) }) { return .start }
        if names.contains(where: { $0.contains(" " + wanted) }) { return .word }
        return names.contains { $0.contains(wanted) } ? .part : nil
    }

    private static func isMisspelled(_ names: [String], _ wanted: String) -> Bool {
        names.contains { name in
            Spelling.isClose(wanted, name)
                || name.split(separator: " ").contains { Spelling.isClose(wanted, String($0)) }
        }
    }
}

extension NearItems {
    /// Lets the user at the terminal choose the item, or picks the only likely one. Returns nil if no name is similar.
    func chosen(for shown: String) throws -> Item? {
        if let only {
            Terminal.errorLine("Using \(ItemText.summary(only.key, label: only.attributes.label))")
            return only
        }
        guard !found.isEmpty else { return nil }
        return try ItemMenu.choose(found, title: "\(found.count) items match \(shown):")
    }

    /// Text such as "; did you mean 'github private' or 'github work'?", or an empty text.
    var question: String {
        let most = 5
        let items = found.isEmpty ? misspelled : found
        var names: [String] = []
        for item in items {
            let name = Self.words(item.key, item.attributes.label)
            if !names.contains(name) { names.append(name) }
        }
        guard let last = names.prefix(most).last else { return "" }
        let others = names.prefix(most).dropLast().joined(separator: ", ")
        let rest = names.count > most ? ", or one of \(names.count - most) more" : ""
        return "; did you mean \(others.isEmpty ? last : others + (rest.isEmpty ? " or " : ", ") + last)\(rest)?"
    }

    /// Returns the item's name on the command line, followed by its label if that adds information.
    private static func words(_ key: ItemKey, _ label: String?) -> String {
        if key.service == nil, key.server == nil, let label, !label.isEmpty { return TerminalText.typed(label) }
        let words = ItemText.name(key).filter { !$0.isEmpty }.map { TerminalText.typed($0) }.joined(separator: " ")
        guard let label, !label.isEmpty, label != key.service, label != key.server else { return words }
        return words + " (\(TerminalText.escaped(label)))"
    }
}
