import Glibc

/// Makes the conformance vectors, and reads vaults for the runner. Its one public entry is this command: nothing of it
/// is in a product.
@main
enum Main {
    static let usage = """
        usage: vectors check [OPTION VALUE]… FILE     reads a vault (Spec/vectors/README.md); without arguments, requests from standard input
               vectors merge [OPTION VALUE]… OURS THEIRS RESULT
                                                      merges two copies of a vault, or without arguments what standard input asks for
               vectors generate DIR                   writes all vectors, the same bytes each time
               vectors compare DIR                    says which of them are otherwise there
               vectors verify DIR                     reads and writes all of them, and prints the names of those that fail
               vectors random SEED FIRST COUNT DIR    writes random vaults as vectors, from number FIRST on; the same of a seed
               vectors corpus DIR                     writes the fuzzers' corpus and what the vectors are once sealed again, as vectors
               vectors mutated SEED FIRST COUNT DIR   writes mutations of corpus and vectors, likewise; both in the repository's folder
               vectors resealed SEED FIRST COUNT DIR  writes random vaults with plaintext altered and sealed again, likewise
        """

    static func main() {
        do {
            try run(Array(CommandLine.arguments.dropFirst()))
        } catch {
            complain("vectors: \(error)")
            exit(1)
        }
    }

    private static func run(_ arguments: [String]) throws {
        switch (arguments.first, arguments.count) {
        case ("check", _): try CheckCommand.run(Array(arguments.dropFirst()))
        case ("merge", _): try MergeCommand.run(Array(arguments.dropFirst()))
        case ("random", _): try RandomCommand.run(Array(arguments.dropFirst()))
        case ("corpus", 2): try MutatedCommand.writeCorpus(arguments[1])
        case ("mutated", _): try MutatedCommand.writeMutations(Array(arguments.dropFirst()))
        case ("resealed", _): try MutatedCommand.writeResealed(Array(arguments.dropFirst()))
        case ("generate", 2): try GenerateCommand.run(arguments[1])
        case ("compare", 2): if try !GenerateCommand.compare(arguments[1]) { exit(1) }
        case ("verify", 2): if try !VerifyCommand.run(arguments[1]) { exit(1) }
        default:
            complain(usage)
            exit(64)
        }
    }
}

private func complain(_ text: String) {
    let bytes = Array((text + "\n").utf8)
    _ = bytes.withUnsafeBytes { write(STDERR_FILENO, $0.baseAddress, $0.count) }
}

/// Standard output is a pipe to the runner, which waits for each answer.
func flush() { fflush(nil) }
