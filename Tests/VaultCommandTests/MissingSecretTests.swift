import Foundation
import Testing

/// A vault whose keys were rotated, after another machine had put a copy of it aside and had gone on under the old keys.
private struct Branch {
    let sandbox: Sandbox
    /// The copy, which added `fresh`, with an address, notes and a file.
    let copy: String

    /// `changesOther`: whether the copy changed `svc`, too.
    init(changesOther: Bool = true) throws {
        sandbox = try Sandbox.withVault()
        copy = sandbox.path("copy.vault")
        try sandbox.ok("set", "svc", input: "one".utf8)
        try sandbox.write("copy.vault", sandbox.read("test.vault"))
        let file = try sandbox.write("a.txt", "file".utf8)
        try elsewhere {
            if changesOther { try sandbox.ok("set", "svc", "-f", copy, input: "two".utf8) }
            try sandbox.ok(
                "set", "fresh", "ann", "-f", copy, "--attribute", "url=https://a.example", "--attribute",
                "notes=sealed", input: "secret".utf8)
            try sandbox.ok("update", "fresh", "-f", copy, "--attach", file)
        }
        try sandbox.ok("rekey", "--rotate")
    }

    /// Runs commands on the other machine.
    func elsewhere(_ body: () throws -> Void) throws {
        let state = sandbox.environment["XDG_STATE_HOME"]
        sandbox.environment["XDG_STATE_HOME"] = sandbox.path("other state")
        defer { sandbox.environment["XDG_STATE_HOME"] = state }
        try body()
    }

    @discardableResult
    func merge() throws -> Run {
        try sandbox.fails(3, "to settle", "merge", sandbox.vault, copy, "--accept-old-keys", "--yes")
    }
}

@Suite("An item that shows no secret")
struct MissingSecretTests {
    private static let because = "because a merge has left its secret to settle"
    private static let conflicts = "'vaultfmt conflicts show'"

    @Test("after a merge of a copy under replaced keys is named, and every command says that it is to settle")
    func toSettle() throws {
        let branch = try Branch()
        let sandbox = branch.sandbox
        let merged = try branch.merge()
        #expect(
            merged.output.contains(
                "  added, without secret and attributes until you settle it: generic-password 'fresh' 'ann'"),
            "\(merged.output)")
        for words in [["get", "fresh"], ["show", "fresh", "--field", "secret", "--reveal"]] {
            let run = try sandbox.run(words)
            #expect(run.status == 1 && run.error.contains(Self.because), "\(words): \(run.error)")
            #expect(run.error.contains(Self.conflicts) && !run.error.contains("forgotten"), "\(words): \(run.error)")
        }
        let shown = try sandbox.ok("show", "fresh").output
        #expect(shown.contains("secret\t(none: a merge has left its secret to settle)"), "\(shown)")
        #expect(try sandbox.ok("show", "fresh", "--reveal").output.contains("conflicts\t(to settle"))
        #expect(try !sandbox.ok("show", "fresh", "--json", "--reveal").output.contains("\"secret\""))
        #expect(try sandbox.ok("history", "fresh").error.contains(Self.conflicts))
        try sandbox.fails(1, Self.conflicts, "restore", "fresh")
        try sandbox.fails(1, Self.conflicts, "get", "fresh", "--earlier", "1")
        try sandbox.ok("update", "svc", "--attribute", "check=off")
        let checked = try sandbox.run("check")
        let reason = "not checked, \(Self.because): generic-password 'fresh' 'ann'"
        #expect(checked.status == 3 && checked.error.contains(reason), "\(checked.error)")
        #expect(!checked.error.contains("another device"), "\(checked.error)")
    }

    @Test("is something to settle for a dry run, too, even if it is all that the copy has")
    func dryRun() throws {
        let branch = try Branch(changesOther: false)
        let words = ["merge", branch.sandbox.vault, branch.copy, "--accept-old-keys", "--dry-run"]
        let run = try branch.sandbox.run(words)
        #expect(run.status == 3 && run.error.contains("would leave conflicts to settle"), "\(run.error)")
        #expect(run.output.contains("added, without secret and attributes until you settle it"), "\(run.output)")
    }

    @Test("is named by an export that lacks it, with how to get it in, and is in it with its file once it is settled")
    func exported() throws {
        let branch = try Branch()
        let sandbox = branch.sandbox
        try branch.merge()
        for format in ["json", "csv"] {
            let run = try sandbox.fails(3, "exported, but 1 item is missing", "export", "--format", format)
            #expect(
                run.error.contains("not exported \(Self.because): generic-password 'fresh' 'ann'; \(Self.conflicts)"),
                "\(run.error)")
            #expect(!run.error.contains("no export can contain"), "\(run.error)")
            #expect(run.output.contains("svc") && !run.output.contains("fresh"), "\(run.output)")
        }
        let values = try sandbox.ok("conflicts", "show", "fresh").lines.count
        #expect(values == 4)
        let keep = (1...values).flatMap { ["--keep", String($0)] }
        // The item showed nothing that a kept value replaces.
        let settled = try sandbox.ok(["conflicts", "settle", "fresh", "--yes"] + keep)
        #expect(!settled.error.contains("discarded"), "\(settled.error)")
        #expect(try sandbox.ok("get", "fresh").output == "secret")
        #expect(try sandbox.ok("get", "fresh", "--field", "a.txt").output == "file")
        let whole = try sandbox.ok("export").output
        #expect(["fresh", "https://a.example", "sealed", "file:a.txt"].allSatisfy { whole.contains($0) }, "\(whole)")
    }

    @Test("because it was settled without it has it as an earlier value, says so, and shows it again once restored")
    func earlier() throws {
        let branch = try Branch()
        let sandbox = branch.sandbox
        try branch.merge()
        let words = "shows no secret, because its last secret is an earlier value; 'vaultfmt restore' brings it back"
        let settled = try sandbox.ok("conflicts", "settle", "fresh")
        #expect(settled.error.contains("generic-password 'fresh' 'ann' \(words)"), "\(settled.error)")
        try sandbox.fails(1, words, "get", "fresh")
        let exported = try sandbox.fails(3, "1 item is missing", "export")
        #expect(
            exported.error.contains("not exported because its last secret is an earlier value"), "\(exported.error)")
        let restored = try sandbox.ok("restore", "fresh")
        #expect(restored.error.contains("the item showed none before"), "\(restored.error)")
        #expect(!restored.error.contains("damaged"), "\(restored.error)")
        #expect(try sandbox.ok("get", "fresh").output == "secret")
        let again = try sandbox.ok("restore", "fresh", "--field", "notes")
        #expect(again.error.contains("the item showed none before"), "\(again.error)")
    }

    @Test("shows none again once the change that gave it one is undone, and everything is left to settle again")
    func undone() throws {
        let branch = try Branch()
        let sandbox = branch.sandbox
        try branch.merge()
        let values = try sandbox.ok("conflicts", "show", "fresh").lines.count
        let keep = (1...values).flatMap { ["--keep", String($0)] }
        try sandbox.ok(["conflicts", "settle", "fresh", "--yes"] + keep)
        for _ in 0..<2 {
            let run = try sandbox.ok("undo")
            #expect(run.error.contains("as before: generic-password 'fresh' 'ann': secret"), "\(run.error)")
            try sandbox.fails(1, Self.because, "get", "fresh")
            #expect(try sandbox.ok("conflicts", "show", "fresh").lines.count == values)
            #expect(try !sandbox.fails(3, "1 item is missing", "export").output.contains("fresh"))
            try sandbox.ok("redo")
            #expect(try sandbox.ok("get", "fresh").output == "secret")
        }
        try sandbox.ok("undo")
        let set = try sandbox.ok("set", "fresh", input: "other".utf8)
        let words = "it showed none before, and 'vaultfmt undo' leaves it without one again"
        #expect(set.error.contains(words) && !set.error.contains("restores the old one"), "\(set.error)")
        try sandbox.ok("undo")
        try sandbox.fails(1, Self.because, "get", "fresh")
        try sandbox.ok("conflicts", "settle", "fresh")
        try sandbox.ok("restore", "fresh")
        try sandbox.ok("undo")
        try sandbox.fails(1, "its last secret is an earlier value", "get", "fresh")
        try sandbox.ok("verify")
    }

    @Test("goes with the merge that brought it, which is undone only after confirmation and is a merge in the log")
    func mergeUndone() throws {
        let branch = try Branch()
        let sandbox = branch.sandbox
        try branch.merge()
        #expect(try sandbox.ok("log", "--limit", "1").output.contains("Z  merge\n"))
        try sandbox.fails(64, "has no record of making the change", "undo")
        let run = try sandbox.ok("undo", "--yes")
        #expect(run.error.contains(", a merge") && run.error.contains("other machines will follow"), "\(run.error)")
        try sandbox.fails(1, "no item is named 'fresh'", "get", "fresh")
        #expect(try sandbox.ok("conflicts").output == "")
        #expect(try sandbox.ok("get", "svc").output == "one")
        try sandbox.ok("redo")
        try sandbox.fails(1, Self.because, "get", "fresh")
        #expect(try sandbox.ok("conflicts").lines.count == 2)
        try sandbox.ok("verify")
    }

    @Test("is marked in lists, in a column that is shown if an item needs it, and in JSON, and others are not")
    func listed() throws {
        let branch = try Branch()
        let sandbox = branch.sandbox
        #expect(try !terminalList(sandbox).contains("MISSING"))
        try branch.merge()
        #expect(try sandbox.ok("list", "--columns", "name,missing").output == "fresh\tsecret\nsvc\t\n")
        #expect(try terminalList(sandbox).contains("MISSING"))
        let items = try #require(try sandbox.ok("list", "--json").json() as? [[String: Any]])
        #expect(items.map { $0["service"] as? String } == ["fresh", "svc"])
        #expect(items.map { $0["hasSecret"] as? Bool } == [false, nil])
        let shown = try #require(try sandbox.ok("show", "fresh", "--json").json() as? [String: Any])
        #expect(shown["hasSecret"] as? Bool == false)
    }

    private func terminalList(_ sandbox: Sandbox) throws -> String {
        let terminal = try PseudoTerminal(sandbox, "list", columns: 80)
        #expect(try terminal.finish() == 0)
        return terminal.screen
    }

    @Test("is not counted as checked, even after its earlier value was forgotten, and check gives that reason")
    func notChecked() throws {
        let branch = try Branch()
        let sandbox = branch.sandbox
        func expectUnchecked() throws {
            let run = try sandbox.run("check", "--json")
            let report = try #require(try run.json() as? [String: Any])
            let unchecked = try #require(report["notChecked"] as? [[String: Any]])
            #expect(run.status == 3 && report["checked"] as? Int == 1)
            #expect(unchecked.map { $0["service"] as? String } == ["fresh"])
        }
        try branch.merge()
        try expectUnchecked()
        try sandbox.ok("conflicts", "settle", "fresh")
        try expectUnchecked()
        try sandbox.ok("forget", "fresh", "ann", "--all", "--yes")
        try expectUnchecked()
        let reason = "its last secret was forgotten or is no longer kept"
        #expect(try sandbox.ok("show", "fresh").output.contains("secret\t(none: \(reason))"))
        try sandbox.fails(1, "shows no secret, because \(reason); 'vaultfmt set' stores one", "get", "fresh")
        let checked = try sandbox.run("check")
        let words = "not checked, because \(reason): generic-password 'fresh' 'ann'"
        #expect(checked.error.contains(words), "\(checked.error)")
    }

    @Test("is explained to a scoped slot as an owner's matter, without advice that this slot cannot follow")
    func scoped() throws {
        let branch = try Branch()
        let sandbox = branch.sandbox
        try branch.elsewhere {
            try sandbox.ok("set", "shared", "-f", branch.copy, "--group", "ci", input: "three".utf8)
        }
        try branch.merge()
        let key = try sandbox.write("raw", [UInt8](repeating: 7, count: 32))
        try sandbox.ok("slot", "add", "--new-raw-key-file", key, "--grant-group", "ci")
        let words = "shows no secret, and only an owner of the vault can read why; open the vault with an owner's key"
        let refused = try sandbox.fails(1, words, "get", "shared", "--raw-key-file", key)
        #expect(!refused.error.contains("vaultfmt set"), "\(refused.error)")
        let checked = try sandbox.run("check", "--raw-key-file", key)
        let reason = "not checked, because only an owner of the vault can read why it shows no secret: "
        #expect(checked.error.contains(reason + "generic-password 'shared' ''"), "\(checked.error)")
    }

    @Test("is to settle, as its one-time codes are, which is the reason named even if it is device-only")
    func otherReasons() throws {
        let branch = try Branch()
        let sandbox = branch.sandbox
        try branch.elsewhere {
            try sandbox.ok("update", "fresh", "-f", branch.copy, "--otp", input: "JBSWY3DPEHPK3PXP".utf8)
            try sandbox.ok(
                "set", "local", "-f", branch.copy, "--accessible", "when-unlocked-this-device-only",
                input: "four".utf8)
        }
        try branch.merge()
        let codes = try sandbox.fails(1, "because a merge has left their seed to settle", "otp", "fresh")
        #expect(codes.error.contains(Self.conflicts) && !codes.error.contains("--otp"), "\(codes.error)")
        let exported = try sandbox.fails(3, "2 items are missing", "export")
        #expect(
            exported.error.contains("not exported \(Self.because): generic-password 'local' ''; \(Self.conflicts)"),
            "\(exported.error)")
        #expect(!exported.error.contains("device-only"), "\(exported.error)")
    }

    @Test("is named when all conflicts are settled at once, and items that show theirs are not")
    func allSettled() throws {
        let branch = try Branch()
        try branch.merge()
        let run = try branch.sandbox.ok("conflicts", "settle", "--all")
        #expect(run.error.contains("'fresh' 'ann' shows no secret"), "\(run.error)")
        #expect(!run.error.contains("'svc' '' shows no secret"), "\(run.error)")
    }

    @Test("on the machine that added it, once it has merged the rotated vault, is to settle too, and was not forgotten")
    func onTheOtherMachine() throws {
        let branch = try Branch()
        let sandbox = branch.sandbox
        try branch.merge()
        try branch.elsewhere {
            let run = try sandbox.fails(3, "to settle", "merge", branch.copy, sandbox.vault)
            let words = "'fresh' 'ann' shows no secret, \(Self.because); \(Self.conflicts)"
            #expect(run.output.contains(words), "\(run.output)")
            #expect(!run.output.contains("forgotten"), "\(run.output)")
        }
    }

    @Test("after both copies rotated is to settle as well, and the merge says so")
    func bothRotated() throws {
        let branch = try Branch()
        let sandbox = branch.sandbox
        try branch.elsewhere { try sandbox.ok("rekey", "--rotate", branch.copy) }
        try sandbox.ok("rekey", "--rotate")
        #expect(try branch.merge().output.contains("added, without secret and attributes until you settle it"))
        try sandbox.fails(1, Self.because, "get", "fresh")
    }
}
