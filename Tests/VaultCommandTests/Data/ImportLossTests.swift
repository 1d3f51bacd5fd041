import Foundation
import ImportFuzzing
import Testing
import VaultCommand
import VaultFmt

/// Every value of a source is in the vault afterwards, or the command names it and exits with code 3.
@Suite("import: nothing is lost without a word")
struct ImportLossTests {
    // MARK: Bitwarden

    /// Imports one item of a plain Bitwarden export; returns the vault's item and the run.
    private func imported(_ members: String, _ status: Int32 = 0) throws -> ([String: Any], Run) {
        let sandbox = try Sandbox.withVault()
        let run = try sandbox.run(
            ["import", "-", "--json", "--format", "bitwarden"],
            input: Array(#"{"encrypted": false, "folders": [], "items": [{\#(members)}]}"#.utf8))
        #expect(run.status == status, "\(members): \(run.error)")
        let export = try #require(try sandbox.ok("export").json() as? [String: Any])
        let items = try #require(export["items"] as? [[String: Any]])
        return (try #require(items.first), run)
    }

    private func omitted(_ run: Run) throws -> [String] {
        try #require((try run.json() as? [String: Any])?["notImported"] as? [String])
    }

    /// An attribute's text, and whether it is sealed and concealed.
    private func attribute(_ item: [String: Any], _ name: String) -> (text: String?, isHidden: Bool) {
        let value = (item["attributes"] as? [String: Any])?[name]
        let object = value as? [String: Any]
        return (
            value as? String ?? object?["text"] as? String, object?["flags"] as? [String] == ["sealed", "concealed"]
        )
    }

    @Test("an earlier password without a date, or with one that cannot be read, is kept; only the latter date is lost")
    func formerPasswords() throws {
        let history = #"""
            "passwordHistory": [{"password": "newest", "lastUsedDate": "2024-01-01T00:00:00Z"},
                {"password": "absent"}, {"password": "null", "lastUsedDate": null},
                {"password": "empty", "lastUsedDate": ""}
            """#
        let login = #""name": "n", "type": 1, "login": {"username": "u", "password": "p"}"#
        let (item, run) = try imported("\(login), \(history)]")
        let secrets = try #require(item["earlier"] as? [[String: Any]]).map { $0["secret"] as? String }
        #expect(secrets == ["empty", "null", "absent", "newest"])
        #expect(try omitted(run) == [])
        let (other, lost) = try imported(
            "\(login), \(history), {\"password\": \"bad\", \"lastUsedDate\": \"yesterday\"}]", 3)
        #expect((other["earlier"] as? [[String: Any]])?.first?["secret"] as? String == "bad")
        #expect(try omitted(lost) == ["item 1, 'n': the date of an earlier password cannot be read"])
        let (alone, _) = try imported("\(login), \"passwordHistory\": [{\"password\": \"a\"}, {\"password\": \"b\"}]")
        #expect((alone["earlier"] as? [[String: Any]])?.map { $0["secret"] as? String } == ["b", "a"])
    }

    @Test("a creation or revision date that cannot be read is named", arguments: ["creation", "revision"])
    func bitwardenDates(_ name: String) throws {
        let (_, run) = try imported(#""name": "n", "type": 1, "\#(name)Date": "soon", "login": {"password": "p"}"#, 3)
        #expect(try omitted(run) == ["item 1, 'n': its \(name) date cannot be read"])
        let (_, without) = try imported(#""name": "n", "type": 1, "\#(name)Date": null, "login": {"password": "p"}"#)
        #expect(try omitted(without) == [])
    }

    @Test("members that are not known, and those of other types, become sealed attributes wherever they are")
    func unknownMembers() throws {
        let (login, _) = try imported(
            #"""
            "name": "n", "type": 1, "novel": {"deep": ["x", 1]}, "organizationId": "o-1",
            "login": {"username": "u", "password": "p", "hint": "h", "uris": [{"uri": "https://a.example", "sum": "s"}]},
            "fields": [{"name": "f", "value": "v", "type": 0, "extra": "e"}, {"name": "list", "value": ["a", "b"]}],
            "passwordHistory": [{"password": "old", "lastUsedDate": "2024-01-01T00:00:00Z", "by": "me"}],
            "card": {"number": "4111", "code": "123"}, "sshKey": {"privateKey": "k"}, "identity": {"ssn": "9"},
            "secureNote": {"type": 0, "more": "m"}
            """#)
        #expect(login["secret"] as? String == "p" && login["server"] as? String == "a.example")
        let expected = [
            "novel.deep": "x", "novel.deep (2)": "1", "login.hint": "h", "login.uris.sum": "s", "fields.extra": "e",
            "list": "a", "list (2)": "b", "passwordHistory.by": "me", "card.number": "4111", "card.code": "123",
            "sshKey.privateKey": "k", "identity.ssn": "9", "secureNote.more": "m",
        ]
        for (name, value) in expected {
            let found = attribute(login, name)
            #expect(found.text == value && found.isHidden, "\(name): \(found)")
        }
        #expect(attribute(login, "organization").text == "o-1" && attribute(login, "f").text == "v")
        let (card, _) = try imported(
            #"""
            "name": "n", "type": 3, "card": {"number": "4111", "novel": "x"}, "note": "y",
            "login": {"username": "u", "password": "p"}
            """#)
        #expect(card["secret"] as? String == "4111" && card["account"] as? String == "u")
        #expect(attribute(card, "login.password").text == "p" && attribute(card, "novel").text == "x")
        #expect(attribute(card, "note").text == "y")
        let (empty, _) = try imported(#""name": "n", "type": 3, "card": {"number": "4111"}, "login": {}"#)
        #expect(empty["secret"] as? String == "4111")
    }

    @Test(
        "a member that occurs twice is named, at any depth",
        arguments: [
            #""login": {"password": "p", "password": "q"}"#, #""notes": "a", "notes": "b", "login": {}"#,
            #""login": {"uris": [{"uri": "a", "uri": "b"}]}"#, #""card": {"code": "1", "code": "2"}"#,
            #""novel": {"a": {"b": 1, "b": 2}}"#, #""fields": [{"name": "f", "value": "1", "value": "2"}]"#,
            #""login": {"p\u0061ssword": "p", "password": "q"}"#,
        ])
    func membersTwice(_ members: String) throws {
        let (_, run) = try imported(#""name": "n", "type": 1, \#(members)"#, 3)
        #expect(try omitted(run) == ["item 1, 'n': a member occurs twice; only one of its values is imported"])
    }

    @Test("members of the export that are not known are named, unless they are empty")
    func unknownMembersOfExport() throws {
        let sandbox = try Sandbox.withVault()
        let text = #"{"encrypted": false, "sends": [{"text": "s"}], "none": [null, ""], "items": []}"#
        let run = try sandbox.fails(3, "something in the source was lost", "import", "-", input: text.utf8)
        #expect(run.error.contains("not imported: the member 'sends' of the export"))
        #expect(!run.error.contains("none"))
    }

    @Test("in our own exports, a member that occurs twice in a value is damage")
    func ownMembersTwice() throws {
        let sandbox = try Sandbox.withVault()
        for item in [
            #""secret": {"base64": "AA==", "base64": "AQ=="}"#,
            #""secret": "s", "attributes": {"a": {"text": "1", "text": "2"}}"#,
            #""secret": "s", "earlier": [{"modified": 1, "replaced": 2, "secret": {"base64": "AA==", "base64": "AQ=="}}]"#,
        ] {
            let text = #"""
                {"format": "vaultfmt-export", "version": 2, "items": [{"class": "generic-password", "service": "s", \#(item)}]}
                """#
            try sandbox.fails(65, "a member occurs twice", "import", "-", input: text.utf8)
        }
    }

    // MARK: KDBX

    /// The items and the omissions of a KDBX 4 file with this XML below the root.
    private func keePass(_ root: String) throws -> ([Interchange.Item], [String]) {
        let front: [UInt8] = [1, 4, 0, 0, 0, 3, 0, 0, 0, 2, 32, 0, 0, 0] + Array(repeating: 7, count: 32)
        let xml = #"<?xml version="1.0"?><KeePassFile><Root>\#(root)</Root></KeePassFile>"#
        let bytes = front + [0, 0, 0, 0, 0] + Array(xml.utf8)
        let format = Interchange.kdbxContents
        let items = try #require(Interchange.items(in: bytes, format: format) { Issue.record("\($0)") })
        return (items, Interchange.omissions(in: bytes, format: format) { _ in } ?? [])
    }

    private func string(_ key: String, _ value: String) -> String {
        "<String><Key>\(key)</Key><Value>\(value)</Value></String>"
    }

    /// The same for one entry with the title "one".
    private func entry(_ contents: String) throws -> (Interchange.Item, [String]) {
        let (items, omitted) = try keePass(
            """
            <Group><Name>Root</Name><Entry><UUID>AAAAAAAAAAAAAAAAAAAAAQ==</UUID>\(string("Title", "one"))\(contents)</Entry>
            </Group>
            """)
        return (try #require(items.first), omitted)
    }

    @Test("a KeePass entry outside of all groups is imported; earlier states of an earlier state are named")
    func keePassMisplaced() throws {
        let title = string("Title", "one")
        let nested = "<History><Entry>\(title)<History><Entry>\(title)</Entry></History></Entry></History>"
        let (items, omitted) = try keePass(
            """
            <Entry><UUID>AAAAAAAAAAAAAAAAAAAAAQ==</UUID>\(title)</Entry>
            <Group><Entry><UUID>AAAAAAAAAAAAAAAAAAAAAg==</UUID>\(title)\(nested)</Entry></Group>
            """)
        #expect(items.map { $0.attributes.label } == ["one", "one"])
        #expect(
            omitted.count == 1 && omitted[0].contains("in an earlier state, it has earlier states of its own"),
            "\(omitted)")
    }

    @Test("times of a KeePass entry that cannot be read are named, an expiry time only where it counts")
    func keePassTimes() throws {
        let cases: [(String, [String])] = [
            (
                "<ExpiryTime>garbage</ExpiryTime><Expires>True</Expires>",
                ["entry 1, 'one': it expires, but its expiry time cannot be read"]
            ),
            ("<Expires>True</Expires>", ["entry 1, 'one': it expires, but its expiry time cannot be read"]),
            ("<ExpiryTime>garbage</ExpiryTime><Expires>False</Expires>", []),
            ("<Expires>perhaps</Expires>", ["entry 1, 'one': its expiry flag cannot be read"]),
            ("<CreationTime>x</CreationTime>", ["entry 1, 'one': its creation time cannot be read"]),
            (
                "<LastModificationTime>2024-99-01T00:00:00Z</LastModificationTime>",
                ["entry 1, 'one': its modification time cannot be read"]
            ),
            ("<CreationTime></CreationTime><LastModificationTime/>", []),
            // The year 12000, which the attribute's text cannot express.
            (
                "<ExpiryTime>AH1KK1gAAAA=</ExpiryTime><Expires>True</Expires>",
                ["entry 1, 'one': it expires, but its expiry time cannot be read"]
            ),
        ]
        for (times, expected) in cases {
            let (item, omitted) = try entry("<Times>\(times)</Times>")
            #expect(omitted == expected, "\(times)")
            #expect(item.attributes.string("expires") == nil, "\(times)")
        }
        let (_, omitted) = try entry(
            "<History><Entry><Times><CreationTime>x</CreationTime></Times></Entry></History>")
        #expect(omitted == ["entry 1, 'one': in an earlier state, its creation time cannot be read"])
    }

    @Test("13: dates that no vault can hold are named with their entry, and everything else is imported")
    func impossibleDates() throws {
        func note(_ key: String, _ value: String) -> String {
            "<Item><Key>vaultfmt.\(key)</Key><Value>\(value)</Value></Item>"
        }
        let far = String(Int64.max)
        let history = """
            <History><Entry>\(string("Password", "old"))<CustomData>\(note("replaced", far))</CustomData></Entry></History>
            """
        let (item, omitted) = try entry(
            "\(string("Password", "p"))<CustomData>\(note("created", far))</CustomData>\(history)")
        #expect(String(decoding: item.secret, as: UTF8.self) == "p" && item.created == nil)
        #expect(item.earlier.map { String(decoding: $0.secret, as: UTF8.self) } == ["old"])
        #expect(
            omitted == [
                "entry 1, 'one': its creation date is out of range",
                "entry 1, 'one': the date of an earlier value is out of range",
            ])
        // A list can have such a date, too.
        let sandbox = try Sandbox.withVault()
        try sandbox.write("list.csv", "title,password,timeCreated\na,1,9223372036854775807\nb,2,\n".utf8)
        let run = try sandbox.fails(3, "something in the source was lost", "import", "list.csv")
        #expect(run.error.contains("not imported: line 2, 'a': its creation date is out of range"))
        #expect(try sandbox.ok("list").lines.count == 2)
    }

    @Test("a KeePass field that occurs twice is imported twice, the second one sealed if it is a secret")
    func fieldsTwice() throws {
        let fields = ["Title", "UserName", "Password", "URL", "Notes", "otp", "colour"].flatMap { name in
            [string(name, "https://\(name).example"), string(name, "second \(name)")]
        }
        let (item, omitted) = try entry(fields.joined())
        #expect(omitted == [])
        // The title "one" came first.
        for (name, isHidden) in [
            ("Title", false), ("Title (2)", false), ("UserName", false), ("Password", true), ("URL", false),
            ("Notes", true),
            ("field:otp", true), ("colour (2)", false),
        ] {
            let found = item.attributes.attribute(name)
            #expect(found?.flags == (isHidden ? [.sealed, .concealed] : []), "\(name)")
        }
        #expect(item.attributes.string("Password") == "second Password")
        #expect(String(decoding: item.secret, as: UTF8.self) == "https://Password.example")
    }

    @Test("an element that an entry can have only once is named if it occurs twice, and so are two values of one field")
    func elementsTwice() throws {
        let (item, omitted) = try entry(
            """
            <Tags>a</Tags><Tags>b</Tags><Times><Expires>False</Expires><Expires>False</Expires></Times>
            <String><Key>f</Key><Value>1</Value><Value>2</Value></String>
            """)
        #expect(item.attributes.string("tags") == "b" && item.attributes.string("f") == "2")
        #expect(
            omitted == [
                "entry 1, 'one': the first Tags, because it occurs twice",
                "entry 1, 'one': the first Expires, because it occurs twice",
                "entry 1, 'one': the first key or value of 'f', because it occurs twice",
            ])
    }

    @Test("an attachment without contents in the file is named")
    func missingAttachment() throws {
        let (_, omitted) = try entry(
            #"<Binary><Key>a.txt</Key><Value Ref="77"/></Binary><Binary><Key>b</Key></Binary>"#)
        #expect(
            omitted == [
                "entry 1, 'one': the file has no contents for the attachment 'a.txt'",
                "entry 1, 'one': the file has no contents for the attachment 'b'",
            ])
    }

    @Test("what another program adds to an entry of our export is imported; an entry whose record is damaged is named")
    func addedToOwn() throws {
        func base64(_ bytes: some Sequence<UInt8>) -> String { Data(bytes).base64EncodedString() }
        func note(_ key: String, _ value: String) -> String {
            "<Item><Key>vaultfmt.\(key)</Key><Value>\(value)</Value></Item>"
        }
        let key = try ItemKey.genericPassword(service: "svc", account: "")
        let colour = base64("colour".utf8)
        let added =
            string("URL", "https://ann:hunter2@a.example/") + string("colour", "red") + string("colour", "blue")
            + string("Notes", "n")
        let record =
            note("accessible", "when-unlocked") + note("attributes", "\(colour) 0 s \(colour)")
        let (item, omitted) = try entry("\(added)<CustomData>\(note("key", base64(key.bytes)))\(record)</CustomData>")
        #expect(omitted == [] && item.key == key)
        #expect(item.attributes.string("url") == "https://ann:hunter2@a.example/")
        #expect(item.attributes.attribute("url")?.flags == .sealed)
        #expect(item.attributes.string("colour") == "red" && item.attributes.string("colour (2)") == "blue")
        #expect(item.attributes.string("notes") == "n")
        let (_, damaged) = try entry("<CustomData>\(note("key", "AAAA"))\(record)</CustomData>")
        #expect(
            damaged == [
                "entry 1, 'one': its vaultfmt data is damaged; imported like another program's entry"
            ])
    }

    @Test("other programs' custom data becomes sealed attributes; what a group has and no item can hold is named")
    func customData() throws {
        let custom = "<CustomData><Item><Key>plugin</Key><Value>x</Value></Item></CustomData>"
        let (item, omitted) = try entry(custom)
        #expect(omitted == [])
        #expect(item.attributes.string("plugin") == "x")
        #expect(item.attributes.attribute("plugin")?.flags == [.sealed, .concealed])
        let (_, ofGroups) = try keePass(
            """
            <Group><Name>Root</Name><Notes></Notes><Group><Name>Web</Name><Notes>the door is 99</Notes><Tags>t</Tags>
            <Times><Expires>True</Expires></Times><DefaultAutoTypeSequence>{ENTER}</DefaultAutoTypeSequence>\(custom)
            </Group></Group>
            """)
        #expect(
            ofGroups == [
                "the notes, the tags, the expiry time, the auto-type sequence, the custom data 'plugin' of the group 'Web'"
            ])
    }
}
