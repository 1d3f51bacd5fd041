import Foundation
import Testing

@Suite("Unlocking once", .enabled(if: Machine.hasKeyring, "no kernel keyring here"))
struct UnlockTests {
    @Test("an unlocked vault opens to every command without asking, for reading and changing, until it is locked")
    func unlockAndLock() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "svc", "ann", input: "s3cret".utf8)
        #expect(try sandbox.ok("unlock").error.contains("for 15m"))
        sandbox.forgetPassphrase()
        #expect(try sandbox.ok("get", "svc", "ann").output == "s3cret")
        try sandbox.ok("set", "svc", "bob", input: "other".utf8)
        #expect(try sandbox.ok("list").lines.count == 2)
        #expect(try sandbox.ok("inspect").output.contains("owners: "))
        try sandbox.ok("verify")
        try sandbox.ok("compact")
        #expect(try sandbox.ok("get", "svc", "bob").output == "other")
        #expect(try sandbox.ok("lock").error.contains("is locked"))
        try sandbox.fails(77, "there is no terminal", "get", "svc", "ann")
        #expect(try sandbox.ok("lock").error.contains("was not unlocked"))
    }

    @Test("the timeout locks it again")
    func timeout() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.unlock(for: "1s")
        try Patience.until("the vault is locked again") { try sandbox.run("list").status != 0 }
        try sandbox.fails(77, "there is no terminal", "list")
        let form = "'--for <time>': expected a number with s, m, h or d, such as 15m, up to 30d"
        try sandbox.fails(64, form, "unlock", "--for", "31d")
        try sandbox.fails(64, "up to 30d", "unlock", "--for", "0s")
    }

    @Test("factors that are given come before what is kept, and unlocking itself needs them")
    func precedence() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.unlock()
        try sandbox.fails(77, "there is no terminal", "unlock")
        sandbox.environment["VAULTFMT_PASSPHRASE"] = "wrong"
        try sandbox.fails(77, "wrong passphrase", "list")
        try sandbox.ok("lock")
    }

    @Test("a scoped slot stays scoped: its groups open, others do not, and nothing can be changed")
    func scoped() throws {
        let sandbox = try Sandbox.withVault()
        for group in ["ci", "private"] {
            try sandbox.ok("set", group, "--group", group, input: "secret of \(group)".utf8)
        }
        let key = try sandbox.write("raw", (0..<32).map { UInt8($0) })
        try sandbox.ok("slot", "add", "--new-raw-key-file", key, "--grant-group", "ci")
        sandbox.forgetPassphrase()
        try sandbox.ok("unlock", "--raw-key-file", key)
        #expect(try sandbox.ok("list").lines.count == 2)
        #expect(try sandbox.ok("get", "ci").output == "secret of ci")
        try sandbox.fails(77, "does not grant", "get", "private")
        try sandbox.fails(77, "only read access", "set", "x", input: "s".utf8)
        try sandbox.ok("lock")
    }

    @Test("another passphrase, a rotation and the removal of its slot end it")
    func slotGone() throws {
        let sandbox = try Sandbox.withVault()
        let new = try sandbox.write("new", Sandbox.passphrase.utf8)
        try sandbox.ok("unlock")
        #expect(
            try sandbox.ok("rekey", "--new-passphrase-file", new, "--kdf", "testing").error.contains(
                "the vault is locked"))
        try sandbox.fails(77, "wrong passphrase", "list", "--passphrase-file", try sandbox.write("wrong", "wrong".utf8))
        try sandbox.ok("unlock")
        try sandbox.ok("rekey", "--rotate")
        sandbox.forgetPassphrase()
        try sandbox.fails(77, "there is no terminal", "list")

        let key = try sandbox.write("raw", (0..<32).map { UInt8($0) })
        try sandbox.ok("slot", "add", "--passphrase-file", new, "--new-raw-key-file", key, "--name", "raw")
        try sandbox.ok("unlock", "--raw-key-file", key)
        try sandbox.ok("list")
        let list = try #require(
            try sandbox.ok("slot", "list", "--json", "--passphrase-file", new).json() as? [String: [[String: Any]]])
        let id = try #require(list["slots"]?.first { $0["name"] as? String == "raw" }?["id"] as? String)
        try sandbox.ok("slot", "remove", id, "--yes", "--passphrase-file", new)
        try sandbox.fails(77, "there is no terminal", "list")
    }

    @Test("an unlocked vault is authenticated, and compared with what this machine remembers, like any other")
    func stillChecked() throws {
        let sandbox = try Sandbox.withVault()
        let old = try sandbox.read("test.vault")
        try sandbox.ok("set", "svc", input: "s".utf8)
        try sandbox.unlock()
        let whole = try sandbox.read("test.vault")
        var bytes = whole
        bytes[4095] ^= 1  // the last byte of the header's MACs
        try sandbox.write("test.vault", bytes)
        try sandbox.fails(65, "cannot be authenticated", "list")
        try sandbox.write("test.vault", old)
        try sandbox.fails(65, "rolled back", "list")
        try sandbox.write("test.vault", whole)
        try sandbox.ok("list")
        try sandbox.ok("lock")
    }

    @Test(
        "a session that does not possess the user keyring unlocks, reads and locks like any other",
        .enabled(if: Machine.has("keyctl")))
    func otherSession() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.linkPrograms()
        try sandbox.okShell("keyctl session - vaultfmt unlock")
        sandbox.forgetPassphrase()
        try sandbox.okShell(
            "keyctl session - vaultfmt list --no-input; vaultfmt list --no-input; keyctl session - vaultfmt lock")
        try sandbox.fails(77, "--no-input forbids prompting", "list", "--no-input")
    }

    @Test("lock --all locks every vault of the user")
    func lockAll() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.linkPrograms()
        try sandbox.ok("create", "--kdf", "testing", sandbox.path("second.vault"))
        // A user namespace has keyrings of its own: others' vaults stay as they are.
        let run = try sandbox.okShell(
            """
            unshare --user --map-root-user bash -euc '
              vaultfmt unlock
              vaultfmt unlock second.vault
              unset VAULTFMT_PASSPHRASE
              vaultfmt list --no-input
              vaultfmt lock --all
              if vaultfmt lock --all; then exit 1; fi
              if vaultfmt list --no-input; then exit 1; fi
              if vaultfmt list --no-input -f second.vault; then exit 1; fi'
            """)
        #expect(run.error.contains("locked 2 vaults") && run.error.contains("has its own keyrings"))
        try sandbox.fails(64, "leave out the file", "lock", "--all", sandbox.vault)
    }

    @Test("what is kept is in no file", .enabled(if: Machine.has("keyctl")))
    func inNoFile() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.linkPrograms()
        try sandbox.ok("list")
        let files = {
            try FileManager.default.subpathsOfDirectory(atPath: sandbox.folder).filter { !$0.hasPrefix(".") }.sorted()
        }
        let before = try files()
        let bytes = try sandbox.read("test.vault")
        try sandbox.unlock()
        try sandbox.ok("list")
        #expect(try files() == before)
        #expect(try sandbox.read("test.vault") == bytes)
        let id = try #require(try sandbox.ok("inspect").lines.first { $0.hasPrefix("id: ") }?.dropFirst(4))
        let shown = try sandbox.okShell("keyctl show @u")
        #expect(shown.output.contains("user: vaultfmt:\(id)"))
        try sandbox.ok("lock")
    }
}

@Suite("Without a kernel keyring")
struct NoKeyringTests {
    @Test("unlock says so, and everything else works as ever", arguments: ["EPERM", "ENOSYS"])
    func unlockSaysSo(_ error: String) throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.linkPrograms()
        let without = "strace -f -o trace -e trace=keyctl,add_key -e inject=keyctl,add_key:error=\(error) vaultfmt"
        let run = try sandbox.shell("\(without) unlock")
        #expect(run.status == 69)
        #expect(
            run.error.contains("the kernel keyring cannot be used here")
                && run.error.contains("VAULTFMT_PASSPHRASE_FILE"))
        try sandbox.write("new", Sandbox.passphrase.utf8)
        try sandbox.okShell("printf s | \(without) set svc; \(without) rekey --kdf testing --new-passphrase-file new")
        sandbox.forgetPassphrase()
        let locked = try sandbox.shell("\(without) get svc")
        #expect(locked.status == 77 && locked.error.contains("there is no terminal"))
        #expect(try sandbox.shell("\(without) lock").status == 69)
    }
}
