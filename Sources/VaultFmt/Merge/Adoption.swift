internal import VaultBytes
internal import VaultStore

/// Imports the values of a branch under a key that this copy has replaced, at the user's request (specification,
/// section 8.2). Shown values do not change, because a leaked old key must not be able to change them.
struct Adoption {
    private let ours: MergeSide
    private let branch: MergeSide
    private let known: KnownDots
    private let progress: ((UInt64, UInt64) -> Void)?
    /// The branch's items that may have new values, by id.
    private var candidates: [Bytes16: Item] = [:]
    /// Our items with these ids.
    private var own: [Bytes16: Item] = [:]
    /// Everything that the branch took away.
    private var notCarriedOut: [MergeReport.Note] = []

    init(
        _ ours: MergeSide, _ branch: MergeSide, _ known: KnownDots, _ progress: ((UInt64, UInt64) -> Void)?
    ) throws(VaultError) {
        self.ours = ours
        self.branch = branch
        self.known = known
        self.progress = progress
        let entries = (staying: try ours.entries(), branch: try branch.entries())
        for case .item(let item) in entries.branch {
            if try hasNews(item) { candidates[item.entry.id] = item }
        }
        for case .item(let item) in entries.staying where candidates[item.entry.id] != nil {
            own[item.entry.id] = item
        }
        notCarriedOut = try NotCarriedOut(ours, branch, entries: entries).notes()
    }

    /// Returns whether an item of the branch may have an unknown change. For most items, the entry is sufficient to
    /// decide this.
    private func hasNews(_ item: Item) throws(VaultError) -> Bool {
        if item.hasPast { return true }
        return try !ItemStates(branch.vector).state(of: item, nil).held.allSatisfy { known.contains($0.dot) }
    }

    // MARK: report

    private func report() throws(VaultError) -> MergeReport {
        var report = MergeReport(.adopted)
        report.notes = notCarriedOut
        report.notes += try NotCarriedOut.slots(ours, branch, isKnown: known.contains)
        return report
    }

    private func add(_ item: Item, _ report: inout MergeReport) throws(VaultError) {
        guard let mine = own[item.entry.id] else {
            report.added.append(item.key)
            if let other = try ours.core.find(item.storedKey), other.entry.id != item.entry.id {
                report.notes.append(ItemsMerge.sharedKey(item.storedKey, item.entry.id, other.entry.id))
            }
            return
        }
        report.notes.append(.takenInToSettle(mine.key))
    }

    // MARK: taking in

    /// Returns an item with the values imported from the branch; nil if there are none.
    private func taken(
        _ item: Item, _ newDot: () throws(VaultError) -> Dot
    ) throws(VaultError) -> (TakenItem, branch: ItemState, ours: ItemView?)? {
        let (mine, its) = (ours.core, branch.core)
        let state = try branch.state(of: item, isOurs: false)
        let view = try its.view(of: item, state)
        var here: (state: ItemState, view: ItemView)?
        if let known = own[item.entry.id] {
            let state = try ours.state(of: known, isOurs: true)
            here = (state, try mine.view(of: known, state))
        }
        var forgotten: Set<ValueName> = []
        for name in state.held where try isForgotten(name) { forgotten.insert(name) }
        let taken = try ItemState.taking(
            state, view, into: here, forgotten: forgotten, isKnown: { known.contains($0) }, newDot: newDot)
        return taken.map { ($0, state, here?.view) }
    }

    /// Returns whether a value is forgotten here. A forgotten value with the replica id 0 matches every dot of its
    /// revision.
    private func isForgotten(_ name: ValueName) throws(VaultError) -> Bool {
        let tree = ours.store.tree
        if try tree.find(ForgottenValue(name).key) != nil { return true }
        let below = ValueName(name.field, Dot(revision: name.dot.revision, replica: 0))
        return try tree.find(ForgottenValue(below).key) != nil
    }

    func write() throws(VaultError) -> MergeReport {
        var report = try report()
        let transaction = try Transaction(ours.core)
        do throws(VaultError) {
            transaction.next.pass(try greatestUnopened())
            let ids = candidates.keys.sorted()
            for (done, id) in ids.enumerated() {
                if done % 64 == 0 { progress?(UInt64(done), UInt64(ids.count)) }
                guard let item = candidates[id] else { continue }
                let found = try taken(item) { () throws(VaultError) in try transaction.nextDot() }
                guard let (taken, state, shown) = found else { continue }
                try write(taken, item, state, shown, transaction)
                try add(item, &report)
            }
            // The hand-over is a change even if no values are imported: it allows the branch's machines to continue.
            if transaction.next.own == nil { _ = try transaction.nextDot() }
            try handOver(transaction)
            report.sort()
            try transaction.commit()
            return report
        } catch {
            transaction.end()
            throw error
        }
    }

    /// Returns the greatest revision of the branch's records of other devices. Those records are copied unchanged, so
    /// the clock of the new state must be greater.
    private func greatestUnopened() throws(VaultError) -> UInt64 {
        var greatest: UInt64 = 0
        for item in candidates.values {
            var records =
                item.largeRecords + (try branch.past(of: item, isOurs: false)?.values.flatMap(\.records) ?? [])
            if item.entry.hasRecord { records.append(item.entry.own) }
            for record in records where record.revision > greatest {
                guard let info = branch.core.view.compartment(record.compartment)?.info, info.isDeviceBound,
                    info.device != ours.core.deviceID
                else { continue }
                greatest = record.revision
            }
        }
        return greatest
    }

    private func write(
        _ taken: TakenItem, _ item: Item, _ branchState: ItemState, _ view: ItemView?, _ transaction: Transaction
    ) throws(VaultError) {
        let id = item.entry.id
        var state = taken.state
        let device = state.place(state.shown())?.device ?? .zero
        let records = DeviceRecords(transaction, branch.core)
        let sealing = AdoptedValues(transaction, from: branch.core, id, to: id, device: device, records: records)
        for (name, dot) in taken.taken.sorted(by: { $0.value < $1.value }) {
            guard let value = branchState.values[name] else { continue }
            do throws(VaultError) {
                let sealed = try sealing.sealed(
                    name, value, before: max(item.referrer, item.entry.past?.offset ?? 0))
                state.values[ValueName(name.field, dot)]?.content = sealed.content
            } catch {
                // The hand-over covers the whole branch, so a value omitted now could never be imported.
                throw MergedItem.naming(error, item.key, inOurs: false)
            }
        }
        var compartment: UInt64 = 0
        if own[id] == nil, let place = state.place(state.shown()) {
            compartment = try self.compartment(for: place, transaction, records)
        }
        try transaction.write(state, of: id, insteadOf: own[id], ours.core, compartment: compartment)
    }

    /// Returns the compartment for a new item.
    private func compartment(
        for place: Place, _ transaction: Transaction, _ records: DeviceRecords
    ) throws(VaultError) -> UInt64 {
        if place.isDeviceBound, let known = try records.compartment(for: place) { return known }
        guard let accessibility = Accessibility(rawValue: place.accessibility) else {
            throw VaultError(.structureInvalid, "an item has an unknown accessibility")
        }
        return try transaction.ring.compartment(String(decoding: place.group, as: UTF8.self), accessibility)
    }

    /// Adds a hand-over from the branch's key for the branch's whole vector, and the branch's own hand-overs.
    private func handOver(_ transaction: Transaction) throws(VaultError) {
        let new = Rebuild.NewHandOver(
            vector: branch.vector, next: ours.store.ownersPublicKey, from: branch.store)
        var (mine, its) = (ours.store.handOvers, branch.store.handOvers)
        let known = try mine.all()
        var all: [(handOver: HandOver, vector: Vector)] = known.map { ($0.handOver, $0.vector) }
        for one in try its.all() where !known.contains(where: { $0.handOver.signature == one.handOver.signature }) {
            var handOver = one.handOver
            handOver.vector = try ours.store.append(one.vector, to: transaction.appender)
            all.append((handOver, one.vector))
        }
        let stored = try ours.store.append(branch.vector, to: transaction.appender)
        all.append((try new.make(stored: stored), branch.vector))
        let complete = all
        try transaction.ring.change { (keyring) throws(VaultError) in keyring.setHandOvers(complete) }
    }
}
