internal import TestSupport
internal import VaultBytes
internal import VaultFmt
internal import VaultStore

/// What a rotated key says of the next one (specification, section 7.3).
struct MachineHandOver: Equatable {
    /// The vault key that hands over; empty if it is one that nobody has.
    var vaultKey: [UInt8]
    /// The vault key for which it has signed; nil if it has not.
    var next: [UInt8]?
    let vector: MachineVector
}

/// One commit, wherever it came from, as the model knows it.
struct MachineState {
    let generation: UInt64
    let chain: Bytes32
    /// What the owners' public key follows from.
    let vaultKey: [UInt8]
    /// The rotation that made it.
    var keyDot: Dot
    var vector: MachineVector
    var handOvers: [MachineHandOver]
    /// What the file begins with.
    let header: [UInt8]
    var contents: MachineContents
    /// The secret of the item that everybody reads, and the number of items.
    var value: String?
    var items: Int
    /// Whether `contents` has the items as they are: not after values under a replaced key were taken in.
    var isExact = true
    /// False for what the holder of a scoped slot has made.
    var isOwners = true
}

/// One version of the file, which the storage provider keeps.
struct MachineVersion {
    let bytes: [UInt8]
    let state: Int
    let epoch: Bytes32
    let commit: Commit
    /// The state before it, if its commit is in the file.
    var predecessor: Int?
}

/// All states that were ever made.
struct MachinesModel {
    private(set) var states: [MachineState] = []
    private(set) var versions: [MachineVersion] = []

    mutating func add(_ state: MachineState) -> Int {
        states.append(state)
        return states.count - 1
    }

    mutating func add(_ version: MachineVersion) -> Int {
        versions.append(version)
        return versions.count - 1
    }

    mutating func setHandOvers(_ all: [MachineHandOver], of state: Int) { states[state].handOvers = all }

    func state(chain: [UInt8]) -> Int? { states.firstIndex { $0.chain.bytes == chain } }

    // MARK: verdicts

    /// Whether hand-overs of a state lead from one key to another.
    private func leads(_ key: [UInt8], to last: [UInt8], in state: Int) -> Bool {
        var (reached, open): (Set<[UInt8]>, [[UInt8]]) = ([key], [key])
        while let key = open.popLast() {
            if key == last { return true }
            for handOver in states[state].handOvers where handOver.vaultKey == key {
                if let next = handOver.next, reached.insert(next).inserted { open.append(next) }
            }
        }
        return false
    }

    /// The vectors that hand-overs from a key cover which lead to the state's key.
    private func covered(from key: [UInt8], in state: Int) -> [MachineVector] {
        states[state].handOvers.compactMap { handOver in
            guard handOver.vaultKey == key, let next = handOver.next, leads(next, to: states[state].vaultKey, in: state)
            else { return nil }
            return handOver.vector
        }
    }

    private static func covers(_ vectors: [MachineVector], _ vector: MachineVector) -> Bool {
        vector.rows.allSatisfy { row in vectors.contains { $0.hasSeen(Dot(revision: row.value, replica: row.key)) } }
    }

    /// How a remembered state is related to another one.
    func verdict(on remembered: Int, in state: Int) -> Ancestry {
        let (then, now) = (states[remembered], states[state])
        guard then.vaultKey == now.vaultKey else {
            let vectors = covered(from: then.vaultKey, in: state)
            if vectors.isEmpty { return .foreign }
            return Self.covers(vectors, then.vector) ? .descends : .forked
        }
        if then.chain == now.chain { return .same }
        switch (now.vector.hasSeen(all: then.vector), then.vector.hasSeen(all: now.vector)) {
        case (true, true): return .same
        case (true, false): return .descends
        case (false, true): return .older
        case (false, false): return .forked
        }
    }

    /// Why somebody who is at a state refuses another one; nil if he does not.
    func refusal(_ remembered: Int, _ state: Int) -> VaultError.Code? {
        switch verdict(on: remembered, in: state) {
        case .same, .descends: nil
        case .older: .rolledBack
        case .forked: .forked
        case .foreign: .foreignOwner
        }
    }

    /// The last revision of an id in a state, or in what was handed over to it.
    func lastSeen(_ id: ReplicaID, in state: Int) -> UInt64 {
        let handedOver = states[state].handOvers.filter { $0.next != nil }.map(\.vector)
        return ([states[state].vector] + handedOver).map { $0.rows[id] ?? 0 }.max() ?? 0
    }

    // MARK: merges

    /// What a merge of two states should do.
    enum Merge: Equatable {
        case same, ours, theirs, merged, adopted
        case refused
    }

    /// What a merge does with two states; `acceptsOldKeys`: whether values under replaced keys are asked for.
    func merge(_ ours: Int, _ theirs: Int, acceptsOldKeys: Bool) -> Merge {
        let (mine, its) = (states[ours], states[theirs])
        guard mine.vaultKey != its.vaultKey else {
            if mine.chain == its.chain { return .same }
            switch (mine.vector.hasSeen(all: its.vector), its.vector.hasSeen(all: mine.vector)) {
            case (true, true): return .same
            case (true, false): return .ours
            case (false, true): return .theirs
            case (false, false): return .merged
            }
        }
        switch (leads(its.vaultKey, to: mine.vaultKey, in: ours), leads(mine.vaultKey, to: its.vaultKey, in: theirs)) {
        case (true, false): return taking(theirs, into: ours, acceptsOldKeys)
        case (false, true): return following(ours, to: theirs)
        case (false, false) where !haveOneOrigin(ours, theirs): return .refused
        default:
            return mine.keyDot > its.keyDot ? taking(theirs, into: ours, acceptsOldKeys) : following(ours, to: theirs)
        }
    }

    private func taking(_ branch: Int, into state: Int, _ acceptsOldKeys: Bool) -> Merge {
        // Hand-overs from the branch's own key, wherever they lead.
        let vectors = states[state].handOvers.filter { $0.vaultKey == states[branch].vaultKey && $0.next != nil }
        if Self.covers(vectors.map(\.vector), states[branch].vector) { return .ours }
        return acceptsOldKeys ? .adopted : .refused
    }

    private func following(_ branch: Int, to state: Int) -> Merge {
        taking(branch, into: state, false) == .ours ? .theirs : .refused
    }

    /// Whether there is a key from which each side's hand-overs lead to its own.
    private func haveOneOrigin(_ ours: Int, _ theirs: Int) -> Bool {
        func keys(_ state: Int) -> Set<[UInt8]> {
            Set(states[state].handOvers.filter { $0.next != nil }.map(\.vaultKey))
        }
        return keys(ours).intersection(keys(theirs)).contains { key in
            leads(key, to: states[ours].vaultKey, in: ours) && leads(key, to: states[theirs].vaultKey, in: theirs)
        }
    }

    /// The hand-overs of both sides, and of another one; the first that cover the least go if there are too many.
    func handOvers(_ ours: Int, _ theirs: Int, and new: MachineHandOver? = nil) -> [MachineHandOver] {
        var all = states[ours].handOvers.filter { $0.next != nil }
        for one in states[theirs].handOvers + [new].compactMap({ $0 }) where one.next != nil && !all.contains(one) {
            all.append(one)
        }
        return Array(all.sorted { $0.vector.clock < $1.vector.clock }.suffix(Format.Limit.handOvers))
    }
}

/// What the storage provider got from those whose slots were removed.
struct HeldKeys {
    /// Of full slots.
    var vaultKeys: Set<[UInt8]> = []
    /// Of scoped slots: the epochs whose index keys they had.
    var epochs: Set<[UInt8]> = []
}

/// What a machine should do with a version.
enum MachineVerdict: Equatable, CustomStringConvertible {
    case accepts
    case refuses(VaultError.Code)
    /// The file is wrong in itself; the reason is not the memory's.
    case refusesSomehow

    var isAccepted: Bool { self == .accepts }

    var description: String {
        switch self {
        case .accepts: "should accept it"
        case .refuses(let code): "should refuse it as \(code)"
        case .refusesSomehow: "should refuse it"
        }
    }

    func allows(_ code: VaultError.Code) -> Bool {
        switch self {
        case .accepts: false
        case .refuses(let right): code == right
        case .refusesSomehow: true
        }
    }
}
