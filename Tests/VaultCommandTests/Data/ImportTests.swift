import Foundation
import Testing

@Suite("import: duplicates, rehearsal, sources")
struct ImportTests {
    private static let list = "title,username,password\na,u,new\nb,u,2\n"

    private func sandbox() throws -> Sandbox {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "a", "u", "--comment", "mine", input: "old".utf8)
        try sandbox.write("list.csv", Self.list.utf8)
        return sandbox
    }

    @Test("a duplicate fails by default, is named, and leaves the vault as it was")
    func failing() throws {
        let sandbox = try sandbox()
        let before = try sandbox.read("test.vault")
        let run = try sandbox.fails(
            1, "already exist, in the vault or earlier in the source: generic-password 'a' 'u'", "import", "list.csv")
        #expect(run.error.contains("(line 2)"))
        #expect(run.error.contains("nothing was imported"))
        #expect(try sandbox.read("test.vault") == before)
        let rehearsal = try sandbox.run("import", "--dry-run", "list.csv")
        #expect(rehearsal.status == 1)
        #expect(rehearsal.lines.map { $0.prefix { $0 != "\t" } } == ["duplicate", "add"])
    }

    @Test("of many duplicates the first few are named, and the others counted")
    func many() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.write("list.csv", ("title,password\n" + (0..<30).map { "t\($0),x\n" }.joined()).utf8)
        try sandbox.ok("import", "list.csv")
        let run = try sandbox.fails(1, "and 25 more", "import", "list.csv")
        #expect(run.error.contains("'t0'") && run.error.contains("'t4'") && !run.error.contains("'t5'"))
    }

    @Test("--on-duplicate skip keeps what is there")
    func skipping() throws {
        let sandbox = try sandbox()
        let rehearsal = try sandbox.ok("import", "--dry-run", "--on-duplicate", "skip", "list.csv")
        #expect(rehearsal.lines.map { $0.prefix { $0 != "\t" } } == ["skip", "add"])
        let run = try sandbox.ok("import", "--on-duplicate", "skip", "list.csv")
        #expect(run.error.contains("imported 1 item; skipped 1 that already existed"))
        #expect(try sandbox.ok("get", "a").output == "old")
        #expect(try sandbox.ok("get", "b").output == "2")
    }

    @Test("--on-duplicate replace puts the new item in the old one's place, attributes and all")
    func replacing() throws {
        let sandbox = try sandbox()
        let rehearsal = try sandbox.ok("import", "--dry-run", "--on-duplicate", "replace", "list.csv")
        #expect(rehearsal.lines.map { $0.prefix { $0 != "\t" } } == ["replace", "add"])
        #expect(try sandbox.ok("get", "a").output == "old")
        let run = try sandbox.ok("import", "--on-duplicate", "replace", "list.csv")
        #expect(run.error.contains("imported 2 items, 1 of them replacing others"))
        #expect(try sandbox.ok("get", "a").output == "new")
        let item = try #require(try sandbox.ok("get", "a", "--json").json() as? [String: Any])
        #expect(item["attributes"] as? [String: String] == ["label": "a"])
    }

    @Test("two entries of one name in the source are two items, whatever is done with items that exist")
    func twiceInSource() throws {
        for policy in ["fail", "skip", "replace", "keep-both", "update-newer"] {
            let sandbox = try Sandbox.withVault()
            try sandbox.write("list.csv", "title,password\na,1\na,2\n".utf8)
            #expect(try sandbox.ok("import", "--dry-run", "--on-duplicate", policy, "list.csv").lines.count == 2)
            try sandbox.ok("import", "--on-duplicate", policy, "list.csv")
            #expect(try sandbox.ok("get", "a", "").output == "1")
            #expect(try sandbox.ok("get", "a", "(2)").output == "2")
        }
    }

    @Test("D7: keep-both loses neither of two rows of one name, and what is skipped, replaced or renamed is named")
    func keepingBoth() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "a", "u", input: "0".utf8)
        try sandbox.write("list.csv", "title,username,password\na,u,1\na,u,2\nb,,3\nb,,4\n".utf8)
        let rehearsal = try sandbox.ok("import", "--dry-run", "--on-duplicate", "keep-both", "list.csv")
        #expect(rehearsal.lines.map { $0.prefix { $0 != "\t" } } == ["keep-both", "keep-both", "add", "keep-both"])
        let run = try sandbox.ok("import", "--on-duplicate", "keep-both", "list.csv")
        #expect(
            run.error.contains("kept both, this one as account 'u (2)': generic-password 'a' 'u' label 'a' (line 2)"))
        for (service, account, secret) in [
            ("a", "u", "0"), ("a", "u (2)", "1"), ("a", "u (3)", "2"), ("b", "", "3"), ("b", "(2)", "4"),
        ] {
            #expect(try sandbox.ok("get", service, account).output == secret)
        }
        let skipped = try sandbox.ok("import", "--on-duplicate", "skip", "list.csv")
        #expect(skipped.error.contains("skipped: generic-password 'a' 'u' label 'a' (line 2)"))
        let replaced = try sandbox.ok("import", "--on-duplicate", "replace", "list.csv")
        #expect(replaced.error.contains("replaced: generic-password 'a' 'u' label 'a' (line 3)"))
    }

    @Test("D10: a dry run refuses what the import would refuse, with its exit code")
    func rehearsalRefuses() throws {
        let sandbox = try Sandbox.withVault()
        let item =
            #"{"class": "generic-password", "service": "s", "account": "a", "accessible": "when-unlocked-this-device-only", "secret": "x"}"#
        try sandbox.write("device.json", #"{"format": "vaultfmt-export", "version": 1, "items": [\#(item)]}"#.utf8)
        let long =
            #"{"class": "generic-password", "service": "s", "account": "b", "secret": "\#(String(repeating: "x", count: 16 << 20 + 1))"}"#
        try sandbox.write("long.json", #"{"format": "vaultfmt-export", "version": 1, "items": [\#(long)]}"#.utf8)
        for file in ["device.json", "long.json"] {
            let real = try sandbox.run("import", file)
            let rehearsal = try sandbox.run("import", "--dry-run", file)
            #expect(real.status != 0 && rehearsal.status == real.status, "\(file): \(real.error) \(rehearsal.error)")
        }
    }

    @Test("a source is a file or standard input, and its form is found in its contents")
    func sources() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("import", "-", input: Self.list.utf8)
        let export = try sandbox.ok("export").bytes
        let other = try Sandbox.withVault()
        try other.write("noise.bin", [0, 1, 2])
        try other.ok("import", "-", input: [0x20, 0x0A] + export)
        #expect(try other.ok("list").lines.count == 2)
        try other.fails(64, "both the passphrase and the source", "import", "--passphrase-fd", "0", "-")
        try other.fails(66, "cannot open 'none.csv'", "import", "none.csv")
        try other.fails(65, "neither a vaultfmt export", "import", "noise.bin")
        try other.fails(65, "neither a vaultfmt export", "import", "-")
        try other.fails(64, "--format", "import", "--format", "xml", "noise.bin")
        try other.fails(74, "cannot read", "import", other.folder)
    }

    @Test("an import is one commit, and one that fails leaves none")
    func oneCommit() throws {
        let sandbox = try sandbox()
        func generation() throws -> Int? {
            (try sandbox.ok("inspect", "--json").json() as? [String: Any]).flatMap {
                ($0["generation"] ?? ($0["state"] as? [String: Any])?["generation"]) as? Int
            }
        }
        let before = try #require(try generation())
        try sandbox.ok("import", "--on-duplicate", "skip", "list.csv")
        #expect(try generation() == before + 1)
        try sandbox.write("bad.csv", "title,password\nc,1\nd,2,3\n".utf8)
        try sandbox.fails(65, "line 3", "import", "bad.csv")
        #expect(try generation() == before + 1)
    }
}
