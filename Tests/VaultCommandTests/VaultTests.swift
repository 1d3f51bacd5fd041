import Foundation
import Testing

@Suite("create, inspect, verify, compact")
struct VaultTests {
    @Test("salvage names what is missing of a truncated vault, and never calls that complete")
    func truncated() throws {
        let sandbox = try Sandbox.withVault()
        for name in ["one", "two", "three"] { try sandbox.ok("set", name, input: name.utf8) }
        let whole = try sandbox.read("test.vault")
        let cut = try sandbox.write("cut.vault", whole.dropLast())
        let saved = sandbox.path("saved.vault")
        let run = try sandbox.fails(3, "look for an intact copy", "salvage", cut, "-o", saved, "--kdf", "testing")
        #expect(run.error.contains("not proven: generic-password 'three'"))
        #expect(run.error.contains("this machine has seen generation 4 of the vault"))
        #expect(run.error.contains("the newest commit in the file is of generation 3"))
        #expect(run.error.contains("recovered 3 items") && !run.error.contains("without the index"))
        #expect(try sandbox.ok("get", "three", "--vault", saved).output == "three")
        // Without the last change, only this machine's memory knows that something is missing.
        let half = try sandbox.write("half.vault", whole.prefix(whole.count - 1536))
        let missing = try sandbox.run("salvage", half, "-o", sandbox.path("half-saved.vault"), "--kdf", "testing")
        #expect(missing.status == 3 && missing.error.contains("later changes are missing"), "\(missing.error)")
        #expect(
            missing.error.contains("lost: unknown number, because changes up to generation 4")
                && !missing.error.contains("lost 0"),
            "\(missing.error)")
        sandbox.environment["XDG_STATE_HOME"] = sandbox.path("another machine")
        let elsewhere = try sandbox.run("salvage", cut, "-o", sandbox.path("other.vault"), "--kdf", "testing")
        #expect(
            elsewhere.status == 3 && elsewhere.error.contains("bytes of an incomplete change"), "\(elsewhere.error)")
        #expect(
            elsewhere.error.contains("lost: unknown number, because a change after the newest commit"),
            "\(elsewhere.error)")
    }

    @Test("salvage does not say that nothing is lost if bytes removed in the middle hide whole changes")
    func removedInTheMiddle() throws {
        let sandbox = try Sandbox.withVault()
        for name in ["one", "two", "three", "four"] { try sandbox.ok("set", name, input: name.utf8) }
        var bytes = try sandbox.read("test.vault")
        let records = bytes.indices.dropLast(4).filter { Array(bytes[$0..<$0 + 4]) == Array("vREC".utf8) }
        let third = try #require(records.dropFirst(2).first)
        bytes.removeSubrange(third..<third + 512)
        let gap = try sandbox.write("gap.vault", bytes)
        for machine in ["state", "another machine"] {
            sandbox.environment["XDG_STATE_HOME"] = sandbox.path(machine)
            let run = try sandbox.run(
                "salvage", gap, "-o", sandbox.path("saved-\(machine).vault"), "--kdf", "testing")
            #expect(run.status == 3, "\(machine): \(run.error)")
            #expect(run.error.contains("unknown number, because"), "\(machine): \(run.error)")
            #expect(!run.error.contains("lost 0"), "\(machine): \(run.error)")
        }
    }

    @Test("a path is shown whole, however long it is, so that it can be copied from the message")
    func longPaths() throws {
        let sandbox = try Sandbox()
        let names = Array(repeating: String(repeating: "d", count: 60), count: 4)
        let folder = sandbox.folder + "/" + names.joined(separator: "/")
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let path = folder + "/of-a-person.vault"
        #expect(try sandbox.ok("create", "--kdf", "testing", path).error.contains("created '\(path)'"))
        #expect(try sandbox.ok("compact", path).error.contains("'\(path)'"))
        try sandbox.fails(73, "'\(path)' already exists", "create", "--kdf", "testing", path)
        try sandbox.fails(66, "there is no vault '\(path)2'", "status", path + "2")
        try sandbox.fails(66, "'\(path)2'", "get", "svc", "--vault", path + "2")
    }

    @Test("create names a dangling link as such, and creates no file at its target")
    func danglingLink() throws {
        let sandbox = try Sandbox()
        let link = sandbox.path("link.vault")
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "target.vault")
        let run = try sandbox.fails(
            73, "is a symbolic link to a file that does not exist", "create", "--kdf", "testing", link)
        #expect(run.error.split(separator: "\n").count == 1)
        #expect(!FileManager.default.fileExists(atPath: sandbox.path("target.vault")))
        try sandbox.ok("create", "--kdf", "testing", sandbox.path("target.vault"))
        try sandbox.fails(73, "'\(link)' already exists", "create", "--kdf", "testing", link)
    }

    @Test(
        "U2: every command takes the vault by --vault or -f, before and after its name, and by an argument if it is about the file",
        arguments: [
            ["inspect"], ["verify"], ["export"], ["slot", "list"], ["compact"], ["anchor"], ["list"], ["get", "svc"],
            ["lock"],
            ["salvage", "--output", "new.vault", "--kdf", "testing"],
        ])
    func vaultEverywhere(_ command: [String]) throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "svc", input: "s".utf8)
        let vault = sandbox.vault
        sandbox.environment["VAULTFMT_VAULT"] = sandbox.path("absent")
        let isAboutItems = command[0] == "list" || command[0] == "get"
        if command[0] == "lock" && !Machine.hasKeyring { return }
        var ways = [
            command + ["--vault", vault], command + ["-f", vault], command + ["--vault=\(vault)"],
            ["--vault", vault] + command,
            ["-f", vault] + command, ["--vault=\(vault)"] + command,
        ]
        if command.count == 2 && !isAboutItems { ways.append([command[0], "-f", vault, command[1]]) }
        if !isAboutItems { ways += [command + [vault], command + [vault, "-f", vault]] }
        for way in ways {
            unlink(sandbox.path("new.vault"))
            let run = try sandbox.run(way)
            #expect(run.status == 0, "\(way): \(run.error)")
        }
        unlink(sandbox.path("new.vault"))
        if !isAboutItems { #expect(try sandbox.run(command + [vault, "-f", sandbox.path("other")]).status == 64) }
        if command[0] != "lock" { #expect(try sandbox.run(command).status == 66) }
    }

    @Test("U2: so do those that change the vault")
    func vaultEverywhereChanging() throws {
        let sandbox = try Sandbox()
        let vault = sandbox.path("one")
        sandbox.environment["VAULTFMT_VAULT"] = sandbox.path("absent")
        sandbox.environment["VAULTFMT_NEW_PASSPHRASE"] = "correct horse battery staple too"
        try sandbox.ok("-f", vault, "create", "--kdf", "testing")
        try sandbox.ok("-f", vault, "set", "svc", input: "s".utf8)
        try sandbox.ok("slot", "-f", vault, "add", "--kdf", "testing", "--name", "two")
        try sandbox.ok("slot", "remove", "two", "--yes", "-f", vault)
        try sandbox.ok("rekey", "--kdf", "testing", "--vault", vault)
        sandbox.environment["VAULTFMT_PASSPHRASE"] = "correct horse battery staple too"
        #expect(try sandbox.ok("get", "svc", "-f", vault).output == "s")
    }

    @Test("U5: after a kill within a transaction verify is content; a damaged header sends nobody in a circle")
    func advice() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "svc", input: "s".utf8)
        let sound = try sandbox.read("test.vault")
        try sandbox.write("test.vault", sound + [UInt8](repeating: 7, count: 100))
        #expect(try sandbox.ok("verify").output.contains("sound up to generation 2:"))
        try sandbox.ok("set", "svc", input: "t".utf8)
        try sandbox.ok("verify")
        var damaged = sound
        for at in 200..<216 { damaged[at] ^= 0xFF }
        try sandbox.write("test.vault", damaged)
        let list = try sandbox.run("list")
        // The copy of the header is whole.
        let salvage = try sandbox.run("salvage", sandbox.vault, "--output", "new.vault", "--kdf", "testing")
        #expect(list.status == 65 && list.error.contains("vaultfmt salvage"))
        // The last change was there when this machine last looked.
        #expect(salvage.status == 3 && salvage.error.contains("has seen generation 3"), "\(salvage.error)")
        #expect(try sandbox.ok("get", "svc", "-f", "new.vault").output == "s")
        for at in 200..<216 { damaged[4096 + at] ^= 0xFF }
        try sandbox.write("test.vault", damaged)
        let without = try sandbox.run("salvage", sandbox.vault, "--output", "other.vault")
        #expect(without.status != 0)
        #expect(
            !without.error.contains("'vaultfmt salvage'") && !without.error.contains("'vaultfmt inspect'"),
            "\(without.error)")
        #expect(!(try sandbox.run("inspect").error.contains("'vaultfmt inspect'")))
    }

    @Test(
        "U5: whatever is wrong with the header, inspect shows it or fails with one line, and nobody recommends what fails likewise"
    )
    func damagedHeader() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "svc", input: "s".utf8)
        let sound = try sandbox.read("test.vault")
        for at in Array(0..<16) + Array(stride(from: 16, to: 4096, by: 120)) {
            var damaged = sound
            damaged[at] ^= 0x41
            try sandbox.write("test.vault", damaged)
            let inspect = try sandbox.run("inspect")
            let list = try sandbox.run("list")
            #expect(list.status != 0, "\(at)")
            if inspect.status == 0 {
                #expect(inspect.error == "", "\(at): \(inspect.error)")
            } else {
                #expect(
                    inspect.error.hasPrefix("vaultfmt: ") && inspect.error.utf8.count { $0 == 0x0A } == 1,
                    "\(at): \(inspect.error)")
                #expect(!inspect.error.contains("'vaultfmt inspect'"), "\(at): \(inspect.error)")
            }
            if inspect.bytes.isEmpty {
                #expect([65, 69].contains(inspect.status), "\(at): \(inspect.status)")
                #expect(!list.error.contains("'vaultfmt inspect'"), "\(at): \(list.error)")
            } else {
                #expect(inspect.output.contains("unauthenticated"), "\(at): \(inspect.output)")
            }
            let salvage = try sandbox.run("salvage", "--output", "new.vault", "--kdf", "testing")
            if salvage.status != 0 && salvage.status != 3 {
                let said = inspect.error + list.error + salvage.error
                #expect(!said.contains("'vaultfmt salvage'"), "\(at): \(said)")
            }
            unlink(sandbox.path("new.vault"))
        }
    }

    @Test("create makes a vault that only its owner may read, and never overwrites")
    func create() throws {
        let sandbox = try Sandbox()
        let run = try sandbox.ok("create", "--kdf", "testing")
        #expect(run.bytes == [])
        #expect(run.error.contains("easy to guess"))
        let attributes = try FileManager.default.attributesOfItem(atPath: sandbox.vault)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        let before = try sandbox.read("test.vault")
        try sandbox.fails(73, "already exists", "create", "--kdf", "testing")
        #expect(try sandbox.read("test.vault") == before)
    }

    @Test("without a name it is the default vault, whose folder is made")
    func defaultVault() throws {
        let sandbox = try Sandbox()
        sandbox.environment["VAULTFMT_VAULT"] = nil
        try sandbox.ok("create", "--kdf", "testing")
        try sandbox.ok("set", "svc", input: "s".utf8)
        #expect(FileManager.default.fileExists(atPath: sandbox.path("data/vaultfmt/default.vault")))
        sandbox.environment["XDG_DATA_HOME"] = nil
        try sandbox.fails(66, "no vault", "get", "svc")
        try sandbox.ok("create", "--kdf", "testing")
        #expect(FileManager.default.fileExists(atPath: sandbox.path(".local/share/vaultfmt/default.vault")))
    }

    @Test("an option comes before the environment, and the environment before the default")
    func order() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("create", sandbox.path("other.vault"), "--kdf", "testing")
        try sandbox.ok("set", "svc", "-f", sandbox.path("other.vault"), input: "other".utf8)
        try sandbox.fails(1, "no item", "get", "svc")
        #expect(try sandbox.ok("get", "svc", "--vault", sandbox.path("other.vault")).output == "other")
    }

    @Test("the cost is a preset, figures, or measured; a weak one must be asked for and is marked")
    func cost() throws {
        let sandbox = try Sandbox()
        try sandbox.ok("create", "preset.vault", "--kdf", "interactive")
        #expect(try sandbox.ok("inspect", "preset.vault").output.contains("Argon2id 64 MiB/3/1"))
        try sandbox.ok("create", "figures.vault", "--kdf-memory", "20MiB", "--kdf-passes", "2", "--kdf-lanes", "1")
        #expect(try sandbox.ok("inspect", "figures.vault").output.contains("Argon2id 20 MiB/2/1"))
        try sandbox.fails(
            64, "--allow-weak-kdf", "create", "weak.vault", "--kdf-memory", "1MiB", "--kdf-passes", "1", "--kdf-lanes",
            "1")
        #expect(!FileManager.default.fileExists(atPath: sandbox.path("weak.vault")))
        try sandbox.ok(
            "create", "weak.vault", "--kdf-memory", "1MiB", "--kdf-passes", "1", "--kdf-lanes", "1", "--allow-weak-kdf")
        #expect(try sandbox.ok("inspect", "weak.vault").output.contains(", weak"))
        try sandbox.ok("create", "measured.vault", "--kdf-time", "0.05")
        try sandbox.ok("list", "-f", "measured.vault")
        try sandbox.fails(64, "cannot be combined", "create", "x.vault", "--kdf", "interactive", "--kdf-time", "1")
    }

    @Test("inspect without a key says what anybody can read, and that nobody vouches for it")
    func inspectOutside() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "svc", "alice", "--group", "hidden group", input: "s".utf8)
        sandbox.environment["VAULTFMT_PASSPHRASE"] = nil
        let text = try sandbox.ok("inspect", "--verbose").output
        for part in [
            "format: 1", "id: ", "slot 1: ", "full, passphrase, Argon2id", "weak", "tail: clean", "unauthenticated",
        ] {
            #expect(text.contains(part), "\(text)")
        }
        #expect(!text.contains("hidden group") && !text.contains("svc"))
        let json = try #require(try sandbox.ok("inspect", sandbox.vault, "--json").json() as? [String: Any])
        #expect(json["authenticated"] as? Bool == false)
        #expect(json["items"] == nil)
        #expect((json["slots"] as? [Any])?.count == 1)
        #expect((json["tail"] as? [String: Any])?["state"] as? String == "clean")
    }

    @Test("inspect with a factor says what is inside")
    func inspectInside() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "svc", "alice", "--group", "work", input: "s".utf8)
        try sandbox.ok("set", "--server", "h", input: "s".utf8)
        let text = try sandbox.ok("inspect", "--verbose").output
        for part in [
            "opened as: owner", "anchor: ", "items: 2", "  generic-password: 1", "  internet-password: 1",
            "compartment: group 'work'",
            "live: ",
            "tree: depth 1",
        ] {
            #expect(text.contains(part), "\(text)")
        }
        #expect(!text.contains("unauthenticated"))
        let json = try #require(try sandbox.ok("inspect", "--json").json() as? [String: Any])
        #expect(json["items"] as? Int == 2)
        #expect(json["authenticated"] as? Bool == true)
        let generation = try #require(json["generation"] as? Int)
        let anchor = try #require(json["anchor"] as? String)
        #expect(anchor.split(separator: ":")[1] == "\(generation)")
    }

    @Test("inspect shows what anybody can read also where the factors do not open the vault, and fails")
    func inspectWrongFactor() throws {
        let sandbox = try Sandbox.withVault()
        sandbox.environment["VAULTFMT_PASSPHRASE"] = "wrong"
        let run = try sandbox.fails(77, "wrong passphrase", "inspect", "--verbose")
        #expect(run.output.contains("tail: clean") && run.output.contains("unauthenticated"))
    }

    @Test("verify says that a whole vault is sound, and of a damaged one where")
    func verify() throws {
        let sandbox = try Sandbox.withVault()
        for number in 0..<40 { try sandbox.ok("set", "svc", "\(number)", input: "secret \(number)".utf8) }
        let sound = try sandbox.ok("verify")
        #expect(sound.output.hasPrefix("sound: "))
        #expect(sound.output.contains("40 items"))
        var bytes = try sandbox.read("test.vault")
        let record = try #require(bytes.firstRange(of: Array("vREC".utf8)))
        bytes[record.lowerBound + 100] ^= 1
        try sandbox.write("test.vault", bytes)
        let damaged = try sandbox.fails(65, "problems in", "verify")
        #expect(damaged.output.contains("byte \(record.lowerBound)"), "\(damaged.output)")
    }

    @Test("E17: what rewrites the file stops at a damaged secret, names the item and what helps; then it goes on")
    func damagedSecret() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "svc", "ann", input: "one".utf8)
        for number in 0..<20 { try sandbox.ok("set", "svc", "\(number)", input: "secret \(number)".utf8) }
        var bytes = try sandbox.read("test.vault")
        let record = try #require(bytes.firstRange(of: Array("vREC".utf8)))
        bytes[record.lowerBound + 100] ^= 1
        try sandbox.write("test.vault", bytes)
        let name = "the secret of generic-password 'svc' 'ann' cannot be read"
        try sandbox.fails(65, name, "compact")
        try sandbox.fails(65, "set another secret, restore an earlier value, or remove the item", "rekey", "--rotate")
        #expect(try sandbox.fails(65, "problems in", "verify").output.contains(name))
        #expect(try sandbox.read("test.vault") == bytes)
        #expect(try sandbox.ok("get", "svc", "7").output == "secret 7")
        // The old secret cannot be restored.
        #expect(!(try sandbox.ok("set", "svc", "ann", input: "two".utf8).error.contains("undo")))
        try sandbox.ok("compact")
        try sandbox.ok("rekey", "--rotate")
        try sandbox.ok("verify")
        #expect(try sandbox.ok("get", "svc", "ann").output == "two")
    }

    @Test(
        "a secret repairs an item whose damaged record also contains notes: they are named as lost (exit 3)",
        arguments: ["set", "restore"])
    func damagedSecretWithNotes(command: String) throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "svc", "ann", input: "zero".utf8)
        try sandbox.ok("set", "svc", "ann", "--attribute", "notes=private", input: "one".utf8)
        // What the newest commit has written itself would be an incomplete commit.
        try sandbox.ok("set", "later", input: "later".utf8)
        try sandbox.damageRecord(of: "svc", "ann")
        let name = "the secret of generic-password 'svc' 'ann' cannot be read"
        for reading in [["get"], ["show"], ["get", "--field", "notes"]] {
            let run = try sandbox.run(reading + ["svc", "ann"])
            #expect(run.status == 65 && run.error.contains(name), "\(reading): \(run.error)")
        }
        try sandbox.fails(65, name, "update", "svc", "ann", "--secret-attribute", "pin", input: "1".utf8)
        if command == "set" {
            let run = try sandbox.fails(3, "its attribute 'notes' is lost", "set", "svc", "ann", input: "two".utf8)
            #expect(!run.error.contains("undo"))
            #expect(run.error.contains("the next merge also removes it from other copies"))
        } else {
            try sandbox.fails(3, "its attribute 'notes' is lost", "restore", "svc", "ann")
        }
        #expect(try sandbox.ok("get", "svc", "ann").output == (command == "set" ? "two" : "zero"))
        try sandbox.fails(1, "notes", "get", "svc", "ann", "--field", "notes")
        try sandbox.ok("compact")
        try sandbox.ok("verify")
    }

    @Test("verify --anchor takes a vault that is at the anchor or continues it")
    func verifyAnchor() throws {
        let sandbox = try Sandbox.withVault()
        let anchor = try sandbox.ok("anchor").output.trimmingCharacters(in: .newlines)
        let early = try sandbox.read("test.vault")
        try sandbox.ok("verify", "--anchor", anchor)
        try sandbox.ok("set", "svc", input: "s".utf8)
        try sandbox.ok("verify", "--anchor", anchor)
        let later = try sandbox.ok("anchor").output.trimmingCharacters(in: .newlines)
        try sandbox.ok("create", "other.vault", "--kdf", "testing")
        try sandbox.fails(65, "the anchor belongs to vault", "verify", "other.vault", "--anchor", later)
        try sandbox.fails(64, "is not an anchor", "verify", "--anchor", "nonsense")
        sandbox.environment["XDG_STATE_HOME"] = sandbox.path("another machine")
        try sandbox.write("test.vault", early)
        try sandbox.fails(65, "older than the anchor's", "verify", "--anchor", later)
        try sandbox.ok("set", "svc", input: "another branch".utf8)
        try sandbox.fails(65, "is forked", "verify", "--anchor", later)
    }

    @Test("compact makes the file smaller, keeps everything, and says what older copies hold")
    func compact() throws {
        let sandbox = try Sandbox.withVault()
        let large = try sandbox.write("large", [UInt8](repeating: 7, count: 1 << 20))
        for name in ["svc", "gone"] { try sandbox.ok("set", name, "--secret-file", large) }
        try sandbox.ok("rm", "gone", "--yes")
        let before = try sandbox.read("test.vault").count
        let run = try sandbox.ok("compact")
        #expect(run.error.contains("older copies still contain the removed data"))
        #expect(try sandbox.read("test.vault").count < before - (1 << 20))
        #expect(try sandbox.ok("get", "svc").bytes.count == 1 << 20)
        try sandbox.ok("verify")
    }

    @Test("salvage recovers what authenticates into a new file, names the rest, and leaves its input alone")
    func salvage() throws {
        let sandbox = try Sandbox.withVault()
        for name in ["one", "two", "three"] { try sandbox.ok("set", name, input: "secret \(name)".utf8) }
        var bytes = try sandbox.read("test.vault")
        let record = try #require(bytes.firstRange(of: Array("vREC".utf8)))
        bytes[record.lowerBound + 100] ^= 1
        try sandbox.write("test.vault", bytes)
        let run = try sandbox.run("salvage", sandbox.vault, "--output", sandbox.path("new.vault"), "--kdf", "testing")
        #expect(run.status == 3, "D10: done, but something is missing")
        #expect(run.error.contains("recovered 2 items"), "\(run.error)")
        #expect(run.error.contains("lost"))
        #expect(try sandbox.read("test.vault") == bytes)
        let list = try sandbox.ok("list", "-f", sandbox.path("new.vault"))
        #expect(list.lines.count == 2)
        #expect(try sandbox.ok("get", "three", "-f", sandbox.path("new.vault")).output == "secret three")
        try sandbox.fails(
            73, "already exists", "salvage", sandbox.vault, "-o", sandbox.path("new.vault"), "--kdf", "testing")
    }

    @Test("M4: a salvaged vault is remembered as any new one: no first sight, and it cannot be rolled back")
    func salvagedIsRemembered() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "svc", input: "s".utf8)
        try sandbox.ok("salvage", "--output", sandbox.path("new.vault"), "--kdf", "testing")
        sandbox.environment["VAULTFMT_VAULT"] = sandbox.path("new.vault")
        let salvaged = try sandbox.read("new.vault")
        #expect(try sandbox.ok("get", "svc").error == "")
        try sandbox.ok("set", "svc", input: "t".utf8)
        try sandbox.write("new.vault", salvaged)
        try sandbox.fails(65, "rolled back", "get", "svc")
        // Another vault, with an entry of its own.
        let names = try FileManager.default.contentsOfDirectory(atPath: sandbox.path("state/vaultfmt/anchors"))
        #expect(names.count { $0.hasSuffix(".owner") } == 2, "\(names)")
    }
}
