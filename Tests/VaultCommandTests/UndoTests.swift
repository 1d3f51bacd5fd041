import Foundation
import Testing

/// `undo`, `redo`, and `restore` of what was removed.
@Suite("Undo")
struct UndoTests {
    private func sandbox() throws -> Sandbox {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "svc", "ann", "--label", "L1", input: "one".utf8)
        try sandbox.ok("set", "svc", "ann", "--label", "L2", input: "two".utf8)
        return sandbox
    }

    private func items(_ sandbox: Sandbox) throws -> [String] {
        try sandbox.ok("list").lines.map { $0.split(separator: "\t", omittingEmptySubsequences: false)[1] }.map(
            String.init)
    }

    @Test("the part of an item's place that differs is named")
    func places() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "svc", "ann", input: "one".utf8)
        for (line, name) in [
            (["move", "svc", "--to-group", "work"], "group"),
            (["update", "svc", "--accessible", "always"], "accessibility"),
        ] {
            try sandbox.ok(line)
            let log = try sandbox.ok("log", "--limit", "1").output
            #expect(log.contains(": \(name)\n"), "\(log)")
            let undone = try sandbox.ok("undo", "--dry-run").error
            #expect(undone.contains(": \(name)\n"), "\(undone)")
        }
    }

    @Test("undo after undo goes back to the empty vault, redo after redo forward again")
    func backAndForth() throws {
        let sandbox = try sandbox()
        try sandbox.ok("set", "visa", "bob", input: "x".utf8)
        #expect(try sandbox.ok("undo").error.contains("removed again: generic-password 'visa' 'bob'"))
        #expect(try sandbox.ok("undo").error.contains("as before: generic-password 'svc' 'ann': secret, 'label'"))
        #expect(try sandbox.ok("get", "svc").output == "one")
        try sandbox.ok("undo")
        #expect(try items(sandbox) == [])
        try sandbox.fails(1, "nothing to undo", "undo")
        for _ in 0..<3 { try sandbox.ok("redo") }
        try sandbox.fails(1, "nothing to redo", "redo")
        #expect(try items(sandbox) == ["svc", "visa"])
        #expect(try sandbox.ok("get", "svc").output == "two")
        #expect(try sandbox.ok("history", "svc").lines.count == 1)
        #expect(try sandbox.ok("undo", "--steps", "2", "--dry-run").error.contains("nothing was changed"))
        try sandbox.ok("undo", "--steps", "2")
        #expect(try sandbox.ok("get", "svc").output == "one")
        try sandbox.ok("verify")
        // Another change ends what can be redone.
        try sandbox.ok("redo")
        try sandbox.ok("set", "other", input: "o".utf8)
        try sandbox.fails(1, "another change has been made", "redo")
        #expect(try sandbox.ok("undo").error.contains("removed again: generic-password 'other'"))
        #expect(try sandbox.ok("get", "svc").output == "two")
        try sandbox.fails(64, "--steps must be at least 1", "undo", "--steps", "0")
    }

    @Test("redo --steps redoes several undone changes at once, and says if fewer were undone")
    func severalRedone() throws {
        let sandbox = try sandbox()
        for secret in ["three", "four"] { try sandbox.ok("set", "svc", "ann", input: secret.utf8) }
        try sandbox.ok("undo", "--steps", "3")
        #expect(try sandbox.ok("get", "svc").output == "one")
        try sandbox.fails(1, "only 3 changes can be redone; 'vaultfmt redo --steps 3'", "redo", "--steps", "4")
        try sandbox.fails(64, "--steps must be at least 1", "redo", "--steps", "0")
        let planned = try sandbox.ok("redo", "--steps", "2", "--dry-run").error
        #expect(planned.components(separatedBy: "redo: the change at ").count == 3, "\(planned)")
        #expect(try sandbox.ok("get", "svc").output == "one")
        try sandbox.ok("redo", "--steps", "2")
        #expect(try sandbox.ok("get", "svc").output == "three")
        try sandbox.fails(1, "only 1 change can be redone; 'vaultfmt redo --steps 1'", "redo", "--steps", "2")
        try sandbox.ok("redo")
        #expect(try sandbox.ok("get", "svc").output == "four")
        try sandbox.fails(1, "nothing to redo", "redo", "--steps", "2")
        // An undo of a redo of several changes goes back by one change, as any other.
        #expect(try sandbox.ok("undo").status == 0)
        #expect(try sandbox.ok("get", "svc").output == "three")
        try sandbox.ok("verify")
    }

    @Test("a change of slots between undone changes does not stop a redo")
    func redoneAcrossSlots() throws {
        let sandbox = try sandbox()
        let key = try sandbox.write("more.key", Array(repeating: 7, count: 32))
        try sandbox.ok("slot", "add", "--name", "more", "--new-raw-key-file", key)
        try sandbox.ok("set", "svc", "ann", input: "three".utf8)
        for secret in ["two", "one"] {
            try sandbox.ok("undo")
            #expect(try sandbox.ok("get", "svc").output == secret)
        }
        for secret in ["two", "three"] {
            try sandbox.ok("redo")
            #expect(try sandbox.ok("get", "svc").output == secret)
        }
    }

    @Test("what was removed comes back by undo, and by restore after other changes; after compact by neither")
    func removed() throws {
        let sandbox = try sandbox()
        #expect(try sandbox.ok("rm", "svc", "--yes").error.contains("'vaultfmt undo' brings it back"))
        #expect(try sandbox.ok("undo").error.contains("back: generic-password 'svc' 'ann'"))
        #expect(try sandbox.ok("get", "svc", "--version", "1").output == "one")
        for name in ["c1", "c2"] { try sandbox.ok("set", name, "--group", "clients", input: name.utf8) }
        try sandbox.ok("rm", "--group", "clients", "--all", "--yes")
        try sandbox.ok("set", "later", input: "l".utf8)
        try sandbox.fails(2, "2 removed items", "restore", "--group", "clients")
        try sandbox.ok("restore", "--group", "clients", "--all")
        #expect(try items(sandbox) == ["c1", "c2", "later", "svc"])
        try sandbox.ok("rm", "c1", "--yes")
        #expect(try sandbox.ok("restore", "c1").error.contains("'c1' '' group 'clients' is back"))
        #expect(try sandbox.ok("get", "c1").output == "c1")
        try sandbox.ok("rm", "c1", "--yes")
        try sandbox.ok("compact")
        try sandbox.fails(1, "compacted or rewritten", "undo")
        try sandbox.fails(1, "no item is named 'c1'", "restore", "c1")
        try sandbox.fails(1, "no removed item matches", "restore", "c1", "--all")
        try sandbox.ok("verify")
    }

    @Test("a change of another machine is undone only after asking, or by --yes")
    func elsewhere() throws {
        let sandbox = try sandbox()
        let here = try #require(sandbox.environment["XDG_STATE_HOME"])
        sandbox.environment["XDG_STATE_HOME"] = sandbox.path("elsewhere")
        try sandbox.ok("set", "svc", "ann", input: "three".utf8)
        sandbox.environment["XDG_STATE_HOME"] = here
        try sandbox.fails(64, "has no record of making the change", "undo")
        #expect(try sandbox.ok("get", "svc").output == "three")
        let terminal = try PseudoTerminal(sandbox, "undo")
        try terminal.expect("Undo it anyway? [y/N]")
        try terminal.type("n\r")
        try terminal.expect("nothing was changed because the answer was not yes")
        #expect(try terminal.finish() == 77)
        try sandbox.ok("undo", "--yes")
        #expect(try sandbox.ok("get", "svc").output == "two")
    }

    @Test("a move of an item with an attachment and long notes is undone, also with other changes in one step")
    func largeAttributes() throws {
        let sandbox = try sandbox()
        let file = (0..<9000).map { UInt8(truncatingIfNeeded: $0) }
        try sandbox.ok("update", "svc", "--attach", try sandbox.write("att", file))
        try sandbox.ok("update", "svc", "--attribute", "notes=" + String(repeating: "n", count: 6000))
        try sandbox.ok("move", "svc", "ann", "--to-group", "family")
        try sandbox.ok("undo")
        #expect(try sandbox.ok("get", "svc", "--field", "file:att").bytes == file)
        #expect(try sandbox.ok("get", "svc", "--field", "notes").output == String(repeating: "n", count: 6000))
        try sandbox.ok("redo")
        try sandbox.ok("set", "svc", "ann", input: "three".utf8)
        try sandbox.ok("undo", "--steps", "2")
        #expect(try sandbox.ok("get", "svc").output == "two")
        #expect(try sandbox.ok("get", "svc", "--field", "file:att").bytes == file)
        try sandbox.ok("verify")
    }

    @Test("an undo that takes an item out of a granted group rewrites the file, and says that it cannot be redone")
    func narrowing() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "p", "--group", "g1", input: "public".utf8)
        let key = try sandbox.write("ci.key", Array(repeating: 7, count: 32))
        try sandbox.ok("slot", "add", "--name", "ci", "--new-raw-key-file", key, "--grant-group", "g1")
        try sandbox.ok("set", "q", input: "mine".utf8)
        try sandbox.ok("move", "q", "--to-group", "g1", "--yes")
        let said = try sandbox.ok("undo").error
        #expect(said.contains("undone; the file was rewritten") && !said.contains("redoes"), "\(said)")
        try sandbox.fails(1, "nothing to redo", "redo")
        #expect(try sandbox.ok("set", "q2", "--group", "g1", input: "x".utf8).status == 0)
        #expect(try sandbox.ok("move", "q2", "--to-group", "", "--yes").error.contains("the file was rewritten"))
    }

    @Test("so does one that brings back an item which was removed from that group after a move to it")
    func narrowingOfRemoved() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "p", "--group", "g1", input: "public".utf8)
        let key = try sandbox.write("ci.key", Array(repeating: 7, count: 32))
        try sandbox.ok("slot", "add", "--name", "ci", "--new-raw-key-file", key, "--grant-group", "g1")
        try sandbox.ok("set", "q", input: "mine".utf8)
        try sandbox.ok("move", "q", "--to-group", "g1", "--yes")
        try sandbox.ok("rm", "q", "--yes")
        let said = try sandbox.ok("undo", "--steps", "2").error
        #expect(said.contains("undone; the file was rewritten") && !said.contains("redoes"), "\(said)")
        #expect(try sandbox.ok("get", "q").output == "mine")
        try sandbox.ok("verify")
    }

    @Test("a redo after an undo of an undo keeps the secret that the first undo replaced, also after compact")
    func redoneAfterUndone() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "y", input: "s1".utf8)
        try sandbox.ok("set", "y", input: "s2".utf8)
        try sandbox.ok("undo")
        try sandbox.ok("undo")
        try sandbox.fails(1, "no item is named 'y'", "get", "y")
        try sandbox.ok("redo")
        #expect(try sandbox.ok("get", "y").output == "s1")
        try sandbox.ok("compact")
        #expect(try sandbox.ok("get", "y", "--earlier", "1").output == "s2")
        try sandbox.ok("verify")
    }

    @Test("a redo that seals an attribute rewrites the file, and says why it cannot be undone")
    func sealing() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "q", "--attribute", "pet=Biscuit", input: "mine".utf8)
        try sandbox.ok("update", "q", "--secret-attribute", "pet", "--later", input: "Biscuit".utf8)
        #expect(try sandbox.ok("undo").error.contains("undone; 'vaultfmt redo' redoes the change"))
        let said = try sandbox.ok("redo").error
        #expect(
            said.contains(
                "redone; the file was rewritten because it contained an old record or value that others could read"),
            "\(said)")
        try sandbox.fails(1, "compacted or rewritten", "undo")
    }

    @Test(
        "settling for a sealed value over a plain one, or restoring it, says that undo cannot go back past this",
        arguments: [false, true])
    func sealedAgain(restores: Bool) throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "svc", "--attribute", "pet=Biscuit", input: "one".utf8)
        let copy = try sandbox.write("copy.vault", sandbox.read("test.vault"))
        let here = try #require(sandbox.environment["XDG_STATE_HOME"])
        sandbox.environment["XDG_STATE_HOME"] = sandbox.path("elsewhere")
        try sandbox.ok("update", "svc", "-f", copy, "--secret-attribute", "pet", input: "Rex".utf8)
        sandbox.environment["XDG_STATE_HOME"] = here
        try sandbox.ok("update", "svc", "--attribute", "pet=Luna")
        try sandbox.fails(3, "to settle", "merge", sandbox.vault, copy)
        let said: String
        if restores {
            try sandbox.ok("conflicts", "settle", "svc")
            said = try sandbox.ok("restore", "svc", "--field", "pet", "--yes").error
            #expect(said.contains("the previous value was not secret, and was discarded"), "\(said)")
        } else {
            said = try sandbox.ok("conflicts", "settle", "svc", "--keep", "1", "--yes").error
        }
        #expect(said.contains("the file was rewritten to protect the old value of 'pet'"), "\(said)")
        try sandbox.fails(1, "compacted or rewritten", "undo")
        #expect(try sandbox.ok("get", "svc", "--field", "pet").output == "Rex")
    }

    @Test("what was forgotten does not come back: undo says so, and goes further back when asked")
    func forgotten() throws {
        let sandbox = try sandbox()
        try sandbox.ok("set", "tmp", input: "t".utf8)
        try sandbox.ok("forget", "svc", "ann", "--all", "--yes")
        try sandbox.fails(1, "the change only added or forgot earlier values", "undo", "--yes")
        try sandbox.ok("undo", "--yes", "--steps", "2")
        try sandbox.fails(1, "no item is named 'tmp'", "get", "tmp")
        #expect(try sandbox.ok("get", "svc").output == "two")
        let before = try files(sandbox)
        for isRehearsal in [true, false] {
            let run = try sandbox.run(["undo", "--yes"] + (isRehearsal ? ["--dry-run"] : []))
            #expect(run.status == 69 && run.error.contains("then had a value that has since been forgotten"))
            #expect(run.error.contains("'vaultfmt undo --steps NUMBER' goes back further"), "\(run.error)")
            if isRehearsal { #expect(try files(sandbox) == before) }
        }
        #expect(try sandbox.ok("get", "svc").output == "two")
    }

    /// The vault, and all files of this machine's memory.
    private func files(_ sandbox: Sandbox) throws -> [String: Data] {
        let state = try #require(sandbox.environment["XDG_STATE_HOME"])
        var out = ["": Data(try sandbox.read("test.vault"))]
        for name in try FileManager.default.subpathsOfDirectory(atPath: state) {
            out[name] = FileManager.default.contents(atPath: state + "/" + name)
        }
        return out
    }

    @Test("--dry-run of undo and redo makes the change in memory only, and reports what it would drop or rewrite")
    func rehearsed() throws {
        let sandbox = try sandbox()
        try sandbox.ok("rekey", "--keep", "2")
        for secret in ["three", "four"] { try sandbox.ok("set", "svc", "ann", input: secret.utf8) }
        var before = try files(sandbox)
        let planned = try sandbox.ok("undo", "--dry-run").error
        #expect(planned.contains("this would drop an earlier value of generic-password 'svc' 'ann'"), "\(planned)")
        #expect(planned.hasSuffix("nothing was changed (--dry-run)\n"), "\(planned)")
        #expect(try files(sandbox) == before)
        #expect(try sandbox.ok("undo").error.contains("this dropped an earlier value of generic-password 'svc' 'ann'"))
        before = try files(sandbox)
        try sandbox.ok("redo", "--dry-run")
        #expect(try files(sandbox) == before)
        try sandbox.ok("redo")
        #expect(try sandbox.ok("get", "svc").output == "four")
        try sandbox.ok("update", "svc", "--attribute", "pet=Biscuit")
        try sandbox.ok("update", "svc", "--secret-attribute", "pet", "--later", input: "Biscuit".utf8)
        try sandbox.ok("undo")
        before = try files(sandbox)
        #expect(try sandbox.ok("redo", "--dry-run").error.contains("the file would be rewritten because it contains"))
        #expect(try files(sandbox) == before)
        try sandbox.ok("verify")
    }
}
