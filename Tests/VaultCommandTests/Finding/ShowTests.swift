import Foundation
import Testing

@Suite("show")
struct ShowTests {
    private func filled() throws -> Sandbox {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok(
            "set", "bank", "mira", "--label", "My bank", "--attribute", "pin\\=x=1", "--attribute", "notes=one\ntwo",
            "--attribute", "sealed:pet=Biscuit", "--attribute", "long=\(String(repeating: "x", count: 5000))",
            input: "s3cret".utf8)
        return sandbox
    }

    @Test("all of an item comes, but neither its secrets nor their lengths")
    func hidden() throws {
        let sandbox = try filled()
        let run = try sandbox.ok("show", "bank")
        let lines = run.lines.map { $0.components(separatedBy: "\t") }
        #expect(lines.contains(["account", "mira"]) && lines.contains(["label", "My bank"]))
        #expect(lines.contains(["secret", "(hidden)"]) && lines.contains(["sealed:pet", "(hidden)"]))
        #expect(lines.contains(["long", String(repeating: "x", count: 5000)]))
        for secret in ["s3cret", "one", "Biscuit"] { #expect(!run.output.contains(secret)) }
    }

    @Test("how large a file's bytes are is shown, and of what is short enough for a password nothing")
    func sizes() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "scan.pdf", input: [UInt8](repeating: 7, count: 1025))
        try sandbox.ok("set", "short", input: [UInt8](repeating: 7, count: 1024))
        #expect(try sandbox.ok("show", "scan.pdf").lines.contains("secret\t(hidden; 1 KiB)"))
        #expect(try sandbox.ok("show", "short").lines.contains("secret\t(hidden)"))
    }

    @Test("--reveal shows the secrets too, each value in one line off a terminal")
    func revealed() throws {
        let sandbox = try filled()
        let run = try sandbox.ok("show", "bank", "--reveal")
        #expect(run.lines.contains("secret\ts3cret") && run.lines.contains("notes\tone\\ntwo"))
        sandbox.environment["NO_COLOR"] = "1"
        let terminal = try PseudoTerminal(sandbox, "show", "bank", "--reveal", columns: 80)
        #expect(try terminal.finish() == 0)
        #expect(terminal.screen.contains("notes           one\r\n                two\r\n"), "\(terminal.screen)")
    }

    @Test("--json leaves out what is secret and names it; with --reveal it has everything")
    func json() throws {
        let sandbox = try filled()
        let hidden = try #require(try sandbox.ok("show", "bank", "--json").json() as? [String: Any])
        #expect(hidden["secret"] == nil)
        #expect(hidden["hidden"] as? [String] == ["secret", "notes", "sealed:pet"])
        let attributes = try #require(hidden["attributes"] as? [String: String])
        #expect(attributes["label"] == "My bank" && attributes["long"]?.count == 5000 && attributes["notes"] == nil)
        let shown = try #require(try sandbox.ok("show", "bank", "--json", "--reveal").json() as? [String: Any])
        #expect(shown["secret"] as? String == "s3cret")
        #expect((shown["attributes"] as? [String: String])?["notes"] == "one\ntwo")
    }

    @Test("one field, a secret one with --reveal only")
    func field() throws {
        let sandbox = try filled()
        #expect(try sandbox.ok("show", "bank", "--field", "account").output == "mira")
        try sandbox.fails(64, "'secret' is secret; show it with --reveal", "show", "bank", "--field", "secret")
        #expect(try sandbox.ok("show", "bank", "--field", "sealed:pet", "--reveal").output == "Biscuit")
        try sandbox.fails(1, "has no field 'phone'; it has", "show", "bank", "--field", "phone")
    }

    @Test("no item, no name, several items: 1, 64, 2")
    func failures() throws {
        let sandbox = try filled()
        try sandbox.ok("set", "bank", "other", input: "s".utf8)
        try sandbox.fails(1, "no item is named", "show", "shop")
        try sandbox.fails(64, "no item is named", "show")
        try sandbox.fails(2, "2 items are named 'bank'", "show", "bank")
    }
}
