import CMutants
import Foundation
import VectorMaking

/// Reads mutated files with the reader, and each that meets a mutant once more with it. A file that tells it from the
/// reader is kept as a vector.
struct FileRun {
    private var mutants: [Mutant]
    private let out: String
    /// By mutant: files that meet it and tell nothing.
    private var met: [Int]

    init(_ mutants: [Mutant], out: String) {
        self.mutants = mutants
        self.out = out
        met = mutants.map { _ in 0 }
    }

    mutating func run(seed: UInt64, first: Int, count: Int) throws {
        let corpus = try FuzzCorpus()
        var told = Set<Int>()
        for number in first..<first + count {
            let (made, source) = try MutatedCommand.made(number, of: seed, corpus)
            let file = Case(name: source, bytes: made.bytes, request: made.request)
            mutant_clear()
            let answer = file.answer
            let concerned = mutants.indices.filter {
                !told.contains($0) && mutants[$0].concerns(Int(mutant_met(Int32(mutants[$0].number))))
            }
            for index in concerned {
                let mutant = mutants[index]
                switch mutant.isTold({ file.answer != answer }) {
                case false: met[index] += 1
                case let outcome:
                    told.insert(index)
                    print(
                        mutant.number, mutant.value, outcome == nil ? "crashed" : "caught", "\(number) \(source)",
                        separator: "\t")
                    flush()
                    try keep(made, answer, "\(mutant.number)-\(mutant.value)")
                }
            }
        }
        for index in mutants.indices where !told.contains(index) {
            print(mutants[index].number, mutants[index].value, "left", "\(count) \(met[index])", separator: "\t")
        }
    }

    private func keep(_ made: FuzzCorpus.Case, _ answer: String, _ name: String) throws {
        let lines = answer.split(separator: "\n").map(String.init)
        guard let verdict = lines.first.flatMap({ Verdict(rawValue: $0) }) else { return }
        let vector = Vector(
            name: name, folder: "", spec: "R-11.1", expect: verdict, request: made.request, comment: "found",
            file: made.bytes)
        try Data(try vector.encode(dump: Array(lines.dropFirst()))).write(
            to: URL(fileURLWithPath: "\(out)/\(name).vector"))
    }
}
