package import VaultBytes

/// The effect of one change on an item (specification, section 6.4).
package struct ItemEdit: Sendable {
    /// The fields that are set to a new value.
    package var written: [FieldName: HeldValue] = [:]
    /// The fields that are settled in favor of the values that they show.
    package var settled: Set<FieldName> = []
    /// The attributes that are removed; also the secret, if an undo leaves the item without one again.
    package var dropped: Set<FieldName> = []
    /// The earlier values that are forgotten, together with all others that have the same bytes.
    package var forgotten: Set<ValueName> = []
    /// New earlier values, for example from an import; their dots belong to the commit.
    package var added: [ValueName: HeldValue] = [:]
    /// Values to be settled again, for example after an undo; their dots belong to the commit. Values that are already
    /// left to settle remain so under their own dots.
    package var reopened: [ValueName: HeldValue] = [:]
    /// Fields that are rewritten with the value that they show. The value's previous dot does not become an earlier
    /// value, because the bytes are the same. The rewrite gives the value a dot that is greater than the dots of the
    /// added values, which are older, or a dot that another copy has not seen.
    package var renewed: Set<FieldName> = []
    /// The times of creation and change given by the caller; nil to keep the known creation time or to use the time of
    /// the change.
    package var created: Int64?
    package var modified: Int64?

    package init() {}

    /// True if nothing is written, settled, removed, forgotten, added or left to settle.
    package var isEmpty: Bool {
        written.isEmpty && settled.isEmpty && dropped.isEmpty && forgotten.isEmpty && added.isEmpty && reopened.isEmpty
    }
}

/// An item after a change.
package struct EditedItem: Sendable {
    package let state: ItemState
    /// The values that the change forgets (M-7) and that the vault must list as forgotten.
    package let forgotten: Set<ValueName>
    /// The earlier values that were listed before the change, and that the change drops although their field then lists
    /// fewer values than the vault keeps. They are in ascending order.
    package let crowdedOut: [ValueName]
}

extension ItemState {
    /// Replaces all siblings with one, which has the change's dot (M-3 to M-7).
    ///
    /// `time`: the time of the change, for values that the change replaces. `view`: the item's values before the
    /// change, with the limit of this vault. `classOf`: classifies a value by its bytes; called only for values that
    /// must be compared.
    package func changed<Failure: Error>(
        _ edit: ItemEdit, dot: Dot, time: Int64, _ view: ItemView, limit: Int,
        _ classOf: (ValueName) throws(Failure) -> ValueClass
    ) throws(Failure) -> EditedItem {
        let written = withSettled(edit, view.shown)
        var fields = view.shown.fields
        for field in written.keys { fields[field] = dot }
        for field in edit.dropped { fields[field] = nil }
        let done = edit.settled.union(written.keys).union(edit.dropped)
        var open = self.open.filter { name in
            !done.contains(name.field) || (edit.settled.contains(name.field) && fields[name.field] == name.dot)
        }
        for field in written.keys { open.insert(ValueName(field, dot)) }
        open.formUnion(edit.reopened.keys)
        let live = open.union(fields.map { ValueName($0, $1) })
        var classes = ValueClasses()
        let gone = try equals(edit.forgotten, &classes, classOf).subtracting(live)
        let forgotten = forgotten
        var pool = view.kept.union(self.open.filter(isProtected))
        pool.formUnion(view.shown.fields.map { ValueName($0, $1) }.filter(isProtected))
        for field in edit.renewed { pool = pool.filter { $0.field != field || $0.dot != view.shown.fields[field] } }
        pool = pool.filter { !gone.contains($0) && !live.contains($0) && !forgotten.contains($0) }
        pool.formUnion(edit.added.keys)
        let earlier = try classes.newest(pool, limit, classOf)
        let crowdedOut = try crowdedOut(
            view.earlier.filter { !gone.contains($0) }, by: earlier, live, limit: limit, &classes, classOf)
        let sibling = Sibling(
            fields, earlier: earlier, created: edit.created ?? created, modified: edit.modified ?? time)
        var state = ItemState(siblings: [dot: sibling], open: open, values: [:])
        let held = state.held
        state.values = values.merging(edit.added) { $1 }.merging(edit.reopened) { $1 }.filter { held.contains($0.key) }
        for (name, value) in state.values where !live.contains(name) && value.replaced == 0 {
            state.values[name]?.replaced = time
        }
        for (field, value) in written { state.values[ValueName(field, dot)] = value }
        state.forget(gone)
        return EditedItem(state: state, forgotten: gone, crowdedOut: crowdedOut)
    }

    /// Returns the listed values that a change drops although their field then lists fewer than `limit` values: a value
    /// equal to what the item now shows is not listed, but counts, so that its dots can still be forgotten.
    private func crowdedOut<Failure: Error>(
        _ listed: [ValueName], by kept: Set<ValueName>, _ live: Set<ValueName>, limit: Int,
        _ classes: inout ValueClasses, _ classOf: (ValueName) throws(Failure) -> ValueClass
    ) throws(Failure) -> [ValueName] {
        let missing = listed.filter { !kept.contains($0) && !live.contains($0) }
        var out: [ValueName] = []
        for (field, names) in Dictionary(grouping: missing, by: \.field) {
            var current: Set<ValueClass> = []
            for name in live where name.field == field { current.insert(try classes.find(name, classOf)) }
            var left: Set<ValueClass> = []
            for name in kept where name.field == field { left.insert(try classes.find(name, classOf)) }
            guard left.subtracting(current).count < limit else { continue }
            for name in names {
                let found = try classes.find(name, classOf)
                if !current.contains(found), !left.contains(found) { out.append(name) }
            }
        }
        return out.sorted()
    }

    /// Adds the fields that are settled; a value that is shown without being open is set again under a new dot (M-5).
    private func withSettled(_ edit: ItemEdit, _ shown: ShownItem) -> [FieldName: HeldValue] {
        var written = edit.written
        for field in edit.settled.subtracting(edit.dropped) where written[field] == nil {
            guard let now = shown.fields[field].map({ ValueName(field, $0) }), !open.contains(now) else { continue }
            if var value = values[now] {
                value.replaced = 0
                written[field] = value
            }
        }
        return written
    }

    private func isProtected(_ name: ValueName) -> Bool { values[name]?.isProtected ?? false }

    /// Returns every value of the item that has the same field and bytes as one of these values.
    private func equals<Failure: Error>(
        _ names: Set<ValueName>, _ classes: inout ValueClasses, _ classOf: (ValueName) throws(Failure) -> ValueClass
    ) throws(Failure) -> Set<ValueName> {
        guard !names.isEmpty else { return [] }
        var wanted: [FieldName: Set<ValueClass>] = [:]
        for name in names { wanted[name.field, default: []].insert(try classes.find(name, classOf)) }
        var all = names
        for name in values.keys {
            guard let field = wanted[name.field], !all.contains(name) else { continue }
            if field.contains(try classes.find(name, classOf)) { all.insert(name) }
        }
        return all
    }
}
