import VaultFmt
import VaultLocal

/// A pattern for the names of items, in which `*` matches any characters; case and accents are ignored.
struct NamePattern {
    /// The folded parts between the stars.
    private let parts: [String]

    init(_ text: String) {
        parts = text.split(separator: "*", omittingEmptySubsequences: false).map { TextFolding.folded(String($0)) }
    }

    /// Returns whether an item's service, server or label matches.
    func matches(_ item: Item) -> Bool {
        [item.key.service ?? item.key.server, item.attributes.label].contains { $0.map(matches) ?? false }
    }

    func matches(_ name: String) -> Bool {
        var rest = TextFolding.folded(name)[...]
        guard let first = parts.first, let last = parts.last else { return false }
        guard parts.count > 1 else { return rest == first }
        guard rest.hasPrefix(first), rest.count >= first.count + last.count, rest.hasSuffix(last) else { return false }
        rest = rest.dropFirst(first.count).dropLast(last.count)
        for part in parts.dropFirst().dropLast() where !part.isEmpty {
            guard let place = rest.firstRange(of: part) else { return false }
            rest = rest[place.upperBound...]
        }
        return true
    }
}
