internal import TestSupport
internal import VaultBytes
internal import VaultFmt
internal import VaultLocal
internal import VaultStore

/// Owners who merge what lies next to the vault. The result is exactly what the changes of both make: nothing comes in
/// that was made by the holder of a scoped slot or by a stranger, or under replaced keys unless it is asked for; no
/// removed slot comes back, nor what was dropped; and an older version changes nothing.
extension MachinesSequence {
    /// How a copy is opened: by the key that opened the vault alone, as `merge --conflicts` does, or by factors too, as
    /// `sync` and a merge of a named file do.
    private enum Opening: CaseIterable { case byKey, byFactors }

    /// One merge that an owner tries.
    private struct Attempt {
        let machine: KnownMachine
        let vault: Vault
        let (ours, theirs): (Int, Int)
        let acceptsOldKeys: Bool
        let takesDropped: Bool
    }

    /// An owner merges a version that was planted at the other path, if it accepts what is at the vault's.
    func mergeCopy(_ machine: KnownMachine, _ number: Int) throws {
        guard let vault = try look(machine, current, Self.path, asOwner: true, isWritable: true, keeps: true) else {
            return
        }
        let attempt = Attempt(
            machine: machine, vault: vault, ours: model.versions[current].state, theirs: model.versions[number].state,
            acceptsOldKeys: numbers.chance(2), takesDropped: numbers.chance(3))
        tell("\(machine.name) merges \(describe(number)) into \(describe(current))")
        let memory = try machine.remembered(id, at: Self.paths)
        let (bytes, state) = (trimmed(files.bytes(of: Self.path)), vault.state)
        guard let outcome = try perform(attempt) else {
            guard vault.state == state, trimmed(files.bytes(of: Self.path)) == bytes else {
                throw Wrong("\(machine.name) changed its vault, and says that it merged nothing")
            }
            // What was asked for is no longer dropped, whatever comes of the merge.
            return try attempt.takesDropped ? checkRemembered(machine) : checkUnchanged(machine, memory)
        }
        switch outcome {
        case .merged, .adopted: try recordMerge(attempt, outcome)
        case .theirs:
            current = number
            try goOn(attempt)
        case .same, .ours, .refused:
            guard vault.state == state, trimmed(files.bytes(of: Self.path)) == bytes else {
                throw Wrong("\(machine.name) changed its vault, and says that it merged nothing")
            }
            try checkRemembered(machine)
        }
    }

    /// Returns what the merge did; nil if it was rightly refused.
    private func perform(_ attempt: Attempt) throws -> MachinesModel.Merge? {
        let planned = model.merge(attempt.ours, attempt.theirs, acceptsOldKeys: attempt.acceptsOldKeys)
        let copy: Vault
        do throws(VaultError) { copy = try openCopy(attempt) } catch {
            count(error)
            return nil
        }
        guard try admit(copy, attempt) else { return nil }
        let expected = try planned == .theirs && holdsErased(copy, attempt) ? MachinesModel.Merge.merged : planned
        var options = MergeOptions()
        options.acceptsOldKeys = attempt.acceptsOldKeys
        let report: MergeReport
        do throws(VaultError) { report = try attempt.vault.merge(copy, options: options) } catch {
            let isRight = expected == .refused ? error.code == .foreignOwner : mayLackSlot(attempt, expected, error)
            guard isRight else { throw Wrong("a merge is refused that should be \(expected): \(error)") }
            count(error)
            return nil
        }
        let outcome = report.outcome
        guard "\(outcome)" == "\(expected)" else {
            throw Wrong("a merge is \(outcome) and should be \(expected): \(report.notes)")
        }
        guard model.states[attempt.theirs].isOwners else {
            throw Wrong("what a scoped slot's holder made was merged: \(outcome)")
        }
        countMerge("\(outcome)")
        return expected
    }

    /// Whether the copy contains earlier states that were erased from the vault, so that the union is written onto the
    /// vault (R-8.12). A rotation hands over everything, and erases the rest.
    private func holdsErased(_ copy: Vault, _ attempt: Attempt) throws -> Bool {
        guard model.states[attempt.ours].vaultKey == model.states[attempt.theirs].vaultKey else { return false }
        guard let own = first(of: attempt.vault), let other = first(of: copy) else { return true }
        return own.chain != other.chain && !other.vector.hasSeen(all: own.vector)
    }

    /// The first state in a file; nil if one of the commits before the newest is damaged.
    private func first(of vault: Vault) -> MachineState? {
        do throws(VaultError) {
            let chain = try vault.log().last?.state.chain
            return model.states.first { $0.chain.bytes == chain }
        } catch { return nil }
    }

    private func count(_ error: VaultError) {
        countMerge("refused")
        countRefusal(error)
    }

    private func openCopy(_ attempt: Attempt) throws(VaultError) -> Vault {
        let opening = numbers.chance(2) ? Opening.byKey : .byFactors
        do throws(VaultError) {
            return try attempt.machine.machine.openCopy(
                Self.conflictPath, of: attempt.vault, options: OpenOptions(), isWatched: false)
        } catch {
            guard opening == .byFactors, error.code == .noSuchSlot || error.code == .noSlotOpens else { throw error }
        }
        let place = Store.Place(fileSystem: files, cacheBytes: 1 << 18)
        return try Vault.open(
            Self.conflictPath, factors: try Keys.factors(attempt.machine.rawKey), options: OpenOptions(), place: place)
    }

    /// Asks the machine whether the copy has what its person has dropped; false if it has, and the person does not ask
    /// for it.
    private func admit(_ copy: Vault, _ attempt: Attempt) throws -> Bool {
        let machine = attempt.machine
        let entry = machine.memory[Self.path, asOwner: true] ?? MachineEntry(state: attempt.ours)
        let isRefused = model.hasDropped(entry, attempt.theirs) && !attempt.takesDropped
        do throws(VaultError) {
            try machine.machine.checkMerge(of: copy, into: attempt.vault, takesDropped: attempt.takesDropped)
        } catch {
            guard isRefused, error.code == .forked else { throw Wrong("\(machine.name) refuses a copy: \(error)") }
            countMerge("dropped")
            countRefusal(error)
            return false
        }
        guard !isRefused else { throw Wrong("\(machine.name) takes in what its person has dropped") }
        if attempt.takesDropped {
            machine.memory[Self.path, asOwner: true]?.dropped = model.stillDropped(entry, after: attempt.theirs)
        }
        return true
    }

    /// Whether a merge may fail because the slot of whoever merges is gone, or has other factors.
    private func mayLackSlot(_ attempt: Attempt, _ expected: MachinesModel.Merge, _ error: VaultError) -> Bool {
        guard expected == .merged, error.code == .noSlotOpens else { return false }
        let (slots, merged) = (model.states[attempt.ours].contents.slots, union(attempt).slots)
        return slots.contains { $0.value.key == attempt.machine.rawKey && merged[$0.key] != $0.value }
    }

    /// Without the zeros that a writer keeps for its next change.
    private func trimmed(_ bytes: [UInt8]?) -> [UInt8] {
        var bytes = bytes ?? []
        while bytes.last == 0 { bytes.removeLast() }
        return bytes
    }

    // MARK: what comes of it

    private func union(_ attempt: Attempt) -> MachineContents {
        let (mine, its) = (model.states[attempt.ours], model.states[attempt.theirs])
        return .merged(
            MachineSide(content: mine.contents, vector: mine.vector),
            MachineSide(content: its.contents, vector: its.vector))
    }

    /// The result is a new state, which includes the changes of both, and opens for those for whom both say so.
    private func recordMerge(_ attempt: Attempt, _ outcome: MachinesModel.Merge) throws {
        let made = try Made(attempt.vault)
        let (mine, its) = (model.states[attempt.ours], model.states[attempt.theirs])
        try checkID(made, attempt.machine)
        var state = MachineState(
            generation: made.commit.generation, chain: made.chain, vaultKey: made.vaultKey, keyDot: mine.keyDot,
            vector: mine.vector, handOvers: model.handOvers(attempt.ours, attempt.theirs), header: made.header,
            contents: mine.contents, value: mine.value, items: Int(made.commit.items), isExact: false)
        if outcome == .merged {
            state.vector = mine.vector.united(with: its.vector)
            state.contents = union(attempt)
            try completeSlots(&state, attempt, made)
            state.isExact = mine.isExact && its.isExact
            state.value = try shown(attempt)
            state.settle()
            if !state.isExact { state.value = try secret(of: attempt.vault) }
        } else {
            let new = MachineHandOver(vaultKey: its.vaultKey, next: mine.vaultKey, vector: its.vector)
            state.handOvers = model.handOvers(attempt.ours, attempt.theirs, and: new)
            guard made.own != nil, state.items >= mine.items else { throw Wrong("values came in without a change") }
        }
        try check(made, &state, after: outcome == .merged ? max(mine.generation, its.generation) : mine.generation)
        try checkSlots(state, attempt)
        let bytes = bytes(of: attempt.vault, made)
        let added = model.add(state)
        current = model.add(made.version(bytes, state: added, predecessor: nil))
        try goOn(attempt)
    }

    /// A merge that leaves no full slot adds the one at hand again (R-8.20).
    private func completeSlots(_ state: inout MachineState, _ attempt: Attempt, _ made: Made) throws {
        guard state.contents.full.isEmpty else {
            guard made.own == nil else { throw Wrong("a merge made a change") }
            return
        }
        guard let dot = made.own, let id = try attempt.vault.slots().first(where: \.isFull)?.id else {
            throw Wrong("a merge left no full slot")
        }
        state.contents.slots[id] = MachineSlot(made: dot, changed: dot, key: attempt.machine.rawKey, isFull: true)
    }

    private func check(_ made: Made, _ state: inout MachineState, after generation: UInt64) throws {
        if let own = made.own { state.vector.include(own) }
        guard state.vector == made.vector else {
            throw Wrong("a merge has the vector \(made.vector), not \(state.vector)")
        }
        // Dead bytes may be compacted away after it.
        guard made.commit.generation == generation + 1 || made.commit.generation == generation + 2 else {
            throw Wrong("generation \(made.commit.generation) merges \(generation)")
        }
    }

    /// What a merge shows of values that were taken in before: one of both.
    private func shown(_ attempt: Attempt) throws -> String? {
        let value = try secret(of: attempt.vault)
        let (mine, its) = (model.states[attempt.ours], model.states[attempt.theirs])
        guard !mine.isExact || !its.isExact else { return value }
        guard value == nil || value == mine.value || value == its.value else {
            throw Wrong("a merge of \(mine.value ?? "nothing") and \(its.value ?? "nothing") has \(value ?? "nothing")")
        }
        return value
    }

    private func checkSlots(_ state: MachineState, _ attempt: Attempt) throws {
        let place = Store.Place(fileSystem: files, cacheBytes: 1 << 16)
        let expected = state.contents.full.union(state.contents.scoped)
        var found: Set<Int> = []
        let keys = [attempt.ours, attempt.theirs].flatMap { model.states[$0].contents.slots.values.map(\.key) }
        for key in Set(keys).sorted() {
            do throws(VaultError) {
                _ = try Vault.open(Self.path, factors: try Keys.factors(key), options: OpenOptions(), place: place)
                found.insert(key)
            } catch {
                guard error.code == .noSlotOpens else { throw error }
            }
        }
        guard found == expected else {
            throw Wrong("a merge opens for \(found.sorted()), not for \(expected.sorted())")
        }
    }

    private func goOn(_ attempt: Attempt) throws {
        continueHonestly()
        let state = model.versions[current].state
        try remember(attempt.machine, Self.path)
        try follow(attempt.machine)
        try checkServed(attempt.vault, state, attempt.machine)
        guard model.states[state].contents.full.contains(attempt.machine.rawKey) else {
            throw Wrong("\(attempt.machine.name) has locked itself out by a merge")
        }
    }
}
