internal import ArgumentParser
internal import Foundation
internal import Fuzzing
internal import Glibc

/// Runs the fuzz targets without libFuzzer: random operations against a model, each seed a sequence of its own, where a
/// failing one is made small and printed; and the conformance vectors as inputs.
@main
struct RoundTrip: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "round-trip",
        abstract: "Does random operations to vaults in memory, and compares them with a plain model.")

    @Option(help: "The first sequence's seed; each further one has the next number.")
    var seed: UInt64 = 1

    @Option(help: "How many sequences.")
    var count = 100

    @Option(help: "How many changes each sequence makes.")
    var changes = 300

    @Option(help: "Then also read the conformance vectors in this folder, as the targets open and sealed do.")
    var vectors: String?

    @Option(
        help: "Instead of all that, write the seeds of the corpora into folders of this one, named after the targets.")
    var corpus: String?

    func run() throws {
        if let corpus { return try writeSeeds(corpus) }
        print("round-trip --seed \(seed) --count \(count) --changes \(changes)")
        for number in 0..<UInt64(count) {
            guard let failure = Generated.failure(seed: seed &+ number, changes: changes) else { continue }
            print("seed \(seed &+ number): \(failure)")
            throw ExitCode.failure
        }
        print("\(count) sequences of \(changes) changes: no difference")
        if let vectors { try replay(vectors) }
    }

    private func replay(_ folder: String) throws {
        let root = URL(fileURLWithPath: folder)
        let names = try FileManager.default.subpathsOfDirectory(atPath: folder).filter { $0.hasSuffix(".vector") }
        var (inputs, failures) = (0, 0)
        for name in names.sorted() {
            let vector = Array(try Data(contentsOf: root.appendingPathComponent(name)))
            for target in [FuzzTarget.open, .sealed] {
                guard let input = target.seed(from: vector) else { continue }
                inputs += 1
                do { try input.withUnsafeBytes(target.check) } catch {
                    failures += 1
                    print("FAILED \(target.rawValue) \(name): \(error)")
                }
            }
        }
        print("\(names.count) vectors as \(inputs) inputs: \(failures) failures")
        guard inputs > 0, failures == 0 else { throw ExitCode.failure }
    }

    private func writeSeeds(_ folder: String) throws {
        for target in FuzzTarget.allCases {
            for seed in try Seeds.all(target) {
                let path = "\(folder)/\(target.rawValue)/\(seed.name)"
                guard let file = fopen(path, "w") else { throw ValidationError("cannot write \(path)") }
                fwrite(seed.bytes, 1, seed.bytes.count, file)
                fclose(file)
            }
        }
    }
}
