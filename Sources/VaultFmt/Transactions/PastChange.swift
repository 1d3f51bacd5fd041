internal import VaultBytes
internal import VaultStore

// Changes to items that have a past before or after the change.
extension Transaction {
    /// An item's past before a change, if it was read, and after it.
    struct ChangedPast {
        var before: Past?
        var now: Past?
    }

    /// Replaces the item's siblings with one, keeps replaced values, and sets the parts of the entry that depend on the
    /// result. The entry already refers to the new record.
    func changePast(
        _ change: ItemChange, _ entry: inout ItemEntry, _ placed: PlacedAttributes, _ written: WrittenFields, _ dot: Dot
    ) throws(VaultError) -> ChangedPast {
        let old = change.old
        var before: Past?
        if change.losesPast {
            // The records to which the past referred can no longer be determined.
            tally.isLiveBytesLost = true
        } else {
            do throws(VaultError) { before = try past(of: old) } catch {
                throw error.naming(.past, of: old.key, in: path)
            }
        }
        let states = ItemStates(next.vector)
        let state = try states.state(of: old, before)
        let view = try view(of: old, state)
        let edit = edit(change, entry, placed, written)
        let edited = try state.changed(
            edit, dot: dot, time: core.store.fileSystem.now(), view, limit: ring.kept
        ) { (name) throws(VaultError) in
            let new = name.dot == dot ? edit.written[name.field] : nil
            let value = new ?? edit.added[name] ?? edit.reopened[name] ?? state.values[name]
            return try classOf(name, value, of: old, before: appender.position)
        }
        for name in edited.crowdedOut {
            guard let value = state.values[name] else { continue }
            let earlier = EarlierValue(name, value, of: old.entry.id, referrer: old.referrer)
            crowdedOut.append(DroppedValue(key: change.key, value: earlier))
        }
        var new = edited.state
        try sealForOwners(&new, change, placed, in: entry.compartment, before: state, replaced: view.shown)
        try list(forgotten: edited.forgotten)
        let shown = new.shown()
        let hasMarks =
            !edit.reopened.isEmpty
            || view.marks.contains { new.open.contains($0) && !(new.values[$0]?.isForgotten ?? true) }
        try states.fill(&entry, new, shown, hasMarks: hasMarks, placed.listed)
        let now = try states.past(new, shown, of: old.entry.id)
        let isSame = now == before && !change.losesPast
        entry.past = isSame ? old.entry.past : try now.map { (past) throws(VaultError) in try write(past) }
        return ChangedPast(before: before, now: now)
    }

    /// Assigns a dot of this commit to each losing value that would otherwise be older than all kept values of its
    /// field, and would therefore be dropped at once.
    func keepLosers(
        of change: inout ItemChange, _ written: WrittenFields, _ attributes: Attributes
    ) throws(VaultError) {
        guard change.old.needsSettling, ring.kept > 0, !change.losesPast else { return }
        let done = change.closedFields(written, attributes)
        let state = try state(of: change.old)
        let view = try view(of: change.old, state)
        var moved: Set<FieldName> = []
        for mark in view.marks where done.contains(mark.field) && !change.edit.forgotten.contains(mark) {
            guard var value = state.values[mark], value.isProtected else { continue }
            let shown = view.shown.fields[mark.field].map { ValueName(mark.field, $0) }
            let others = view.kept.union(view.marks).union(shown.map { [$0] } ?? [])
            let newer = others.count { $0.field == mark.field && $0.dot > mark.dot }
            // Once the first value of a field has moved, the others must also move, to preserve their order.
            guard newer >= ring.kept || moved.contains(mark.field) else { continue }
            moved.insert(mark.field)
            value.replaced = core.store.fileSystem.now()
            let name = ValueName(mark.field, try nextDot())
            change.edit.added[name] = value
            change.kept[name] = mark
        }
    }

    /// Returns the change to an item's fields, with the values that the entry will have.
    private func edit(
        _ change: ItemChange, _ entry: ItemEntry, _ placed: PlacedAttributes, _ written: WrittenFields
    ) -> ItemEdit {
        var edit = change.edit
        (edit.created, edit.modified) = (change.created, change.modified)
        if written.key { edit.written[.key] = HeldValue(.key(change.key.withoutGroup)) }
        if written.place, let place = ring.compartment(entry.compartment)?.place {
            edit.written[.place] = HeldValue(.place(place))
        }
        if written.secret { edit.written[.secret] = HeldValue(.secret(entry.own, attributes: [])) }
        for (index, attribute) in placed.listed.enumerated() where written.attributes[index] {
            edit.written[.attribute(attribute.name)] = HeldValue(attribute, itemRecord: entry.own)
        }
        for name in change.before.names where change.attributes.index(of: name) == nil {
            edit.dropped.insert(.attribute(name))
        }
        return edit
    }

    /// Reseals, for owners only, values that the item no longer shows. A damaged value that was shown until now cannot
    /// be kept.
    private func sealForOwners(
        _ state: inout ItemState, _ change: ItemChange, _ placed: PlacedAttributes, in compartment: UInt64,
        before: ItemState, replaced: ShownItem
    ) throws(VaultError) {
        let device = ring.compartment(compartment)?.info.device ?? .zero
        var sealing = OwnersSealing(self, change.old.entry.id, placed, device: device)
        let shown = state.shown()
        for (name, value) in state.values.sorted(by: { $0.key < $1.key }) where !shown.shows(name) {
            do throws(VaultError) {
                state.values[name] = try sealing.sealed(change.kept[name] ?? name, value, in: before)
            } catch {
                guard replaced.shows(name), Self.cannotBeRead.contains(error.code) else {
                    throw error.naming(.earlierValue, of: change.old.key)
                }
                state.drop(name)
            }
        }
    }

    /// Lists values that are forgotten (specification, section 6.5).
    func list(forgotten names: Set<ValueName>) throws(VaultError) {
        for name in names where try !isForgotten(name) {
            changes.set(name.forgottenKey, [])
            tally.forgotten += 1
        }
    }

    private func isForgotten(_ name: ValueName) throws(VaultError) -> Bool {
        if let change = changes.find(name.forgottenKey) { return change != nil }
        guard core.store.state.commit.forgotten > 0 else { return false }
        return try core.store.tree.find(name.forgottenKey) != nil
    }

    /// Returns those of the given values that are not forgotten.
    func unforgotten(_ names: Set<ValueName>) throws(VaultError) -> Set<ValueName> {
        var kept: Set<ValueName> = []
        for name in names where try !isForgotten(name) { kept.insert(name) }
        return kept
    }

    /// Seals and appends a past.
    func write(_ past: Past) throws(VaultError) -> ObjectRef {
        let body = try decoding { () throws(FormatError) in try past.encode() }
        let key = try pastKey()
        return try appender.append(body, as: .past, .past, key: key.secret)
    }

    /// Reads the past that is removed with an item; returns nil if it is unreadable. This does not prevent the removal.
    func pastToRemove(_ item: Item) throws(VaultError) -> Past? {
        do throws(VaultError) { return try past(of: item) } catch {
            guard error.code == .authenticationFailed || error.code == .structureInvalid else { throw error }
            // The records to which the past referred can no longer be determined.
            tally.isLiveBytesLost = true
            return nil
        }
    }
}

extension ValueName {
    /// The key of the entry that lists the value as forgotten.
    var forgottenKey: [UInt8] {
        var bytes: [UInt8] = []
        if case .attribute(let name) = field { bytes = name }
        return ForgottenValue(dot: dot, kind: field.kind, name: bytes).key
    }
}

extension ItemState {
    /// Drops an unreadable value that is not shown.
    mutating func drop(_ name: ValueName) {
        for dot in siblings.keys { siblings[dot]?.earlier.remove(name) }
        open.remove(name)
        values[name] = nil
    }
}
