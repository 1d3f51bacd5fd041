import VaultConsole
import VaultExchange
package import VaultFmt

/// The items in an export with values that a merge has left to settle and that the export does not contain.
package struct UnexportedConflicts {
    /// The values that a format can contain.
    package enum Contents {
        /// The values that items show and, as earlier values, their other secrets and sealed attributes.
        case earlierValues
        /// The values that items show.
        case shownValues
        /// The secrets of certificates, keys and identities.
        case shownKeys
    }

    /// The number of items.
    package private(set) var count = 0

    package init() {}

    /// Counts and names an item if an export with these contents lacks a value that a merge has left to settle. Only
    /// owners can read such values.
    package mutating func add(_ item: Item, in vault: Vault, _ contents: Contents) throws(VaultError) {
        guard vault.access == .owner, let conflict = try ConflictsBefore.conflict(in: item, vault) else { return }
        var fields: [ConflictField] = []
        for value in conflict.values where !fields.contains(value.field) {
            if Self.lacks(value, of: item, contents) { fields.append(value.field) }
        }
        guard !fields.isEmpty else { return }
        count += 1
        guard count <= Self.most else { return }
        Terminal.warning(
            "not exported: values of \(MergeText.fields(fields)) that a merge has left to settle in \(ItemText.summary(item.key))"
        )
    }

    /// Reports the number of items that were not named.
    package func reportOthers() {
        if count > Self.most { Terminal.warning("… and values to settle of \(count - Self.most) more items") }
    }

    private static let most = 20

    private static func lacks(_ value: Conflict.Value, of item: Item, _ contents: Contents) -> Bool {
        switch contents {
        case .earlierValues: value.field != .secret && !value.flags.contains(.sealed)
        case .shownValues: true
        case .shownKeys: value.field == .secret && [.certificate, .key, .identity].contains(item.key.itemClass)
        }
    }
}
