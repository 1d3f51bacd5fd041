import Foundation
import Testing

/// Entries that would become items of the same name, and what comes out again.
@Suite("import: entries of one name")
struct ImportTwinsTests {
    private static let header = "title,url,username,password,folder\n"

    private func items(_ sandbox: Sandbox) throws -> [String: [String: Any]] {
        let list = try #require(try sandbox.ok("list", "--json").json() as? [[String: Any]])
        return Dictionary(list.map { ($0["account"] as? String ?? "", $0) }) { first, _ in first }
    }

    @Test("X7: the first import succeeds without options: folders tell items apart, then titles, then numbers")
    func toldApart() throws {
        let sandbox = try Sandbox.withVault()
        let rows = [
            "Mail,https://a.example,mira,p1,Home", "Mail,https://a.example,mira,p2,Work",
            "Other,https://a.example,mira,p3,Work", "Mail,https://a.example,mira,p4,Home",
            "Mail,https://a.example,,p5,Home", "Mail,https://a.example,,p6,Home",
        ]
        try sandbox.write("list.csv", (Self.header + rows.joined(separator: "\n") + "\n").utf8)
        let rehearsal = try sandbox.ok("import", "--dry-run", "list.csv")
        #expect(rehearsal.lines.count == 6)
        let run = try sandbox.ok("import", "list.csv")
        #expect(run.error.contains("imported 6 items"), "\(run.error)")
        #expect(run.error.contains("this one as account 'mira (Work)'") && run.error.contains("(line 3)"))
        for (account, secret) in [
            ("mira", "p1"), ("mira (Work)", "p2"), ("mira (Other)", "p3"), ("mira (2)", "p4"), ("", "p5"),
            ("(2)", "p6"),
        ] {
            #expect(
                try sandbox.ok("get", "--server", "a.example", "--account", account).output == secret, "\(account)")
        }
        // The same file again finds the same items.
        let again = try sandbox.ok("import", "list.csv", "--on-duplicate", "update-newer", "--json")
        let counts = try #require(try again.json() as? [String: Any])
        #expect(counts["unchanged"] as? Int == 6, "\(again.output)")
        #expect(try items(sandbox).count == 6)
        let refused = try sandbox.fails(1, "already exist", "import", "list.csv")
        #expect(refused.error.contains("--group-from-folder"))
    }

    @Test("an exact copy of a row is imported once, and named")
    func copies() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.write("list.csv", "title,username,password\na,u,1\na,u,1\na,u,2\na,u,2\n".utf8)
        let run = try sandbox.ok("import", "list.csv", "--json")
        #expect(
            run.error.contains(
                "skipped, an exact copy of an earlier entry: generic-password 'a' 'u' label 'a' (line 3)"))
        #expect(run.error.contains("imported 2 items; skipped 2 exact copies; 4 entries in the source"), "\(run.error)")
        let counts = try #require(try run.json() as? [String: Any])
        #expect(counts["entries"] as? Int == 4 && counts["copies"] as? Int == 2)
        #expect(try items(sandbox).keys.sorted() == ["u", "u (2)"])
    }

    @Test("names in our own exports are exact: two items of one name are refused")
    func exact() throws {
        let sandbox = try Sandbox.withVault()
        let item = #"{"class": "generic-password", "service": "s", "account": "a", "secret": "#
        try sandbox.write(
            "twice.json",
            #"{"format": "vaultfmt-export", "version": 2, "items": [\#(item)"1"}, \#(item)"2"}]}"#.utf8)
        try sandbox.fails(1, "already exist, in the vault or earlier in the source", "import", "twice.json")
        #expect(try items(sandbox).isEmpty)
    }

    @Test("U23: a suffix of ours comes off on the way out, in KDBX and CSV, and the JSON export says the user name")
    func wayOut() throws {
        let sandbox = try Sandbox.withVault()
        let rows = ["Mail,https://a.example,mira,p1,Home", "Mail,https://a.example,mira,p2,Work"]
        try sandbox.write("list.csv", (Self.header + rows.joined(separator: "\n") + "\n").utf8)
        try sandbox.ok("import", "list.csv")
        try sandbox.ok("import", "list.csv", "--on-duplicate", "keep-both")
        #expect(try items(sandbox).keys.sorted() == ["mira", "mira (2)", "mira (3)", "mira (Work)"])
        // An account that merely looks like it is the user's own.
        try sandbox.ok("set", "other", "mira (2)", input: "p3".utf8)
        let csv = try sandbox.ok("export", "--format", "csv").output.split(separator: "\r\n").dropFirst()
        let names = csv.map { $0.split(separator: ",", omittingEmptySubsequences: false)[2] }
        #expect(names.sorted() == ["\"mira (2)\"", "mira", "mira", "mira", "mira"])
        let passphrase = try sandbox.write("kdbx-passphrase", "kdbx".utf8)
        try sandbox.ok(
            "export", "--format", "kdbx", "--output", "out.kdbx", "--new-passphrase-file", passphrase, "--kdf",
            "testing")
        let copy = try Sandbox.withVault()
        try copy.ok("import", sandbox.path("out.kdbx"), "--source-passphrase-file", passphrase)
        #expect(try items(copy).keys.sorted() == items(sandbox).keys.sorted())
        let json = try #require(try sandbox.ok("export").json() as? [String: Any])
        let exported = try #require(json["items"] as? [[String: Any]])
        let noted = exported.compactMap { ($0["attributes"] as? [String: Any])?["user-name"] as? String }
        #expect(noted == ["mira", "mira", "mira"])
    }

    @Test("an item that was renamed since has its own name")
    func renamed() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.write("list.csv", "title,username,password\na,u,1\na,u,2\n".utf8)
        try sandbox.ok("import", "list.csv")
        try sandbox.ok("move", "a", "u (2)", "--to-account", "v")
        let csv = try sandbox.ok("export", "--format", "csv").output
        #expect(csv.contains(",v,2,") && csv.contains(",u,1,"), "\(csv)")
    }
}
