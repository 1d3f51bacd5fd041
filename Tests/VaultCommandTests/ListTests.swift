import Foundation
import Testing

@Suite("list")
struct ListTests {
    private func filled() throws -> Sandbox {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "github.com", "alice", "--label", "Code", input: "1".utf8)
        try sandbox.ok("set", "mail", "bob", "--group", "work", input: "2".utf8)
        try sandbox.ok("set", "--server", "GitLab.example.org", "--account", "carol", "--port", "443", input: "3".utf8)
        return sandbox
    }

    @Test("off a terminal a line is an item, its columns separated by tabs, no secret, no heading, no colour")
    func tabSeparated() throws {
        let sandbox = try filled()
        let run = try sandbox.ok("list")
        let rows = run.lines.map { $0.components(separatedBy: "\t") }
        #expect(
            rows.map { Array($0.prefix(5)) } == [
                ["generic-password", "github.com", "alice", "Code", ""],
                ["generic-password", "mail", "bob", "", "work"],
                ["internet-password", "GitLab.example.org", "carol", "", ""],
            ])
        #expect(rows.allSatisfy { $0.count == 6 && $0[5].hasSuffix("Z") })
        #expect(!run.output.contains("\u{1B}"))
    }

    @Test("a pattern is part of service, account, server or label, without regard to case; options match exactly")
    func patterns() throws {
        let sandbox = try filled()
        #expect(try sandbox.ok("ls", "GIT").lines.count == 2)
        #expect(try sandbox.ok("ls", "code").lines.count == 1)
        #expect(try sandbox.ok("ls", "carol").lines.count == 1)
        #expect(try sandbox.ok("ls", "--account", "bob").lines.count == 1)
        #expect(try sandbox.ok("ls", "--account", "bo").lines.count == 0)
        #expect(try sandbox.ok("ls", "--group", "work").lines.count == 1)
        #expect(try sandbox.ok("ls", "--class", "internet-password").lines.count == 1)
        #expect(try sandbox.ok("ls", "--port", "443").lines.count == 1)
        #expect(try sandbox.ok("ls", "--label", "Code").lines.count == 1)
    }

    @Test("finding nothing with a pattern is exit 1, an empty vault is not")
    func nothing() throws {
        let sandbox = try Sandbox.withVault()
        #expect(try sandbox.ok("list").bytes == [])
        #expect(try sandbox.ok("list", "--json").json() as? [String] == [])
        let run = try sandbox.fails(1, "nothing matches 'zzz'", "list", "zzz")
        #expect(run.bytes == [])
        #expect(try sandbox.fails(1, "nothing matches", "list", "zzz", "--json").json() as? [String] == [])
    }

    @Test("--json is an array of objects with metadata only")
    func json() throws {
        let sandbox = try filled()
        let items = try #require(try sandbox.ok("list", "--json").json() as? [[String: Any]])
        #expect(items.count == 3)
        #expect(items.allSatisfy { $0["secret"] == nil })
        #expect(items[2]["port"] as? Int == 443)
        #expect(items[0]["accessible"] as? String == "when-unlocked")
        #expect((items[0]["id"] as? String)?.count == 32)
    }
}
