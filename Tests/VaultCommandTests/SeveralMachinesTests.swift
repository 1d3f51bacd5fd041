import Foundation
import Testing

/// Machines with a memory each, and copies of one vault that are carried between them.
private final class Machines {
    let sandbox: Sandbox
    private let states: [String: String]

    /// The first machine makes the vault `NAME.vault` with the items, and the others get copies of it.
    init(_ names: [String], _ items: [String] = ["s"]) throws {
        let sandbox = try Sandbox()
        self.sandbox = sandbox
        states = Dictionary(uniqueKeysWithValues: names.map { ($0, sandbox.path("state of \($0)")) })
        let first = names[0]
        try on(first, "create", file(first), "--kdf", "testing")
        for item in items { try on(first, "set", item, "u", "-f", file(first), input: "first") }
        for name in names.dropFirst() { try copy(first, to: name) }
    }

    /// The path of a machine's vault.
    func file(_ name: String) -> String { sandbox.path("\(name).vault") }

    func copy(_ one: String, to other: String) throws {
        try sandbox.write("\(other).vault", sandbox.read("\(one).vault"))
    }

    /// Runs the command on a machine, and expects an exit code.
    @discardableResult
    func on(
        _ name: String, _ arguments: String..., input: String = "", exit status: Int32 = 0,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> Run {
        sandbox.environment["XDG_STATE_HOME"] = states[name]
        let run = try sandbox.run(arguments, input: Array(input.utf8))
        #expect(run.status == status, "\(arguments): \(run.output)\(run.error)", sourceLocation: sourceLocation)
        return run
    }

    @discardableResult
    func on(
        _ name: String, _ arguments: [String], exit status: Int32 = 0, sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> Run {
        sandbox.environment["XDG_STATE_HOME"] = states[name]
        let run = try sandbox.run(arguments)
        #expect(run.status == status, "\(arguments): \(run.output)\(run.error)", sourceLocation: sourceLocation)
        return run
    }

    /// Sets, changes or removes an item of the user `u` on a machine.
    func set(_ name: String, _ item: String, _ secret: String) throws {
        try on(name, "set", item, "u", "-f", file(name), input: secret)
    }

    func remove(_ name: String, _ item: String) throws { try on(name, "remove", item, "u", "--yes", "-f", file(name)) }

    @discardableResult
    func merge(_ name: String, with other: String, exit status: Int32 = 0) throws -> Run {
        try on(name, "merge", file(name), file(other), exit: status)
    }

    /// The secret of an item on a machine; nil if there is no such item.
    func secret(_ name: String, _ item: String) throws -> String? {
        sandbox.environment["XDG_STATE_HOME"] = states[name]
        let run = try sandbox.run(["get", item, "u", "-f", file(name)])
        return run.status == 0 ? run.output : nil
    }

    /// All secrets that an item has had or could have on a machine: shown, earlier, and left to settle.
    func everySecret(_ name: String, _ item: String) throws -> Set<String> {
        var all = Set([try secret(name, item)].compactMap { $0 })
        for (list, option, command) in [
            (["history", item, "u"], "--earlier", ["get", item, "u"]),
            (["conflicts", "show", item, "u"], "--value", ["conflicts", "show", item, "u"]),
        ] {
            let count = try sandbox.run(list + ["-f", file(name)]).lines.count
            for number in 1..<max(count + 1, 2) {
                let run = try sandbox.run(command + [option, "\(number)", "-f", file(name)])
                if run.status == 0, !run.output.isEmpty { all.insert(run.output) }
            }
        }
        return all
    }

    func exists(_ name: String) -> Bool { FileManager.default.fileExists(atPath: sandbox.path(name)) }
}

@Suite("Several machines")
struct SeveralMachinesTests {
    @Test("G1: an item that stayed against its removal stays, whatever is compacted and merged afterwards")
    func stayedStays() throws {
        let machines = try Machines(["a", "b"])
        try machines.set("b", "s", "NEW")
        try machines.on("a", "update", "s", "u", "--label", "x", "-f", machines.file("a"))
        try machines.remove("a", "s")
        let run = try machines.merge("b", with: "a")
        #expect(run.output.contains("so it was kept"))
        try machines.on("a", "compact", machines.file("a"))
        try machines.merge("a", with: "b")
        try machines.merge("b", with: "a")
        for name in ["a", "b"] { #expect(try machines.secret(name, "s") == "NEW") }
    }

    @Test(
        "A removal that had seen a newer secret does not bring the older one back in an item that stays, in any order",
        arguments: [["c<a", "c<d"], ["d<a", "c<d"], ["c<a", "d<a", "c<d"], ["a<d", "c<a"], ["d<a", "c<a", "c<d"]])
    func newerSecretStays(merges: [String]) throws {
        let machines = try Machines(["a", "c", "d"])
        try machines.on("a", "update", "s", "u", "--label", "L", "-f", machines.file("a"))
        try machines.set("c", "s", "new")
        try machines.on("c", "update", "s", "u", "--attribute", "colour=red", "-f", machines.file("c"))
        try machines.merge("d", with: "c")
        try machines.remove("d", "s")
        for merge in merges { try machines.merge(String(merge.first ?? "-"), with: String(merge.last ?? "-")) }
        #expect(try machines.secret("c", "s") == "new")
        // The others follow, and nothing is left to merge or to settle.
        for name in ["d", "a", "c", "d"] {
            for other in ["a", "c", "d"] where other != name { try machines.merge(name, with: other) }
        }
        for name in ["a", "c", "d"] {
            #expect(try machines.secret(name, "s") == "new")
            let shown = try machines.on(name, "show", "s", "u", "-f", machines.file(name)).output
            #expect(shown.contains("colour") && shown.contains("red") && shown.contains("L"), "\(shown)")
            #expect(try machines.on(name, "conflicts", "-f", machines.file(name)).output.isEmpty)
        }
    }

    @Test("A removal elsewhere does not settle a conflict, and does not take the value that is shown")
    func shownValueStays() throws {
        let machines = try Machines(["a", "b", "c"])
        try machines.set("a", "s", "of a")
        try machines.set("c", "s", "of c")
        try machines.merge("b", with: "a")
        try machines.merge("b", with: "c", exit: 3)
        #expect(try machines.secret("b", "s") == "of c")
        try machines.remove("c", "s")
        try machines.merge("c", with: "b", exit: 3)
        #expect(try machines.everySecret("c", "s").isSuperset(of: ["of a", "of c"]))
        try machines.merge("b", with: "c", exit: 3)
        #expect(try machines.secret("b", "s") == "of c")
        #expect(try machines.everySecret("b", "s").isSuperset(of: ["of a", "of c"]))
        #expect(try !machines.on("b", "conflicts", "-f", machines.file("b")).output.isEmpty)
    }

    @Test("A conflict stays with the newer value shown, although the removed item has been changed again elsewhere")
    func conflictStays() throws {
        let machines = try Machines(["a", "c", "d"])
        try machines.set("a", "s", "of a")
        try machines.set("c", "s", "of c")
        try machines.merge("d", with: "c")
        try machines.remove("d", "s")
        try machines.merge("c", with: "a", exit: 3)
        try machines.merge("a", with: "d")
        try machines.on("a", "update", "s", "u", "--label", "L", "-f", machines.file("a"))
        try machines.merge("c", with: "a", exit: 3)
        #expect(try machines.secret("c", "s") == "of c")
        #expect(try machines.everySecret("c", "s").isSuperset(of: ["of a", "of c"]))
        #expect(try !machines.on("c", "conflicts", "-f", machines.file("c")).output.isEmpty)
    }

    @Test("undo after a merge that took over the other copy asks before it undoes another machine's change")
    func undoOfTakenCopy() throws {
        let machines = try Machines(["a", "b"])
        for text in ["one", "two"] { try machines.set("b", "s", text) }
        try machines.merge("a", with: "b")
        let before = try machines.sandbox.read("a.vault")
        let run = try machines.on("a", "undo", "-f", machines.file("a"), exit: 64)
        #expect(run.error.contains("no record of making the change") && run.error.contains("other machines"))
        #expect(try machines.sandbox.read("a.vault") == before)
        try machines.on("b", "undo", "-f", machines.file("b"))
        #expect(try machines.secret("b", "s") == "one")
    }

    @Test("An attribute added here stays with an item that another machine has removed, and a third one changed before")
    func addedAttributeStays() throws {
        let machines = try Machines(["a", "c", "d"])
        try machines.on("a", "update", "s", "u", "--label", "L", "-f", machines.file("a"))
        try machines.on("c", "update", "s", "u", "--attribute", "code=1234", "-f", machines.file("c"))
        try machines.merge("d", with: "c")
        try machines.remove("d", "s")
        try machines.merge("a", with: "d")
        try machines.merge("c", with: "a")
        try machines.merge("a", with: "c")
        for name in ["c", "a"] {
            let list = try machines.on(name, "list", "--json", "-f", machines.file(name)).output
            #expect(list.contains("1234") && list.contains("\"L\""), "\(list)")
        }
    }

    @Test("An attribute that another machine has removed does not come back with a newer secret")
    func droppedAttributeStaysAway() throws {
        let machines = try Machines(["a", "c", "d"])
        try machines.on("a", "update", "s", "u", "--attribute", "code=1234", "-f", machines.file("a"))
        for name in ["c", "d"] { try machines.merge(name, with: "a") }
        try machines.on("a", "update", "s", "u", "--label", "L", "-f", machines.file("a"))
        try machines.set("c", "s", "new")
        try machines.merge("d", with: "c")
        try machines.remove("d", "s")
        try machines.merge("c", with: "a")
        try machines.merge("a", with: "d")
        try machines.on("a", "update", "s", "u", "--remove-attribute", "code", "-f", machines.file("a"))
        try machines.merge("c", with: "a")
        #expect(try machines.secret("c", "s") == "new")
        #expect(try !machines.on("c", "list", "--json", "-f", machines.file("c")).output.contains("1234"))
    }

    @Test("A removal elsewhere does not move an item back into a group that it has left, or return an attribute")
    func placeStays() throws {
        let machines = try Machines(["a", "c", "d"])
        try machines.on("a", "update", "s", "u", "--attribute", "code=1234", "-f", machines.file("a"))
        for name in ["c", "d"] { try machines.merge(name, with: "a") }
        try machines.on("a", "update", "s", "u", "--label", "L", "-f", machines.file("a"))
        try machines.on("c", "move", "s", "u", "--to-group", "private", "-f", machines.file("c"))
        try machines.on("c", "update", "s", "u", "--remove-attribute", "code", "-f", machines.file("c"))
        try machines.merge("d", with: "c")
        try machines.remove("d", "s")
        try machines.merge("c", with: "a")
        try machines.merge("c", with: "d")
        for name in ["c", "a", "d"] {
            if name != "c" { try machines.merge(name, with: "c") }
            let listed = try machines.on(name, "list", "--json", "-f", machines.file(name)).output
            #expect(listed.contains(#""private""#) && !listed.contains("1234") && listed.contains(#""L""#), "\(listed)")
        }
    }

    @Test("An item that a merge leaves without a secret is named, and the exit code says that something is missing")
    func secretless() throws {
        let machines = try Machines(["b", "c"])
        try machines.on("c", "update", "s", "u", "--label", "L", "-f", machines.file("c"))
        try machines.set("b", "s", "two")
        try machines.on("b", "forget", "s", "u", "--all", "--yes", "-f", machines.file("b"))
        try machines.remove("b", "s")
        for (name, other) in [("b", "c"), ("c", "b")] {
            let run = try machines.merge(name, with: other, exit: 3)
            let words = "'u' shows no secret, because its last secret was forgotten; 'vaultfmt set' stores one"
            #expect((run.output + run.error).contains(words), "\(run.output)\(run.error)")
            #expect(!run.error.contains("conflicts"), "\(run.error)")
        }
    }

    @Test("G2: a removal takes only what it has seen, however long ago it was")
    func unseenStays() throws {
        let machines = try Machines(["a", "b"], ["old item"])
        try machines.set("a", "new item", "n")
        try machines.remove("b", "old item")
        try machines.merge("a", with: "b")
        try machines.on("a", "compact", machines.file("a"))
        try machines.on("b", "compact", machines.file("b"))
        try machines.set("b", "later b", "1")
        try machines.set("a", "later a", "2")
        try machines.merge("b", with: "a")
        try machines.merge("a", with: "b")
        for name in ["a", "b"] {
            #expect(try machines.secret(name, "new item") == "n")
            #expect(try machines.secret(name, "old item") == nil)
        }
    }

    @Test("G4: a slot keeps its identity when its factors change: removed stays removed, and taken stays taken")
    func slots() throws {
        let machines = try Machines(["a", "b"])
        let sandbox = machines.sandbox
        try machines.on("a", "generate", "--key-file", sandbox.path("usb.key"))
        try machines.on("a", "generate", "--key-file", sandbox.path("other.key"))
        try machines.on(
            "a", "slot", "add", machines.file("a"), "--new-key-file", sandbox.path("usb.key"), "--name", "usb")
        try machines.set("b", "x", "1")
        #expect(try machines.merge("b", with: "a").output.contains("slot added"))
        // One machine changes the factors of the slot, the other one removes it.
        try machines.on(
            "b", "rekey", machines.file("b"), "--key-file", sandbox.path("usb.key"), "--new-key-file",
            sandbox.path("other.key"))
        try machines.on("a", "slot", "remove", "usb", machines.file("a"), "--yes")
        try machines.merge("a", with: "b")
        try machines.merge("b", with: "a")
        for name in ["a", "b"] {
            let list = try machines.on(name, "slot", "list", machines.file(name)).output
            #expect(!list.contains("usb") && list.split(separator: "\n").count == 1, "\(name): \(list)")
        }
    }

    @Test("G5: after compactions on both sides and on a third copy, nothing removed comes back and nothing conflicts")
    func compacted() throws {
        let machines = try Machines(["a", "b", "c"], ["s", "t"])
        for round in 0..<3 {
            try machines.set("a", "a\(round)", "a")
            try machines.set("b", "b\(round)", "b")
            try machines.set("a", "s", "secret \(round)")
            for name in ["a", "b", "c"] { try machines.on(name, "compact", machines.file(name)) }
            try machines.merge("c", with: "a")
            try machines.merge("b", with: "c")
            try machines.remove("b", "a\(round)")
            try machines.on("b", "compact", machines.file("b"))
            try machines.merge("a", with: "b")
        }
        try machines.merge("c", with: "a")
        for name in ["a", "c"] {
            #expect(try machines.secret(name, "a0") == nil && machines.secret(name, "a2") == nil)
            #expect(try machines.secret(name, "b0") == "b" && machines.secret(name, "s") == "secret 2")
            #expect(try machines.on(name, "conflicts", "-f", machines.file(name)).output == "")
        }
    }

    @Test("G6: what was forgotten stays forgotten after a merge with a copy that changed the item")
    func forgotten() throws {
        let machines = try Machines(["a"])
        try machines.set("a", "s", "second")
        try machines.copy("a", to: "b")
        let both = machines
        try both.on("a", "forget", "s", "u", "--all", "--yes", "-f", both.file("a"))
        try both.on("a", "compact", both.file("a"))
        try both.on("a", "update", "s", "u", "--label", "there", "-f", both.file("b"), exit: 65)
        try both.on("a", "anchor", both.file("b"), "--accept")
        try both.on("a", "update", "s", "u", "--label", "there", "-f", both.file("b"))
        try both.on("a", "merge", both.file("a"), both.file("b"))
        try both.on("a", "merge", both.file("b"), both.file("a"))
        for name in ["a", "b"] {
            let history = try both.on("a", "history", "s", "u", "-f", both.file(name))
            #expect(history.lines.isEmpty, "\(history.output)")
            #expect(try both.on("a", "get", "s", "u", "--field", "label", "-f", both.file(name)).output == "there")
        }
    }

    @Test("G7: a machine whose file a syncer exchanged goes on after a merge, also if the other side removed the item")
    func exchanged() throws {
        let machines = try Machines(["a", "b"])
        let sandbox = machines.sandbox
        try machines.remove("a", "s")
        try machines.set("b", "s", "changed")
        try machines.remove("b", "s")
        try sandbox.okShell("mv a.vault 'a.sync-conflict-20260101-101010-ABCDEFG.vault'; cp b.vault a.vault")
        try machines.on("a", "list", "-f", machines.file("a"), exit: 65)
        try machines.on("a", "merge", machines.file("a"), "--conflicts")
        #expect(machines.exists("a.vault.merged/a.sync-conflict-20260101-101010-ABCDEFG.vault"))
        try machines.on("a", "list", "-f", machines.file("a"))
        try machines.set("a", "next", "n")
        try machines.merge("b", with: "a")
        #expect(try machines.secret("b", "next") == "n" && machines.secret("b", "s") == nil)
    }

    @Test("G8: the other side's new passphrase is taken; until both are given, the copy that needs it is named")
    func newPassphrase() throws {
        let machines = try Machines(["a", "b"])
        let sandbox = machines.sandbox
        try sandbox.write("new.txt", "another good passphrase".utf8)
        try machines.on("a", "rekey", machines.file("a"), "--new-passphrase-file", sandbox.path("new.txt"))
        try machines.set("b", "mine", "m")
        let refused = try machines.on("b", "merge", machines.file("b"), machines.file("a"), exit: 77)
        #expect(refused.error.contains("a.vault") && refused.error.contains("--other-passphrase-file"))
        let run = try machines.on(
            "b", "merge", machines.file("b"), machines.file("a"), "--other-passphrase-file", sandbox.path("new.txt"))
        #expect(run.output.contains("slot with the other copy's name and factors"))
        try machines.on("b", "get", "mine", "u", "-f", machines.file("b"), exit: 77)
        let opened = try machines.on(
            "b", "get", "mine", "u", "-f", machines.file("b"), "--passphrase-file", sandbox.path("new.txt"))
        #expect(opened.output == "m")
        let slots = try machines.on(
            "b", "slot", "list", machines.file("b"), "--passphrase-file", sandbox.path("new.txt"))
        #expect(slots.lines.count == 1)
    }

    @Test("G9: a copy that fell behind by many changes and compactions comes back")
    func fellBehind() throws {
        let machines = try Machines(["a", "b"])
        try machines.set("b", "mine", "m")
        for round in 0..<40 {
            try machines.set("a", "s", "\(round)")
            if round % 10 == 9 { try machines.on("a", "compact", machines.file("a")) }
        }
        try machines.merge("b", with: "a")
        try machines.merge("a", with: "b")
        #expect(try machines.secret("a", "mine") == "m" && machines.secret("b", "s") == "39")
    }

    @Test("G10: a lock that a killed git left is named with its remedy")
    func gitLock() throws {
        let sandbox = try Sandbox()
        sandbox.environment["GIT_CONFIG_GLOBAL"] = sandbox.path("gitconfig")
        try sandbox.write("gitconfig", "[user]\n name = n\n email = e@example.org\n".utf8)
        try sandbox.okShell("git init -q --bare origin.git; git clone -q origin.git here 2>clone.txt")
        let vault = sandbox.path("here/work.vault")
        try sandbox.ok("create", vault, "--kdf", "testing")
        try sandbox.ok("sync", vault)
        try sandbox.ok("set", "x", "-f", vault, input: "1".utf8)
        try sandbox.write("here/.git/index.lock", "".utf8)
        let run = try sandbox.fails(75, "if no git is running, delete '", "sync", vault)
        #expect(run.error.contains("/here/.git/index.lock"))
        try sandbox.okShell("rm here/.git/index.lock")
        try sandbox.ok("sync", vault)
    }

    @Test("G11: the value that loses a conflict is an earlier value after settling, whatever the clocks say")
    func loserIsEarlier() throws {
        let machines = try Machines(["a", "b"])
        try machines.set("a", "s", "from a")
        try machines.set("b", "s", "from b")
        try machines.merge("a", with: "b", exit: 3)
        try machines.on("a", "conflicts", "settle", "s", "u", "-f", machines.file("a"))
        #expect(try machines.everySecret("a", "s") == ["first", "from a", "from b"])
        // The same if the other one is chosen.
        try machines.merge("b", with: "a")
        try machines.set("a", "s", "again a")
        try machines.set("b", "s", "again b")
        try machines.merge("b", with: "a", exit: 3)
        try machines.on("b", "conflicts", "settle", "s", "u", "--keep", "1", "-f", machines.file("b"))
        #expect(try machines.everySecret("b", "s") == ["first", "from a", "from b", "again a", "again b"])
    }

    @Test("G12: the order in which three copies are merged does not matter")
    func order() throws {
        let machines = try Machines(["a", "b", "c", "x", "y"], ["s", "t"])
        try machines.set("a", "s", "from a")
        try machines.on("b", "move", "s", "u", "--to-service", "renamed", "-f", machines.file("b"))
        try machines.set("b", "t", "from b")
        try machines.remove("c", "t")
        try machines.on("c", "update", "s", "u", "--label", "from c", "-f", machines.file("c"))
        for name in ["a", "b", "c"] { _ = try machines.on("x", "merge", machines.file("x"), machines.file(name)) }
        for name in ["c", "a", "b"] { _ = try machines.on("y", "merge", machines.file("y"), machines.file(name)) }
        #expect(try machines.on("x", "diff", machines.file("x"), machines.file("y")).output == "")
        #expect(try machines.secret("x", "renamed") == "from a" && machines.secret("x", "t") == "from b")
    }

    @Test("G13: a copy that was cut off within a change is merged as far as it goes, named, and stays")
    func cutOff() throws {
        let machines = try Machines(["a", "b"])
        let sandbox = machines.sandbox
        try machines.set("b", "readable", "r")
        let end = try sandbox.read("b.vault").count
        try machines.on("b", "update", "readable", "u", "-f", machines.file("b"), "--attach", machines.file("a"))
        let whole = try sandbox.read("b.vault")
        try #require(whole.count > end + 9000)
        try sandbox.write("a.sync-conflict-20260101-101010-ABCDEFG.vault", whole.prefix(end + 5000))
        let run = try machines.on("a", "merge", machines.file("a"), "--conflicts", exit: 3)
        #expect(run.output.contains("ends within a change, so it was left in place"), "\(run.output)")
        #expect(machines.exists("a.sync-conflict-20260101-101010-ABCDEFG.vault"))
        #expect(try machines.secret("a", "readable") == "r")
        // The same where the cut goes through the commit itself, which then looks damaged.
        try sandbox.write("a.sync-conflict-20260101-101010-ABCDEFG.vault", whole.dropLast(100))
        let late = try machines.on("a", "merge", machines.file("a"), "--conflicts", exit: 3)
        #expect(late.output.contains("nothing to merge"), "\(late.output)")
        #expect(
            late.output.contains("ends with changes that cannot be read, so it was left in place"), "\(late.output)")
        // The same for a copy that is named.
        try sandbox.write("cut.vault", whole.prefix(end + 5000))
        let named = try machines.on("a", "merge", machines.file("a"), machines.file("cut"), exit: 3)
        #expect(named.error.contains("ends within a change"), "\(named.error)")
    }

    @Test("merging the copies that were left names every file that stays, and says that there is something to settle")
    func countsWhatStays() throws {
        let machines = try Machines(["a", "b", "c"])
        let sandbox = machines.sandbox
        try machines.set("a", "s", "from a")
        try machines.set("b", "s", "from b")
        try machines.set("c", "t", "from c")
        try sandbox.write("a.sync-conflict-20260101-101010-ABCDEFG.vault", sandbox.read("b.vault").dropLast(100))
        try sandbox.write("a-OFFICE.vault", sandbox.read("b.vault"))
        try sandbox.write("a-HOME.vault", sandbox.read("c.vault"))
        let run = try machines.on("a", "merge", machines.file("a"), "--conflicts", exit: 3)
        #expect(run.error.contains("3 files were left in place"), "\(run.error)")
        #expect(run.error.contains("conflicts to settle; 'vaultfmt conflicts list"), "\(run.error)")
    }

    @Test("a secret that was set in another group is kept in the item's group only after confirmation")
    func settledElsewhere() throws {
        let machines = try Machines(["a", "b"])
        try machines.on("b", "move", "s", "u", "--to-group", "shared", "-f", machines.file("b"))
        try machines.set("a", "s", "from a")
        try machines.on("b", "set", "s", "u", "--group", "shared", "-f", machines.file("b"), input: "from b")
        try machines.merge("a", with: "b", exit: 3)
        let vault = ["--group", "shared", "-f", machines.file("a")]
        let shown = try machines.on("a", ["conflicts", "show", "s", "u"] + vault)
        #expect(shown.output.contains("(set in the default group, when-unlocked)"), "\(shown.output)")
        let refused = try machines.on("a", ["conflicts", "settle", "s", "u", "--keep", "1"] + vault, exit: 64)
        #expect(
            refused.error.contains("nothing was settled") && refused.error.contains("group 'shared'"),
            "\(refused.error)")
        try machines.on("a", ["conflicts", "settle", "s", "u", "--keep", "1", "--yes"] + vault)
        #expect(try machines.on("a", ["get", "s", "u"] + vault).output == "from a")
        #expect(try machines.on("a", ["conflicts"] + vault.suffix(2)).output == "")
    }

    @Test("after both changed the passphrase, the merge says which of them opens the vault")
    func bothPassphrases() throws {
        let machines = try Machines(["a", "b"])
        let sandbox = machines.sandbox
        for name in ["a", "b"] {
            try machines.on(
                name, "rekey", "--new-passphrase-file", sandbox.write("\(name) words", "passphrase of \(name)".utf8),
                "--kdf",
                "testing", "-f", machines.file(name))
        }
        let run = try machines.on(
            "a", "merge", machines.file("a"), machines.file("b"), "--passphrase-file", sandbox.path("a words"),
            "--other-passphrase-file", sandbox.path("b words"))
        #expect(run.output.contains("the other copy's was set later and is used now"), "\(run.output)")
        try machines.on("a", "list", "-f", machines.file("a"), "--passphrase-file", sandbox.path("b words"))
        try machines.on("a", "list", "-f", machines.file("a"), "--passphrase-file", sandbox.path("a words"), exit: 77)
    }

    @Test(
        "a home that is put back while the machine runs writes under new ids: no merge removes what it did not know",
        arguments: ["tar xf b.tar", "cp -a snap/. one"])
    func restoredHome(_ restoring: String) throws {
        let sandbox = try Sandbox()
        try sandbox.linkPrograms()
        sandbox.environment["VAULTFMT_VAULT"] = nil
        try sandbox.okShell(
            """
            on() { (cd "$1"; export XDG_STATE_HOME=$PWD/state; shift; "$@"); }
            put() { printf %s "$3" | on "$1" vaultfmt set "$2" -f w.vault; }
            mkdir one two; on one vaultfmt create w.vault --kdf testing; put one x1 1; cp one/w.vault two/w.vault; put two y1 1
            tar cf b.tar one; cp -a one snap; put one bank b; put one x1 2; cp one/w.vault stick
            on two vaultfmt merge w.vault ../stick
            \(restoring)
            put one o1 1; put one o2 2; put one o3 3; cp one/w.vault stick
            on two vaultfmt merge w.vault ../stick >report; ! grep -q removed report
            [[ $(on two vaultfmt get bank -f w.vault) == b && $(on two vaultfmt get x1 -f w.vault) == 2 && $(on two vaultfmt get o3 -f w.vault) == 3 ]]
            on one vaultfmt merge w.vault ../two/w.vault >report; ! grep -q removed report
            [[ $(on one vaultfmt get bank -f w.vault) == b && $(on one vaultfmt get x1 -f w.vault) == 2 && $(on one vaultfmt get y1 -f w.vault) == 1 ]]
            """)
    }

    @Test(
        "a long attribute that was set in another group is left to settle, as a secret is, and kept only after asking")
    func longAttribute() throws {
        let machines = try Machines(["a", "b"])
        let memo = String(repeating: "m", count: 300)
        try machines.on("b", "update", "s", "--attribute", "memo=\(memo)", "-f", machines.file("b"))
        try machines.on("a", "move", "s", "--to-group", "team", "--yes", "-f", machines.file("a"))
        try machines.merge("a", with: "b", exit: 3)
        try machines.on("a", "get", "s", "--group", "team", "--field", "memo", "-f", machines.file("a"), exit: 1)
        let shown = try machines.on("a", "conflicts", "show", "s", "--group", "team", "-f", machines.file("a")).output
        #expect(shown.contains("memo"), "\(shown)")
        let settle = ["conflicts", "settle", "s", "--group", "team", "--keep", "1", "-f", machines.file("a")]
        let refused = try machines.on("a", settle, exit: 64)
        #expect(
            refused.error.contains("was set in the default group") && refused.error.contains("is in group 'team'"),
            "\(refused.error)")
        try machines.on("a", settle + ["--yes"])
        let kept = try machines.on("a", "get", "s", "--group", "team", "--field", "memo", "-f", machines.file("a"))
        #expect(kept.output == memo)
    }

    @Test("settling that moves an item to another group asks first, and names all readers", arguments: [false, true])
    func settledPlace(isNarrowing: Bool) throws {
        let machines = try Machines(["a", "b"])
        func move(to group: String) throws {
            try machines.on("a", "move", "s", "--to-group", group, "--yes", "-f", machines.file("a"))
        }
        if isNarrowing {
            try move(to: "team")
            try machines.merge("b", with: "a")
        }
        try move(to: isNarrowing ? "" : "team")
        let before = isNarrowing ? "team" : ""
        try machines.on("b", "set", "s", "u", "--group", before, "-f", machines.file("b"), input: "from b")
        try machines.merge("a", with: "b", exit: 3)
        let settle = ["conflicts", "settle", "s", "--keep", "1", "-f", machines.file("a")]
        let refused = try machines.on("a", settle, exit: 64).error
        let (from, to) = ("the default group", "group 'team'")
        #expect(refused.contains("moves the item from \(isNarrowing ? to : from)"), "\(refused)")
        #expect(refused.contains("to \(isNarrowing ? from : to)"), "\(refused)")
        #expect(refused.contains("then everyone who can read items there could read this one, and nobody else"))
        try machines.on("a", settle + ["--yes"])
        let group = isNarrowing ? "" : "team"
        #expect(try machines.on("a", "get", "s", "--group", group, "-f", machines.file("a")).output == "from b")
    }

    @Test("an export and a copy with its history have the value that a merge left to settle, as an earlier one")
    func exportedConflict() throws {
        let machines = try Machines(["a", "b"])
        let sandbox = machines.sandbox
        try machines.set("a", "s", "from a")
        try machines.set("b", "s", "from b")
        try machines.merge("a", with: "b", exit: 3)
        try machines.on("a", "export", "-f", machines.file("a"), "--output", sandbox.path("all.json"))
        try machines.on("a", "create", machines.file("x"), "--kdf", "testing")
        try machines.on("a", "import", sandbox.path("all.json"), "-f", machines.file("x"))
        try machines.on("a", "create", machines.file("y"), "--kdf", "testing")
        try machines.on(
            "a", "copy", "s", "--history", "--to", machines.file("y"), "--to-passphrase-file",
            sandbox.write("words", Sandbox.passphrase.utf8), "-f", machines.file("a"))
        for name in ["x", "y"] {
            sandbox.environment["XDG_STATE_HOME"] = sandbox.path("state of a")
            #expect(try sandbox.ok("get", "s", "u", "-f", machines.file(name)).output == "from b")
            let earlier = try ["1", "2"].map {
                try sandbox.ok("get", "s", "u", "--earlier", $0, "-f", machines.file(name)).output
            }
            #expect(earlier == ["from a", "first"], "\(name): \(earlier)")
        }
    }

    @Test("an export names the items with other values to settle than it contains; once settled, nothing is missing")
    func exportedLabel() throws {
        let machines = try Machines(["a", "b"], ["s", "t"])
        for name in ["a", "b"] {
            try machines.on(name, "update", "s", "u", "--label", "label of \(name)", "-f", machines.file(name))
            try machines.set(name, "t", "from \(name)")
        }
        try machines.merge("a", with: "b", exit: 3)
        let named = "not exported: values of 'label' that a merge has left to settle in generic-password 's' 'u'"
        let secret = "not exported: values of secret that a merge has left to settle in generic-password 't' 'u'"
        for format in ["json", "csv"] {
            let run = try machines.on("a", "export", "-f", machines.file("a"), "--format", format, exit: 3)
            #expect(!run.output.contains("label of a"), "\(run.output)")
            #expect(run.error.contains(named), "\(run.error)")
            // JSON has the other secret as an earlier value.
            #expect(run.error.contains(secret) == (format == "csv"), "\(run.error)")
            let count = format == "csv" ? "2 items" : "1 item"
            #expect(
                run.error.contains("exported, but values to settle of \(count) are missing (see above); 'vaultfmt con"),
                "\(run.error)")
        }
        // Both secrets of the other item are in the export.
        try machines.on("a", "export", "-f", machines.file("a"), "--service", "t")
        try machines.on("a", "conflicts", "settle", "s", "--keep", "1", "-f", machines.file("a"))
        let whole = try machines.on("a", "export", "-f", machines.file("a"))
        #expect(whole.output.contains("label of a") && !whole.error.contains("settle"), "\(whole.error)")
    }

    @Test("an earlier value of another device is left out of an export and named, and nothing else is missing")
    func exportWithoutDevice() throws {
        let machines = try Machines(["a", "b"], ["s", "t"])
        try machines.on(
            "b", "update", "s", "u", "--accessible", "when-unlocked-this-device-only", "-f", machines.file("b"))
        try machines.set("b", "s", "of the device")
        try machines.on("b", "set", "s", "u", "--accessible", "when-unlocked", "-f", machines.file("b"), input: "open")
        try machines.merge("a", with: "b")
        for format in ["json", "csv"] {
            let run = try machines.on(
                "a", "export", "-f", machines.file("a"), "--format", format, exit: format == "json" ? 3 : 0)
            #expect(run.output.contains("open") && (format == "csv" || run.output.contains("first")))
            #expect(!run.output.contains("of the device"))
            #expect(
                format == "csv" || run.error.contains("not exported: 2 earlier values of generic-password 's' 'u'"),
                "\(run.error)")
        }
    }

    @Test("an undo that needs another device fails before it says that others follow, and so does its dry run")
    func undoneWithoutDevice() throws {
        let machines = try Machines(["a", "b"], ["s", "t"])
        try machines.on(
            "b", "update", "s", "u", "--accessible", "when-unlocked-this-device-only", "-f", machines.file("b"))
        try machines.set("b", "s", "of the device")
        try machines.merge("a", with: "b")
        for isRehearsal in [true, false] {
            let line = ["undo", "--yes", "-f", machines.file("a")] + (isRehearsal ? ["--dry-run"] : [])
            let run = try machines.on("a", line, exit: 69)
            #expect(run.error.contains("open it on the device that stored it"), "\(run.error)")
            #expect(!run.error.contains("follow"), "\(run.error)")
        }
    }

    @Test("G14: taking over a state with open conflicts ends with 3; without anything to settle, never")
    func exitCodes() throws {
        let machines = try Machines(["a", "b", "c"])
        try machines.set("a", "s", "from a")
        try machines.set("b", "s", "from b")
        try machines.merge("a", with: "b", exit: 3)
        let run = try machines.merge("c", with: "a", exit: 3)
        #expect(run.output.contains("includes every change"))
        #expect(try !machines.on("c", "conflicts", "-f", machines.file("c")).output.isEmpty)
        try machines.on("a", "conflicts", "settle", "--all", "-f", machines.file("a"))
        try machines.merge("c", with: "a")
        #expect(try machines.on("c", "conflicts", "-f", machines.file("c")).output == "")
        // A removal against a change leaves nothing to settle.
        try machines.remove("a", "s")
        try machines.set("b", "other", "o")
        try machines.merge("b", with: "a")
    }

    @Test("G15: a second copy on one machine is accepted once, and then both are used side by side")
    func secondCopy() throws {
        let machines = try Machines(["a"])
        try machines.copy("a", to: "b")
        try machines.set("a", "x", "1")
        let refused = try machines.on("a", "list", "-f", machines.file("b"), exit: 65)
        #expect(refused.error.contains("second copy") && refused.error.contains("a.vault"))
        try machines.on("a", "anchor", machines.file("b"), "--accept")
        for _ in 0..<2 {
            try machines.on("a", "set", "y", "u", "-f", machines.file("b"), input: "2")
            try machines.on("a", "set", "z", "u", "-f", machines.file("a"), input: "3")
        }
        try machines.on("a", "merge", machines.file("a"), machines.file("b"))
        #expect(try machines.secret("a", "y") == "2" && machines.secret("a", "z") == "3")
        // Each place is still protected against a rollback of its own.
        let older = try machines.sandbox.read("b.vault")
        try machines.on("a", "set", "y", "u", "-f", machines.file("b"), input: "4")
        try machines.sandbox.write("b.vault", older)
        try machines.on("a", "list", "-f", machines.file("b"), exit: 65)
    }

    @Test("G15: on a terminal, a second copy is asked about, and its passphrase once")
    func secondCopyOnTerminal() throws {
        let sandbox = try Sandbox.withVault()
        let passphrase = try #require(sandbox.environment["VAULTFMT_PASSPHRASE"])
        try sandbox.write("copy.vault", try sandbox.read("test.vault"))
        try sandbox.ok("set", "new", input: "pw".utf8)
        sandbox.environment["VAULTFMT_PASSPHRASE"] = nil
        for (answer, code) in [("n", Int32(65)), ("y", 0)] {
            let terminal = try PseudoTerminal(sandbox, "list", "-f", "copy.vault")
            try terminal.expect("Passphrase for")
            try terminal.answerHidden(passphrase)
            try terminal.expect("a second copy that you keep on this machine? [y/N] ")
            try terminal.type(answer + "\r")
            #expect(try terminal.finish() == code)
            #expect(terminal.screen.components(separatedBy: "Passphrase for").count == 2, "\(terminal.screen)")
        }
        let terminal = try PseudoTerminal(sandbox, "list", "-f", "copy.vault")
        try terminal.expect("Passphrase for")
        try terminal.answerHidden(passphrase)
        #expect(try terminal.finish() == 0)
    }

    @Test("changes that were dropped by accepting another state come back only when asked for")
    func dropped() throws {
        let machines = try Machines(["a", "b"])
        let before = try machines.sandbox.read("a.vault")
        try machines.set("a", "dropped", "d")
        try machines.merge("b", with: "a")
        try machines.sandbox.write("a.vault", before)
        let run = try machines.on("a", "anchor", machines.file("a"), "--accept")
        #expect(run.error.contains("--accept-dropped"))
        try machines.set("a", "mine", "m")
        let refused = try machines.merge("a", with: "b", exit: 65)
        #expect(refused.error.contains("--accept-dropped"))
        #expect(try machines.secret("a", "dropped") == nil)
        try machines.on("a", "merge", machines.file("a"), machines.file("b"), "--accept-dropped")
        #expect(try machines.secret("a", "dropped") == "d")
        try machines.on("a", "list", "-f", machines.file("a"))
    }
}
