import Foundation
import Testing

/// Earlier values in the command: `history`, `restore`, `forget`, `--earlier`, `--keep`.
@Suite("Earlier values")
struct EarlierValueTests {
    private func sandbox(_ values: [String]) throws -> Sandbox {
        let sandbox = try Sandbox.withVault()
        for value in values {
            try sandbox.ok(
                "set", "svc", "ann", "--label", "L-\(value)", "--attribute", "notes=n-\(value)", input: value.utf8)
        }
        return sandbox
    }

    private func secrets(_ sandbox: Sandbox) throws -> [String] {
        let listed = try #require(try sandbox.ok("history", "svc", "--json").json() as? [[String: Any]])
        let secrets = listed.filter { $0["kind"] as? String == "secret" }
        return try secrets.indices.map { try sandbox.ok("get", "svc", "--earlier", "\($0 + 1)").output }
    }

    @Test(
        "a secret that was overwritten is listed, read with the attributes of its time, and restored; nothing is lost by that"
    )
    func overwritten() throws {
        let sandbox = try sandbox(["one", "two", "three"])
        let lines = try sandbox.ok("history", "svc", "ann").lines
        let columns = lines.map { $0.split(separator: "\t").prefix(2).joined(separator: " ") }
        #expect(columns == ["1 secret", "2 secret", "1 notes", "2 notes"])
        #expect(lines[0].hasSuffix("L-two") && lines[1].hasSuffix("L-one"))
        #expect(!lines.joined().contains("two\t"))
        #expect(try secrets(sandbox) == ["two", "one"])
        #expect(lines.allSatisfy { $0.components(separatedBy: "\t")[2...3].allSatisfy { !$0.isEmpty } })
        // When an imported value was set is not known, and the time of the import is not that.
        try sandbox.ok("create", "new.vault", "--kdf", "testing")
        try sandbox.ok("import", "--vault", "new.vault", try sandbox.write("x", sandbox.ok("export").bytes))
        let imported = try sandbox.ok("history", "svc", "ann", "--vault", "new.vault").lines
        let times = imported.map { $0.components(separatedBy: "\t")[2...3].map(\.isEmpty) }
        #expect(times == Array(repeating: [false, true], count: 4))
        // So the next export, which can be imported too, states no time for it.
        let again = try sandbox.ok("export", "--vault", "new.vault")
        let items = try #require((try again.json() as? [String: Any])?["items"] as? [[String: Any]])
        let states = try #require(items.first?["earlier"] as? [[String: Any]])
        #expect(!states.isEmpty && states.allSatisfy { $0["modified"] == nil && $0["replaced"] != nil })
        try sandbox.ok("create", "third.vault", "--kdf", "testing")
        try sandbox.ok("import", "--vault", "third.vault", try sandbox.write("again", again.bytes))
        #expect(try sandbox.ok("history", "svc", "--vault", "third.vault").lines.count == 4)
        #expect(try sandbox.ok("get", "svc", "--earlier", "2", "--field", "notes").output == "n-one")
        let whole = try #require(try sandbox.ok("get", "svc", "--earlier", "1", "--json").json() as? [String: Any])
        #expect(whole["secret"] as? String == "two" && whole["account"] as? String == "ann")
        #expect((whole["attributes"] as? [String: String]) == ["label": "L-two"])

        #expect(try sandbox.ok("restore", "svc", "--earlier", "2").error.contains("earlier value 1"))
        #expect(try sandbox.ok("get", "svc").output == "one")
        // Nothing else of the item changes.
        #expect(try sandbox.ok("get", "svc", "--field", "label").output == "L-three")
        #expect(try sandbox.ok("get", "svc", "--field", "notes").output == "n-three")
        #expect(try secrets(sandbox) == ["three", "two"])
        try sandbox.ok("restore", "svc", "--field", "notes", "--earlier", "2")
        #expect(try sandbox.ok("get", "svc", "--field", "notes").output == "n-one")
        #expect(try sandbox.ok("get", "svc").output == "one")
        try sandbox.ok("restore", "svc")
        #expect(try sandbox.ok("get", "svc").output == "three")
        try sandbox.fails(1, "'label' has no earlier values", "restore", "svc", "--field", "label")
    }

    @Test(
        "an earlier value that gives way to one equal to the current value is named by restore, set and undo",
        arguments: ["restore", "set", "undo"])
    func crowdedOut(_ command: String) throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("rekey", "--keep", "3")
        for value in ["1", "2", "3", "4", "5", "6"] {
            let run = try sandbox.ok("set", "svc", "ann", input: value.utf8)
            #expect(!run.error.contains("dropped"), "\(run.error)")
        }
        let oldest = try #require(try sandbox.ok("history", "svc").lines.last).split(separator: "\t")
        #expect(oldest[0] == "3" && oldest[1] == "secret")
        let run =
            switch command {
            case "restore": try sandbox.ok("restore", "svc")
            case "set": try sandbox.ok("set", "svc", "ann", input: "5".utf8)
            default: try sandbox.ok("undo")
            }
        #expect(try sandbox.ok("get", "svc").output == "5")
        #expect(try secrets(sandbox) == ["6", "4"])
        #expect(
            run.error.contains(
                "this dropped an earlier value of generic-password 'svc' 'ann', the secret that was set at \(oldest[3]) and replaced at \(oldest[2]):"
            ), "\(run.error)")
        #expect(run.error.contains("the vault keeps 3") && run.error.contains("'vaultfmt rekey --keep NUMBER'"))
        try sandbox.ok("verify")
    }

    @Test("it comes back after a compaction, a rotation, a move to another group and another name")
    func survives() throws {
        let sandbox = try sandbox(["first", "second"])
        try sandbox.ok("compact")
        try sandbox.ok("rekey", "--rotate")
        try sandbox.ok("move", "svc", "ann", "--to-service", "other", "--to-group", "work")
        try sandbox.ok("compact")
        #expect(try sandbox.ok("get", "other", "--earlier", "1").output == "first")
        try sandbox.ok("restore", "other", "--yes")
        #expect(try sandbox.ok("get", "other").output == "first")
        #expect(try sandbox.ok("verify").output.contains("1 with earlier values or conflicts"))
    }

    @Test("a value that is bound to a device is restored to an item that is not only after a question")
    func otherDevice() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "svc", "--accessible", "when-unlocked-this-device-only", input: "old".utf8)
        try sandbox.ok("set", "svc", input: "new".utf8)
        try sandbox.ok("restore", "svc")
        #expect(try sandbox.ok("get", "svc").output == "old", "the item is bound to it as well")
        try sandbox.ok("set", "svc", input: "newer".utf8)
        try sandbox.ok("update", "svc", "--accessible", "always")
        let refused = try sandbox.run("restore", "svc", "--no-input")
        #expect(refused.status == 64 && refused.error.contains("this value can be read only on the device"))
        #expect(try sandbox.ok("get", "svc").output == "newer")
        try sandbox.ok("restore", "svc", "--yes")
        #expect(try sandbox.ok("get", "svc").output != "newer")
    }

    @Test(
        "a value from when the item was in another group is restored only after a question: others could read it here")
    func otherGroup() throws {
        let sandbox = try Sandbox.withVault()
        for secret in ["one", "two"] { try sandbox.ok("set", "svc", input: Array(secret.utf8)) }
        try sandbox.ok("move", "svc", "--to-group", "work")
        for secret in ["three", "four"] { try sandbox.ok("set", "svc", "--group", "work", input: Array(secret.utf8)) }
        func earlier(_ number: Int) throws -> String {
            try sandbox.ok("get", "svc", "--group", "work", "--earlier", "\(number)").output
        }
        #expect(try (1...3).map(earlier) == ["three", "two", "one"])
        let refused = try sandbox.run("restore", "svc", "--group", "work", "--earlier", "3", "--no-input")
        #expect(refused.status == 64 && refused.error.contains("use --yes"))
        #expect(
            refused.error.contains("from when the item was in the default group; the item is now in group 'work'"))
        #expect(try sandbox.ok("get", "svc", "--group", "work").output == "four")
        try sandbox.ok("restore", "svc", "--group", "work", "--earlier", "1")
        #expect(try sandbox.ok("get", "svc", "--group", "work").output == "three")
        try sandbox.ok("restore", "svc", "--group", "work", "--earlier", "3", "--yes")
        #expect(try sandbox.ok("get", "svc", "--group", "work").output == "one")
    }

    @Test(
        "where an earlier value was set is known after a copy or an export too, and restoring it there asks as well",
        arguments: ["copy", "json", "kdbx"])
    func otherGroupElsewhere(_ way: String) throws {
        let sandbox = try Sandbox.withVault()
        for secret in ["one", "two"] { try sandbox.ok("set", "svc", "--group", "admin", input: Array(secret.utf8)) }
        try sandbox.ok("move", "svc", "--to-group", "ci", "--yes")
        for secret in ["three", "four"] { try sandbox.ok("set", "svc", "--group", "ci", input: Array(secret.utf8)) }
        let (other, key) = (sandbox.path("other.vault"), sandbox.path("passphrase"))
        try sandbox.write("passphrase", Sandbox.passphrase.utf8)
        try sandbox.ok("create", other, "--kdf", "testing")
        switch way {
        case "copy":
            try sandbox.ok("copy", "svc", "--to", other, "--to-passphrase-file", key, "--history")
        case "json":
            let export = try sandbox.ok("export").bytes
            try sandbox.ok("import", try sandbox.write("export.json", export), "--vault", other)
        default:
            try sandbox.ok(
                "export", "--format", "kdbx", "--output", "out.kdbx", "--new-passphrase-file", key, "--kdf", "testing")
            try sandbox.ok("import", "out.kdbx", "--source-passphrase-file", key, "--vault", other)
        }
        func run(_ words: String...) throws -> Run { try sandbox.run(words + ["--group", "ci", "--vault", other]) }
        #expect(try run("get", "svc", "--earlier", "3").output == "one")
        let refused = try run("restore", "svc", "--earlier", "3", "--no-input")
        #expect(refused.status == 64)
        #expect(refused.error.contains("from when the item was in group 'admin'"), "\(refused.error)")
        #expect(try run("restore", "svc", "--earlier", "1", "--no-input").status == 0)
        #expect(try run("get", "svc").output == "three")
        #expect(try sandbox.ok("verify", other).output.hasPrefix("sound"))
    }

    @Test("--keep says how many there are: at creation, from now on, and none at all")
    func keep() throws {
        let sandbox = try Sandbox()
        try sandbox.ok("create", "--kdf", "testing", "--keep", "1")
        for value in ["a", "b", "c"] { try sandbox.ok("set", "svc", input: value.utf8) }
        #expect(try secrets(sandbox) == ["b"])
        #expect(try sandbox.ok("rekey", "--keep", "3").error.contains("each item now keeps 3 earlier values"))
        for value in ["d", "e", "f"] { try sandbox.ok("set", "svc", input: value.utf8) }
        #expect(try secrets(sandbox) == ["e", "d", "c"])
        // The passphrase and the cost stay.
        #expect(try sandbox.ok("inspect").output.contains("at most 3 of each"))
        let fewer = try sandbox.ok("rekey", "--keep", "0").error
        #expect(fewer.contains("1 item has more in the file") && fewer.contains("dropped when the item changes"))
        #expect(fewer.contains("'vaultfmt forget NAME --all'"))
        // They are still there, and nothing says otherwise.
        #expect(try sandbox.ok("compact").error.contains("1 item has earlier values (in 1 of them, more"))
        let hidden = try sandbox.ok("history", "svc")
        #expect(hidden.bytes == [] && hidden.error.contains("3 more earlier values are still in the file"))
        #expect(hidden.error.contains("--all'") && !hidden.error.contains("has no earlier values"))
        try sandbox.ok("rekey", "--keep", "2")
        let partly = try sandbox.ok("history", "svc")
        #expect(partly.lines.count == 2 && partly.error.contains("1 more earlier value is still in the file"))
        try sandbox.ok("rekey", "--keep", "0")
        try sandbox.ok("set", "svc", input: "g".utf8)
        let none = try sandbox.ok("history", "svc")
        #expect(none.bytes == [] && none.error.contains("has no earlier values"))
        #expect(try sandbox.ok("inspect").output.contains("at most 0 of each"))
        try sandbox.fails(64, "--keep must be between 0 and 50", "rekey", "--keep", "51")
        try sandbox.fails(64, "--keep must be between 0 and 50", "create", "other.vault", "--keep", "51")
        #expect(!FileManager.default.fileExists(atPath: sandbox.path("other.vault")))
    }

    @Test("forget drops one or all of them, after asking, and the item stays")
    func forget() throws {
        let sandbox = try sandbox(["one", "two", "three", "four"])
        try sandbox.fails(64, "use --yes", "forget", "svc", "--earlier", "1")
        try sandbox.fails(64, "use --earlier NUMBER, or --all", "forget", "svc", "--yes")
        try sandbox.fails(
            64, "--all cannot be combined with --earlier", "forget", "svc", "--yes", "--all", "--earlier", "1")
        #expect(try sandbox.ok("forget", "svc", "--earlier", "2", "--yes").error.contains("forgot 1 earlier value"))
        #expect(try secrets(sandbox) == ["three", "one"])
        #expect(try sandbox.ok("forget", "svc", "--all", "--yes").error.contains("forgot 5 earlier values"))
        #expect(try sandbox.ok("get", "svc").output == "four")
        #expect(try sandbox.ok("forget", "svc", "--all", "--yes").error.contains("has no earlier values"))
        let terminal = try self.sandbox(["a", "b"])
        let asked = try PseudoTerminal(terminal, "forget", "svc", "--all")
        try asked.expect("Forget 2 earlier values of")
        try asked.type("n\r")
        #expect(try asked.finish() == 77)
        #expect(try secrets(terminal) == ["a"])
    }

    @Test("a number that there is not, and an item that there is not, are exit 1 and change nothing")
    func absent() throws {
        let sandbox = try sandbox(["one", "two"])
        let before = try sandbox.read("test.vault")
        for command in [["get"], ["restore"], ["forget", "--yes"]] {
            let run = try sandbox.run(command + ["svc", "--earlier", "2"])
            #expect(run.status == 1 && run.error.contains("no earlier value 2: it has 1"), "\(run.error)")
            #expect(try sandbox.run(command + ["none", "--earlier", "1"]).status == 1)
            #expect(try sandbox.run(command + ["svc", "--earlier", "0"]).status == 64)
        }
        try sandbox.fails(1, "no field 'x'", "get", "svc", "--earlier", "1", "--field", "x")
        #expect(try sandbox.read("test.vault") == before)
    }

    @Test("a scoped slot reads and exports none of them (R-6.13)")
    func scoped() throws {
        let sandbox = try Sandbox.withVault()
        for value in ["one", "two"] { try sandbox.ok("set", "svc", "--group", "ci", input: value.utf8) }
        let key = try sandbox.write("raw", [UInt8](repeating: 7, count: 32))
        try sandbox.ok("slot", "add", "--new-raw-key-file", key, "--grant-group", "ci")
        #expect(try sandbox.ok("get", "svc", "--raw-key-file", key).output == "two")
        try sandbox.fails(77, "does not grant access to earlier values", "history", "svc", "--raw-key-file", key)
        try sandbox.fails(
            77, "does not grant access to earlier values", "get", "svc", "--earlier", "1", "--raw-key-file", key)
        let export = try sandbox.ok("export", "--raw-key-file", key)
        #expect(
            export.output.contains("\"two\"") && !export.output.contains("\"one\"")
                && !export.output.contains("\"earlier\""))
    }

    @Test("an import keeps as many as the vault does, names how many it leaves out, and refuses wrong ones")
    func imported() throws {
        let sandbox = try sandbox(["one", "two", "three", "four"])
        let export = try sandbox.ok("export").bytes
        let other = try Sandbox()
        try other.ok("create", "--kdf", "testing", "--keep", "2")
        // Something is lost, so the exit code says it.
        let run = try other.run(["import", "-"], input: export)
        #expect(run.status == 3)
        #expect(
            run.error.contains("imported 1 item, with 2 earlier values")
                && run.error.contains("not imported: 1 earlier values"))
        #expect(try secrets(other) == ["three", "two"])
        #expect(try other.ok("get", "svc", "--earlier", "2", "--field", "notes").output == "n-two")
        for (earlier, message) in [
            (#"{"modified": 1, "secret": "s"}"#, "has no time"), (#"{"modified": 1, "replaced": 2}"#, "lacks 'secret'"),
            (#"{"modified": 1, "replaced": 2, "secret": "s", "id": 1}"#, "the unknown member 'id'"),
            (
                #"{"modified": 1, "replaced": 2, "secret": "s", "attributes": {"a": {"text": "x", "base64": ""}}}"#,
                "one of 'text'"
            ),
            (
                #"{"modified": 1, "replaced": 2, "secret": "s", "attributes": {"a": {"text": "x", "flags": ["shiny"]}}}"#,
                "the unknown flag 'shiny'"
            ),
        ] {
            let item = #"{"class": "generic-password", "service": "x", "secret": "x", "earlier": [\#(earlier)]}"#
            let text = #"{"format": "vaultfmt-export", "version": 2, "items": [\#(item)]}"#
            try other.fails(65, message, "import", "-", input: text.utf8)
        }
        // Names that differ in nothing but how accents are composed, in an earlier value.
        let names = #"{"caf\#u{E9}": "1", "cafe\#u{301}": "2"}"#
        let item =
            #"{"class": "generic-password", "service": "x", "secret": "x", "earlier": [{"modified": 1, "replaced": 2, "secret": "s", "attributes": \#(names)}]}"#
        try other.ok("import", "-", input: #"{"format": "vaultfmt-export", "version": 2, "items": [\#(item)]}"#.utf8)
        let whole = try #require(try other.ok("get", "x", "--earlier", "1", "--json").json() as? [String: Any])
        #expect(try other.ok("get", "x", "--earlier", "1", "--field", "cafe\u{301}").output == "2")
        #expect(whole["secret"] as? String == "s")
    }
}
