internal import TestSupport
internal import VaultFmt
internal import VaultStore

/// Something fails at each call of an operation in turn: the operation reports it, the vault still opens, nothing
/// acknowledged is lost, and nothing is left that a next run does not clean up.
extension Part {
    static let faults = Part(
        name: "faults", about: "a failure at every system call of commit, compaction, rekeying, import"
    ) { run in
        let cases = FaultCase.all
        let kinds = FaultKind.allCases
        run.parallel(cases.count * kinds.count) { index in
            try cases[index / kinds.count].check(run, kinds[index % kinds.count], run.numbers(UInt64(index)))
        }
        run.note("\(cases.count) operations, \(kinds.count) kinds of failure through the seam")
        try TracedFaults.run(run)
    }
}

/// How a call fails.
enum FaultKind: CaseIterable {
    case error, errorFromThenOn, full, fullFromThenOn, halfWritten, lostSync, killed, killedInWrite

    private static let io = VaultError(.io, "planned")
    private static let noSpace = VaultError(.noSpace, "planned")
    private static let unknown = VaultError(.outcomeUnknown, "planned")

    /// What becomes of call `number`, if `at` is the one that fails.
    func fate(_ call: DiskProcess.Call, _ number: Int, at: Int) -> DiskProcess.Fate? {
        let isIt = number == at
        let isLater = number >= at
        let isSync = call == .sync || call == .syncDirectory
        switch self {
        case .error: return isIt ? .fails(isSync ? Self.unknown : Self.io) : nil
        case .errorFromThenOn: return isLater ? .fails(isSync ? Self.unknown : Self.io) : nil
        case .full: return isIt && Self.needsSpace(call) ? .fails(Self.noSpace) : nil
        case .fullFromThenOn: return isLater && Self.needsSpace(call) ? .fails(Self.noSpace, part: isIt ? 0.5 : 0) : nil
        case .halfWritten: return isIt && call == .write ? .fails(Self.io, part: 0.5) : nil
        case .lostSync: return isIt && call == .sync ? .loses : nil
        case .killed: return isIt ? .kills() : nil
        case .killedInWrite: return isIt && call == .write ? .kills(part: 0.6) : nil
        }
    }

    private static func needsSpace(_ call: DiskProcess.Call) -> Bool {
        call == .write || call == .create || call == .rename
    }

    /// Whether later calls fail too.
    var lasts: Bool { self == .errorFromThenOn || self == .fullFromThenOn }

    static let reported: Set<VaultError.Code> = [.io, .noSpace, .outcomeUnknown]
}

/// An operation whose calls fail.
struct FaultCase: Sendable {
    let name: String
    /// What is done before, without a failure.
    var prepare: @Sendable (Vault) throws -> UInt64 = { _ in 0 }
    /// Where a copy of the vault is kept for a merge: before or after the program's own changes.
    var copy = Copy.never

    enum Copy { case never, beforeChanges, afterChanges }
    let change: @Sendable (Workload, Model, Int) throws -> Workload.Change

    static let all: [FaultCase] = [
        FaultCase(name: "set") { workload, model, _ in try workload.perform(.set, model, large: false) },
        FaultCase(name: "a large set") { workload, model, _ in try workload.perform(.set, model, large: true) },
        FaultCase(name: "remove") { workload, model, _ in try workload.perform(.remove, model, large: false) },
        FaultCase(name: "transaction") { workload, model, _ in try workload.perform(.transaction, model, large: false)
        },
        FaultCase(name: "import of 300") { workload, model, _ in try workload.fill(model, 300) },
        FaultCase(name: "compact") { workload, model, _ in try workload.perform(.compact, model, large: false) },
        FaultCase(name: "change of key") { workload, model, _ in try workload.perform(.changeKey, model, large: false)
        },
        FaultCase(name: "stricter accessibility") { workload, model, _ in
            try workload.perform(.narrow, model, large: false)
        },
        FaultCase(name: "rotate") { workload, model, _ in try workload.perform(.rotate, model, large: false) },
        FaultCase(name: "merge", copy: .beforeChanges) { workload, model, _ in
            try workload.perform(.merge, model, large: false)
        },
        FaultCase(name: "a large merge", copy: .beforeChanges) { workload, model, _ in
            try workload.perform(.merge, model, large: true)
        },
        FaultCase(name: "merge of a copy that is ahead", copy: .afterChanges) { workload, model, _ in
            try workload.perform(.merge, model, large: false)
        },
        FaultCase(name: "adding a slot") { _, model, key in
            Workload.Change(model: model, key: key) { _ = try $0.addSlot(try Keys.factors(9999)) }
        },
        FaultCase(name: "granting a group") { _, model, key in
            Workload.Change(model: model, key: key) { vault in
                _ = try vault.addSlot(try Keys.factors(9999), grantedGroups: ["", "new"], createsGroups: true)
            }
        },
        FaultCase(
            name: "removing a scoped slot",
            prepare: { vault in
                _ = try vault.addSlot(try Keys.factors(9999), grantedGroups: ["g"], createsGroups: true)
                return 1
            }
        ) { _, model, key in
            Workload.Change(model: model, key: key) { vault in
                for slot in try vault.slots() where !slot.isFull { try vault.removeSlot(slot.id) }
            }
        },
    ]

    /// Fails each call in turn, until the operation makes fewer calls than that.
    func check(_ run: PartRun, _ kind: FaultKind, _ numbers: Numbers) throws {
        for at in 1...10_000 {
            guard !run.isOver else { return }
            let what = "\(name), \(kind) at call \(at)"
            do {
                guard try check(run, kind, at, numbers) else { return }
            } catch { run.fail("\(what): \(error)") }
        }
    }

    /// False if the call that was to fail was not made.
    private func check(_ run: PartRun, _ kind: FaultKind, _ at: Int, _ numbers: Numbers) throws -> Bool {
        let workload = try Workload(numbers, items: 12)
        let program = try workload.open()
        try workload.run(program) { model, key in
            var generations: UInt64 = 0
            let prepared = Workload.Change(model: model, key: key, generations: 0) { generations = try prepare($0) }
            try prepared.body(program.vault)
            return Workload.Change(model: model, key: key, generations: generations) { _ in }
        }
        // A second commit of the same program writes over a reserve.
        if copy == .beforeChanges { workload.keepCopy() }
        try workload.run(.set, program)
        try workload.run(.set, program)
        if copy == .afterChanges { workload.keepCopy() }
        let start = workload.disk.events.count
        program.process.plan { call, number in kind.fate(call, number, at: at) }
        let outcome = try attempt(workload, program)
        let wasReached = program.process.calls >= at
        program.process.plan(nil)
        if case .unknown = outcome { try checkPoisoned(workload, program) }
        run.count()
        if case .failed = outcome {
            // What failed cleans up after itself, if it can.
            if !kind.lasts { try checkNames(workload) }
            // The same handle goes on once the disk is well again.
            guard try workload.run(.add, program) else { throw Wrong("the handle cannot go on") }
        }
        var checker = CrashChecker(run, "\(name), \(kind) at call \(at)", numbers: numbers, goesOn: 1, depth: 0)
        if run.isLong || at % 8 == 0 { checker.check(workload, from: start, randoms: 1, share: 10) }
        try checkAfter(workload)
        return wasReached
    }

    private enum Outcome { case done, failed, unknown, killed }

    private func attempt(_ workload: Workload, _ program: Workload.Program) throws -> Outcome {
        do {
            let isDone = try workload.run(program) { model, key in try change(workload, model, key) }
            if isDone { return .done }
        } catch let error as VaultError {
            if program.process.isDead { return .killed }
            guard error.code == .outcomeUnknown else { throw Wrong("reported as \(error.code): \(error)") }
            return .unknown
        }
        guard let error = workload.lastFailure, FaultKind.reported.contains(error.code) else {
            throw Wrong("reported as something else: \(workload.lastFailure.map(\.description) ?? "nothing")")
        }
        return .failed
    }

    ///
    private func checkPoisoned(_ workload: Workload, _ program: Workload.Program) throws {
        let before = workload.disk.events.count
        do throws(VaultError) {
            try program.vault.set(try Model.key("x"), secret: .init(text: "x"))
            throw VaultError(.invalidArgument, "a handle whose sync failed writes on")
        } catch {
            guard error.code == .outcomeUnknown else { throw Wrong("\(error)") }
        }
        guard workload.disk.events.count == before else { throw Wrong("a handle whose sync failed has written") }
    }

    /// Another program finds a state that may be, changes it, and leaves nothing behind.
    private func checkAfter(_ workload: Workload) throws {
        let next = try workload.open()
        let found = try next.vault.verify()
        guard next.vault.tail != .clean || found.isSound else { throw Wrong("not sound: \(found.problems)") }
        guard try workload.run(.set, next), try workload.run(.compact, next) else {
            throw Wrong("the next program cannot go on")
        }
        let report = try workload.open().vault.verify()
        guard report.isSound else { throw Wrong("not sound: \(report.problems)") }
        try checkNames(workload)
    }

    private func checkNames(_ workload: Workload) throws {
        let left = workload.disk.names.keys.filter {
            $0 != Workload.name && !$0.hasPrefix("\(Workload.name).incomplete-")
        }
        guard left.isEmpty else { throw Wrong("left behind: \(left.sorted())") }
    }
}
