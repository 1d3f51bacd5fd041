internal import Synchronization

/// Every state that a crash may leave opens to exactly a committed state that holds every acknowledged commit.
extension Part {
    static let crash = Part(
        name: "crash", about: "states that a crash may leave: dropped, torn and garbled writes, missing names"
    ) { run in
        let budget = run.isLong ? CrashBudget.long : .short
        let distinct = Atomic(0)
        let sequences = CrashTraces.sequences(upTo: 3, goesOnAfterMerge: run.isLong)
        // With the handle kept and reopened; every day, with either in turn.
        let times = run.isLong ? 2 : 1
        let count = sequences.count * times + budget.traces
        run.parallel(count + 1) { index in
            var numbers = run.numbers(UInt64(index))
            let found =
                switch index {
                case 0: try NamedCrash.check(run)
                case 1...budget.traces: try CrashTraces.random(run, index, &numbers, budget)
                default:
                    try CrashTraces.sequence(
                        run, sequences[(index - budget.traces - 1) / times],
                        reopening: (index - budget.traces) % 2 == 0, &numbers, budget)
                }
            distinct.wrappingAdd(found, ordering: .relaxed)
        }
        run.note(
            "\(sequences.count) sequences \(times == 2 ? "twice" : "once"), \(budget.traces) traces of \(budget.steps)")
    }
}

/// How much is looked at.
struct CrashBudget: Sendable {
    let traces: Int
    let steps: Int
    let randoms: Int
    let share: Int
    let goesOn: Int

    static let long = CrashBudget(traces: 200, steps: 50, randoms: 150, share: 1, goesOn: 50)
    static let short = CrashBudget(traces: 30, steps: 25, randoms: 1, share: 40, goesOn: 500)
}
