package import VaultBytes

/// An item with the values that a change imports from a branch under an old key (specification, section 8.2).
package struct TakenItem: Sendable {
    package let state: ItemState
    /// The imported values: their names in the branch, each with its new dot.
    package let taken: [ValueName: Dot]
}

extension ItemState {
    /// Imports values of a branch under an old key into an item (M-27, M-29); returns nil if there are no values to
    /// import.
    ///
    /// Shown values do not change. If only the branch has the item, the item is created with its key and place, and all
    /// other values are left to settle.
    ///
    /// `shown`: the values that the branch shows. `forgotten`: the values of the item that are forgotten here.
    /// `isKnown`: whether a dot of the branch is known here (M-28).
    package static func taking<Failure: Error>(
        _ branch: ItemState, _ shown: ItemView, into ours: (state: ItemState, view: ItemView)?,
        forgotten: Set<ValueName>, isKnown: (Dot) -> Bool, newDot: () throws(Failure) -> Dot
    ) throws(Failure) -> TakenItem? {
        // The item was removed here after this vault included it.
        if ours == nil, branch.siblings.keys.allSatisfy(isKnown) { return nil }
        let live = Set(shown.shown.fields.map { ValueName($0, $1) }).union(shown.marks)
        let wanted = live.union(shown.earlier).filter { name in
            !forgotten.contains(name) && (ours == nil || !isKnown(name.dot))
        }
        if wanted.isEmpty, ours != nil { return nil }
        var taken: [ValueName: Dot] = [:]
        for name in wanted.sorted(by: { $0.dot == $1.dot ? $0 < $1 : $0.dot < $1.dot }) { taken[name] = try newDot() }
        let dot = try newDot()
        var state = ours.map { Self.unchanged($0.state, $0.view, dot) } ?? Self.bare(branch, shown.shown, dot)
        for (name, dot) in taken {
            guard var value = branch.values[name] else { continue }
            let new = ValueName(name.field, dot)
            if live.contains(name) {
                state.open.insert(new)
                value.replaced = 0
            } else {
                state.siblings.values[state.siblings.startIndex].earlier.insert(new)
            }
            state.values[new] = value
        }
        return TakenItem(state: state, taken: taken)
    }

    /// The shown item as one sibling.
    private static func unchanged(_ state: ItemState, _ view: ItemView, _ dot: Dot) -> ItemState {
        var new = state
        let sibling = Sibling(
            view.shown.fields, earlier: view.kept, created: state.created, modified: state.modified)
        new.siblings = [dot: sibling]
        let held = new.held
        new.values = state.values.filter { held.contains($0.key) }
        return new
    }

    /// An item with only the key and the place of the branch's item.
    private static func bare(_ branch: ItemState, _ shown: ShownItem, _ dot: Dot) -> ItemState {
        var values: [ValueName: HeldValue] = [:]
        for field in [FieldName.key, .place] {
            values[ValueName(field, dot)] = shown.fields[field].flatMap { branch.values[ValueName(field, $0)] }
        }
        let fields: [FieldName: Dot] = [.key: dot, .place: dot]
        return ItemState(dot, Sibling(fields, created: branch.created, modified: branch.modified), values)
    }
}
