import Foundation
import Testing

/// A vault and copies of it on other machines, each with a memory of its own.
private struct Machines {
    let sandbox: Sandbox

    init() throws {
        sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "svc", "ann", input: "one".utf8)
        try sandbox.ok("set", "old", "bob", "--label", "Old", input: "two".utf8)
    }

    /// Copies the vault, and runs commands on the copy as another machine would.
    @discardableResult
    func copy(_ name: String, _ changes: (Sandbox, String) throws -> Void = { _, _ in }) throws -> String {
        let path = sandbox.path(name)
        try sandbox.write(name, sandbox.read("test.vault"))
        try change(name, changes)
        return path
    }

    func change(_ name: String, _ changes: (Sandbox, String) throws -> Void) throws {
        let state = sandbox.environment["XDG_STATE_HOME"]
        sandbox.environment["XDG_STATE_HOME"] = sandbox.path("state of " + name)
        try changes(sandbox, sandbox.path(name))
        sandbox.environment["XDG_STATE_HOME"] = state
    }

    func exists(_ name: String) -> Bool { FileManager.default.fileExists(atPath: sandbox.path(name)) }

    func secret(_ service: String) throws -> String { try sandbox.ok("get", service).output }
}

@Suite("Merging")
struct MergeTests {
    @Test("two copies that both changed are merged; the dry run says the same and changes nothing; both copies stay")
    func merged() throws {
        let machines = try Machines()
        let sandbox = machines.sandbox
        let copy = try machines.copy("copy.vault") { sandbox, path in
            try sandbox.ok("set", "new", "--vault", path, input: "three".utf8)
            try sandbox.ok("remove", "old", "--yes", "--vault", path)
        }
        try sandbox.ok("update", "svc", "--label", "Mine")
        let (before, other) = (try sandbox.read("test.vault"), try sandbox.read("copy.vault"))

        let rehearsal = try sandbox.ok("merge", sandbox.vault, copy, "--dry-run")
        #expect(rehearsal.output.contains("would be merged: 1 item added, 0 changed, 1 removed"))
        #expect(try sandbox.read("test.vault") == before)
        let run = try sandbox.ok("merge", sandbox.vault, copy)
        #expect(run.output.contains("merged: 1 item added, 0 changed, 1 removed"))
        #expect(run.output.contains("  added: generic-password 'new'"))
        #expect(run.output.contains("  removed: generic-password 'old' 'bob'"))
        #expect(try sandbox.read("copy.vault") == other)
        #expect(try machines.secret("new") == "three")
        try sandbox.fails(1, "no item is named", "get", "old")
        #expect(try sandbox.ok("get", "svc", "--field", "label").output == "Mine")
        #expect(try sandbox.ok("merge", sandbox.vault, copy).output.contains("nothing to merge"))
        #expect(try sandbox.ok("verify").output.hasPrefix("sound"))

        // The other machine takes this one's state, and both are the same.
        try machines.change("copy.vault") { sandbox, path in
            let run = try sandbox.ok("merge", path, sandbox.vault)
            #expect(run.output.contains("replaced it"))
        }
        #expect(try sandbox.ok("diff", sandbox.vault, copy).output == "")
    }

    @Test("what was compacted away does not come back with a copy that has seen everything and still contains it")
    func compacted() throws {
        let machines = try Machines()
        let sandbox = machines.sandbox
        try sandbox.ok("set", "svc", "ann", input: "leaked".utf8)
        try sandbox.ok("set", "svc", "ann", input: "good".utf8)
        let copy = try machines.copy("copy.vault") { sandbox, path in
            try sandbox.ok("set", "new", "--vault", path, input: "three".utf8)
        }
        try sandbox.ok("remove", "old", "--yes")
        try sandbox.ok("forget", "svc", "ann", "--all", "--yes")
        try sandbox.ok("compact")
        try machines.change("copy.vault") { sandbox, path in
            try sandbox.ok("merge", path, sandbox.vault)
            #expect(try sandbox.ok("log", path).output.contains("'old' 'bob'"))
        }
        let erased = try sandbox.read("test.vault")
        let rehearsal = try sandbox.ok("merge", sandbox.vault, copy, "--dry-run")
        #expect(rehearsal.output.contains("would be merged: 1 item added, 0 changed, 0 removed"))
        let run = try sandbox.ok("merge", sandbox.vault, copy)
        #expect(run.output.contains(": merged: 1 item added, 0 changed, 0 removed"))
        // The compacted file goes on, and nothing in it is from before.
        #expect(try sandbox.read("test.vault").starts(with: erased))
        #expect(try !sandbox.ok("log", sandbox.vault).output.contains("'old' 'bob'"))
        try sandbox.fails(1, "no item is named 'old'", "restore", "old", "--yes")
        #expect(try sandbox.ok("history", "svc", "ann").output == "")
        #expect(try machines.secret("new") == "three" && machines.secret("svc") == "good")
        #expect(try sandbox.ok("merge", sandbox.vault, copy).output.contains("the same state"))
        #expect(try sandbox.ok("verify").output.hasPrefix("sound"))
    }

    @Test("a field that both changed is kept until it is settled: listed, shown, chosen; secrets only where asked for")
    func conflicts() throws {
        let machines = try Machines()
        let sandbox = machines.sandbox
        try sandbox.ok("set", "svc", "ann", input: "mine".utf8)
        let copy = try machines.copy("copy.vault")
        try sandbox.ok("set", "svc", "ann", "--label", "A", input: "here".utf8)
        try machines.change("copy.vault") { sandbox, path in
            try sandbox.ok("set", "svc", "ann", "--label", "B", "--vault", path, input: "there".utf8)
        }
        let run = try sandbox.fails(3, "conflicts to settle", "merge", sandbox.vault, copy)
        #expect(run.output.contains("both changed: generic-password 'svc' 'ann': secret, 'label'"))
        #expect(!run.output.contains("here") && !run.output.contains("there"))
        #expect(try machines.secret("svc") == "there")

        let listed = try sandbox.ok("conflicts")
        #expect(listed.output == "generic-password 'svc' 'ann': secret, 'label'\n")
        let json = try #require(try sandbox.ok("conflicts", "list", "--json").json() as? [[String: Any]])
        let first = try #require(json.first)
        let values = try #require(first["values"] as? [[String: Any]])
        #expect(values.map { $0["kind"] as? String } == ["secret", "attribute"])
        #expect(values.last?["name"] as? String == "label")
        let shown = try sandbox.ok("conflicts", "show", "svc").lines.map { $0.components(separatedBy: "\t") }
        #expect(shown.map { $0.last } == ["", "A"] && shown.map { $0[2] } == ["secret", "'label'"])
        #expect(try sandbox.ok("conflicts", "show", "svc", "--value", "1").output == "here")
        try sandbox.fails(1, "there is no value 3", "conflicts", "show", "svc", "--value", "3")

        let settled = try sandbox.ok("conflicts", "settle", "svc", "--keep", "1", "--keep", "2")
        #expect(settled.error.contains("with secret, 'label' as chosen"))
        #expect(try machines.secret("svc") == "here")
        #expect(try sandbox.ok("get", "svc", "--field", "label").output == "A")
        #expect(try sandbox.ok("conflicts").error.contains("there are no conflicts to settle"))
        #expect(try sandbox.ok("conflicts", "settle", "--all").error.contains("settled 0 items"))
    }

    @Test("a merge that seals a readable attribute says that it rewrote the file for it, and a dry run does not")
    func sealedInCopy() throws {
        let machines = try Machines()
        let sandbox = machines.sandbox
        try sandbox.ok("set", "svc", "ann", "--attribute", "pet=Biscuit", input: "one".utf8)
        let copy = try machines.copy("copy.vault")
        try machines.change("copy.vault") { sandbox, path in
            try sandbox.ok("update", "svc", "--secret-attribute", "pet", "--vault", path, input: "Rex".utf8)
        }
        // With a change here, too, the copy does not just replace the file.
        try sandbox.ok("set", "here", input: "h".utf8)
        let dry = try sandbox.ok("merge", "--dry-run", sandbox.vault, copy)
        #expect(dry.output.contains("would be merged") && !dry.error.contains("rewritten"), "\(dry.error)")
        let run = try sandbox.ok("merge", sandbox.vault, copy)
        let note = "the file was rewritten to protect the old value of 'pet' from its previous readers; 'vaultfmt undo'"
        #expect(run.error.contains(note), "\(run.error)")
        #expect(try sandbox.ok("get", "svc", "ann", "--field", "pet").output == "Rex")
        let again = try sandbox.ok("merge", sandbox.vault, copy)
        #expect(!again.error.contains("rewritten"), "\(again.error)")
    }

    @Test("a change of a field in conflict says which values give way to it and where they are; no other one does")
    func changedInConflict() throws {
        let machines = try Machines()
        let sandbox = machines.sandbox
        let copy = try machines.copy("copy.vault")
        try sandbox.ok("set", "svc", "ann", "--label", "A", "--comment", "x", input: "here".utf8)
        try machines.change("copy.vault") { sandbox, path in
            try sandbox.ok("set", "svc", "ann", "--label", "B", "--vault", path, input: "there".utf8)
        }
        try sandbox.fails(3, "conflicts to settle", "merge", sandbox.vault, copy)
        let (merged, settled) = (try sandbox.read("test.vault"), "this settled the conflict")
        #expect(try !sandbox.ok("update", "svc", "--comment", "y").error.contains(settled))
        #expect(try sandbox.ok("conflicts").output == "generic-password 'svc' 'ann': secret, 'label'\n")

        let label = try sandbox.ok("update", "svc", "--label", "C").error
        #expect(
            label.contains(
                "\(settled) that a merge had left in generic-password 'svc' 'ann': 1 value of 'label' gave way to it; it was discarded; "
                    + "'vaultfmt undo' leaves it to settle again"), "\(label)")
        let secret = try sandbox.ok("set", "svc", "ann", input: "new".utf8).error
        #expect(
            secret.contains(
                ": 1 value of secret gave way to it; it is now an earlier value ('vaultfmt history'); 'vaultfmt undo'"),
            "\(secret)")
        #expect(try sandbox.ok("history", "svc", "ann").lines.count >= 2)
        #expect(try sandbox.ok("conflicts").output == "")
        // It is as the message says.
        try sandbox.ok("undo")
        #expect(try sandbox.ok("conflicts").output == "generic-password 'svc' 'ann': secret\n")

        // Both at once, and in a vault that keeps no earlier values.
        try sandbox.write("test.vault", merged)
        try sandbox.ok("anchor", "--accept")
        try sandbox.ok("rekey", "--keep", "0")
        let both = try sandbox.ok("set", "svc", "ann", "--label", "D", input: "newer".utf8).error
        #expect(both.contains(": 2 values of secret, 'label' gave way to it; 2 were discarded"), "\(both)")
    }

    @Test("an undo of a merge says that other machines follow it, and they do; one of an own change does not")
    func undoneMerge() throws {
        let machines = try Machines()
        let sandbox = machines.sandbox
        let copy = try machines.copy("copy.vault") { sandbox, path in
            try sandbox.ok("set", "new", "--vault", path, input: "three".utf8)
        }
        try sandbox.ok("update", "svc", "--label", "Mine")
        try sandbox.ok("merge", sandbox.vault, copy)
        let words = "other machines will follow"
        #expect(try sandbox.ok("undo", "--dry-run").error.contains("other machines would follow"))
        let refused = try sandbox.fails(64, "no record of making the change", "undo")
        #expect(!refused.error.contains(words), "\(refused.error)")
        let run = try sandbox.ok("undo", "--yes")
        #expect(run.error.contains(words))
        #expect(run.error.contains("what is undone here is undone on them too, with their next merge"))
        try machines.change("copy.vault") { sandbox, path in
            #expect(try sandbox.ok("merge", path, sandbox.vault).output.contains("1 removed"))
            try sandbox.fails(1, "no item is named", "get", "new", "--vault", path)
        }
        try sandbox.ok("set", "own", input: "own".utf8)
        #expect(try !sandbox.ok("undo").error.contains(words))
    }

    @Test("U26: an item whose value stayed is not called taken, whether the other value is to settle or in its history")
    func supplemented() throws {
        let machines = try Machines()
        let sandbox = machines.sandbox
        try sandbox.ok("set", "mail", input: "start".utf8)
        let copy = try machines.copy("copy.vault") { sandbox, path in
            try sandbox.ok("set", "mail", "--vault", path, input: "there".utf8)
        }
        try sandbox.ok("set", "mail", input: "here".utf8)
        for isRehearsal in [true, false] {
            let run = try sandbox.run(["merge", sandbox.vault, copy] + (isRehearsal ? ["--dry-run"] : []))
            #expect(run.status == 3 && run.output.contains("both changed: generic-password 'mail' '': secret"))
            #expect(run.output.contains("0 items added, 0 changed, 0 removed, 1 with other values kept"))
            #expect(run.output.contains("  unchanged, but with other values in its history or to settle: "))
            #expect(!run.output.contains("  changed:"))
        }
        #expect(try machines.secret("mail") == "here")
        // The same vaults from the other side: there, the value changes.
        let other = try machines.copy("other.vault")
        try machines.change("copy.vault") { sandbox, path in
            let json = try #require(
                try sandbox.run("merge", path, other, "--json").json() as? [[String: Any]])
            #expect(try sandbox.ok("get", "mail", "--vault", path).output == "here")
            #expect(json.first?["outcome"] as? String == "theirs")
        }
    }

    @Test("an attribute that was sealed seals its secret again, and that alone is not another value for a merge")
    func sealedAgain() throws {
        let machines = try Machines()
        let sandbox = machines.sandbox
        try sandbox.ok("update", "svc", "--attribute", "pin=1")
        let copy = try machines.copy("copy.vault") { sandbox, path in
            try sandbox.ok("set", "new", "--vault", path, input: "three".utf8)
        }
        try sandbox.ok("update", "svc", "--secret-attribute", "pin", input: "2".utf8)
        for isRehearsal in [true, false] {
            let run = try sandbox.ok(["merge", sandbox.vault, copy] + (isRehearsal ? ["--dry-run"] : []))
            #expect(run.output.contains("1 item added, 0 changed, 0 removed\n"), "\(run.output)")
            #expect(!run.output.contains("'svc'"), "\(run.output)")
        }
        #expect(try machines.secret("svc") == "one")
        #expect(try sandbox.ok("get", "svc", "--field", "pin").output == "2")
        #expect(try sandbox.ok("verify").output.hasPrefix("sound"))
    }

    @Test("B6: damage in the vault that merging does not replace is named, with exit code 3, and the copy stays")
    func damaged() throws {
        let machines = try Machines()
        let sandbox = machines.sandbox
        try sandbox.ok("set", "later", input: "three".utf8)
        let name = "test.sync-conflict-20260101-101010-ABCDEFG.vault"
        let copy = try machines.copy(name)
        var bytes = try sandbox.read("test.vault")
        let record = try #require(bytes.firstRange(of: Array("vREC".utf8)))
        bytes[record.lowerBound + 100] ^= 1
        try sandbox.write("test.vault", bytes)
        func expectNamed(_ arguments: String...) throws {
            let run = try sandbox.run(["merge"] + arguments)
            #expect(run.status == 3 && run.error.contains("contains damaged data"), "\(arguments): \(run.error)")
            #expect(run.output.contains("damaged in the vault: the secret of generic-password 'svc' 'ann'"))
        }
        try expectNamed(sandbox.vault, copy)
        try expectNamed(sandbox.vault, copy, "--dry-run")
        try expectNamed(sandbox.vault, "--conflicts")
        #expect(machines.exists(name))
        // The same with changes on both sides.
        try machines.change(name) { sandbox, path in
            try sandbox.ok("set", "new", "--vault", path, input: "new".utf8)
        }
        try sandbox.ok("set", "own", input: "own".utf8)
        try expectNamed(sandbox.vault, "--conflicts")
        #expect(try machines.secret("new") == "new" && machines.exists(name))
        // What the message says.
        try sandbox.fails(65, "problems in", "verify")
        var good = ""
        try machines.change(name) { sandbox, path in
            try sandbox.ok("verify", path)
            good = try sandbox.ok("get", "svc", "--vault", path).output
        }
        try sandbox.ok("set", "svc", "ann", input: good.utf8)
        try sandbox.ok("merge", sandbox.vault, "--conflicts")
        #expect(!machines.exists(name))
        #expect(try machines.secret("svc") == "one")
    }

    @Test("a newer copy that is damaged does not take the place of an intact vault, which gets its changes")
    func damagedCopy() throws {
        let machines = try Machines()
        let sandbox = machines.sandbox
        let copy = try machines.copy("stick.vault") { sandbox, path in
            try sandbox.ok("set", "new", "--vault", path, input: "new".utf8)
        }
        var bytes = try sandbox.read("stick.vault")
        let record = try #require(bytes.firstRange(of: Array("vREC".utf8)))
        bytes[record.lowerBound + 100] ^= 1
        try sandbox.write("stick.vault", bytes)
        for dry in [["--dry-run"], []] {
            let run = try sandbox.run(["merge", sandbox.vault, copy] + dry)
            #expect(run.status == 0, "\(run.error)")
            #expect(run.output.contains("damaged in the other copy, and not taken from it: the secret of"))
        }
        #expect(try machines.secret("svc") == "one" && machines.secret("new") == "new")
        try sandbox.ok("verify")
        // The other way, there is nothing to take, and what is damaged is named as always.
        try sandbox.fails(3, "contains damaged data", "merge", copy, sandbox.vault)
    }

    @Test(
        "undo of a settlement leaves the values to settle again, and redo settles them; what changed meanwhile is not settled"
    )
    func undoneSettlement() throws {
        let machines = try Machines()
        let sandbox = machines.sandbox
        try sandbox.ok("rekey", "--keep", "0")
        let copy = try machines.copy("copy.vault") { sandbox, path in
            try sandbox.ok("set", "svc", "ann", "--label", "theirs", "--vault", path, input: "theirs".utf8)
        }
        try sandbox.ok("set", "svc", "ann", "--label", "ours", input: "ours".utf8)
        try sandbox.fails(3, "to settle", "merge", sandbox.vault, copy)
        func left() throws -> [String] {
            try sandbox.ok("conflicts", "show", "svc").output.split(separator: "\n").map { line in
                line.split(separator: "\t").dropFirst(2).joined(separator: " ")
            }.sorted()
        }
        let before = try left()
        #expect(before.count == 2)
        let said = try sandbox.ok("conflicts", "settle", "svc", "--yes").error
        #expect(said.contains("1 value that is not secret was discarded"), "\(said)")
        try sandbox.ok("undo")
        #expect(try left() == before)
        try sandbox.ok("redo")
        #expect(try sandbox.ok("conflicts").output.isEmpty)
        try sandbox.ok("undo")
        #expect(try left() == before)
        // Another process settles it while somebody is being asked.
        let terminal = try PseudoTerminal(sandbox, "conflicts", "settle", "svc")
        try terminal.expect("Settle anyway?")
        try sandbox.ok("conflicts", "settle", "svc", "--yes")
        try terminal.type("y\r")
        try terminal.expect("another process has changed what is left to settle")
        #expect(try terminal.finish() != 0)
    }

    @Test("a copy that a person may have named, and that has not arrived whole, is named, and the exit code says so")
    func incompleteNamedCopy() throws {
        let machines = try Machines()
        let sandbox = machines.sandbox
        let copy = try machines.copy("test-LAPTOP.vault") { sandbox, path in
            try sandbox.ok("set", "new", "--vault", path, input: "three".utf8)
        }
        try sandbox.write("test-LAPTOP.vault", sandbox.read("test-LAPTOP.vault").dropLast(100))
        let run = try sandbox.run(["merge", sandbox.vault, "--conflicts"])
        #expect(run.status == 3 && (run.output + run.error).contains("test-LAPTOP.vault"), "\(run.error)")
        let notices = run.error.split(separator: "\n").filter { $0.contains("generation") }
        #expect(!notices.isEmpty && notices.allSatisfy { $0.contains("test-LAPTOP.vault': ") }, "\(run.error)")
        #expect(FileManager.default.fileExists(atPath: copy))
    }

    @Test("undo of a merge takes back what it left to settle, whichever value it showed, and redo leaves it again")
    func undoneConflict() throws {
        for theirsIsNewer in [false, true] {
            let machines = try Machines()
            let sandbox = machines.sandbox
            func setOurs() throws { try sandbox.ok("set", "svc", "ann", input: "ours".utf8) }
            if theirsIsNewer { try machines.copy("copy.vault") } else { try machines.copy("copy.vault", setTheirs) }
            try setOurs()
            if theirsIsNewer { try machines.change("copy.vault", setTheirs) }
            let copy = sandbox.path("copy.vault")
            try sandbox.fails(3, "to settle", "merge", sandbox.vault, copy)
            #expect(try machines.secret("svc") == (theirsIsNewer ? "theirs" : "ours"))
            let merged = try sandbox.ok("conflicts").output
            #expect(!merged.isEmpty)
            let dry = try sandbox.ok("undo", "--yes", "--dry-run").error
            #expect(dry.contains(theirsIsNewer ? "ann': secret" : "ann': values to settle"), "\(dry)")
            try sandbox.ok("undo", "--yes")
            #expect(try sandbox.ok("conflicts").output.isEmpty)
            #expect(try machines.secret("svc") == "ours")
            try sandbox.ok("redo")
            #expect(try sandbox.ok("conflicts").output == merged)
            try sandbox.ok("undo", "--yes")
            // The other copy follows, and its own value is an earlier one there.
            try sandbox.ok("merge", copy, sandbox.vault)
            #expect(try sandbox.ok("conflicts", "--vault", copy).output.isEmpty)
            #expect(try sandbox.ok("get", "svc", "ann", "--vault", copy).output == "ours")
            let earlier = try (1...2).map {
                try sandbox.run(["get", "svc", "ann", "--earlier", "\($0)", "--vault", copy]).output
            }
            #expect(earlier.contains("theirs"))
        }
    }

    private func setTheirs(_ sandbox: Sandbox, _ path: String) throws {
        try sandbox.ok("set", "svc", "ann", "--vault", path, input: "theirs".utf8)
    }

    @Test("a value that a merge needs and cannot read is named with its item and the copy that it is in")
    func damagedChange() throws {
        let machines = try Machines()
        let sandbox = machines.sandbox
        let start = try sandbox.read("test.vault").count
        let copy = try machines.copy("stick.vault") { sandbox, path in
            try sandbox.ok("set", "svc", "ann", "--vault", path, input: "theirs".utf8)
            // What the newest commit has written itself would be an incomplete commit.
            try sandbox.ok("set", "later", "--vault", path, input: "later".utf8)
        }
        try sandbox.ok("set", "svc", "ann", input: "ours".utf8)
        let (whole, before) = (try sandbox.read("stick.vault"), try sandbox.read("test.vault"))
        var (named, attempt) = (0, 0)
        for range in whole.ranges(of: Array("vREC".utf8)) where range.lowerBound > start / 2 {
            var bytes = whole
            bytes[range.lowerBound + 100] ^= 1
            try sandbox.write("stick.vault", bytes)
            for words in [[sandbox.vault, copy, "--dry-run"], [sandbox.vault, copy], [copy, sandbox.vault]] {
                let run = try sandbox.run(["merge"] + words)
                if run.status == 65 {
                    let place = words[0] == copy ? "the vault" : "the other copy"
                    let text = "a value of generic-password 'svc' 'ann' cannot be read in \(place)"
                    #expect(run.error.contains(text), "\(words): \(run.error)")
                    named += 1
                } else {
                    #expect([0, 3].contains(run.status), "\(words): \(run.error)")
                }
                try sandbox.write("stick.vault", bytes)
                if run.status == 65 { #expect(try sandbox.read("test.vault") == before) }
                // Another machine, because this one has seen more than it is given again.
                try sandbox.write("test.vault", before)
                attempt += 1
                sandbox.environment["XDG_STATE_HOME"] = sandbox.path("state-\(attempt)")
            }
        }
        #expect(named >= 2, "\(named)")
    }

    @Test("a damaged list of earlier values is named with item, file and what drops it; then a merge goes on")
    func damagedList() throws {
        let machines = try Machines()
        let sandbox = machines.sandbox
        try sandbox.ok("set", "svc", "ann", input: "two".utf8)
        let copy = try machines.copy("copy.vault") { sandbox, path in
            try sandbox.ok("update", "svc", "ann", "--label", "There", "--vault", path)
        }
        // What the newest commit has written itself would be an incomplete commit.
        try sandbox.ok("set", "own", input: "own".utf8)
        var bytes = try sandbox.read("test.vault")
        let list = try #require(bytes.ranges(of: Array("vPST".utf8)).last).lowerBound
        bytes[list + 100] ^= 1
        try sandbox.write("test.vault", bytes)
        #expect(try machines.secret("svc") == "two")
        let commands = [["history", "svc", "ann"], ["set", "svc", "ann"], ["merge", sandbox.vault, copy]]
        for command in commands {
            let run = try sandbox.run(command, input: Array("three".utf8))
            #expect(run.status == 65, "\(command): \(run.error)")
            for part in ["list of earlier values of generic-password 'svc' 'ann'", "test.vault'", "forget ITEM --all"] {
                #expect(run.error.contains(part), "\(command): \(run.error)")
            }
        }
        #expect(try sandbox.read("test.vault") == bytes)
        let said = try sandbox.ok("forget", "svc", "ann", "--all", "--yes").error
        #expect(said.contains("another copy"), "\(said)")
        let merged = try sandbox.ok("merge", sandbox.vault, copy).output
        #expect(merged.contains("changed: generic-password 'svc' 'ann'"), "\(merged)")
        // The other copy's list is intact.
        #expect(try sandbox.ok("get", "svc", "ann", "--earlier", "1").output == "one")
    }

    @Test("in a vault that keeps no earlier values, settling asks before a secret is lost")
    func settlingLoses() throws {
        let machines = try Machines()
        let sandbox = machines.sandbox
        try sandbox.ok("rekey", "--keep", "0")
        let copy = try machines.copy("copy.vault") { sandbox, path in
            try sandbox.ok("set", "svc", "ann", "--vault", path, input: "theirs".utf8)
        }
        try sandbox.ok("set", "svc", "ann", input: "ours".utf8)
        try sandbox.fails(3, "to settle", "merge", sandbox.vault, copy)
        for words in [["svc"], ["--all"], ["svc", "--keep", "1"]] {
            let refused = try sandbox.run(["conflicts", "settle", "--no-input"] + words)
            #expect(
                refused.status == 64
                    && refused.error.contains("not all secrets that lose can be kept: 1 would be lost"),
                "\(refused.error)")
        }
        try sandbox.ok("conflicts", "settle", "svc", "--yes")
    }

    @Test("a value that is to be kept, of an item that has nothing to settle, is an error")
    func nothingToSettle() throws {
        let sandbox = try Machines().sandbox
        try sandbox.fails(1, "has no conflicts to settle", "conflicts", "settle", "svc", "--keep", "1")
        try sandbox.ok("conflicts", "settle", "svc")
    }

    @Test("a value from under replaced keys that was set in another group is kept there only after a question")
    func oldKeysElsewhere() throws {
        let machines = try Machines()
        let sandbox = machines.sandbox
        let copy = try machines.copy("copy.vault")
        try sandbox.ok("rekey", "--rotate")
        try sandbox.ok("move", "svc", "ann", "--to-group", "team", "--yes")
        try machines.change("copy.vault") { sandbox, path in
            try sandbox.ok("set", "svc", "ann", "--vault", path, input: "leaked".utf8)
        }
        try sandbox.fails(3, "to settle", "merge", sandbox.vault, copy, "--accept-old-keys", "--yes")
        for words in [[], ["--label", "changed since"]] {
            if !words.isEmpty { #expect(try sandbox.run(["update", "svc"] + words).status == 0) }
            let refused = try sandbox.fails(64, "use --yes", "conflicts", "settle", "svc", "--keep", "1")
            #expect(refused.error.contains("value 1 was set in the default group"), "\(refused.error)")
        }
        try sandbox.ok("conflicts", "settle", "svc", "--keep", "1", "--yes")
        #expect(try machines.secret("svc") == "leaked")
    }

    @Test("what is no copy is refused with one line, and nothing changes: another vault, damage, other keys, no file")
    func refused() throws {
        let machines = try Machines()
        let sandbox = machines.sandbox
        let copy = try machines.copy("copy.vault")
        try sandbox.ok("create", "other.vault", "--kdf", "testing")
        let before = try sandbox.read("test.vault")
        try sandbox.fails(64, "is another vault", "merge", sandbox.vault, sandbox.path("other.vault"))
        try sandbox.fails(66, "there is no vault", "merge", sandbox.vault, sandbox.path("none.vault"))
        try sandbox.fails(64, "no copy is given", "merge", sandbox.vault)
        try sandbox.fails(64, "leave", "merge", sandbox.vault, copy, "--conflicts")
        try sandbox.write("bad.vault", sandbox.read("test.vault").prefix(5000))
        let cut = try sandbox.fails(65, "truncated", "merge", sandbox.vault, copy, sandbox.path("bad.vault"))
        #expect(cut.error.contains("bad.vault'") && cut.error.contains("; nothing was merged"), "\(cut.error)")
        #expect(try sandbox.read("test.vault") == before)
        let lock = try ForeignLock(sandbox.vault)
        try machines.change("copy.vault") { sandbox, path in
            try sandbox.ok("set", "x", "--vault", path, input: "y".utf8)
        }
        try sandbox.fails(75, "locked", "merge", sandbox.vault, copy, "--wait", "0")
        lock.release()
        #expect(try sandbox.read("test.vault") == before)
    }

    @Test("a vault in whose place this machine knows another one is refused before it is compared with the copy")
    func stranger() throws {
        let machines = try Machines()
        let sandbox = machines.sandbox
        let copy = try machines.copy("copy.vault")
        try sandbox.ok("create", "other.vault", "--kdf", "testing")
        try sandbox.write("test.vault", sandbox.read("other.vault"))
        let words = "not the one that this machine has seen here"
        try sandbox.fails(65, words, "list")
        try sandbox.fails(65, words, "merge", sandbox.vault, copy)
        try sandbox.fails(65, words, "merge", sandbox.vault, sandbox.path("other.vault"))
        try sandbox.fails(65, words, "merge", sandbox.vault, "--conflicts")
    }

    @Test("a copy that cannot be merged is named, with the copies that were merged before it")
    func refusedAfterAnother() throws {
        let machines = try Machines()
        let sandbox = machines.sandbox
        let sound = try machines.copy("sound.vault") { sandbox, path in
            for item in ["sound", "x", "y", "z"] { try sandbox.ok("set", item, "--vault", path, input: "s".utf8) }
        }
        let damaged = try machines.copy("damaged.vault") { sandbox, path in
            for item in ["damaged", "later"] { try sandbox.ok("set", item, "--vault", path, input: "d".utf8) }
            try sandbox.damageRecord(of: "damaged", "--vault", path, in: "damaged.vault")
        }
        try sandbox.ok("set", "own", input: "own".utf8)
        let before = try sandbox.read("test.vault")
        let dry = try sandbox.fails(65, "; nothing was merged", "merge", sandbox.vault, sound, damaged, "--dry-run")
        #expect(dry.error.contains("damaged.vault'"), "\(dry.error)")
        #expect(try sandbox.read("test.vault") == before)
        let run = try sandbox.fails(65, "; merged before it: ", "merge", sandbox.vault, sound, damaged)
        #expect(run.error.contains("damaged.vault'") && run.error.contains("sound.vault'"), "\(run.error)")
        #expect(!run.error.contains("nothing was merged"), "\(run.error)")
        #expect(try machines.secret("sound") == "s")
    }

    @Test("what a copy stored under replaced keys comes in by name and --accept-old-keys only, to settle")
    func oldKeys() throws {
        let machines = try Machines()
        let sandbox = machines.sandbox
        let copy = try machines.copy("test.sync-conflict-20260101-101010-ABCDEFG.vault")
        try sandbox.ok("rekey", "--rotate")
        try machines.change("test.sync-conflict-20260101-101010-ABCDEFG.vault") { sandbox, path in
            try sandbox.ok("set", "svc", "ann", "--vault", path, input: "leaked".utf8)
        }
        try sandbox.fails(65, "--accept-old-keys", "merge", sandbox.vault, copy)
        // By itself, never: it does not even open with the new key.
        let run = try sandbox.fails(3, "left in place", "merge", sandbox.vault, "--conflicts")
        #expect(run.output.contains("does not open with this vault's key"))
        #expect(machines.exists("test.sync-conflict-20260101-101010-ABCDEFG.vault"))
        let listed = try sandbox.run("merge", sandbox.vault, copy, "--accept-old-keys", "--dry-run")
        #expect(listed.status == 3)
        #expect(
            listed.output.contains("would be taken in, to settle or as earlier values")
                && listed.output.contains("under the old keys") && listed.output.contains("generic-password 'svc'"))
        try sandbox.fails(64, "use --yes", "merge", sandbox.vault, copy, "--accept-old-keys")
        #expect(try sandbox.ok("history", "svc").lines.isEmpty)
        try sandbox.fails(3, "to settle", "merge", sandbox.vault, copy, "--accept-old-keys", "--yes")
        #expect(try machines.secret("svc") == "one")
        #expect(try sandbox.ok("conflicts", "show", "svc", "--value", "1").output == "leaked")
        // The branch is handed over with it: there is nothing more to take in, though this is still to settle.
        #expect(try sandbox.fails(3, "to settle", "merge", sandbox.vault, copy).output.contains("already here"))
    }

    @Test("what a copy took away under replaced keys stays, and both machines name it and end with exit code 3")
    func takenAwayUnderOldKeys() throws {
        let machines = try Machines()
        let sandbox = machines.sandbox
        try sandbox.ok("set", "svc", "ann", input: "two".utf8)
        try sandbox.ok("update", "old", "--attribute", "url=https://old.example")
        let copy = try machines.copy("copy.vault") { sandbox, path in
            try sandbox.ok("forget", "svc", "ann", "--all", "--yes", "--vault", path)
            try sandbox.ok("update", "old", "--remove-attribute", "url", "--vault", path)
            try sandbox.ok("rekey", "--keep", "0", path)
            try sandbox.ok("compact", path)
        }
        try sandbox.ok("rekey", "--rotate")
        func expectNamed(_ run: Run, _ became: String) {
            for words in [
                "values forgotten under the old keys, so they \(became): generic-password 'svc' 'ann': secret",
                "attributes removed under the old keys, so they \(became): generic-password 'old' 'bob': ",
                "earlier values to keep, set to 0 under the old keys",
            ] {
                #expect(run.output.contains(words), "\(run.output)")
            }
        }
        let words = "under the old keys were not carried out; make them again"
        let merging = ["merge", sandbox.vault, copy, "--accept-old-keys"]
        let dry = try sandbox.run(merging + ["--dry-run"])
        #expect(dry.status == 3 && dry.error.contains("would not be carried out"), "\(dry.error)")
        expectNamed(dry, "were kept")
        let merged = try sandbox.run(merging + ["--yes"])
        #expect(merged.status == 3 && merged.error.contains(words), "\(merged.error)")
        expectNamed(merged, "were kept")
        try machines.change("copy.vault") { sandbox, path in
            expectNamed(try sandbox.fails(3, words, "merge", path, sandbox.vault), "are back")
            #expect(try sandbox.ok("get", "svc", "ann", "--earlier", "1", "--vault", path).output == "one")
        }
    }

    @Test("two rotations: the advice is to rotate once more where the slots are right, not to merge into the other")
    func rotatedTwice() throws {
        let machines = try Machines()
        let sandbox = machines.sandbox
        let copy = try machines.copy("copy.vault")
        try sandbox.ok("rekey", "--rotate")
        try machines.change("copy.vault") { sandbox, path in try sandbox.ok("rekey", "--rotate", path) }
        let advice = "'vaultfmt rekey --rotate' on the one whose slots are right"
        let run = try sandbox.fails(65, advice, "merge", sandbox.vault, copy)
        #expect(run.error.contains("the other one more recently"), "\(run.error)")
        #expect(!run.error.contains("into the other"), "\(run.error)")
        for word in ["--dry-run", "--yes"] {
            let run = try sandbox.fails(65, advice, "merge", sandbox.vault, copy, "--accept-old-keys", word)
            #expect(!run.error.contains("anchor --accept"), "\(run.error)")
        }
        try sandbox.ok("rekey", "--rotate")
        try sandbox.fails(65, "this one more recently", "merge", sandbox.vault, copy)
        try sandbox.ok("merge", sandbox.vault, copy, "--accept-old-keys", "--yes")
    }

    @Test("a slot that only the copy has is added, and one that the copy removed is removed")
    func slots() throws {
        let machines = try Machines()
        let sandbox = machines.sandbox
        try sandbox.ok("generate", "--key-file", "new.key")
        let copy = try machines.copy("copy.vault") { sandbox, path in
            try sandbox.ok("slot", "add", path, "--new-key-file", sandbox.path("new.key"), "--name", "usb")
        }
        try sandbox.ok("update", "svc", "--label", "x")
        #expect(try sandbox.ok("merge", sandbox.vault, copy).output.contains("slot added"))
        #expect(try sandbox.ok("slot", "list").output.contains("usb"))
        try sandbox.ok("slot", "remove", "usb", "--yes")
        try machines.change("copy.vault") { sandbox, path in
            try sandbox.ok("update", "svc", "--label", "y", "--vault", path)
        }
        try sandbox.fails(3, "to settle", "merge", sandbox.vault, copy)
        #expect(try sandbox.ok("slot", "list").output.contains("usb") == false)
    }

    @Test("a copy whose slot has a raw key opens with --other-raw-key-file, which excludes the other factors")
    func otherRawKey() throws {
        let machines = try Machines()
        let sandbox = machines.sandbox
        let raw = try sandbox.write("raw.key", (0..<32).map { UInt8($0) })
        let copy = try machines.copy("copy.vault") { sandbox, path in
            try sandbox.ok("rekey", path, "--new-raw-key-file", raw)
            try sandbox.ok("set", "new", "--vault", path, "--raw-key-file", raw, input: "three".utf8)
        }
        try sandbox.ok("update", "svc", "--label", "Mine")
        let before = try sandbox.read("test.vault")
        try sandbox.fails(77, "or --other-raw-key-file", "merge", sandbox.vault, copy)
        try sandbox.fails(
            64, "--other-raw-key-file cannot be combined", "merge", sandbox.vault, copy, "--other-raw-key-file", raw,
            "--other-key-file", raw)
        #expect(try sandbox.read("test.vault") == before)
        try sandbox.ok("merge", sandbox.vault, copy, "--other-raw-key-file", raw)
        #expect(try sandbox.ok("get", "new", "--raw-key-file", raw).output == "three")
        #expect(try sandbox.ok("get", "svc", "--field", "label", "--raw-key-file", raw).output == "Mine")
    }

    // MARK: conflict copies

    @Test("copies that are each opened with a slot that the other one removed stay as they are, and are told why")
    func slotsInUseGone() throws {
        let machines = try Machines()
        let sandbox = machines.sandbox
        let (two, three) = (sandbox.path("two.key"), sandbox.path("three.key"))
        for (file, name) in [(two, "two"), (three, "three")] {
            try sandbox.ok("generate", "--key-file", file)
            try sandbox.ok("slot", "add", sandbox.vault, "--new-key-file", file, "--name", name)
        }
        let copy = try machines.copy("copy.vault") { sandbox, path in
            try sandbox.ok("slot", "remove", "two", path, "--yes")
            try sandbox.ok("set", "new", "--vault", path, input: "three".utf8)
        }
        try sandbox.ok("slot", "remove", "three", sandbox.vault, "--yes")
        let before = try sandbox.read("test.vault")
        let passphrase = sandbox.environment["VAULTFMT_PASSPHRASE"]
        sandbox.forgetPassphrase()
        for more in [["--dry-run"], []] {
            let factors = ["--key-file", two, "--other-key-file", three]
            let refused = try sandbox.run(["merge", sandbox.vault, copy] + factors + more)
            #expect(refused.status == 77)
            #expect(
                refused.error.contains("open this copy with a slot that both copies have; nothing was merged"),
                "\(refused.error)")
        }
        #expect(try sandbox.read("test.vault") == before)
        sandbox.environment["VAULTFMT_PASSPHRASE"] = passphrase
        try sandbox.ok("merge", sandbox.vault, copy)
        #expect(try sandbox.ok("slot", "list").lines.count == 1)
        #expect(try machines.secret("new") == "three")
    }

    @Test("the names of conflict copies of every syncer are found, and no other file is")
    func names() throws {
        let machines = try Machines()
        let names = [
            "test.sync-conflict-20260131-235959-ABCDEFG.vault", "test (Ann's conflicted copy 2026-01-31).vault",
            "test (conflicted copy 2026-01-31 235959).vault", "test_conflict-20260131-235959.vault",
            "test (In Konflikt stehende Kopie von Ann 2026-01-31).vault",
            "test (copie en conflit de Ann 2026-01-31).vault",
            "test (SFConflict ann@example.org 2026-01-31-23-59-59).vault",
            "test_DiskStation_Jan-31-235959-2026_Conflict.vault",
            "test-DESKTOP-1A2B3C4.vault", "test-LAPTOP-ABC-2.vault", "test 2.vault", "test (1).vault",
            "test-\(hostName).vault",
        ]
        let others = [
            "test-backup.vault", "test.vault.bak", "test-2026.vault", "other.vault", "test2.vault",
            "testing conflict.vault",
            "test (old).vault", "my test 2.vault", "test.sync-conflict-20260131-235959-ABCDEFG.txt",
        ]
        for name in names + others { try machines.copy(name) }
        let json = try machines.sandbox.ok("merge", machines.sandbox.vault, "--conflicts", "--dry-run", "--json").json()
        let found = try #require(json as? [[String: Any]]).compactMap { $0["copy"] as? String }
        #expect(Set(found) == Set(names.map { machines.sandbox.path($0) }))
        try machines.sandbox.ok("merge", machines.sandbox.vault, "--conflicts")
        #expect(names.allSatisfy { machines.exists("test.vault.merged/" + $0) && !machines.exists($0) })
        #expect(others.allSatisfy { machines.exists($0) })
        #expect(try machines.sandbox.ok("merge", "--conflicts").error.contains("there are no conflict copies"))
    }

    private var hostName: String {
        var name = [CChar](repeating: 0, count: 256)
        gethostname(&name, 255)
        return String(
            String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self).prefix { $0 != "." })
    }

    @Test("conflict copies are merged and moved aside; planted files are named and stay, and cost no key derivation")
    func conflictCopies() throws {
        let machines = try Machines()
        let sandbox = machines.sandbox
        for (number, name) in ["test.sync-conflict-a.vault", "test (conflicted copy).vault"].enumerated() {
            try machines.copy(name) { sandbox, path in
                try sandbox.ok("set", "new\(number)", "--vault", path, input: "n\(number)".utf8)
            }
        }
        try sandbox.ok("create", "test (conflict 1).vault", "--kdf", "testing")
        try sandbox.ok("create", "test 2.vault", "--kdf", "testing")
        try sandbox.write("test (conflict 2).vault", "not a vault".utf8)
        try sandbox.okShell("mkfifo 'test (conflict 3).vault'; ln -s /dev/zero 'test (conflict 4).vault'")
        // A header of this vault's id that asks for 4 TiB of memory.
        var bytes = try sandbox.read("test.vault")
        for index in 0..<4 { bytes[68 + 32 + index] = 0xFF }
        try sandbox.write("test (conflict 5).vault", Headers.sealed(bytes))
        let run = try sandbox.fails(3, "files were left in place", "merge", "--conflicts")
        for number in 0..<2 { #expect(try machines.secret("new\(number)") == "n\(number)") }
        #expect(machines.exists("test.vault.merged/test.sync-conflict-a.vault"))
        #expect(machines.exists("test.vault.merged/test (conflicted copy).vault"))
        for number in 1...5 {
            #expect(run.output.contains("test (conflict \(number)).vault': "), "\(number)")
            #expect(machines.exists("test (conflict \(number)).vault") || number == 4)
        }
        #expect(run.output.contains("another vault") && run.output.contains("not a vault"))
        #expect(run.output.contains("not a regular file"))
    }

    @Test("N13: copies are moved into a folder of this user's only, and not through a link")
    func plantedFolder() throws {
        let machines = try Machines()
        let sandbox = machines.sandbox
        try FileManager.default.createDirectory(atPath: sandbox.path("elsewhere"), withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(
            atPath: sandbox.path("test.vault.merged"), withDestinationPath: sandbox.path("elsewhere"))
        try machines.copy("test.sync-conflict-a.vault") { sandbox, path in
            try sandbox.ok("set", "new", "-f", path, input: "n".utf8)
        }
        let run = try sandbox.run("merge", "test.vault", "--conflicts")
        #expect(run.status != 0 && (run.output + run.error).contains("is not a folder"), "\(run.output)\(run.error)")
        #expect(machines.exists("test.sync-conflict-a.vault"))
        #expect(try FileManager.default.contentsOfDirectory(atPath: sandbox.path("elsewhere")).isEmpty)
        try FileManager.default.removeItem(atPath: sandbox.path("test.vault.merged"))
        try sandbox.ok("merge", "test.vault", "--conflicts")
        #expect(machines.exists("test.vault.merged/test.sync-conflict-a.vault"))
        #expect(try machines.secret("new") == "n")
    }

    @Test("any number of planted files with earlier names do not hide a copy")
    func plantedBefore() throws {
        let machines = try Machines()
        let sandbox = machines.sandbox
        try machines.copy("test (zz conflict).vault") { sandbox, path in
            try sandbox.ok("set", "new", "-f", path, input: "n".utf8)
        }
        try sandbox.ok("create", "test (conflict 0).vault", "--kdf", "testing")
        let planted = try sandbox.read("test (conflict 0).vault")
        for number in 1..<150 { try sandbox.write("test (conflict \(number)).vault", planted) }
        let run = try sandbox.fails(3, "150 files were left in place", "merge", "--conflicts")
        #expect(run.output.contains("another vault"))
        #expect(try machines.secret("new") == "n")
        #expect(machines.exists("test.vault.merged/test (zz conflict).vault"))
    }

    @Test("G16: a copy with any computer's name is merged but stays; a backup of that form is left alone, unnamed")
    func otherComputers() throws {
        let machines = try Machines()
        let sandbox = machines.sandbox
        try machines.copy("test-backup.vault")
        for (number, name) in ["test-LAPTOP.vault", "test-Alices-MacBook-Pro.vault"].enumerated() {
            try machines.copy(name) { sandbox, path in
                try sandbox.ok("set", "new\(number)", "--vault", path, input: "n\(number)".utf8)
            }
        }
        try sandbox.write("test-notes.vault", "not a vault".utf8)
        try sandbox.ok("create", "test-other.vault", "--kdf", "testing")
        try sandbox.okShell("mkdir test-folder.vault; ln -s test.vault test-link.vault")
        try sandbox.ok("set", "here", input: "h".utf8)
        let run = try sandbox.ok("merge", "--conflicts")
        for number in 0..<2 { #expect(try machines.secret("new\(number)") == "n\(number)") }
        #expect(run.output.contains("test-LAPTOP.vault': left in place, because you may have named it"))
        for name in ["backup", "notes", "other", "folder", "link"] { #expect(!run.output.contains("test-\(name)")) }
        #expect(machines.exists("test-Alices-MacBook-Pro.vault") && !machines.exists("test.vault.merged"))
        #expect(try sandbox.ok("merge", "--conflicts").error.contains("there are no conflict copies"))
    }

    @Test("G13: a copy that ends within a change is merged up to there, named, and stays in place (3), at every length")
    func cutCopies() throws {
        let machines = try Machines()
        let sandbox = machines.sandbox
        try machines.copy("whole") { sandbox, path in
            try sandbox.ok("set", "first", "--vault", path, input: "1".utf8)
            try sandbox.write("after first", try sandbox.read("whole"))
            try sandbox.ok("set", "second", "--vault", path, input: String(repeating: "2", count: 9000).utf8)
        }
        let (first, whole) = (try sandbox.read("after first").count, try sandbox.read("whole"))
        let lengths = [
            first + 1, first + 511, first + 4096, (first + whole.count) / 2, whole.count - 600, whole.count - 1,
        ]
        let before = try sandbox.read("test.vault")
        for length in lengths {
            try sandbox.write("test.vault", before)
            sandbox.environment["XDG_STATE_HOME"] = sandbox.path("state \(length)")
            try sandbox.write("test.sync-conflict-a.vault", whole.prefix(length))
            let run = try sandbox.fails(3, "was left in place", "merge", "--conflicts")
            #expect(run.output.contains("test.sync-conflict-a.vault': "), "\(length)")
            #expect(machines.exists("test.sync-conflict-a.vault"), "\(length)")
        }
        try sandbox.write("test.sync-conflict-a.vault", whole)
        try sandbox.ok("merge", "--conflicts")
        #expect(try machines.secret("second").count == 9000 && !machines.exists("test.sync-conflict-a.vault"))
    }

    @Test("G14: merge ends with 3 while conflicts are open, also if the other copy settled on them before")
    func adoptedConflicts() throws {
        let machines = try Machines()
        let sandbox = machines.sandbox
        try machines.copy("b") { sandbox, path in try sandbox.ok("set", "svc", "ann", "-f", path, input: "b".utf8) }
        try machines.copy("c") { sandbox, path in try sandbox.ok("set", "svc", "ann", "-f", path, input: "c".utf8) }
        try machines.change("c") { sandbox, path in
            try sandbox.fails(3, "conflicts to settle", "merge", path, sandbox.path("b"))
        }
        // The vault is behind, so it takes the copy's state as it is.
        try sandbox.fails(3, "conflicts to settle", "merge", sandbox.vault, sandbox.path("c"))
        try sandbox.fails(3, "conflicts to settle", "merge", sandbox.vault, sandbox.path("c"))
        try sandbox.ok("conflicts", "settle", "--all")
        try sandbox.ok("merge", sandbox.vault, sandbox.path("c"))
    }

    @Test("if the vault cannot be written, merge says so with exit 74, and leaves every copy")
    func fullDisk() throws {
        let machines = try Machines()
        let sandbox = machines.sandbox
        try machines.copy("test.sync-conflict-a.vault") { sandbox, path in
            try sandbox.ok("set", "new", "-f", path, input: "n".utf8)
        }
        let before = try sandbox.read("test.vault")
        try sandbox.linkPrograms()
        // The vault cannot grow beyond its size today.
        let blocks = before.count / 512
        let run = try sandbox.shell("trap '' XFSZ; ulimit -f \(blocks / 2); vaultfmt merge test.vault --conflicts")
        #expect(run.status == 74, "\(run.status) \(run.error)")
        #expect(try sandbox.read("test.vault") == before && machines.exists("test.sync-conflict-a.vault"))
        try sandbox.ok("merge", "test.vault", "--conflicts")
        #expect(try machines.secret("new") == "n")
    }

    @Test("a copy that cannot be merged is exit 74, not a rollback, if the vault is older than what is remembered")
    func fullDiskAfterSwap() throws {
        let machines = try Machines()
        let sandbox = machines.sandbox
        let older = try sandbox.read("test.vault")
        try sandbox.ok("set", "later", input: "l".utf8)
        try sandbox.okShell("mv test.vault 'test (conflicted copy).vault'")
        try sandbox.write("test.vault", older)
        try sandbox.linkPrograms()
        let run = try sandbox.shell("trap '' XFSZ; ulimit -f \(older.count / 1024 - 1); vaultfmt merge --conflicts")
        #expect(run.status == 74, "\(run.status) \(run.error)")
        #expect(run.error.contains("test (conflicted copy).vault' was not merged"), "\(run.error)")
        #expect(try sandbox.read("test.vault") == older)
        try sandbox.ok("merge", "--conflicts")
        #expect(try machines.secret("later") == "l")
    }

    @Test("a syncer that put another machine's copy in place of the vault: the conflict copy proves what was there")
    func swapped() throws {
        let machines = try Machines()
        let sandbox = machines.sandbox
        try machines.copy("theirs.vault") { sandbox, path in
            try sandbox.ok("set", "there", "--vault", path, input: "t".utf8)
        }
        try sandbox.ok("set", "here", input: "h".utf8)
        try sandbox.okShell("mv test.vault 'test.sync-conflict-x.vault'; mv theirs.vault test.vault")
        try sandbox.fails(65, "vaultfmt merge --conflicts", "list")
        try sandbox.ok("merge", "--conflicts")
        #expect(try machines.secret("here") == "h")
        #expect(try machines.secret("there") == "t")
        // Without what this machine remembers among the copies, the vault is refused as everywhere.
        try machines.copy("older.vault")
        try sandbox.ok("set", "later", input: "l".utf8)
        try sandbox.okShell("cp older.vault test.vault; cp older.vault 'test (conflicted copy).vault'")
        try sandbox.fails(65, "rolled back", "merge", "--conflicts")
        #expect(machines.exists("test (conflicted copy).vault"))
    }

    // MARK: diff and log

    @Test("diff and log show names and fields of what changed, and never a value")
    func changes() throws {
        let machines = try Machines()
        let sandbox = machines.sandbox
        let copy = try machines.copy("copy.vault")
        try sandbox.ok("set", "svc", "ann", "--label", "L", input: "s3cret".utf8)
        try sandbox.ok("move", "old", "bob", "--to-service", "moved")
        try sandbox.ok("set", "new", input: "n3w".utf8)
        let diff = try sandbox.ok("diff", copy, sandbox.vault)
        let expected = [
            "+ generic-password 'new' ''",
            "~ generic-password 'moved' 'bob' (was generic-password 'old' 'bob'): name",
            "~ generic-password 'svc' 'ann': secret, 'label', earlier values",
        ]
        #expect(diff.lines.sorted() == expected, "\(diff.output)")
        #expect(try sandbox.ok("diff", sandbox.vault).lines == ["+ generic-password 'new' ''"])
        #expect(try sandbox.ok("diff", sandbox.vault, "--since", "4").lines.count == 2)
        try sandbox.fails(1, "no state of generation 99", "diff", sandbox.vault, "--since", "99")
        let json = try #require(try sandbox.ok("diff", copy, sandbox.vault, "--json").json() as? [String: Any])
        let items = try #require(json["items"] as? [[String: Any]])
        #expect(Set(items.compactMap { $0["change"] as? String }) == ["added", "changed"])

        let log = try sandbox.ok("log")
        #expect(log.lines.first?.hasPrefix("generation 6  2") == true)
        #expect(log.lines.dropFirst().first == "    + generic-password 'new' ''")
        #expect(try sandbox.ok("log", "--limit", "2").lines.filter { $0.hasPrefix("generation") }.count == 2)
        let entries = try #require(try sandbox.ok("log", "--json").json() as? [[String: Any]])
        #expect(entries.compactMap { $0["generation"] as? Int } == [6, 5, 4, 3, 2, 1])
        let text = try sandbox.ok("diff", "--git", sandbox.vault).output
        #expect(text.contains("generic-password 'svc' 'ann' label 'L'"))
        for output in [diff.output, log.output, text] { #expect(!output.contains("s3cret") && !output.contains("n3w")) }
        sandbox.forgetPassphrase()
        #expect(try sandbox.ok("diff", "--git", sandbox.vault).output.contains("locked"))
    }
}
