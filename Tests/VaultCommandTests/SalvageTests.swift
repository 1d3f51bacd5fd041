import Foundation
import Testing

@Suite("What salvage says about items")
struct SalvageTests {
    private let sandbox: Sandbox

    init() throws {
        sandbox = try Sandbox.withVault()
        for name in ["one", "two", "three"] { try sandbox.ok("set", name, input: "secret \(name)".utf8) }
    }

    /// Salvages the bytes into a new file.
    private func salvage(
        _ bytes: [UInt8], into name: String = "new.vault", _ options: [String] = []
    ) throws -> Run {
        let damaged = try sandbox.write("damaged.vault", bytes)
        return try sandbox.run(
            ["salvage", damaged, "--output", sandbox.path(name), "--kdf", "testing"] + options)
    }

    /// The one line about an item; empty if there are none or several.
    private func line(_ item: String, _ run: Run) -> String {
        let lines = run.error.components(separatedBy: "\n").filter { $0.contains("password '\(item)'") }
        return lines.count == 1 ? lines[0] : ""
    }

    /// The offsets of all frames of this type.
    private func frames(_ type: String, _ bytes: [UInt8]) -> [Int] {
        bytes.indices.dropLast(4).filter { bytes[$0..<$0 + 4].elementsEqual(type.utf8) }
    }

    private func cut() throws -> [UInt8] { Array(try sandbox.read("test.vault").dropLast()) }

    private func names(_ name: String) throws -> [String] {
        try sandbox.ok("list", "--vault", sandbox.path(name)).lines.map { $0.components(separatedBy: "\t")[1] }
    }

    @Test("without any commit, it recovers nothing by default, and names the number of items and the option for them")
    func onlyCommit() throws {
        try sandbox.ok("compact")
        let run = try salvage(cut())
        #expect(run.status == 3 && run.error.contains("recovered 0 items"), "\(run.error)")
        #expect(
            run.error.contains("a state of 3 items; --include-unproven recovers that too, into another new file"),
            "\(run.error)")
        #expect(run.error.contains("look for an intact copy, or use --include-unproven"), "\(run.error)")
        for name in ["one", "two", "three"] {
            #expect(line(name, run).contains("owner, left out: "), "\(run.error)")
        }
        let all = try salvage(cut(), into: "all.vault", ["--include-unproven"])
        #expect(
            all.status == 3 && all.error.contains("recovered 3 items (3 without the index, 3 not proven)"),
            "\(all.error)")
        #expect(!all.error.contains("--include-unproven"), "\(all.error)")
        for name in ["one", "two", "three"] {
            #expect(line(name, all).contains("recovered without the index; not proven"), "\(all.error)")
            #expect(try sandbox.ok("get", name, "--vault", sandbox.path("all.vault")).output == "secret \(name)")
        }
    }

    @Test("a removed item whose record is damaged is lost, and nothing calls it recovered")
    func removedAndDamaged() throws {
        try sandbox.ok("remove", "one", "--yes")
        var bytes = try cut()
        let sound = try salvage(bytes)
        #expect(sound.error.contains("recovered 3 items"), "\(sound.error)")
        #expect(line("one", sound).contains("recovered although it was removed by a change"), "\(sound.error)")
        bytes[try #require(frames("vREC", bytes).first) + 100] ^= 1
        let run = try salvage(bytes, into: "damaged-new.vault")
        #expect(run.status == 3 && run.error.contains("recovered 2 items"), "\(run.error)")
        #expect(line("one", run).contains("warning: lost: "), "\(run.error)")
        #expect(line("one", run).hasSuffix("; a change whose commit is damaged or missing removed it"))
    }

    @Test("an item that a cut change renamed is recovered once, and nothing is said about its former name")
    func renamed() throws {
        try sandbox.ok("move", "one", "--to-service", "another")
        let run = try salvage(cut())
        #expect(run.error.contains("recovered 3 items") && !run.error.contains("'one'"), "\(run.error)")
        #expect(line("another", run).contains("not proven: "), "\(run.error)")
        #expect(try Set(names("new.vault")) == ["another", "two", "three"])
    }

    @Test("an item is not called recovered in part if all of its values are damaged")
    func lostWithItsPast() throws {
        try sandbox.ok("set", "one", input: "changed".utf8)
        var bytes = try sandbox.read("test.vault")
        let records = frames("vREC", bytes)
        // The records of the other two items are the second and the third.
        for record in [records[0]] + records.dropFirst(3) { bytes[record + 100] ^= 1 }
        for past in frames("vPST", bytes) { bytes[past + 100] ^= 1 }
        let run = try salvage(bytes)
        #expect(run.status == 3 && run.error.contains("recovered 2 items into"), "\(run.error)")
        #expect(line("one", run).contains("warning: lost: "), "\(run.error)")
    }

    @Test("an item that a scoped slot's holder could have renamed is there once, with or without --include-unproven")
    func renamedUnproven() throws {
        let key = try sandbox.write("raw", [UInt8](repeating: 7, count: 32))
        try sandbox.ok("slot", "add", "--new-raw-key-file", key, "--grant-group", "ci", "--create-group")
        try sandbox.ok("set", "one", input: "changed".utf8)
        try sandbox.ok("move", "one", "--to-service", "another")
        let run = try salvage(cut())
        #expect(run.error.contains("recovered 3 items"), "\(run.error)")
        #expect(line("one", run) == line("another", run), "\(run.error)")
        #expect(line("one", run).contains("recovered as generic-password 'one'"), "\(run.error)")
        #expect(
            line("another", run).contains("; another state, not proven to come from an owner, left out: "),
            "\(run.error)")
        #expect(try Set(names("new.vault")) == ["one", "two", "three"])
        let all = try salvage(cut(), into: "all.vault", ["--include-unproven"])
        #expect(all.error.contains("recovered 3 items (1 not proven)"), "\(all.error)")
        #expect(line("another", all).contains("owner, included: ") && !all.error.contains("'one'"), "\(all.error)")
        #expect(try Set(names("all.vault")) == ["another", "two", "three"])
    }

    @Test("an item whose proven state and unproven new name are both unreadable is lost once, under the new name")
    func lostUnderBothNames() throws {
        let key = try sandbox.write("raw", [UInt8](repeating: 7, count: 32))
        try sandbox.ok("slot", "add", "--new-raw-key-file", key, "--grant-group", "ci", "--create-group")
        try sandbox.ok("set", "one", input: "changed".utf8)
        try sandbox.ok("move", "one", "--to-service", "another")
        var bytes = try cut()
        for frame in frames("vREC", bytes) + frames("vPST", bytes) { bytes[frame + 100] ^= 1 }
        for (name, options, fate) in [
            ("new.vault", [String](), "left out"), ("all.vault", ["--include-unproven"], "cannot be read"),
        ] {
            let run = try salvage(bytes, into: name, options)
            #expect(run.status != 0 && run.error.contains("lost: at least 3"), "\(run.error)")
            #expect(
                line("another", run).contains("lost; a state not proven to come from an owner, \(fate): "),
                "\(run.error)")
            #expect(!run.error.contains("'one'"), "\(run.error)")
        }
    }

    @Test("a newer secret of a cut change leaves the proven one as an earlier value, and the item's line says so")
    func provenSecret() throws {
        let start = try sandbox.read("test.vault").count
        try sandbox.ok("set", "one", input: "newer".utf8)
        let bytes = try sandbox.read("test.vault")
        // Of the change, only the new record is left.
        let records = frames("vREC", bytes).filter { $0 >= start }
        let run = try salvage(Array(bytes.prefix(try #require(records.dropFirst().first))))
        #expect(run.status == 3 && run.error.contains("recovered 3 items and 1 earlier value into"), "\(run.error)")
        #expect(
            line("one", run).contains("missing, not proven, with the proven secret as an earlier value: "),
            "\(run.error)")
        let new = sandbox.path("new.vault")
        #expect(try sandbox.ok("get", "one", "--vault", new).output == "newer")
        #expect(try sandbox.ok("get", "one", "--earlier", "1", "--vault", new).output == "secret one")
    }
}
