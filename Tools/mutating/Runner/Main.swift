import CMutants
import Foundation
import Glibc

/// Runs vectors or mutated files against the mutants of a build, for Tools/mutants:
///
///     reader-mutants run TABLE PART PARTS               each mutant on the vectors that meet it, until one tells it from the reader
///     reader-mutants fuzz TABLE SEED FIRST COUNT OUT NUMBER:VALUE…   these mutants on mutated files
@main
enum Main {
    static func main() throws {
        let words = CommandLine.arguments
        let table = try Table(words[2])
        switch words[1] {
        case "run": try VectorRun(table).run(part: Int(words[3]) ?? 0, of: Int(words[4]) ?? 1)
        case "fuzz":
            let chosen = words[7...].map { $0.split(separator: ":") }
            let mutants = table.mutants.filter { one in
                chosen.contains { Int($0[0]) == one.number && Int($0[1]) == one.value }
            }
            var run = FileRun(mutants, out: words[6])
            try run.run(seed: UInt64(words[3]) ?? 0, first: Int(words[4]) ?? 0, count: Int(words[5]) ?? 0)
        default: throw UsageError("run or fuzz")
        }
        flush()
    }
}

/// Also before a fork, so that nothing is written twice.
func flush() { fflush(nil) }
