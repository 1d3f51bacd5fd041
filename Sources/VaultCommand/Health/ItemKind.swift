import VaultExchange
import VaultFmt

/// The kinds of items other than logins that an import can add.
enum ItemKind {
    /// The names that password managers give to notes, cards and documents, in lower case. Users cannot choose a
    /// stronger number for a card.
    private static let others: Set<String> = [
        "bank account", "card", "credit card", "creditcard", "document", "driver license", "driver's license",
        "identity",
        "membership", "note", "passport", "secure note", "securenote", "social security number", "software license",
    ]

    /// Returns whether an item's secret is a text or a number that is not a password, according to its description.
    static func holdsNoPassword(_ item: Item) -> Bool {
        guard let kind = item.attributes.string(AttributeName.kind) else { return false }
        return others.contains(kind.lowercased())
    }
}
