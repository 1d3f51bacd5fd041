import VaultExchange
import VaultFmt

/// Words to search for in an item's index entry and, if requested, in its notes; never in a secret.
struct SearchWords {
    /// The folded words, all of which must be found.
    private let words: [String]

    /// - Parameter words: The words as typed; an address is replaced by its host.
    init(_ words: [String]) {
        self.words = words.map { TextFolding.folded(Self.host(of: $0) ?? $0) }.filter { !$0.isEmpty }
    }

    /// Returns whether each word is part of one of the item's texts.
    func matches(_ item: Item, label: String?) -> Bool { matches(item, label: label) { nil } }

    /// Performs the same search, but also searches the item's notes, which are read only if a word is not found
    /// anywhere else.
    func matches(_ item: Item, label: String?, notes: () throws -> String?) rethrows -> Bool {
        guard !words.isEmpty else { return true }
        let texts = Self.texts(of: item, label: label)
        let missing = words.filter { word in !texts.contains { $0.contains(word) } }
        guard !missing.isEmpty else { return true }
        guard let notes = try notes().map(TextFolding.folded) else { return false }
        return missing.allSatisfy { notes.contains($0) }
    }

    /// The folded texts to search: the item's name, its group, and every attribute that is not sealed or concealed.
    static func texts(of item: Item, label: String?) -> [String] {
        let key = item.key
        var texts = key.itemClass.fields.compactMap { key[$0]?.text } + key.texts + [key.group]
        for attribute in item.attributes.all where attribute.flags.isEmpty {
            guard attribute.name != AttributeName.label, let value = attribute.value else { continue }
            if let text = String(validating: value, as: UTF8.self) { texts.append(text) }
        }
        if let label { texts.append(label) }
        return texts.filter { !$0.isEmpty }.map(TextFolding.folded)
    }

    /// The host of an address such as `https://accounts.example.com/login`; nil for other text.
    private static func host(of text: String) -> String? {
        guard let scheme = text.firstRange(of: "://") else { return nil }
        let rest = text[scheme.upperBound...].prefix { !"/?#".contains($0) }
        let host = rest.split(separator: "@").last ?? rest
        let name = host.hasPrefix("[") ? host : host.prefix { $0 != ":" }
        return name.isEmpty ? nil : String(name)
    }
}
