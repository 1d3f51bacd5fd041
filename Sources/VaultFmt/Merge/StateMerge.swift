internal import VaultBytes
internal import VaultStore

/// Merges two states under the same owners' key, neither of which includes the other (specification, section 8.1).
struct StateMerge {
    private let ours: MergeSide
    private let theirs: MergeSide
    private let split: [ReplicaID]
    private let items: ItemsMerge
    private let slots: SlotMerge
    private let keepsNewerValues: Bool
    private let progress: ((UInt64, UInt64) -> Void)?

    init(
        _ ours: MergeSide, _ theirs: MergeSide, split: [ReplicaID], keepsNewerValues: Bool,
        _ progress: ((UInt64, UInt64) -> Void)?
    ) throws(VaultError) {
        self.ours = ours
        self.theirs = theirs
        self.split = split
        self.keepsNewerValues = keepsNewerValues
        self.progress = progress
        slots = try SlotMerge(ours, theirs)
        items = try ItemsMerge(ours, theirs)
    }

    /// Returns whether the union equals our copy.
    func isOurs() throws(VaultError) -> Bool {
        guard Set(ours.joined(with: theirs).rows) == Set(ours.vector.rows), items.newlyForgotten.isEmpty else {
            return false
        }
        let mine = try ours.slots()
        guard slots.slots.count == mine.count,
            slots.slots.allSatisfy({ slot in
                mine[slot.id].map { slot.isOurs && slot.made == $0.made && slot.grants == $0.grants } ?? false
            }),
            try KeyringMerge(ours, theirs, slots).keepingDot() == ours.dot(ours.keyring.keeping.dot)
        else { return false }
        for id in items.ids where try !items.merged(id).isOurs { return false }
        return true
    }

    private func report(_ slots: SlotMerge, _ keyring: KeyringMerge) -> MergeReport {
        var report = MergeReport(.merged)
        report.notes = slots.notes + keyring.differingExtensions.map { .extensionDiffers($0) }
        let count = keyring.keyring.keeping.count
        if count != ours.keyring.keeping.count { report.limit = count }
        return report
    }

    func write() throws(VaultError) -> MergeReport {
        let core = ours.core
        let transaction = try Transaction(core)
        do throws(VaultError) {
            transaction.join(theirs.vector, generation: theirs.store.state.commit.generation)
            for id in split { transaction.next.split(id) }
            var slots = slots
            // Each side can remove the other's last slot; the merge keeps the slot that opened our copy.
            if !slots.hasFullSlot { try slots.addOpenedAgain(try transaction.nextDot()) }
            let opened = try slots.opened()
            let keyring = try KeyringMerge(ours, theirs, slots)
            var report = report(slots, keyring)
            let united = try united(keyring, transaction.next)
            try transaction.ring.change { (keyring) throws(VaultError) in keyring = united }
            try MergeWriter(transaction, items, theirs.core, keepsOpenValues: keepsNewerValues, progress)
                .write(&report)
            // These notes come before those about items, because a long report may be cut off at its end.
            report.notes = try NewReaders(ours, theirs, slots, items).notes() + report.notes
            report.sort()
            let keys = MergeEnd.Keys(slots: slots, keyring: keyring, opened: opened, handOvers: try handOvers())
            try MergeEnd(core, transaction, progress).commit(keys, &report)
            report.remnants = transaction.remnants
            return report
        } catch {
            transaction.end()
            throw error
        }
    }

    /// The keyring for writing the merged items. Slots are set at the end.
    private func united(_ merge: KeyringMerge, _ next: NextVector) throws(VaultError) -> Keyring {
        var keyring = merge.keyring
        keyring.keeping.dot = next.stored(try merge.keepingDot())
        return keyring
    }

    /// The hand-overs of both sides; each side has read its own vectors.
    private func handOvers() throws(VaultError) -> [ProvenHandOver] {
        var (mine, its) = (ours.store.handOvers, theirs.store.handOvers)
        let own = try mine.all()
        let others = try its.all().filter { other in
            !own.contains { $0.handOver.signature == other.handOver.signature }
        }
        return own + others
    }
}
