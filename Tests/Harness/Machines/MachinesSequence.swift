internal import TestSupport
internal import VaultBytes
internal import VaultFmt
internal import VaultLocal
internal import VaultStore

/// One vault on storage that its provider controls, two owners' machines and one with a scoped slot.
final class MachinesSequence {
    static let path = "/cloud/a.vault"
    static let conflictPath = "/cloud/a (conflict).vault"
    static let paths = [path, conflictPath]

    var numbers: Numbers
    let files = MemoryFileSystem(clock: 1_700_000_000_000)
    let owners: [KnownMachine]
    let reader: KnownMachine
    var model = MachinesModel()
    var held = HeldKeys()
    let id: VaultID
    /// The version at the path, if it is one that the model knows, and the newest one that an owner has made.
    var current: Int
    private(set) var honest: Int
    private(set) var story: [String] = []
    private(set) var totals = MachinesTotals()
    /// Who has used an id, and the last revision under it.
    private var ids: [ReplicaID: (machine: String, last: UInt64)] = [:]
    private var nextRawKey = 10

    init(_ numbers: Numbers) throws {
        var numbers = numbers
        var machines: [KnownMachine] = []
        for (index, name) in ["ann", "bob", "ci"].enumerated() {
            let place = Store.Place(fileSystem: files, random: .fixed(Numbers(numbers.next())), cacheBytes: 1 << 18)
            machines.append(KnownMachine(name, isOwner: index < 2, rawKey: index + 1, place))
        }
        owners = Array(machines[..<2])
        reader = machines[2]
        let vault = try machines[0].machine.create(at: Self.path, factors: try Keys.factors(1))
        self.numbers = numbers
        id = vault.id
        current = 0
        honest = 0
        try begin(vault)
        // Somebody had a slot before, and the scoped slot's holder may have told the provider its keys.
        if self.numbers.chance(2) { holdVaultKey() }
        if self.numbers.chance(4) { holdEpoch() }
    }

    /// Makes the first states; nobody but the first owner remembers one of them.
    private func begin(_ vault: Vault) throws {
        let first = try Made(vault)
        guard let made = first.own else { throw Wrong("a vault was not made by a change") }
        ids[made.replica] = (owners[0].name, made.revision)
        guard let slot = try vault.slots().first?.id else { throw Wrong("a vault was made without a slot") }
        var contents = MachineContents()
        contents.slots[slot] = MachineSlot(made: made, changed: made, key: 1, isFull: true)
        let state = model.add(
            MachineState(
                generation: first.commit.generation, chain: first.chain, vaultKey: first.vaultKey, keyDot: made,
                vector: MachineVector(rows: [made.replica: made.revision]), handOvers: [], header: first.header,
                contents: contents, value: nil, items: 0))
        current = model.add(first.version(bytes(of: vault, first), state: state, predecessor: nil))
        owners[0].memory[Self.path, asOwner: true] = MachineEntry(state: state)
        try vault.transaction { (transaction) throws(VaultError) in
            for name in MachineChange.names {
                try transaction.set(try Model.key(name), secret: Secret(bytes: Array("first".utf8)))
            }
        }
        try record(vault, owners[0], .items("first"))
        let full = try vault.addSlot(try Keys.factors(2)).id
        try record(vault, owners[0], .slot(full, 2, isFull: true))
        let scoped = try vault.addSlot(try Keys.factors(3), grantedGroups: [""]).id
        try record(vault, owners[0], .slot(scoped, 3, isFull: false))
    }

    var machines: [KnownMachine] { owners + [reader] }

    func tell(_ what: String) { story.append(what) }

    func run(steps: Int) throws {
        for _ in 0..<steps {
            if numbers.chance(2) { try honestStep() } else { try attack() }
            for machine in machines {
                if let warning = machine.warning { throw Wrong("\(machine.name) warns: \(warning)") }
            }
        }
        // Whatever happened: who accepts the owners' newest version goes on from there.
        try replace(with: honest, inPlace: false)
        for machine in machines {
            try accept(machine, honest, Self.path)
            try look(machine, honest, Self.path, asOwner: machine.isOwner)
        }
    }

    // MARK: what people do

    private func honestStep() throws {
        let machine = numbers.chance(6) ? reader : owners[numbers.below(2)]
        if numbers.chance(5) { return try useProgram(machine) }
        guard machine.isOwner, !numbers.chance(4) else {
            try look(machine, current, Self.path, asOwner: machine.isOwner && !numbers.chance(4))
            return
        }
        try change(machine)
    }

    /// A machine opens a version, which must be refused or accepted as the model says; returns it if it was accepted.
    @discardableResult
    func look(
        _ machine: KnownMachine, _ number: Int, _ path: String, asOwner: Bool, isWritable: Bool = false,
        keeps: Bool = false
    ) throws -> Vault? {
        let version = model.versions[number]
        // An owner who looks with the scoped slot uses its key.
        let rawKey = asOwner ? machine.rawKey : reader.rawKey
        let before = try machine.remembered(id, at: Self.paths)
        tell(
            "\(machine.name) opens\(asOwner ? "" : " scoped") \(describe(number))\(path == Self.path ? "" : " at the other path")"
        )
        let expected = verdict(machine, version, path, rawKey, asOwner: asOwner)
        var options = OpenOptions()
        options.writable = isWritable
        do {
            let vault = try machine.machine.open(path, factors: try Keys.factors(rawKey), options: options)
            guard expected.isAccepted else {
                throw Wrong("\(machine.name) accepts \(describe(number)); it \(expected)")
            }
            model.remember(version.state, at: path, asOwner: asOwner, in: &machine.memory)
            try checkServed(vault, version.state, machine)
            try checkRemembered(machine)
            totals.accepted += 1
            if keeps || numbers.chance(4), path == Self.path {
                machine.program = KnownMachine.Program(
                    vault: vault, state: version.state, asOwner: asOwner, isWritable: isWritable,
                    file: try files.identity(of: path), bytes: version.bytes)
            }
            return vault
        } catch let error as VaultError {
            guard expected.allows(error.code) else {
                throw Wrong("\(machine.name) refuses \(describe(number)); it \(expected): \(error)")
            }
            try checkUnchanged(machine, before)
            totals.refused["\(error.code)", default: 0] += 1
            return nil
        }
    }

    private func verdict(
        _ machine: KnownMachine, _ version: MachineVersion, _ path: String, _ rawKey: Int, asOwner: Bool
    ) -> MachineVerdict {
        let state = model.states[version.state]
        guard (asOwner ? state.contents.full : state.contents.scoped).contains(rawKey) else {
            return .refuses(.noSlotOpens)
        }
        if !state.isOwners { return .refusesSomehow }
        return model.refusal(machine.memory, at: path, version.state, asOwner: asOwner).map { .refuses($0) } ?? .accepts
    }

    func checkServed(_ vault: Vault, _ number: Int, _ machine: KnownMachine) throws {
        let state = model.states[number]
        guard vault.state.chain == state.chain.bytes, vault.state.generation == state.generation else {
            throw Wrong("\(machine.name) is served generation \(vault.state.generation), not state \(number)")
        }
        let value = try secret(of: vault)
        let items = try vault.withStore { (store) throws(VaultError) in store.state.commit.items }
        guard value == state.value, items == UInt64(state.items) else {
            throw Wrong(
                "\(machine.name) reads \(value ?? "nothing") of \(items) items, not \(state.value ?? "nothing") of \(state.items)"
            )
        }
    }

    func secret(of vault: Vault) throws -> String? {
        try vault.get(try Model.key("a"))?.secret.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    }

    /// Everything that the machine remembers is what it should.
    func checkRemembered(_ machine: KnownMachine) throws {
        for path in Self.paths {
            for isOwner in [true, false] {
                let remembered = try machine.machine.remembered(id, at: path, asOwner: isOwner)
                let entry = machine.memory[path, asOwner: isOwner]
                let dropped = (remembered?.dropped ?? []).map {
                    ($0.id, MachineDropped(taken: $0.taken, dropped: $0.dropped))
                }
                guard remembered?.anchor.chain == entry.map({ model.states[$0.state].chain.bytes }) else {
                    throw Wrong("\(machine.name) remembers \(remembered?.anchor.description ?? "nothing")")
                }
                guard Dictionary(uniqueKeysWithValues: dropped) == entry?.dropped ?? [:] else {
                    throw Wrong("\(machine.name) remembers \(dropped) as dropped, not \(entry?.dropped ?? [:])")
                }
            }
        }
    }

    func checkUnchanged(_ machine: KnownMachine, _ before: [RememberedState?]) throws {
        guard try machine.remembered(id, at: Self.paths) == before else {
            throw Wrong("\(machine.name) remembers what it refused")
        }
    }

    /// A person is told, and accepts what is there now.
    func accept(_ machine: KnownMachine, _ number: Int, _ path: String) throws {
        let version = model.versions[number]
        let (state, asOwner) = (model.states[version.state], machine.isOwner)
        let isOpened = (asOwner ? state.contents.full : state.contents.scoped).contains(machine.rawKey)
        guard isOpened, state.isOwners else { return }
        tell("\(machine.name) accepts \(describe(number))")
        let place = Store.Place(fileSystem: files, cacheBytes: 1 << 18)
        let vault = try Vault.open(
            path, factors: try Keys.factors(machine.rawKey), options: OpenOptions(), place: place)
        try machine.machine.accept(vault)
        model.accept(version.state, at: path, asOwner: asOwner, in: &machine.memory)
        try checkRemembered(machine)
    }

    // MARK: what comes of changes

    /// The newest state of a handle is a new version of the file, and its machine remembers it.
    func record(_ vault: Vault, _ machine: KnownMachine, _ change: MachineChange) throws {
        let made = try Made(vault)
        try checkID(made, machine)
        current = try add(made, bytes(of: vault, made), from: current, change)
        honest = current
        try remember(machine, Self.path)
        try follow(machine)
    }

    /// A machine has made the version that is at the path.
    func remember(_ machine: KnownMachine, _ path: String) throws {
        model.remember(model.versions[current].state, at: path, asOwner: true, in: &machine.memory)
        try checkRemembered(machine)
    }

    /// Adds a version that continues another, and its state.
    func add(_ made: Made, _ bytes: [UInt8], from number: Int, _ change: MachineChange) throws -> Int {
        let before = model.versions[number]
        let parent = model.states[before.state]
        guard made.commit.generation == parent.generation + 1 else {
            throw Wrong("generation \(made.commit.generation) follows \(parent.generation)")
        }
        guard (made.own != nil) == change.isChange else {
            throw Wrong("\(change) has the dot \(String(describing: made.own))")
        }
        var vector = parent.vector
        if let own = made.own { vector.include(own) }
        guard vector == made.vector else { throw Wrong("the vector of \(change) is \(made.vector), not \(vector)") }
        let state = model.add(change.applied(to: parent, made, vector, model))
        let predecessor = made.isPredecessorInFile ? before.state : nil
        return model.add(made.version(bytes, state: state, predecessor: predecessor))
    }

    /// No two machines make changes under one id, and none continues one that it has not made to the end (R-7.19).
    func checkID(_ made: Made, _ machine: KnownMachine) throws {
        guard let own = made.own else { return }
        let row = model.states[model.versions[current].state].vector.rows[own.replica]
        guard ids[own.replica].map({ $0.machine == machine.name && $0.last == row }) ?? (row == nil) else {
            throw Wrong("\(machine.name) goes on with an id from a state that lacks changes under it")
        }
        ids[own.replica] = (machine.name, own.revision)
    }

    func bytes(of vault: Vault, _ made: Made) -> [UInt8] {
        Array((files.bytes(of: vault.path) ?? []).prefix(Int(made.commit.end)))
    }

    /// A program is at the state of the file now.
    func follow(_ machine: KnownMachine) throws {
        machine.program?.state = model.versions[current].state
        machine.program?.bytes = model.versions[current].bytes
        machine.program?.isOverwritten = false
        machine.program?.file = try files.identity(of: Self.path)
    }

    func holdVaultKey() { held.vaultKeys.insert(model.states[model.versions[current].state].vaultKey) }
    func holdEpoch() { held.epochs.insert(model.versions[current].epoch.bytes) }

    func newRawKey() -> Int {
        nextRawKey += 1
        return nextRawKey
    }

    // MARK: details

    func replace(with number: Int, inPlace: Bool) throws {
        try put(model.versions[number].bytes, at: Self.path, inPlace: inPlace)
        current = number
    }

    func put(_ bytes: [UInt8], at path: String, inPlace: Bool) throws {
        guard inPlace else { return files.put(path, bytes) }
        let identity = try files.identity(of: path)
        for machine in machines where machine.program?.file == identity {
            if machine.program.map({ bytes.starts(with: $0.bytes) }) == false { machine.program?.isOverwritten = true }
        }
        let file = try files.open(path, writable: true)
        try file.truncate(to: 0)
        try file.write(bytes, at: 0)
    }

    func countAttack(_ kind: String) { totals.attacks[kind, default: 0] += 1 }
    func countRefusal(_ error: VaultError) { totals.refused["\(error.code)", default: 0] += 1 }
    func countMerge(_ outcome: String) { totals.merges[outcome, default: 0] += 1 }
    func countChange() { totals.changes += 1 }
    func countAcceptance() { totals.accepted += 1 }
    /// What an owner has merged is the owners' newest version.
    func continueHonestly() { honest = current }

    func describe(_ number: Int) -> String {
        let version = model.versions[number]
        let state = model.states[version.state]
        return
            "version \(number) (state \(version.state), generation \(state.generation)\(state.isOwners ? "" : ", by a scoped slot"))"
    }
}

/// What a handle has made, or sees.
struct Made {
    let commit: Commit
    let chain: Bytes32
    let vaultKey: [UInt8]
    let epoch: Bytes32
    let header: [UInt8]
    let vector: MachineVector
    let isPredecessorInFile: Bool

    init(_ vault: Vault) throws {
        let headerLength: Int
        (commit, chain, vaultKey, epoch, headerLength) = try vault.withStore { (store) throws(VaultError) in
            let key = store.slot.keys.vaultKey()?.plainBytes() ?? []
            return (store.state.commit, store.state.chain, key, store.header.epoch, store.header.length)
        }
        header = try vault.withStore { (store) throws(VaultError) in try store.file.bytes(headerLength, at: 0) }
        let rows = try vault.withStore { (store) throws(VaultError) in try store.vector().rows }
        guard !rows.contains(where: \.isSplit) else { throw Wrong("an id is called split") }
        vector = MachineVector(rows: Dictionary(uniqueKeysWithValues: rows.map { ($0.id, $0.revision) }))
        isPredecessorInFile = commit.predecessorOffset(from: 2 * UInt64(headerLength)) != nil
    }

    /// The change; nil if it is a merge or a compaction.
    var own: Dot? { commit.own.map { Dot(revision: $0.revision, replica: $0.id) } }

    func version(_ bytes: [UInt8], state: Int, predecessor: Int?) -> MachineVersion {
        MachineVersion(bytes: bytes, state: state, epoch: epoch, commit: commit, predecessor: predecessor)
    }
}
