internal import Glibc
internal import TestSupport
internal import VaultFmt
internal import VaultStore

/// Whatever follows a vault in its file, or was left of an import, an answer takes a second of processor time at most.
extension Part {
    static let bounds = Part(
        name: "bounds",
        about:
            "heads, holes and junk of 10 GB after a vault, and killed imports: answered within a second of processor time"
    ) { run in
        var numbers = run.numbers()
        let folder = try Folder()
        var longest = 0.0
        for tail in AppendedTail.all {
            run.count()
            do { longest = max(longest, try tail.check(folder, &numbers)) } catch { run.fail("\(tail.name): \(error)") }
        }
        run.note("appended tails: at most \(milliseconds(longest)) ms")
        longest = 0
        let items = run.isLong ? 1_000_000 : 20_000
        let killed = try KilledImport(folder, items: items)
        for number in 0..<(run.isLong ? 20 : 6) where !run.isOver {
            run.count()
            do { longest = max(longest, try killed.check(&numbers)) } catch {
                run.fail("kill \(number) of an import: \(error)")
            }
        }
        run.note(
            "after imports of \(items) items that were killed: at most \(milliseconds(longest)) ms, \(killed.outcome)")
    }

    private static func milliseconds(_ seconds: Double) -> Int { Int((seconds * 1000).rounded()) }
}

/// Processor time of this process, in seconds: other work on the machine does not count.
enum ProcessorTime {
    static func of(_ body: () throws -> Void) rethrows -> Double {
        let start = now
        try body()
        return now - start
    }

    private static var now: Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
