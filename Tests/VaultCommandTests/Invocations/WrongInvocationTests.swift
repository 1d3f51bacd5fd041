import ArgumentParser
import Foundation
import Testing

@testable import VaultCommand

/// Three hundred wrong invocations of the real binary: each ends with one line and the right exit code, shows no value
/// that may be a secret, and names a next step that works.
@Suite("Wrong invocations")
struct WrongInvocationTests {
    /// No number, no choice, no bytes: wrong for every option that does not take just any text.
    private static let value = "hex:S3cret-Value-77"
    private static let chunks = 6

    @Test("as people mistype them", arguments: 0..<chunks)
    func mistyped(_ chunk: Int) throws {
        #expect(MistypedLines.all.count == 152)
        let sandbox = try filled()
        for (place, line) in MistypedLines.all.enumerated() where place % Self.chunks == chunk {
            try check(line.arguments, line.status, sandbox)
        }
    }

    @Test("each option with a wrong kind of value, as the commands describe themselves", arguments: 0..<chunks)
    func generated(_ chunk: Int) throws {
        let all = Self.generatedLines
        #expect(all.count == 150)
        let sandbox = try filled()
        for (place, line) in all.enumerated() where place % Self.chunks == chunk { try check(line, 64, sandbox) }
    }

    @Test("an option of one value that is given twice is refused, and not used with its last value")
    func repeatedOption() throws {
        let sandbox = try filled()
        for line in [
            ["export", "--service", "svc", "--service", "two"], ["list", "--sort=name", "--sort", "modified"],
            ["set", "svc", "ann", "--label", "A", "--label", "B"],
            ["get", "svc", "--field", "account", "--field", "id"], ["export", "-o", "a.json", "--output", "b.json"],
            ["merge", "-f", "a.vault", "-f", "b.vault", "c.vault"],
        ] {
            let run = try sandbox.run(line, input: Array("new".utf8))
            #expect(run.status == 64 && run.error.contains("is given twice"), "\(line): \(run.error)")
            #expect(run.bytes.isEmpty)
        }
        #expect(try sandbox.ok("get", "svc").output == "t")
        // Those that take several values still do, and what follows the program's name is the program's.
        try sandbox.ok("update", "svc", "--attribute", "a=1", "--attribute", "b=2")
        #expect(try sandbox.ok("list", "--attribute", "a=1", "--attribute", "b=2").lines.count == 1)
        #expect(try sandbox.ok("run", "--", "echo", "--sort", "--sort").output == "--sort --sort\n")
    }

    @Test("the mark that ends the options is not the value of an option")
    func endOfOptions() throws {
        let sandbox = try filled()
        for line in [["set", "svc", "--label", "--"], ["update", "--label", "--", "svc"]] {
            let run = try sandbox.run(line, input: Array("new".utf8))
            #expect(run.status == 64 && run.error.contains("missing value for '--label'"), "\(run.error)")
            #expect(run.error.contains("write --label=--"), "\(run.error)")
        }
        try sandbox.ok("update", "svc", "--label=--")
        #expect(try sandbox.ok("get", "svc", "--field", "label").output == "--")
        try sandbox.ok("update", "--label", "L", "--", "svc")
        #expect(try sandbox.ok("get", "svc", "--field", "label").output == "L")
    }

    private func filled() throws -> Sandbox {
        let sandbox = try Sandbox.withVault()
        for (service, account) in [("svc", "ann"), ("two", "a"), ("two", "b")] {
            try sandbox.ok("set", service, account, input: "s".utf8)
        }
        try sandbox.ok("set", "svc", "ann", input: "t".utf8)
        try sandbox.write("wrong.txt", "wrong passphrase".utf8)
        try sandbox.write("text.txt", "hello\n".utf8)
        return sandbox
    }

    // MARK: what is generated

    /// Every option once, then as many more pairs of a command and an option as make 150, evenly chosen.
    private static let generatedLines: [[String]] = {
        var pairs: [(option: String, line: [String])] = []
        for (path, command) in CommandNameTests.all()
        where command.configuration.subcommands.isEmpty && command.configuration.shouldDisplay {
            do {
                for entry in try CommandDescription(of: command).entries where !entry.isPositional {
                    pairs += entry.wrongUses(value).map { (option: $0[0], line: path + $0) }
                }
            } catch { return [] }
        }
        var seen: Set<String> = []
        let first = pairs.filter { seen.insert($0.option).inserted }.map(\.line)
        let others = pairs.map(\.line).filter { !first.contains($0) }
        let missing = 150 - first.count
        guard missing > 0, others.count >= missing else { return Array(first.prefix(150)) }
        return first + (0..<missing).map { others[$0 * others.count / missing] }
    }()

    // MARK: what is expected

    private func check(_ arguments: [String], _ status: Int32, _ sandbox: Sandbox) throws {
        let run = try sandbox.run(arguments, input: Array("s".utf8))
        let shown = Comment(rawValue: "\(arguments): \(run.error)")
        #expect(run.status == status, shown)
        #expect(run.bytes.isEmpty, shown)
        let lines = run.error.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
        #expect(lines.count == 1 && run.error.hasPrefix("vaultfmt: "), shown)
        #expect(!run.error.contains("S3cret-Value-77"), shown)
        for step in run.error.matches(of: /'vaultfmt ([^']*)'/).map({ String($0.1) }) {
            let isSuggestion = run.error.contains("did you mean 'vaultfmt \(step)'")
            try follow(step, isSuggestion ? arguments : [], sandbox, shown)
        }
    }

    /// Runs a command that a line names, as it is named. One that is named without what it needs has help, and a
    /// suggestion is used in place of what was mistyped.
    private func follow(_ step: String, _ mistyped: [String], _ sandbox: Sandbox, _ shown: Comment) throws {
        let words = step.split(separator: " ").map(String.init)
        var line = words
        if !mistyped.isEmpty, mistyped.first != "help" { line += mistyped.dropFirst(words.count) }
        if mistyped.isEmpty, !Self.isWhole(words) {
            line = Array(words.prefix { $0 != "…" && !$0.hasPrefix("-") }) + ["--help"]
        }
        guard !Self.isKnownToWork(line) else { return }
        let run = try sandbox.run(line, input: Array("s".utf8))
        #expect(run.status == 0, "'\(line.joined(separator: " "))' fails (\(run.error)) after \(shown)")
        if run.status == 0, line.contains("--help") { Self.noteThatWorks(line) }
    }

    /// Whether a command is named with all that it needs.
    private static func isWhole(_ words: [String]) -> Bool {
        words.last == "--help" || words.first == "help" || words == ["list"] || words == ["slot", "list"]
            || (words.first == "generate" && words.count > 1)
    }

    /// Pages of help that were asked for already, by any test.
    private static let working = Working()

    private final class Working: @unchecked Sendable {
        private let lock = NSLock()
        private var lines: Set<[String]> = []
        func insert(_ line: [String]) { lock.withLock { _ = lines.insert(line) } }
        func contains(_ line: [String]) -> Bool { lock.withLock { lines.contains(line) } }
    }

    private static func isKnownToWork(_ line: [String]) -> Bool { working.contains(line) }
    private static func noteThatWorks(_ line: [String]) { working.insert(line) }
}

extension CommandDescription.Entry {
    /// The option as it must not be used: a flag with a value, a number or a choice that is none, an option of any text
    /// without one.
    fileprivate func wrongUses(_ value: String) -> [[String]] {
        let long = (names ?? []).filter { $0.kind == "long" }.map(\.text)
        return long.prefix(1).map { name in
            let takesAnyText =
                kind != "flag" && (allValueStrings ?? []).isEmpty
                && ValueForms.form(of: "\(name) <\(valueName ?? "")>") == nil
            return takesAnyText ? [name] : ["\(name)=\(value)"]
        }
    }
}
