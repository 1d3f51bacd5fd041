internal import VaultBytes
internal import VaultStore

/// Restores items of an earlier state of the same file. Differing values are written as new changes, because other
/// copies of the vault treat an undo like any other change.
struct UndoWriter {
    private let transaction: Transaction
    private let then: CommittedState
    private let settles: Bool

    /// - `then`: The state whose items are restored.
    /// - `settles`: Whether conflicts that did not exist in the earlier state are settled.
    init(_ transaction: Transaction, then: CommittedState, settles: Bool = false) {
        self.transaction = transaction
        self.then = then
        self.settles = settles
    }

    /// Restores all items that differ.
    func write() throws(VaultError) {
        let core = transaction.core
        let difference = try StateDifference(from: then, to: core.store.state, core)
        for item in difference.added { _ = try transaction.remove(item.key) }
        try putBack(difference.changed.sorted { $0.then.key < $1.then.key })
        guard !difference.removed.isEmpty else { return }
        let last = try lastStates(of: Set(difference.removed.map(\.entry.id)), since: then)
        for item in difference.removed.sorted(by: { $0.key < $1.key }) {
            try revive(item)
            if let last = last[item.entry.id] { try keepValues(of: last, in: item) }
        }
    }

    /// Returns removed items as they last were, by id. If a state in between is damaged, the items come back without the
    /// values of their last states: what the undo restores does not depend on these.
    private func lastStates(
        of ids: Set<Bytes16>, since then: CommittedState
    ) throws(VaultError) -> [Bytes16: Item] {
        do throws(VaultError) {
            let removals = try transaction.core.removals(after: then, of: ids)
            return Dictionary(removals.map { ($0.item.entry.id, $0.item) }, uniquingKeysWith: { first, _ in first })
        } catch {
            guard ItemsMerge.isDamage(error) else { throw error }
            return [:]
        }
    }

    /// Restores the item with this key if it does not exist now; returns false if it does.
    func revive(_ key: ItemKey) throws(VaultError) -> Bool {
        guard let item = try item(key) else { return false }
        if let present = try transaction.item(key) {
            guard present.entry.id != item.entry.id else { return false }
            throw VaultError(.duplicateItem, "another item now has the name of a removed item")
        }
        try revive(item)
        return true
    }

    /// Returns the item with this key in the earlier state.
    private func item(_ key: ItemKey) throws(VaultError) -> Item? {
        let core = transaction.core
        let tree = TreeReader(source: core.store.pages, root: then.commit.root)
        if let (page, index) = try tree.find(key.bytes) {
            return try ItemCodec.item(PageName(key), page, index, core.entryCheck)
        }
        return try TwinSearch(tree, core.entryCheck).item(listed: key)
    }

    // MARK: items in both states

    /// Restores changed items. An item whose earlier name is currently used by another item waits until the name is
    /// free.
    private func putBack(_ changed: [(then: Item, now: Item)]) throws(VaultError) {
        var waiting = changed
        while !waiting.isEmpty {
            var left: [(then: Item, now: Item)] = []
            for pair in waiting {
                let holder = try transaction.entry(PageName(pair.then.storedKey))
                let isFree = try holder.map { (holder) throws(VaultError) in
                    try had(pair.then.storedKey, holder.entry.id)
                }
                if isFree ?? true || pair.then.storedKey == pair.now.storedKey {
                    try putBack(pair.then, pair.now)
                } else {
                    left.append(pair)
                }
            }
            guard left.count < waiting.count else {
                throw VaultError(
                    .duplicateItem, "items have since swapped names, which cannot be undone in one step")
            }
            waiting = left
        }
    }

    /// Returns whether an item had this key in the earlier state; two items can have the same key.
    private func had(_ key: ItemKey, _ id: Bytes16) throws(VaultError) -> Bool {
        let core = transaction.core
        let tree = TreeReader(source: core.store.pages, root: then.commit.root)
        if let (page, index) = try tree.find(key.bytes) {
            if try ItemCodec.item(PageName(key), page, index, core.entryCheck).entry.id == id { return true }
        }
        return try TwinSearch(tree, core.entryCheck).others(key).contains { $0.entry.id == id }
    }

    private func putBack(_ past: Item, _ present: Item) throws(VaultError) {
        guard let old = try transaction.current(present) else { return }
        try refuseForgotten(past)
        let value = try transaction.openedRecord(past)
        var change = ItemChange(old)
        change.key = past.storedKey
        change.attributes = value.item.attributes
        change.accessibility = past.accessibility
        (change.created, change.modified) = (past.created, past.modified)
        var failure: VaultError?
        if let now = try transaction.opened(old, else: &failure) {
            change.before = now.item.attributes
            change.writesSecret = !past.lacksSecret && (old.lacksSecret || !now.secret.equals(value.secret))
        } else {
            change.writesSecret = !past.lacksSecret
        }
        // The secret that the item was given since becomes an earlier value, and the item shows none again.
        if past.lacksSecret, !old.lacksSecret { change.edit.dropped.insert(.secret) }
        change.keepsUnread = value.item.attributes
        try restoreConflicts(of: past, old, &change)
        guard try transaction.differs(change) || !change.edit.isEmpty else { return }
        try transaction.apply(change, secret: value.secret)
    }

    // MARK: conflicts

    /// An item's values to settle in one of its states.
    private struct ToSettle {
        let item: Item
        var marks: [ValueName] = []
        var values: [ValueName: HeldValue] = [:]
    }

    private func toSettle(in item: Item) throws(VaultError) -> ToSettle {
        guard item.needsSettling else { return ToSettle(item: item) }
        let state = try transaction.state(of: item)
        return ToSettle(item: item, marks: try transaction.view(of: item, state).marks, values: state.values)
    }

    /// Leaves the earlier state's values to settle again, under dots of this change, unless they are still left to
    /// settle. Values that are left to settle only in the present state are settled if `settles` is true.
    private func restoreConflicts(of past: Item, _ present: Item, _ change: inout ItemChange) throws(VaultError) {
        guard past.needsSettling || present.needsSettling else { return }
        let (then, now) = (try toSettle(in: past), try toSettle(in: present))
        if settles {
            for mark in now.marks where try !isToSettle(mark, of: now, in: then) {
                change.edit.settled.insert(mark.field)
            }
        }
        // A change settles every field that it writes or drops, even if the field has values to settle in both states.
        let closed = try transaction.closedFields(change)
        for mark in try transaction.unforgotten(Set(then.marks)).sorted() {
            guard var value = then.values[mark] else { continue }
            if !closed.contains(mark.field), try isToSettle(mark, of: then, in: now) { continue }
            value.replaced = 0
            change.edit.reopened[ValueName(mark.field, try transaction.nextDot())] = value
        }
    }

    /// Returns whether the same value is left to settle in another state, where a previous undo may have given it a
    /// different dot.
    private func isToSettle(
        _ mark: ValueName, of one: ToSettle, in other: ToSettle
    ) throws(VaultError) -> Bool {
        guard let value = one.values[mark] else { return false }
        for candidate in other.marks where candidate.field == mark.field {
            guard let found = other.values[candidate] else { continue }
            if candidate.dot == mark.dot || found.content == value.content { return true }
            let there = try transaction.classOf(candidate, found, of: other.item, before: other.item.referrer)
            if try transaction.classOf(mark, value, of: one.item, before: one.item.referrer) == there { return true }
        }
        return false
    }

    // MARK: forgotten values

    /// Throws if the undo would show a value that has since been forgotten.
    private func refuseForgotten(_ past: Item) throws(VaultError) {
        let names = Set(try ItemStates(transaction.next.vector).shownNames(of: past))
        guard try transaction.unforgotten(names).count < names.count else { return }
        throw VaultError(
            .invalidArgument,
            "\(past.key.summary) then had a value that has since been forgotten, and forgotten values cannot be restored"
        )
    }

    // MARK: removed items

    /// Restores an item under its own id, with its old records, its earlier values and its conflicts. The item's shown
    /// values and values to settle receive dots of this change, so a merge treats it as the same item, changed after
    /// its removal.
    private func revive(_ item: Item) throws(VaultError) {
        try refuseForgotten(item)
        let before = try transaction.state(of: item)
        let view = try transaction.view(of: item, before)
        let earlier = try transaction.unforgotten(view.kept)
        var values = before.values.filter { earlier.contains($0.key) }
        var marks: Set<ValueName> = []
        for mark in try transaction.unforgotten(Set(view.marks)).sorted() {
            guard var value = before.values[mark] else { continue }
            value.replaced = 0
            let name = ValueName(mark.field, try transaction.nextDot())
            values[name] = value
            marks.insert(name)
        }
        let dot = try transaction.nextDot()
        for (field, old) in view.shown.fields {
            values[ValueName(field, dot)] = before.values[ValueName(field, old)]
        }
        let sibling = Sibling(
            view.shown.fields.mapValues { _ in dot }, earlier: earlier, created: item.created, modified: item.modified)
        var state = ItemState(dot, sibling, values)
        state.open.formUnion(marks)
        try transaction.write(item, state, hasMarks: !marks.isEmpty)
    }

    /// Keeps, as earlier values of an item that was just restored, the secrets and sealed attributes that it showed,
    /// kept or had left to settle when it was removed, unless the restored state has the same ones. Old records of the
    /// removed item that are easier to open than the restored one are noted, as by any other change of readers.
    ///
    /// - `last`: The item in the last state that contains it.
    /// - `restored`: The item in the earlier state.
    private func keepValues(of last: Item, in restored: Item) throws(VaultError) {
        let compartment = restored.entry.compartment
        try transaction.note(last, now: restored.storedKey, in: compartment)
        let sealed = restored.attributes.all.filter { $0.flags.contains(.sealed) }.map(\.name)
        try transaction.note(sealed: sealed, before: last, now: restored.storedKey, in: compartment)
        guard transaction.ring.kept > 0, let present = try transaction.current(restored) else { return }
        var change = ItemChange(present)
        change.modified = restored.modified
        do throws(VaultError) { change.edit.added = try lacking(in: restored, of: last) } catch {
            guard ItemsMerge.isDamage(error) else { throw error }
        }
        guard !change.edit.isEmpty else { return }
        try transaction.apply(change)
    }

    /// Returns the protected values of an item's last state that an earlier state neither shows nor keeps nor has left
    /// to settle, sealed for owners.
    private func lacking(in restored: Item, of last: Item) throws(VaultError) -> [ValueName: HeldValue] {
        let (state, then) = (try transaction.state(of: last), try transaction.state(of: restored))
        let view = try transaction.view(of: last, state)
        let names = view.kept.union(Self.current(view).filter { state.values[$0]?.isProtected ?? false })
        let old = try transaction.view(of: restored, then)
        let present = old.kept.union(Self.current(old))
        let wanted = try transaction.unforgotten(names.subtracting(present))
        guard !wanted.isEmpty else { return [:] }
        var known: [FieldName: Set<ValueClass>] = [:]
        for name in present where wanted.contains(where: { $0.field == name.field }) {
            let found = try transaction.classOf(name, then.values[name], of: restored, before: restored.referrer)
            known[name.field, default: []].insert(found)
        }
        var placed = Transaction.PlacedAttributes()
        (placed.listed, placed.large) = (restored.attributes.listed, restored.largeRecords)
        var sealing = OwnersSealing(transaction, last.entry.id, placed, device: restored.place.device)
        var out: [ValueName: HeldValue] = [:]
        for name in wanted.sorted() {
            guard let value = state.values[name] else { continue }
            let found = try transaction.classOf(name, value, of: last, before: last.referrer)
            if known[name.field]?.contains(found) ?? false { continue }
            do throws(VaultError) { out[name] = try sealing.sealed(name, value, in: state) } catch {
                // A damaged value that was shown cannot be kept, as with any other change.
                guard !view.kept.contains(name), Transaction.cannotBeRead.contains(error.code) else {
                    throw error.naming(.earlierValue, of: restored.key)
                }
            }
        }
        return out
    }

    /// The values that an item shows, and those that are left to settle.
    private static func current(_ view: ItemView) -> Set<ValueName> {
        Set(view.shown.fields.map { ValueName($0, $1) }).union(view.marks)
    }
}
