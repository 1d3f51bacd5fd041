internal import TestSupport
internal import VaultBytes
internal import VaultFmt
internal import VaultLocal
internal import VaultStore

/// Owners who merge what lies next to the vault: nothing of it comes in that was made under other keys, by the holder of
/// a scoped slot or by a stranger, no removed slot comes back, and an older version changes nothing.
extension MachinesSequence {
    /// How a copy is opened: by the key that opened the vault alone, as `merge --conflicts` does, or by factors too, as
    /// `sync` and a merge of a named file do.
    private enum Opening: CaseIterable { case byKey, byFactors }

    /// An owner merges a version that was planted at the other path, if it accepts what is at the vault's.
    func mergeCopy(_ machine: KnownMachine, _ number: Int) throws {
        guard try look(machine, current, Self.path, asOwner: true, isWritable: true, keeps: true),
            let program = machine.program
        else { return }
        let (ours, theirs) = (model.versions[current], model.versions[number])
        tell("\(machine.name) merges \(describe(number)) into \(describe(current))")
        let before = (try machine.remembered(id), trimmed(files.bytes(of: Self.path)), program.vault.state)
        do {
            let copy = try openCopy(machine, program.vault, numbers.chance(2) ? .byKey : .byFactors)
            let outcome = try program.vault.merge(copy).outcome
            countMerge("\(outcome)")
            try check(outcome, ours, theirs)
            switch outcome {
            case .merged: return try recordMerge(program.vault, machine, ours, theirs)
            case .theirs:
                current = number
                return try goOn(program.vault, machine)
            case .equal where program.vault.state != before.2:
                return try recordMerge(program.vault, machine, ours, theirs)
            case .same, .ours, .equal, .adopted: break
            }
        } catch let error as VaultError {
            countMerge("refused")
            countRefusal(error)
        }
        guard program.vault.state == before.2, trimmed(files.bytes(of: Self.path)) == before.1 else {
            throw Wrong("\(machine.name) changed its vault, and says that it merged nothing")
        }
        try checkUnchanged(machine, before.0)
    }

    private func openCopy(_ machine: KnownMachine, _ vault: Vault, _ opening: Opening) throws(VaultError) -> Vault {
        do throws(VaultError) {
            return try machine.machine.openCopy(
                Self.conflictPath, of: vault, options: OpenOptions(), isWatched: false)
        } catch {
            guard opening == .byFactors, error.code == .noSuchSlot || error.code == .noSlotOpens else { throw error }
        }
        let place = Store.Place(fileSystem: files, cacheBytes: 1 << 18)
        return try Vault.open(
            Self.conflictPath, factors: try Keys.factors(machine.rawKey), options: OpenOptions(), place: place)
    }

    /// Without the zeros that a writer keeps for its next change.
    private func trimmed(_ bytes: [UInt8]?) -> [UInt8] {
        var bytes = bytes ?? []
        while bytes.last == 0 { bytes.removeLast() }
        return bytes
    }

    // MARK: what may come in

    private func check(_ outcome: MergeReport.Outcome, _ ours: MachineVersion, _ theirs: MachineVersion) throws {
        let (mine, its) = (model.states[ours.state], model.states[theirs.state])
        guard its.isOwners else { throw Wrong("what a scoped slot's holder made was merged: \(outcome)") }
        let isBehind = ours.past.ancestors.contains(theirs.state)
        let isAhead = theirs.past.ancestors.contains(ours.state)
        switch outcome {
        case .same:
            guard ours.state == theirs.state else { throw Wrong("another state is taken for the same") }
        case .ours:
            guard isBehind else { throw Wrong("a copy with states of its own is taken for an older one") }
        case .theirs:
            guard isAhead, model.refusal(ours.state, theirs) == nil else {
                throw Wrong("a copy that does not continue the vault took its place")
            }
        case .merged, .equal:
            guard mine.vaultKey == its.vaultKey else { throw Wrong("a copy under other keys was merged") }
            // An invented past names states with other clocks.
            guard !isBehind && !isAhead || ours.past.isForged || theirs.past.isForged else {
                throw Wrong("a copy of the same branch was merged")
            }
        case .adopted: throw Wrong("values under replaced keys came in unasked")
        }
    }

    /// The merge is a new state, which continues both, and opens for nobody for whom ours did not.
    private func recordMerge(
        _ vault: Vault, _ machine: KnownMachine, _ ours: MachineVersion, _ theirs: MachineVersion
    ) throws {
        let made = try Made(vault)
        let bytes = Array((files.bytes(of: Self.path) ?? []).prefix(Int(made.commit.end)))
        let (mine, its) = (model.states[ours.state], model.states[theirs.state])
        var past = ours.past
        past.goOn(from: ours.state)
        past.handOvers = handOvers(ours, theirs)
        past.isForged = past.isForged || theirs.past.isForged
        past.floor = max(past.floor, theirs.past.floor)
        let expected = max(mine.generation, its.generation) + 1
        let isCompactedAfter = made.commit.generation == expected + 1
        if !made.isPredecessorInFile && !isCompactedAfter { model.fold(&past) }
        model.list(theirs.past.ancestors + [theirs.state], in: &past)
        if isCompactedAfter {
            // Dead bytes were compacted away after it.
            past.ancestors.append(try model.addUnknown(expected, made.vaultKey, &numbers))
        } else if made.commit.generation != expected {
            throw Wrong("generation \(made.commit.generation) merges \(mine.generation) and \(its.generation)")
        }
        if !made.isPredecessorInFile { model.fold(&past) }
        let (full, scoped) = (
            try opening(vault, ours.full, theirs.full), try opening(vault, ours.scoped, theirs.scoped)
        )
        guard full.contains(machine.rawKey) else { throw Wrong("\(machine.name) has locked itself out by a merge") }
        let state = model.add(made.state(value: try value(vault, mine, its), items: Int(made.commit.items)))
        current = model.add(made.version(bytes, state: state, past, full: full, scoped: scoped))
        try goOn(vault, machine)
    }

    private func goOn(_ vault: Vault, _ machine: KnownMachine) throws {
        continueHonestly()
        let version = model.versions[current]
        machine.memory.owner = version.state
        machine.program?.state = version.state
        machine.program?.header = version.header
        machine.program?.file = try files.identity(of: Self.path)
        try checkServed(vault, version.state, machine)
        try checkRemembered(machine, asOwner: true)
    }

    private func handOvers(_ ours: MachineVersion, _ theirs: MachineVersion) -> [MachineHandOver] {
        let all = ours.past.handOvers + theirs.past.handOvers.filter { !ours.past.handOvers.contains($0) }
        let sorted = all.enumerated().sorted { left, right in
            let (one, other) = (model.states[left.element.state], model.states[right.element.state])
            return (one.generation, left.offset) < (other.generation, right.offset)
        }
        return sorted.map(\.element).suffix(Format.Limit.handOvers)
    }

    /// Which raw keys open the vault at the path now: no slot that ours lacked, and of ours all but those that theirs
    /// has removed.
    private func opening(_ vault: Vault, _ ours: Set<Int>, _ theirs: Set<Int>) throws -> Set<Int> {
        let place = Store.Place(fileSystem: files, cacheBytes: 1 << 16)
        var found: Set<Int> = []
        for key in ours.union(theirs).sorted() {
            do throws(VaultError) {
                _ = try Vault.open(Self.path, factors: try Keys.factors(key), options: OpenOptions(), place: place)
                found.insert(key)
            } catch {
                guard error.code == .noSlotOpens else { throw error }
            }
        }
        guard found.isSubset(of: ours) else {
            throw Wrong("a merge brought slots that nobody asked for: \(found.subtracting(ours).sorted())")
        }
        let lost = ours.subtracting(found).intersection(theirs)
        guard lost.isEmpty else { throw Wrong("a merge lost slots that both copies have: \(lost.sorted())") }
        return found
    }

    private func value(_ vault: Vault, _ mine: MachineState, _ its: MachineState) throws -> String {
        let found = try vault.get(try Model.key("a"))?.secret.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
        guard let found, found == mine.value || found == its.value else {
            throw Wrong("a merge of \(mine.value) and \(its.value) has \(found ?? "nothing")")
        }
        return found
    }
}
