internal import VaultBytes
internal import VaultStore

/// The changes that our copy makes before a merge that would show something older than our copy does. They
/// change no field, but the other copy has not seen them, so the items concerned stay as our copy shows them.
struct Renewal {
    private let mine: MergeSide
    private let items: [(item: Item, fields: Set<FieldName>)]

    /// Returns nil if the merge would show nothing older, or if that cannot be determined because of damage.
    init?(_ mine: MergeSide, _ its: MergeSide) throws(VaultError) {
        self.mine = mine
        do throws(VaultError) { items = try ItemsMerge(mine, its).regressed() } catch {
            guard ItemsMerge.isDamage(error) else { throw error }
            return nil
        }
        guard !items.isEmpty else { return nil }
    }

    /// Commits the changes to our copy, whose lock is held.
    func commit() throws(VaultError) {
        let transaction = try Transaction(mine.core)
        do throws(VaultError) {
            for (item, fields) in items {
                var change = ItemChange(item)
                (change.created, change.modified) = (item.created, item.modified)
                let state = try transaction.state(of: item)
                change.edit = Self.edit(fields, state, try transaction.view(of: item, state))
                try transaction.apply(change)
            }
            try transaction.commit()
        } catch {
            transaction.end()
            throw error
        }
    }

    /// Returns the change to an item that writes these fields with the values that they show. Values that are left to
    /// settle in these fields remain so.
    private static func edit(_ fields: Set<FieldName>, _ state: ItemState, _ view: ItemView) -> ItemEdit {
        var edit = ItemEdit()
        for mark in view.marks where fields.contains(mark.field) { edit.reopened[mark] = state.values[mark] }
        for field in fields {
            guard let dot = view.shown.fields[field], var value = state.values[ValueName(field, dot)] else { continue }
            value.replaced = 0
            edit.written[field] = value
            edit.renewed.insert(field)
        }
        return edit
    }
}
