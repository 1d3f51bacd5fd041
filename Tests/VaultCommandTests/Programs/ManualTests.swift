import Foundation
import Testing

@Suite("Man pages and completions")
struct ManualTests {
    @Test("each command has a page, with its options and examples, that troff takes without a warning")
    func pages() throws {
        let sandbox = try Sandbox()
        let repository = URL(fileURLWithPath: #filePath).appendingPathComponent("../../../..").standardizedFileURL.path
        let script = repository + "/Tools/packaging/manual.py"
        try sandbox.okShell("/usr/bin/python3 '\(script)' '\(Child.binary)' man/man1 2026-01-01")
        let pages = Set(try FileManager.default.contentsOfDirectory(atPath: sandbox.path("man/man1")))
        let dump = try #require(try sandbox.ok("--experimental-dump-help").json() as? [String: Any])
        let commands = (dump["command"] as? [String: Any])?["subcommands"] as? [[String: Any]] ?? []
        let shown = commands.filter { $0["shouldDisplay"] as? Bool ?? true }
        let names = shown.compactMap { $0["commandName"] as? String }.filter { $0 != "help" }
        #expect(names.count > 20)
        #expect(pages.isSuperset(of: names.map { "vaultfmt-\($0).1" }))
        #expect(
            pages.isSuperset(of: [
                "vaultfmt.1", "git-credential-vaultfmt.1", "docker-credential-vaultfmt.1", "vaultfmt-askpass.1",
                "age-plugin-vaultfmt.1",
            ]))
        let run = String(decoding: try sandbox.read("man/man1/vaultfmt-run.1"), as: UTF8.self)
        #expect(
            run.contains(".SH EXAMPLES") && run.contains("\\fB\\-\\-env\\fR") && run.contains("\\-\\- [\\fIcommand\\fR")
        )
        let set = String(decoding: try sandbox.read("man/man1/vaultfmt-set.1"), as: UTF8.self)
        #expect(set.contains("\\fB\\-\\-generate\\fR[=\\fIlength\\fR]"))
        #expect(set.contains("\\fB\\-\\-length\\fR \\fIlength\\fR"))
        guard Machine.has("groff") else { return }
        for page in pages.sorted() {
            let warnings = try sandbox.okShell("cd man; groff -k -man -ww -Tutf8 -s man1/'\(page)' 2>&1 >/dev/null")
                .output
            #expect(warnings == "", "\(page)")
        }
    }

    @Test("the shells take their completion scripts")
    func completions() throws {
        let sandbox = try Sandbox()
        try sandbox.linkPrograms()
        for shell in ["bash", "zsh", "fish"] where Machine.has(shell) {
            try sandbox.okShell("vaultfmt --generate-completion-script \(shell) > script; \(shell) -n script")
        }
    }
}
