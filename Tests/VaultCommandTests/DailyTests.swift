import Foundation
import Testing

/// What people do with items every day, found by somebody who did the tasks of Tests/Tasks without help pages.
@Suite("Every day")
struct DailyTests {
    private func mode(_ path: String) throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        return (attributes[.posixPermissions] as? Int) ?? -1
    }

    @Test("a secret attribute is read from a pipe or asked for, is hidden, and comes back by its name")
    func secretAttribute() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "tax office", "mira", input: "pw".utf8)
        try sandbox.ok("update", "tax office", "--secret-attribute", "first pet", input: "Biscuit\n".utf8)
        #expect(try sandbox.ok("get", "tax office", "--field", "first pet").output == "Biscuit")
        #expect(try sandbox.ok("get", "tax office").output == "pw")
        let shown = try sandbox.ok("show", "tax office").output
        #expect(shown.contains("first pet") && !shown.contains("Biscuit"), "\(shown)")
        #expect(try sandbox.run("list", "Biscuit").status == 1)
        #expect(try !sandbox.read("test.vault").contains(Array("Biscuit".utf8)))
        // In an item without a secret, at once; and the secret of an item that has one stays.
        try sandbox.ok("add", "card", "--secret-attribute", "number", input: "4111 1111".utf8)
        try sandbox.ok("set", "card", "--secret-attribute", "code", input: "123".utf8)
        #expect(try sandbox.ok("get", "card", "--field", "number").output == "4111 1111")
        #expect(try sandbox.ok("get", "card", "--field", "code").output == "123")
        #expect(try sandbox.ok("get", "tax office").output == "pw")
        for (message, arguments) in [
            ("a single value", ["--secret-attribute", "a", "--secret-attribute", "b"]),
            ("asked for", ["--secret-attribute", "pet=x"]), ("stored by --otp", ["--secret-attribute", "otp"]),
            ("given twice", ["--secret-attribute", "a", "--attribute", "a=b"]),
            ("a single value", ["--secret-attribute", "a", "--otp"]),
        ] {
            let run = try sandbox.run(["update", "tax office"] + arguments, input: Array("x".utf8))
            #expect(run.status == 64 && run.error.contains(message), "\(arguments): \(run.error)")
        }
        try sandbox.fails(64, "is empty", "update", "tax office", "--secret-attribute", "a")
        let terminal = try PseudoTerminal(
            sandbox, "update", "tax office", "--secret-attribute", "maiden name", "--secret-attribute", "school")
        for (name, answer) in [("maiden name", "O'Hara-Lund"), ("school", "St. Ann")] {
            try terminal.expect("\(name) of generic-password 'tax office' 'mira': ")
            try terminal.answerHidden(answer)
            try terminal.expect(": ")
            try terminal.answerHidden(answer)
        }
        #expect(try terminal.finish() == 0)
        #expect(!terminal.screen.contains("Lund"))
        #expect(try sandbox.ok("get", "tax office", "--field", "maiden name").output == "O'Hara-Lund")
    }

    @Test("sealing a readable attribute says, before it asks for the value, that the readable one is not kept")
    func sealedReadable() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "tax office", "mira", "--attribute", "pet=Biscuit", input: "s".utf8)
        let warning = "this replaces the readable value of 'pet', which does not become an earlier value"
        let terminal = try PseudoTerminal(sandbox, "update", "tax office", "--secret-attribute", "pet")
        try terminal.expect(warning)
        try terminal.expect("pet of generic-password 'tax office' 'mira': ")
        try terminal.answerHidden("Rex")
        try terminal.expect(": ")
        try terminal.answerHidden("Rex")
        #expect(try terminal.finish() == 0)
        #expect(try sandbox.ok("get", "tax office", "--field", "pet").output == "Rex")
        // What is sealed, or new, has no readable value.
        for name in ["pet", "school"] {
            let run = try sandbox.ok("set", "tax office", "--secret-attribute", name, input: "Max".utf8)
            #expect(!run.error.contains("readable value"), "\(run.error)")
        }
    }

    @Test("a copy within the vault has another name, and is an item of its own")
    func copyWithin() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok(
            "set", "staging db", "app", "--attribute", "host=s.example", "--attribute", "port=5432", "--label",
            "staging db", input: "one".utf8)
        try sandbox.ok("update", "staging db", "--secret-attribute", "pin", input: "1234".utf8)
        try sandbox.ok("copy", "staging db", "--as", "production db", "--without", "host")
        try sandbox.ok("set", "production db", "app", "--attribute", "host=p.example", input: "two".utf8)
        #expect(try sandbox.ok("get", "production db", "--field", "port").output == "5432")
        #expect(try sandbox.ok("get", "production db", "--field", "pin").output == "1234")
        #expect(try sandbox.ok("get", "production db", "--field", "label").output == "production db")
        #expect(try sandbox.ok("get", "staging db").output == "one")
        #expect(try sandbox.ok("get", "staging db", "--field", "host").output == "s.example")
        try sandbox.fails(1, "already exists", "copy", "staging db", "--as", "production db")
        try sandbox.fails(1, "has an attribute 'hots'", "copy", "staging db", "--as", "x", "--without", "hots")
        try sandbox.fails(64, "--as copies within this vault", "copy", "staging db", "--as", "x", "--to", "y.vault")
        try sandbox.fails(
            64, "--as copies within this vault", "copy", "staging db", "--as", "x", "--to-key-file", "k")
        try sandbox.fails(64, "use --to VAULT, or --as NAME", "copy", "staging db")
        #expect(try sandbox.ok("verify").output.hasPrefix("sound"))
    }

    @Test("a copy that is given away lacks the attributes that are left out")
    func copyWithout() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "bank", "mira", "--attribute", "notes=private", input: "pw".utf8)
        try sandbox.ok("set", "bank", "mira", "--otp", input: "JBSWY3DPEHPK3PXP".utf8)
        let words = try sandbox.write("words", "agreed".utf8)
        let to = ["--to", "dana.vault", "--to-passphrase-file", words]
        func copy(_ options: String...) throws -> Run { try sandbox.run(["copy", "bank"] + options + to) }
        #expect(try copy("--without", "note").status == 1)
        #expect(!FileManager.default.fileExists(atPath: sandbox.path("dana.vault")))
        #expect(try copy("--without", "notes", "--history").status == 64)
        #expect(try copy("--without", "notes", "--without", "otp", "--kdf", "testing").status == 0)
        let theirs = ["--vault", "dana.vault", "--passphrase-file", words]
        #expect(try sandbox.run(["get", "bank"] + theirs).output == "pw")
        for field in ["notes", "otp"] {
            #expect(try sandbox.run(["get", "bank", "--field", field] + theirs).status == 1)
            #expect(try sandbox.ok("get", "bank", "--field", field).output != "")
        }
    }

    @Test("a value is written to a new file that only its owner can read")
    func output() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "key", input: "-----BEGIN\nx\n-----END\n".utf8)
        try sandbox.ok("get", "key", "--output", "id")
        #expect(try String(decoding: sandbox.read("id"), as: UTF8.self) == "-----BEGIN\nx\n-----END\n")
        #expect(try mode(sandbox.path("id")) == 0o600)
        try sandbox.fails(73, "already exists", "get", "key", "--output", "id")
        try sandbox.fails(64, "--output cannot be combined", "get", "key", "--output", "x", "--json")
        try sandbox.fails(1, "no item is named", "get", "nosuch", "--output", "y")
        #expect(!FileManager.default.fileExists(atPath: sandbox.path("y")))
    }

    @Test("a pattern selects several items after a question, and never where a name is meant")
    func patterns() throws {
        let sandbox = try Sandbox.withVault()
        for name in ["aws-one", "AWS two", "aws", "mail", "other aws", "a*b", "axb"] {
            try sandbox.ok("set", name, input: "pw".utf8)
        }
        try sandbox.fails(64, "use --yes", "update", "aws*", "--add-tag", "work")
        for _ in 1...2 {
            try sandbox.ok("update", "aws*", "--add-tag", "work", "--add-tag", "cloud", "--yes")
        }
        #expect(
            try Set(sandbox.ok("list", "--tag", "cloud", "--columns", "name").lines) == ["aws-one", "AWS two", "aws"])
        #expect(try sandbox.ok("get", "aws", "--field", "tags").output == "work\ncloud")
        try sandbox.ok("update", "aws*", "--all", "--add-tag", "all", "--yes")
        #expect(try sandbox.ok("list", "--tag", "all").lines.count == 3)
        // An item with that very name is meant, without a question; a single match of a pattern needs one.
        try sandbox.ok("update", "a*b", "--add-tag", "star")
        #expect(try sandbox.ok("list", "--tag", "star", "--columns", "name").lines == ["a*b"])
        try sandbox.fails(64, "a pattern needs confirmation", "remove", "mai*")
        try sandbox.fails(1, "nothing matches 'zzz*'", "remove", "zzz*", "--yes")
        let terminal = try PseudoTerminal(sandbox, "remove", "*aws*")
        try terminal.expect("Remove these 4 items?")
        try terminal.type("n\r")
        #expect(try terminal.finish() != 0)
        #expect(try sandbox.ok("list").lines.count == 7)
    }

    @Test("a folder or a group is renamed as the answer to its name says")
    func renamed() throws {
        let sandbox = try Sandbox.withVault()
        for name in ["a", "b"] {
            try sandbox.ok("set", name, "--group", "acme inc", input: "pw".utf8)
            try sandbox.ok("set", "f" + name, "--attribute", "folder=acme/web", input: "pw".utf8)
        }
        try sandbox.ok("set", "old", "--group", "acme-old", input: "pw".utf8)
        let group = try sandbox.fails(1, "is a group", "mv", "acme inc", "zenith")
        try follow(group.error, in: sandbox)
        #expect(try sandbox.ok("list", "--group", "zenith").lines.count == 2)
        #expect(try sandbox.ok("list", "--group", "acme-old").lines.count == 1)
        let folder = try sandbox.fails(1, "is a folder", "mv", "acme", "zenith corp")
        try follow(folder.error, in: sandbox)
        #expect(try sandbox.ok("list", "--folder", "zenith corp/web").lines.count == 2)
    }

    /// Runs the command that a message has in single quotes, through a shell.
    private func follow(_ message: String, in sandbox: Sandbox, _ options: String = " --yes") throws {
        let start = try #require(message.range(of: "'vaultfmt "))
        let rest = message[start.upperBound...]
        let end = try #require(rest.range(of: "' "))
        let line = "\"$0\" " + rest[..<end.lowerBound] + options
        let run = try sandbox.run(["-c", line, Child.binary], program: "/bin/bash")
        #expect(run.status == 0, "\(line): \(run.error)")
    }

    @Test("fields have the names of other programs too, unless an attribute is called so")
    func otherNames() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "shop db", "mira", input: "pw".utf8)
        for (name, value) in [("username", "mira"), ("user", "mira"), ("password", "pw")] {
            #expect(try sandbox.ok("get", "shop db", "--field", name).output == value)
        }
        let run = try sandbox.ok(
            "run", "--env", "U=vaultfmt:shop%20db?field=username", "--env", "P=vaultfmt:shop%20db?field=password", "--",
            "sh",
            "-c", "echo $U/$P")
        #expect(run.output == "mira/pw\n")
        try sandbox.ok("update", "shop db", "--attribute", "username=other")
        #expect(try sandbox.ok("get", "shop db", "--field", "username").output == "other")
        try sandbox.fails(1, "the item has no field 'website'", "get", "shop db", "--field", "website")
    }

    @Test("a key is found by its label, which is the only name that it has, but not stored over")
    func labelled() throws {
        let sandbox = try Sandbox.withVault()
        let made = try sandbox.run(
            ["-q", "-t", "ed25519", "-N", "", "-C", "mira@host", "-f", sandbox.path("k")],
            program: "/usr/bin/ssh-keygen")
        try #require(made.status == 0)
        try sandbox.ok("import", "k")
        let key = try sandbox.ok("get", "mira@host", "--pem").output
        #expect(key.contains("PRIVATE KEY"))
        try sandbox.fails(1, "did you mean 'mira@host'?", "get", "mira@hots")
        try sandbox.ok("set", "mira@host", input: "pw".utf8)
        #expect(try sandbox.ok("get", "mira@host").output == "pw")
        #expect(try sandbox.ok("get", "--class", "key", "mira@host", "--pem").output == key)
    }

    @Test("words that are no items are explained: a field's name, a pattern where a secret is stored, 'note'")
    func explained() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "visa card", input: "4111".utf8)
        try sandbox.ok("update", "visa card", "--secret-attribute", "code", input: "123".utf8)
        let refused = try sandbox.fails(1, "but a field of that name", "get", "visa card", "code")
        try follow(refused.error, in: sandbox, "")
        #expect(try sandbox.ok("set", "db*", "--generate").error.contains("takes no patterns"))
        #expect(try sandbox.ok("update", "visa card", "--attribute", "note=x").error.contains("'notes' is sealed"))
        #expect(try sandbox.ok("add", "mail", "--otp", input: "JBSWY3DPEHPK3PXP".utf8).error.contains("no secret yet"))
    }

    @Test("an item is found by any of its addresses")
    func addresses() throws {
        let sandbox = try Sandbox.withVault()
        let both = "https://sso.example.com\nhttps://hr.example.com"
        try sandbox.ok("set", "company sso", "--attribute", "url=\(both)", input: "pw".utf8)
        try sandbox.ok("set", "other", "--attribute", "url=https://hr.example.org", input: "pw".utf8)
        for address in [both, "https://sso.example.com", "https://hr.example.com"] {
            let found = try sandbox.ok("list", "--attribute", "url=\(address)", "--columns", "name").lines
            #expect(found == ["company sso"], "\(address)")
        }
        #expect(try sandbox.run("list", "--attribute", "url=https://hr").output == "")
        try sandbox.fails(64, "one address per line", "update", "other", "--attribute", "url=a", "--attribute", "url=b")
    }

    @Test("a word too many for a one-time code is not repeated: it can be the key")
    func codesOfNothing() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "mail", input: "pw".utf8)
        let run = try sandbox.fails(1, "--otp' stores codes", "otp", "mail", "GEZD1NBV0Y8!")
        #expect(!run.error.contains("GEZD"))
    }

    @Test("merging another vault is answered with the command that copies its items into it")
    func takenOver() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "one", input: "mine".utf8)
        try sandbox.ok("set", "both", input: "old".utf8)
        try sandbox.ok("create", sandbox.path("dana's vault"), "--kdf", "testing")
        try sandbox.ok("set", "both", "--vault", "dana's vault", input: "new".utf8)
        try sandbox.ok("set", "fifth", "--vault", "dana's vault", input: "5".utf8)
        let run = try sandbox.fails(64, "copies its items into it", "merge", sandbox.vault, "dana's vault")
        let words = try sandbox.write("words", Sandbox.passphrase.utf8)
        try follow(run.error, in: sandbox, " --yes --to-passphrase-file \(words)")
        #expect(try sandbox.ok("get", "both").output == "new")
        #expect(try sandbox.ok("get", "both", "--earlier", "1").output == "old")
        #expect(try sandbox.ok("get", "fifth").output == "5")
        #expect(try sandbox.ok("get", "one").output == "mine")
    }
}
