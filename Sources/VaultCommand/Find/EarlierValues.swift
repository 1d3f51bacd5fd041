import VaultFmt
import VaultLocal

/// The earlier values of an item, in the order in which people count them.
enum EarlierValues {
    /// The most recently replaced value comes first. An import into an item that exists gives its earlier values later
    /// revisions than the item's own have, so revisions do not order them.
    static func newestFirst(of item: Item, in vault: Vault) throws -> [EarlierValue] {
        try vault.earlierValues(of: item).enumerated()
            .sorted { ($0.element.lastUsed, $0.offset) > ($1.element.lastUsed, $1.offset) }.map(\.element)
    }

    /// The values with their numbers, which count each field for itself: secrets first, then sealed attributes by name.
    static func numbered(of item: Item, in vault: Vault) throws -> [(number: Int, value: EarlierValue)] {
        let fields = Dictionary(grouping: try newestFirst(of: item, in: vault)) { $0.attribute ?? "" }
        return fields.sorted { $0.key < $1.key }.flatMap { field in
            field.value.enumerated().map { (number: $0.offset + 1, value: $0.element) }
        }
    }

    /// Returns the number of earlier values; nil if there are none, or if they cannot be read here.
    static func count(of item: Item, in vault: Vault) throws(VaultError) -> Int? {
        guard item.hasPast, vault.access == .owner else { return nil }
        do throws(VaultError) {
            let count = try vault.earlierValues(of: item).count
            return count > 0 ? count : nil
        } catch {
            guard [.authenticationFailed, .structureInvalid].contains(error.code) else { throw error }
            return nil
        }
    }
}

extension EarlierValue {
    /// What identifies a value of an item.
    struct Identity: Hashable {
        let revision: UInt64
        let replica: UInt64
        let attribute: String?
    }

    var identity: Identity { Identity(revision: revision, replica: replica, attribute: attribute) }

    /// The time at which it was replaced or, if that is not known, set.
    var lastUsed: Int64 { replaced == 0 ? modified : replaced }

    /// The text for messages: "the value that was replaced at …", with the attribute's name.
    var words: String {
        let what = attribute.map { "the value of \(TerminalText.quoted($0))" } ?? "the secret"
        guard replaced != 0 else { return "\(what) that was set at \(Timestamp.short(modified)) UTC" }
        return "\(what) that was replaced at \(Timestamp.short(replaced)) UTC"
    }
}
