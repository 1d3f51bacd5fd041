internal import TestSupport
internal import VaultBytes
internal import VaultFmt
internal import VaultLocal
internal import VaultStore

/// What one commit changes.
enum MachineChange: CustomStringConvertible {
    /// Sets the secrets of all items.
    case items(String)
    /// Sets the secret that everybody reads.
    case value(String)
    /// Adds earlier values, as an import does.
    case earlierValues
    /// Makes the items those of an earlier state.
    case undo(to: Int)
    /// Adds the slot of a raw key.
    case slot(SlotID, Int, isFull: Bool)
    case noSlot(SlotID)
    /// Gives a slot another raw key.
    case factors(SlotID, Int)
    case rotation(keeping: Set<SlotID>)
    case compaction

    static let names = ["a", "b", "c"]

    var isChange: Bool {
        if case .compaction = self { false } else { true }
    }

    var description: String {
        switch self {
        case .items: "the first items"
        case .value(let value): "the change to \(value)"
        case .earlierValues: "an import"
        case .undo(let state): "an undo to state \(state)"
        case .slot(_, let key, _): "the addition of the slot \(key)"
        case .noSlot: "the removal of a slot"
        case .factors(_, let key): "a change of a slot to \(key)"
        case .rotation: "a rotation"
        case .compaction: "a compaction"
        }
    }

    /// The state after the change.
    func applied(
        to parent: MachineState, _ made: Made, _ vector: MachineVector, _ model: MachinesModel
    ) -> MachineState {
        var out = MachineState(
            generation: made.commit.generation, chain: made.chain, vaultKey: made.vaultKey, keyDot: parent.keyDot,
            vector: vector, handOvers: parent.handOvers, header: made.header, contents: parent.contents,
            value: parent.value, items: parent.items, isExact: parent.isExact)
        guard let dot = made.own else { return out }
        switch self {
        case .items(let value):
            for name in Self.names { out.contents.set(name, value, by: dot) }
        case .value(let value):
            out.contents.set("a", value, by: dot)
            out.value = value
        case .earlierValues:
            for (id, item) in out.contents.all("a") { out.contents.items[id] = item.touched(by: dot) }
        case .undo(let earlier): Self.undo(to: model.states[earlier], dot, &out)
        case .slot(let id, let key, let isFull):
            out.contents.slots[id] = MachineSlot(made: dot, changed: dot, key: key, isFull: isFull)
        case .noSlot(let id): out.contents.slots[id] = nil
        case .factors(let id, let key):
            out.contents.slots[id]?.key = key
            out.contents.slots[id]?.changed = dot
        case .rotation(let kept):
            for id in out.contents.slots.keys {
                if kept.contains(id) { out.contents.slots[id]?.changed = dot } else { out.contents.slots[id] = nil }
            }
            out.keyDot = dot
            let new = MachineHandOver(vaultKey: parent.vaultKey, next: made.vaultKey, vector: parent.vector)
            out.handOvers.append(new)
        case .compaction: break
        }
        out.settle()
        return out
    }

    /// Gives every item that differs the secret that it had.
    private static func undo(to then: MachineState, _ dot: Dot, _ state: inout MachineState) {
        for name in names {
            let before = then.contents.secret(of: name)
            guard before != state.contents.secret(of: name) else { continue }
            for id in state.contents.all(name).keys { state.contents.items[id] = nil }
            // A removed item returns under its own id.
            for id in then.contents.all(name).keys { state.contents.items[id] = before.map { .set($0, by: dot) } }
        }
    }
}

extension MachineState {
    /// Takes what is shown from the contents, if they are known.
    mutating func settle() {
        // Which of two items has the name plain is not known here.
        if contents.all("a").count > 1 { isExact = false }
        guard isExact else { return }
        value = contents.secret(of: "a")
        items = contents.items.count
    }
}

/// What owners change.
extension MachinesSequence {
    func change(_ machine: KnownMachine) throws {
        guard
            let vault = try look(machine, current, Self.path, asOwner: true, isWritable: true, keeps: true)
        else {
            // A person decides: mostly for what the owners have made.
            if numbers.chance(current == honest ? 2 : 12) { try accept(machine, current, Self.path) }
            return
        }
        try record(vault, machine, try change(machine, vault))
    }

    private func change(_ machine: KnownMachine, _ vault: Vault) throws -> MachineChange {
        countChange()
        switch numbers.below(20) {
        case 0, 1: return try rotate(machine, vault)
        case 2, 3:
            let key = newRawKey()
            tell("\(machine.name) adds the slot \(key)")
            return .slot(try vault.addSlot(try Keys.factors(key)).id, key, isFull: true)
        case 4:
            let key = newRawKey()
            tell("\(machine.name) adds the scoped slot \(key)")
            return .slot(try vault.addSlot(try Keys.factors(key), grantedGroups: [""]).id, key, isFull: false)
        case 5, 6, 7: return try removeSlot(machine, vault)
        case 8: return try changeFactor(machine, vault)
        case 9: return try compact(machine, vault)
        case 10: return try importValues(machine, vault) ?? set(vault, someValue(machine))
        case 11: return try restore(machine, vault) ?? set(vault, someValue(machine))
        case 12: return try undo(machine, vault) ?? set(vault, someValue(machine))
        default: return try set(vault, someValue(machine))
        }
    }

    private func someValue(_ machine: KnownMachine) -> String {
        let value = "value \(totals.changes) of \(machine.name)"
        tell("\(machine.name) sets \(value)")
        return value
    }

    func set(_ vault: Vault, _ value: String) throws -> MachineChange {
        try vault.set(try Model.key("a"), secret: Secret(bytes: Array(value.utf8)))
        return .value(value)
    }

    private func compact(_ machine: KnownMachine, _ vault: Vault) throws -> MachineChange {
        tell("\(machine.name) compacts")
        try vault.compact()
        return .compaction
    }

    /// An import adds earlier values to an item that exists.
    private func importValues(_ machine: KnownMachine, _ vault: Vault) throws -> MachineChange? {
        guard model.states[model.versions[current].state].value != nil else { return nil }
        tell("\(machine.name) imports earlier values")
        let values = (0...numbers.below(3)).map { index in
            NewEarlierValue(secret: Secret(bytes: Array("imported \(totals.changes) \(index)".utf8)), replaced: 1000)
        }
        try vault.transaction { (transaction) throws(VaultError) in
            _ = try transaction.addEarlierValues(values, to: try Model.key("a"))
        }
        return .earlierValues
    }

    /// A person restores an earlier secret.
    private func restore(_ machine: KnownMachine, _ vault: Vault) throws -> MachineChange? {
        guard model.states[model.versions[current].state].value != nil,
            let earlier = try vault.earlierValues(of: try Model.key("a")).randomElement(using: &numbers)
        else { return nil }
        let value = try vault.open(earlier).secret.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
        tell("\(machine.name) restores \(value)")
        try vault.restore(earlier, of: try Model.key("a"))
        return .value(value)
    }

    /// A person undoes the last change, if it was one of items only.
    private func undo(_ machine: KnownMachine, _ vault: Vault) throws -> MachineChange? {
        let version = model.versions[current]
        let now = model.states[version.state]
        guard let earlier = version.predecessor, now.isExact, model.states[earlier].isExact,
            model.states[earlier].value != now.value
        else { return nil }
        tell("\(machine.name) undoes state \(version.state)")
        let then = model.states[earlier]
        try vault.undo(
            to: StateID(vault: id, generation: then.generation, chainValue: then.chain), from: vault.state)
        return .undo(to: earlier)
    }

    // MARK: slots

    private func rotate(_ machine: KnownMachine, _ vault: Vault) throws -> MachineChange {
        let contents = model.states[model.versions[current].state].contents
        // Owners who never opened this branch, or whose factor is of another one, may have none of it.
        let kept = contents.full.union(contents.scoped).sorted().filter { isInUse($0) || numbers.chance(2) }
        tell("\(machine.name) rotates and keeps \(kept)")
        var rotation = try vault.rotation()
        let slots = try kept.map { (key) throws in try rotation.keep(try Keys.factors(key)) }
        _ = try rotation.run()
        // Whoever lost a slot kept what it opened.
        if !contents.full.isSubset(of: kept) { holdVaultKey() }
        if !contents.scoped.isSubset(of: kept) { holdEpoch() }
        return .rotation(keeping: Set(slots))
    }

    private func removeSlot(_ machine: KnownMachine, _ vault: Vault) throws -> MachineChange {
        let contents = model.states[model.versions[current].state].contents
        let removable = contents.full.union(contents.scoped).filter { !isInUse($0) }.sorted()
        guard let key = removable.randomElement(using: &numbers) else { return try compact(machine, vault) }
        tell("\(machine.name) removes the slot \(key)")
        let slot = try slot(of: key)
        try vault.removeSlot(slot)
        if contents.full.contains(key) { holdVaultKey() }
        if contents.scoped.contains(key) { holdEpoch() }
        return .noSlot(slot)
    }

    private func changeFactor(_ machine: KnownMachine, _ vault: Vault) throws -> MachineChange {
        let old = machine.rawKey
        machine.rawKey = newRawKey()
        tell("\(machine.name) changes its factor \(old) to \(machine.rawKey)")
        let slot = try slot(of: old)
        try vault.changeFactors(of: slot, to: try Keys.factors(machine.rawKey))
        holdVaultKey()
        return .factors(slot, machine.rawKey)
    }

    private func isInUse(_ key: Int) -> Bool { machines.contains { $0.rawKey == key } }

    /// The slot that a raw key opens in the file as it is now.
    private func slot(of key: Int) throws -> SlotID {
        let place = Store.Place(fileSystem: files, cacheBytes: 1 << 16)
        let vault = try Vault.open(Self.path, factors: try Keys.factors(key), options: OpenOptions(), place: place)
        guard let slot = try vault.slots().first(where: \.openedThis) else { throw Wrong("no slot of the key \(key)") }
        return slot.id
    }

    // MARK: programs that go on

    /// A program that has the vault open looks at it again, or changes it.
    func useProgram(_ machine: KnownMachine) throws {
        guard let program = machine.program else { return }
        let version = model.versions[current]
        let (then, now) = (model.states[program.state], model.states[version.state])
        let memory = model.refusal(machine.memory, at: Self.path, version.state, asOwner: program.asOwner)
        let mustRefuse = memory != nil || model.refusal(program.state, version.state) != nil || !now.isOwners
        // A rotation replaces the keys that a program holds.
        let isSameKey =
            then.vaultKey == now.vaultKey && (program.asOwner || now.contents.scoped.contains(reader.rawKey))
        // Nor does one go on with a file that was overwritten in its place.
        let mayRefuse = !isSameKey || program.isOverwritten
        let writes = program.isWritable && numbers.chance(2)
        let before = try machine.remembered(id, at: Self.paths)
        let bytes = files.bytes(of: Self.path)
        tell(
            "a program of \(machine.name) at state \(program.state) \(writes ? "changes" : "looks at") \(describe(current))"
        )
        do {
            if writes {
                let change = try set(program.vault, "value of a program \(totals.changes)")
                guard !mustRefuse else { throw Wrong("a program of \(machine.name) changes \(describe(current))") }
                countChange()
                model.remember(version.state, at: Self.path, asOwner: true, in: &machine.memory)
                try record(program.vault, machine, change)
            } else {
                try program.vault.refresh()
                guard !mustRefuse else { throw Wrong("a program of \(machine.name) accepts \(describe(current))") }
                model.remember(version.state, at: Self.path, asOwner: program.asOwner, in: &machine.memory)
                try follow(machine)
                try checkServed(program.vault, version.state, machine)
                try checkRemembered(machine)
            }
            countAcceptance()
        } catch let error as VaultError {
            guard mustRefuse || mayRefuse else {
                throw Wrong("a program of \(machine.name) refuses \(describe(current)): \(error)")
            }
            try checkUnchanged(machine, before)
            guard files.bytes(of: Self.path) == bytes else {
                throw Wrong("a program of \(machine.name) changed what it refused")
            }
            guard program.vault.state.chain == then.chain.bytes else {
                throw Wrong("a program of \(machine.name) left its state")
            }
            countRefusal(error)
            machine.program = nil
        }
    }
}
