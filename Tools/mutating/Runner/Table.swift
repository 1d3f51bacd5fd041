import CMutants
import Foundation

/// One change of one check.
struct Mutant {
    let number: Int
    let kind: String
    /// Of the operand: 0 false, 1 true, 2 what it is not; 0 for a call that is left out.
    let value: Int

    /// Whether a reading that met these marks could have gone another way with the mutant. A constant changes nothing
    /// where it is the value.
    func concerns(_ marks: Int) -> Bool {
        switch (kind, value) {
        case ("needed", 0), ("refused", 0): marks & 2 != 0
        case ("needed", 1), ("refused", 1): marks & 1 != 0
        case ("check", _): marks >= 4
        default: marks != 0
        }
    }

    /// What `body` answers with the mutant, in a process of its own: nil if it crashes or does not end.
    func isTold(_ body: () -> Bool) -> Bool? {
        flush()
        let child = mutant_fork()
        if child == 0 {
            mutant_choose(Int32(number), Int32(value))
            let told = body()
            flush()
            _exit(told ? 1 : 0)
        }
        var status: Int32 = 0
        while waitpid(child, &status, 0) < 0 && errno == EINTR {}
        guard child > 0, status & 0x7F == 0, (status >> 8) & 0xFF <= 1 else { return nil }
        return status >> 8 != 0
    }
}

/// What Tools/mutating/Sources/mutate wrote.
struct Table {
    private(set) var mutants: [Mutant] = []
    /// Refusals that are not mutated.
    private(set) var refusals: [Int] = []

    init(_ path: String) throws {
        for line in try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n") {
            let words = line.split(separator: "\t")
            guard let number = Int(words[0]), number < MUTANT_MOST else { throw UsageError("too many checks") }
            switch words[1] {
            case "reached": refusals.append(number)
            case "call", "check": mutants.append(Mutant(number: number, kind: String(words[1]), value: 0))
            default: mutants += (0...2).map { Mutant(number: number, kind: String(words[1]), value: $0) }
            }
        }
    }
}
