import Foundation
import Testing

@Suite("export")
struct ExportTests {
    private func sandbox() throws -> Sandbox {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "svc", "alice", "--label", "=1+1", "--comment", "a \"b\", c\nd", input: "p,w".utf8)
        try sandbox.ok(
            "set", "--server", "s.example", "--account", "bob", "--protocol", "https", "--port", "8443", "--path", "/x",
            input: " two ".utf8
        )
        try sandbox.ok("set", "binary", "--exact", input: [0x00, 0xFF, 0x0A])
        return sandbox
    }

    @Test("D10: an export that leaves out what is of this device only is exit 3, and says so")
    func leftOut() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "here", "--accessible", "when-unlocked-this-device-only", input: "s".utf8)
        try sandbox.ok("set", "there", input: "s".utf8)
        let run = try sandbox.fails(3, "1 item is missing", "export")
        #expect(run.error.contains("not exported because it is device-only: generic-password 'here'"))
        #expect(run.output.contains("there") && !run.output.contains("\"here\""))
        try sandbox.fails(3, "missing", "export", "--format", "csv", "--output", "out.csv")
        #expect(try sandbox.read("out.csv").count > 0)
        try sandbox.ok("export", "--service", "there")
    }

    @Test(
        "an export goes on past a damaged secret, attribute or earlier value, names what is missing, and ends with 3",
        arguments: ["secret", "big", "earlier"])
    func damaged(part: String) throws {
        let sandbox = try Sandbox.withVault()
        for secret in ["first", "second"] { try sandbox.ok("set", "svc", "ann", input: secret.utf8) }
        let big = [UInt8](repeating: 0x78, count: 5000)
        try sandbox.ok("update", "svc", "ann", "--secret-attribute", "big", input: big)
        try sandbox.ok("set", "zoo", input: "whole".utf8)
        switch part {
        case "big": try sandbox.damageRecord(of: "svc", "ann", "--field", "big")
        case "earlier": try sandbox.damageRecord(of: "svc", "ann", "--earlier", "1")
        default: try sandbox.damageRecord(of: "svc", "ann")
        }
        let new = try sandbox.write("new", Array("kdbx".utf8))
        let kdbx = ["--format", "kdbx", "--kdf", "testing", "--new-passphrase-file", new, "-o", "out.kdbx"]
        for format in [[], ["--format", "csv"], kdbx, ["--format", "pem"]] {
            let run = try sandbox.run(["export"] + format)
            // A list contains neither of the other values, and PEM no passwords at all.
            let isMissing = part == "secret" || format.isEmpty || format == kdbx
            #expect(run.status == (isMissing || format.last == "pem" ? 3 : 0), "\(format): \(run.error)")
            let lines = run.error.split(separator: "\n").filter { $0.contains("not exported, because it is damaged") }
            #expect(lines.count == (isMissing ? 1 : 0), "\(format): \(run.error)")
            #expect(lines.allSatisfy { $0.contains("generic-password 'svc' 'ann'") }, "\(format): \(run.error)")
            #expect(run.error.contains("damaged values of 1 item are missing") == isMissing, "\(format): \(run.error)")
            guard format.isEmpty else { continue }
            let items = try #require((try run.json() as? [String: Any])?["items"] as? [[String: Any]])
            let secrets = items.map { $0["secret"] as? String }
            #expect(secrets == (part == "secret" ? ["whole"] : ["second", "whole"]))
        }
        #expect(try sandbox.read("out.kdbx").count > 0)
    }

    @Test("variables for new factors, which only KDBX uses, do not keep another format from being written; options do")
    func unusedVariables() throws {
        let sandbox = try sandbox()
        sandbox.environment["VAULTFMT_NEW_KEY_FILE"] = try sandbox.write("new.key", Array("key".utf8))
        for format in [[], ["--format", "json"], ["--format", "csv"]] {
            #expect(try sandbox.ok(["export"] + format).output.contains("alice"))
        }
        try sandbox.fails(64, "require --format kdbx", "export", "--new-key-file", sandbox.path("new.key"))
    }

    @Test("a file is made 0600 and never overwritten: exit 73; plaintext is warned about")
    func file() throws {
        let sandbox = try sandbox()
        let run = try sandbox.ok("export", "--output", "out.json")
        #expect(run.bytes == [])
        #expect(run.error.contains("plaintext"))
        let attributes = try FileManager.default.attributesOfItem(atPath: sandbox.path("out.json"))
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        #expect(try sandbox.read("out.json") == sandbox.ok("export").bytes)
        try sandbox.write("out.json", "mine".utf8)
        try sandbox.fails(73, "'out.json' already exists", "export", "--output", "out.json")
        #expect(try sandbox.read("out.json") == Array("mine".utf8))
        symlink("nowhere", sandbox.path("link.json"))
        try sandbox.fails(73, "'link.json' already exists", "export", "--output", "link.json")
        try sandbox.fails(66, "the folder does not exist", "export", "--output", "none/out.json")
    }

    @Test("an export that cannot be finished leaves no file")
    func unfinished() throws {
        let sandbox = try sandbox()
        sandbox.environment["VAULTFMT_PASSPHRASE"] = "wrong"
        try sandbox.fails(77, "wrong passphrase", "export", "--output", "out.json")
        #expect(!FileManager.default.fileExists(atPath: sandbox.path("out.json")))
    }

    @Test("an export that is interrupted leaves no file, or all of it")
    func interrupted() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.write("list.csv", ("title,password\n" + (0..<5000).map { "t\($0),x\n" }.joined()).utf8)
        try sandbox.ok("import", "list.csv")
        let whole = try sandbox.ok("export").bytes
        var interrupted: Set<String> = []
        // At calls of all that an export does: it starts, reads the vault, writes the file, makes it durable, names it.
        let calls = ["openat", "pread64", "write", "fsync", "linkat"]
        for (call, number) in calls.flatMap({ call in [1, 2, 4, 16].map { (call, $0) } }) {
            let injection = ["-e", "trace=\(call)", "-e", "inject=\(call):signal=INT:when=\(number)"]
            let run = try sandbox.run(
                ["-f", "-qq", "-o", "/dev/null"] + injection + [Child.binary, "export", "--output", "out.json"],
                program: "/usr/bin/strace")
            if run.status != 0 {
                #expect(run.status == 128 + SIGINT, "\(call), \(number): \(run.error)")
                interrupted.insert(call)
            }
            // A file that has the name is whole, even where the signal came after the work.
            guard FileManager.default.fileExists(atPath: sandbox.path("out.json")) else { continue }
            #expect(try sandbox.read("out.json") == whole)
            try FileManager.default.removeItem(atPath: sandbox.path("out.json"))
        }
        #expect(interrupted == Set(calls))
        let left = try FileManager.default.contentsOfDirectory(atPath: sandbox.folder).filter {
            $0.contains("out.json")
        }
        #expect(left == [])
    }

    @Test("CSV is not shown on a terminal, JSON comes out harmless")
    func onTerminal() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "bell\u{07}\u{1B}[2J", input: "\u{9B}31m".utf8)
        let csv = try PseudoTerminal(sandbox, "export", "--format", "csv")
        #expect(try csv.finish() == 64)
        #expect(csv.screen.contains("not shown on a terminal"))
        let json = try PseudoTerminal(sandbox, "export")
        #expect(try json.finish() == 0)
        #expect(json.screen.contains("bell\\u0007\\u001b[2J"))
        #expect(!json.screen.unicodeScalars.contains { $0.value == 0x07 || $0.value == 0x9B })
    }

    @Test("JSON is one item a line, and JSON to every reader")
    func lines() throws {
        let sandbox = try sandbox()
        let run = try sandbox.ok("export")
        let rows = run.lines.filter { $0.hasPrefix("{\"class\"") }
        #expect(rows.count == 3)
        let whole = try #require(try run.json() as? [String: Any])
        #expect(whole["format"] as? String == "vaultfmt-export")
        #expect(whole["version"] as? Int == 2)
        let items = try #require(whole["items"] as? [[String: Any]])
        #expect(items.map { $0["service"] as? String ?? $0["server"] as? String } == ["binary", "svc", "s.example"])
        #expect((items[0]["secret"] as? [String: String]) == ["base64": "AP8K"])
        #expect(items[1]["secret"] as? String == "p,w")
        let empty = try Sandbox.withVault()
        #expect((try empty.ok("export").json() as? [String: Any])?["items"] as? [String] == [])
    }

    @Test("CSV quotes as RFC 4180 has it, alters nothing, and says where a password is base 64")
    func csv() throws {
        let sandbox = try sandbox()
        let text = try sandbox.ok("export", "--format", "csv").output
        #expect(text.hasPrefix("Title,URL,Username,Password,Notes,OTPAuth,encoding,class,service,"))
        #expect(text.hasSuffix("\r\n"))
        #expect(text.contains("\r\nbinary,,,base64:AP8K,,,base64,generic-password,binary,"))
        #expect(text.contains("\r\n=1+1,,alice,\"p,w\",\"a \"\"b\"\", c\nd\",,text,generic-password,svc,"))
        #expect(
            text.contains(
                "\r\n,https://s.example:8443/x,bob,\" two \",,,text,internet-password,,s.example,https,8443,/x,"))
    }

    @Test("U31: the URL column has the first address of the attribute url, which says more than the key")
    func csvAddresses() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok(
            "set", "svc", "ann", "--attribute", "url=https://one.example\nhttps://two.example", input: "1".utf8)
        try sandbox.write(
            "list.csv", "title,url,username,password\nbank,https://bank.example/login?next=%2F#top,bob,2\n".utf8)
        try sandbox.ok("import", "list.csv")
        let text = try sandbox.ok("export", "--format", "csv").output
        let rows = text.split(separator: "\r\n").dropFirst().map { line in
            line.split(separator: ",", omittingEmptySubsequences: false)[1]
        }
        #expect(rows.sorted() == ["https://bank.example/login?next=%2F#top", "https://one.example"])
    }

    @Test("U31: the CSV export names what it leaves out, and has the notes")
    func csvLeavesOut() throws {
        let sandbox = try sandbox()
        #expect(!(try sandbox.ok("export", "--format", "csv").error.contains("not in this list")))
        try sandbox.ok("set", "svc", "alice", "--attribute", "colour=red", input: "new".utf8)
        try sandbox.ok("update", "binary", "--attribute", "colour=blue", "--attribute", "notes=the notes")
        try sandbox.ok("update", "binary", "--attribute", "url=https://one.example\nhttps://two.example")
        let run = try sandbox.ok("export", "--format", "csv")
        #expect(
            run.error.contains(
                "not in this list: the attributes 'colour' (2), 'url' (1), and 1 earlier value; JSON and KDBX include them"
            ),
            "\(run.error)")
        #expect(run.output.contains("base64:AP8K,\"the notes\","))
        let other = try sandbox.ok("export", "--format", "json")
        #expect(!other.error.contains("not in this list"))
    }

    @Test("a damaged attribute is not among those that the CSV export leaves out and other formats include")
    func csvDamaged() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "svc", "ann", "--attribute", "colour=red", input: "1".utf8)
        let notes = [UInt8](repeating: 0x78, count: 5000)
        try sandbox.ok("update", "svc", "ann", "--secret-attribute", "notes", input: notes)
        try sandbox.ok("set", "zoo", input: "2".utf8)
        try sandbox.damageRecord(of: "svc", "ann", "--field", "notes")
        let run = try sandbox.run("export", "--format", "csv")
        #expect(run.status == 3 && run.error.contains("not exported, because it is damaged"), "\(run.error)")
        #expect(run.error.contains("'colour' (1)") && !run.error.contains("'notes' (1)"), "\(run.error)")
    }

    @Test("the CSV export is no source: what it leaves out would be lost")
    func csvIsNoSource() throws {
        let sandbox = try sandbox()
        try sandbox.ok("export", "--format", "csv", "--output", "out.csv")
        let other = try Sandbox.withVault()
        try other.write("out.csv", try sandbox.read("out.csv"))
        try other.fails(65, "line 1: this is vaultfmt's CSV export", "import", "out.csv")
    }

    @Test("filters choose what is exported")
    func filters() throws {
        let sandbox = try sandbox()
        func names(_ options: String...) throws -> [String] {
            let run = try sandbox.run(["export"] + options)
            let items = (try run.json() as? [String: Any])?["items"] as? [[String: Any]] ?? []
            return items.compactMap { $0["service"] as? String ?? $0["server"] as? String }
        }
        #expect(try names("--class", "internet-password") == ["s.example"])
        #expect(try names("--service", "svc") == ["svc"])
        #expect(try names("--account", "bob") == ["s.example"])
        #expect(try names("--label", "=1+1") == ["svc"])
        try sandbox.fails(1, "no item has the group 'none'", "export", "--group", "none")
    }

    @Test("items of this device only are left out and named")
    func deviceOnly() throws {
        let sandbox = try sandbox()
        try sandbox.ok("set", "local", "--accessible", "when-unlocked-this-device-only", input: "here".utf8)
        for format in ["json", "csv"] {
            let run = try sandbox.fails(3, "1 item is missing", "export", "--format", format)
            #expect(!run.output.contains("here"))
            #expect(run.error.contains("not exported because it is device-only: generic-password 'local'"))
        }
    }

    @Test("a vault that is not there is exit 66, and one that is none 65")
    func wrongVault() throws {
        let sandbox = try Sandbox()
        try sandbox.fails(66, "no vault", "export")
        try sandbox.write("test.vault", "not a vault at all, but long enough to be looked at".utf8)
        try sandbox.fails(65, "not a vault", "export")
    }

    @Test("a file that is named like another format is not written as plaintext JSON, unless that is meant")
    func named() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "svc", input: "s".utf8)
        for ending in ["kdbx", "csv", "pem", "KDBX"] {
            let path = sandbox.path("out.\(ending)")
            try sandbox.fails(64, "use --format \(ending.lowercased())", "export", "--output", path)
            #expect(!FileManager.default.fileExists(atPath: path))
        }
        try sandbox.ok("export", "--output", sandbox.path("out.json"))
        try sandbox.ok("export", "--output", sandbox.path("out"))
        try sandbox.ok("export", "--format", "json", "--output", sandbox.path("out.csv"))
    }
}
