internal import Glibc
internal import TestSupport
internal import VaultFmt

/// Processes that change one vault at the same time: what they did has one order, which each of them saw.
extension Part {
    static let concurrency = Part(
        name: "concurrency", about: "8 writing and 2 reading processes on one vault: one order of all they did"
    ) {
        run in
        let folder = try Folder()
        let vault = ContestedVault(path: folder.file("a.vault"))
        let first = try vault.create()
        let operations = run.isLong ? 2500 : 250
        let writers = try (0..<8).map { number in
            try Child.role(
                ContestedVault.writer,
                [vault.path, folder.file("writer-\(number)"), "\(run.seed &+ UInt64(number))", "\(operations)"])
        }
        let readers = try (0..<2).map { number in
            try Child.role(ContestedVault.reader, [vault.path, folder.file("reader-\(number)"), folder.file("stop")])
        }
        for (number, process) in writers.enumerated() { run.check(process.wait() == 0, "writer \(number) failed") }
        close(open(folder.file("stop"), O_CREAT | O_WRONLY | O_CLOEXEC, 0o600))
        for (number, process) in readers.enumerated() { run.check(process.wait() == 0, "reader \(number) failed") }

        var history = SharedHistory(first: first)
        for number in 0..<8 {
            let all = try SharedChange.read(folder.file("writer-\(number)"))
            run.check(all.count == operations, "writer \(number) did \(all.count) operations")
            history.changes += all
        }
        run.count(history.changes.count)
        for wrong in history.order() { run.fail(wrong) }
        var seen = 0
        for number in 0..<2 {
            for line in try LogFile.lines(folder.file("reader-\(number)")) {
                seen += 1
                if let wrong = history.wrong(reading: line) { run.fail(wrong) }
            }
        }
        run.check(seen > 0, "no reader read anything")
        run.count(seen)
        for wrong in try vault.wrong(at: history) { run.fail(wrong) }
        run.check(folder.names.allSatisfy { !$0.hasPrefix(".") }, "a temporary file was left: \(folder.names)")
        run.note("\(history.changes.count) changes, \(seen) readings")
    }
}
