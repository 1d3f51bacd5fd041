import Foundation
import Testing

/// The lines of `Docs/coming-from.md` that are ours do what the page says they do.
@Suite("Coming from another password manager")
struct ComingFromTests {
    /// What needs a clipboard, a remote repository or a kernel keyring, which other tests have.
    private static let elsewhere = ["--clip", "vaultfmt sync", "vaultfmt unlock", "vaultfmt lock"]

    @Test(
        "each line runs, in the order of its table",
        arguments: ["pass", "gopass", "KeePassXC", "1Password", "Bitwarden", "security"])
    func lines(_ program: String) throws {
        let lines = try Self.ours(program)
        #expect(lines.count == 10, "\(lines)")
        let sandbox = try Sandbox()
        sandbox.environment["EDITOR"] = "true"
        if lines.first != "vaultfmt create" { try sandbox.ok("create", "--kdf", "testing") }
        try sandbox.write(".env", "TOKEN=vaultfmt:example.com\n".utf8)
        try sandbox.write("deploy", "#!/bin/sh\ntest \"$TOKEN\" = 'Quartz-Lantern-58-Meadow'\n".utf8)
        chmod(sandbox.path("deploy"), 0o700)
        for line in lines where !Self.elsewhere.contains(where: line.contains) {
            try prepare(line, sandbox)
            var words = line.split(separator: " ").dropFirst().map(String.init)
            if words == ["create"] { words += ["--kdf", "testing"] }
            if words.first == "rm" { words.append("--yes") }
            words.removeAll { $0 == "--multiline" }
            let run = try sandbox.run(words, input: Array("Quartz-Lantern-58-Meadow".utf8))
            // What `check` finds is exit 3.
            #expect(run.status == 0 || (line == "vaultfmt check" && run.status == 3), "\(line): \(run.error)")
        }
    }

    /// Makes what a line is about, where no line before it has.
    private func prepare(_ line: String, _ sandbox: Sandbox) throws {
        let words = line.split(separator: " ").map(String.init)
        guard words.count > 2, ["get", "show", "otp", "read", "run", "move", "list"].contains(words[1]) else {
            return
        }
        let name = words[2] == "golang.org" ? "golang.org" : "example.com"
        let isAboutName = ["golang.org", "example.com", "example"].contains(words[2])
        let isMissing = try sandbox.run("list", "--service", name).output.isEmpty
        if isMissing, isAboutName || words[1] == "read" || words[1] == "run" {
            try sandbox.ok("set", name, "alice", input: "Quartz-Lantern-58-Meadow".utf8)
        }
        if words[1] == "run" { try sandbox.ok("set", name, input: "Quartz-Lantern-58-Meadow".utf8) }
        if words[1] == "otp" { try sandbox.ok("set", name, "--otp", input: "JBSWY3DPEHPK3PXP".utf8) }
    }

    /// The last column of a program's table.
    private static func ours(_ program: String) throws -> [String] {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let page = try String(contentsOf: root.appendingPathComponent("Docs/coming-from.md"), encoding: .utf8)
        let section = page.components(separatedBy: "\n## ").first { $0.hasPrefix(program + "\n") } ?? ""
        return section.matches(of: /\| `(vaultfmt [^`]*)` \|/).map { String($0.1) }
    }
}
