import Foundation
import Testing
import VaultBytes

@Suite("Factors, slots, rekey")
struct FactorTests {
    @Test("options come before the environment; one newline of a passphrase file is not part of it")
    func passphraseSources() throws {
        let sandbox = try Sandbox.withVault()
        sandbox.environment["VAULTFMT_PASSPHRASE"] = "wrong"
        let file = try sandbox.write("pass", (Sandbox.passphrase + "\n").utf8)
        try sandbox.ok("list", "--passphrase-file", file)
        try sandbox.ok("list", "--passphrase-fd", "0", input: (Sandbox.passphrase + "\n").utf8)
        try sandbox.fails(77, "wrong passphrase", "list")
        sandbox.environment["VAULTFMT_PASSPHRASE"] = nil
        sandbox.environment["VAULTFMT_PASSPHRASE_FILE"] = file
        try sandbox.ok("list")
        try sandbox.write("pass", (Sandbox.passphrase + "\n\n").utf8)
        try sandbox.fails(77, "wrong passphrase", "list")
        try sandbox.write("pass", [0xFF, 0xFE])
        try sandbox.fails(64, "UTF-8", "list")
        try sandbox.fails(66, "passphrase file", "list", "--passphrase-file", sandbox.path("absent"))
        try sandbox.fails(64, "standard input cannot provide both", "set", "x", "--passphrase-fd", "0", input: "p".utf8)
    }

    @Test("a key file with a passphrase needs both, whichever way they come")
    func bothFactors() throws {
        let sandbox = try Sandbox()
        let key = try sandbox.write("key", "any file will do".utf8)
        try sandbox.ok("create", "--kdf", "testing", "--key-file", key)
        try sandbox.ok("list", "--key-file", key)
        try sandbox.fails(77, "a passphrase and a key file", "list")
        let other = try sandbox.write("other", "any file will not do".utf8)
        try sandbox.fails(77, "wrong passphrase or key file", "list", "--key-file", other)
        sandbox.environment["VAULTFMT_KEY_FILE"] = key
        try sandbox.ok("list")
        sandbox.environment["VAULTFMT_PASSPHRASE"] = nil
        try sandbox.fails(77, "no passphrase is given", "list", "--no-input")
        let terminal = try PseudoTerminal(sandbox, "list")
        try terminal.expect("Passphrase for")
        try terminal.answerHidden(Sandbox.passphrase)
        #expect(try terminal.finish() == 0)
    }

    @Test("a key file alone opens its slot without asking, and a passphrase opens its own beside it")
    func keyFileAlone() throws {
        let sandbox = try Sandbox.withVault()
        let key = try sandbox.write("key", "some key".utf8)
        try sandbox.ok("slot", "add", "--new-key-file", key, "--kdf", "testing", "--name", "backup")
        try sandbox.ok("list", "--key-file", key)
        sandbox.environment["VAULTFMT_PASSPHRASE"] = nil
        try sandbox.ok("list", "--key-file", key)
        sandbox.environment["VAULTFMT_KEY_FILE"] = key
        try sandbox.ok("list")
        sandbox.environment["VAULTFMT_PASSPHRASE"] = "wrong"
        try sandbox.ok("list")
    }

    @Test("a slot for the key file alone keeps nobody from typing the passphrase that goes with another key file")
    func keyFileOfTwo() throws {
        let sandbox = try Sandbox()
        let (work, backup) = (try sandbox.write("work", "work".utf8), sandbox.path("backup"))
        try sandbox.ok("create", "--key-file", work, "--kdf", "testing")
        sandbox.environment["VAULTFMT_KEY_FILE"] = nil
        try sandbox.write("backup", "backup".utf8)
        try sandbox.ok("slot", "add", "--key-file", work, "--new-key-file", backup, "--kdf", "testing")
        sandbox.environment["VAULTFMT_PASSPHRASE"] = nil
        try sandbox.ok("list", "--key-file", backup)
        let terminal = try PseudoTerminal(sandbox, "list", "--key-file", work)
        try terminal.expect("Passphrase for")
        try terminal.answerHidden(Sandbox.passphrase)
        #expect(try terminal.finish() == 0)
        try sandbox.fails(77, "no slot opens", "list", "--key-file", work, "--no-input")
        // Commands that never ask show what they can.
        sandbox.environment["VAULTFMT_KEY_FILE"] = work
        for command in ["status", "inspect"] {
            let quiet = try PseudoTerminal(sandbox, command)
            #expect(try quiet.finish() != 75 && !quiet.screen.contains("Passphrase for"), "\(quiet.screen)")
        }
    }

    @Test("a factor that is to be removed cannot come from the environment")
    func removedAndGiven() throws {
        let sandbox = try Sandbox()
        let key = try sandbox.write("key", "key".utf8)
        try sandbox.ok("create", "--key-file", key, "--kdf", "testing")
        sandbox.environment["VAULTFMT_NEW_PASSPHRASE"] = "another"
        try sandbox.fails(64, "both removed and set", "rekey", "--key-file", key, "--remove-passphrase")
        try sandbox.ok("list", "--key-file", key)
    }

    @Test("U6: what opens a slot is said where it is made, and a factor can be taken away")
    func removal() throws {
        let sandbox = try Sandbox()
        let key = try sandbox.write("key", "any file".utf8)
        sandbox.environment["VAULTFMT_KEY_FILE"] = key
        #expect(
            try sandbox.ok("create", "--kdf", "testing").error.contains(
                "it opens with a passphrase and a key file together"))
        sandbox.environment["VAULTFMT_KEY_FILE"] = nil
        try sandbox.fails(77, "it opens with a passphrase and a key file (--key-file)", "list")
        let run = try sandbox.ok("rekey", "--key-file", key, "--remove-key-file", "--kdf", "testing")
        #expect(run.error.contains("it opens with a passphrase;"))
        try sandbox.ok("list")
        try sandbox.fails(64, "uses no key file", "rekey", "--remove-key-file")
        try sandbox.fails(64, "the slot would have no factor left", "rekey", "--remove-passphrase")
        #expect(try sandbox.ok("rekey", "--new-key-file", key, "--kdf", "testing").error.contains(" together"))
        try sandbox.ok("rekey", "--key-file", key, "--remove-passphrase", "--kdf", "testing")
        sandbox.environment["VAULTFMT_PASSPHRASE"] = nil
        try sandbox.ok("list", "--key-file", key)
        try sandbox.fails(64, "cannot be combined", "rekey", "--remove-passphrase", "--remove-key-file")
        let added = try sandbox.ok(
            "slot", "add", "--key-file", key, "--new-raw-key-file", try sandbox.write("raw", (0..<32).map { UInt8($0) })
        )
        #expect(added.error.contains("it opens with a raw key"))
    }

    @Test("U7: a weak passphrase is remarked on, a strong one is not, and a measured cost is not below the default")
    func strength() throws {
        let sandbox = try Sandbox()
        for (number, passphrase) in [
            "1", "123456789012", "password1", "Passw0rd!", "aaaaaaaaaaaaaaaaaaaaaaaa", "hunter2",
        ].enumerated() {
            sandbox.environment["VAULTFMT_PASSPHRASE"] = passphrase
            #expect(
                try sandbox.ok("create", "--kdf", "testing", sandbox.path("weak\(number)")).error.contains(
                    "the passphrase is weak"),
                "\(passphrase)")
        }
        for (number, passphrase) in ["correct horse battery staple", "kJ8#mq2!xR", "длинная фраза"].enumerated() {
            sandbox.environment["VAULTFMT_PASSPHRASE"] = passphrase
            let run = try sandbox.ok("create", "--kdf", "testing", sandbox.path("strong\(number)"))
            #expect(!run.error.contains("weak, about"), "\(passphrase)")
        }
        let run = try sandbox.ok("create", "--kdf-time", "0.001", sandbox.path("slow"))
        #expect(run.error.contains("using the default cost"))
        #expect(try sandbox.ok("slot", "list", sandbox.path("slow")).output.contains("256 MiB"))
    }

    /// A vault whose slot has more passes than readers allow by default, on a machine that has not seen it.
    private func costly() throws -> Sandbox {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "svc", input: "s".utf8)
        let cost = SlotParameters.Cost(memoryKiB: 64, passes: 17, lanes: 1)
        try sandbox.write(
            "test.vault", Headers.costing(cost, sandbox.read("test.vault"), passphrase: Sandbox.passphrase))
        sandbox.environment["XDG_STATE_HOME"] = sandbox.path("another machine's state")
        sandbox.environment["XDG_DATA_HOME"] = sandbox.path("another machine's data")
        try sandbox.fails(78, "--max-kdf-passes", "get", "svc")
        #expect(try sandbox.ok("get", "svc", "--max-kdf-passes", "17").output == "s")
        return sandbox
    }

    @Test(
        "a slot that only --max-kdf-passes lets open is changed, kept and rotated with it, and stays as costly",
        arguments: [["--new-passphrase-file", "new"], ["--rotate", "--yes"], ["--kdf", "testing"]])
    func costlySlot(_ change: [String]) throws {
        let sandbox = try costly()
        let new = try sandbox.write("new", "another good passphrase".utf8)
        try sandbox.fails(78, "--max-kdf-passes", "rekey", "--rotate", "--yes")
        try sandbox.ok(["rekey", "--max-kdf-passes", "17"] + change)
        let opening = change.contains("new") ? ["--passphrase-file", new] : []
        let raised = change.contains("--kdf") ? [] : ["--max-kdf-passes", "17"]
        #expect(try sandbox.ok(["get", "svc"] + opening + raised).output == "s")
        let isStillCostly = try sandbox.run(["get", "svc"] + opening).status == 78
        #expect(isStillCostly == !raised.isEmpty)
    }

    @Test("a rotation finds the costly slots to keep within --max-kdf-passes, too")
    func costlyKept() throws {
        let sandbox = try costly()
        let raised = ["--max-kdf-passes", "17"]
        let first = try sandbox.write("first", Sandbox.passphrase.utf8)
        let key = try sandbox.write("raw", (0..<32).map { UInt8($0) })
        try sandbox.ok(["slot", "add", "--new-raw-key-file", key] + raised)
        try sandbox.fails(
            78, "--max-kdf-passes", "rekey", "--rotate", "--yes", "--raw-key-file", key, "--keep-passphrase-file",
            first)
        try sandbox.ok(
            ["rekey", "--rotate", "--yes", "--raw-key-file", key, "--keep-passphrase-file", first] + raised)
        #expect(try sandbox.ok(["get", "svc"] + raised).output == "s")
        #expect(try sandbox.ok("slot", "list", "--raw-key-file", key).lines.count == 2)
    }

    @Test("a raw key is 32 bytes and stands alone")
    func rawKey() throws {
        let sandbox = try Sandbox()
        let key = try sandbox.write("raw", (0..<32).map { UInt8($0) })
        try sandbox.ok("create", "--raw-key-file", key)
        try sandbox.ok("set", "svc", "--raw-key-file", key, input: "s".utf8)
        #expect(try sandbox.ok("get", "svc", "--raw-key-file", key).output == "s")
        try sandbox.fails(77, "it opens with a raw key (--raw-key-file)", "get", "svc")
        let short = try sandbox.write("short", [1, 2, 3])
        try sandbox.fails(64, "exactly 32 bytes", "get", "svc", "--raw-key-file", short)
        try sandbox.fails(64, "cannot be combined", "get", "svc", "--raw-key-file", key, "--key-file", short)
    }

    @Test("slots are listed, added, named and removed; the last full one stays")
    func slots() throws {
        let sandbox = try Sandbox.withVault()
        sandbox.environment["VAULTFMT_NEW_PASSPHRASE"] = "second"
        try sandbox.ok("slot", "add", "--kdf", "testing", "--name", "second one")
        let rows = try sandbox.ok("slot", "list").lines.map { $0.components(separatedBy: "\t") }
        #expect(rows.count == 2)
        #expect(rows[1][1] == "second one")
        #expect(rows[0].last == "weak, opened this")
        sandbox.environment["VAULTFMT_PASSPHRASE"] = "second"
        try sandbox.ok("list")
        try sandbox.fails(64, "use --yes", "slot", "remove", rows[0][0])
        #expect(try sandbox.ok("slot", "list").lines.count == 2)
        let removal = try sandbox.ok("slot", "remove", rows[0][0], "--yes")
        #expect(removal.error.contains("until 'vaultfmt rekey --rotate'"))
        sandbox.environment["VAULTFMT_PASSPHRASE"] = Sandbox.passphrase
        try sandbox.fails(77, "wrong passphrase", "list")
        sandbox.environment["VAULTFMT_PASSPHRASE"] = "second"
        try sandbox.fails(64, "add another full slot first", "slot", "remove", "second one")
        try sandbox.fails(1, "no slot is named", "slot", "remove", "nothing")
        #expect((try sandbox.ok("slot", "list", "--json").json() as? [String: [Any]])?["slots"]?.count == 1)
    }

    @Test("a scoped slot lists everything, opens its group's secrets only, and changes nothing")
    func scoped() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "svc", "--group", "ci", input: "for ci".utf8)
        try sandbox.ok("set", "private", input: "not for ci".utf8)
        let key = try sandbox.write("ci.key", (0..<32).map { UInt8($0) })
        try sandbox.ok("slot", "add", "--new-raw-key-file", key, "--grant-group", "ci", "--name", "CI")
        #expect(try sandbox.ok("list", "--raw-key-file", key).lines.count == 2)
        #expect(try sandbox.ok("get", "svc", "--raw-key-file", key).output == "for ci")
        try sandbox.fails(77, "does not grant", "get", "private", "--raw-key-file", key)
        try sandbox.fails(77, "full slot", "set", "svc", "--group", "ci", "--raw-key-file", key, input: "new".utf8)
        #expect(try sandbox.ok("inspect", "--raw-key-file", key).output.contains("scoped to the groups 'ci'"))
    }

    @Test("rekey changes the passphrase and nothing else, and says what older copies open")
    func rekey() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "svc", input: "s".utf8)
        sandbox.environment["VAULTFMT_NEW_PASSPHRASE"] = "the new one"
        let run = try sandbox.ok("rekey")
        #expect(run.error.contains("until 'vaultfmt rekey --rotate'"))
        try sandbox.fails(77, "wrong passphrase", "get", "svc")
        sandbox.environment["VAULTFMT_PASSPHRASE"] = "the new one"
        #expect(try sandbox.ok("get", "svc").output == "s")
    }

    @Test("rekey asks for the new passphrase twice on a terminal")
    func rekeyAsks() throws {
        let sandbox = try Sandbox.withVault()
        let terminal = try PseudoTerminal(sandbox, "rekey")
        try terminal.expect("New passphrase for")
        try terminal.answerHidden("typed")
        try terminal.expect("again: ")
        try terminal.answerHidden("typed")
        #expect(try terminal.finish() == 0)
        sandbox.environment["VAULTFMT_PASSPHRASE"] = "typed"
        try sandbox.ok("list")
    }

    @Test("rekey keeps a slot's key file beside a new passphrase")
    func rekeyKeepsKeyFile() throws {
        let sandbox = try Sandbox()
        let key = try sandbox.write("key", "k".utf8)
        try sandbox.ok("create", "--kdf", "testing", "--key-file", key)
        let new = try sandbox.write("new", "new passphrase".utf8)
        try sandbox.ok("rekey", "--key-file", key, "--new-passphrase-file", new)
        try sandbox.ok("list", "--key-file", key, "--passphrase-file", new)
        try sandbox.fails(77, "a passphrase and a key file", "list", "--passphrase-file", new)
    }

    @Test("rekey --kdf changes the cost only")
    func rekeyCost() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("rekey", "--kdf-memory", "20", "--kdf-passes", "2", "--kdf-lanes", "1")
        let text = try sandbox.ok("inspect").output
        #expect(text.contains("Argon2id 20 MiB/2/1"))
        #expect(!text.contains(", weak"))
    }

    @Test("rekey --rotate encrypts everything anew; an older copy opens nothing later")
    func rotate() throws {
        let sandbox = try Sandbox.withVault()
        for name in ["a", "b", "c"] { try sandbox.ok("set", name, "--group", name, input: "secret \(name)".utf8) }
        let owners = { (text: String) in text.components(separatedBy: "\n").first { $0.hasPrefix("owners: ") } }
        let before = try #require(owners(try sandbox.ok("inspect").output))
        try sandbox.ok("rekey", "--rotate")
        let after = try #require(owners(try sandbox.ok("inspect").output))
        #expect(before != after)
        for name in ["a", "b", "c"] { #expect(try sandbox.ok("get", name).output == "secret \(name)") }
        #expect(try sandbox.ok("verify").error == "")
        // With new factors as well, only what holds after the rotation is said of older copies.
        sandbox.environment["VAULTFMT_NEW_PASSPHRASE"] = "the new one"
        let both = try sandbox.ok("rekey", "--rotate").error
        #expect(both.contains("changed the factors") && !both.contains("until 'vaultfmt rekey --rotate'"), "\(both)")
        #expect(both.contains("a key copied from one does not open this file"), "\(both)")
    }

    @Test("rotation keeps the slots whose factors are given, names the others, and drops them only with consent")
    func rotateDrops() throws {
        let sandbox = try Sandbox.withVault()
        let kept = try sandbox.write("kept", "kept passphrase".utf8)
        let lost = try sandbox.write("lost", "lost passphrase".utf8)
        try sandbox.ok("slot", "add", "--new-passphrase-file", kept, "--kdf", "testing", "--name", "kept")
        try sandbox.ok("slot", "add", "--new-passphrase-file", lost, "--kdf", "testing", "--name", "lost")
        let refused = try sandbox.fails(64, "use --yes", "rekey", "--rotate", "--keep-passphrase-file", kept)
        #expect(
            refused.error.contains("drops slot") && refused.error.contains("'lost'")
                && !refused.error.contains("'kept'"))
        try sandbox.ok("list", "--passphrase-file", lost)
        let wrong = try sandbox.write("wrong", "no such passphrase".utf8)
        try sandbox.fails(77, "does not open any slot", "rekey", "--rotate", "--yes", "--keep-passphrase-file", wrong)
        try sandbox.ok("rekey", "--rotate", "--yes", "--keep-passphrase-file", kept)
        try sandbox.ok("list")
        try sandbox.ok("list", "--passphrase-file", kept)
        try sandbox.fails(77, "wrong passphrase", "list", "--passphrase-file", lost)
    }

    @Test("at a terminal rotation asks for the passphrases of the other slots")
    func rotateAsks() throws {
        let sandbox = try Sandbox.withVault()
        for name in ["one", "two"] {
            let file = try sandbox.write(name, "\(name) passphrase".utf8)
            try sandbox.ok("slot", "add", "--new-passphrase-file", file, "--kdf", "testing", "--name", name)
        }
        let terminal = try PseudoTerminal(sandbox, "rekey", "--rotate")
        try terminal.expect("'one'")
        try terminal.answerHidden("one passphrase")
        try terminal.expect("'two'")
        try terminal.answerHidden("")
        try terminal.expect("drops slot")
        try terminal.expect("[y/N] ")
        try terminal.type("yes\r")
        #expect(try terminal.finish() == 0)
        try sandbox.ok("list", "--passphrase-file", sandbox.path("one"))
        try sandbox.fails(77, "wrong passphrase", "list", "--passphrase-file", sandbox.path("two"))
    }
}
