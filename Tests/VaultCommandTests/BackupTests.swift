import Foundation
import Testing

/// `restore --from`, and what a damaged file is called on a machine that knows the vault.
@Suite("Backups")
struct BackupTests {
    /// A vault with the items a and b, a backup of it, and then a change of a and a new item c.
    private func sandbox() throws -> Sandbox {
        let sandbox = try Sandbox.withVault()
        for name in ["a", "b"] { try sandbox.ok("set", name, input: "old".utf8) }
        try sandbox.write("yesterday.vault", try sandbox.read("test.vault"))
        for name in ["a", "c"] { try sandbox.ok("set", name, input: "new".utf8) }
        return sandbox
    }

    private func names(_ sandbox: Sandbox, vault: String? = nil) throws -> [String] {
        try sandbox.ok("list", "--vault", vault ?? sandbox.vault).lines.compactMap {
            $0.split(separator: "\t").dropFirst().first.map(String.init)
        }
    }

    @Test("a backup from before a slot was removed opens for it again, which is said")
    func removedSlot() throws {
        let sandbox = try Sandbox.withVault()
        let key = try sandbox.write("ci.key", Array(repeating: 7, count: 32))
        try sandbox.ok("slot", "add", "--name", "ci", "--new-raw-key-file", key)
        try FileManager.default.copyItem(atPath: sandbox.vault, toPath: sandbox.path("before.vault"))
        #expect(
            try !sandbox.ok("restore", "--from", "before.vault", "--yes").error.contains("opens the vault again"))
        try sandbox.ok("slot", "remove", "ci", "--yes")
        let said = try sandbox.ok("restore", "--from", "before.vault", "--yes").error
        #expect(said.contains("a removed slot opens the vault again") && said.contains("'ci'"))
    }

    @Test("a backup from before a passphrase was changed opens with the old one, which is said")
    func changedSlot() throws {
        let sandbox = try Sandbox.withVault()
        try FileManager.default.copyItem(atPath: sandbox.vault, toPath: sandbox.path("before.vault"))
        let new = try sandbox.write("new-passphrase", "another passphrase".utf8)
        try sandbox.ok("rekey", "--new-passphrase-file", new, "--kdf", "testing")
        let said = try sandbox.ok("restore", "--from", "before.vault", "--yes").error
        #expect(said.contains("a slot changed since the backup opens the vault again"), "\(said)")
    }

    @Test("a backup takes the vault's place, today's file stays under a name that is said, and both open")
    func restored() throws {
        let sandbox = try sandbox()
        let today = try sandbox.read("test.vault")
        try sandbox.fails(64, "use --yes", "restore", "--from", "yesterday.vault")
        try sandbox.fails(64, "use --yes", "restore", "--from", "yesterday.vault", "--no-input")
        #expect(try sandbox.read("test.vault") == today)
        let kept = sandbox.vault + ".before-restore"
        let said = try sandbox.ok("restore", "--from", "yesterday.vault", "--yes").error
        #expect(said.contains("with 2 items") && said.contains(kept) && said.contains("use --vault to open it"))
        #expect(try sandbox.read("test.vault.before-restore") == today)
        #expect(try names(sandbox) == ["a", "b"])
        #expect(try sandbox.ok("get", "a").output == "old")
        try sandbox.ok("set", "d", input: "x".utf8)
        #expect(try names(sandbox) == ["a", "b", "d"])
        // Once more, under another name, and the vault may be missing.
        #expect(try sandbox.ok("restore", "--from", "yesterday.vault", "--yes").error.contains(kept + "-2"))
        try FileManager.default.removeItem(atPath: sandbox.vault)
        try sandbox.ok("restore", "--from", "yesterday.vault", "--yes")
        #expect(try names(sandbox) == ["a", "b"])
        // What the message says about today's file: each place is remembered by itself.
        #expect(try names(sandbox, vault: kept) == ["a", "b", "c"])
        #expect(try names(sandbox) == ["a", "b"])
        // What was given up comes back only if it is asked for.
        try sandbox.fails(65, "--accept-dropped", "merge", sandbox.vault, kept)
        try sandbox.ok("merge", sandbox.vault, kept, "--accept-dropped")
        #expect(try names(sandbox) == ["a", "b", "c"])
    }

    @Test("another vault, a damaged backup and the vault itself are refused, and nothing changes")
    func refused() throws {
        let sandbox = try sandbox()
        let today = try sandbox.read("test.vault")
        try sandbox.ok("create", "other.vault", "--kdf", "testing")
        try sandbox.fails(64, "a backup of another vault", "restore", "--from", "other.vault", "--yes")
        var damaged = try sandbox.read("yesterday.vault")
        let last = try #require(damaged.lastIndex { $0 != 0 })
        damaged[last - 1000] ^= 1
        try sandbox.write("damaged.vault", damaged)
        #expect(try sandbox.run("restore", "--from", "damaged.vault", "--yes").status == 65)
        try sandbox.fails(64, "the vault itself", "restore", "--from", "test.vault", "--yes")
        try sandbox.fails(66, "does not exist", "restore", "--from", "nothing.vault", "--yes")
        try sandbox.fails(64, "leave out the item", "restore", "a", "--from", "yesterday.vault")
        #expect(try sandbox.read("test.vault") == today)
        #expect(!FileManager.default.fileExists(atPath: sandbox.vault + ".before-restore"))
        for word in ["backup", "snapshot"] { try sandbox.fails(64, "restore --from BACKUP", word) }
        try sandbox.fails(64, "slot add --grant-group", "share", "a")
    }

    @Test("today's file is never lost: not if the folder cannot be synced, nor if the vault cannot be replaced")
    func failures() throws {
        for (call, isReplaced) in [
            ("fsync:error=EIO:when=3", true), ("fsync:error=EIO:when=2", false), ("fsync:error=EIO:when=1", false),
            ("rename:error=EIO", false),
        ] {
            let sandbox = try sandbox()
            let today = try sandbox.read("test.vault")
            let run = try sandbox.run(
                [
                    "-qq", "-o", sandbox.path("trace"), "-e", "inject=\(call)", Child.binary, "restore", "--from",
                    "yesterday.vault", "--yes",
                ],
                program: "/usr/bin/strace")
            #expect(run.status == 74, "\(call): \(run.error)")
            let kept = sandbox.path("test.vault.before-restore")
            #expect(FileManager.default.fileExists(atPath: kept) == isReplaced, "\(call)")
            #expect(try sandbox.read(isReplaced ? "test.vault.before-restore" : "test.vault") == today, "\(call)")
            if isReplaced { #expect(run.error.contains(kept), "\(run.error)") }
        }
    }

    @Test("a backup under other owners' keys is refused until it is accepted by name")
    func foreign() throws {
        let sandbox = try sandbox()
        try sandbox.ok("rekey", "--rotate")
        let today = try sandbox.read("test.vault")
        try sandbox.fails(65, "belongs to other owners", "restore", "--from", "yesterday.vault", "--yes")
        #expect(try sandbox.read("test.vault") == today)
        // That this machine has seen the backup does not make its keys those of the vault again.
        try sandbox.ok("anchor", "--accept", "yesterday.vault")
        try sandbox.fails(65, "belongs to other owners", "restore", "--from", "yesterday.vault", "--yes")
        #expect(try sandbox.read("test.vault") == today)
        try sandbox.write("test.vault", try sandbox.read("yesterday.vault"))
        try sandbox.ok("anchor", "--accept")
        #expect(try names(sandbox) == ["a", "b"])
    }

    @Test("a backup that was opened before a rotation is not put in the vault's place after it")
    func foreignThatWasSeen() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.write("yesterday.vault", try sandbox.read("test.vault"))
        try sandbox.ok("verify", "yesterday.vault")
        try sandbox.ok("rekey", "--rotate")
        let today = try sandbox.read("test.vault")
        try sandbox.fails(65, "belongs to other owners", "restore", "--from", "yesterday.vault", "--yes")
        #expect(try sandbox.read("test.vault") == today)
        // What the message says.
        try sandbox.okShell("mv test.vault aside.vault; cp yesterday.vault test.vault")
        try sandbox.ok("anchor", "--accept")
        try sandbox.ok("verify")
        #expect(try sandbox.read("aside.vault") == today)
    }

    @Test("whoever can open the vault's file today can open the restored one, and nobody else")
    func attributes() throws {
        let sandbox = try sandbox()
        try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: sandbox.vault)
        try sandbox.okShell("python3 -c 'import os; os.setxattr(\"test.vault\", \"user.note\", b\"n\")'")
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o666], ofItemAtPath: sandbox.path("yesterday.vault"))
        try sandbox.ok("restore", "--from", "yesterday.vault", "--yes")
        var status = stat()
        #expect(stat(sandbox.vault, &status) == 0 && status.st_mode & 0o7777 == 0o640)
        #expect(
            try sandbox.okShell("python3 -c 'import os; print(os.listxattr(\"test.vault\"))'").output
                == "['user.note']\n")
    }

    @Test("if today's file is missing or damaged, every slot of the backup is named", arguments: [true, false])
    func slotsOfBackup(isMissing: Bool) throws {
        let sandbox = try sandbox()
        if isMissing {
            try FileManager.default.removeItem(atPath: sandbox.vault)
        } else {
            try sandbox.write("test.vault", [UInt8](repeating: 7, count: 4096))
        }
        let said = try sandbox.ok("restore", "--from", "yesterday.vault", "--yes").error
        #expect(said.contains("every slot of the backup opens the vault again"), "\(said)")
    }

    @Test("what was given up stays so when the vault is moved")
    func moved() throws {
        let sandbox = try sandbox()
        try sandbox.write("today.vault", try sandbox.read("test.vault"))
        try sandbox.write("test.vault", try sandbox.read("yesterday.vault"))
        try sandbox.ok("anchor", "--accept")
        let moved = sandbox.path("moved.vault")
        try FileManager.default.moveItem(atPath: sandbox.vault, toPath: moved)
        #expect(try names(sandbox, vault: moved) == ["a", "b"])
        try sandbox.fails(65, "--accept-dropped", "merge", moved, "today.vault")
        #expect(try names(sandbox, vault: moved) == ["a", "b"])
    }

    @Test("a backup of another vault is not put where the vault was", arguments: [true, false])
    func otherVault(isMissing: Bool) throws {
        let sandbox = try sandbox()
        try sandbox.ok("create", "team.vault", "--kdf", "testing")
        if isMissing {
            try FileManager.default.removeItem(atPath: sandbox.vault)
        } else {
            var bytes = try sandbox.read("test.vault")
            for index in 0..<bytes.count { bytes[index] ^= 0x55 }
            try sandbox.write("test.vault", bytes)
        }
        try sandbox.fails(65, "is a backup of another vault", "restore", "--from", "team.vault", "--yes")
        #expect(FileManager.default.fileExists(atPath: sandbox.vault) != isMissing)
        try sandbox.ok("restore", "--from", "yesterday.vault", "--yes")
    }

    @Test("a vault that another process is changing is not replaced")
    func locked() throws {
        let sandbox = try sandbox()
        let today = try sandbox.read("test.vault")
        let lock = try ForeignLock(sandbox.vault)
        try sandbox.fails(75, "is being changed by", "restore", "--from", "yesterday.vault", "--yes")
        lock.release()
        #expect(try sandbox.read("test.vault") == today)
        try sandbox.ok("restore", "--from", "yesterday.vault", "--yes")
    }

    @Test("a file that was cut off in a change to its slots is called so, and salvage says what is missing (U22)")
    func cutSlotChange() throws {
        let sandbox = try sandbox()
        let key = try sandbox.write("key", [UInt8](repeating: 7, count: 32))
        try sandbox.ok("slot", "add", "--new-raw-key-file", key)
        let whole = try sandbox.read("test.vault")
        let end = try #require(whole.lastIndex { $0 != 0 }) + 1
        for state in ["state", "a new machine"] {
            sandbox.environment["XDG_STATE_HOME"] = sandbox.path(state)
            for missing in [1, 300, 512] {
                try sandbox.write("test.vault", Array(whole[..<(end - missing)]))
                let run = try sandbox.fails(65, "the file was truncated during a change to its slots", "list")
                #expect(!run.error.contains("deliberately"), "\(run.error)")
                let saved = sandbox.path("saved \(state) \(missing)")
                let salvage = try sandbox.fails(3, "something is missing or not proven", "salvage", "--output", saved)
                #expect(salvage.error.contains("no commit authenticates the header that was used"))
                #expect(salvage.error.contains("this machine has seen generation") == (state == "state"))
                #expect(try names(sandbox, vault: saved) == ["a", "b", "c"])
            }
        }
    }

    @Test("a file that was cut off is called damaged, not rolled back, and verify does not call it sound")
    func cut() throws {
        let sandbox = try sandbox()
        let whole = try sandbox.read("test.vault")
        let end = try #require(whole.lastIndex { $0 != 0 })
        for missing in [40, 700] {
            let part = Array(whole[..<(end - missing)])
            try sandbox.write("test.vault", part)
            for command in ["list", "verify"] {
                let run = try sandbox.fails(65, "the file is damaged or cut off", command)
                #expect(!run.error.contains("rolled back") && !run.output.contains("sound"))
                #expect(run.error.contains("--vault BACKUP") && run.error.contains("salvage"))
                #expect(run.error.contains("opens at generation"))
            }
            #expect(try sandbox.read("test.vault") == part)
        }
        try sandbox.ok("restore", "--from", "yesterday.vault", "--yes")
        #expect(try names(sandbox) == ["a", "b"])
        #expect(try sandbox.read("test.vault.before-restore").count == end - 700)
        // A machine that has not seen the vault says how far it is sound.
        sandbox.environment["XDG_STATE_HOME"] = sandbox.path("elsewhere")
        let elsewhere = try sandbox.ok("verify", "test.vault.before-restore").output
        #expect(elsewhere.contains("sound up to generation") && elsewhere.contains("are not part of any change"))
    }

    @Test("verify checks an older copy, too: it reports the generation of a sound one, and the damage in any other")
    func verifiedCopies() throws {
        let sandbox = try sandbox()
        let run = try sandbox.ok("verify", "yesterday.vault")
        #expect(run.output.hasPrefix("sound up to generation 3: 2 items"), "\(run.output)")
        #expect(run.output.contains("this machine has seen generation 5: the file is an older copy"), "\(run.output)")
        let json = try #require(try sandbox.ok("verify", "yesterday.vault", "--json").json() as? [String: Any])
        #expect(json["sound"] as? Bool == true && json["generationSeen"] as? Int == 5, "\(json)")
        // Nothing was accepted.
        try sandbox.fails(65, "it is an older copy", "list", "--vault", "yesterday.vault")

        var damaged = try sandbox.read("yesterday.vault")
        let record = try #require(damaged.firstRange(of: Array("vREC".utf8))).lowerBound
        damaged[record + 100] ^= 1
        try sandbox.write("damaged.vault", damaged)
        let found = try sandbox.fails(65, "in '", "verify", "damaged.vault")
        #expect(found.output.contains("byte \(record)") && found.error.contains("problem"), "\(found)")

        // A copy of today's file, whose newest change is damaged or cut off.
        let whole = try sandbox.read("test.vault")
        let end = try #require(whole.lastIndex { $0 != 0 })
        var flipped = whole
        flipped[end - 100] ^= 1
        let cut = [40, 700].map { Array(whole[..<(end - $0)]) }
        for (bytes, isNamed) in [(flipped, true), (cut[0], true), (cut[1], false)] {
            try sandbox.write("today.vault", bytes)
            let run = try sandbox.fails(65, "is damaged or cut off: it opens at generation 4", "verify", "today.vault")
            #expect(run.error.contains("this machine has seen generation 5"), "\(run.error)")
            #expect(run.output.contains("byte") == isNamed && !run.output.contains("sound"), "\(run.output)")
        }
        // In the vault's own place, an older file was rolled back, however sound it is.
        try sandbox.write("test.vault", try sandbox.read("yesterday.vault"))
        let rolledBack = try sandbox.fails(65, "it was rolled back", "verify")
        #expect(!rolledBack.output.contains("sound"))
    }
}
