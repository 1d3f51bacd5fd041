internal import VaultBytes
internal import VaultStore

extension Vault {
    /// Merges another copy of this vault into this one, in one commit or by replacing the file (specification, section
    /// 8). The other copy is only read; its newest state is used.
    ///
    /// Items are matched by their ids and merged field by field, based on the state that both copies have in common.
    /// Nothing is dropped silently: a losing value becomes an earlier value or is kept until the conflict is settled
    /// (see `conflicts()`), and the report lists everything that a user may want to know. If the merge fails, both
    /// files are unchanged.
    ///
    /// - Parameters:
    ///   - other: Another copy, opened by an owner.
    ///   - options: Where to look for the common state, and other options.
    ///   - progress: Called from time to time with the number of items done and the total.
    /// - Returns: A report of what was taken from the other copy, and of anything that a user may want to examine.
    /// - Throws: `invalidArgument` for another vault; `notPermitted` for a scoped slot; `foreignOwner` for a branch
    ///   under keys other than this copy's; `noSlotOpens` or `lastSlot` if no one could open the result; any error that
    ///   reading either copy or changing this one can throw.
    @discardableResult
    public func merge(
        _ other: Vault, options: MergeOptions = MergeOptions(), progress: ((UInt64, UInt64) -> Void)? = nil
    ) throws(VaultError) -> MergeReport {
        guard id == other.id else {
            throw VaultError(
                .invalidArgument, "a different vault (\(other.id)) cannot be merged with this one (\(id))")
        }
        guard other !== self else { return MergeReport(.same) }
        var vaults = [self, other]
        var base: Vault?
        if case .file(let file) = options.base {
            guard file.id == id else {
                throw VaultError(.invalidArgument, "the base belongs to another vault (\(file.id))")
            }
            base = file
            if !vaults.contains(where: { $0 === file }) { vaults.append(file) }
        }
        return try Self.holding(vaults) { () throws(VaultError) in
            try Merging(core, other.core, base?.core, options, progress).run()
        }
    }

    /// Runs `body` while no program that respects the lock can change the file. Meanwhile, the file ends with its
    /// newest state.
    package func whileNobodyWrites<R>(_ body: () throws(VaultError) -> R) throws(VaultError) -> R {
        try withCore { (core) throws(VaultError) in
            try core.writing { () throws(VaultError) in
                // Removes the zeros that are reserved for the next change.
                core.store.abandon()
                return try body()
            }
        }
    }

    /// Runs a closure that uses several vaults, which are always locked in the same order.
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

/// One merge of two copies of a vault.
private struct Merging {
    private let ours: VaultCore
    private let theirs: VaultCore
    private let baseFile: VaultCore?
    private let options: MergeOptions
    private let progress: ((UInt64, UInt64) -> Void)?

    init(
        _ ours: VaultCore, _ theirs: VaultCore, _ baseFile: VaultCore?, _ options: MergeOptions,
        _ progress: ((UInt64, UInt64) -> Void)?
    ) {
        self.ours = ours
        self.theirs = theirs
        self.baseFile = baseFile
        self.options = options
        self.progress = progress
    }

    func run() throws(VaultError) -> MergeReport {
        for core in [ours, theirs] + [baseFile].compactMap(\.self) {
            guard !core.isLocked else { throw VaultError(.locked, "the vault is locked") }
            guard core.isOwner else {
                throw VaultError(
                    .notPermitted, "a read-only slot cannot merge: open both copies with a full slot")
            }
        }
        try theirs.refresh()
        guard !options.isRehearsal else {
            try ours.refresh()
            try ours.refuseReadOnlyExtensions()
            var report = try merge()
            report.isRehearsal = true
            report.notes += damage()
            return report
        }
        let before = ours.store.state
        var report = try ours.writing { () throws(VaultError) in try merge() }
        if ours.store.state != before, report.outcome == .merged {
            // The merge is complete even if this fails; another writer will compact the file later.
            do throws(VaultError) { try ours.writing { () throws(VaultError) in ours.compactIfDue() } } catch {}
        }
        report.notes += damage()
        return report
    }

    /// Returns what is damaged in our copy. Merging compares the two copies and reads only what differs, so it neither
    /// notices nor replaces damaged data that both copies refer to.
    private func damage() -> [MergeReport.Note] {
        do throws(VaultError) {
            return try ours.verifyState().problems.map { .damaged($0.description) }
        } catch { return [.damaged(error.description)] }
    }

    // MARK: relation of the two states

    private func merge() throws(VaultError) -> MergeReport {
        let (mine, its) = (try BranchPast(ours.store), try BranchPast(theirs.store))
        guard let own = mine.states.last, let other = its.states.last else { return MergeReport(.same) }
        if own == other { return MergeReport(.same) }
        if mine.states.contains(other) { return MergeReport(.ours) }
        if its.states.contains(own) { return try takeTheirs() }
        guard ours.store.ownersPublicKey == theirs.store.ownersPublicKey else {
            return try underOtherKeys(mine, its)
        }
        return try mergeBranches(mine, its)
    }

    /// Replaces our state with theirs if ours is its ancestor.
    private func takeTheirs() throws(VaultError) -> MergeReport {
        let anchor = AnchorPoint(
            generation: ours.store.state.commit.generation, chain: ours.store.state.chain,
            ownersPublicKey: ours.store.ownersPublicKey)
        switch try theirs.store.verdict(on: anchor) {
        case .descends: break
        case .same: return MergeReport(.same)
        case .foreign, .older, .unprovable, .forked:
            throw VaultError(
                .foreignOwner, "no hand-over leads from this copy's keys to those of the other copy (R-8.1)")
        }
        if !options.isRehearsal {
            try ours.store.replace(byCopyOf: theirs.store)
            ours.stateChanged()
            ours.compartments.forgetAll()
        }
        return MergeReport(.theirs)
    }

    /// Handles changes made under a key that the other side has rotated away.
    private func underOtherKeys(_ mine: BranchPast, _ its: BranchPast) throws(VaultError) -> MergeReport {
        let handed = Set(ours.store.keyring.handOvers.map(\.publicKey))
        let others = Set(theirs.store.keyring.handOvers.map(\.publicKey) + [theirs.store.ownersPublicKey])
        guard !handed.isDisjoint(with: others) else {
            guard others.contains(ours.store.ownersPublicKey) else {
                throw VaultError(
                    .foreignOwner, "the other copy belongs to other owners, and no hand-over leads to their key")
            }
            throw VaultError(
                .foreignOwner,
                "the other copy has replaced its keys, but this copy was continued under the old ones: merge this copy into the other"
            )
        }
        guard options.acceptsOldKeys else {
            throw VaultError(
                .foreignOwner,
                "the other copy was continued under keys that this copy has replaced: accept old keys to add its values as earlier values"
            )
        }
        var adoption = Adoption(ours, theirs, base: try bases(Common(mine, its)).first?.branch, options, progress)
        return try adoption.run()
    }

    // MARK: the base

    /// The common ancestor of both states.
    private struct Common {
        let states: Set<Ancestor>
        /// The common ancestor with the greatest generation.
        let base: Ancestor?

        init(_ mine: BranchPast, _ its: BranchPast) {
            states = Set(mine.states).intersection(its.states)
            base = states.max { left, right in
                guard left.generation == right.generation else { return left.generation < right.generation }
                return ByteOrder.isLess(right.chain.bytes, left.chain.bytes)
            }
        }

        var greatestClock: UInt64 { states.map(\.clock).max() ?? 0 }
    }

    /// Returns the common state as found in the files; finding it in any of them is sufficient.
    private func bases(_ common: Common) throws(VaultError) -> [ItemUnion.Base] {
        guard let base = common.base else { return [] }
        var cores: [VaultCore]
        switch options.base {
        case .none: return []
        case .automatic, .file: cores = [ours, theirs] + [baseFile].compactMap(\.self)
        }
        cores = cores.enumerated().filter { index, core in !cores[..<index].contains { $0 === core } }.map(\.element)
        var found: [ItemUnion.Base] = []
        for core in cores {
            let store = core.store
            guard let state = try Self.state(base, store) else { continue }
            let earlier = try store.past.ancestors(of: state).ancestors
            found.append(
                ItemUnion.Base(
                    branch: Branch(core, root: state.commit.root),
                    decides: common.states.isSubset(of: earlier + [base]), greatestClock: common.greatestClock))
        }
        if case .file = options.base, found.isEmpty {
            throw VaultError(.invalidArgument, "the base does not contain the common state of the two copies")
        }
        return found
    }

    private static func state(_ wanted: Ancestor, _ store: Store) throws(VaultError) -> CommittedState? {
        if store.state.commit.generation == wanted.generation, store.state.chain == wanted.chain { return store.state }
        return try store.past.state(wanted, before: store.state)
    }

    /// Plans the merge of the items, using the base's items if its tree can be read.
    private func plan(_ common: Common) throws(VaultError) -> (plan: MergePlan, isBased: Bool) {
        for base in try bases(common) {
            do throws(VaultError) {
                var union = ItemUnion(Branch(ours), Branch(theirs), base)
                return (try union.run(), true)
            } catch {
                guard error.isDamage else { throw error }
            }
        }
        let base = ItemUnion.Base(greatestClock: common.greatestClock)
        var union = ItemUnion(Branch(ours), Branch(theirs), base)
        return (try union.run(), false)
    }

    // MARK: two branches

    private func mergeBranches(_ mine: BranchPast, _ its: BranchPast) throws(VaultError) -> MergeReport {
        let common = Common(mine, its)
        let clock = common.base?.clock ?? 0
        let (plan, isBased) = try plan(common)
        var keyring = try KeyringUnion.united(ours, theirs)
        if plan.isSame, try holdTheSameBesideItems() { return try endFork(mine, its) }
        let slots = try SlotUnion(ours, theirs, keyring.removedSlots, baseClock: clock, options)
        var report = MergeReport(.merged)
        report.base = isBased ? common.base.map { .state(generation: $0.generation) } : .values
        report.removed = plan.removedKeys.sorted()
        report.notes = plan.notes + slots.notes
        report.notes += KeyringUnion.differingExtensions(ours, theirs).map { .extensionDiffers($0) }
        guard !options.isRehearsal else {
            try rehearse(plan, kept: keyring.keeping.count, &report)
            return report
        }
        guard let branch = MergedBranch(its, since: mine) else { return MergeReport(.ours) }
        let transaction = try Transaction(ours)
        do throws(VaultError) {
            transaction.merge(branch)
            for slot in slots.refused { keyring.noteRemoval(of: slot, try ours.tick()) }
            transaction.ring.unite(keyring)
            var writer = MergeWriter(transaction)
            try writer.write(plan, &report, progress: progress)
            report.taken.sort()
            report.supplemented.sort()
            try MergeEnd(ours, transaction, progress).commit(
                slots.slots, opened: slots.opened, needsNewGroups: KeyringUnion.needsNewGroups(ours, theirs), &report)
        } catch {
            transaction.end()
            throw error
        }
        return report
    }

    private func rehearse(_ plan: MergePlan, kept: Int, _ report: inout MergeReport) throws(VaultError) {
        let merger = ItemMerger(device: ours.deviceID, kept: kept)
        for id in plan.items.keys.sorted() {
            guard let item = plan.items[id] else { continue }
            let merged = try merger.merged(item)
            report.notes += merged.notes
            if let own = item.ours, merged.isHeld(own, try own.versions()) { continue }
            try report.note(merged, ours.deviceID)
        }
        report.taken.sort()
        report.supplemented.sort()
    }

    // MARK: equal contents

    private func holdTheSameBesideItems() throws(VaultError) -> Bool {
        let (mine, its) = (ours.store, theirs.store)
        guard mine.keyring.keeping.count == its.keyring.keeping.count,
            mine.keyring.removedSlots.map(\.id) == its.keyring.removedSlots.map(\.id),
            mine.header.slots.count == its.header.slots.count
        else { return false }
        for slot in mine.header.slots {
            guard let other = its.header.slots.first(where: { $0.id == slot.id }),
                try SlotUnion.choice(slot, ours).isSame(as: try SlotUnion.choice(other, theirs))
            else { return false }
        }
        return true
    }

    /// Ends a fork with equal contents: the side with the smaller state copies the other's, and appends an empty commit
    /// that descends from both.
    private func endFork(_ mine: BranchPast, _ its: BranchPast) throws(VaultError) -> MergeReport {
        let report = MergeReport(.equal)
        let (own, other) = (ours.store.state, theirs.store.state)
        let isSmaller =
            own.commit.generation == other.commit.generation
            ? ByteOrder.isLess(own.chain.bytes, other.chain.bytes) : own.commit.generation < other.commit.generation
        guard isSmaller, !options.isRehearsal, let branch = MergedBranch(mine, since: its) else { return report }
        let history = try History.appended(theirs.store, merging: branch)
        let indexKey = theirs.store.slot.keys.index.copy()
        try ours.store.replace(byCopyOf: theirs.store) { (appender, next) throws(VaultError) in
            let ref = try appender.append(history.encode(), as: .history, .history, key: indexKey)
            next.liveBytes = next.liveBytes + UInt64(ref.length) - UInt64(next.history?.length ?? 0)
            next.history = ref
            next.clock = max(next.clock, own.commit.clock)
            next.tombstoneHorizon = max(next.tombstoneHorizon, own.commit.tombstoneHorizon)
            next.generation = branch.generation(after: other.commit.generation)
        }
        ours.stateChanged()
        ours.compartments.forgetAll()
        return report
    }
}

extension SlotUnion.Choice {
    /// Returns whether both slots open the same contents with the same factors and have the same name; revisions and
    /// seals are ignored.
    fileprivate func isSame(as other: Self) -> Bool {
        slot.kind == other.slot.kind && slot.factors == other.slot.factors && slot.parameters == other.slot.parameters
            && slot.commitment == other.slot.commitment && part.name.utf8.elementsEqual(other.part.name.utf8)
            && part.providerData == other.part.providerData
            && (groups ?? []).map { Array($0.utf8) } == (other.groups ?? []).map { Array($0.utf8) }
    }
}
