internal import VaultBytes
package import VaultStore

extension Vault {
    /// Merges another copy of this vault into this one, in one commit or by replacing the file (specification, section
    /// 8). The other copy is only read; its newest state is used.
    ///
    /// The vectors determine the changes that each copy includes. No value is dropped: a losing value is left to settle
    /// (see `conflicts()`), and the report lists the changes to this copy. If the merge fails, both files keep their
    /// previous contents.
    ///
    /// - Parameters:
    ///   - other: Another copy, opened by an owner.
    ///   - options: The options of the merge.
    ///   - progress: Called from time to time with the number of items done and the total.
    /// - Returns: A report of the changes from the other copy, with notes for the user.
    /// - Throws: `invalidArgument` for another vault; `notPermitted` for a scoped slot; `foreignOwner` for a branch
    ///   under keys other than this copy's; `noSlotOpens` if the available factors could not open the result; any error
    ///   that reading either copy or changing this one can throw.
    @discardableResult
    public func merge(
        _ other: Vault, options: MergeOptions = MergeOptions(), progress: ((UInt64, UInt64) -> Void)? = nil
    ) throws(VaultError) -> MergeReport {
        try merge(other, options: options, progress: progress) { (_) throws(VaultError) in }
    }

    /// Merges as above, but first calls `admit` with the state of the other copy; if `admit` throws, nothing is merged.
    package func merge(
        _ other: Vault, options: MergeOptions, progress: ((UInt64, UInt64) -> Void)?,
        admit: (WatchedState) throws(VaultError) -> Void
    ) throws(VaultError) -> MergeReport {
        guard id == other.id else {
            throw VaultError(
                .invalidArgument, "a different vault (\(other.id)) cannot be merged with this one (\(id))")
        }
        guard other !== self else {
            var report = MergeReport(.same)
            report.isRehearsal = options.isRehearsal || options.onlyCompares || isRehearsal
            return report
        }
        return try Self.holding([self, other]) { () throws(VaultError) in
            try Merging(core, other.core, options, progress).run(admit)
        }
    }

    /// Returns a vault that begins with this vault's newest state, and whose changes are kept in memory only as long as
    /// the returned vault exists. Such changes neither write to the file nor wait for its lock, and this machine's
    /// memory does not record them. Throws `locked` or `notPermitted` for a vault that cannot be changed, and the same
    /// errors as `refresh`.
    ///
    /// `merges`: whether the vault is to be merged, for the words of an error.
    package func rehearsal(merges: Bool) throws(VaultError) -> Vault {
        let rehearsed: VaultCore = try withCore { (core) throws(VaultError) in
            if merges { try core.requireMergeable() } else { try core.requireOwner() }
            return try core.rehearsal()
        }
        return Vault(rehearsed)
    }

    /// True if `rehearsal` returned this vault.
    package var isRehearsal: Bool { core.isRehearsal }

    /// Runs `body` while the writer's lock is held. During this time, the file ends with its newest state.
    package func whileNobodyWrites<R>(_ body: (HeldVault) throws(VaultError) -> R) throws(VaultError) -> R {
        try withCore { (core) throws(VaultError) in
            try core.writing { () throws(VaultError) in
                // Remove the zeros that are reserved for the next change.
                core.store.dropReserve()
                return try body(HeldVault(core: core))
            }
        }
    }

    /// Runs a closure that uses several vaults, which are always locked in the same order to avoid deadlocks.
    static func holding<R>(_ vaults: [Vault], _ body: () throws(VaultError) -> R) throws(VaultError) -> R {
        let sorted = vaults.sorted { ObjectIdentifier($0) < ObjectIdentifier($1) }
        return try holding(sorted[...], body)
    }

    private static func holding<R>(
        _ vaults: ArraySlice<Vault>, _ body: () throws(VaultError) -> R
    ) throws(VaultError) -> R {
        guard let first = vaults.first else { return try body() }
        return try first.withCore { (_) throws(VaultError) in try holding(vaults.dropFirst(), body) }
    }
}

/// A vault whose file cannot be changed by any program that respects the lock.
package struct HeldVault {
    fileprivate let core: VaultCore

    /// The state with which the file ends.
    package var state: StateID { core.state }

    /// Returns whether the file is still the one that is locked, and still ends with its state. Only a program that
    /// ignores the lock can change either.
    package func isInPlace() throws(VaultError) -> Bool { try core.store.isInPlace() }
}

extension VaultCore {
    fileprivate func requireMergeable() throws(VaultError) {
        guard !isLocked else { throw VaultError(.locked, "the vault is locked") }
        guard isOwner else {
            throw VaultError(.notPermitted, "a read-only slot cannot merge: open both copies with a full slot")
        }
    }
}

/// One merge of two copies of a vault.
private struct Merging {
    private let ours: VaultCore
    private let theirs: VaultCore
    private let options: MergeOptions
    private let progress: ((UInt64, UInt64) -> Void)?

    init(
        _ ours: VaultCore, _ theirs: VaultCore, _ options: MergeOptions, _ progress: ((UInt64, UInt64) -> Void)?
    ) {
        self.ours = ours
        self.theirs = theirs
        self.options = options
        self.progress = progress
    }

    func run(_ admit: (WatchedState) throws(VaultError) -> Void) throws(VaultError) -> MergeReport {
        for core in [ours, theirs] { try core.requireMergeable() }
        try theirs.refresh()
        try admit(theirs.store.watched)
        guard !options.onlyCompares else { return try compared() }
        guard options.isRehearsal else { return try merged() }
        // A dry run is the merge itself, so it fails and reports as the merge does, as far as this does not depend on
        // the disk, permissions or other programs.
        return try Merging(try ours.rehearsal(), theirs, options, progress).merged()
    }

    /// Returns a report with nothing but the outcome.
    private func compared() throws(VaultError) -> MergeReport {
        try ours.refresh()
        var report = MergeReport(try merge().outcome)
        report.isRehearsal = true
        return report
    }

    private func merged() throws(VaultError) -> MergeReport {
        let before = ours.store.state
        var report = try ours.writing { () throws(VaultError) in try merge() }
        report.isRehearsal = ours.isRehearsal
        // The file that replaced ours has already been verified.
        guard report.outcome != .theirs else { return report }
        if ours.store.state != before, report.outcome == .merged, !ours.isRehearsal {
            // The merge is complete even if this fails; another writer will compact the file later.
            do throws(VaultError) { try ours.writing { () throws(VaultError) in ours.compactIfDue() } } catch {}
        }
        report.notes += damage()
        return report
    }

    /// Returns notes about damage in our copy. A merge reads only the differences between the copies, so it neither
    /// detects nor replaces damaged data that both copies refer to.
    private func damage() -> [MergeReport.Note] {
        do throws(VaultError) {
            return try ours.verifyState().problems.map { .damaged($0.description) }
        } catch { return [.damaged(error.description)] }
    }

    private func merge() throws(VaultError) -> MergeReport {
        if ours.store.state.chain == theirs.store.state.chain,
            ours.store.ownersPublicKey == theirs.store.ownersPublicKey
        {
            return MergeReport(.same)
        }
        let split = try ours.store.replicas.splitIDs(ours.store.vault, try theirs.store.vector())
        let sides = try MergeSide.both(ours, theirs, alsoSplit: split)
        switch try RelatedKeys(ours.store, theirs.store) {
        case .same:
            guard options.keepsNewerValues, !sides.ours.includes(sides.theirs),
                let renewal = try Renewal(sides.ours, sides.theirs)
            else { return try underOneKey(sides.ours, sides.theirs, split: split) }
            return try keeping(renewal, split: split)
        case .theirsIsBranch: return try takeIn(sides.theirs, into: sides.ours, orThrow: Self.wasChangedUnderOldKeys)
        case .oursIsBranch: return try followRotation(sides.ours, to: sides.theirs, orThrow: Self.hasNewKeys)
        case .bothReplaced(oursStays: true):
            return try takeIn(sides.theirs, into: sides.ours, orThrow: .replacedKeysEarlier)
        case .bothReplaced(oursStays: false):
            return try followRotation(sides.ours, to: sides.theirs, orThrow: .replacedKeysLater)
        case .foreign:
            throw VaultError(
                .foreignOwner, "the other copy belongs to other owners, and no hand-over leads to their key")
        }
    }

    // MARK: one key

    private func underOneKey(
        _ mine: MergeSide, _ its: MergeSide, split: [ReplicaID]
    ) throws(VaultError) -> MergeReport {
        switch (mine.includes(its), its.includes(mine)) {
        case (true, true):
            return try unify(mine, its, orReport: .same)
        case (true, false): return MergeReport(.ours)
        case (false, true): return try takeTheirs(orUnite: mine, its, split: split)
        case (false, false):
            // The rows of a split id prove nothing. Without this check, two copies would exchange merges endlessly.
            if mine.hasSplitIDs {
                let isTheirs = try stateMerge(its, mine, split: split).isOurs()
                if try stateMerge(mine, its, split: split).isOurs() {
                    return try isTheirs ? unify(mine, its, orReport: .ours) : MergeReport(.ours)
                }
                if isTheirs { return try takeTheirs(orUnite: mine, its, split: split) }
            }
            return try unite(mine, its, split: split)
        }
    }

    /// Merges after the changes that keep the values that our copy shows. Their copy has not seen these
    /// changes, so it does not include our copy.
    private func keeping(_ renewal: Renewal, split: [ReplicaID]) throws(VaultError) -> MergeReport {
        guard !options.onlyCompares else { return MergeReport(.merged) }
        try renewal.commit()
        let changed = try MergeSide.both(ours, theirs, alsoSplit: split)
        return try underOneKey(changed.ours, changed.theirs, split: split)
    }

    private func unite(_ mine: MergeSide, _ its: MergeSide, split: [ReplicaID]) throws(VaultError) -> MergeReport {
        guard !options.onlyCompares else { return MergeReport(.merged) }
        return try stateMerge(mine, its, split: split).write()
    }

    private func stateMerge(
        _ mine: MergeSide, _ its: MergeSide, split: [ReplicaID]
    ) throws(VaultError) -> StateMerge {
        try StateMerge(mine, its, split: split, keepsNewerValues: options.keepsNewerValues, progress)
    }

    /// Replaces our file with theirs or, if theirs contains earlier states that were erased from ours or is damaged,
    /// merges both. The report lists the damage.
    private func takeTheirs(
        orUnite mine: MergeSide, _ its: MergeSide, split: [ReplicaID]
    ) throws(VaultError) -> MergeReport {
        guard let own = try FirstState.find(mine), let others = try FirstState.find(its), others.follows(own) else {
            return try unite(mine, its, split: split)
        }
        // Our slots must be compared before our file is replaced.
        let slots = try SlotMerge(mine, its).notes
        var isUnited = false
        var report = try takeTheirs { (damage) throws(VaultError) in
            isUnited = true
            var report = try unite(mine, its, split: split)
            report.notes += damage.map { .copyDamaged($0) }
            return report
        }
        if !isUnited { report.notes += slots }
        return report
    }

    /// Replaces our file with theirs, which includes all of our changes. If theirs is damaged, ours is not
    /// replaced, because it may be intact.
    ///
    /// `otherwise` is called in that case, with descriptions of the damage. `more` returns further notes about what
    /// differs; it is called before the file is replaced.
    private func takeTheirs(
        otherwise: ([String]) throws(VaultError) -> MergeReport,
        more: () throws(VaultError) -> [MergeReport.Note] = { [] }
    ) throws(VaultError) -> MergeReport {
        let damage = try theirs.verifyState().problems.filter { !$0.isMiscount }.map(\.description)
        guard damage.isEmpty else { return try otherwise(damage) }
        guard !options.onlyCompares else { return MergeReport(.theirs) }
        var report = MergeReport(.theirs)
        let changes = try Comparing(StateReader(ours), StateReader(theirs)).changes()
        report.note(changes)
        try noteSharedKeys(changes, &report)
        for change in changes.items where change.before == nil || change.fields.contains(.secret) {
            guard let listed = change.after, let item = try theirs.find(listed), item.lacksSecret else { continue }
            report.noteMissingSecret(listed, try theirs.missingSecret(of: item))
        }
        report.notes += try more()
        try ours.store.replace(byCopyOf: theirs.store)
        ours.stateChanged()
        ours.compartments.forgetAll()
        return report
    }

    /// Adds notes about items that now have the same key as another item, unless both were already in this copy.
    private func noteSharedKeys(_ changes: VaultChanges, _ report: inout MergeReport) throws(VaultError) {
        for change in changes.items where change.before != change.after {
            guard let listed = change.after, let item = try theirs.find(listed), !item.hasKeyPlain else { continue }
            report.notes.append(.sharedKey(item.storedKey, other: listed))
        }
    }

    // MARK: equal contents

    /// Replaces or compacts our file so that two copies with equal contents end with the same file, if the options ask
    /// for this. Otherwise, or if our file is the one to keep, the report has the given outcome.
    private func unify(
        _ mine: MergeSide, _ its: MergeSide, orReport outcome: MergeReport.Outcome
    ) throws(VaultError) -> MergeReport {
        guard options.unifiesFiles else { return MergeReport(outcome) }
        switch try FirstState.kept(mine, its) {
        case .ours: return MergeReport(outcome)
        case .theirs: return try takeTheirs { (_) throws(VaultError) in MergeReport(outcome) }
        case .neither: return try compactOurs(orReport: outcome)
        }
    }

    /// Compacts our file, so that the other side can adopt it.
    private func compactOurs(orReport outcome: MergeReport.Outcome) throws(VaultError) -> MergeReport {
        guard !options.onlyCompares else { return MergeReport(.merged) }
        do throws(VaultError) { try Rebuild.compact(ours, progress: progress) } catch {
            // A damaged file cannot be compacted. Our file stays until the other side has compacted its own.
            guard error.code == .authenticationFailed || error.code == .structureInvalid else { throw error }
            return MergeReport(outcome)
        }
        return MergeReport(.merged)
    }

    // MARK: replaced keys

    private static let hasNewKeys = VaultError(
        .foreignOwner,
        "the other copy has new keys, but this copy was changed under the old ones: merge this copy into the other")
    private static let wasChangedUnderOldKeys = VaultError(
        .foreignOwner,
        "the other copy was changed under keys that this copy has replaced: accept old keys to merge its values, without changing current ones"
    )

    /// Replaces our file with theirs if a hand-over covers all changes of ours; otherwise, throws the given error.
    private func followRotation(
        _ mine: MergeSide, to its: MergeSide, orThrow refusal: VaultError
    ) throws(VaultError) -> MergeReport {
        guard try KnownDots(its, mine).coversBranch else { throw refusal }
        // Both copies must be compared before our file is replaced.
        let slots = try NotCarriedOut.slots(its, mine, isKnown: its.vector.hasSeen)
        let presence = try slotsByPresence(mine, its, except: Set(slots.compactMap(\.slot)))
        return try takeTheirs(
            otherwise: { (damage) throws(VaultError) in
                throw VaultError(
                    .structureInvalid,
                    "the other copy has new keys but is damaged, so it did not replace this one: \(damage[0])"
                )
            },
            more: { () throws(VaultError) in
                let entries = (staying: try its.entries(), branch: try mine.entries())
                return try NotCarriedOut(its, mine, entries: entries).notes() + slots + presence
            })
    }

    /// Returns notes about the slots that only one side has, except the given ones. A rotation changes the contents of
    /// all other slots.
    private func slotsByPresence(
        _ mine: MergeSide, _ its: MergeSide, except: Set<SlotID>
    ) throws(VaultError) -> [MergeReport.Note] {
        let (ours, theirs) = (Set(mine.store.header.slots.map(\.id)), Set(its.store.header.slots.map(\.id)))
        var notes: [MergeReport.Note] = []
        for slot in mine.store.header.slots where !theirs.contains(slot.id) && !except.contains(SlotID(slot.id)) {
            notes.append(.slotRemoved(SlotID(slot.id), name: try mine.name(of: slot)))
        }
        for slot in its.store.header.slots where !ours.contains(slot.id) && !except.contains(SlotID(slot.id)) {
            notes.append(.slotTaken(SlotID(slot.id), name: try its.name(of: slot)))
        }
        return notes
    }

    /// Imports the values of a branch, if the options allow it; otherwise, throws the given error.
    private func takeIn(
        _ branch: MergeSide, into staying: MergeSide, orThrow refusal: VaultError
    ) throws(VaultError) -> MergeReport {
        let known = try KnownDots(staying, branch)
        guard !known.coversBranch else { return MergeReport(.ours) }
        guard options.acceptsOldKeys else { throw refusal }
        guard !options.onlyCompares else { return MergeReport(.adopted) }
        return try Adoption(staying, branch, known, progress).write()
    }
}
