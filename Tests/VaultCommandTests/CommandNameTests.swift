import ArgumentParser
import Testing

@testable import VaultCommand

@Suite("Names of commands")
struct CommandNameTests {
    /// Every command below one, with itself, as its path and its type.
    static func all(
        below command: any ParsableCommand.Type = Vaultfmt.self, path: [String] = []
    ) -> [(path: [String], command: any ParsableCommand.Type)] {
        [(path, command)]
            + command.configuration.subcommands.flatMap { all(below: $0, path: path + [$0._commandName]) }
    }

    @Test("each is stated: deriving one from the type's name costs a million instructions at every start")
    func stated() {
        let all = Self.all()
        #expect(all.count > 40)
        for (path, command) in all { #expect(command.configuration.commandName != nil, "\(path) \(command)") }
    }

    @Test("flags are known without a description of the command, which takes longer than parsing its arguments")
    func flags() throws {
        var flags: Set<String> = ["--help", "-h"]
        var options: Set<String> = []
        for (_, command) in Self.all() where command.configuration.subcommands.isEmpty {
            for entry in try CommandDescription(of: command).arguments ?? [] {
                let names = (entry.names ?? []).map(\.text)
                if entry.kind == "flag" { flags.formUnion(names) } else { options.formUnion(names) }
            }
        }
        #expect(ArgumentSpelling.flags == flags.subtracting(options))
    }

    @Test("a command alone and the whole tree read a command line in the same way")
    func parsing() throws {
        for line in [
            ["get", "a", "b"], ["ls", "--json"], ["slot", "rm", "x"],
            ["run", "--env", "A=vaultfmt:b", "--", "get", "-h"],
            ["askpass", "--looks", "-like options"],
        ] {
            let alone = try CommandParsing.command(in: line)
            #expect(type(of: alone) == type(of: try Vaultfmt.parseAsRoot(line)), "\(line)")
        }
        for line in [["get", "--nonsense"], ["get", "--help"], ["slot"], ["get", "--version"]] {
            #expect(
                Self.message(line) { try CommandParsing.command(in: $0) }
                    == Self.message(line) { try Vaultfmt.parseAsRoot($0) })
        }
    }

    private static func message(_ line: [String], _ parse: ([String]) throws -> any ParsableCommand) -> String {
        do {
            var command = try parse(line)
            try command.run()
            return "no error"
        } catch {
            return Vaultfmt.fullMessage(for: error)
        }
    }
}
