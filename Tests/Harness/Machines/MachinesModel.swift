internal import TestSupport
internal import VaultBytes
internal import VaultFmt

/// One commit, wherever it came from, as the model knows it.
struct MachineState {
    let generation: UInt64
    let chain: Bytes32
    /// What the owners' public key follows from.
    let vaultKey: [UInt8]
    /// The secret of the item that everybody reads.
    let value: String
    let items: Int
    /// False for what the holder of a scoped slot has made.
    let isOwners: Bool
}

/// What a rotated key says of the next one (specification, section 7.3).
struct MachineHandOver: Equatable {
    /// The vault key that hands over.
    var vaultKey: [UInt8]
    /// Its last state.
    let state: Int
    /// The vault key for which it has signed; nil if it has not.
    var next: [UInt8]?
}

/// What a file tells of the states before the one that it serves.
struct MachinePast {
    /// In the order in which they became ancestors.
    var ancestors: [Int] = []
    /// Every ancestor of this generation or a later one is among them.
    var floor: UInt64 = 1
    var handOvers: [MachineHandOver] = []
    /// Whether the provider has invented some of it.
    var isForged = false
    /// The ancestors whose commits are in the file; its history lists the others.
    var inFile: Set<Int> = []

    /// A commit is appended to the file that serves this state.
    mutating func goOn(from state: Int) {
        ancestors.append(state)
        inFile.insert(state)
    }
}

/// One version of the file, which the storage provider keeps.
struct MachineVersion {
    let bytes: [UInt8]
    var state: Int
    var past: MachinePast
    /// The raw keys of its full slots, and of its scoped ones.
    var full: Set<Int>
    var scoped: Set<Int>
    let epoch: Bytes32
    let commit: Commit
    /// Which header the file begins with.
    let header: [UInt8]
}

/// What every machine should remember, and the tree of all states that were ever made.
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

    mutating func setHandOvers(_ all: [MachineHandOver], of version: Int) { versions[version].past.handOvers = all }

    /// A state of which nothing but its place is known.
    mutating func addUnknown(_ generation: UInt64, _ vaultKey: [UInt8], _ numbers: inout Numbers) throws -> Int {
        guard let chain = Bytes32(numbers.bytes(32)) else { throw Wrong("a chain value has 32 bytes") }
        return add(
            MachineState(generation: generation, chain: chain, vaultKey: vaultKey, value: "", items: 0, isOwners: true))
    }

    /// Leaves the oldest ancestors out, as whoever replaces the file does.
    func fold(_ past: inout MachinePast) {
        let dropped = past.ancestors.dropLast(Format.Limit.ancestors)
        past.floor = max(past.floor, (dropped.map { states[$0].generation }.max() ?? 0) + 1)
        past.ancestors = past.ancestors.suffix(Format.Limit.ancestors)
        past.inFile = []
    }

    /// Lists another branch's states in a file's history, which leaves out the oldest of both if they do not fit
    ///
    func list(_ branch: [Int], in past: inout MachinePast) {
        let listed = past.ancestors.filter { [inFile = past.inFile] in !inFile.contains($0) }
        let new = branch.filter { [known = Set(past.ancestors)] in !known.contains($0) }
        let room = Format.Limit.ancestors - min(listed.count, Format.keptAncestors)
        let added = new.suffix(room)
        let dropped = new.dropLast(room) + (listed + added).dropLast(Format.Limit.ancestors)
        past.floor = max(past.floor, (dropped.map { states[$0].generation }.max() ?? 0) + 1)
        past.ancestors = (past.ancestors + added).filter { [dropped = Set(dropped)] in !dropped.contains($0) }
    }

    /// The clock of a state that a version serves.
    func clock(of state: Int) -> UInt64? { versions.first { $0.state == state }?.commit.clock }

    func state(chain: [UInt8]) -> Int? { states.firstIndex { $0.chain.bytes == chain } }

    /// Whether a file shows a state among those before the one that it serves.
    private enum Ancestry { case shown, belowFloor, no }

    private func ancestry(_ state: Int, _ version: MachineVersion) -> Ancestry {
        let generation = states[state].generation
        if version.past.ancestors.contains(state) { return .shown }
        return state != version.state && generation < version.past.floor ? .belowFloor : .no
    }

    /// Whether hand-overs lead from a remembered state's key to the version's.
    private func isHandedOver(_ remembered: Int, _ version: MachineVersion) -> Ancestry {
        let all = version.past.handOvers
        var isUnprovable = false
        for first in all.indices where all[first].vaultKey == states[remembered].vaultKey {
            let chain = all[first...]
            let generations = chain.map { states[$0.state].generation }
            let next = chain.dropFirst().map(\.vaultKey) + [states[version.state].vaultKey]
            guard zip(chain, next).allSatisfy({ $0.next == $1 }),
                zip(generations, generations.dropFirst()).allSatisfy({ $0 < $1 })
            else {
                continue
            }
            let isLast = all[first].state == remembered
            guard isLast || states[remembered].generation < generations[0] else { continue }
            let shown = (chain.map(\.state) + [remembered]).map { ancestry($0, version) }
            if shown.allSatisfy({ $0 == .shown }) { return .shown }
            if !shown.contains(.no) { isUnprovable = true }
        }
        return isUnprovable ? .belowFloor : .no
    }

    /// Why a machine that remembers a state refuses a version; nil if it does not.
    func refusal(_ remembered: Int, _ version: MachineVersion) -> VaultError.Code? {
        let (then, now) = (states[remembered], states[version.state])
        if then.vaultKey != now.vaultKey {
            switch isHandedOver(remembered, version) {
            case .no: return .foreignOwner
            case .belowFloor: return .ancestryUnprovable
            case .shown: break
            }
        }
        if remembered == version.state { return nil }
        guard then.generation <= now.generation else { return .rolledBack }
        switch ancestry(remembered, version) {
        case .shown: return nil
        case .belowFloor: return .ancestryUnprovable
        case .no: return .forked
        }
    }

    /// Why a machine refuses a version, with what it remembers as an owner and with a scoped slot.
    func refusal(_ memory: MachineMemory, _ version: MachineVersion, asOwner: Bool) -> VaultError.Code? {
        if asOwner, memory.owner == nil, let scoped = memory.scoped {
            // It says whose the vault is, and nothing else.
            return refusal(scoped, version) == .foreignOwner ? .foreignOwner : nil
        }
        if asOwner { return memory.owner.flatMap { refusal($0, version) } }
        if let code = memory.owner.flatMap({ refusal($0, version) }),
            code != .ancestryUnprovable || memory.scoped == nil
        {
            return code
        }
        return memory.scoped.flatMap { refusal($0, version) }
    }
}

/// The states that one machine should remember.
struct MachineMemory: Equatable {
    var owner: Int?
    var scoped: Int?

    subscript(asOwner asOwner: Bool) -> Int? {
        get { asOwner ? owner : scoped }
        set { if asOwner { owner = newValue } else { scoped = newValue } }
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
