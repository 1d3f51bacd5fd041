import VaultConsole
import VaultExchange
package import VaultFmt
import VaultLocal

/// The conflicts in some items, as they are before the items are changed. A change settles every field that it writes
/// (specification, R-6.24), even if the user does not know that there is a conflict, so the user is told afterwards.
package struct ConflictsBefore {
    private let conflicts: [Conflict]

    package init(of items: [Item], in vault: Vault) throws {
        conflicts = try items.compactMap { item in try Self.conflict(in: item, vault) }
    }

    /// Records the conflicts in all items, for a change that may affect any of them.
    package init(in vault: Vault) throws {
        var conflicts: [Conflict] = []
        var cursor = try vault.items()
        while let item = try cursor.next() {
            if let conflict = try Self.conflict(in: item, vault) { conflicts.append(conflict) }
        }
        self.conflicts = conflicts
    }

    /// Returns an item's conflict. Returns nil if there is none, or if the item was just removed or is damaged; if that
    /// matters, the caller's other work on the item will report it.
    static func conflict(in item: Item, _ vault: Vault) throws(VaultError) -> Conflict? {
        guard item.needsSettling else { return nil }
        do throws(VaultError) { return try vault.conflict(in: item.key) } catch {
            guard [.noSuchItem, .authenticationFailed, .structureInvalid].contains(error.code) else { throw error }
            return nil
        }
    }

    /// Reports the values that the change has settled, and where they are now.
    package func report(in vault: Vault) throws {
        guard !conflicts.isEmpty else { return }
        let left = try Dictionary(
            ConflictsBefore(in: vault).conflicts.map { ($0.item, $0.values) }, uniquingKeysWith: { first, _ in first })
        var settled: [(conflict: Conflict, values: [Conflict.Value])] = []
        for conflict in conflicts {
            let still = left[conflict.item] ?? []
            let gone = conflict.values.filter { value in !still.contains { $0.isSame(as: value) } }
            if !gone.isEmpty { settled.append((conflict, gone)) }
        }
        guard !settled.isEmpty else { return }
        let canUndo = try Self.canUndo(in: vault)
        for (conflict, values) in settled.prefix(Self.most) {
            let words = Self.words(values, kept: vault.keptVersions, canUndo: canUndo)
            let item = ItemText.summary(conflict.key)
            Terminal.note("this settled the conflict that a merge had left in \(item): \(words)")
        }
        if settled.count > Self.most {
            Terminal.note("… and the conflicts of \(settled.count - Self.most) more items")
        }
    }

    private static let most = 20

    /// Returns whether the file still contains the previous state. If the change reduced the number of people who can
    /// read an item, it does not, because the file is then rewritten.
    private static func canUndo(in vault: Vault) throws(VaultError) -> Bool {
        do throws(VaultError) { return try vault.log(limit: 1).first?.changes != nil } catch {
            guard error.code == .authenticationFailed || error.code == .structureInvalid else { throw error }
            return false
        }
    }

    /// Returns the number of values, how many of them are now earlier values, and how to restore them.
    private static func words(_ values: [Conflict.Value], kept: Int, canUndo: Bool) -> String {
        var fields: [ConflictField] = []
        for value in values where !fields.contains(value.field) { fields.append(value.field) }
        let secrets = values.filter { $0.field == .secret || $0.flags.contains(.sealed) }
        // The vault keeps `kept` earlier values of each field, and drops other earlier values before the ones that lost
        // in a merge (R-6.26).
        let earlier = Dictionary(grouping: secrets, by: \.field).values.reduce(0) { $0 + min($1.count, kept) }
        let (gone, isOne) = (values.count - earlier, values.count == 1)
        var parts = ["\(isOne ? "1 value" : "\(values.count) values") of \(MergeText.fields(fields)) gave way to it"]
        if earlier > 0 {
            let which = isOne ? "it is" : earlier == 1 ? "1 is" : "\(earlier) are"
            parts.append("\(which) now \(earlier == 1 ? "an earlier value" : "earlier values") ('vaultfmt history')")
        }
        if gone > 0 { parts.append("\(isOne ? "it was" : gone == 1 ? "1 was" : "\(gone) were") discarded") }
        if canUndo { parts.append("'vaultfmt undo' leaves \(isOne ? "it" : "them") to settle again") }
        return parts.joined(separator: "; ")
    }
}
