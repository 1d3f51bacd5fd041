internal import ArgumentParser
internal import Glibc

/// `harness [PART…] [--long] [--seed S]`; or, started by itself, one of the roles that a part needs as a process of its
/// own.
@main
enum Main {
    static func main() {
        let arguments = CommandLine.arguments
        if arguments.count > 2, arguments[1] == "--role" {
            guard let role = Role.all[arguments[2]] else { exit(2) }
            exit(role(Array(arguments[3...])))
        }
        Harness.main()
    }
}

struct Harness: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "harness",
        abstract: "Shows that no crash, fault, kill or change of a byte loses or alters what was acknowledged.")

    @Argument(help: "Parts to run; all, if none is named.")
    var parts: [String] = []

    @Flag(help: "Run with the budgets of the long run.")
    var long = false

    @Option(help: "The seed of all random choices.")
    var seed: UInt64 = 1

    @Flag(help: "Stop a part at its first failure.")
    var brief = false

    @Flag(help: "Say which parts there are.")
    var list = false

    func validate() throws {
        for name in parts where !Part.all.contains(where: { $0.name == name }) {
            throw ValidationError(
                "there is no part '\(name)'; there are: \(Part.all.map(\.name).joined(separator: ", "))")
        }
    }

    func run() throws {
        if list {
            for part in Part.all { report("\(part.name.padded(to: 12))  \(part.about)") }
            return
        }
        var hasFailed = false
        for part in Part.all where parts.isEmpty || parts.contains(part.name) {
            let run = PartRun(part.name, isLong: long, isBrief: brief, seed: seed)
            let isSound = run.perform(part.run)
            hasFailed = hasFailed || !isSound
        }
        if hasFailed { throw ExitCode.failure }
    }
}

extension String {
    func padded(to width: Int) -> String { self + String(repeating: " ", count: max(0, width - count)) }
}
