import Foundation
import TestSupport
import Testing
import VaultAge
import VaultBytes
import VaultCrypto
import VaultFmt

/// Vaults that age's keys open. The keys are made by age itself, and belong to nobody.
@Suite("Recipients and identities")
struct RecipientTests {
    @Test("a vault made for a recipient opens with its identity, from the option or the environment")
    func opening() throws {
        let sandbox = try Sandbox()
        let alice = try Key.alice(in: sandbox)
        sandbox.environment["VAULTFMT_PASSPHRASE"] = nil
        let made = try sandbox.ok("create", "--recipient", alice.recipient, "--recovery-key-file", sandbox.path("back"))
        #expect(made.error.contains("created the key file"))
        try sandbox.ok("set", "mail", "--identity", alice.file, input: "s3cret".utf8)
        try sandbox.ok("list", "--key-file", sandbox.path("back"))
        sandbox.environment["VAULTFMT_IDENTITY"] = alice.file
        #expect(try sandbox.ok("get", "mail").output.contains("s3cret"))
    }

    @Test("the recovery key opens the vault when the identity that the environment names is gone or fails")
    func recoveryKey() throws {
        let sandbox = try Sandbox()
        let alice = try Key.alice(in: sandbox)
        sandbox.environment["VAULTFMT_PASSPHRASE"] = nil
        let key = sandbox.path("back")
        try sandbox.ok("create", "--recipient", alice.recipient, "--recovery-key-file", key)
        sandbox.environment["VAULTFMT_IDENTITY"] = sandbox.path("gone")
        try sandbox.ok("list", "--key-file", key)
        try sandbox.fails(66, "VAULTFMT_IDENTITY names", "list")
        let plugin = try sandbox.write("plugin", "AGE-PLUGIN-NOTHERE-1QQPQXPZQRY\n".utf8)
        sandbox.environment["VAULTFMT_IDENTITY"] = plugin
        try sandbox.ok("list", "--key-file", key)
        sandbox.environment["VAULTFMT_IDENTITY"] = alice.file
        try sandbox.ok("list")
        let other = try sandbox.write("other", "another key file".utf8)
        try sandbox.fails(77, "no slot of this vault accepts these factors (--key-file);", "list", "--key-file", other)
        try sandbox.fails(64, "use --new-passphrase-file", "salvage", "--output", sandbox.path("saved"))
    }

    @Test("a vault is not made if its recovery key cannot be written")
    func recoveryKeyFails() throws {
        let sandbox = try Sandbox()
        let alice = try Key.alice(in: sandbox)
        sandbox.environment["VAULTFMT_PASSPHRASE"] = nil
        let key = sandbox.path("nothing/back")
        #expect(
            try sandbox.run("create", "--recipient", alice.recipient, "--recovery-key-file", key).status != 0)
        #expect(!FileManager.default.fileExists(atPath: sandbox.vault))
        // Nor is a key file left that opens nothing.
        try sandbox.ok("create", "--recipient", alice.recipient, "--no-recovery")
        try sandbox.fails(
            73, "already exists", "create", "--recipient", alice.recipient, "--recovery-key-file", sandbox.path("b"))
        #expect(!FileManager.default.fileExists(atPath: sandbox.path("b")))
    }

    @Test("another identity opens nothing: exit 77, and the message says what the vault takes")
    func wrongIdentity() throws {
        let sandbox = try Sandbox()
        let (alice, bob) = (try Key.alice(in: sandbox), try Key.bob(in: sandbox))
        sandbox.environment["VAULTFMT_PASSPHRASE"] = nil
        try sandbox.ok("create", "--recipient", alice.recipient, "--no-recovery")
        try sandbox.fails(77, "an age identity (--identity)", "list", "--identity", bob.file)
        try sandbox.fails(77, "an age identity (--identity)", "list", "--no-input")
        try sandbox.ok("list", "--identity", bob.file, "--identity", alice.file)
    }

    @Test("a vault for recipients only is refused, unless a recovery key is made or declined")
    func recovery() throws {
        let sandbox = try Sandbox()
        let alice = try Key.alice(in: sandbox)
        sandbox.environment["VAULTFMT_PASSPHRASE"] = nil
        try sandbox.fails(64, "--no-recovery", "create", "--recipient", alice.recipient)
        #expect(!FileManager.default.fileExists(atPath: sandbox.vault))
        try sandbox.fails(64, "require --recipient", "create", "--no-recovery")
        let taken = try sandbox.write("taken", "mine".utf8)
        try sandbox.fails(
            73, "taken", "create", "--recipient", alice.recipient, "--recovery-key-file", taken)
        #expect(!FileManager.default.fileExists(atPath: sandbox.vault))
        #expect(try sandbox.read("taken") == Array("mine".utf8))
    }

    @Test("a slot with a passphrase and a recipient takes both")
    func bothFactors() throws {
        let sandbox = try Sandbox()
        let alice = try Key.alice(in: sandbox)
        try sandbox.ok("create", "--recipient", alice.recipient, "--no-recovery", "--kdf", "testing")
        try sandbox.fails(77, "a passphrase and an age identity", "list")
        try sandbox.ok("list", "--identity", alice.file)
        sandbox.environment["VAULTFMT_PASSPHRASE"] = nil
        try sandbox.fails(77, "no passphrase is given", "list", "--identity", alice.file, "--no-input")
    }

    @Test("slot list names the recipients to owners, and inspect without factors their kinds only")
    func lists() throws {
        let sandbox = try Sandbox.withVault()
        let (alice, bob) = (try Key.alice(in: sandbox), try Key.bob(in: sandbox))
        let team = try sandbox.write("team", "# the team\n\(alice.recipient)\n\n\(bob.recipient)\n".utf8)
        try sandbox.ok("slot", "add", "--recipients-file", team, "--name", "team")
        let list = try sandbox.ok("slot", "list")
        #expect(list.output.contains(alice.recipient))
        #expect(list.output.contains(bob.recipient))
        #expect(list.output.contains("not post-quantum"))
        let json = try #require(try sandbox.ok("slot", "list", "--json").json() as? [String: Any])
        let slots = try #require(json["slots"] as? [[String: Any]])
        let slot = try #require(slots.first { $0["provider"] as? String == "age" })
        #expect(slot["recipients"] as? [String] == [alice.recipient, bob.recipient])
        #expect(slot["recipientKinds"] as? [String] == ["X25519", "X25519"])
        #expect(slot["postQuantum"] as? Bool == false)
        sandbox.environment["VAULTFMT_PASSPHRASE"] = nil
        let outside = try sandbox.ok("inspect")
        #expect(outside.output.contains("X25519"))
        #expect(!outside.output.contains(alice.recipient))
    }

    @Test("a rotation makes a recipient's slot again without the identity, which opens the vault afterwards")
    func rotation() throws {
        let sandbox = try Sandbox.withVault()
        let alice = try Key.alice(in: sandbox)
        try sandbox.ok("set", "mail", input: "s3cret".utf8)
        try sandbox.ok("slot", "add", "--recipient", alice.recipient, "--name", "alice")
        let state = sandbox.environment["XDG_STATE_HOME"]
        sandbox.environment["XDG_STATE_HOME"] = sandbox.path("another-machine")
        try sandbox.ok("list", "--identity", alice.file)
        sandbox.environment["XDG_STATE_HOME"] = state
        let old = try sandbox.read("test.vault")
        try sandbox.fails(64, "needs confirmation", "rekey", "--rotate")
        #expect(try sandbox.read("test.vault") == old)
        let run = try sandbox.ok("rekey", "--rotate", "--yes")
        #expect(run.error.contains("can be opened by \(alice.recipient)"))
        #expect(!run.error.contains("drops slot"))
        sandbox.environment["VAULTFMT_PASSPHRASE"] = nil
        #expect(try sandbox.ok("get", "mail", "--identity", alice.file).output.contains("s3cret"))
        // A machine that saw the vault before takes the new owners' key from the hand-over: it is not new, and not foreign.
        sandbox.environment["XDG_STATE_HOME"] = sandbox.path("another-machine")
        #expect(try !sandbox.ok("list", "--identity", alice.file).error.contains("is new to this machine"))
        // Opened by the identity, it is rotated by it too.
        try sandbox.ok("rekey", "--rotate", "--yes", "--identity", alice.file)
        try sandbox.ok("list", "--identity", alice.file)
    }

    @Test("a vault that is new to this machine and opened by an identity says who its owners are")
    func strangersVault() throws {
        let sandbox = try Sandbox()
        let alice = try Key.alice(in: sandbox)
        sandbox.environment["VAULTFMT_PASSPHRASE"] = nil
        try sandbox.ok("create", "--recipient", alice.recipient, "--no-recovery")
        sandbox.environment["XDG_STATE_HOME"] = sandbox.path("another-machine")
        let first = try sandbox.ok("list", "--identity", alice.file)
        #expect(first.error.contains("is new to this machine"))
        #expect(first.error.contains("--owner"))
        let second = try sandbox.ok("list", "--identity", alice.file)
        #expect(!second.error.contains("is new to this machine"))
    }

    @Test(
        "a vault that a stranger made for the recipient, with the owner's id and past, is refused where that was seen")
    func strangersVaultWithOwnersID() throws {
        let sandbox = try Sandbox()
        let (alice, bob) = (try Key.alice(in: sandbox), try Key.bob(in: sandbox))
        sandbox.environment["VAULTFMT_PASSPHRASE"] = nil
        try sandbox.ok("create", "--recipient", alice.recipient, "--recovery-key-file", sandbox.path("back"))
        try sandbox.ok("set", "mail", "--identity", alice.file, input: "s3cret".utf8)
        try sandbox.ok(
            "slot", "add", "--grant-group", "ci", "--create-group", "--recipient", bob.recipient, "--identity",
            alice.file)
        func on(_ machine: String) { sandbox.environment["XDG_STATE_HOME"] = sandbox.path(machine) }
        on("laptop")
        try sandbox.ok("list", "--identity", alice.file)
        on("ci")
        try sandbox.ok("list", "--identity", bob.file)
        let own = try sandbox.read("test.vault")
        let forged = try Key.strangersVault(like: sandbox, for: alice, bob)
        try sandbox.write("test.vault", forged)
        // The last machine has seen the vault with a scoped slot only, and would open the other one as an owner.
        for (machine, key) in [("state", alice), ("laptop", alice), ("ci", bob)] {
            on(machine)
            for words in [["list"], ["get", "mail"], ["set", "new", "--generate"], ["rekey", "--rotate", "--yes"]] {
                let run = try sandbox.run(words + ["--identity", key.file])
                #expect(run.status == 65 && run.output.isEmpty, "\(words): \(run.error)")
                #expect(run.error.contains("belongs to other owners"), "\(words): \(run.error)")
                #expect(run.error.split(separator: "\n").count == 1, "\(words): \(run.error)")
            }
        }
        // It can be had only by accepting these owners.
        on("new")
        #expect(try sandbox.ok("list", "--identity", alice.file).error.contains("anyone who knows your recipient"))
        #expect(try sandbox.read("test.vault") == forged)
        try sandbox.write("test.vault", own)
        on("state")
        #expect(try sandbox.ok("get", "mail", "--identity", alice.file).output.contains("s3cret"))
    }

    @Test("an encrypted file of identities asks for its passphrase, again after a wrong one")
    func encryptedFile() throws {
        let sandbox = try Sandbox()
        let alice = try Key.alice(in: sandbox)
        let file = try sandbox.write("alice.age", Key.aliceEncrypted.utf8)
        sandbox.environment["VAULTFMT_PASSPHRASE"] = nil
        try sandbox.ok("create", "--recipient", alice.recipient, "--no-recovery")
        try sandbox.fails(77, "--no-input forbids prompting", "list", "--identity", file, "--no-input")
        let terminal = try PseudoTerminal(sandbox, "list", "--identity", file)
        try terminal.expect("Passphrase for identity file")
        try terminal.answerHidden("not this one")
        try terminal.expect("wrong passphrase; try again")
        try terminal.expect("Passphrase for identity file")
        try terminal.answerHidden(Key.passphrase)
        #expect(try terminal.finish() == 0)
    }

    @Test("what is typed while an identity's passphrase is being checked is not shown")
    func typedWhileChecking() throws {
        let sandbox = try Sandbox()
        let alice = try Key.alice(in: sandbox)
        let file = try sandbox.write("alice.age", Key.aliceEncrypted.utf8)
        sandbox.environment["VAULTFMT_PASSPHRASE"] = nil
        try sandbox.ok("create", "--recipient", alice.recipient, "--no-recovery")
        let terminal = try PseudoTerminal(sandbox, "list", "--identity", file)
        for _ in 0..<2 {
            try terminal.expect("Passphrase for identity file")
            try terminal.answerHidden("not this one")
            // The line ends when the answer has been read; the check has begun.
            try terminal.expect("\r\n")
            try terminal.type("typed too early\r")
            try terminal.expect("wrong passphrase; try again")
        }
        try terminal.expect("Passphrase for identity file")
        try terminal.answerHidden(Key.passphrase)
        #expect(try terminal.finish() == 0)
        #expect(!terminal.screen.contains("typed too early"))
        #expect(terminal.echoes)
    }

    @Test("an OpenSSH Ed25519 key is a recipient and an identity")
    func openSSH() throws {
        let sandbox = try Sandbox()
        let key = sandbox.path("id_ed25519")
        let made = try sandbox.run(
            ["-q", "-t", "ed25519", "-N", "", "-C", "", "-f", key], program: "/usr/bin/ssh-keygen")
        try #require(made.status == 0, "\(made.error)")
        sandbox.environment["VAULTFMT_PASSPHRASE"] = nil
        try sandbox.ok("create", "--recipients-file", key + ".pub", "--no-recovery")
        try sandbox.ok("list", "--identity", key)
    }

    @Test("what is no recipient or identity is refused in one line, and the plugin that is missing is named")
    func refusals() throws {
        let sandbox = try Sandbox.withVault()
        let alice = try Key.alice(in: sandbox)
        let mistyped = String(alice.recipient.dropLast()) + "q"
        try sandbox.fails(64, "--recipient", "slot", "add", "--recipient", mistyped)
        let empty = try sandbox.write("empty", "# nobody\n".utf8)
        try sandbox.fails(64, "contains no recipients", "slot", "add", "--recipients-file", empty)
        try sandbox.fails(65, "this is a recipient", "list", "--identity", try sandbox.write("r", alice.recipient.utf8))
        try sandbox.fails(66, "identity file", "list", "--identity", sandbox.path("absent"))
        let plugin = try sandbox.write("plugin", (Key.pluginIdentity + "\n").utf8)
        try sandbox.ok("slot", "add", "--recipient", alice.recipient)
        sandbox.environment["VAULTFMT_PASSPHRASE"] = nil
        try sandbox.fails(69, "age-plugin-absent", "list", "--identity", plugin)
    }
}

/// An age key pair that was made for these tests, by age-keygen.
private struct Key {
    let recipient: String
    let file: String

    static func alice(in sandbox: Sandbox) throws -> Key {
        let identity = "AGE-SECRET-KEY-12JYX2P4WHTX0Z65HMMY6F7HNSAF3HR585YQ3QZRCRQ0Y029VPS3Q9D99H3"
        return Key(
            recipient: "age1gaacrf5g3d69yqxqnduxz52577mcsq0k0y660smh9u0ldg5rqcpspxghxw",
            file: try sandbox.write("alice.txt", "# for tests\n\(identity)\n".utf8))
    }

    static func bob(in sandbox: Sandbox) throws -> Key {
        let identity = "AGE-SECRET-KEY-15CP7UDL45WH99ZCFSHZC4C68TN6UT754ZQU8F2UFV9P4WHQY3P0SS2L6DK"
        return Key(
            recipient: "age1pyxvd3sm2r0swagcdjhncyda23ht94vr436nt265wamc6lqlraessclzzr",
            file: try sandbox.write("bob.txt", "\(identity)\n".utf8))
    }

    /// What somebody who knows recipients, and a vault's id and newest state, puts in place of that vault.
    static func strangersVault(like sandbox: Sandbox, for keys: Key...) throws -> [UInt8] {
        let keyFile = try KeyFile(contents: Secret(bytes: sandbox.read("back")))
        let own = try Vault.open(sandbox.vault, factors: try Factors(keyFile: keyFile)).anchor
        let recipients = try keys.map { key throws -> any Recipient in
            guard case .native(let recipient) = try RecipientText(key.recipient) else { throw Failure("not native") }
            return recipient
        }
        var draft = try Draft("stranger", key: [])
        draft.pass(for: own.vault.bytes, after: own.point)
        try draft.addSlot(AgeFactor(recipients: recipients), name: "yours")
        try draft.add(DraftKey.generic("mail", ""), Array("theirs".utf8))
        try draft.compact()
        return draft.file
    }

    static let passphrase = "correct horse"

    /// Alice's file, as `age -p -a` encrypts it.
    static let aliceEncrypted = """
        -----BEGIN AGE ENCRYPTED FILE-----
        YWdlLWVuY3J5cHRpb24ub3JnL3YxCi0+IHNjcnlwdCBJa2I5NndUZHFLdDc5MElL
        QlBXOHpRIDE4CnZIZitoN0ZHN3h5TlhidXBlQVNJQ21Nd0RQZHJlNFY0NkcvTHdm
        MkJhUW8KLS0tIG4zbzQzaUgwR0kyTGdSdCt2bTg4ZFA4c1p0eENPNXZ5ZVZFdkox
        YXAxQmcKzGtvaQtbDHjJf1Itc+trSwsmL8gp/6ko5Rc70bODL0Cqs5AV9fqc1z55
        80jM88ml3YgLMWrxIG1A7k6WX0Ax+C09Z174iyaTLH/I8pXxeTyF9cC4iX3SA46L
        alhLnN5XgSyPBY2cAi6PVhPJAVjIyo3o8MjHyrifAcdxihg9whj4DArn7LkXpa36
        FM883fikHqijuuC0eQMm3C7E7yu2su/pOb9rT2OjYA5t+/Tj6rrGMToXoWgJsFHt
        dKkbYLEQrOR2s4ZjMUwGLMifjnqykGLxtQAiUXwX
        -----END AGE ENCRYPTED FILE-----

        """

    /// The identity of a plugin that does not exist.
    static let pluginIdentity = "AGE-PLUGIN-ABSENT-1DEHKYMMY0YP280FE"
}
