internal import TestSupport
internal import VaultFmt
internal import VaultLocal
internal import VaultStore

/// Opens what crashes left, and says what is wrong with it. One for each trace.
struct CrashChecker {
    private enum Outcome {
        case none
        case opened(generation: UInt64, key: Int, digest: Digest)
        case failed(String)
    }

    private let run: PartRun
    private let what: String
    private var numbers: Numbers
    private var known: [Int: Outcome] = [:]
    /// One in so many states is also written to, and that writing crashes as well.
    private let goesOn: Int
    /// How often such a crash is gone on from in turn.
    private let depth: Int
    private(set) var distinct = 0
    private(set) var failures = 0

    init(_ run: PartRun, _ what: String, numbers: Numbers, goesOn: Int, depth: Int = 2) {
        self.run = run
        self.what = what
        self.numbers = numbers
        self.goesOn = goesOn
        self.depth = depth
    }

    /// Looks at what every crash from event `first` on may leave.
    mutating func check(
        _ workload: Workload, start: [String: [UInt8]] = [:], from first: Int = 0, randoms: Int, share: Int
    ) {
        var states = CrashStates(start: start, numbers: Numbers(numbers.next()), randoms: randoms, share: share)
        for (index, event) in workload.disk.events.enumerated() {
            guard states.apply(event), index >= first, !run.isOver, failures < 3 else { continue }
            let allowed = states.allowed.map { workload.states[$0] }
            let isLossy = states.hasLost
            states.forEach { check($0, allowed, "event \(index)", isLossy: isLossy) }
        }
    }

    private mutating func check(
        _ files: [String: [UInt8]], _ allowed: [Workload.State], _ moment: String, isLossy: Bool
    ) {
        let keys = Set(allowed.map(\.key)).sorted(by: >)
        var hasher = Hasher()
        hasher.combine(keys)
        let memory = files.filter { $0.key.hasPrefix(Workload.stateFolder) && !$0.key.contains(".vaultfmt-") }
        hasher.combine(memory)
        let image = files[Workload.name]
        image?.withUnsafeBytes { [end = image?.contentCount ?? 0] in
            hasher.combine(bytes: UnsafeRawBufferPointer(rebasing: $0[..<end]))
        }
        hasher.combine(image?.count ?? -1)
        let hash = hasher.finalize()
        let isNew = known[hash] == nil
        let outcome = known[hash] ?? Self.open(image, keys, memory, isLossy: isLossy)
        known[hash] = outcome
        if isNew {
            distinct += 1
            run.count()
        }
        guard let found = judge(outcome, allowed, moment, files) else { return }
        if isNew, found.model != nil, depth > 0, numbers.chance(goesOn) { goOn(files, found, moment, isLossy: isLossy) }
    }

    /// - `memory`: What the machine remembers: whatever a crash left, it must not refuse the vault that it left with
    ///   it.
    /// - `isLossy`: Whether a sync has failed before and lost what it was to bring to the disk, which later ones cannot
    ///   see. A reader may have remembered that; the vault is then refused until it is accepted.
    private static func open(_ image: [UInt8]?, _ keys: [Int], _ memory: [String: [UInt8]], isLossy: Bool) -> Outcome {
        guard let image else { return .none }
        var failure = ""
        for key in keys {
            do {
                let disk = Disk(memory.merging([Workload.name: image]) { $1 })
                let place = Store.Place(fileSystem: disk.startProcess(), cacheBytes: 1 << 16)
                let vault = try open(key, place, isLossy: isLossy)
                return .opened(generation: vault.state.generation, key: key, digest: try Digest(reading: vault))
            } catch let error as VaultError where error.code == .noSlotOpens { failure = error.description } catch {
                return .failed("\(error)")
            }
        }
        return .failed(failure)
    }

    private static func open(_ key: Int, _ place: Store.Place, isLossy: Bool) throws -> Vault {
        let machine = Workload.machine(place)
        let factors = try Keys.factors(key)
        do throws(VaultError) { return try machine.open(Workload.path, factors: factors) } catch {
            guard isLossy, error.code == .rolledBack else { throw error }
            let vault = try Vault.open(Workload.path, factors: factors, options: OpenOptions(), place: place)
            try machine.accept(vault)
            return vault
        }
    }

    /// The state that was left, if it is one of those allowed.
    private mutating func judge(
        _ outcome: Outcome, _ allowed: [Workload.State], _ moment: String, _ files: [String: [UInt8]]
    ) -> Workload.State? {
        let problem: String
        switch outcome {
        case .none:
            if let none = allowed.first(where: { $0.model == nil }) { return none }
            problem = "no vault is left"
        case .opened(let generation, let key, let digest):
            if let same = allowed.first(where: { $0.model != nil && $0.isSeen(generation, key, digest) }) {
                return same
            }
            problem =
                "generation \(generation) opens, with \(allowed.contains { $0.digest == digest } ? "right" : "wrong") contents"
        case .failed(let error): problem = error
        }
        wrong("\(moment): allowed \(allowed.map(\.generation)): \(problem)")
        return nil
    }

    private mutating func wrong(_ problem: String) {
        failures += 1
        run.fail("\(what): \(problem)")
    }

    // MARK: going on

    /// What an incomplete generation had is kept.
    private func checkAside(_ workload: Workload, _ tail: TailState) throws {
        let name: String
        switch tail {
        case .incomplete(let generation): name = "\(Workload.name).incomplete-\(generation)"
        case .damaged: throw Wrong("a crash left a damaged tail")
        default: return
        }
        let aside = workload.disk.content.filter { $0.key.hasPrefix(name) }
        guard aside.contains(where: { !$0.value.isEmpty }) else {
            throw Wrong("what follows the newest state was not kept as \(name)")
        }
    }

    /// A writer goes on from what was left; its own crash is looked at too; then nothing is wrong with the vault, and
    /// nothing lies about.
    private mutating func goOn(_ files: [String: [UInt8]], _ found: Workload.State, _ moment: String, isLossy: Bool) {
        do {
            // A memory that no longer holds (see above) is left out.
            let kept = isLossy ? files.filter { !$0.key.hasPrefix(Workload.stateFolder) } : files
            let again = try Workload(kept, key: found.key, numbers: Numbers(numbers.next()), remembers: true)
            var program = try again.open()
            let tail = program.vault.tail
            guard try again.run(.set, program) else {
                throw Wrong("a writer cannot go on: \(again.lastFailure?.description ?? "?")")
            }
            try checkAside(again, tail)
            let inner = "\(what), \(moment), then a change"
            var checker = CrashChecker(run, inner, numbers: Numbers(numbers.next()), goesOn: goesOn, depth: depth - 1)
            checker.check(again, start: kept, randoms: 2, share: 4)
            distinct += checker.distinct
            failures += checker.failures
            program = try again.open()
            guard try program.vault.verify().isSound else {
                throw Wrong("not sound after a change: \(try program.vault.verify().problems)")
            }
            guard try again.run(.compact, program) else { throw Wrong("a compaction cannot go on") }
            let left = again.disk.names.keys.filter { name in
                let isAside = name.hasPrefix("\(Workload.name).incomplete-")
                let isRemembered = name.hasPrefix(Workload.stateFolder) && !name.contains(".vaultfmt-")
                return name != Workload.name && !isAside && !isRemembered
            }
            guard left.isEmpty else { throw Wrong("left behind: \(left.sorted())") }
        } catch { wrong("\(moment), then a change: \(error)") }
    }
}
