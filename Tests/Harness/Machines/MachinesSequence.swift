internal import TestSupport
internal import VaultBytes
internal import VaultFmt
internal import VaultLocal
internal import VaultStore

/// One vault on storage that its provider controls, two owners' machines and one with a scoped slot.
final class MachinesSequence {
    static let path = "/cloud/a.vault"
    static let conflictPath = "/cloud/a (conflict).vault"

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
    /// The past of the next version, where states were made that are in none.
    private var skipped: MachinePast?
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
        try vault.transaction { (transaction) throws(VaultError) in
            for name in ["a", "b", "c"] {
                try transaction.set(try Model.key(name), secret: Secret(bytes: Array("first".utf8)))
            }
        }
        _ = try vault.addSlot(try Keys.factors(2))
        _ = try vault.addSlot(try Keys.factors(3), grantedGroups: [""])
        self.numbers = numbers
        id = vault.id
        current = 0
        honest = 0
        let made = try Made(vault)
        // Nobody remembers the states before.
        var past = MachinePast()
        for generation in 1..<made.commit.generation {
            past.ancestors.append(try model.addUnknown(generation, made.vaultKey, &self.numbers))
        }
        let state = model.add(made.state(value: "first", items: 3))
        let bytes = Array((files.bytes(of: Self.path) ?? []).prefix(Int(made.commit.end)))
        current = model.add(made.version(bytes, state: state, past, full: [1, 2], scoped: [3]))
        owners[0].memory.owner = state
        // Somebody had a slot before, and the scoped slot's holder may have told the provider its keys.
        if self.numbers.chance(2) { holdVaultKey() }
        if self.numbers.chance(4) { holdEpoch() }
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

    /// A machine opens a version, which must be refused or accepted as the model says. True if it was accepted.
    @discardableResult
    func look(
        _ machine: KnownMachine, _ number: Int, _ path: String, asOwner: Bool, isWritable: Bool = false,
        keeps: Bool = false
    ) throws -> Bool {
        let version = model.versions[number]
        // An owner who looks with the scoped slot uses its key.
        let rawKey = asOwner ? machine.rawKey : reader.rawKey
        let before = try machine.remembered(id)
        tell(
            "\(machine.name) opens\(asOwner ? "" : " scoped") \(describe(number))\(path == Self.path ? "" : " at the other path")"
        )
        let expected = verdict(machine, version, rawKey, asOwner: asOwner)
        var options = OpenOptions()
        options.writable = isWritable
        do {
            let vault = try machine.machine.open(path, factors: try Keys.factors(rawKey), options: options)
            guard expected.isAccepted else {
                throw Wrong("\(machine.name) accepts \(describe(number)); it \(expected)")
            }
            machine.memory[asOwner: asOwner] = version.state
            try checkServed(vault, version.state, machine)
            try checkRemembered(machine, asOwner: asOwner)
            totals.accepted += 1
            if keeps || numbers.chance(4), path == Self.path {
                machine.program = KnownMachine.Program(
                    vault: vault, state: version.state, asOwner: asOwner, isWritable: isWritable,
                    file: try files.identity(of: path),
                    header: version.header)
            }
            return true
        } catch let error as VaultError {
            guard expected.allows(error.code) else {
                throw Wrong("\(machine.name) refuses \(describe(number)); it \(expected): \(error)")
            }
            try checkUnchanged(machine, before)
            totals.refused["\(error.code)", default: 0] += 1
            return false
        }
    }

    private func verdict(
        _ machine: KnownMachine, _ version: MachineVersion, _ rawKey: Int, asOwner: Bool
    ) -> MachineVerdict {
        guard (asOwner ? version.full : version.scoped).contains(rawKey) else { return .refuses(.noSlotOpens) }
        if !model.states[version.state].isOwners { return .refusesSomehow }
        return model.refusal(machine.memory, version, asOwner: asOwner).map { .refuses($0) } ?? .accepts
    }

    func checkServed(_ vault: Vault, _ number: Int, _ machine: KnownMachine) throws {
        let state = model.states[number]
        guard vault.state.chain == state.chain.bytes, vault.state.generation == state.generation else {
            throw Wrong("\(machine.name) is served generation \(vault.state.generation), not state \(number)")
        }
        let value = try vault.get(try Model.key("a"))?.secret.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
        let items = try vault.withStore { (store) throws(VaultError) in store.state.commit.items }
        guard value == state.value, items == UInt64(state.items) else {
            throw Wrong("\(machine.name) reads \(value ?? "nothing") of \(items) items, not \(state.value)")
        }
    }

    func checkRemembered(_ machine: KnownMachine, asOwner: Bool) throws {
        let remembered = try machine.machine.remembered(id, asOwner: asOwner)
        guard remembered?.anchor.chain == machine.memory[asOwner: asOwner].map({ model.states[$0].chain.bytes }) else {
            throw Wrong("\(machine.name) remembers \(remembered?.anchor.description ?? "nothing")")
        }
    }

    func checkUnchanged(_ machine: KnownMachine, _ before: [RememberedState?]) throws {
        guard try machine.remembered(id) == before else { throw Wrong("\(machine.name) remembers what it refused") }
    }

    /// A person is told, and accepts what is there now.
    func accept(_ machine: KnownMachine, _ number: Int, _ path: String) throws {
        let version = model.versions[number]
        let asOwner = machine.isOwner
        let isOpened = (asOwner ? version.full : version.scoped).contains(machine.rawKey)
        guard isOpened, model.states[version.state].isOwners else { return }
        tell("\(machine.name) accepts \(describe(number))")
        let place = Store.Place(fileSystem: files, cacheBytes: 1 << 18)
        let vault = try Vault.open(
            path, factors: try Keys.factors(machine.rawKey), options: OpenOptions(), place: place)
        try machine.machine.accept(vault)
        machine.memory[asOwner: asOwner] = version.state
        if asOwner, let scoped = machine.memory.scoped, model.refusal(scoped, version) != nil {
            machine.memory.scoped = nil
        }
        try checkRemembered(machine, asOwner: true)
        try checkRemembered(machine, asOwner: false)
    }

    // MARK: changes

    private func change(_ machine: KnownMachine) throws {
        guard try look(machine, current, Self.path, asOwner: true, isWritable: true, keeps: true),
            let program = machine.program
        else {
            // A person decides: mostly for what the owners have made.
            if numbers.chance(current == honest ? 2 : 12) { try accept(machine, current, Self.path) }
            return
        }
        try change(machine, program.vault)
    }

    private func change(_ machine: KnownMachine, _ vault: Vault) throws {
        let before = model.versions[current]
        var change = MachineChange(before.full, before.scoped, value: model.states[before.state].value)
        totals.changes += 1
        switch numbers.below(20) {
        case 0, 1: try rotate(machine, vault, &change)
        case 2, 3:
            let key = newRawKey()
            tell("\(machine.name) adds the slot \(key)")
            _ = try vault.addSlot(try Keys.factors(key))
            change.full.insert(key)
        case 4:
            let key = newRawKey()
            tell("\(machine.name) adds the scoped slot \(key)")
            _ = try vault.addSlot(try Keys.factors(key), grantedGroups: [""])
            change.scoped.insert(key)
        case 5, 6, 7: try removeSlot(machine, vault, &change)
        case 8: try changeFactor(machine, vault, &change)
        case 9, 10:
            tell("\(machine.name) compacts")
            try vault.compact()
        case 11 where numbers.chance(8):
            tell("\(machine.name) makes more commits than a history holds")
            change.value = "busy \(totals.changes)"
            try beBusy(vault, change)
            try record(vault, machine, change)
            tell("\(machine.name) compacts")
            try vault.compact()
        default:
            change.value = "value \(totals.changes) of \(machine.name)"
            tell("\(machine.name) sets \(change.value)")
            try set(vault, change.value)
        }
        try record(vault, machine, change)
    }

    private func set(_ vault: Vault, _ value: String) throws {
        try vault.set(try Model.key("a"), secret: Secret(bytes: Array(value.utf8)))
    }

    /// Commits that nobody looks at; dead bytes may be compacted away among them.
    private func beBusy(_ vault: Vault, _ change: MachineChange) throws {
        var past = model.versions[current].past
        var last = model.versions[current].state
        for _ in 0..<Format.Limit.ancestors {
            past.goOn(from: last)
            try set(vault, change.value)
            let made = try Made(vault)
            if made.commit.generation == model.states[last].generation + 2 {
                past.ancestors.append(try model.addUnknown(made.commit.generation - 1, made.vaultKey, &numbers))
                model.fold(&past)
            }
            last = model.add(made.state(value: change.value, items: 3))
        }
        past.goOn(from: last)
        try set(vault, change.value)
        skipped = past
    }

    private func rotate(_ machine: KnownMachine, _ vault: Vault, _ change: inout MachineChange) throws {
        let all = change.full.union(change.scoped)
        let kept = all.sorted().filter { isInUse($0) || numbers.chance(2) }
        // Owners who never opened this branch, or whose factor is of another one, may have none of it.
        tell("\(machine.name) rotates and keeps \(kept)")
        var rotation = try vault.rotation()
        for key in kept { _ = try rotation.keep(try Keys.factors(key)) }
        _ = try rotation.run()
        // Whoever lost a slot kept what it opened.
        if !change.full.isSubset(of: kept) { holdVaultKey() }
        if !change.scoped.isSubset(of: kept) { holdEpoch() }
        change.full.formIntersection(kept)
        change.scoped.formIntersection(kept)
    }

    private func removeSlot(_ machine: KnownMachine, _ vault: Vault, _ change: inout MachineChange) throws {
        let removable = change.full.union(change.scoped).filter { !isInUse($0) }.sorted()
        guard let key = removable.randomElement(using: &numbers) else {
            tell("\(machine.name) compacts")
            return _ = try vault.compact()
        }
        tell("\(machine.name) removes the slot \(key)")
        try vault.removeSlot(try slot(of: key))
        if change.full.remove(key) != nil { holdVaultKey() }
        if change.scoped.remove(key) != nil { holdEpoch() }
    }

    private func changeFactor(_ machine: KnownMachine, _ vault: Vault, _ change: inout MachineChange) throws {
        let old = machine.rawKey
        machine.rawKey = newRawKey()
        tell("\(machine.name) changes its factor \(old) to \(machine.rawKey)")
        try vault.changeFactors(of: try slot(of: old), to: try Keys.factors(machine.rawKey))
        holdVaultKey()
        change.full.remove(old)
        change.full.insert(machine.rawKey)
    }

    private func holdVaultKey() { held.vaultKeys.insert(model.states[model.versions[current].state].vaultKey) }
    private func holdEpoch() { held.epochs.insert(model.versions[current].epoch.bytes) }

    private func isInUse(_ key: Int) -> Bool { machines.contains { $0.rawKey == key } }

    private func newRawKey() -> Int {
        nextRawKey += 1
        return nextRawKey
    }

    /// The slot that a raw key opens in the file as it is now.
    private func slot(of key: Int) throws -> SlotID {
        let place = Store.Place(fileSystem: files, cacheBytes: 1 << 16)
        let vault = try Vault.open(Self.path, factors: try Keys.factors(key), options: OpenOptions(), place: place)
        guard let slot = try vault.slots().first(where: \.openedThis) else { throw Wrong("no slot of the key \(key)") }
        return slot.id
    }

    /// The newest state of a handle is a new version of the file, and its machine remembers it.
    private func record(_ vault: Vault, _ machine: KnownMachine, _ change: MachineChange) throws {
        let before = model.versions[current]
        let made = try Made(vault)
        let bytes = Array((files.bytes(of: Self.path) ?? []).prefix(Int(made.commit.end)))
        current = try add(made, bytes, from: before, value: change.value, change.full, change.scoped)
        honest = current
        machine.memory.owner = model.versions[current].state
        try follow(machine)
        try checkRemembered(machine, asOwner: true)
    }

    /// Adds a version that continues another, and its state.
    func add(
        _ made: Made, _ bytes: [UInt8], from before: MachineVersion, value: String, _ full: Set<Int>, _ scoped: Set<Int>
    ) throws -> Int {
        let parent = model.states[before.state]
        var past = before.past
        past.goOn(from: before.state)
        if let skipped { past = skipped }
        skipped = nil
        guard let last = past.ancestors.last, made.commit.generation == model.states[last].generation + 1 else {
            throw Wrong("generation \(made.commit.generation) follows \(parent.generation)")
        }
        let state = model.add(made.state(value: value, items: parent.items))
        if parent.vaultKey != made.vaultKey {
            past.handOvers.append(MachineHandOver(vaultKey: parent.vaultKey, state: last, next: made.vaultKey))
            past.handOvers = past.handOvers.suffix(Format.Limit.handOvers)
        }
        if !made.isPredecessorInFile { model.fold(&past) }
        return model.add(made.version(bytes, state: state, past, full: full, scoped: scoped))
    }

    // MARK: programs that go on

    /// A program that has the vault open looks at it again, or changes it.
    func useProgram(_ machine: KnownMachine) throws {
        guard let program = machine.program else { return }
        let version = model.versions[current]
        let (then, now) = (model.states[program.state], model.states[version.state])
        let memory = model.refusal(machine.memory, version, asOwner: program.asOwner)
        // What it cannot prove to itself, the machine vouches for: it, or its person, followed the vault there.
        let own = model.refusal(program.state, version)
        let isWrong = own == .rolledBack || own == .forked || own == .foreignOwner || !now.isOwners
        let mustRefuse = memory != nil || isWrong
        // A rotation replaces the keys that a program holds.
        let isSameKey = then.vaultKey == now.vaultKey && (program.asOwner || version.scoped.contains(reader.rawKey))
        // A file that was overwritten in its place has to be opened again.
        let isOverwritten = try program.file == files.identity(of: Self.path) && program.header != version.header
        let mayRefuse = !isSameKey || isOverwritten
        let writes = program.isWritable && numbers.chance(2)
        let before = try machine.remembered(id)
        let bytes = files.bytes(of: Self.path)
        tell(
            "a program of \(machine.name) at state \(program.state) \(writes ? "changes" : "looks at") \(describe(current))"
        )
        do {
            if writes {
                let value = "value of a program \(totals.changes)"
                try set(program.vault, value)
                guard !mustRefuse else { throw Wrong("a program of \(machine.name) changes \(describe(current))") }
                totals.changes += 1
                try record(program.vault, machine, MachineChange(version.full, version.scoped, value: value))
            } else {
                try program.vault.refresh()
                guard !mustRefuse else { throw Wrong("a program of \(machine.name) accepts \(describe(current))") }
                machine.memory[asOwner: program.asOwner] = version.state
                try follow(machine)
                try checkServed(program.vault, version.state, machine)
                try checkRemembered(machine, asOwner: program.asOwner)
            }
            totals.accepted += 1
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
            totals.refused["\(error.code)", default: 0] += 1
            machine.program = nil
        }
    }

    /// A program is at the state of the file now.
    private func follow(_ machine: KnownMachine) throws {
        let version = model.versions[current]
        machine.program?.state = version.state
        machine.program?.header = version.header
        machine.program?.file = try files.identity(of: Self.path)
    }

    // MARK: details

    func replace(with number: Int, inPlace: Bool) throws {
        try put(model.versions[number].bytes, at: Self.path, inPlace: inPlace)
        current = number
    }

    func put(_ bytes: [UInt8], at path: String, inPlace: Bool) throws {
        guard inPlace else { return files.put(path, bytes) }
        let file = try files.open(path, writable: true)
        try file.truncate(to: 0)
        try file.write(bytes, at: 0)
    }

    func countAttack(_ kind: String) { totals.attacks[kind, default: 0] += 1 }
    func countRefusal(_ error: VaultError) { totals.refused["\(error.code)", default: 0] += 1 }
    func countMerge(_ outcome: String) { totals.merges[outcome, default: 0] += 1 }
    /// What an owner has merged is the owners' newest version.
    func continueHonestly() { honest = current }
    func countAcceptance() { totals.accepted += 1 }

    func describe(_ number: Int) -> String {
        let version = model.versions[number]
        let state = model.states[version.state]
        return
            "version \(number) (state \(version.state), generation \(state.generation)\(state.isOwners ? "" : ", by a scoped slot"))"
    }
}

/// What a change makes of the slots and of the secret.
struct MachineChange {
    var full: Set<Int>
    var scoped: Set<Int>
    var value: String

    init(_ full: Set<Int>, _ scoped: Set<Int>, value: String) {
        self.full = full
        self.scoped = scoped
        self.value = value
    }
}

/// What a handle has made, or sees.
struct Made {
    let commit: Commit
    let chain: Bytes32
    let vaultKey: [UInt8]
    let epoch: Bytes32
    let headerLength: Int
    let isPredecessorInFile: Bool

    init(_ vault: Vault) throws {
        (commit, chain, vaultKey, epoch, headerLength) = try vault.withStore { (store) throws(VaultError) in
            let key = store.slot.keys.vaultKey()?.plainBytes() ?? []
            return (store.state.commit, store.state.chain, key, store.header.epoch, store.header.length)
        }
        isPredecessorInFile = commit.predecessorOffset(from: 2 * UInt64(headerLength)) != nil
    }

    func state(value: String, items: Int) -> MachineState {
        MachineState(
            generation: commit.generation, chain: chain, vaultKey: vaultKey, value: value, items: items, isOwners: true)
    }

    func version(_ bytes: [UInt8], state: Int, _ past: MachinePast, full: Set<Int>, scoped: Set<Int>) -> MachineVersion
    {
        MachineVersion(
            bytes: bytes, state: state, past: past, full: full, scoped: scoped, epoch: epoch, commit: commit,
            header: Array(bytes.prefix(headerLength)))
    }
}
