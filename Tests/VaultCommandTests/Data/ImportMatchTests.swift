import Foundation
import Testing

@testable import VaultCommand

/// Which item an entry is found to be, and what an import makes of dates and earlier values.
@Suite("Entries and the items that they are")
struct ImportMatchTests {
    private func export(_ items: [String]) -> String {
        #"{"format": "vaultfmt-export", "version": 2, "items": [\#(items.joined(separator: ","))]}"#
    }

    private func item(_ service: String, _ secret: String, _ more: String) -> String {
        #"{"class": "generic-password", "service": "\#(service)", "secret": "\#(secret)"\#(more)}"#
    }

    private func kdbx(_ sandbox: Sandbox, _ name: String) throws -> [String] {
        let passphrase = try sandbox.write("kdbx-passphrase", "kdbx".utf8)
        try sandbox.ok(
            "export", "--format", "kdbx", "--output", name, "--new-passphrase-file", passphrase, "--kdf", "testing")
        return [sandbox.path(name), "--source-passphrase-file", passphrase]
    }

    @Test("two entries of one export that ask for one name are two items, in a later import too")
    func oneName() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok(
            "import", "-",
            input: export([
                item("a", "first", #", "account": "u", "group": "g1", "modified": "2021-01-01T00:00:00Z""#),
                item("a", "second", #", "account": "u", "group": "g2", "modified": "2022-01-01T00:00:00Z""#),
            ]).utf8)
        let source = try kdbx(sandbox, "copy.kdbx")
        let other = try Sandbox.withVault()
        for name in ["copy.kdbx", "kdbx-passphrase"] { try other.write(name, try sandbox.read(name)) }
        let words = [
            "import", other.path("copy.kdbx"), "--source-passphrase-file", other.path("kdbx-passphrase"), "--group",
            "X",
        ]
        try other.ok(words)
        #expect(source.count == 3)
        func secrets() throws -> [String: Int] {
            let items = try #require(
                try JSONSerialization.jsonObject(with: Data(other.ok("export", "--format", "json").bytes))
                    as? [String: Any])
            var found: [String: Int] = [:]
            for item in try #require(items["items"] as? [[String: Any]]) {
                found[try #require(item["secret"] as? String), default: 0] += 1
                #expect(item["earlier"] == nil)
            }
            return found
        }
        #expect(try secrets() == ["first": 1, "second": 1])
        for policy in ["update-newer", "replace"] {
            try other.ok(words + ["--on-duplicate", policy])
            let found = try secrets()
            #expect(Set(found.keys) == ["first", "second"] && found["first"] == 1, "\(policy): \(found)")
        }
    }

    @Test("an entry of an export is the item that it was written from, though another one has its identifier")
    func plantedInExport() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "mine", input: "old".utf8)
        let items = try #require(try sandbox.ok("list", "--json").json() as? [[String: Any]])
        let id = try #require(items.first?["id"] as? String)
        try sandbox.ok(
            "import", "-",
            input: export([item("zz", "x", #", "modified": 0, "attributes": {"origin": "keepass:\#(id)"}"#)]).utf8)
        let source = try kdbx(sandbox, "out.kdbx")
        try sandbox.ok("rm", "zz", "--yes")
        try sandbox.ok(
            "import", "-",
            input: export([item("zz", "x", #", "modified": 0, "attributes": {"origin": "keepass:\#(id)"}"#)]).utf8)
        let dry = try sandbox.ok(["import"] + source + ["--on-duplicate", "update-newer", "--dry-run"]).output
        #expect(dry.contains("unchanged\tgeneric-password 'mine'"), "\(dry)")
        try sandbox.ok(["import"] + source + ["--on-duplicate", "replace"])
        #expect(try sandbox.ok("get", "mine").output == "old" && sandbox.ok("get", "zz").output == "x")
    }

    @Test("earlier values of a source that the vault has no room for are named, however old they are")
    func noRoom() throws {
        for policy in ["replace", "update-newer"] {
            let sandbox = try Sandbox.withVault()
            try sandbox.ok("rekey", "--keep", "2")
            for secret in ["one", "two", "three"] { try sandbox.ok("set", "it", input: Array(secret.utf8)) }
            let source = export([
                item(
                    "it", "new",
                    #", "modified": "2100-01-01T00:00:00Z", "earlier": [{"secret": "old", "modified": "2018-01-01T00:00:00Z", "replaced": "2019-01-01T00:00:00Z"}]"#
                )
            ])
            for dry in [["--dry-run"], []] {
                let run = try sandbox.run(["import", "-", "--on-duplicate", policy] + dry, input: Array(source.utf8))
                #expect(
                    run.status == 3 && run.error.contains("1 earlier values, because the vault keeps fewer"),
                    "\(run.error)")
                #expect(run.error.contains("as 'vaultfmt rekey --keep' sets") && !run.error.contains("no option"))
            }
            #expect(try sandbox.ok("get", "it").output == "new" && sandbox.ok("history", "it").output.contains("2"))
        }
    }

    @Test("values of sealed attributes that give way are counted, and a change of notes alone displaces no secret")
    func perField() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("rekey", "--keep", "3")
        for number in 1...4 { try sandbox.ok("set", "it", "--attribute", "notes=note \(number)", input: "same".utf8) }
        func source(_ notes: [String], last: String) -> String {
            let earlier = notes.map {
                #"{"secret": "same", "modified": "2090-01-01T00:00:00Z", "replaced": "2091-01-01T00:00:00Z", "attributes": {"notes": "\#($0)"}}"#
            }
            return export([
                item(
                    "it", "same",
                    #", "modified": "2100-01-01T00:00:00Z", "attributes": {"notes": "\#(last)"}, "earlier": [\#(earlier.joined(separator: ","))]"#
                )
            ])
        }
        let run = try sandbox.run(
            "import", "-", "--on-duplicate", "update-newer", input: source(["a", "b"], last: "newest").utf8)
        #expect(run.error.contains("replaced 2 earlier values of the vault"), "\(run.error)")
        let quiet = try Sandbox.withVault()
        try quiet.ok("rekey", "--keep", "3")
        for secret in ["1", "2", "3", "now"] { try quiet.ok("set", "it", input: Array(secret.utf8)) }
        let noted = export([item("it", "now", #", "modified": "2100-01-01T00:00:00Z", "attributes": {"notes": "n"}"#)])
        let said = try quiet.ok("import", "-", "--on-duplicate", "update-newer", input: noted.utf8).error
        #expect(!said.contains("of the vault with the source"), "\(said)")
    }

    @Test("the date of a secret is not that of the one before it, and replacing an item does not lose it")
    func dates() throws {
        let sandbox = try Sandbox.withVault()
        let old = "kV7#pQ2z!mX9wR4t&Lb8"
        try sandbox.ok("import", "-", input: export([item("it", old, #", "modified": "2020-05-01T10:00:00Z""#)]).utf8)
        try sandbox.ok("update", "it", "--label", "x")
        let text = String(decoding: try sandbox.ok("export", "--format", "json").bytes, as: UTF8.self)
        #expect(text.contains(#""secret-changed": "2020-05-01"#))
        func isOld() throws -> Bool { try sandbox.run("check", "--older-than", "1y").output.contains("2020-05-01") }
        let modified = try #require(text.range(of: #""modified": "20[0-9-]+T[0-9:.]+Z""#, options: .regularExpression))
        var changed = text.replacingCharacters(in: modified, with: #""modified": "2100-01-01T00:00:00Z""#)
        try sandbox.ok("import", "-", "--on-duplicate", "replace", input: changed.utf8)
        #expect(try isOld(), "the same secret")
        changed = changed.replacing(#""secret": "\#(old)""#, with: #""secret": "\#(old)new""#)
            .replacing("2100-01-01", with: "2101-01-01")
        try sandbox.ok("import", "-", "--on-duplicate", "update-newer", input: changed.utf8)
        #expect(try sandbox.ok("get", "it").output == old + "new")
        #expect(try !isOld(), "another secret")
    }

    @Test("an item that occurs twice in an export is unchanged twice, in a dry run too")
    func twice() throws {
        let sandbox = try Sandbox.withVault()
        let one = item("a", "s", #", "modified": "2021-01-01T00:00:00Z""#)
        try sandbox.ok("import", "-", input: export([one]).utf8)
        let dry = try sandbox.ok(
            "import", "-", "--on-duplicate", "update-newer", "--dry-run", input: export([one, one]).utf8)
        #expect(dry.error.contains("2 unchanged"), "\(dry.error)")
        #expect(
            try sandbox.ok("import", "-", "--on-duplicate", "update-newer", input: export([one, one]).utf8).error
                .contains("2 unchanged"))
    }
}
