internal import TestSupport
internal import VaultCrypto
internal import VaultFmt
internal import VaultLocal
internal import VaultStore

/// What a workload does to a vault.
enum Operation: CaseIterable {
    case add, set, remove, transaction, narrow, compact, changeKey, rotate, merge
}

/// A vault on a `Disk`, what it should hold after each step, and which of these states a crash may leave.
final class Workload {
    /// A state that was begun.
    struct State {
        let generation: UInt64
        let key: Int
        let model: Model?
        let digest: Digest
    }

    /// One program that has the vault open.
    final class Program {
        let process: DiskProcess
        let vault: Vault

        init(_ process: DiskProcess, _ vault: Vault) {
            self.process = process
            self.vault = vault
        }
    }

    static let path = "/v/a.vault"
    /// What the machine remembers.
    static let stateFolder = "/s"
    static let name = "a.vault"

    let disk: Disk
    let remembers: Bool
    private(set) var states: [State] = []
    /// Numbers of states that a crash may leave now; the last one is what programs see, or will if nothing goes wrong.
    private(set) var allowed: [Int] = []
    private(set) var current = 0
    /// What the last operation said that did nothing.
    private(set) var lastFailure: VaultError?
    /// The vault's file as it was when `keepCopy` was called: what another machine has of it.
    private var copy: [UInt8]?
    /// The state that the copy is of.
    private var copied = 0
    private var numbers: Numbers
    private let random: Randomness
    private var serial = 0

    /// Creates the vault; a crash may leave none of it before that is acknowledged.
    /// - `remembers`: Whether its programs are those of a machine that remembers states.
    init(_ numbers: Numbers, items: Int, remembers: Bool = false) throws {
        disk = Disk()
        self.remembers = remembers
        self.numbers = numbers
        random = .fixed(Numbers(self.numbers.next()))
        states.append(State(generation: 0, key: 0, model: nil, digest: Digest(Model())))
        begin([0, add(Model(), key: 1)])
        let program = try started { (place) in
            guard remembers else {
                return try Vault.create(
                    at: Self.path, factors: try Keys.factors(1), options: CreateOptions(), place: place)
            }
            return try Self.machine(place).create(at: Self.path, factors: try Keys.factors(1))
        }
        acknowledge(1)
        if items > 0 { _ = try run(program) { model, _ in try self.fill(model, items) } }
    }

    /// Goes on from what a disk holds.
    init(_ content: [String: [UInt8]], key: Int, numbers: Numbers, remembers: Bool = false) throws {
        disk = Disk(content)
        self.remembers = remembers
        self.numbers = numbers
        random = .fixed(Numbers(self.numbers.next()))
        let vault = try Vault.open(
            Self.path, factors: try Keys.factors(key), options: OpenOptions(), place: place(disk.startProcess()))
        _ = add(try Model(reading: vault), key: key, generation: vault.state.generation)
        begin([0])
    }

    private func place(_ process: DiskProcess) -> Store.Place {
        Store.Place(fileSystem: process, random: random, cacheBytes: 1 << 16)
    }

    // MARK: states

    private func add(_ model: Model, key: Int, generation: UInt64? = nil) -> Int {
        let next = generation ?? states[current].generation + 1
        states.append(State(generation: next, key: key, model: model, digest: Digest(model)))
        return states.count - 1
    }

    private func begin(_ numbers: [Int]) {
        allowed = numbers
        disk.mark(allowed)
    }

    private func acknowledge(_ state: Int) {
        current = state
        begin([state])
    }

    // MARK: programs

    private func started(
        _ plan: ((DiskProcess.Call, Int) -> DiskProcess.Fate?)? = nil, _ open: (Store.Place) throws -> Vault
    ) rethrows -> Program {
        let process = disk.startProcess()
        process.plan(plan)
        defer { process.plan(nil) }
        return Program(process, try open(place(process)))
    }

    /// A machine whose vaults and memory are in a place.
    static func machine(_ place: Store.Place) -> Machine {
        Machine(Places(vault: path, generatedKeyFile: "", stateFolder: stateFolder, witnessFile: nil), place: place) {
            _ in
        }
    }

    private func open(_ key: Int, writable: Bool, _ place: Store.Place) throws -> Vault {
        var options = OpenOptions()
        options.writable = writable
        guard remembers else {
            return try Vault.open(Self.path, factors: try Keys.factors(key), options: options, place: place)
        }
        return try Self.machine(place).open(Self.path, factors: try Keys.factors(key), options: options)
    }

    /// Starts a program, which sees one of the states that are possible; those begun after it never happened.
    /// - `plan`: What goes wrong while it opens; killed, it throws.
    func open(writable: Bool = true, _ plan: ((DiskProcess.Call, Int) -> DiskProcess.Fate?)? = nil) throws -> Program {
        var failure: (any Error)?
        for key in Set(allowed.map { states[$0].key }).sorted(by: >) {
            do {
                let program = try started(plan) { (place) in try open(key, writable: writable, place) }
                try see(program.vault, key)
                return program
            } catch let error as VaultError where error.code == .noSlotOpens { failure = error }
        }
        throw failure ?? VaultError(.io, "no key is possible")
    }

    private func see(_ vault: Vault, _ key: Int) throws {
        let digest = try Digest(reading: vault)
        let generation = vault.state.generation
        guard let index = allowed.firstIndex(where: { states[$0].isSeen(generation, key, digest) }) else {
            throw Wrong(
                "a program sees generation \(generation), which is none of \(allowed.map { states[$0].generation })")
        }
        current = allowed[index]
        begin(Array(allowed[...index]))
    }

    // MARK: operations

    /// What an operation makes of the contents and the key, and what does it.
    struct Change {
        var model: Model
        var key: Int
        var generations: UInt64 = 1
        let body: (Vault) throws -> Void
    }

    /// Runs an operation. True if it was acknowledged; false if it reported that it did nothing. Throws if the program
    /// was killed or does not know.
    @discardableResult
    func run(_ operation: Operation, _ program: Program, large: Bool = false) throws -> Bool {
        if operation == .merge {
            // Both sides have changed something since the copy was made.
            keepCopy()
            guard try run(.add, program, large: large) else { return false }
        }
        return try run(program) { model, _ in try self.perform(operation, model, large: large) }
    }

    /// Keeps the file as another machine that changes it next.
    func keepCopy() { (copy, copied) = (disk.content[Self.name], current) }

    /// The same for any change.
    @discardableResult
    func run(_ program: Program, _ change: (_ model: Model, _ key: Int) throws -> Change) throws -> Bool {
        guard let model = states[current].model else { throw Wrong("there is no vault") }
        let change = try change(model, states[current].key)
        let state = add(change.model, key: change.key, generation: states[current].generation + change.generations)
        begin(allowed + [state])
        do {
            try change.body(program.vault)
        } catch let error as VaultError {
            guard !program.process.isDead, error.code != .outcomeUnknown else { throw error }
            begin(allowed.filter { $0 != state })
            lastFailure = error
            return false
        }
        acknowledge(state)
        return true
    }

    func perform(_ operation: Operation, _ model: Model, large: Bool) throws -> Change {
        let key = states[current].key
        var next = model
        switch operation {
        case .add:
            let (name, value) = (newName(), newValue(large: large))
            next.items[name] = value
            return Change(
                model: next, key: key,
                body: {
                    try $0.add(try Model.key(name), secret: Secret(bytes: value.secret), attributes: value.attributes)
                })
        case .set:
            let (name, value) = (oldName(model) ?? newName(), newValue(large: large))
            next.items[name] = value
            return Change(
                model: next, key: key,
                body: {
                    try $0.set(try Model.key(name), secret: Secret(bytes: value.secret), attributes: value.changes)
                })
        case .remove:
            guard let name = oldName(model) else { return try perform(.add, model, large: large) }
            next.items[name] = nil
            return Change(model: next, key: key, body: { try $0.remove(try Model.key(name)) })
        case .transaction: return transaction(model, key, large: large)
        case .narrow:
            let (name, value) = (newName(), newValue(large: large))
            next.items[name] = value
            return Change(model: next, key: key, body: { try Self.narrow($0, name, value) })
        case .compact: return Change(model: next, key: key, body: { try $0.compact() })
        case .changeKey:
            return Change(model: next, key: key + 1, body: { try $0.changeFactors(to: try Keys.factors(key + 1)) })
        case .rotate:
            return Change(
                model: next, key: key,
                body: {
                    var rotation = try $0.rotation()
                    _ = try rotation.keep(try Keys.factors(key))
                    _ = try rotation.run()
                }
            )
        case .merge: return try merge(model, key, large: large)
        }
    }

    /// What another machine has added to its copy.
    private func merge(_ model: Model, _ key: Int, large: Bool) throws -> Change {
        guard let copy else { throw Wrong("no copy was kept") }
        var next = model
        let (name, value) = (newName(), newValue(large: large))
        next.items[name] = value
        var options = OpenOptions()
        options.writable = true
        let other = try Vault.open(
            "copy", factors: try Keys.factors(key), options: options,
            place: Store.Place(fileSystem: MemoryFileSystem("copy", copy), random: random, cacheBytes: 1 << 16))
        try other.add(try Model.key(name), secret: Secret(bytes: value.secret), attributes: value.attributes)
        let (ours, theirs) = (states[current].generation, other.state.generation)
        // A copy that has everything is taken as it is.
        let merged = copied == current ? theirs : max(ours, theirs) + 1
        return Change(model: next, key: key, generations: merged - ours, body: { try $0.merge(other) })
    }

    /// An item that is accessible always, and then when unlocked only: change and compaction are one commit.
    private static func narrow(_ vault: Vault, _ name: String, _ value: Model.Value) throws {
        try vault.transaction { (transaction) throws(VaultError) in
            let key = try Model.key(name)
            try transaction.set(
                key, secret: Secret(bytes: value.secret), attributes: value.changes, accessibility: .always)
            try transaction.update(key, accessibility: .whenUnlocked)
        }
    }

    /// Two items more, two others, one less.
    private func transaction(_ model: Model, _ key: Int, large: Bool) -> Change {
        var next = model
        var puts: [(String, Model.Value)] = []
        for index in 0..<4 {
            let name = index < 2 ? newName() : oldName(next) ?? newName()
            let value = newValue(large: large && index == 0)
            next.items[name] = value
            puts.append((name, value))
        }
        let removed = oldName(next)
        if let removed { next.items[removed] = nil }
        return Change(
            model: next, key: key,
            body: { vault in
                try vault.transaction { (transaction) throws(VaultError) in
                    for (name, value) in puts {
                        try transaction.set(
                            try Model.key(name), secret: Secret(bytes: value.secret), attributes: value.changes)
                    }
                    if let removed { _ = try transaction.remove(try Model.key(removed)) }
                }
            }
        )
    }

    func fill(_ model: Model, _ count: Int) throws -> Change {
        var next = model
        for _ in 0..<count { next.items[newName()] = newValue(large: false) }
        let items = next.items.filter { model.items[$0.key] == nil }.sorted { $0.key < $1.key }
        return Change(
            model: next, key: states[current].key,
            body: { vault in
                try vault.transaction { (transaction) throws(VaultError) in
                    for (name, value) in items {
                        try transaction.add(
                            try Model.key(name), secret: Secret(bytes: value.secret), attributes: value.attributes)
                    }
                }
            }
        )
    }

    private func newName() -> String {
        serial += 1
        return "service-\(numbers.next() % 900 + 100)-\(serial)"
    }

    private func oldName(_ model: Model) -> String? {
        guard !model.items.isEmpty else { return nil }
        return model.items.keys.sorted()[numbers.below(model.items.count)]
    }

    /// A large one is synced before its commit is written (section 7.3).
    private func newValue(large: Bool) -> Model.Value {
        Model.Value(secret: numbers.bytes(large ? 33_000 : numbers.below(40)), label: "label \(numbers.next() % 1000)")
    }
}

extension Workload.State {
    func isSeen(_ generation: UInt64, _ key: Int, _ digest: Digest) -> Bool {
        self.generation == generation && self.key == key && self.digest == digest
    }
}

extension Model.Value {
    var attributes: Attributes { ["label": label] }
    var changes: AttributeChanges { AttributeChanges(set: attributes) }
}

/// Something that must never happen.
struct Wrong: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
