import Foundation
import Testing

@Suite("edit --all and --field")
struct WholeEditTests {
    /// A vault with one item, and an editor that is a shell script with the file as `$1`.
    private func sandbox(editor script: String) throws -> Sandbox {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok(
            "set", "svc", "alice", "--label", "L", "--attribute", "notes=one\ntwo", "--attribute", "odd: \"name\"=x",
            "--attribute", "url= a ", "--exact", input: "old".utf8)
        try sandbox.write("editor.sh", "#!/bin/sh\ncp \"$1\" \"$HOME/text\"\n\(script)\n".utf8)
        chmod(sandbox.path("editor.sh"), 0o700)
        sandbox.environment["EDITOR"] = sandbox.path("editor.sh")
        return sandbox
    }

    private func text(_ sandbox: Sandbox) throws -> String { String(decoding: try sandbox.read("text"), as: UTF8.self) }

    @Test("the text has everything but secrets, and unchanged it changes nothing")
    func unchanged() throws {
        let sandbox = try sandbox(editor: "touch \"$1\"")
        let before = try sandbox.read("test.vault")
        #expect(try sandbox.ok("edit", "svc", "--all").error.contains("nothing was changed"))
        let text = try text(sandbox)
        #expect(text.contains("\naccount: alice\n") && text.contains("\nsecret: «hidden»\n"))
        #expect(text.contains("\nnotes: «hidden»\n") && text.contains("\n\"odd: \\\"name\\\"\": x\n"))
        #expect(text.contains("\nurl:\n|  a \n"))
        #expect(try sandbox.ok("edit", "svc", "--all", "--reveal").error.contains("nothing was changed"))
        #expect(try self.text(sandbox).contains("\nsecret: old\n"))
        #expect(try self.text(sandbox).contains("\nnotes:\n| one\n| two\n"))
        #expect(try sandbox.read("test.vault") == before)
    }

    @Test("what was changed is stored, and nothing else")
    func changed() throws {
        let sandbox = try sandbox(
            editor: """
                sed -i -e 's/^account: alice/account: bob/' -e 's/^secret: .*/secret: new/' -e '/^label/d' -e '/^"odd/d' \\
                    -e 's/^| two/| 2\\n| three/' "$1"
                printf 'phone: 1 2 3\\n"two words": there\\n' >> "$1"
                """)
        try sandbox.ok("edit", "svc", "--all", "--reveal")
        let item = try #require(try sandbox.ok("get", "svc", "bob", "--json").json() as? [String: Any])
        #expect(item["secret"] as? String == "new")
        #expect(
            item["attributes"] as? [String: String] == [
                "notes": "one\n2\nthree", "url": " a ", "phone": "1 2 3", "two words": "there",
            ])
        #expect(item["earlierValues"] == nil)
    }

    @Test("'device' can be an attribute of an item that is bound to no device")
    func device() throws {
        let sandbox = try sandbox(editor: "echo 'device: phone' >> \"$1\"")
        try sandbox.ok("edit", "svc", "--all")
        #expect(try sandbox.ok("get", "svc", "--field", "device").output == "phone")
    }

    @Test("a hidden value stays, and is replaced by what is written in its place")
    func hidden() throws {
        let sandbox = try sandbox(editor: "sed -i 's/^notes: .*/notes: changed/' \"$1\"")
        try sandbox.ok("edit", "svc", "--all")
        #expect(try sandbox.ok("get", "svc").output == "old")
        #expect(try sandbox.ok("get", "svc", "--field", "notes").output == "changed")
    }

    @Test(
        "a text that says nothing clear is refused with the line, and nothing is changed",
        arguments: [
            ("echo nonsense >> \"$1\"", "a line must be NAME: VALUE"),
            ("sed -i /^account/d \"$1\"", "the line 'account:' is missing"),
            ("echo 'label: M' >> \"$1\"", "'label' occurs twice"),
            ("sed -i 's/^secret.*/secret:/' \"$1\"", "the secret is empty"),
            ("sed -i 's/^accessible.*/accessible: never/' \"$1\"", "accessible must be one of when-unlocked"),
            ("sed -i 's/^service.*/service: /' \"$1\"", "the service is empty"),
            ("echo 'class: x' >> \"$1\"", "'class' is a field of the item"),
            ("echo '\"account\": x' >> \"$1\"", "'account' is a field of the item"),
            (
                "sed -i 's/^accessible: .*/accessible: always-this-device-only/' \"$1\"; echo 'device: x' >> \"$1\"",
                "'device' is a field of the item"
            ),
            ("echo 'password: n3w' >> \"$1\"", "'password' would be stored in the index"),
            ("echo 'Secret: xx' >> \"$1\"", "could be mistaken for the secret"),
            ("echo 'expires: whenever' >> \"$1\"", "'whenever' is not a date"),
            ("echo 'change-every: often' >> \"$1\"", "'often' is not an interval; use 'change-every: 90d'"),
            ("echo 'check: no' >> \"$1\"", "can only be 'off'"),
            ("echo 'max-age: 90d' >> \"$1\"", "'max-age' has no effect; use 'change-every: 90d'"),
            ("echo 'otp: not a seed!' >> \"$1\"", "the seed for one-time codes cannot be used"),
            (
                "(printf 'x: 1\\npassword: n3w\\n'; cat \"$1\") > \"$HOME/t\"; cp \"$HOME/t\" \"$1\"",
                "line 2: the attribute 'password'"
            ),
            ("echo '| x' | cat - \"$1\" > \"$HOME/t\"; cp \"$HOME/t\" \"$1\"", "line 1: a line with |"),
        ])
    func broken(_ script: String, _ message: String) throws {
        let sandbox = try sandbox(editor: script)
        let before = try sandbox.read("test.vault")
        try sandbox.fails(64, message, "edit", "svc", "--all")
        #expect(try sandbox.read("test.vault") == before)
    }

    @Test("a secret written as an attribute is named as with the options; the seed of codes is checked and sealed")
    func readable() throws {
        let sandbox = try sandbox(
            editor: """
                if ! grep -q '^otp' "$1"; then
                    printf 'pin: 1234\\nnote: x\\nhome: https://u:pw@h/\\nexpires: 2030-01-01\\n' >> "$1"
                    echo 'otp: JBSW Y3DP EHPK 3PXP JBSW Y3DP EHPK 3PXP' >> "$1"
                fi
                """)
        let run = try sandbox.ok("edit", "svc", "--all")
        #expect(run.error.contains("'pin' is stored in the index and shown in lists"), "\(run.error)")
        #expect(run.error.contains("'home' contains an address with a password, and is stored in the index"))
        #expect(run.error.contains("the attribute 'note' is stored in the index") && !run.error.contains("1234"))
        #expect(run.error.contains("'vaultfmt update' with --secret-attribute stores one"))
        #expect(!run.error.contains("u:pw"))
        #expect(try sandbox.ok("get", "svc", "--field", "otp").output.hasPrefix("otpauth://totp/"))
        #expect(try sandbox.ok("get", "svc", "--field", "expires").output == "2030-01-01")
        #expect(try sandbox.ok("edit", "svc", "--all").error.contains("nothing was changed"))
    }

    @Test("an attribute that the item has stays editable under a name that a new one could not have")
    func known() throws {
        let sandbox = try sandbox(
            editor: """
                if grep -q '^Password: old' "$1"; then sed -i 's/^Password: .*/Password: new/' "$1"
                else printf newer > "$1"; fi
                """)
        let text = """
            {"format": "vaultfmt-export", "version": 2, "items": [{"class": "generic-password", "service": "made", \
            "secret": "s", "attributes": {"Password": "old", "expires": "some day"}}]}
            """
        try sandbox.ok("import", try sandbox.write("source.json", text.utf8))
        try sandbox.ok("edit", "made", "--all")
        #expect(try sandbox.ok("get", "made", "--field", "Password").output == "new")
        #expect(try sandbox.ok("get", "made", "--field", "expires").output == "some day", "it was not changed")
        try sandbox.ok("edit", "made", "--field", "Password")
        #expect(try sandbox.ok("get", "made", "--field", "Password").output == "newer")
        try sandbox.fails(64, "'newer' is not a date", "edit", "made", "--field", "expires")
    }

    @Test("on a terminal a broken text is offered again with what is wrong, and nothing of it is lost")
    func offered() throws {
        let sandbox = try sandbox(
            editor: """
                if grep -q 'NOT STORED' "$1"; then sed -i 's/^nonsense$/phone: 5/' "$1"
                else sed -i 's/^label: L/label: M/' "$1"; echo nonsense >> "$1"; fi
                """)
        let terminal = try PseudoTerminal(sandbox, "edit", "svc", "--all", columns: 80)
        try terminal.expect("Discard the edited text? [y/N] ")
        try terminal.type("\r")
        #expect(try terminal.finish() == 0, "\(terminal.screen)")
        #expect(
            try text(sandbox).contains("# NOT STORED: a line must be NAME: VALUE, or start with # or |\nnonsense\n"))
        #expect(try sandbox.ok("show", "svc", "--field", "label").output == "M")
        #expect(try sandbox.ok("show", "svc", "--field", "phone").output == "5")
    }

    @Test("a name that is taken is put right in the same text, or given up")
    func taken() throws {
        let sandbox = try sandbox(editor: "sed -i 's/^account: .*/account: bob/' \"$1\"")
        try sandbox.ok("set", "svc", "bob", input: "theirs".utf8)
        let terminal = try PseudoTerminal(sandbox, "edit", "svc", "alice", "--all", columns: 80)
        try terminal.expect("Discard the edited text? [y/N] ")
        try terminal.type("y\r")
        #expect(try terminal.finish() == 0)
        #expect(terminal.screen.contains("nothing was changed"))
        #expect(try sandbox.ok("get", "svc", "alice").output == "old")
        #expect(try sandbox.ok("get", "svc", "bob").output == "theirs")
    }

    @Test(
        "an edit that seals notes, which an import had left unsealed, says that the file was rewritten",
        arguments: [["--all"], ["--field", "notes"]])
    func sealing(_ options: [String]) throws {
        let sandbox = try sandbox(
            editor: """
                if grep -q '^notes: shown' "$1"; then sed -i 's/^notes: .*/notes: mine/' "$1"
                else printf mine > "$1"; fi
                """)
        let text = """
            {"format": "vaultfmt-export", "version": 2, "items": [{"class": "generic-password", "service": "it", \
            "secret": "s", "attributes": {"notes": {"text": "shown", "flags": []}}}]}
            """
        try sandbox.ok("import", try sandbox.write("source.json", text.utf8))
        let run = try sandbox.run(["edit", "it"] + options)
        #expect(run.status == 0, "\(run.error)")
        #expect(
            run.error.contains("the file was rewritten to protect the old value of 'notes' from its previous readers"),
            "\(run.error)")
        #expect(try sandbox.ok("get", "it", "--field", "notes").output == "mine")
        try sandbox.fails(1, "compacted or rewritten", "undo")
    }

    @Test("--field changes one attribute or part of the name; an unknown one is refused with those that there are")
    func field() throws {
        let sandbox = try sandbox(editor: "printf changed > \"$1\"")
        for name in ["notes", "label", "comment"] {
            try sandbox.ok("edit", "svc", "--field", name)
            #expect(try sandbox.ok("get", "svc", "--field", name).output == "changed")
        }
        try sandbox.ok("edit", "svc", "--field", "account")
        #expect(try sandbox.ok("get", "svc", "changed").output == "old")
        try sandbox.fails(1, "no field 'nots'; it has service, account", "edit", "svc", "--field", "nots")
        try sandbox.fails(64, "cannot be edited as text", "edit", "svc", "--field", "id")
        try sandbox.fails(64, "--all cannot be combined with --field", "edit", "svc", "--field", "notes", "--all")
        try sandbox.fails(64, "--reveal requires --all", "edit", "svc", "--reveal")
    }
}
