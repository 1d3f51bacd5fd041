import Foundation
import Testing
import VaultFmt

@testable import VaultCommand
@testable import VaultExchange

/// Sources that were made to do harm, or that say something that other programs do not.
@Suite("import: sources that want much memory, and what they do not say")
struct ImportHostileTests {
    private func text(_ item: [String: Any], _ name: String) -> String? {
        let value = (item["attributes"] as? [String: Any])?[name]
        return value as? String ?? (value as? [String: Any])?["text"] as? String
    }

    private func items(_ sandbox: Sandbox) throws -> [[String: Any]] {
        let export = try #require(try sandbox.ok("export").json() as? [String: Any])
        return try #require(export["items"] as? [[String: Any]])
    }

    // MARK: Bitwarden

    private func bitwarden(_ items: String, _ more: String = "") -> [UInt8] {
        Array(#"{"encrypted": false, \#(more)"items": [\#(items)]}"#.utf8)
    }

    @Test(
        "Bitwarden: a long name that very many items have, or an item of very many small values, is refused unless it is allowed",
        arguments: ["folder", "collection", "unknown", "passwordHistory"])
    func dense(_ kind: String) throws {
        let sandbox = try Sandbox.withVault()
        let name = String(repeating: "n", count: 100_000)
        let long = #"[{"id": "x", "name": "\#(name)"}]"#
        let many = (0..<200).map { #"{"type": 1, "name": "\#($0)", "folderId": "x", "collectionIds": ["x"]}"# }
        let contents =
            switch kind {
            case "folder": bitwarden(many.joined(separator: ","), #""folders": \#(long), "#)
            case "collection": bitwarden(many.joined(separator: ","), #""collections": \#(long), "#)
            case "unknown":
                bitwarden(
                    #"{"type": 1, "name": "a", "folderId": null, "more": [\#(String(repeating: "0,", count: 150_000))0]}"#
                )
            default:
                bitwarden(
                    #"{"type": 1, "name": "a", "passwordHistory": [\#(String(repeating: "{},", count: 150_000)){}]}"#)
            }
        let file = try sandbox.write("source.json", contents)
        try sandbox.fails(78, "allow more with --max-source-memory", "import", file)
        #expect(try sandbox.ok("list").bytes == [])
        guard ["folder", "collection"].contains(kind) else { return }
        try sandbox.ok("import", file, "--max-source-memory", "256M")
        #expect(try sandbox.ok("list").lines.count == 200)
    }

    @Test("Bitwarden: numbers of more digits than a floating-point number keeps arrive as they are")
    func digits() throws {
        let sandbox = try Sandbox.withVault()
        let numbers = ["12345678901234567890", "123456789012345678901234567890", "-9007199254740993", "0.25"]
        let fields = numbers.enumerated().map { #"{"name": "n\#($0)", "value": \#($1), "type": 0}"# }
        let item = #"{"type": 1, "name": "a", "fields": [\#(fields.joined(separator: ","))]}"#
        try sandbox.ok("import", try sandbox.write("source.json", bitwarden(item)))
        let found = try #require(try items(sandbox).first)
        #expect(numbers.indices.map { text(found, "n\($0)") } == numbers)
    }

    @Test("two entries with one identifier stay two, also after a later import, and the second is named")
    func oneIdentifier() throws {
        let sandbox = try Sandbox.withVault()
        func export(_ secrets: [String], _ year: Int) throws -> String {
            let items = secrets.enumerated().map { number, secret in
                """
                {"id": "same", "type": 1, "name": "n\(number)", "login": {"username": "u", "password": "\(secret)"}, \
                "revisionDate": "\(year)-01-01T00:00:00Z"}
                """
            }
            return try sandbox.write("source.json", bitwarden(items.joined(separator: ",")))
        }
        let first = try sandbox.run("import", try export(["one", "two"], 2025))
        let lost = "'n1': its identifier, because an earlier entry has the same one"
        #expect(first.status == 3 && first.error.contains(lost), "\(first.error)")
        _ = try sandbox.run("import", try export(["one", "two and more"], 2026), "--on-duplicate", "update-newer")
        #expect(try sandbox.ok("get", "n0").output == "one")
        #expect(try sandbox.ok("get", "n1").output == "two and more")
    }

    @Test(
        "what an item has stays an earlier value, however many earlier values the source has",
        arguments: ["replace", "update-newer"])
    func manyEarlierValues(_ policy: String) throws {
        let sandbox = try Sandbox.withVault()
        func export(_ count: Int, _ secret: String, _ year: Int) throws -> String {
            let history = (0..<count).map {
                #"{"lastUsedDate": "2024-01-\#($0 < 9 ? "0" : "")\#($0 + 1)T00:00:00Z", "password": "old \#($0)"}"#
            }
            let item = """
                {"id": "1", "type": 1, "name": "svc", "login": {"username": "u", "password": "\(secret)"}, \
                "passwordHistory": [\(history.joined(separator: ","))], "revisionDate": "\(year)-01-01T00:00:00Z"}
                """
            return try sandbox.write("source.json", bitwarden(item))
        }
        try sandbox.ok("import", try export(0, "first", 2025))
        try sandbox.ok("set", "svc", "u", input: "mine".utf8)
        let run = try sandbox.run("import", try export(12, "theirs", 2040), "--on-duplicate", policy)
        #expect(run.status == 3 && run.error.contains("earlier values, because the vault keeps fewer"), "\(run.error)")
        #expect(try sandbox.ok("get", "svc", "u").output == "theirs")
        let earlier = try items(sandbox).flatMap { $0["earlier"] as? [[String: Any]] ?? [] }
        #expect(earlier.contains { $0["secret"] as? String == "mine" })
    }

    @Test("an entry that another program has duplicated is a new item, although it copies what our export noted")
    func duplicatedEntry() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "bank", "mira", input: "ORIG".utf8)
        let exported = try ExportedContents(of: sandbox)
        // Without protection, so that the copy does not disturb the stream of the values after it.
        let text = exported.xml.replacing(#/ Protected="True">[^<]*</#, with: ">s<")
        let entry = String(try #require(text.firstMatch(of: /<Entry>(?s:.)*?<\/Entry>/)).0)
        let uuid = try #require(entry.firstMatch(of: /<UUID>(.*?)<\/UUID>/)).1
        let copy = entry.replacing(uuid, with: "AAAAAAAAAAAAAAAAAAAAAQ==").replacing(">mira<", with: ">joint<")
        #expect(copy.contains(">joint<") && copy.contains(KDBX.ownPrefix))
        var contents = SecretBuffer()
        contents.append(contentsOf: exported.start + Array(text.replacing(entry, with: entry + copy).utf8))
        var source = MappedSource(try KDBXImport(contents: contents))
        var found: [(account: String?, isExact: Bool)] = []
        _ = try source.read { found.append(($0.key.account, $0.formerKey != nil)) }
        #expect(found.map(\.account) == ["mira", "joint"] && found.map(\.isExact) == [true, false])
    }

    @Test("a KeePass entry whose seed gives no codes keeps it, and says why")
    func seedsWithoutCodes() throws {
        let cases: [(fields: [(String, String)], kept: String, problem: String?)] = [
            ([("TOTP Seed", "not base 32!")], "TOTP Seed", "its seed is not in the encoding"),
            (
                [("TimeOtp-Secret-Base32", "JBSWY3DP"), ("TimeOtp-Algorithm", "MD5")], "TimeOtp-Secret-Base32",
                "its algorithm is not SHA1"
            ),
            ([("HmacOtp-Secret-Base32", "JBSWY3DP")], "otp", "counter-based"),
            ([("otp", "!!")], "field:otp", "its seed is not in the encoding"),
            ([("otp", "otpauth://totp/x?secret=JBSWY3DP&amp;digits=9")], "otp", "its number of digits is not"),
            ([("TOTP Seed", "JBSWY3DP")], "otp", nil),
        ]
        let entries = cases.map { fields, _, _ in
            let strings = fields.map { "<String><Key>\($0)</Key><Value>\($1)</Value></String>" }.joined()
            return "<Entry><String><Key>Title</Key><Value>one</Value></String>\(strings)</Entry>"
        }
        let xml = "<KeePassFile><Root><Group>\(entries.joined())</Group></Root></KeePassFile>"
        let front: [UInt8] = [1, 4, 0, 0, 0, 3, 0, 0, 0, 2, 32, 0, 0, 0] + Array(repeating: 7, count: 32)
        var contents = SecretBuffer()
        contents.append(contentsOf: front + [0, 0, 0, 0, 0] + Array(xml.utf8))
        var source = MappedSource(try KDBXImport(contents: contents))
        var found: [(problem: String?, attributes: Attributes)] = []
        _ = try source.read { found.append(($0.codeProblem, $0.attributes)) }
        try #require(found.count == cases.count)
        for (item, expected) in zip(found, cases) {
            #expect(item.attributes.attribute(expected.kept)?.flags.contains(.sealed) == true, "\(expected.kept)")
            if let problem = expected.problem {
                #expect(item.problem?.contains(problem) == true, "\(expected.kept): \(item.problem ?? "none")")
            } else {
                #expect(item.problem == nil)
            }
        }
    }

    @Test("a day that does not exist is no date")
    func dates() throws {
        for text in ["2024-02-30T00:00:00Z", "2023-02-29T00:00:00Z", "2024-04-31T00:00:00Z", "2024-13-01T00:00:00Z"] {
            #expect(KDBXTime.milliseconds(text) == nil && ImportedTime.milliseconds(rfc3339: text) == nil, "\(text)")
        }
        for text in ["2024-02-29T23:59:59Z", "2024-12-31T00:00:00+01:00", "2000-02-29T12:00:00.5Z"] {
            #expect(KDBXTime.milliseconds(text) != nil)
            #expect(KDBXTime.milliseconds(text) == ImportedTime.milliseconds(rfc3339: text), "\(text)")
        }
    }

    // MARK: lists

    @Test(
        "a list with headers in another language is a list of passwords, and its secrets are sealed",
        arguments: [
            ("Titel;x,Benutzername,Kennwort,Webseite,Notizen", "Kennwort"),
            ("Titre,Nom d'utilisateur,Mot de passe,Site web,Notes", "Mot de passe"),
            ("Título,Usuario,Contraseña,Sitio web,Notas", "Contraseña"),
            ("タイトル,ユーザー名,パスワード,URL,メモ", "パスワード"),
        ])
    func languages(_ header: String, _ password: String) throws {
        let sandbox = try Sandbox.withVault()
        let rows = "\(header.replacing(";x", with: ""))\nBank,ann,s3cret,https://bank.example,pin 99\n"
        try sandbox.ok("import", try sandbox.write("list.csv", rows.utf8))
        #expect(try sandbox.ok("get", "bank.example", "ann").output == "s3cret")
        #expect(try sandbox.ok("get", "bank.example", "ann", "--field", "notes").output == "pin 99")
        let shown = try sandbox.ok("list", "--json").output
        #expect(!shown.contains("s3cret") && !shown.contains("pin 99") && shown.contains("Bank"))
        // A second password of the same entry is sealed under its own name.
        let other =
            "name,username,password,\(password) 2,Memorable word,Card number,Colour\nb,u,one,two,three,four,red\n"
        try sandbox.ok("import", try sandbox.write("other.csv", other.utf8))
        let list = try sandbox.ok("list", "--json").output
        #expect(!list.contains("two") && !list.contains("three") && !list.contains("four") && list.contains("red"))
    }

    @Test("a column whose name indicates a secret is sealed, and so is an address with one")
    func secretColumns() throws {
        let sandbox = try Sandbox.withVault()
        let columns = [
            "backup_codes", "Backup-Codes", "recoveryKey", "Wiederherstellungscode", "Sicherheitsantwort", "API_KEY",
            "one_time_code", "link",
        ]
        let values = (1..<columns.count).map { "hidden\($0)" } + ["https://host.example/?token=hidden8"]
        let rows =
            "name,username,password,Colour,\(columns.joined(separator: ","))\n"
            + "b,u,one,red,\(values.joined(separator: ","))\n"
        try sandbox.ok("import", try sandbox.write("list.csv", rows.utf8))
        let list = try sandbox.ok("list", "--json").output
        #expect(!list.contains("hidden") && list.contains("red"), "\(list)")
        #expect(try sandbox.ok("get", "b", "u", "--field", "Sicherheitsantwort").output == "hidden5")
    }

    @Test("text in UTF-16 and UTF-32 is named as what it is")
    func encodings() throws {
        let sandbox = try Sandbox.withVault()
        for (mark, name) in [
            ([0xFF, 0xFE, 0, 0], "UTF-32"), ([0, 0, 0xFE, 0xFF], "UTF-32"), ([0xFF, 0xFE, 0x61, 0], "UTF-16"),
            ([0xFE, 0xFF, 0, 0x61], "UTF-16"),
        ] as [([UInt8], String)] {
            let source = try sandbox.write("list.csv", mark + [UInt8](repeating: 0, count: 64))
            try sandbox.fails(65, "is \(name) text", "import", source)
        }
    }

    @Test("an attachment that a Bitwarden export only describes is reported as missing")
    func describedAttachment() throws {
        let sandbox = try Sandbox.withVault()
        let export = """
            {"encrypted": false, "folders": [], "items": [{"type": 1, "name": "a", "login": {"password": "p"},
            "attachments": [{"id": "x", "fileName": "a.txt", "size": "10", "url": "https://host.example"}]}]}
            """
        let source = try sandbox.write("list.json", export.utf8)
        let run = try sandbox.run(["import", source])
        #expect(run.status == 3 && run.error.contains("the contents of the attachment 'a.txt' are not in the file"))
        #expect(try sandbox.ok("get", "a").output == "p")
    }

    @Test("a token in an address is as secret as a password in it, and a user's name is not")
    func tokens() throws {
        for (address, isSecret) in [
            ("https://ghp_0123456789abcdef0123456789abcdef0123@github.com/a/b", true),
            ("https://0123456789abcdef0123:x-oauth-basic@github.com/a/b", true),
            ("https://0123456789abcdef0123:@github.com", true), ("https://ann:secret@host.example", true),
            ("https://ann@host.example/path", false), ("ssh://git@github.com/a/b.git", false),
            ("https://medium.com/@user12345678901234567890", false), ("https://host.example:8443/", false),
            ("mailto:ann.12345678901234567890@host.example", false),
            ("https://host.example/reset?lang=en&token=abc", true), ("https://host.example/#access_token=abc", true),
            ("https://host.example/a?X-API-Key=1;b=2", true), ("https://host.example/?sig=%3D", true),
            ("https://ann%3Apw@host.example/", true), ("https://ann%40work.example@host.example/", false),
            ("https://host.example/?token=", false), ("https://host.example/?q=token&lang=en#a=b", false),
            ("https://host.example/token=abc", false),
        ] {
            #expect(WebAddress.hasPassword(address) == isSecret, "\(address)")
        }
    }

    @Test("a token without digits in place of the user name is a token too, and a long name is not")
    func tokensWithoutDigits() {
        for (name, isSecret) in [
            ("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", true), ("glpat-AbCdEfGhIjKlMnOpQrSt", true),
            ("sk_live_abcdefGHIJklmnopQRSTuvwx", true), ("AKIAIOSFODNNQEXAMPLE", true), ("pypi-AgEIcHlwaS", true),
            ("xoxb-abcdefghij", true), ("sk-proj-abcdefgh", true), ("hf_JyWqzQVJ:x-oauth-basic", true),
            ("JyWqzQVJtGIBOYzYKnUiIHLRkaSlQWxGTN", true), ("christopher.montgomery-fitzgerald", false),
            ("ChristopherMontgomerySmith", false), ("THEPURCHASINGDEPARTMENT", false), ("git", false),
        ] {
            let address = "https://\(name)@host.example/x"
            #expect(WebAddress.hasPassword(address) == isSecret, "\(address)")
        }
        #expect(WebAddress.hasPassword("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@huggingface.co/x"))
        #expect(!WebAddress.hasPassword("ann@host.example/x"))
    }

    @Test("a mother's maiden name is as secret as any other answer")
    func maidenNames() {
        for name in ["Mother's maiden name", "Mother’s Maiden Name", "maiden_name", "MaidenName"] {
            #expect(SecretName.isSecret(name), "\(name)")
        }
        #expect(!SecretName.isSecret("First name"))
    }

    // MARK: KDBX

    private func omissions(_ entry: String) throws -> (items: [Attributes], [Omission]) {
        let front: [UInt8] = [1, 4, 0, 0, 0, 3, 0, 0, 0, 2, 32, 0, 0, 0] + Array(repeating: 7, count: 32)
        let xml = "<KeePassFile><Root><Group>\(entry)</Group></Root></KeePassFile>"
        var contents = SecretBuffer()
        contents.append(contentsOf: front + [0, 0, 0, 0, 0] + Array(xml.utf8))
        var source = MappedSource(try KDBXImport(contents: contents))
        var items: [Attributes] = []
        let omitted = try source.read { items.append($0.attributes) }
        return (items, omitted)
    }

    private func string(_ key: String, _ value: String, _ protected: String = "") -> String {
        "<String><Key>\(key)</Key><Value\(protected)>\(value)</Value></String>"
    }

    @Test("KDBX: an element of an entry that nobody knows is named, and those that the documentation names are not")
    func unknownElements() throws {
        let known =
            "<ForegroundColor>#FF0000</ForegroundColor><QualityCheck>True</QualityCheck><AutoType><Enabled>True</Enabled></AutoType>"
        let (items, omitted) = try omissions(
            "<Entry>\(string("Title", "a"))\(known)<Passkey><Inner>x</Inner></Passkey></Entry>")
        #expect(items.count == 1)
        #expect(omitted.map(\.text) == ["entry 1, 'a': the element 'Passkey' is unknown"])
        #expect(omitted.allSatisfy { !$0.isIntended })
    }

    @Test("KDBX: what protects titles, user names and addresses is said to be gone, which is not a loss")
    func protectedNames() throws {
        let entry = { (number: Int) in
            "<Entry>\(string("Title", "t\(number)"))\(string("UserName", "", " Protected=\"True\""))</Entry>"
        }
        #expect(try omissions(entry(1)).1.isEmpty, "an empty name says nothing")
        let (items, omitted) = try omissions(
            (1...2).map {
                "<Entry>\(string("Title", "t\($0)"))\(string("UserName", "QUJD", " Protected=\"True\""))</Entry>"
            }
            .joined())
        #expect(items.count == 2)
        #expect(omitted.count == 1 && omitted[0].isIntended)
        #expect(omitted[0].text.contains("the protection of titles, user names or addresses of 2 entries"))
    }

    @Test("KDBX: a bare seed in the field for one-time codes yields codes")
    func seeds() throws {
        for seed in ["JBSWY3DPEHPK3PXP", "jbsw y3dp ehpk 3pxp"] {
            let items = try omissions("<Entry>\(string("Title", "a"))\(string("otp", seed))</Entry>").items
            let otp = try #require(items.first?.attribute("otp"))
            #expect(otp.flags.contains(.sealed))
            otp.withUnsafeBytes { bytes in
                #expect(String(decoding: bytes, as: UTF8.self).contains("secret=JBSWY3DPEHPK3PXP"))
            }
        }
    }
}
