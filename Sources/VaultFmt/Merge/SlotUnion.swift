internal import VaultBytes
internal import VaultStore

/// Combines the slots of two copies.
struct SlotUnion {
    /// A slot of the result, with the groups that a scoped slot grants.
    struct Choice {
        var slot: Slot
        let part: OwnerPart
        let wrappingKey: SecretBox
        /// The names of the access groups; nil for a slot that is not scoped.
        var groups: [String]?
    }

    private let ours: VaultCore
    private let theirs: VaultCore
    private let baseClock: UInt64
    private let options: MergeOptions
    private(set) var slots: [Choice] = []
    private(set) var notes: [MergeReport.Note] = []
    /// Slots of the other copy that are not adopted and therefore count as removed.
    private(set) var refused: [Bytes16] = []
    /// The slot with which this handle continues.
    private(set) var opened: (id: Bytes16, wrappingKey: SecretBox)

    init(
        _ ours: VaultCore, _ theirs: VaultCore, _ removed: [Keyring.RemovedSlot], baseClock: UInt64,
        _ options: MergeOptions
    ) throws(VaultError) {
        self.ours = ours
        self.theirs = theirs
        self.baseClock = baseClock
        self.options = options
        opened = (ours.store.slot.id, SecretBox(ours.store.slot.wrappingKey.copy()))
        let gone = Set(removed.map(\.id))
        let (mine, its) = (ours.store.header.slots, theirs.store.header.slots)
        for slot in mine {
            let choice = try Self.choice(slot, ours)
            if gone.contains(slot.id) {
                notes.append(.slotRemoved(SlotID(slot.id), name: choice.part.name))
            } else if let other = its.first(where: { $0.id == slot.id }) {
                slots.append(try both(choice, try Self.choice(other, theirs)))
            } else {
                slots.append(choice)
            }
        }
        for slot in its where !gone.contains(slot.id) && !mine.contains(where: { $0.id == slot.id }) {
            try addOther(try Self.choice(slot, theirs))
        }
        try SlotEditing.checkCosts(slots.map(\.slot))
        guard slots.count <= Format.Limit.slots else {
            throw VaultError(.limitExceeded, "a vault can have at most \(Format.Limit.slots) slots")
        }
        try requireOpened()
    }

    private mutating func addOther(_ choice: Choice) throws(VaultError) {
        let id = SlotID(choice.slot.id)
        if options.takesSlots, choice.part.revision > baseClock {
            slots.append(choice)
            notes.append(.slotTaken(id, name: choice.part.name))
        } else {
            refused.append(choice.slot.id)
            notes.append(.slotNotTaken(id, name: choice.part.name))
        }
    }

    static func choice(_ slot: Slot, _ core: VaultCore) throws(VaultError) -> Choice {
        let (part, wrappingKey) = try core.ownerPart(of: slot)
        let granted = try core.grantedGroups(of: slot)
        let names = granted.map { granted in core.store.keyring.groupNames { granted.contains($0) } }
        return Choice(slot: slot, part: part, wrappingKey: wrappingKey, groups: names)
    }

    /// Combines a slot that both copies have: the one with the greater revision is used, but if both changed it, only
    /// groups that both grant are kept.
    private mutating func both(_ mine: Choice, _ its: Choice) throws(VaultError) -> Choice {
        let isOurs = Stamp(mine.part) >= Stamp(its.part)
        var out = isOurs ? mine : its
        guard mine.part.revision > baseClock, its.part.revision > baseClock, mine.part.revision != its.part.revision,
            let own = mine.groups, let others = its.groups
        else { return out }
        let common = own.filter { name in others.contains { $0.utf8.elementsEqual(name.utf8) } }
        let lost = (own + others).filter { name in !common.contains { $0.utf8.elementsEqual(name.utf8) } }
        if !lost.isEmpty {
            notes.append(.slotLostGroups(SlotID(out.slot.id), name: out.part.name, groups: lost))
        }
        out.groups = common
        return out
    }

    /// Requires that the result has a slot that opened one of the copies, and a full slot that readers know.
    private mutating func requireOpened() throws(VaultError) {
        guard slots.contains(where: { $0.slot.kind == .full && !$0.slot.isOpaque }) else {
            throw VaultError(.lastSlot, "the merge would leave no slot that opens everything: add one first")
        }
        if slots.contains(where: { $0.slot.id == opened.id }) { return }
        let other = theirs.store.slot.id
        guard slots.contains(where: { $0.slot.id == other && $0.slot.kind == .full }) else {
            throw VaultError(
                .noSlotOpens,
                "the merge would leave no slot that can be opened with the available factors: add one first")
        }
        opened = (other, SecretBox(theirs.store.slot.wrappingKey.copy()))
    }
}

extension Stamp {
    /// Makes the stamp of a slot.
    init(_ part: OwnerPart) { self.init(revision: part.revision, device: part.device) }
}
