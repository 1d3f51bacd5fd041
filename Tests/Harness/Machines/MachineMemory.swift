internal import VaultBytes
internal import VaultFmt
internal import VaultStore

/// Changes under one id that a person dropped by accepting a state that lacks them.
struct MachineDropped: Equatable {
    var taken: UInt64
    var dropped: UInt64
}

/// What a machine should remember of one place, in one role.
struct MachineEntry: Equatable {
    var state: Int
    var dropped: [ReplicaID: MachineDropped] = [:]
}

/// What one machine should remember: for each place, as an owner and as the holder of a scoped slot (section 7.2).
struct MachineMemory: Equatable {
    private struct Key: Hashable {
        let path: String
        let isOwner: Bool
    }

    private var entries: [Key: MachineEntry] = [:]

    subscript(path: String, asOwner isOwner: Bool) -> MachineEntry? {
        get { entries[Key(path: path, isOwner: isOwner)] }
        set { entries[Key(path: path, isOwner: isOwner)] = newValue }
    }

    func states(asOwner isOwner: Bool) -> [Int] { entries.filter { $0.key.isOwner == isOwner }.map(\.value.state) }
    var states: [Int] { entries.values.map(\.state) }
    func all(asOwner isOwner: Bool) -> [MachineEntry] { entries.filter { $0.key.isOwner == isOwner }.map(\.value) }
}

extension MachinesModel {
    /// Why a machine refuses a state at a place; nil if it does not.
    func refusal(_ memory: MachineMemory, at path: String, _ state: Int, asOwner: Bool) -> VaultError.Code? {
        let owner = memory[path, asOwner: true]
        if !asOwner, let owner, let code = refusal(owner, state) { return code }
        if let own = memory[path, asOwner: asOwner] { return refusal(own, state) }
        if let same = newest(memory, asOwner), let code = refusal(same, state) { return code }
        guard owner == nil, let other = newest(memory, !asOwner) else { return nil }
        // It says whose the vault is, and nothing else.
        return verdict(on: other.state, in: state) == .foreign ? .foreignOwner : nil
    }

    private func refusal(_ entry: MachineEntry, _ state: Int) -> VaultError.Code? {
        if let code = refusal(entry.state, state) { return code }
        return hasDropped(entry, state) ? .forked : nil
    }

    /// Whether a state has something that was dropped.
    func hasDropped(_ entry: MachineEntry, _ state: Int) -> Bool {
        entry.dropped.contains { lastSeen($0.key, in: state) > $0.value.taken }
    }

    private func newest(_ memory: MachineMemory, _ asOwner: Bool) -> MachineEntry? {
        memory.all(asOwner: asOwner).max { one, other in
            let (left, right) = (states[one.state], states[other.state])
            return (left.vector.clock, left.generation) < (right.vector.clock, right.generation)
        }
    }

    /// A machine has accepted a state, or made it.
    func remember(_ state: Int, at path: String, asOwner: Bool, in memory: inout MachineMemory) {
        guard let entry = memory[path, asOwner: asOwner] else {
            // What was dropped at another place of the vault is dropped here, too.
            memory[path, asOwner: asOwner] = MachineEntry(
                state: state, dropped: newest(memory, asOwner)?.dropped ?? [:])
            return
        }
        // What only compacts is no news, unless it is later.
        let isNews = verdict(on: entry.state, in: state) == .descends
        guard isNews || states[state].generation > states[entry.state].generation else { return }
        memory[path, asOwner: asOwner]?.state = state
    }

    /// A person accepts a state, whatever was remembered before.
    func accept(_ state: Int, at path: String, asOwner: Bool, in memory: inout MachineMemory) {
        memory[path, asOwner: asOwner] = MachineEntry(
            state: state, dropped: memory[path, asOwner: asOwner].map { dropped($0, accepting: state) } ?? [:])
        guard asOwner, let scoped = memory[path, asOwner: false] else { return }
        if refusal(scoped.state, state) != nil { memory[path, asOwner: false] = nil }
    }

    private func dropped(_ entry: MachineEntry, accepting state: Int) -> [ReplicaID: MachineDropped] {
        var all = stillDropped(entry, after: state)
        let (then, now) = (states[entry.state], states[state])
        guard then.vaultKey == now.vaultKey else { return all }
        for (id, revision) in then.vector.rows where revision > now.vector.rows[id] ?? 0 {
            let known = all[id] ?? MachineDropped(taken: .max, dropped: 0)
            all[id] = MachineDropped(
                taken: min(known.taken, now.vector.rows[id] ?? 0), dropped: max(known.dropped, revision))
        }
        return all
    }

    /// What stays dropped when a person asks for what a state has of it.
    func stillDropped(_ entry: MachineEntry, after state: Int) -> [ReplicaID: MachineDropped] {
        var all: [ReplicaID: MachineDropped] = [:]
        for (id, one) in entry.dropped where lastSeen(id, in: state) < one.dropped {
            all[id] = MachineDropped(taken: max(one.taken, lastSeen(id, in: state)), dropped: one.dropped)
        }
        return all
    }
}
