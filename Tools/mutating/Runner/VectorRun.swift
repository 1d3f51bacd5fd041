import CMutants
import Foundation
import TestSupport
import VectorMaking

/// A file and how it is read, with what the reader answers.
struct Case {
    let name: String
    let bytes: [UInt8]
    let request: ReadRequest

    var answer: String {
        do {
            let reading = try Reading("vault", request, fileSystem: MemoryFileSystem("vault", bytes))
            return ([reading.verdict.rawValue] + reading.dump).joined(separator: "\n")
        } catch { return "no answer: \(error)" }
    }
}

/// Prints a line for each mutant: number, value, `caught`, `crashed` or `left`, and the vector.
struct VectorRun {
    private struct Known {
        let vector: Case
        let answer: String
        let marks: [UInt8]
        let seconds: Double
    }

    private let table: Table
    private var known: [Known] = []

    init(_ table: Table) throws {
        self.table = table
        let folder = URL(fileURLWithPath: "Spec/vectors", isDirectory: true)
        for path in try FileManager.default.subpathsOfDirectory(atPath: folder.path).filter({ $0.hasSuffix(".vector") })
            .sorted()
        {
            let file = try VectorFile(Array(try Data(contentsOf: folder.appendingPathComponent(path))))
            let vector = Case(name: path, bytes: file.vault, request: try file.request())
            let start = DispatchTime.now().uptimeNanoseconds
            mutant_clear()
            let answer = vector.answer
            let marks = (0..<Int(MUTANT_MOST)).map { UInt8(mutant_met(Int32($0))) }
            guard answer.split(separator: "\n").first.map(String.init) == file.first("expect") else {
                throw UsageError("\(path) fails without a mutant")
            }
            let seconds = Double(DispatchTime.now().uptimeNanoseconds - start) / 1e9
            known.append(Known(vector: vector, answer: answer, marks: marks, seconds: seconds))
        }
        // What is read in no time comes first, and what takes a real cost of Argon2 only if nothing else tells.
        known.sort { $0.seconds < $1.seconds }
    }

    func run(part: Int, of parts: Int) {
        if part == 0 {
            for number in table.refusals {
                let vector = known.first { $0.marks[number] != 0 }
                print(number, 0, vector == nil ? "left" : "caught", vector?.vector.name ?? "-", separator: "\t")
            }
            FileHandle.standardError.write(
                Data("\(known.count) vectors in \(known.reduce(0) { $0 + $1.seconds }) s\n".utf8))
        }
        for (index, mutant) in table.mutants.enumerated() where index % parts == part { tell(mutant) }
    }

    private func tell(_ mutant: Mutant) {
        let candidates = known.filter { mutant.concerns(Int($0.marks[mutant.number])) }
        let told =
            candidates.isEmpty
            ? false
            : mutant.isTold {
                for one in candidates where one.vector.answer != one.answer {
                    print(mutant.number, mutant.value, "caught", one.vector.name, separator: "\t")
                    return true
                }
                return false
            }
        if told == nil { print(mutant.number, mutant.value, "crashed", "-", separator: "\t") }
        if told == false { print(mutant.number, mutant.value, "left", "\(candidates.count)", separator: "\t") }
    }
}
