import Foundation
import Testing
import VaultBytes
import VaultFmt

@testable import VaultCommand

/// What a later import does to the attributes of an item, and to items of entries of other databases.
@Suite("A later import of entries with other fields, and of another database")
struct ImportUpdateTests {
    /// A Bitwarden export of one login with these fields.
    private func export(
        _ sandbox: Sandbox, id: String = "1", fields: some Sequence<String>, secret: String = "s", year: Int
    ) throws -> String {
        let fields = fields.map { #"{"name": "\#($0)", "value": "value of \#($0)", "type": 0}"# }
        let item = """
            {"id": "\(id)", "type": 1, "name": "svc", "login": {"username": "u", "password": "\(secret)"}, \
            "fields": [\(fields.joined(separator: ","))], "revisionDate": "\(year)-01-01T00:00:00Z"}
            """
        return try sandbox.write("source.json", #"{"encrypted": false, "items": [\#(item)]}"#.utf8)
    }

    private func names(_ letter: String, _ count: Int) -> [String] { (1...count).map { "\(letter)\($0)" } }

    private func attributes(_ sandbox: Sandbox, _ account: String = "u") throws -> [String] {
        let items = try #require(try sandbox.ok("list", "--json", "svc", account).json() as? [[String: Any]])
        #expect(items.count == 1)
        return try #require(items.first?["attributes"] as? [String: Any]).keys.sorted()
    }

    @Test("fields without room are combined, in a dry run too, and the same source changes nothing again")
    func tooMany() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("import", try export(sandbox, fields: names("a", 40), year: 2021))
        try sandbox.ok("update", "svc", "--attribute", "mine=1")
        // Later than the change of the vault.
        let newer = try export(sandbox, fields: names("a", 20) + names("b", 30), secret: "new", year: 2100)
        let dry = try sandbox.ok("import", newer, "--on-duplicate", "update-newer", "--dry-run").output
        #expect(dry.contains("more-fields") && !dry.contains("b30"), "\(dry)")
        try sandbox.ok("import", newer, "--on-duplicate", "update-newer")
        let now = try attributes(sandbox)
        // Of those that are sealed, a list has none.
        #expect(now.count == Format.Limit.attributes - 2 && now.contains("mine") && now.contains("a40"), "\(now)")
        let rest = try #require(
            try JSONSerialization.jsonObject(
                with: Data(try sandbox.ok("get", "svc", "--field", "more-fields").bytes)) as? [String: String])
        #expect(rest["b30"] == "value of b30" && !now.contains("b30"))
        #expect(Set(names("b", 30)).isSubset(of: Set(now).union(rest.keys)))
        #expect(try sandbox.ok("import", newer, "--on-duplicate", "update-newer").error.contains("1 unchanged"))
        // The next version of the source, whose new fields take the place of those that were combined.
        let last = try export(sandbox, fields: names("b", 30) + names("c", 2), secret: "last", year: 2101)
        try sandbox.ok("import", last, "--on-duplicate", "update-newer")
        #expect(try sandbox.ok("get", "svc", "--field", "more-fields").output.contains("value of c2"))
        #expect(try sandbox.ok("get", "svc").output == "last")
        #expect(try sandbox.ok("verify").output.hasPrefix("sound"))
    }

    @Test("an item with no room for a single field is refused, in a dry run too")
    func full() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("import", try export(sandbox, fields: [], year: 2021))
        let count = try attributes(sandbox).count
        // The date of the secret is one more.
        let own = names("own", Format.Limit.attributes - count - 1).flatMap { ["--attribute", "\($0)=1"] }
        #expect(try sandbox.run(["update", "svc"] + own).status == 0)
        let newer = try export(sandbox, fields: ["more"], year: 2100)
        for dry in [["--dry-run"], []] {
            let run = try sandbox.run(["import", newer, "--on-duplicate", "update-newer"] + dry)
            #expect(run.status == 65, "\(run.error)")
            #expect(run.error.contains("has 64 attributes in the vault, and no room"), "\(run.error)")
        }
        #expect(try attributes(sandbox).count == Format.Limit.attributes)
        // A change of the secret alone needs no room, not even for the date of another one.
        let other = try export(sandbox, fields: [], secret: "new", year: 2100)
        try sandbox.ok("import", other, "--on-duplicate", "update-newer")
        #expect(try sandbox.ok("get", "svc").output == "new")
    }

    @Test("replace names the attributes that the source does not have, in a dry run too")
    func replaced() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("import", try export(sandbox, fields: ["colour"], year: 2021))
        try sandbox.ok("update", "svc", "--attribute", "mine=1", "--attribute", "zeal=2")
        let other = try export(sandbox, fields: ["shape"], year: 2021)
        let words = "removed 'colour', 'mine', 'zeal', which the source does not have"
        #expect(try sandbox.ok("import", other, "--on-duplicate", "replace", "--dry-run").output.contains(words))
        #expect(try attributes(sandbox).contains("mine"))
        #expect(try sandbox.ok("import", other, "--on-duplicate", "replace").error.contains(words))
        #expect(try attributes(sandbox).filter { $0.count > 3 && $0 != "label" && $0 != "origin" } == ["shape"])
    }

    @Test("an entry of another database updates no item of its name, however new it is")
    func twoDatabases() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("import", try export(sandbox, id: "mine", fields: [], secret: "mine", year: 2021))
        let other = try export(sandbox, id: "theirs", fields: [], secret: "theirs", year: 2030)
        let dry = try sandbox.ok("import", other, "--on-duplicate", "update-newer", "--dry-run").output
        #expect(dry.hasPrefix("keep-both\t"), "\(dry)")
        let run = try sandbox.ok("import", other, "--on-duplicate", "update-newer")
        #expect(run.error.contains("kept both, this one as account 'u (2)'"), "\(run.error)")
        #expect(try sandbox.ok("get", "svc", "u").output == "mine")
        #expect(try sandbox.ok("get", "svc", "u (2)").output == "theirs")
        // An equal one is the same item.
        let equal = try export(sandbox, id: "third", fields: [], secret: "mine", year: 2032)
        #expect(try sandbox.ok("import", equal, "--on-duplicate", "update-newer").error.contains("1 unchanged"))
        // Each goes on by itself.
        let later = try export(sandbox, id: "theirs", fields: [], secret: "theirs 2", year: 2031)
        try sandbox.ok("import", later, "--on-duplicate", "update-newer")
        #expect(try sandbox.ok("get", "svc", "u").output == "mine")
        #expect(try sandbox.ok("get", "svc", "u (2)").output == "theirs 2")
    }

    /// A Bitwarden export of logins, each with an id, a host, a user `u` and a secret.
    private func logins(
        _ sandbox: Sandbox, _ logins: [(id: String, host: String, secret: String)], year: Int = 2100
    ) throws -> String {
        let items = logins.map { login in
            """
            {"id": "\(login.id)", "type": 1, "name": "\(login.host)", "revisionDate": "\(year)-01-01T00:00:00Z", \
            "login": {"username": "u", "password": "\(login.secret)", "uris": [{"uri": "https://\(login.host)"}]}}
            """
        }
        let text = #"{"encrypted": false, "items": [\#(items.joined(separator: ","))]}"#
        return try sandbox.write("logins.json", text.utf8)
    }

    @Test(
        "a new entry with the former name of a renamed one is a second item, in either order",
        arguments: ["replace", "update-newer"], [false, true])
    func formerName(_ policy: String, _ isLast: Bool) throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("import", try logins(sandbox, [("1", "bank.example", "A")], year: 2021))
        var entries = [(id: "9", host: "bank.example", secret: "N"), (id: "1", host: "old.example", secret: "A2")]
        if isLast { entries.reverse() }
        let source = try logins(sandbox, entries)
        let dry = try sandbox.ok("import", source, "--on-duplicate", policy, "--dry-run").lines.map { $0.prefix(12) }
        #expect(dry.contains { $0.hasPrefix(isLast ? "add\t" : "keep-both\t") }, "\(dry)")
        try sandbox.ok("import", source, "--on-duplicate", policy)
        #expect(try sandbox.ok("list").lines.count == 2)
        #expect(try sandbox.ok("get", "old.example").output == "A2")
        #expect(try sandbox.ok("get", "bank.example", isLast ? "u" : "u (2)").output == "N")
        let earlier = try sandbox.ok("history", "bank.example").lines
        #expect(earlier.allSatisfy { $0.hasPrefix("NUMBER") }, "\(earlier)")
    }

    @Test("no source gives an item the identifier of another one, and one that two items have finds neither")
    func plantedOrigin() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("import", try logins(sandbox, [("1", "bank.example", "A")], year: 2021))
        func item(_ name: String, _ origin: String) -> String {
            """
            {"format": "vaultfmt-export", "version": 2, "items": [{"class": "generic-password", "service": "\(name)", \
            "group": "shared", "modified": 0, "attributes": {"origin": "\(origin)"}, "secret": "x"}]}
            """
        }
        for dry in [["--dry-run"], []] {
            let run = try sandbox.run(["import", try sandbox.write("a", item("bait", "bitwarden:1").utf8)] + dry)
            #expect(run.status == 0 && run.error.contains("the attribute 'origin' of 1 item"), "\(run.error)")
        }
        #expect(!(try sandbox.ok("show", "bait").output.contains("origin")))
        try sandbox.ok("import", try logins(sandbox, [("1", "bank.example", "A2")]), "--on-duplicate", "update-newer")
        #expect(try sandbox.ok("get", "bank.example").output == "A2")
        // Two items that were there before the one that is meant.
        for name in ["one", "two"] {
            try sandbox.ok("set", name, "--group", "shared", "--attribute", "origin=bitwarden:2", input: "x".utf8)
        }
        try sandbox.ok("import", try logins(sandbox, [("2", "mail.example", "M")]), "--on-duplicate", "update-newer")
        #expect(try sandbox.ok("get", "mail.example").output == "M")
        for name in ["one", "two"] { #expect(try sandbox.ok("get", name).output == "x") }
        // One that is in another group than the source would have it is named with that.
        try sandbox.ok("move", "bank.example", "--to-group", "shared", "--yes")
        let named = try sandbox.ok(
            "import", try logins(sandbox, [("1", "bank.example", "A3")]), "--on-duplicate", "replace")
        #expect(named.error.contains("stays in group 'shared'"), "\(named.error)")
    }
}
