package import VaultFmt
import VaultLocal

/// An item's earlier values, in the order in which people count them.
package enum EarlierValues {
    /// Returns the values, with the most recently replaced value first. An import into an existing item gives its
    /// earlier values later revisions than the item's own values have, so the revisions do not give their order.
    package static func newestFirst(of item: Item, in vault: Vault) throws(VaultError) -> [EarlierValue] {
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

    /// Returns the number of earlier values that are in the file but not listed, because the vault keeps fewer now; 0 if
    /// they cannot be read here.
    package static func unlisted(of item: Item, in vault: Vault) throws(VaultError) -> Int {
        guard item.hasPast, vault.access == .owner else { return 0 }
        do throws(VaultError) { return try vault.unlistedEarlierValues(of: item) } catch {
            guard error.isDamage else { throw error }
            return 0
        }
    }

    /// The items of a vault with earlier values.
    package struct ItemCounts {
        /// Items with earlier values, listed or not.
        package var all = 0
        /// Items with earlier values that are not listed, because the vault keeps fewer now.
        package var unlisted = 0
    }

    /// Counts the items with earlier values that can be read here.
    package static func itemCounts(in vault: Vault) throws(VaultError) -> ItemCounts {
        var counts = ItemCounts()
        var cursor = try vault.items()
        while let item = try cursor.next() {
            let listed = try count(of: item, in: vault) ?? 0
            let unlisted = try unlisted(of: item, in: vault)
            if unlisted > 0 { counts.unlisted += 1 }
            if listed + unlisted > 0 { counts.all += 1 }
        }
        return counts
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
        guard replaced != 0 else { return "\(what) that was set at \(Timestamp.short(modified)) UTC" }
        return "\(what) that was replaced at \(Timestamp.short(replaced)) UTC"
    }

    /// The text for messages about one of several similar values: with the times at which it was set and replaced, to
    /// the millisecond, as `history` writes them for programs.
    package var exactWords: String {
        var times: [String] = []
        if let modified = knownModified { times.append("set at \(Timestamp.text(modified))") }
        if replaced != 0 { times.append("replaced at \(Timestamp.text(replaced))") }
        return "\(what) that was \(times.joined(separator: " and "))"
    }

    private var what: String { attribute.map { "the value of \(TerminalText.quoted($0))" } ?? "the secret" }
}
