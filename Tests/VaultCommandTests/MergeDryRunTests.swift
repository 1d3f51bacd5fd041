import Foundation
import Testing

/// A vault, and a copy of it on another machine.
private struct TwoMachines {
    let sandbox: Sandbox
    let copy: String

    /// `name`: the name of the copy's file.
    init(_ name: String = "copy.vault") throws {
        sandbox = try Sandbox.withVault()
        copy = sandbox.path(name)
        try sandbox.ok("set", "svc", "ann", input: "one".utf8)
        try sandbox.ok("set", "other", "bob", input: "two".utf8)
        try sandbox.write(name, sandbox.read("test.vault"))
    }

    /// Runs commands on the copy's machine.
    func there(_ body: (Sandbox, _ path: String) throws -> Void) throws {
        let state = sandbox.environment["XDG_STATE_HOME"]
        sandbox.environment["XDG_STATE_HOME"] = sandbox.path("state of the copy")
        try body(sandbox, copy)
        sandbox.environment["XDG_STATE_HOME"] = state
    }

    /// Makes a dry run and then the merge, and expects both to end with the same exit code and the same lines: the same
    /// counts, and the same names.
    @discardableResult
    func merged(_ copies: [String]? = nil) throws -> Run {
        let words = ["merge", sandbox.vault] + (copies ?? [copy])
        let before = try sandbox.read("test.vault")
        let dry = try sandbox.run(words + ["--dry-run"])
        #expect(try sandbox.read("test.vault") == before, "a dry run writes nothing")
        let names = try FileManager.default.contentsOfDirectory(atPath: sandbox.folder)
        #expect(names.filter { $0.contains("test.vault") } == ["test.vault"])
        let run = try sandbox.run(words)
        #expect(dry.status == run.status, "\(dry.error)\(run.error)")
        let asDone = dry.output.replacing("would be merged", with: "merged")
            .replacing("would replace", with: "replaced")
        #expect(asDone == run.output)
        return run
    }
}

@Suite("A dry run of merge ends as the merge does")
struct MergeDryRunTests {
    @Test("a damaged record in the copy fails both with exit code 65, and both name the item")
    func damagedRecord() throws {
        let machines = try TwoMachines()
        let sandbox = machines.sandbox
        let start = try sandbox.read("test.vault").count
        try machines.there { sandbox, path in
            try sandbox.ok("set", "new", "--vault", path, input: "new".utf8)
            // What the newest commit has written itself would be an incomplete commit.
            try sandbox.ok("set", "later", "--vault", path, input: "later".utf8)
        }
        try sandbox.ok("set", "own", input: "own".utf8)
        let (whole, before) = (try sandbox.read("copy.vault"), try sandbox.read("test.vault"))
        var failed = 0
        for (attempt, range) in whole.ranges(of: Array("vREC".utf8)).enumerated() where range.lowerBound > start / 2 {
            var bytes = whole
            bytes[range.lowerBound + 100] ^= 1
            try sandbox.write("copy.vault", bytes)
            // Another machine each time, because this one has seen more than it is given again.
            sandbox.environment["XDG_STATE_HOME"] = sandbox.path("state \(attempt)")
            let run = try machines.merged()
            if run.status == 65 {
                #expect(run.error.contains("a value of generic-password 'new'"), "\(run.error)")
                #expect(run.error.contains("cannot be read in the other copy"), "\(run.error)")
                #expect(try sandbox.read("test.vault") == before)
                failed += 1
            }
            try sandbox.write("test.vault", before)
        }
        #expect(failed == 1)
    }

    @Test("two items that get one name are counted and named alike, and both end with 3")
    func sharedName() throws {
        let machines = try TwoMachines()
        try machines.there { sandbox, path in
            try sandbox.ok("set", "same", "eve", "--vault", path, input: "theirs".utf8)
        }
        try machines.sandbox.ok("set", "same", "eve", input: "ours".utf8)
        let run = try machines.merged()
        #expect(run.status == 3 && run.output.contains("merged: 1 item added"), "\(run.output)")
        #expect(run.output.contains("(conflict ") && run.output.contains("have the same name"), "\(run.output)")
    }

    @Test("a rename to a name that this copy has given to another item shows the names that the merge gives")
    func renamed() throws {
        let machines = try TwoMachines()
        let sandbox = machines.sandbox
        try machines.there { sandbox, path in
            try sandbox.ok("move", "svc", "ann", "--to-service", "renamed", "--vault", path)
            try sandbox.ok("move", "other", "bob", "--to-service", "svc", "--to-account", "ann", "--vault", path)
        }
        try sandbox.ok("set", "renamed", "ann", input: "third".utf8)
        let run = try machines.merged()
        #expect(run.output.contains("is now generic-password 'svc' 'ann'"), "\(run.output)")
        #expect(run.output.contains("'renamed' 'ann") && run.output.contains("(conflict "), "\(run.output)")
    }

    @Test(
        "a conflict that the copy has settled leaves nothing to settle, whether the copy's file or a union is the result",
        arguments: [false, true])
    func settled(isUnion: Bool) throws {
        let machines = try TwoMachines()
        let sandbox = machines.sandbox
        try sandbox.ok("set", "svc", "ann", input: "ours".utf8)
        try machines.there { sandbox, path in
            try sandbox.ok("set", "svc", "ann", "--vault", path, input: "theirs".utf8)
        }
        #expect(try machines.merged().status == 3)
        try machines.there { sandbox, path in
            try sandbox.fails(3, "to settle", "merge", path, sandbox.vault)
            try sandbox.ok("conflicts", "settle", "svc", "--yes", "--vault", path)
        }
        if isUnion { try sandbox.ok("set", "own", input: "own".utf8) }
        let run = try machines.merged()
        #expect(run.status == 0, "\(run.output)\(run.error)")
        #expect(run.output.contains(isUnion ? ": merged: " : "replaced it: "), "\(run.output)")
        #expect(run.output.contains("0 changed, 0 removed, 1 settled\n"), "\(run.output)")
        #expect(run.output.contains("  settled in the other copy: generic-password 'svc' 'ann'\n"), "\(run.output)")
        #expect(!run.output.contains("to settle"), "\(run.output)")
        #expect(try sandbox.ok("conflicts").output.isEmpty)
    }

    @Test("of several copies, each is merged into the result of those before it")
    func severalCopies() throws {
        let machines = try TwoMachines()
        let sandbox = machines.sandbox
        try machines.there { sandbox, path in
            try sandbox.ok("set", "new", "--vault", path, input: "new".utf8)
        }
        try sandbox.write("older.vault", sandbox.read("copy.vault"))
        try machines.there { sandbox, path in
            try sandbox.ok("set", "newer", "--vault", path, input: "newer".utf8)
        }
        try sandbox.ok("set", "own", input: "own".utf8)
        let run = try machines.merged([sandbox.path("older.vault"), machines.copy])
        #expect(run.status == 0 && run.output.contains("merged: 2 items added"), "\(run.output)")
        #expect(run.output.contains("already here; there is nothing to merge"), "\(run.output)")
    }

    @Test(
        "a slot that was granted a group in one copy, and can read what the other put there, is named with the group",
        arguments: [false, true])
    func newReader(isGrantedThere: Bool) throws {
        let machines = try TwoMachines()
        let sandbox = machines.sandbox
        let key = try sandbox.write("ci.key", [UInt8](repeating: 7, count: 32))
        func grant(_ path: String) throws {
            try sandbox.ok(
                "slot", "add", "--new-raw-key-file", key, "--name", "robot", "--grant-group", "ci", "--create-group",
                "--vault", path)
        }
        func set(_ path: String) throws {
            try sandbox.ok("set", "deploy", "--group", "ci", "--vault", path, input: "secret".utf8)
        }
        try machines.there { _, path in if isGrantedThere { try grant(path) } else { try set(path) } }
        if isGrantedThere { try set(sandbox.vault) } else { try grant(sandbox.vault) }
        let run = try machines.merged()
        #expect(run.status == 0, "\(run.error)")
        let words = "  slot that was granted 'ci' in one copy and can now read what the other copy put there: "
        let lines = run.lines.filter { $0.hasPrefix(words) }
        #expect(lines.count == 1 && lines.allSatisfy { $0.hasSuffix(" 'robot'") }, "\(run.output)")
        // It is as the line says, and the next merge does not repeat it.
        let passphrase = sandbox.environment["VAULTFMT_PASSPHRASE"]
        sandbox.environment["VAULTFMT_PASSPHRASE"] = nil
        #expect(try sandbox.ok("get", "deploy", "--raw-key-file", key).output == "secret")
        sandbox.environment["VAULTFMT_PASSPHRASE"] = passphrase
        #expect(try !machines.merged().output.contains("can now read"))
    }

    @Test("a damaged conflict copy is described once, without advice to repair it")
    func damagedConflictCopy() throws {
        let machines = try TwoMachines("test.sync-conflict-20260101-101010-ABCDEFG.vault")
        let sandbox = machines.sandbox
        let name = "test.sync-conflict-20260101-101010-ABCDEFG.vault"
        try machines.there { sandbox, path in
            try sandbox.ok("set", "new", "--vault", path, input: "new".utf8)
        }
        var bytes = try sandbox.read(name)
        bytes[bytes.count - 40] ^= 1
        try sandbox.write(name, bytes)
        for dry in [["--dry-run"], []] {
            let run = try sandbox.run(["merge", sandbox.vault, "--conflicts"] + dry)
            #expect(run.status == 3, "\(run.error)")
            let notices = run.error.split(separator: "\n").filter { $0.contains("the file is damaged") }
            #expect(notices.count == 1 && notices.allSatisfy { $0.contains(name) }, "\(run.error)")
            #expect(!run.error.contains("vaultfmt repair"), "\(run.error)")
        }
        // The vault's own damage is described with that advice, and also once.
        try sandbox.write("test.vault", bytes)
        sandbox.environment["XDG_STATE_HOME"] = sandbox.path("another state")
        let run = try sandbox.run("merge", sandbox.vault, machines.copy, "--dry-run")
        let advice = run.error.split(separator: "\n").filter { $0.contains("'vaultfmt repair' has set") }
        #expect(advice.count == 1, "\(run.error)")
    }
}
