internal import VaultBytes
internal import VaultStore

/// The slots of two copies as one.
struct SlotUnion {
    /// A slot of the result; a scoped one with what it grants.
    struct Choice {
        var slot: Slot
        let part: OwnerPart
        let wrappingKey: SecretBox
        /// Names of access groups; nil for a slot that is not scoped.
        var groups: [String]?
    }

    private let ours: VaultCore
    private let theirs: VaultCore
    private let baseClock: UInt64
    private let options: MergeOptions
    private(set) var slots: [Choice] = []
    private(set) var notes: [MergeReport.Note] = []
    /// Slots of theirs that are not taken, and so count as removed.
    private(set) var refused: [Bytes16] = []
    /// The slot that this handle goes on with.
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
            throw VaultError(.limitExceeded, "a vault has at most \(Format.Limit.slots) slots")
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

    /// A slot that both have: what the greater revision says, and of groups what both grant if both changed it.
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

    /// The slot that opened either copy must stay, and a full one that readers know.
    private mutating func requireOpened() throws(VaultError) {
        guard slots.contains(where: { $0.slot.kind == .full && !$0.slot.isOpaque }) else {
            throw VaultError(.lastSlot, "the merge would leave no slot that opens everything: add one first")
        }
        if slots.contains(where: { $0.slot.id == opened.id }) { return }
        let other = theirs.store.slot.id
        guard slots.contains(where: { $0.slot.id == other && $0.slot.kind == .full }) else {
            throw VaultError(
                .noSlotOpens, "the merge would leave no slot that the factors at hand open: add one first")
        }
        opened = (other, SecretBox(theirs.store.slot.wrappingKey.copy()))
    }
}

extension Stamp {
    /// That of a slot.
    init(_ part: OwnerPart) { self.init(revision: part.revision, device: part.device) }
}
