internal import Glibc
internal import Synchronization
internal import TestSupport

/// One run of a part: its budget and seed, its cases and failures. Any number of threads may count at once.
final class PartRun: Sendable {
    private struct Counts {
        var cases = 0
        var failures = 0
        var notes: [String] = []
        var skipped: String?
    }

    let name: String
    /// Whether the budgets are those of the long run; else those of every day.
    let isLong: Bool
    let seed: UInt64
    private let isBrief: Bool
    private let counts = Mutex(Counts())
    private static let shown = 20

    init(_ name: String, isLong: Bool, isBrief: Bool, seed: UInt64) {
        self.name = name
        self.isLong = isLong
        self.isBrief = isBrief
        self.seed = seed
    }

    /// Random numbers of this run, the same for the same seed and `stream`.
    func numbers(_ stream: UInt64 = 0) -> Numbers { Numbers(seed &+ stream &* 0x1000_0000_01B3) }

    // MARK: counting

    func count(_ cases: Int = 1) { counts.withLock { $0.cases += cases } }

    /// Prints what is wrong, the first times.
    func fail(_ what: @autoclosure () -> String) {
        let number = counts.withLock { counts in
            counts.failures += 1
            return counts.failures
        }
        if number <= Self.shown { report("\(name): \(what())") }
        if number == Self.shown { report("\(name): further failures are only counted") }
    }

    func check(_ isTrue: Bool, _ what: @autoclosure () -> String) {
        if !isTrue { fail(what()) }
    }

    /// Something to be said on the part's line.
    func note(_ text: String) { counts.withLock { $0.notes.append(text) } }

    /// Says why a part, or some of it, cannot run here.
    func skip(_ why: String) { counts.withLock { $0.skipped = why } }

    /// Whether to stop early: something failed, and the first failure is enough.
    var isOver: Bool { isBrief && counts.withLock { $0.failures > 0 } }

    // MARK: running

    /// Calls `body` with each number below `count`, on both cores, or more at once where it mostly waits; what it
    /// throws is a failure.
    func parallel(_ count: Int, threads: Int? = nil, _ body: @escaping @Sendable (Int) throws -> Void) {
        let next = Atomic(0)
        let threads = max(1, min(count, threads ?? sysconf(Int32(_SC_NPROCESSORS_ONLN))))
        Threads.run(threads) { _ in
            while true {
                let index = next.wrappingAdd(1, ordering: .relaxed).oldValue
                guard index < count, !self.isOver else { return }
                do { try body(index) } catch { self.fail("number \(index): \(error)") }
            }
        }
    }

    /// Runs the part and prints its line; false if anything failed.
    func perform(_ body: (PartRun) throws -> Void) -> Bool {
        let start = ContinuousClock.now
        do { try body(self) } catch { fail("\(error)") }
        let tenths = (ContinuousClock.now - start) / .milliseconds(100)
        let seconds = "\(Int(tenths) / 10).\(Int(tenths) % 10)"
        let counts = counts.withLock { $0 }
        var line =
            "\(name.padded(to: 12)) \(counts.cases) cases, \(counts.failures) failures, \(seconds) s, seed \(seed)"
        for note in counts.notes { line += "; \(note)" }
        if let why = counts.skipped { line += "; skipped: \(why)" }
        report(line)
        return counts.failures == 0 && (counts.cases > 0 || counts.skipped != nil)
    }
}
