internal import VaultBytes
internal import VaultStore

/// The scoped slots that can read more after a merge than in either copy: one copy granted the slot a group, and the
/// other copy, which had not seen the grant, put a value into the group. The merge keeps both changes, as if
/// one had followed the other, but nobody has seen them together.
struct NewReaders {
    private let ours: MergeSide
    private let theirs: MergeSide
    private let slots: SlotMerge
    private let items: ItemsMerge

    init(_ ours: MergeSide, _ theirs: MergeSide, _ slots: SlotMerge, _ items: ItemsMerge) {
        self.ours = ours
        self.theirs = theirs
        self.slots = slots
        self.items = items
    }

    /// Returns a note for each of these slots, with the groups concerned.
    func notes() throws(VaultError) -> [MergeReport.Note] {
        let grants = slots.slots.flatMap(\.grants.values)
        guard grants.contains(where: { !ours.hasSeen($0) || !theirs.hasSeen($0) }) else { return [] }
        let groups = try changedGroups()
        var notes: [MergeReport.Note] = []
        for slot in slots.slots {
            let gained = slot.grants.filter { name, dot in
                (!theirs.hasSeen(dot) && groups.byTheirs.contains(name))
                    || (!ours.hasSeen(dot) && groups.byOurs.contains(name))
            }
            guard !gained.isEmpty else { continue }
            notes.append(
                .slotReadsMore(SlotID(slot.id), name: slot.part.name, groups: gained.keys.sorted().map(\.text)))
        }
        return notes
    }

    /// Returns the groups into which each copy has put a value, or moved an item, without the other copy's knowledge.
    private func changedGroups() throws(VaultError) -> (byOurs: Set<GroupName>, byTheirs: Set<GroupName>) {
        var (byOurs, byTheirs): (Set<GroupName>, Set<GroupName>) = ([], [])
        for id in items.ids {
            guard let state = try items.merged(id).state else { continue }
            let shown = state.shown()
            guard let place = state.place(shown) else { continue }
            let group = GroupName(String(decoding: place.group, as: UTF8.self))
            for (field, dot) in shown.fields {
                guard field == .place || state.values[ValueName(field, dot)]?.isInRecord == true else { continue }
                if !theirs.hasSeen(dot) { byOurs.insert(group) }
                if !ours.hasSeen(dot) { byTheirs.insert(group) }
            }
        }
        return (byOurs, byTheirs)
    }
}
