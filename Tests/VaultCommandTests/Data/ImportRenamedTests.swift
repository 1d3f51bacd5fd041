import Foundation
import Testing

/// Entries that the source has renamed since they were imported: each secret stays with its own entry.
@Suite("A later import of renamed entries")
struct ImportRenamedTests {
    private struct Entry {
        let id: Int
        let host: String
        var secret: String
        var folder: String?
        var year = 2025
    }

    /// A Bitwarden export of logins of the user `u`.
    private func export(_ sandbox: Sandbox, _ entries: [Entry]) throws -> String {
        let folders = Set(entries.compactMap(\.folder)).sorted()
        let items = entries.map { entry in
            """
            {"id": "00000000-0000-0000-0000-00000000000\(entry.id)", "type": 1, "name": "\(entry.host)", \
            "folderId": \(entry.folder.map { "\"\($0)\"" } ?? "null"), "fields": [{"name": "PIN", "value": "pin \(entry.id)", "type": 1}], \
            "login": {"username": "u", "password": "\(entry.secret)", "uris": [{"uri": "https://\(entry.host)"}]}, \
            "creationDate": "2020-01-01T00:00:00Z", "revisionDate": "\(entry.year)-01-01T00:00:00Z"}
            """
        }
        let names = folders.map { #"{"id": "\#($0)", "name": "\#($0)"}"# }.joined(separator: ", ")
        let text = #"{"encrypted": false, "folders": [\#(names)], "items": [\#(items.joined(separator: ",\n"))]}"#
        return try sandbox.write("export.json", text.utf8)
    }

    private func importing(_ sandbox: Sandbox, _ entries: [Entry], _ options: String...) throws -> Run {
        let run = try sandbox.run(["import", try export(sandbox, entries)] + options)
        #expect(run.status == 0, "\(run.error)")
        return run
    }

    private let first = [
        Entry(id: 5, host: "bank.example", secret: "bank 1"), Entry(id: 6, host: "forum.example", secret: "forum 1"),
    ]

    /// The secrets by server and account.
    private func secrets(_ sandbox: Sandbox) throws -> [String: String] {
        var found: [String: String] = [:]
        for line in try sandbox.ok("list", "--columns", "name,account").lines {
            let words = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
            found[words.joined(separator: " ")] = try sandbox.ok("get", words[0], words[1]).output
        }
        return found
    }

    @Test(
        "a name that another item has gets a number, and neither item has the other's secret",
        arguments: ["update-newer", "replace"])
    func taken(_ policy: String) throws {
        let sandbox = try Sandbox.withVault()
        _ = try importing(sandbox, first)
        let newer = [Entry(id: 6, host: "bank.example", secret: "forum 2", year: 2030)]
        let run = try importing(sandbox, newer, "--on-duplicate", policy)
        #expect(run.error.contains("formerly internet-password 'forum.example' 'u'"), "\(run.error)")
        #expect(run.error.contains("'bank.example' 'u (2)'"), "\(run.error)")
        #expect(try secrets(sandbox) == ["bank.example u": "bank 1", "bank.example u (2)": "forum 2"])
        #expect(try sandbox.ok("get", "bank.example", "u (2)", "--field", "user-name").output == "u")
        // Once the name is free, the next import gives it.
        try sandbox.ok("remove", "bank.example", "u", "--yes")
        let later = [Entry(id: 6, host: "bank.example", secret: "forum 3", year: 2031)]
        _ = try importing(sandbox, later, "--on-duplicate", policy)
        #expect(try secrets(sandbox) == ["bank.example u": "forum 3"])
    }

    @Test("names that were exchanged are so after two imports, and at no time is a secret under the other's name")
    func exchanged() throws {
        let sandbox = try Sandbox.withVault()
        _ = try importing(sandbox, first)
        let swapped = [
            Entry(id: 5, host: "forum.example", secret: "bank 1", year: 2026),
            Entry(id: 6, host: "bank.example", secret: "forum 1", year: 2026),
        ]
        let dry = try importing(sandbox, swapped, "--on-duplicate", "update-newer", "--dry-run").lines
        #expect(dry.count == 2 && dry[0].contains("'u (2)'") && !dry[1].contains("(2)"), "\(dry)")
        _ = try importing(sandbox, swapped, "--on-duplicate", "update-newer")
        #expect(try secrets(sandbox) == ["forum.example u (2)": "bank 1", "bank.example u": "forum 1"])
        // The same source again: one name is free now, and the other item has not changed.
        let again = try importing(sandbox, swapped, "--on-duplicate", "update-newer")
        #expect(again.error.contains("formerly internet-password 'forum.example' 'u (2)'"), "\(again.error)")
        #expect(again.error.contains("1 unchanged"), "\(again.error)")
        #expect(try secrets(sandbox) == ["forum.example u": "bank 1", "bank.example u": "forum 1"])
        #expect(try importing(sandbox, swapped, "--on-duplicate", "update-newer").error.contains("2 unchanged"))
        // A name that the user has given since stays.
        try sandbox.ok("move", "forum.example", "u", "--to-account", "mine")
        #expect(
            try importing(sandbox, swapped, "--on-duplicate", "update-newer").error.contains(
                "changed later in the vault"))
        #expect(try secrets(sandbox) == ["forum.example mine": "bank 1", "bank.example u": "forum 1"])
        #expect(try sandbox.ok("verify").output.hasPrefix("sound"))
    }

    @Test("a folder of the source moves no item that exists to another group; --group does, and says from where")
    func groups() throws {
        let sandbox = try Sandbox.withVault()
        var entry = Entry(id: 5, host: "bank.example", secret: "bank 1", folder: "private")
        _ = try importing(sandbox, [entry], "--group-from-folder")
        #expect(try sandbox.ok("get", "bank.example", "--group", "private").output == "bank 1")
        (entry.folder, entry.secret, entry.year) = ("ci", "evil", 2030)
        for dry in [["--dry-run"], []] {
            let run = try sandbox.run(
                ["import", try export(sandbox, [entry]), "--group-from-folder", "--on-duplicate", "update-newer"] + dry)
            #expect(run.status == 0)
            #expect((run.output + run.error).contains("stays in group 'private', not in group 'ci'"), "\(run.error)")
        }
        #expect(try sandbox.ok("get", "bank.example", "--group", "private").output == "evil")
        #expect(try sandbox.ok("list", "--group", "private").lines.count == 1)
        // An item of the source that the vault does not know is put there.
        let new = Entry(id: 7, host: "new.example", secret: "new", folder: "ci")
        _ = try importing(sandbox, [new], "--group-from-folder")
        #expect(try sandbox.ok("get", "new.example", "--group", "ci").output == "new")
        // Also an item that has not changed, and with everything it has.
        let away = try importing(sandbox, [new], "--group", "other", "--on-duplicate", "update-newer")
        #expect(away.error.contains("moved from group 'ci' to group 'other'"), "\(away.error)")
        #expect(!away.error.contains("rewritten"), "\(away.error)")
        #expect(try sandbox.ok("get", "new.example", "--group", "other").output == "new")
        (entry.secret, entry.year) = ("asked", 2031)
        let moved = try importing(sandbox, [entry], "--group", "ci", "--on-duplicate", "update-newer")
        #expect(
            moved.error.contains("moved from group 'private' to group 'ci', with everything in it"), "\(moved.error)")
    }

    @Test("a move out of a group that a scoped slot opens rewrites the file, and says so", arguments: [1, 2])
    func narrowed(_ count: Int) throws {
        let sandbox = try Sandbox.withVault()
        let entries = (1...count).map { Entry(id: $0, host: "host-\($0).example", secret: "it", folder: "ci") }
        _ = try importing(sandbox, entries, "--group-from-folder")
        let key = try sandbox.write("raw", [UInt8](repeating: 7, count: 32))
        try sandbox.ok("slot", "add", "--new-raw-key-file", key, "--grant-group", "ci")
        let run = try importing(sandbox, entries, "--group", "home", "--on-duplicate", "update-newer")
        let what = count == 1 ? "the item's old record" : "2 old records"
        #expect(run.error.contains("the file was rewritten to protect \(what) from"), "\(run.error)")
        // Nothing is left to go back to.
        try sandbox.fails(1, "compacted or rewritten", "undo")
        let again = try importing(sandbox, entries, "--group", "home", "--on-duplicate", "update-newer")
        #expect(!again.error.contains("rewritten"), "\(again.error)")
    }

    @Test("an item that was only renamed has the source's time: later changes arrive, older names do not")
    func dates() throws {
        let sandbox = try Sandbox.withVault()
        _ = try importing(sandbox, [Entry(id: 5, host: "one.example", secret: "s", year: 2021)])
        _ = try importing(
            sandbox, [Entry(id: 5, host: "three.example", secret: "s", year: 2023)], "--on-duplicate", "update-newer")
        #expect(try secrets(sandbox) == ["three.example u": "s"])
        let older = try importing(
            sandbox, [Entry(id: 5, host: "two.example", secret: "s", year: 2022)], "--on-duplicate", "update-newer")
        #expect(older.error.contains("left unchanged"), "\(older.error)")
        _ = try importing(
            sandbox, [Entry(id: 5, host: "three.example", secret: "new", year: 2024)], "--on-duplicate", "update-newer")
        #expect(try secrets(sandbox) == ["three.example u": "new"])
    }

    @Test("an item that is only renamed, to a name with a number, keeps the user name of its source")
    func userNames() throws {
        let sandbox = try Sandbox.withVault()
        _ = try importing(sandbox, first)
        let newer = [Entry(id: 6, host: "bank.example", secret: "forum 1", year: 2026)]
        _ = try importing(sandbox, newer, "--on-duplicate", "update-newer")
        #expect(try sandbox.ok("get", "bank.example", "u (2)", "--field", "user-name").output == "u")
        try sandbox.ok("remove", "bank.example", "u", "--yes")
        _ = try importing(sandbox, newer, "--on-duplicate", "update-newer")
        #expect(try secrets(sandbox) == ["bank.example u": "forum 1"])
        #expect(!(try sandbox.ok("show", "bank.example", "u").output.contains("user-name")))
    }
}
