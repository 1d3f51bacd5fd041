import Foundation
import Testing

/// How old a secret is, and when it is to be changed: `check --older-than`, `--rotate-every`.
@Suite("Age of secrets")
struct SecretAgeTests {
    private static let strong = "kV7#pQ2z!mX9wR4t&Lb8"

    /// A vault with items whose secrets were last changed at these times, as an import says.
    private func vault(_ items: String...) throws -> Sandbox {
        let sandbox = try Sandbox.withVault()
        let text = #"{"format": "vaultfmt-export", "version": 2, "items": [\#(items.joined(separator: ","))]}"#
        try sandbox.ok("import", "-", input: text.utf8)
        return sandbox
    }

    private func item(_ service: String, _ modified: String, _ more: String = "") -> String {
        #"""
        {"class": "generic-password", "service": "\#(service)", "secret": "\#(Self.strong)\#(service)",
         "created": "2020-01-01T00:00:00Z", "modified": "\#(modified)"\#(more)}
        """#
    }

    /// A time so many days ago.
    private func ago(_ days: Double) -> String {
        ISO8601DateFormatter().string(from: Date(timeIntervalSinceNow: -days * 86_400))
    }

    /// An editor that runs a line of shell, with the file as `$1`.
    private func edit(_ sandbox: Sandbox, by line: String) throws {
        try sandbox.write("editor.sh", "#!/bin/sh\n\(line)\n".utf8)
        chmod(sandbox.path("editor.sh"), 0o700)
        sandbox.environment["EDITOR"] = sandbox.path("editor.sh")
    }

    private func old(_ run: Run) throws -> [String: [String: Any]] {
        let report = try #require(try run.json() as? [String: Any])
        let findings = try #require(report["findings"] as? [[String: Any]]).filter { $0["kind"] as? String == "old" }
        return Dictionary(
            uniqueKeysWithValues: findings.map { finding in
                let items = finding["items"] as? [[String: Any]] ?? []
                return (items.first?["service"] as? String ?? "", finding)
            })
    }

    @Test("editing a note, an attribute, the name or the group, however often, does not make an old secret new")
    func edited() throws {
        let day = "2023-05-01T10:00:00.000Z"
        let sandbox = try vault(
            item("notes", day), item("label", day), item("moved", day), item("both", day), item("edited", day),
            item("otp", day), item("young", ago(20)))
        for round in 1...4 {
            try sandbox.ok("update", "notes", "--attribute", "notes=round \(round)")
            try sandbox.ok("update", "label", "--label", "Round \(round)")
            try sandbox.ok("move", "moved", "--to-group", "group\(round)")
            try sandbox.ok("update", "both", "--label", "L\(round)", "--attribute", "notes=N\(round)")
        }
        try edit(sandbox, by: "echo 'comment: new' >> \"$1\"")
        try sandbox.ok("edit", "edited", "--all")
        try edit(sandbox, by: "echo note > \"$1\"")
        try sandbox.ok("edit", "edited", "--field", "notes")
        try sandbox.ok("set", "otp", "--otp", input: "JBSWY3DPEHPK3PXP".utf8)
        try sandbox.ok("update", "young", "--attribute", "notes=x")
        let found = try old(sandbox.run("check", "--older-than", "1y", "--json"))
        #expect(Set(found.keys) == ["notes", "label", "moved", "both", "edited", "otp"])
        for (name, finding) in found { #expect(finding["secretChanged"] as? String == day, "\(name)") }
        #expect(try old(sandbox.run("check", "--older-than", "10d", "--json")).keys.contains("young"))
        #expect(try sandbox.run("check", "--older-than", "1y").output.contains("since before 2023-05-01 10:00 UTC"))
    }

    @Test("a new secret is new, however it gets there; the same one again stays old")
    func replaced() throws {
        let day = "2023-05-01T10:00:00Z"
        let names = ["set", "same", "edit", "import", "undone"]
        let sandbox = try vault(names.map { item($0, day) }.joined(separator: ","))
        for name in names { try sandbox.ok("update", name, "--attribute", "notes=x") }
        func found() throws -> Set<String> { Set(try old(sandbox.run("check", "--older-than", "1y", "--json")).keys) }
        #expect(try found() == Set(names))
        try sandbox.ok("set", "set", input: "\(Self.strong)new".utf8)
        try sandbox.ok("set", "same", input: "\(Self.strong)same".utf8)
        try edit(sandbox, by: "echo '\(Self.strong)edited' > \"$1\"")
        try sandbox.ok("edit", "edit")
        // Later than the note, or the item of the vault would be kept.
        let new = item("import", ago(-1)).replacing("\(Self.strong)import", with: "\(Self.strong)imported")
        let text = #"{"format": "vaultfmt-export", "version": 2, "items": [\#(new)]}"#
        try sandbox.ok("import", "-", "--on-duplicate", "update-newer", input: text.utf8)
        try sandbox.ok("set", "undone", input: "\(Self.strong)mistake".utf8)
        #expect(try found() == ["same"])
        try sandbox.ok("undo", "--yes")
        #expect(try found() == ["same", "undone"])
        #expect(!(try sandbox.ok("show", "set").output.contains("secret-changed")))
    }

    @Test(
        "exports and copies state since when an item has its secret if its last change is later",
        .timeLimit(.minutes(5)))
    func exported() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "web", input: "\(Self.strong)web".utf8)
        let changed = item("web", ago(-5), #", "attributes": {"label": "later"}"#)
        try sandbox.ok(
            "import", "-", "--on-duplicate", "update-newer",
            input: #"{"format": "vaultfmt-export", "version": 2, "items": [\#(changed)]}"#.utf8)
        let today = String(ago(0).prefix(10))
        /// What an item's own attribute states, and how the list of old secrets would date it.
        func stated(_ options: String...) throws -> String? {
            let shown = try #require(
                try sandbox.ok(["show", "web", "--json"] + options).json() as? [String: Any])
            return (shown["attributes"] as? [String: Any])?["secret-changed"] as? String
        }
        #expect(try stated() == nil)
        try sandbox.ok("export", "--format", "json", "--output", "out.json")
        #expect(
            try String(decoding: sandbox.read("out.json"), as: UTF8.self).contains(#""secret-changed": "\#(today)"#))
        let unchanged = try sandbox.ok("import", "out.json", "--on-duplicate", "update-newer", "--json").json()
        #expect((unchanged as? [String: Any])?["unchanged"] as? Int == 1)
        let passphrase = try sandbox.write("kdbx-passphrase", "kdbx".utf8)
        try sandbox.ok(
            "export", "--format", "kdbx", "--output", "out.kdbx", "--new-passphrase-file", passphrase, "--kdf",
            "testing")
        try sandbox.ok("copy", "web", "--as", "now")
        let copied = try #require(try sandbox.ok("show", "now", "--json").json() as? [String: Any])
        #expect((copied["attributes"] as? [String: Any])?["secret-changed"] == nil)
        for source in [["out.json"], ["out.kdbx", "--source-passphrase-file", passphrase]] {
            try sandbox.ok("rm", "web", "--yes")
            try sandbox.ok(["import"] + source)
            #expect(try stated()?.hasPrefix(today) == true, "\(source[0])")
        }
        // What is stated already goes on, also into a copy that is changed today.
        let old = try vault(item("web", "2023-05-01T10:00:00Z"))
        try old.ok("update", "web", "--attribute", "notes=x")
        try old.ok("copy", "web", "--as", "second")
        let shown = try #require(try old.ok("show", "second", "--json").json() as? [String: Any])
        #expect((shown["attributes"] as? [String: Any])?["secret-changed"] as? String == "2023-05-01T10:00:00.000Z")
        let imported = try vault(item("web", "2023-05-01T10:00:00Z"))
        try imported.ok("copy", "web", "--as", "second")
        let second = try #require(try imported.ok("show", "second", "--json").json() as? [String: Any])
        #expect((second["attributes"] as? [String: Any])?["secret-changed"] as? String == "2023-05-01T10:00:00.000Z")
    }

    @Test("earlier values with the same secret show the age if nothing else does; 'at least' if they do not reach back")
    func earlierValues() throws {
        func value(_ secret: String, _ modified: String, _ replaced: String) -> String {
            #"{"secret": "\#(secret)", "modified": "\#(modified)", "replaced": "\#(replaced)"}"#
        }
        let (first, second, third) = ("2021-01-01T00:00:00Z", "2022-01-01T00:00:00Z", "2023-01-01T00:00:00Z")
        func earlier(_ values: String...) -> String { #", "earlier": [\#(values.joined(separator: ","))]"# }
        let same = Self.strong
        let sandbox = try vault(
            item("whole", ago(1), earlier(value("other", first, second), value("\(same)whole", second, third))),
            item("open", ago(1), earlier(value("\(same)open", second, third))),
            item("new", ago(1), earlier(value("\(same)new", first, second), value("other", second, third))))
        let found = try old(sandbox.run("check", "--older-than", "1y", "--json"))
        #expect(Set(found.keys) == ["whole", "open"])
        #expect(found["whole"]?["secretChanged"] as? String == "2022-01-01T00:00:00.000Z")
        #expect(found["whole"]?["isExact"] as? Bool == true && found["open"]?["isExact"] as? Bool == false)
        #expect((found["open"]?["why"] as? String)?.contains("not changed for at least") == true)
        #expect((found["whole"]?["why"] as? String)?.contains("at least") == false)
    }

    @Test(
        "--rotate-every says when a secret is due; check reports exactly the overdue ones; a new secret moves the date")
    func rotation() throws {
        let sandbox = try vault(item("due", ago(100)), item("later", ago(80)), item("free", ago(500)))
        for name in ["due", "later"] { try sandbox.ok("update", name, "--rotate-every", "90d") }
        let found = try old(sandbox.run("check", "--json"))
        #expect(found.keys.sorted() == ["due"])
        let due = try #require(found["due"]?["due"] as? String)
        #expect(due.hasPrefix(ago(10).prefix(10)))
        #expect(try sandbox.ok("show", "due").output.contains("change due\t\(due)"))
        let shown = try #require(try sandbox.ok("show", "later", "--json").json() as? [String: Any])
        #expect((shown["changeDue"] as? String)?.hasPrefix(ago(-10).prefix(10)) == true)
        #expect(try sandbox.run("check").output.contains("to be changed every 90d, due since"))
        try sandbox.ok("set", "due", "--generate")
        #expect(try old(sandbox.run("check", "--json")).isEmpty)
        #expect(try sandbox.ok("show", "due").output.contains("change due\t\(ago(-90).prefix(10))"))
        try sandbox.ok("update", "later", "--rotate-every", "2w")
        #expect(try old(sandbox.run("check", "--json")).keys.sorted() == ["later"])
        try sandbox.ok("update", "later", "--rotate-every", "never")
        #expect(try old(sandbox.run("check", "--json")).isEmpty)
        #expect(!(try sandbox.ok("show", "later").output.contains("change-every")))
        try sandbox.fails(64, "--rotate-every", "update", "later", "--rotate-every", "often")
        try sandbox.fails(
            64, "both given", "update", "later", "--rotate-every", "2w", "--attribute", "change-every=1y")
        try sandbox.fails(64, "did you mean '--rotate-every'?", "update", "later", "--rotate", "90d")
    }

    @Test("an attribute that update replaces is named with its old value; a new or unchanged one is not")
    func replacedAttribute() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "sso", "--attribute", "url=https://one.example", input: "x".utf8)
        let said = try sandbox.ok("update", "sso", "--attribute", "url=https://two.example").error
        #expect(said.contains("replaced the url 'https://one.example' of generic-password 'sso'"))
        #expect(said.contains("'vaultfmt undo' restores it"))
        let again = ["url=https://two.example", "other=x"]
        for text in again { #expect(try sandbox.ok("update", "sso", "--attribute", text).error.isEmpty) }
        // What is shown only on request is not in a message either.
        let card = #"""
            {"format": "vaultfmt-export", "version": 2, "items": [{"class": "generic-password", "service": "card",
              "secret": "x", "attributes": {"pin": {"text": "1234", "flags": ["concealed"]}}}]}
            """#
        try sandbox.ok("import", "-", input: card.utf8)
        #expect(try !sandbox.ok("update", "card", "--attribute", "pin=5678").error.contains("1234"))
    }

    @Test("a value that check would ignore is refused with the option that is meant; a date that has passed is named")
    func wrong() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "card", "--attribute", "expires=2020-01-31", input: "x".utf8)
        for value in ["90d", "soon", "2026-13-01", ""] {
            try sandbox.fails(64, "--rotate-every", "update", "card", "--attribute", "expires=\(value)")
        }
        for name in ["rotate", "max-age", "change-every"] {
            let value = name == "change-every" ? "sometimes" : "90d"
            try sandbox.fails(64, "use --rotate-every 90d", "update", "card", "--attribute", "\(name)=\(value)")
        }
        try sandbox.ok("update", "card", "--attribute", "max-age=none")
        let note = try sandbox.ok("set", "card", input: "new".utf8).error
        #expect(note.contains("the item's expiry date, 2020-01-31, has passed"))
        let advice = try #require(note.split(separator: "'").first { $0.hasPrefix("vaultfmt update --id") })
        #expect(try sandbox.run(advice.split(separator: " ").dropFirst().map(String.init)).status == 0)
        #expect(!(try sandbox.ok("set", "card", input: "newer".utf8).error.contains("expires")))
    }
}
