import Foundation
import ImportFuzzing
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

    private func attributes(_ sandbox: Sandbox, of service: String = "svc") throws -> [String] {
        let items = try #require(try sandbox.ok("list", "--json", service).json() as? [[String: Any]])
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
        // Even an equal one is another item: the next version of either is not one of the other.
        let equal = try export(sandbox, id: "third", fields: [], secret: "mine", year: 2032)
        try sandbox.ok("import", equal, "--on-duplicate", "update-newer")
        #expect(try sandbox.ok("get", "svc", "u (3)").output == "mine")
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
            #expect(run.status == 3 && run.error.contains("the attribute 'origin' of 1 item"), "\(run.error)")
        }
        #expect(!(try sandbox.ok("show", "bait").output.contains("origin")))
        // Two items of one source cannot have one, either: with that, neither would be found.
        let pair = ["p", "q"].map {
            #"{"class": "generic-password", "service": "\#($0)", "modified": 0, "attributes": {"origin": "bitwarden:7"}, "secret": "x"}"#
        }
        let both = try sandbox.write(
            "pair", #"{"format": "vaultfmt-export", "version": 2, "items": [\#(pair.joined(separator: ","))]}"#.utf8)
        for dry in [["--dry-run"], []] {
            let run = try sandbox.run(["import", both] + dry)
            #expect(run.status == 3 && run.error.contains("the attribute 'origin' of 1 item"), "\(run.error)")
        }
        #expect(try sandbox.ok("show", "p").output.contains("origin"))
        #expect(!(try sandbox.ok("show", "q").output.contains("origin")))
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

    @Test("an item that was planted where a scoped slot reads gets the source's secret only after a question")
    func planted() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("generate", "--key-file", sandbox.path("ci.key"))
        try sandbox.ok(
            "slot", "add", "--new-key-file", sandbox.path("ci.key"), "--name", "ci", "--grant-group", "ci",
            "--create-group")
        let bait = """
            {"format": "vaultfmt-export", "version": 2, "items": [{"class": "generic-password", "service": "zz", \
            "group": "ci", "modified": 0, "attributes": {"origin": "bitwarden:1"}, "secret": "x"}]}
            """
        try sandbox.ok("import", try sandbox.write("bait.json", bait.utf8))
        let mine = try logins(sandbox, [("1", "bank.example", "BANK"), ("2", "mail.example", "MAIL")])
        for policy in ["update-newer", "replace"] {
            let refused = try sandbox.run("import", mine, "--on-duplicate", policy, "--no-input")
            #expect(refused.status == 64 && refused.error.contains("use --yes"), "\(refused.error)")
            #expect(refused.error.contains("in groups that scoped slots can read"), "\(refused.error)")
            let dry = try sandbox.run("import", mine, "--on-duplicate", policy, "--no-input", "--dry-run")
            #expect(dry.status == 64 && dry.error.contains("in groups that scoped slots can read"), "\(dry.error)")
            #expect(try sandbox.ok("list").lines.count == 1)
        }
        try sandbox.ok("import", mine, "--on-duplicate", "update-newer", "--yes")
        #expect(try sandbox.ok("list").lines.count == 2)
        // What the source itself asks for needs no question.
        try sandbox.ok("import", mine, "--on-duplicate", "replace", "--group", "ci")
    }

    @Test("earlier values of the vault that give way to a source's are counted, and those that it has keep their group")
    func givingWay() throws {
        let sandbox = try Sandbox.withVault()
        for secret in ["one", "two"] { try sandbox.ok("set", "it", "--group", "admin", input: Array(secret.utf8)) }
        try sandbox.ok("move", "it", "--to-group", "ci", "--yes")
        try sandbox.ok("set", "it", input: "three".utf8)
        func source(_ earlier: [String], year: Int = 2100) throws -> String {
            let values = earlier.map {
                #"{"secret": "\#($0)", "modified": "\#(year - 1)-06-01T00:00:00Z", "replaced": "\#(year - 1)-07-01T00:00:00Z"}"#
            }
            let text = """
                {"format": "vaultfmt-export", "version": 2, "items": [{"class": "generic-password", "service": "it", \
                "group": "ci", "modified": "\(year)-01-01T00:00:00Z", "secret": "\(year == 2100 ? "new" : "newer")", \
                "earlier": [\(values.joined(separator: ","))]}]}
                """
            return try sandbox.write("source.json", text.utf8)
        }
        // The group in which the vault knows a value to have been set is not replaced by the source's.
        try sandbox.ok("import", try source(["one"]), "--on-duplicate", "replace")
        let refused = try sandbox.run("restore", "it", "--earlier", "3", "--no-input")
        #expect(refused.status == 64 && refused.error.contains("in group 'admin'"), "\(refused.error)")
        // What may be as old as the vault's own values takes only the room that these leave.
        let many = try source((1...9).map { "flood \($0)" })
        for dry in [["--dry-run"], []] {
            let run = try sandbox.run(["import", many, "--on-duplicate", "replace"] + dry)
            #expect(run.status == 3 && run.error.contains("not imported: 2 earlier values"), "\(run.error)")
            #expect(!run.error.contains("of the vault with the source"), "\(run.error)")
        }
        // What is newer takes their place.
        let newer = try source((11...19).map { "flood \($0)" }, year: 2102)
        for dry in [["--dry-run"], []] {
            let run = try sandbox.run(["import", newer, "--on-duplicate", "update-newer"] + dry)
            #expect(run.error.contains("replaced 9 earlier values of the vault with the source's"), "\(run.error)")
        }
    }

    @Test("more fields than fit beside those of the vault are combined, also where the item was full before")
    func grown() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("import", try export(sandbox, fields: names("f", 61), year: 2021))
        let grown = try export(sandbox, fields: names("f", 66), secret: "new", year: 2100)
        try sandbox.ok("import", grown, "--on-duplicate", "update-newer")
        #expect(try sandbox.ok("get", "svc").output == "new")
        let shown = try sandbox.ok("show", "svc", "--reveal").output
        for name in names("f", 66) { #expect(shown.contains("value of \(name)"), "\(name)") }
        #expect(try sandbox.ok("import", grown, "--on-duplicate", "update-newer").error.contains("1 unchanged"))
    }

    @Test("a copy before its original is an item of its own, though the vault's item equals it")
    func copyFirst() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("import", try logins(sandbox, [("1", "c.example", "pa")], year: 2021))
        let source = try logins(sandbox, [("2", "c.example", "pa"), ("1", "c.example", "NEW")])
        try sandbox.ok("import", source, "--on-duplicate", "update-newer")
        #expect(try sandbox.ok("get", "c.example", "u").output == "NEW")
        #expect(try sandbox.ok("get", "c.example", "u (2)").output == "pa")
    }

    @Test("a password that was set in KeePass takes the place of one that had to be an attachment")
    func attachedSecret() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "svc", "u", input: "see {REF:P@T:x}".utf8)
        let contents = try ExportedContents(of: sandbox)
        let entry = contents.xml.replacing(
            "<Key>UserName</Key><Value>u</Value></String>",
            with: "<Key>UserName</Key><Value>u</Value></String><String><Key>Password</Key><Value>NEW</Value></String>")
        #expect(entry != contents.xml)
        let items = try #require(
            Interchange.items(in: contents.start + Array(entry.utf8), format: Interchange.kdbxContents) {
                Issue.record("\($0)")
            })
        #expect(items.count == 1 && items[0].secret == Array("NEW".utf8))
        #expect(items[0].attributes.names.filter { $0.hasPrefix("file:") } == [])
    }

    @Test("notes that an import brought unsealed are sealed when somebody writes them")
    func unsealedNotes() throws {
        let sandbox = try Sandbox.withVault()
        let text = """
            {"format": "vaultfmt-export", "version": 2, "items": [{"class": "generic-password", "service": "it", \
            "secret": "s", "attributes": {"notes": {"text": " ", "flags": []}}}]}
            """
        try sandbox.ok("import", try sandbox.write("source.json", text.utf8))
        #expect(try attributes(sandbox, of: "it").contains("notes"))
        try sandbox.ok("update", "it", "--attribute", "notes=mine")
        #expect(try !attributes(sandbox, of: "it").contains("notes"))
        #expect(try sandbox.ok("get", "it", "--field", "notes").output == "mine")
    }

    @Test("a change that seals old values rewrites the file, and says whether they are values, records or both")
    func sealedValues() throws {
        let sandbox = try Sandbox.withVault()
        func source(_ flags: String) throws -> String {
            let values = ["notes": "n", "pet": "p", "town": "t"].map { name, value in
                #""\#(name)": {"text": "\#(value)", "flags": [\#(name == "town" ? flags : "")]}"#
            }
            let text = """
                {"format": "vaultfmt-export", "version": 2, "items": [{"class": "generic-password", "service": "it", \
                "secret": "s", "attributes": {\(values.joined(separator: ", "))}}]}
                """
            return try sandbox.write("source.json", text.utf8)
        }
        func protects(_ what: String, _ run: Run) {
            let text = "the file was rewritten to protect \(what) previous readers"
            #expect(run.error.contains(text), "\(run.error)")
        }
        try sandbox.ok("import", try source(""))
        protects(
            "the old value of 'town' from its",
            try sandbox.ok("import", try source(#""sealed""#), "--on-duplicate", "replace"))
        protects(
            "2 old values from their",
            try sandbox.ok(
                "update", "it", "--attribute", "notes=mine", "--secret-attribute", "pet", input: "Rex".utf8))
        try sandbox.ok("update", "it", "--attribute", "street=x", "--accessible", "always")
        protects(
            "2 old records and values from their",
            try sandbox.ok(
                "update", "it", "--secret-attribute", "street", "--accessible", "when-unlocked", input: "y".utf8))
    }
}
