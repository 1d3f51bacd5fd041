package import VaultFmt
import VaultLocal

/// An item's earlier values, in the order in which people count them.
package enum EarlierValues {
    /// Returns the values, with the most recently replaced value first. An import into an existing item gives its
    /// earlier values later revisions than the item's own values have, so the revisions do not give their order.
    package static func newestFirst(of item: Item, in vault: Vault) throws -> [EarlierValue] {
        try vault.earlierValues(of: item).enumerated()
            .sorted { ($0.element.lastUsed, $0.offset) > ($1.element.lastUsed, $1.offset) }.map(\.element)
    }

    /// Returns the values with their numbers, which are counted separately for each field: secrets first, then sealed
    /// attributes by name.
    package static func numbered(of item: Item, in vault: Vault) throws -> [(number: Int, value: EarlierValue)] {
        let fields = Dictionary(grouping: try newestFirst(of: item, in: vault)) { $0.attribute ?? "" }
        return fields.sorted { $0.key < $1.key }.flatMap { field in
            field.value.enumerated().map { (number: $0.offset + 1, value: $0.element) }
        }
    }

    /// Returns the number of earlier values; nil if the item has no earlier values, or if they cannot be read here.
    package static func count(of item: Item, in vault: Vault) throws(VaultError) -> Int? {
        guard item.hasPast, vault.access == .owner else { return nil }
        return try readable(of: item, in: vault).flatMap { $0.isEmpty ? nil : $0.count }
    }

    /// Returns the earlier values; nil if their list is damaged.
    package static func readable(of item: Item, in vault: Vault) throws(VaultError) -> [EarlierValue]? {
        do throws(VaultError) { return try vault.earlierValues(of: item) } catch {
            guard [.authenticationFailed, .structureInvalid].contains(error.code) else { throw error }
            return nil
        }
    }
}

extension EarlierValue {
    /// The identity of a value of an item.
    package struct Identity: Hashable {
        package let revision: UInt64
        package let replica: UInt64
        package let attribute: String?
    }

    package var identity: Identity { Identity(revision: revision, replica: replica, attribute: attribute) }

    /// The time at which the value was replaced or, if that time is not known, set.
    var lastUsed: Int64 { replaced == 0 ? modified : replaced }

    /// The time at which the value was set; nil if it is not known. An imported value was set before the import, but the
    /// vault records the time of the import.
    package var knownModified: Int64? { replaced == 0 || modified <= replaced ? modified : nil }

    /// The text for messages: "the value that was replaced at …", with the attribute's name.
    package var words: String {
        let what = attribute.map { "the value of \(TerminalText.quoted($0))" } ?? "the secret"
        guard replaced != 0 else { return "\(what) that was set at \(Timestamp.short(modified)) UTC" }
        return "\(what) that was replaced at \(Timestamp.short(replaced)) UTC"
    }
}
