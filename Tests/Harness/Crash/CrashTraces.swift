internal import TestSupport
internal import VaultFmt
internal import VaultStore

/// The workloads whose crashes are looked at. Each function returns how many different states it found.
enum CrashTraces {
    /// - `goesOnAfterMerge`: Whether operations follow a merge, which leaves several times the states of any other.
    static func sequences(upTo length: Int, goesOnAfterMerge: Bool) -> [[Operation]] {
        var all: [[Operation]] = []
        var last: [[Operation]] = [[]]
        for _ in 0..<length {
            last = last.filter { goesOnAfterMerge || $0.last != .merge }
                .flatMap { start in Operation.allCases.map { start + [$0] } }
            all += last
        }
        return all
    }

    /// One sequence, by one program or by a new one for each operation. Crashes before the last one are those of
    /// shorter sequences.
    static func sequence(
        _ run: PartRun, _ operations: [Operation], reopening: Bool, _ numbers: inout Numbers, _ budget: CrashBudget
    ) throws -> Int {
        let workload = try Workload(Numbers(numbers.next()), items: 20, remembers: reopening)
        let what = "\(operations)\(reopening ? ", each by a program of its own" : "")"
        var last = operations.count == 1 ? 0 : workload.disk.events.count
        do {
            var program = try workload.open()
            for (index, operation) in operations.enumerated() {
                if index > 0 { last = workload.disk.events.count }
                if reopening, index > 0 {
                    _ = try workload.open(writable: false)
                    program = try workload.open()
                }
                guard try workload.run(operation, program) else { throw Wrong("\(operation) failed") }
            }
        } catch { run.fail("\(what): \(error)") }
        var checker = CrashChecker(run, what, numbers: Numbers(numbers.next()), goesOn: budget.goesOn)
        checker.check(workload, from: last, randoms: budget.randoms, share: budget.share)
        return checker.distinct
    }

    /// Two programs at once; kills, failing writes and failing syncs among the operations.
    static func random(_ run: PartRun, _ index: Int, _ numbers: inout Numbers, _ budget: CrashBudget) throws -> Int {
        let workload = try Workload(Numbers(numbers.next()), items: numbers.below(30), remembers: true)
        let what = "trace \(index)"
        do {
            var programs = [try workload.open(), try workload.open()]
            for _ in 0..<budget.steps {
                let which = numbers.below(2)
                if numbers.chance(8) { programs[which] = try workload.open() }
                let program = programs[which]
                program.process.plan(trouble(&numbers))
                let operation = Operation.allCases[numbers.below(Operation.allCases.count)]
                do {
                    _ = try workload.run(operation, program, large: numbers.chance(25))
                } catch let error as VaultError {
                    // Killed, or poisoned: another program takes its place.
                    guard program.process.isDead || error.code == .outcomeUnknown else { throw error }
                    program.process.kill()
                    try read(workload, &numbers)
                    programs = [try workload.open(), try workload.open()]
                }
                program.process.plan(nil)
                if numbers.chance(4) { try read(workload, &numbers) }
            }
            try Nonces.check(workload.disk.content[Workload.name] ?? [])
        } catch { run.fail("\(what): \(error)") }
        var checker = CrashChecker(run, what, numbers: Numbers(numbers.next()), goesOn: budget.goesOn)
        checker.check(workload, randoms: budget.randoms, share: budget.share)
        return checker.distinct
    }

    /// A reader, which may be killed while it opens the vault and remembers what it saw.
    private static func read(_ workload: Workload, _ numbers: inout Numbers) throws {
        let at = numbers.chance(2) ? 1 + numbers.below(40) : Int.max
        do { _ = try workload.open(writable: false) { _, number in number >= at ? .kills(part: 0.5) : nil } } catch let
            error as VaultError
        {
            guard at < .max else { throw error }
        }
    }

    private typealias Plan = (DiskProcess.Call, Int) -> DiskProcess.Fate?

    /// What goes wrong in one operation, if anything.
    private static func trouble(_ numbers: inout Numbers) -> Plan? {
        let at = 1 + numbers.below(40)
        let part = [0, 0.3, 0.7, 1][numbers.below(4)]
        let full = VaultError(.noSpace, "planned")
        let unknown = VaultError(.outcomeUnknown, "planned")
        let plans: [Plan] = [
            { _, number in number >= at ? .kills(part: part) : nil },
            { _, number in number >= at ? .kills(part: part) : nil },
            { call, _ in call == .write ? .kills(part: part) : nil },
            { call, number in call == .write && number >= at ? .fails(full, part: min(part, 0.95)) : nil },
            { call, _ in call == .sync ? .loses : nil },
            { call, _ in call == .syncDirectory ? .fails(unknown) : nil },
        ]
        let choice = numbers.below(12)
        return choice < plans.count ? plans[choice] : nil
    }
}
