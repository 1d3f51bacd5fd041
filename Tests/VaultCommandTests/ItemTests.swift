import Foundation
import Testing

@Suite("set, add, get, update, move, remove")
struct ItemTests {
    @Test("D3: an empty secret and an empty name are refused, unless they are wanted")
    func empty() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "svc", "ann", input: "kept".utf8)
        let empty = try sandbox.write("empty", "".utf8)
        for arguments in [
            ["set", "svc", "ann"], ["set", "svc", "ann", "--secret-file", empty], ["add", "new"], ["set", "new"],
        ] {
            let run = try sandbox.run(arguments, input: [])
            #expect(run.status == 64 && run.error.contains("the secret is empty"), "\(arguments): \(run.error)")
        }
        try sandbox.fails(64, "the secret is empty", "set", "svc", "ann", input: "\n".utf8)
        #expect(try sandbox.ok("get", "svc").output == "kept")
        for arguments in [
            ["set", ""], ["add", ""], ["set", "--server", ""], ["set", "--service", "", "--account", "x"],
        ] {
            let run = try sandbox.run(arguments, input: Array("s".utf8))
            #expect(run.status == 64 && run.error.contains("is empty"), "\(arguments): \(run.error)")
        }
        try sandbox.fails(64, "is empty", "move", "svc", "--to-service", "")
        #expect(try sandbox.ok("list").lines.count == 1)
        let terminal = try PseudoTerminal(sandbox, "set", "svc", "ann")
        for question in ["'ann', replacing its current one: ", "again: "] {
            try terminal.expect(question)
            try terminal.answerHidden("")
        }
        #expect(try terminal.finish() == 64)
        #expect(try sandbox.ok("get", "svc").output == "kept")
        try sandbox.ok("set", "svc", "ann", "--allow-empty", input: "".utf8)
        #expect(try sandbox.ok("get", "svc").output == "")
        try sandbox.ok("set", "", "--allow-empty", input: "s".utf8)
    }

    @Test(
        "D8: 'set' means the item that 'get' shows, of whatever class; several are exit 2, with what tells them apart")
    func oneRule() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok(
            "set", "--server", "github.com", "--protocol", "https", "--account", "me", input: "of the browser".utf8)
        let replaced = try sandbox.ok("set", "github.com", "me", input: "new".utf8)
        #expect(replaced.error.contains("replaced the secret of internet-password 'github.com' 'me' protocol 'https'"))
        #expect(try sandbox.ok("get", "github.com", "me").output == "new")
        #expect(try sandbox.ok("list").lines.count == 1)
        try sandbox.ok("set", "--class", "generic-password", "github.com", "me", input: "generic".utf8)
        try sandbox.fails(2, "2 items are named 'github.com' 'me'; add --class", "get", "github.com", "me")
        let before = try sandbox.read("test.vault")
        try sandbox.fails(
            2, "2 items are named 'github.com' 'me'; add --class", "set", "github.com", "me", input: "x".utf8)
        #expect(try sandbox.read("test.vault") == before)
        try sandbox.ok("set", "--class", "generic-password", "github.com", "me", input: "again".utf8)
        let made = try PseudoTerminal(sandbox, "set", "other", "--generate")
        #expect(try made.finish() == 0)
        #expect(made.screen.contains("vaultfmt: created generic-password 'other' ''"))
        let again = try PseudoTerminal(sandbox, "set", "other", "--generate")
        #expect(try again.finish() == 0)
        #expect(again.screen.contains("vaultfmt: replaced the secret of generic-password 'other' ''"))
        // A script is told too.
        #expect(
            try sandbox.ok("set", "other", input: "x".utf8).error
                == "vaultfmt: replaced the secret of generic-password 'other' ''; 'vaultfmt undo' restores the old one\n"
        )
        try sandbox.fails(
            64, "--vault is given twice", "get", "other", "--vault", sandbox.vault, "--vault", "other.vault")
        try sandbox.fails(64, "--vault is given twice", "get", "other", "-f", sandbox.vault, "-f", sandbox.vault)
    }

    @Test("a secret that is set comes back byte for byte, and nothing else")
    func setAndGet() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "github.com", "alice", input: "hunter2\n".utf8)
        let run = try sandbox.ok("get", "github.com", "alice")
        #expect(run.bytes == Array("hunter2".utf8))
        #expect(run.error == "")
    }

    @Test("among the items of one service, the one without an account can be named")
    func withoutAccount() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "svc", input: "none".utf8)
        try sandbox.ok("set", "svc", "ann", input: "ann".utf8)
        try sandbox.fails(2, "add the account ('' for none)", "get", "svc")
        #expect(try sandbox.ok("get", "svc", "").output == "none")
    }

    @Test("the newline at the end of a single piped line is dropped, unless --exact; several lines stay as they are")
    func newline() throws {
        let sandbox = try Sandbox.withVault()
        for (piped, stored) in [("x\n", "x"), ("x\r\n", "x"), ("x\n\n", "x\n\n"), ("-----\nkey\n", "-----\nkey\n")] {
            try sandbox.ok("set", "svc", input: piped.utf8)
            #expect(try sandbox.ok("get", "svc").output == stored)
        }
        try sandbox.ok("set", "exact", "--exact", input: "x\n".utf8)
        #expect(try sandbox.ok("get", "exact").output == "x\n")
        try sandbox.ok("set", "empty", "--allow-empty", input: "".utf8)
        #expect(try sandbox.ok("get", "empty").bytes == [])
    }

    @Test("a secret file is taken exactly, also 16 MiB of it, and more is refused")
    func secretFile() throws {
        let sandbox = try Sandbox.withVault()
        let bytes = (0..<16 << 20).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
        let file = try sandbox.write("large", bytes)
        try sandbox.ok("set", "large", "--secret-file", file)
        #expect(try sandbox.ok("get", "large").bytes == bytes)
        try sandbox.write("large", bytes + [0])
        try sandbox.fails(64, "longer than the maximum of 16777216 bytes", "set", "large", "--secret-file", file)
        try sandbox.fails(66, "No such file", "set", "large", "--secret-file", sandbox.path("absent"))
    }

    @Test("--generate makes a new password of the length asked for each time")
    func generate() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "--generate", "one")
        try sandbox.ok("set", "two", "--generate=40")
        try sandbox.ok("set", "three", "--generate")
        let one = try sandbox.ok("get", "one").output
        let two = try sandbox.ok("get", "two").output
        #expect(one.count == 20)
        #expect(two.count == 40)
        #expect(try sandbox.ok("get", "three").output != one)
        #expect((one + two).allSatisfy { $0.isASCII && !$0.isWhitespace })
        try sandbox.fails(64, "between 1 and 4096", "set", "four", "--generate=0")
    }

    @Test("add refuses an item that exists, and leaves it as it was")
    func addDuplicate() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("add", "svc", "alice", input: "first".utf8)
        try sandbox.fails(1, "already exists", "add", "svc", "alice", input: "second".utf8)
        #expect(try sandbox.ok("get", "svc").output == "first")
    }

    @Test("set names items as get does: a service alone is its only item, several are exit 2, none makes one")
    func setByService() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "svc", "alice", input: "1".utf8)
        let replaced = try sandbox.ok("set", "svc", input: "2".utf8)
        #expect(replaced.error.contains("'alice'"))
        #expect(try sandbox.ok("get", "svc", "alice").output == "2")
        #expect(try sandbox.ok("list").lines.count == 1)
        try sandbox.ok("add", "svc", input: "3".utf8)
        try sandbox.fails(2, "2 items", "set", "svc", input: "4".utf8)
        try sandbox.ok("set", "svc", "", input: "5".utf8)
        try sandbox.ok("set", "svc", "bob", input: "6".utf8)
        #expect(try sandbox.ok("get", "svc", "").output == "5")
        #expect(try sandbox.ok("list").lines.count == 3)
    }

    @Test("get of what is not there is exit 1")
    func absent() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.fails(1, "no item is named 'nothing'", "get", "nothing")
    }

    @Test("a service alone works while it is unique; then the matches go to standard error, exit 2")
    func ambiguous() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "svc", "alice", input: "a".utf8)
        #expect(try sandbox.ok("get", "svc").output == "a")
        try sandbox.ok("set", "svc", "bob", input: "b".utf8)
        let run = try sandbox.fails(2, "2 items are named 'svc'", "get", "svc")
        #expect(run.bytes == [])
        #expect(run.error.contains("'alice'") && run.error.contains("'bob'"))
        #expect(try sandbox.ok("get", "svc", "bob").output == "b")
        #expect(try sandbox.ok("get", "svc", "--account", "alice").output == "a")
    }

    @Test("set keeps the attributes that it does not name, update changes attributes and reads no standard input")
    func attributes() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "svc", "--label", "First", "--attribute", "url=https://a=b", input: "1".utf8)
        try sandbox.ok("set", "svc", "--comment", "-dash", input: "2".utf8)
        #expect(try sandbox.ok("get", "svc", "--field", "label").output == "First")
        #expect(try sandbox.ok("get", "svc", "--field", "url").output == "https://a=b")
        #expect(try sandbox.ok("get", "svc", "--field", "comment").output == "-dash")
        try sandbox.ok("update", "svc", "--label", "Second", "--remove-attribute", "url", input: "not a secret".utf8)
        #expect(try sandbox.ok("get", "svc", "--field", "label").output == "Second")
        #expect(try sandbox.ok("get", "svc").output == "2")
        try sandbox.fails(1, "no field 'url'", "get", "svc", "--field", "url")
        try sandbox.fails(64, "nothing to change", "update", "svc")
    }

    @Test("show needs --reveal for a secret, under whatever name it is asked for")
    func revealed() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "svc", "--label", "l", input: "hunter2".utf8)
        try sandbox.write("f.txt", "attached".utf8)
        try sandbox.ok("update", "svc", "--attach", sandbox.path("f.txt"))
        for name in ["secret", "password", "Password", "f.txt", "file:f.txt"] {
            try sandbox.fails(64, "--reveal", "show", "svc", "--field", name)
            try sandbox.ok("show", "svc", "--field", name, "--reveal")
        }
        #expect(try sandbox.ok("show", "svc", "--field", "label").output == "l")
        let before = try sandbox.ok("get", "svc", "--output", "-").output
        #expect(before == "hunter2" && !FileManager.default.fileExists(atPath: sandbox.path("-")))
    }

    @Test("no attribute takes the place of the secret, and an export of nothing is none")
    func noSecondSecret() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "svc", input: "hunter2".utf8)
        for name in ["password", "Secret"] {
            try sandbox.fails(64, "--secret-attribute", "update", "svc", "--attribute", "\(name)=other")
        }
        #expect(try sandbox.ok("get", "svc", "--field", "password").output == "hunter2")
        try sandbox.fails(1, "no item matches", "export", "--service", "typo", "--output", sandbox.path("none.json"))
        #expect(!FileManager.default.fileExists(atPath: sandbox.path("none.json")))
        try sandbox.fails(1, "can be undone", "undo", "--steps", "99", "--yes")
        // Once restored, an item has no earlier values, and nothing is damaged.
        try sandbox.ok("set", "svc", input: "hunter3".utf8)
        try sandbox.ok("undo", "--yes")
        for _ in 0..<2 { #expect(try !sandbox.ok("forget", "svc", "--all", "--yes").error.contains("cannot be read")) }
        try sandbox.ok("update", "svc", "--add-tag", "Work")
        #expect(try sandbox.ok("update", "svc", "--remove-tag", "home").error.contains("has no tag 'home'"))
    }

    @Test("an attribute that a field of the item would hide is refused; one that another program stored comes through")
    func hiddenAttribute() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "svc", input: "hunter2".utf8)
        try sandbox.ok("set", "--server", "db.example", "--account", "app", input: "pw".utf8)
        let before = try sandbox.read("test.vault")
        let names = [
            "class", "id", "group", "accessible", "created", "modified", "synchronizable", "service", "account",
        ]
        for name in names {
            let message = "'\(name)' is a field of the item"
            try sandbox.fails(64, message, "update", "svc", "--attribute", "\(name)=x")
            try sandbox.fails(64, message, "update", "svc", "--secret-attribute", name, input: "x".utf8)
            try sandbox.fails(64, message, "set", "svc", "--attribute", "\(name)=x", input: "new".utf8)
            try sandbox.fails(64, message, "add", "other", "--attribute", "\(name)=x", input: "new".utf8)
        }
        try sandbox.fails(64, "'server' is a field", "update", "db.example", "--attribute", "server=x")
        for name in ["password", "Secret"] {
            try sandbox.fails(
                64, "mistaken for the secret", "update", "svc", "--secret-attribute", name, input: "x".utf8)
        }
        // Only what 'move' changes is said to be changed by it.
        for (name, isMovable) in [("server", true), ("port", true), ("group", true), ("securityDomain", false)] {
            let run = try sandbox.fails(
                64, "'\(name)' is a field", "update", "db.example", "--attribute", "\(name)=x")
            #expect(run.error.contains("'vaultfmt move'") == isMovable, "\(run.error)")
        }
        #expect(try sandbox.read("test.vault") == before)
        // A field of another class hides nothing.
        try sandbox.ok("update", "svc", "--attribute", "server=db")
        #expect(try sandbox.ok("get", "svc", "--field", "server").output == "db")
        // The JSON export has attributes apart from fields, so such a name is kept there, and can be removed.
        let item = #"{"class": "generic-password", "service": "made", "attributes": {"class": "x"}, "secret": "s"}"#
        let file = try sandbox.write(
            "made.json", #"{"format": "vaultfmt-export", "version": 2, "items": [\#(item)]}"#.utf8)
        try sandbox.ok("import", file)
        #expect(try sandbox.ok("export", "--service", "made").output.contains(#""class": "x""#))
        try sandbox.ok("update", "made", "--remove-attribute", "class")
        #expect(try !sandbox.ok("export", "--service", "made").output.contains(#""class": "x""#))
    }

    @Test("an attribute that an item already has can be changed, even if its name is one that is refused")
    func hiddenAttributeThere() throws {
        let sandbox = try Sandbox.withVault()
        let attributes = #"{"class": "x", "Password": "old"}"#
        let item = #"{"class": "generic-password", "service": "made", "attributes": \#(attributes), "secret": "s"}"#
        let file = try sandbox.write(
            "made.json", #"{"format": "vaultfmt-export", "version": 2, "items": [\#(item)]}"#.utf8)
        try sandbox.ok("import", file)
        try sandbox.ok("update", "made", "--attribute", "class=y")
        #expect(try sandbox.ok("export", "--service", "made").output.contains(#""class": "y""#))
        try sandbox.ok("set", "made", "--attribute", "class=z", input: "t".utf8)
        #expect(try sandbox.ok("export", "--service", "made").output.contains(#""class": "z""#))
        try sandbox.ok("update", "made", "--secret-attribute", "Password", input: "new".utf8)
        #expect(try sandbox.ok("get", "made", "--field", "Password").output == "new")
        try sandbox.ok("set", "made", "--secret-attribute", "Password", input: "newer".utf8)
        #expect(try sandbox.ok("get", "made", "--field", "Password").output == "newer")
        // It stays sealed, so its value is not in the index.
        try sandbox.ok("update", "made", "--attribute", "Password=by argument")
        #expect(try sandbox.ok("get", "made", "--field", "Password").output == "by argument")
        #expect(try !sandbox.ok("list", "--json").output.contains("by argument"))
        // Its line in 'show' is not mistaken for that of the item's own field.
        let shown = try sandbox.ok("show", "made").lines
        #expect(shown.contains("class\tgeneric-password") && shown.contains("attribute:class\tz"), "\(shown)")
        #expect(try sandbox.ok("get", "made").output == "t")
        for command in ["update", "set"] {
            try sandbox.fails(64, "'id' is a field", command, "made", "--attribute", "id=x", input: "u".utf8)
            try sandbox.fails(
                64, "mistaken for the secret", command, "made", "--secret-attribute", "Secret", input: "u".utf8)
            try sandbox.fails(
                64, "mistaken for the secret", command, "made", "--attribute", "Secret=x", input: "u".utf8)
        }
        try sandbox.fails(
            64, "mistaken for the secret", "add", "other", "--attribute", "password=x", input: "u".utf8)
        try sandbox.fails(
            64, "mistaken for the secret", "add", "other", "--secret-attribute", "Password", input: "u".utf8)
    }

    @Test("'device' is a field of device-only items, and an attribute like any other of other items")
    func deviceAttribute() throws {
        let sandbox = try Sandbox.withVault()
        let bound = ["--accessible", "when-unlocked-this-device-only"]
        try sandbox.ok("set", "svc", "--attribute", "device=phone", input: "1".utf8)
        try sandbox.ok("update", "svc", "--attribute", "device=tablet")
        #expect(try sandbox.ok("get", "svc", "--field", "device").output == "tablet")
        for command in ["set", "add"] {
            let line = [command, "bound", "--attribute", "device=x"] + bound
            let run = try sandbox.run(line, input: Array("1".utf8))
            #expect(run.status == 64 && run.error.contains("'device' is a field of the item"), "\(run.error)")
        }
        let made = try sandbox.run(["set", "bound"] + bound, input: Array("1".utf8))
        #expect(made.status == 0, "\(made.error)")
        try sandbox.fails(64, "'device' is a field of the item", "update", "bound", "--attribute", "device=x")
    }

    @Test("an attribute too large for listings is still a field")
    func largeAttribute() throws {
        let sandbox = try Sandbox.withVault()
        let value = String(repeating: "long ", count: 200)
        try sandbox.ok("set", "svc", "--attribute", "essay=\(value)", input: "1".utf8)
        #expect(try sandbox.ok("get", "svc", "--field", "essay").output == value)
        let listed = try #require(try sandbox.ok("list", "--json").json() as? [[String: Any]])
        #expect(listed.first?["unreadAttributes"] as? Int == 1)
        let whole = try #require(try sandbox.ok("get", "svc", "--json").json() as? [String: Any])
        #expect((whole["attributes"] as? [String: String])?["essay"] == value)
    }

    @Test("an internet password is named by its server")
    func internetPassword() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok(
            "set", "--class", "internet-password", "db.example.org", "app", "--protocol", "postgres", "--port", "5432",
            input: "pg".utf8)
        #expect(try sandbox.ok("get", "db.example.org").output == "pg")
        #expect(try sandbox.ok("get", "--server", "db.example.org", "--port", "5432").output == "pg")
        #expect(try sandbox.ok("get", "db.example.org", "--field", "protocol").output == "postgres")
        try sandbox.fails(
            64, "--port does not apply to", "set", "x", "--class", "generic-password", "--port", "1", input: "".utf8)
        try sandbox.fails(64, "is given twice", "set", "a", "--server", "b", input: "".utf8)
    }

    @Test("a new name has a port up to 65535; an item that another program gave a greater number is used as it is")
    func ports() throws {
        let sandbox = try Sandbox.withVault()
        let name = ["--server", "db.example.org", "--account", "app"]
        for (command, port) in [("set", "65536"), ("set", "4294967295"), ("add", "70000")] {
            let run = try sandbox.run([command] + name + ["--port", port], input: Array("s".utf8))
            #expect(run.status == 64 && run.error.contains("\(port) is not a port"), "\(run.error)")
        }
        #expect(try sandbox.ok("list").bytes == [])
        #expect(try sandbox.run(["set"] + name + ["--port", "65535"], input: Array("s".utf8)).status == 0)
        try sandbox.fails(64, "70000 is not a port", "move", "db.example.org", "--to-port", "70000")
        try sandbox.ok("move", "db.example.org", "--to-port", "5432")
        let other = try Sandbox.withVault()
        let text = try sandbox.ok("export").output.replacing(#/"port": *5432/#, with: #""port": 70000"#)
        try other.ok("import", "-", input: text.utf8)
        #expect(try other.run(["set"] + name + ["--port", "70000"], input: Array("new".utf8)).status == 0)
        #expect(try other.ok("get", "--port", "70000").output == "new")
    }

    @Test("certificates, keys and identities have their own fields")
    func otherClasses() throws {
        let sandbox = try Sandbox.withVault()
        for itemClass in ["certificate", "identity"] {
            try sandbox.ok(
                "set", "--class", itemClass, "--issuer", "hex:3000", "--serial-number", "base64:AQID", "--label",
                "My \(itemClass)",
                input: [0x30, 0x00, 0xFF])
            #expect(try sandbox.ok("get", "My \(itemClass)", "--class", itemClass).bytes == [0x30, 0x00, 0xFF])
            #expect(
                try sandbox.ok("get", "--class", itemClass, "--serial-number", "hex:010203", "--field", "serialNumber")
                    .output == "010203")
        }
        try sandbox.ok(
            "set", "--class", "key", "--key-class", "private", "--key-type", "rsa", "--application-tag", "org.example",
            "--key-size",
            "2048",
            input: "key".utf8)
        #expect(try sandbox.ok("get", "--key-class", "1").output == "key")
        try sandbox.fails(64, "--issuer", "set", "--class", "certificate", input: "".utf8)
        try sandbox.fails(64, "invalid", "set", "--class", "nonsense", "x", input: "".utf8)
    }

    @Test("groups keep items of one name apart")
    func groups() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "svc", input: "default".utf8)
        try sandbox.ok("set", "svc", "--group", "work", input: "work".utf8)
        try sandbox.fails(2, "2 items", "get", "svc")
        #expect(try sandbox.ok("get", "svc", "--group", "work").output == "work")
        #expect(try sandbox.ok("get", "svc", "--group", "").output == "default")
    }

    @Test("move gives an item another name and keeps everything else")
    func move() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "old", "alice", "--label", "L", input: "s".utf8)
        try sandbox.ok("set", "taken", "alice", input: "t".utf8)
        try sandbox.ok("move", "old", "--to-service", "new", "--to-group", "work")
        try sandbox.fails(1, "no item", "get", "old")
        #expect(try sandbox.ok("get", "new", "alice", "--group", "work").output == "s")
        #expect(try sandbox.ok("get", "new", "--field", "label").output == "L")
        try sandbox.fails(1, "already exists", "move", "new", "--to-service", "taken", "--to-group", "")
        try sandbox.fails(64, "no server", "move", "new", "--to-port", "1")
        try sandbox.fails(64, "nothing to change", "move", "new")
    }

    @Test("remove asks on a terminal only, so a script says --yes; what stays behind is said")
    func remove() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "svc", "alice", input: "s".utf8)
        try sandbox.fails(64, "use --yes", "remove", "svc")
        let run = try sandbox.ok("rm", "svc", "--yes")
        #expect(run.error.contains("'vaultfmt undo' brings it back until 'vaultfmt compact' is run; older copies of"))
        try sandbox.fails(1, "no item", "get", "svc")
    }

    @Test("remove --all takes all that match, and says how many first")
    func removeAll() throws {
        let sandbox = try Sandbox.withVault()
        for account in ["a", "b", "c"] { try sandbox.ok("set", "svc", account, "--group", "g", input: "s".utf8) }
        try sandbox.ok("set", "other", input: "s".utf8)
        try sandbox.fails(2, "3 items", "remove", "svc", "--yes")
        try sandbox.fails(2, "or --all for all of them", "remove", "svc", "--yes")
        let run = try sandbox.ok("remove", "--group", "g", "--all", "--yes")
        #expect(run.error.hasPrefix("vaultfmt: 3 items match\n"))
        for account in ["a", "b", "c"] {
            #expect(run.error.contains("  generic-password 'svc' '\(account)'"), "\(run.error)")
        }
        #expect(try sandbox.ok("list").lines.count == 1)
        try sandbox.fails(1, "no item has the group 'g'", "remove", "--group", "g", "--all", "--yes")
    }

    @Test("remove --all without a name or a filter is refused, however it is asked")
    func removeEverything() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "svc", "a", input: "s".utf8)
        try sandbox.ok("set", "other", input: "s".utf8)
        for arguments in [["--all"], ["--all", "--yes"]] {
            let run = try sandbox.run(["remove"] + arguments)
            #expect(run.status == 64 && run.error.contains("--all needs a name or a filter"), "\(run.error)")
        }
        #expect(try sandbox.ok("list").lines.count == 2)
        try sandbox.ok("remove", "--class", "generic-password", "--all", "--yes")
        #expect(try sandbox.ok("list").lines.isEmpty)
    }

    @Test("what is not there is said: the item to remove before the question, the attribute to remove afterwards")
    func nothingThere() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "svc", "a", input: "s".utf8)
        let run = try sandbox.fails(1, "no item is named 'nope'", "remove", "nope")
        #expect(!run.error.contains("--yes"))
        #expect(
            try sandbox.ok("update", "svc", "--remove-attribute", "nope").error.contains(
                "no attribute 'nope' to remove"))
    }

    @Test("without a terminal, no editor that needs one is started")
    func editorWithoutTerminal() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "svc", "a", input: "s".utf8)
        try sandbox.linkPrograms()
        let run = try sandbox.okShell("unset EDITOR VISUAL; vaultfmt edit svc </dev/null 2>&1 || echo status $?")
        #expect(run.output.contains("an editor needs a terminal") && run.output.contains("status 64"), "\(run.output)")
    }

    @Test("an attribute with a secret's name is stored with the advice to seal it, unless it is sealed")
    func readableSecrets() throws {
        let sandbox = try Sandbox.withVault()
        let advice = "--secret-attribute stores one that is sealed like a secret"
        let set = try sandbox.ok("set", "card", "--attribute", "pin=1234", "--attribute", "note=x", input: "s".utf8)
        #expect(set.error.contains("'pin' is stored in the index") && set.error.contains(advice), "\(set.error)")
        let update = try sandbox.ok("update", "card", "--attribute", "API token=abc").error
        #expect(update.contains("'API token'") && update.contains(advice) && !update.contains("abc"), "\(update)")
        try sandbox.ok("update", "card", "--secret-attribute", "puk", input: "87654321".utf8)
        let added = try sandbox.ok("add", "other", "--attribute", "cvv=123", input: "s".utf8).error
        #expect(added.contains(advice), "\(added)")
        for quiet in ["puk=11223344", "sealed:token=x", "change-every=90d", "place=here"] {
            let run = try sandbox.ok("update", "card", "--attribute", quiet)
            #expect(!run.error.contains(advice), "\(quiet): \(run.error)")
        }
    }

    @Test("control characters, and marks that reverse the direction of text, are escaped for programs")
    func controlCharacters() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "svc", "a", "--label", "x\u{1B}[31my\u{7F}\tz\u{202E}\u{9B}", input: "s".utf8)
        for command in ["list", "show"] {
            let output = try command == "list" ? sandbox.ok("list").output : sandbox.ok("show", "svc").output
            #expect(output.contains(#"x\x1b[31my\x7f\tz\u{202e}\u{9b}"#), "\(output)")
        }
    }

    @Test("get --json is the whole item, secrets that are not text in base 64")
    func json() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "svc", "alice", "--label", "L", input: "s\"\\\u{1}é".utf8)
        let item = try #require(try sandbox.ok("get", "svc", "--json").json() as? [String: Any])
        #expect(item["class"] as? String == "generic-password")
        #expect(item["service"] as? String == "svc")
        #expect(item["account"] as? String == "alice")
        #expect(item["secret"] as? String == "s\"\\\u{1}é")
        #expect((item["attributes"] as? [String: Any])?["label"] as? String == "L")
        try sandbox.ok("set", "binary", input: [0xFF, 0x00, 0x80, 0x41])
        let binary = try #require(try sandbox.ok("get", "binary", "--json").json() as? [String: Any])
        #expect((binary["secret"] as? [String: String])?["base64"] == "/wCAQQ==")
    }
}
