internal import VaultBytes
internal import VaultStore

/// The changes of a branch under replaced keys that would take something away from the staying side, or change its
/// setting. They are never carried out, because a holder of a leaked old key could have made them: they are
/// named, so that the user can make them again.
///
/// The staying side's vector does not include the branch's changes. Something that the branch has seen and lacks, and
/// that the staying side has, was therefore taken away in the branch.
struct NotCarriedOut {
    private let staying: MergeSide
    private let branch: MergeSide
    /// The staying side's items.
    private var items: [Item] = []
    /// The branch's items, by id.
    private var others: [Bytes16: Item] = [:]
    /// The values that only the branch has forgotten.
    private var forgotten: Set<ForgottenValue> = []
    /// These values without replica ids: the replica id of a dot is 0 after a restart of the vector.
    private var forgottenRevisions: Set<ForgottenValue> = []

    /// `entries`: the entries of each side, as `MergeSide.entries` returns them.
    init(
        _ staying: MergeSide, _ branch: MergeSide, entries: (staying: [StateReader.Entry], branch: [StateReader.Entry])
    ) {
        self.staying = staying
        self.branch = branch
        for entry in entries.branch {
            switch entry {
            case .item(let item): others[item.entry.id] = item
            case .forgotten(let value): forgotten.insert(value)
            }
        }
        for entry in entries.staying {
            switch entry {
            case .item(let item): items.append(item)
            case .forgotten(let value): forgotten.remove(value)
            }
        }
        for value in forgotten { forgottenRevisions.insert(value.withoutReplica) }
    }

    /// Returns a note for each of these changes: removed items first, then forgotten values, removed attributes, and
    /// the limit of earlier values.
    func notes() throws(VaultError) -> [MergeReport.Note] {
        var removed: [MergeReport.Note] = []
        var forgotten: [MergeReport.Note] = []
        var attributes: [MergeReport.Note] = []
        for item in items.sorted(by: { $0.key < $1.key }) {
            guard let other = others[item.entry.id] else {
                if try hasBeenInBranch(item) { removed.append(.removalNotCarriedOut(item.key)) }
                continue
            }
            let values = try forgottenFields(of: item)
            if !values.isEmpty { forgotten.append(.forgettingNotCarriedOut(item.key, fields: values)) }
            let names = try removedAttributes(of: item, other)
            if !names.isEmpty { attributes.append(.attributesNotRemoved(item.key, fields: names)) }
        }
        var notes = removed + forgotten + attributes
        if let limit = try limit() { notes.append(.limitNotCarriedOut(limit)) }
        return notes
    }

    /// Returns the state of an item; nil if its past is damaged, which the merge reports anyway.
    private func state(of item: Item, _ side: MergeSide) throws(VaultError) -> ItemState? {
        do throws(VaultError) {
            return try ItemStates(side.vector).state(of: item, try side.core.past(of: item))
        } catch {
            guard ItemsMerge.isDamage(error) else { throw error }
            return nil
        }
    }

    /// Returns whether the branch, which lacks this item, has seen a field of it. The earlier values of an item that an
    /// undo has brought back here do not count: the branch may have followed the removal that was undone.
    private func hasBeenInBranch(_ item: Item) throws(VaultError) -> Bool {
        guard let state = try state(of: item, staying) else { return false }
        return state.siblings.values.contains { sibling in
            sibling.fields.values.contains { branch.hasSeen($0) }
        }
    }

    /// Returns the fields of which the staying side has values that only the branch has forgotten.
    private func forgottenFields(of item: Item) throws(VaultError) -> [ConflictField] {
        guard !forgotten.isEmpty, let state = try state(of: item, staying) else { return [] }
        var fields: Set<FieldName> = []
        for (name, value) in state.values where !value.isForgotten && isForgotten(name) {
            fields.insert(name.field)
        }
        return fields.sorted().map { ConflictField($0) }
    }

    private func isForgotten(_ name: ValueName) -> Bool {
        let value = ForgottenValue(name)
        // A forgotten value with the replica id 0 matches every dot of its revision, and vice versa.
        if name.dot.replica == 0 { return forgottenRevisions.contains(value) }
        return forgotten.contains(value) || forgotten.contains(value.withoutReplica)
    }

    /// Returns the attributes that the staying side shows, with values that the branch has seen, and that no sibling of
    /// the branch's item has.
    private func removedAttributes(of item: Item, _ other: Item) throws(VaultError) -> [ConflictField] {
        let shown = try ItemStates(branch.vector).shownNames(of: other).map(\.field)
        var gone: Set<FieldName> = []
        for name in try ItemStates(staying.vector).shownNames(of: item) {
            guard name.field.kind == .attribute, branch.hasSeen(name.dot), !shown.contains(name.field) else { continue }
            gone.insert(name.field)
        }
        guard !gone.isEmpty, let state = try state(of: other, branch) else { return [] }
        // A sibling can have a value that the item does not show.
        for sibling in state.siblings.values { gone.subtract(sibling.fields.keys) }
        return gone.sorted().map { ConflictField($0) }
    }

    // MARK: slots

    /// Returns a note for each slot that the branch added, changed or removed.
    ///
    /// `isKnown`: whether the staying side includes or has taken in a change of the branch.
    static func slots(
        _ staying: MergeSide, _ branch: MergeSide, isKnown: (Dot) -> Bool
    ) throws(VaultError) -> [MergeReport.Note] {
        let (mine, its) = (try staying.slots(), try branch.slots())
        // A rotation changes all slots of its side, so its dot does not tell whether somebody changed one of them.
        let rotation = try branch.dot(branch.keyring.vaultKey)
        func isChanged(_ one: MergeSide.SlotState, _ other: MergeSide.SlotState) -> Bool {
            if one.changed != rotation, one.changed != other.changed, !isKnown(one.changed) { return true }
            return one.grants.contains { other.grants[$0.key] != $0.value && !isKnown($0.value) }
                || other.grants.contains { one.grants[$0.key] == nil && branch.hasSeen($0.value) }
        }
        var notes: [MergeReport.Note] = []
        for slot in staying.store.header.slots {
            guard let own = mine[slot.id] else { continue }
            let isNews: Bool
            if let one = its[slot.id], one.made == own.made {
                isNews = isChanged(one, own)
            } else {
                isNews = branch.hasSeen(own.made)
            }
            if isNews { notes.append(.slotNotCarriedOut(SlotID(slot.id), name: try staying.name(of: slot))) }
        }
        for slot in branch.store.header.slots {
            guard let one = its[slot.id], mine[slot.id]?.made != one.made, !isKnown(one.made) else { continue }
            notes.append(.slotNotCarriedOut(SlotID(slot.id), name: try branch.name(of: slot)))
        }
        return notes
    }

    /// Returns the limit of earlier values that the branch has set; nil if the branch has set no limit or the same
    /// limit.
    private func limit() throws(VaultError) -> Int? {
        let (own, other) = (staying.keyring.keeping, branch.keyring.keeping)
        guard own.count != other.count, try !staying.hasSeen(branch.dot(other.dot)) else { return nil }
        return other.count
    }
}

extension MergeSide {
    /// The name of a slot of this side.
    func name(of slot: Slot) throws(VaultError) -> String { try core.ownerPart(of: slot).part.name }

    /// Reads all entries of the side's newest state.
    func entries() throws(VaultError) -> [StateReader.Entry] {
        let reader = StateReader(core)
        var entries: [StateReader.Entry] = []
        var leaves = store.tree.leaves(isCaching: false)
        while let leaf = try leaves.next(1).first {
            let page = try store.pages.load(leaf)
            for index in 0..<page.count { entries.append(try reader.read(page, index)) }
        }
        return entries
    }
}

extension ForgottenValue {
    /// The value under a dot with the replica id 0.
    fileprivate var withoutReplica: ForgottenValue {
        ForgottenValue(dot: Dot(revision: dot.revision, replica: 0), kind: kind, name: name)
    }
}
