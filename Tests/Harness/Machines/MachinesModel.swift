internal import VaultBytes
internal import VaultFmt

/// One commit, wherever it came from, as the model knows it.
struct MachineState {
    let generation: UInt64
    /// The state that it continues; nil for the first one, and for one whose past is made up.
    let parent: Int?
    let chain: Bytes32
    let vaultKey: [UInt8]
    /// The secret of the item that everybody reads.
    let value: String
    let items: Int
    /// False for what the holder of a scoped slot has made.
    let isOwners: Bool
}

/// One version of the file, which the storage provider keeps.
struct MachineVersion {
    let bytes: [UInt8]
    var state: Int
    /// The oldest generation that the file proves to continue.
    var provable: Int64
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

    func state(chain: [UInt8]) -> Int? { states.firstIndex { $0.chain.bytes == chain } }

    /// The state of a generation that a state came from, or the state itself.
    func ancestor(of state: Int, at generation: UInt64) -> Int? {
        var current = state
        while states[current].generation > generation {
            guard let parent = states[current].parent else { return nil }
            current = parent
        }
        return states[current].generation == generation ? current : nil
    }

    func isAncestor(_ state: Int, of other: Int) -> Bool { ancestor(of: other, at: states[state].generation) == state }

    /// Why a machine that remembers a state refuses a version; nil if it does not.
    func refusal(_ remembered: Int, _ version: MachineVersion, isOwner: Bool) -> VaultError.Code? {
        refusal(remembered, state: version.state, provable: version.provable, isOwner: isOwner)
    }

    func refusal(_ remembered: Int, state: Int, provable: Int64, isOwner: Bool) -> VaultError.Code? {
        let (then, now) = (states[remembered], states[state])
        guard then.generation <= now.generation else { return .rolledBack }
        let isProvable = Int64(then.generation) >= provable
        if isProvable, !isAncestor(remembered, of: state) { return .forked }
        if isOwner, then.vaultKey != now.vaultKey { return .foreignOwner }
        return isProvable ? nil : .ancestryUnprovable
    }

    /// Why a machine refuses a version, with what it remembers as an owner and with a scoped slot.
    func refusal(_ memory: MachineMemory, _ version: MachineVersion, asOwner: Bool) -> VaultError.Code? {
        if asOwner { return memory.owner.flatMap { refusal($0, version, isOwner: true) } }
        if let code = memory.owner.flatMap({ refusal($0, version, isOwner: false) }),
            code != .ancestryUnprovable || memory.scoped == nil
        {
            return code
        }
        return memory.scoped.flatMap { refusal($0, version, isOwner: false) }
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
    /// Of scoped slots: the epochs whose index and reader keys they had.
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
