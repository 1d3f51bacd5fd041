internal import VaultBytes
package import VaultStore

/// Merges the slots of two copies. The dot of a slot's creation decides whether the slot is kept, and the dot of a
/// grant decides whether the grant is kept (section 8.1).
struct SlotMerge {
    /// A slot of the result.
    struct Choice {
        /// The slot of the side with the later contents.
        let slot: Slot
        let part: OwnerPart
        /// The key under which a scoped slot is sealed again.
        let wrappingKey: SecretBox
        var made: Dot
        var changed: Dot
        var grants: [GroupName: Dot]
        /// True if our copy has the slot with these contents.
        let isOurs: Bool
        /// True if the other copy has the slot with these contents.
        let isTheirs: Bool

        var id: Bytes16 { slot.id }
        var isKnownFull: Bool { slot.kind == .full && !slot.isOpaque }
    }

    private let ours: MergeSide
    private let theirs: MergeSide
    private(set) var slots: [Choice] = []
    private(set) var notes: [MergeReport.Note] = []
    /// The kinds of slots that are on one side but not in the result.
    private(set) var gone: [Slot.Kind] = []
    /// True if both sides have a full slot of the result, with the dot of its creation.
    private var sharesFullSlot = false

    init(_ ours: MergeSide, _ theirs: MergeSide) throws(VaultError) {
        self.ours = ours
        self.theirs = theirs
        let (mine, its) = (try ours.slots(), try theirs.slots())
        for slot in ours.store.header.slots { try add(slot.id, mine[slot.id], its[slot.id]) }
        for slot in theirs.store.header.slots where mine[slot.id] == nil { try add(slot.id, nil, its[slot.id]) }
        guard slots.count <= Format.Limit.slots else {
            throw VaultError(.limitExceeded, "a vault can have at most \(Format.Limit.slots) slots")
        }
        try SlotEditing.checkCosts(slots.map(\.slot), insteadOf: ours.store.header.slots)
        noteSlotsOfBoth()
    }

    /// Adds notes if each side has full slots that the other side has not seen, and the sides have none in common. Two
    /// merges of the same copies that were each completed with a different slot lead to this: a slot that one
    /// side had removed then opens the vault again.
    private mutating func noteSlotsOfBoth() {
        let full = slots.filter(\.isKnownFull)
        guard !sharesFullSlot, full.contains(where: \.isOurs), full.contains(where: \.isTheirs) else { return }
        notes += full.map { .slotsOfBoth(SlotID($0.id), name: $0.part.name) }
    }

    /// True if the result has a full slot that this version can open.
    var hasFullSlot: Bool { slots.contains(where: \.isKnownFull) }

    // MARK: one slot

    private mutating func add(
        _ id: Bytes16, _ mine: MergeSide.SlotState?, _ its: MergeSide.SlotState?
    ) throws(VaultError) {
        if let mine, let its, mine.made == its.made { return try addBoth(id, mine, its) }
        // A slot that was removed on both sides and added again has the same id but a different dot.
        let stays = mine.map { !theirs.hasSeen($0.made) } ?? false
        let comes = its.map { !ours.hasSeen($0.made) } ?? false
        if let mine, stays, !comes || its.map({ $0.made < mine.made }) ?? true {
            slots.append(try choice(id, ours, mine, isOurs: true, isTheirs: false))
            if its != nil { try noteGone(id, theirs, isOurs: false) }
        } else if let its, comes {
            let taken = try choice(id, theirs, its, isOurs: false, isTheirs: true)
            slots.append(taken)
            if mine == nil {
                notes.append(.slotTaken(SlotID(id), name: taken.part.name))
            } else {
                // Both copies have added the slot again, so nobody gains access with it.
                notes.append(.slotChanged(SlotID(id), name: taken.part.name))
                try noteGone(id, ours, isOurs: false)
            }
        } else {
            if mine != nil { try noteGone(id, ours, isOurs: true) }
            if its != nil { try noteGone(id, theirs, isOurs: false) }
        }
    }

    private mutating func noteGone(_ id: Bytes16, _ side: MergeSide, isOurs: Bool) throws(VaultError) {
        guard let slot = side.store.header.slots.first(where: { $0.id == id }) else { return }
        gone.append(slot.kind)
        guard isOurs else { return }
        notes.append(.slotRemoved(SlotID(id), name: try side.core.ownerPart(of: slot).part.name))
    }

    private mutating func addBoth(
        _ id: Bytes16, _ mine: MergeSide.SlotState, _ its: MergeSide.SlotState
    ) throws(VaultError) {
        let isOurs = mine.changed >= its.changed
        var out = try choice(
            id, isOurs ? ours : theirs, isOurs ? mine : its, isOurs: isOurs, isTheirs: mine.changed <= its.changed)
        out.grants = [:]
        for (group, dot) in mine.grants where its.grants[group] == dot || !theirs.hasSeen(dot) {
            out.grants[group] = dot
        }
        for (group, dot) in its.grants where mine.grants[group] == dot || !ours.hasSeen(dot) {
            out.grants[group] = max(dot, out.grants[group] ?? dot)
        }
        guard out.grants.count <= Format.Limit.grantedGroups else {
            throw VaultError(
                .limitExceeded, "a slot can grant at most \(Format.Limit.grantedGroups) access groups")
        }
        slots.append(out)
        if out.isKnownFull { sharesFullSlot = true }
        if mine.changed != its.changed, !theirs.hasSeen(mine.changed), !ours.hasSeen(its.changed) {
            notes.append(.slotChangedInBoth(SlotID(id), name: out.part.name, isOurs: isOurs))
        } else if !isOurs {
            notes.append(.slotChanged(SlotID(id), name: out.part.name))
        }
        let lost = mine.grants.keys.filter { out.grants[$0] == nil }.sorted().map(\.text)
        if !lost.isEmpty { notes.append(.slotLostGroups(SlotID(id), name: out.part.name, groups: lost)) }
        let gained = out.grants.keys.filter { mine.grants[$0] == nil }.sorted().map(\.text)
        if !gained.isEmpty { notes.append(.slotGainedGroups(SlotID(id), name: out.part.name, groups: gained)) }
    }

    private func choice(
        _ id: Bytes16, _ side: MergeSide, _ state: MergeSide.SlotState, isOurs: Bool, isTheirs: Bool
    ) throws(VaultError) -> Choice {
        guard let slot = side.store.header.slots.first(where: { $0.id == id }) else {
            throw VaultError(.structureInvalid, "a slot is missing from the header")
        }
        let (part, wrappingKey) = try side.core.ownerPart(of: slot)
        return Choice(
            slot: slot, part: part, wrappingKey: wrappingKey, made: state.made, changed: state.changed,
            grants: state.grants, isOurs: isOurs, isTheirs: isTheirs)
    }

    // MARK: the slot with which this handle continues

    /// Returns a slot of the result that opened one of the copies, with its wrapping key.
    ///
    /// - Throws: `noSlotOpens` if the available factors do not open any slot of the result.
    func opened() throws(VaultError) -> (id: Bytes16, wrappingKey: SecretBox) {
        for (side, isItsOwn) in [(ours, \Choice.isOurs), (theirs, \Choice.isTheirs)] {
            let id = side.store.slot.id
            if slots.contains(where: { $0.id == id && $0.isKnownFull && $0[keyPath: isItsOwn] }) {
                return (id, SecretBox(side.store.slot.wrappingKey.copy()))
            }
        }
        let own = ours.store.slot.id
        let isInOurs = ours.store.header.slots.contains { $0.id == own }
        throw isInOurs ? VaultError.slotsInUseGone : VaultError.ownSlotGone
    }

    /// Adds back the slot that opened our copy, under the dot of a change, because no full slot is left.
    mutating func addOpenedAgain(_ dot: Dot) throws(VaultError) {
        let id = ours.store.slot.id
        guard let state = try ours.slots()[id] else { return }
        var again = try choice(id, ours, state, isOurs: true, isTheirs: false)
        (again.made, again.changed) = (dot, dot)
        slots.removeAll { $0.id == id }
        slots.append(again)
        notes.removeAll { $0 == .slotRemoved(SlotID(id), name: again.part.name) }
        notes.append(.slotAddedAgain(SlotID(id), name: again.part.name))
    }
}

extension VaultError {
    /// The error if none of the available factors would open the result of a merge.
    package static let slotsInUseGone = VaultError(
        .noSlotOpens,
        "the slot that opened this copy was removed or changed in the other one, so the available factors would not open the result: open this copy with a slot that both copies have"
    )

    /// A similar error, for a slot that another program has removed from our copy since the copy was opened.
    fileprivate static let ownSlotGone = VaultError(
        .noSlotOpens, "the slot that opened this copy has since been removed: open this copy with another slot")
}
