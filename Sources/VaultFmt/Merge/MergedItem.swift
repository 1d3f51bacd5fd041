internal import VaultBytes
internal import VaultStore

/// An item that is in one or both copies, and the result of merging it (specification, section 8.1).
struct MergedItem {
    let id: Bytes16
    /// The item in our copy, with its state.
    let ours: Held?
    let theirs: Held?
    /// The merged item; nil if nothing of it remains. Its values refer to records in either file.
    private(set) var state: ItemState?
    /// The values that the merge leaves to settle again, by their new dots, with their names in the copies.
    private var reopened: [ValueName: ValueName] = [:]
    /// True if leaving them to settle dropped earlier values, because the vault keeps fewer.
    private(set) var hasDroppedValues = false

    /// An item of one copy.
    struct Held {
        let item: Item
        let state: ItemState
        /// The reader of the copy that contains the item.
        let reader: VaultCore

        init(_ item: Item, _ side: MergeSide, isOurs: Bool) throws(VaultError) {
            self.item = item
            reader = side.core
            state = try side.state(of: item, isOurs: isOurs)
        }
    }

    /// Merges an item; `forgotten` are the values that only one of the copies has forgotten.
    init(
        _ id: Bytes16, _ ours: Held?, _ theirs: Held?, _ mine: MergeSide, _ its: MergeSide,
        forgotten: Set<ForgottenValue>
    ) {
        self.id = id
        self.ours = ours
        self.theirs = theirs
        var merged = ItemState.merged(
            ours?.state, theirs?.state, hasLeft: { mine.hasSeen($0) }, hasRight: { its.hasSeen($0) })
        if !forgotten.isEmpty, let held = merged?.held {
            merged?.forget(held.filter { forgotten.contains(ForgottenValue($0)) })
        }
        state = merged
    }

    // MARK: records

    /// The places of records in our file, by their hashes. A record that is in both files is read from ours.
    var ownRecords: [Bytes32: RecordRef] {
        var all: [Bytes32: RecordRef] = [:]
        for value in ours?.state.values.values ?? [:].values {
            for record in value.records { all[record.record.hash] = record }
        }
        return all
    }

    /// The merged item, with references to our file wherever our file has the same record.
    var settled: ItemState? {
        guard var state else { return nil }
        let own = ownRecords
        for (name, value) in state.values { state.values[name] = value.mapped { own[$0.record.hash] ?? $0 } }
        return state
    }

    /// True if our copy already has exactly this item. The copies can have the same secret in different records, since
    /// a change to an attribute that is sealed with the secret reseals both. Our record then remains.
    var isOurs: Bool {
        guard let ours, let settled else { return ours == nil && state == nil }
        let own = ours.state.values
        guard settled == ours.state, settled.values.count == own.count else { return false }
        return settled.values.allSatisfy { name, value in own[name]?.isEqual(inAnyRecord: value) ?? false }
    }

    // MARK: an item kept against a removal

    /// Leaves to settle again, under new dots, the values of unsettled fields that the removal in the other copy took with
    /// the item (R-8.13): the remover had seen them, but not the change that keeps the item.
    ///
    /// `forgotten`: the values that only one of the copies has forgotten.
    mutating func reopenRemoved(
        _ transaction: Transaction, forgotten: Set<ForgottenValue>
    ) throws(VaultError) {
        guard let held = theirs == nil ? ours : ours == nil ? theirs : nil, let merged = settled,
            held.item.needsSettling
        else { return }
        let unsettled = Set(try marks(of: held).map(\.field))
        let lost = held.state.open.filter {
            unsettled.contains($0.field) && !merged.open.contains($0) && !forgotten.contains(ForgottenValue($0))
        }
        guard !lost.isEmpty else { return }
        let shown = try view(merged, limit: transaction.limit)
        var edit = ItemEdit()
        for mark in lost.sorted() {
            guard var value = held.state.values[mark], !value.isForgotten else { continue }
            if let now = shown.shown.fields[mark.field] {
                guard try classOf(mark) != classOf(ValueName(mark.field, now)) else { continue }
            }
            value.replaced = 0
            let name = ValueName(mark.field, try transaction.nextDot())
            edit.reopened[name] = value
            reopened[name] = mark
        }
        guard !edit.isEmpty else { return }
        let edited = try merged.changed(
            edit, dot: try transaction.nextDot(), time: merged.modified, shown, limit: transaction.limit
        ) { (name) throws(VaultError) in try classOf(name) }
        state = edited.state
        hasDroppedValues = shown.earlier.contains { edited.state.values[$0] == nil }
    }

    private func marks(of held: Held) throws(VaultError) -> [ValueName] {
        do throws(VaultError) { return try held.reader.view(of: held.item, held.state).marks } catch {
            throw naming(error, inOurs: theirs == nil)
        }
    }

    // MARK: shown values

    /// Returns the values that the merged item shows, its values to settle, and its earlier values.
    func view(_ state: ItemState, limit: Int) throws(VaultError) -> ItemView {
        try state.view(limit: limit) { (name) throws(VaultError) in try classOf(name) }
    }

    /// Classifies a value by its bytes, read from the copy that contains it.
    func classOf(_ name: ValueName) throws(VaultError) -> ValueClass {
        let name = reopened[name] ?? name
        for held in [ours, theirs].compactMap(\.self) where held.state.values[name] != nil {
            do throws(VaultError) {
                return try held.reader.classOf(
                    name, held.state.values[name], of: held.item, before: held.item.referrer)
            } catch { throw naming(error, inOurs: held.reader === ours?.reader) }
        }
        return .unknown(name)
    }

    func naming(_ error: VaultError, inOurs: Bool) -> VaultError {
        guard let item = inOurs ? ours?.item ?? theirs?.item : theirs?.item ?? ours?.item else { return error }
        return Self.naming(error, item.key, inOurs: inOurs)
    }

    /// Returns the error, with the item and the copy named if damage there is the cause; any other error is returned
    /// unchanged.
    static func naming(_ error: VaultError, _ key: ItemKey, inOurs: Bool) -> VaultError {
        guard [.authenticationFailed, .structureInvalid, .io].contains(error.code) else { return error }
        return VaultError(
            error.code,
            "a value of \(key.summary) cannot be read in \(inOurs ? "the vault" : "the other copy"): \(error.detail); "
                + "replace that copy with an intact one, or set the value there again",
            at: error.offset)
    }

    /// Returns the error for a list of earlier values that cannot be read, with the item and the copy named.
    static func naming(_ error: VaultError, past key: ItemKey, inOurs: Bool) -> VaultError {
        guard [.authenticationFailed, .structureInvalid, .io].contains(error.code) else { return error }
        var named = VaultError(
            error.code,
            "the list of earlier values of \(key.summary) cannot be read in \(inOurs ? "the vault" : "the other copy"): "
                + "\(error.detail); replace that copy with an intact one, or forget all earlier values of the item there; "
                + "if the other copy has changed the item, the next merge brings its earlier values back",
            at: error.offset)
        named.hasDamagedPast = true
        return named
    }

    /// Returns the fields that show bytes other than those in our copy.
    func changedFields(_ shown: ShownItem) throws(VaultError) -> [FieldName] {
        guard let before = ours?.state.shown().fields else { return Array(shown.fields.keys) }
        var changed: [FieldName] = []
        for field in Set(before.keys).union(shown.fields.keys) {
            guard before[field] != shown.fields[field] else { continue }
            guard let old = before[field], let new = shown.fields[field],
                try classOf(ValueName(field, old)) == classOf(ValueName(field, new))
            else {
                changed.append(field)
                continue
            }
        }
        return changed.sorted()
    }

    /// Returns the fields that would lose the value that our copy shows; nil if the merge would not regress our copy.
    ///
    /// The merge would regress our copy if the result showed no value, or a value that our copy has seen and replaced
    /// or dropped, while our copy's newer value was lost: neither left to settle, nor an earlier value, nor forgotten.
    /// Nobody asked for such a loss: the newer value was removed with the item, which remains because of a change that
    /// the remover had not seen.
    func regressedFields(_ mine: MergeSide, _ forgotten: Set<ForgottenValue>) throws(VaultError) -> Set<FieldName>? {
        guard let before = ours?.state, let state else { return nil }
        let (then, now) = (before.shown().fields, state.shown().fields)
        let isPartOfOurs = state.siblings.keys.allSatisfy { before.siblings[$0] != nil }
        func isLost(_ field: FieldName, _ dot: Dot) -> Bool {
            let name = ValueName(field, dot)
            return state.values[name] == nil && before.values[name]?.isForgotten == false
                && !forgotten.contains(ForgottenValue(name))
        }
        var (older, hasReturned) = (Set<FieldName>(), false)
        for (field, dot) in now where then[field] != dot && mine.hasSeen(dot) {
            guard let old = then[field] else {
                // Another sibling of ours has dropped it.
                if isPartOfOurs, before.values[ValueName(field, dot)]?.isForgotten == false { hasReturned = true }
                continue
            }
            guard dot < old, isLost(field, old) else { continue }
            if try classOf(ValueName(field, old)) != classOf(ValueName(field, dot)) { older.insert(field) }
        }
        // If our copy has seen all siblings of the result, or if the siblings that it has not seen are older than the
        // value, no change has dropped the field. Otherwise, a change in the other copy that continues one of our
        // siblings may have dropped that sibling's value.
        let unseen = state.siblings.keys.filter { !mine.hasSeen($0) }
        let continued = before.siblings.values.filter { sibling in older.contains { sibling.fields[$0] == now[$0] } }
        let hasRegressed = !older.isEmpty
        for (field, dot) in then where now[field] == nil && isLost(field, dot) {
            let isContinued = continued.contains { $0.fields[field] == dot }
            if unseen.allSatisfy({ $0 < dot }) || (hasRegressed && !isContinued) { older.insert(field) }
        }
        return older.isEmpty && !hasReturned ? nil : older
    }

    /// Returns whether our item no longer has anything left to settle, and our copy already had each earlier value,
    /// either as an earlier value or as a value to settle. `view` is the merged item's view.
    func isSettled(_ view: ItemView) -> Bool {
        guard let ours, ours.item.needsSettling, view.marks.isEmpty else { return false }
        return view.earlier.allSatisfy { ours.state.values[$0] != nil }
    }

    /// Returns whether the item is kept although one copy has removed it.
    func isKept(against other: MergeSide, _ held: Held?, _ missing: Held?) -> Bool {
        guard let held, missing == nil, state != nil else { return false }
        return held.state.held.contains { other.hasSeen($0.dot) }
    }

    /// Returns whether the item is kept only because a split id hides the changes that one copy includes.
    func isKeptForSplitID(_ other: MergeSide, _ held: Held?, _ missing: Held?) -> Bool {
        guard let held, missing == nil, let state else { return false }
        return !held.state.siblings.isEmpty
            && state.siblings.keys.allSatisfy { other.isSplit($0) && other.vector.hasSeen($0) }
    }
}

extension ForgottenValue {
    init(_ name: ValueName) {
        var bytes: [UInt8] = []
        if case .attribute(let name) = name.field { bytes = name }
        self.init(dot: name.dot, kind: name.field.kind, name: bytes)
    }
}

extension HeldValue {
    /// Returns whether both are the same value, although their own records may differ.
    fileprivate func isEqual(inAnyRecord other: HeldValue) -> Bool {
        var moved = other
        moved.record = record
        return moved == self
    }

    /// Returns a copy that refers to other records.
    func mapped<Failure: Error>(_ place: (RecordRef) throws(Failure) -> RecordRef) throws(Failure) -> HeldValue {
        var value = self
        switch content {
        case .secret(let own, let attributes):
            var listed: [PageAttribute] = []
            for attribute in attributes {
                guard let record = attribute.record else {
                    listed.append(attribute)
                    continue
                }
                let moved = PageAttribute.Value.inOwnRecord(try place(record))
                listed.append(PageAttribute(name: attribute.name, flags: attribute.flags, value: moved))
            }
            value.content = .secret(try place(own), attributes: listed)
        case .attribute(let flags, .inRecord(let record)):
            value.content = .attribute(flags: flags, .inRecord(try place(record)))
        case .attribute(_, .inPage), .key, .place, .forgotten: break
        }
        return value
    }
}
