import Foundation
import Testing

@Suite("import: CSV")
struct ImportCSVTests {
    /// The items of a vault after an import, as `list --json` has them.
    private func imported(_ text: String, sourceLocation: SourceLocation = #_sourceLocation) throws -> (
        Sandbox, [[String: Any]], Run
    ) {
        let sandbox = try Sandbox.withVault()
        try sandbox.write("list.csv", text.utf8)
        let run = try sandbox.ok("import", "list.csv", sourceLocation: sourceLocation)
        let items = try #require(try sandbox.ok("list", "--json").json() as? [[String: Any]])
        return (sandbox, items, run)
    }

    private func attributes(_ item: [String: Any]) -> [String: String] {
        item["attributes"] as? [String: String] ?? [:]
    }

    @Test("Chrome and Edge: name, url, username, password, note")
    func chrome() throws {
        let (sandbox, items, run) = try imported(
            #"""
            name,url,username,password,note
            example.com,https://example.com/login,alice,"p,""w""",first note
            intra.example.org,http://intra.example.org:8080/,bob,  spaces kept  ,
            app,android://aGFzaA==@com.example.app/,carol,pw3,
            """#)
        #expect(run.error.contains("imported 3 items"))
        #expect(items.map { $0["server"] as? String } == ["com.example.app", "example.com", "intra.example.org"])
        #expect(items.map { $0["protocol"] as? String } == ["android", "https", "http"])
        #expect(items.map { $0["port"] as? Int } == [0, 0, 8080])
        #expect(items.map { $0["path"] as? String } == ["", "/login", ""])
        #expect(items.map { $0["account"] as? String } == ["carol", "alice", "bob"])
        #expect(attributes(items[0]) == ["label": "app", "url": "android://aGFzaA==@com.example.app/"])
        #expect(attributes(items[1]) == ["label": "example.com"])
        // People write secrets there: it is not in listings.
        #expect(try sandbox.ok("get", "example.com", "--field", "notes").output == "first note")
        #expect(try sandbox.ok("get", "example.com").output == "p,\"w\"")
        #expect(try sandbox.ok("get", "intra.example.org").output == "  spaces kept  ")
    }

    @Test("Firefox: realm, form origin, guid, and times in milliseconds")
    func firefox() throws {
        let (sandbox, items, _) = try imported(
            "\"url\",\"username\",\"password\",\"httpRealm\",\"formActionOrigin\",\"guid\",\"timeCreated\",\"timeLastUsed\",\"timePasswordChanged\"\r\n"
                + "\"https://example.com\",\"alice\",\"pw1\",\"\",\"https://example.com\",\"{g-1}\",\"1577836800000\",\"1609459200000\",\"1588291200123\"\r\n"
                + "\"https://router.lan\",\"admin\",\"pw2\",\"Router\",\"\",\"{g-2}\",\"1577836800000\",\"1609459200000\",\"1577836800000\""
        )
        #expect(items.count == 2)
        #expect(items[0]["created"] as? String == "2020-01-01T00:00:00.000Z")
        #expect(items[0]["modified"] as? String == "2020-05-01T00:00:00.123Z")
        #expect(
            attributes(items[0]) == [
                "form-action-origin": "https://example.com", "guid": "{g-1}", "last-used": "1609459200000",
            ])
        #expect(items[1]["securityDomain"] as? String == "Router")
        #expect(try sandbox.ok("get", "router.lan", "admin").output == "pw2")
    }

    @Test("Safari and Apple Passwords: title, notes over several lines, and one-time passwords")
    func apple() throws {
        let otp = "otpauth://totp/Example:alice?secret=JBSWY3DPEHPK3PXP&issuer=Example"
        let (sandbox, items, _) = try imported(
            #"""
            Title,URL,Username,Password,Notes,OTPAuth
            Example (alice),https://example.com/,alice,pw1,"line one
            line ""two""",\#(otp)
            Only a code,https://code.example.com/,bob,,,\#(otp)
            """#)
        #expect(attributes(items[1]) == ["label": "Example (alice)"])
        #expect(try sandbox.ok("get", "example.com", "--field", "notes").output == "line one\nline \"two\"")
        // A seed is as secret as a password: it is not in listings.
        #expect(try sandbox.ok("get", "example.com", "--field", "otp").output == otp)
        #expect(try sandbox.ok("get", "code.example.com", "--field", "otp").output == otp)
        #expect(try sandbox.ok("get", "example.com").output == "pw1")
        #expect(try sandbox.ok("get", "code.example.com").bytes == [])
    }

    @Test("KeePassXC: group, icon and times; entries without a URL are generic passwords")
    func keePassXC() throws {
        let (sandbox, items, _) = try imported(
            #"""
            "Group","Title","Username","Password","URL","Notes","TOTP","Icon","Last Modified","Created"
            "Root/Web","Example","alice","pw1","example.com/app","","","0","2024-05-06T07:08:09Z","2023-01-02T03:04:05Z"
            "Root","Wifi","","pw2","","","","12","2024-05-06T07:08:09Z","2023-01-02T03:04:05Z"
            """#)
        #expect(items.map { $0["class"] as? String } == ["generic-password", "internet-password"])
        #expect(items[0]["service"] as? String == "Wifi")
        #expect(attributes(items[0]) == ["label": "Wifi", "folder": "Root", "icon": "12"])
        #expect(items[1]["server"] as? String == "example.com")
        #expect(items[1]["protocol"] as? String == "")
        #expect(items[1]["path"] as? String == "/app")
        #expect(attributes(items[1]) == ["label": "Example", "folder": "Root/Web"])
        #expect(items[1]["created"] as? String == "2023-01-02T03:04:05.000Z")
        #expect(items[1]["modified"] as? String == "2024-05-06T07:08:09.000Z")
        #expect(try sandbox.ok("get", "Wifi").output == "pw2")
    }

    @Test("Bitwarden: folders, secure notes, several addresses, custom fields")
    func bitwarden() throws {
        let (sandbox, items, run) = try imported(
            #"""
            folder,favorite,type,name,notes,fields,reprompt,login_uri,login_username,login_password,login_totp
            Social,1,login,Example,,PIN: 1234,0,"https://example.com/a,https://example.org/b",alice,pw1,JBSWY3DPEHPK3PXP
            ,,note,Door,the code is 99,,0,,,,
            """#)
        #expect(run.error.contains("imported 2 items"))
        #expect(items[0]["service"] as? String == "Door")
        #expect(attributes(items[0]) == ["label": "Door", "description": "secure note"])
        #expect(try sandbox.ok("get", "Door").output == "the code is 99")
        #expect(items[1]["server"] as? String == "example.com")
        #expect(
            attributes(items[1]) == [
                "label": "Example", "folder": "Social", "favorite": "1",
                "url": "https://example.com/a\nhttps://example.org/b",
            ])
        #expect(try sandbox.ok("get", "example.com", "--field", "PIN").output == "1234")
    }

    @Test("LastPass: notes behind http://sn, folders, seeds in base 32")
    func lastPass() throws {
        let (sandbox, items, _) = try imported(
            #"""
            url,username,password,totp,extra,name,grouping,fav
            https://example.com,alice,pw1,JBSWY3DPEHPK3PXP,a note,Example,Work\Mail,1
            http://sn,,,,the code is 99,Door,,0
            """#)
        #expect(attributes(items[0]) == ["label": "Door", "description": "secure note"])
        #expect(try sandbox.ok("get", "Door").output == "the code is 99")
        #expect(attributes(items[1]) == ["label": "Example", "folder": "Work/Mail", "favorite": "1"])
        #expect(
            try sandbox.ok("get", "example.com", "--field", "otp").output
                == "otpauth://totp/Example:alice?secret=JBSWY3DPEHPK3PXP&issuer=Example")
    }

    @Test("LastPass: a folder's row is not an item, and is named; a site or computer with such an address is an item")
    func lastPassFolders() throws {
        let (sandbox, items, run) = try imported(
            #"""
            url,username,password,totp,extra,name,grouping,fav
            http://group,,,,,Work,Work,0
            http://group,ann,pw,,,Portal,,0
            http://group,,,,a note,Kept,,0
            http://sn,,,,the code is 99,Door,,0
            """#)
        #expect(run.error.contains("line 2: a folder, which is created along with its entries"))
        #expect(items.count == 3)
        #expect(try sandbox.ok("get", "group", "ann").output == "pw")
        #expect(try sandbox.ok("get", "Door").output == "the code is 99")
        let (other, logins, _) = try imported(
            "title,url,username,password,notes\nPrinter,http://sn,ann,pw,\nDoor,http://sn,,,the code is 99\n")
        #expect(logins.count == 2)
        #expect(try other.ok("get", "sn", "ann", "--field", "server").output == "sn")
        #expect(try other.ok("get", "Door").output == "the code is 99")
    }

    @Test("Dashlane, Proton Pass, NordPass, Enpass, 1Password and KeePass: every column arrives somewhere")
    func others() throws {
        let (dashlane, _, _) = try imported(
            "username,username2,username3,title,password,note,url,category,otpUrl\n"
                + "alice,second,,Example,pw,n,https://example.com,Shops,\n")
        #expect(try dashlane.ok("get", "example.com", "alice").output == "pw")
        #expect(try dashlane.ok("get", "example.com", "--field", "username2").output == "second")
        #expect(try dashlane.ok("get", "example.com", "--field", "folder").output == "Shops")
        let (proton, items, _) = try imported(
            "type,name,url,email,username,password,note,totp,createTime,modifyTime,vault\n"
                + "login,Example,https://example.com,a@example.com,alice,pw,,,1672628645,1714979289,Personal\n"
                + "note,Door,,,,,the code is 99,,1672628645,1714979289,Personal\n")
        #expect(items[1]["created"] as? String == "2023-01-02T03:04:05.000Z")
        #expect(attributes(items[1]) == ["label": "Example", "email": "a@example.com", "folder": "Personal"])
        #expect(try proton.ok("get", "Door").output == "the code is 99")
        let (nord, _, _) = try imported(
            "name,url,additional_urls,username,password,note,cardholdername,cardnumber,cvc,pin,expirydate,zipcode,folder,"
                + "full_name,phone_number,email,address1,address2,city,country,state,type,custom_fields\n"
                + "Example,https://example.com,\"[\"\"https://example.org\"\"]\",alice,pw,,,,,,,,Work,,,,,,,,,password,\n"
                + "Visa,,,,,,Alice A,4111111111111111,123,,04/31,1000,,,,,,,,,,credit_card,\n")
        #expect(
            try nord.ok("get", "example.com", "--field", "url").output == "https://example.com\nhttps://example.org")
        #expect(try nord.ok("get", "Visa", "--field", "cardnumber").output == "4111111111111111")
        #expect(try nord.ok("get", "Visa", "--field", "description").output == "credit_card")
        let (enpass, _, _) = try imported(
            "Title,Username,Email,Password,Website,TOTP,Phone\nExample,,a@example.com,pw,example.com,,123\n")
        #expect(try enpass.ok("get", "example.com", "a@example.com").output == "pw")
        #expect(try enpass.ok("get", "example.com", "--field", "Phone").output == "123")
        let (onePassword, _, _) = try imported(
            "Title,Url,Username,Password,OTPAuth,Favorite,Archived,Tags,Notes\n"
                + "Example,https://example.com,alice,pw,,true,false,\"home,work\",n\n")
        #expect(try onePassword.ok("get", "example.com", "--field", "tags").output == "home\nwork")
        #expect(try onePassword.ok("get", "example.com", "--field", "favorite").output == "1")
        try onePassword.fails(1, "no field", "get", "example.com", "--field", "archived")
        let (keePass, _, _) = try imported(
            #"""
            "Account","Login Name","Password","Web Site","Comments"
            "Example","alice","pw","https://example.com","n"
            """#)
        #expect(try keePass.ok("get", "example.com", "alice").output == "pw")
        #expect(try keePass.ok("get", "example.com", "--field", "label").output == "Example")
    }

    @Test(
        "columns are found by their headers, in any order and case, after a byte order mark, between semicolons or tabs"
    )
    func headers() throws {
        for separator in [",", ";", "\t"] {
            let rows = [["PASSWORD", " Url ", "UserName"], ["pw", "https://example.com", "alice"]]
            let (sandbox, _, _) = try imported(
                "\u{FEFF}" + rows.map { $0.joined(separator: separator) }.joined(separator: "\n"))
            #expect(try sandbox.ok("get", "example.com", "alice").output == "pw")
        }
    }

    @Test("what would be lost is said: rows with nothing to keep, bad times; columns that are not known arrive")
    func losses() throws {
        let sandbox = try Sandbox.withVault()
        let text = """
            title,username,password,colour,created
            a,u,pw,red,yesterday
            ,,,,
            c,u,pw,,2024-01-01T00:00:00Z
            """
        try sandbox.write("list.csv", text.utf8)
        let lost = "but something in the source was lost (see above)"
        let rehearsal = try sandbox.fails(3, lost, "import", "--dry-run", "list.csv")
        #expect(rehearsal.lines.count == 2)
        #expect(rehearsal.lines.allSatisfy { $0.hasPrefix("add\tgeneric-password ") })
        #expect(rehearsal.error.contains("would import 2 items"))
        #expect(try sandbox.ok("list").bytes == [])
        let run = try sandbox.fails(3, lost, "import", "list.csv")
        for said in [
            "line 3: nothing to keep",
            "line 2: a time that cannot be parsed",
        ] {
            #expect(rehearsal.error.contains(said))
            #expect(run.error.contains(said))
        }
        #expect(try sandbox.ok("list").lines.count == 2)
        #expect(try sandbox.ok("get", "a", "--field", "colour").output == "red")
    }

    @Test("11: a second column of passwords, notes or one-time passwords is sealed, and one named a password")
    func secondSecrets() throws {
        let (sandbox, items, _) = try imported(
            "title,username,password,Password,notes,Notes,totp,OTPAuth,New password,colour\n"
                + "a,u,p,second,n,m,JBSWY3DPEHPK3PXP,other,third,red\n")
        #expect(attributes(items[0]) == ["label": "a", "colour": "red"])
        for (name, value) in [
            ("Password", "second"), ("Notes", "m"), ("OTPAuth", "other"), ("New password", "third"), ("notes", "n"),
        ] {
            #expect(try sandbox.ok("get", "a", "--field", name).output == value)
        }
        let (enpass, list, _) = try imported(
            "Title,Field,Value\nb,Username,u,Password,p,Password,second,TOTP,JBSWY3DPEHPK3PXP,TOTP,other,"
                + "E-mail,x,Email,y\n")
        #expect(attributes(list[0]) == ["label": "b", "email": "x", "Email": "y"])
        #expect(try enpass.ok("get", "b", "--field", "Password").output == "second")
        #expect(try enpass.ok("get", "b", "--field", "TOTP").output == "other")
    }

    @Test(
        "11: an address with a password in it is sealed, wherever it is, and names no item",
        arguments: [
            "https://ann:hunter2@host.example/", "https://ann:hunter2@host.example", "ftp://ann:hun/ter2@host.example",
            "https://ann:hunter 2@host.example/x", "ann:hunter2@host.example",
            "https://a.example,https://ann:hunter2@host.example/",
        ])
    func passwordInAddress(_ address: String) throws {
        // A text is searched for whole addresses only.
        let text = address.contains("://") && !address.contains(" ") ? address : ""
        let (sandbox, items, run) = try imported(
            "url,username,password,colour,formActionOrigin\n\"\(address)\",u,p,\"\(text)\",\"\(address)\"\n")
        let all = try sandbox.ok("list", "--json").output + run.error
        #expect(!all.contains("hunter") && !all.contains("hun/ter"), "\(all)")
        #expect(attributes(items[0]) == [:] && items[0]["unreadAttributes"] as? Int == (text == address ? 3 : 2))
        let key = try #require(items[0]["server"] as? String ?? items[0]["service"] as? String)
        #expect(
            try sandbox.ok("get", key, "--field", "url").output == address.replacingOccurrences(of: ",", with: "\n"))
        if text == address { #expect(try sandbox.ok("get", key, "--field", "colour").output == address) }
    }

    @Test(
        "11: addresses without a password stay in listings",
        arguments: [
            "https://host.example:8443/a@b", "https://ann@host.example/", "https://ann:@host.example/",
            "mailto:a@b.example",
            "https://[::1]:80/@x", "https://host.example/?to=a:b@c",
        ])
    func noPasswordInAddress(_ address: String) throws {
        let (_, items, _) = try imported("title,url,username,password\nt,\(address),u,p\n")
        #expect(items[0]["unreadAttributes"] == nil || items[0]["unreadAttributes"] as? Int == 0)
    }

    @Test("12: a column that is named like a part of an item is kept under field:NAME, and can be read")
    func namesOfParts() throws {
        let names = [
            "class", "accessible", "server", "service", "id", "device", "synchronizable", "secret", "account", "port",
            "path", "protocol", "securityDomain", "authenticationType", "modified", "replaced", "check", "change-every",
            "secret-changed", "comment", "file:x",
        ]
        let header = (["title", "url", "username", "password"] + names).joined(separator: ",")
        let row = (["t", "https://a.example", "u", "p"] + names.map { "of \($0)" }).joined(separator: ",")
        let (sandbox, _, _) = try imported("\(header)\n\(row)\n")
        for name in names {
            #expect(try sandbox.ok("get", "a.example", "--field", "field:\(name)").output == "of \(name)")
        }
        #expect(try sandbox.ok("get", "a.example", "--field", "class").output == "internet-password")
    }

    @Test(
        "names and passwords come through byte for byte, also where a quote or a comma is followed by a combining mark")
    func exactBytes() throws {
        let password = "\u{301}\u{200D}a\u{2028}b\u{0B}\u{0C}\t\u{202E}"
        let account = "\u{20DD} e\u{301} é"
        let (sandbox, items, _) = try imported(
            "title,username,password\r\nsvc,\(account),\(password)\r\nq,\"\u{301}\",\"\u{FE0F}\"\r\n")
        #expect(items.count == 2)
        #expect(try sandbox.ok("get", "svc").bytes == Array(password.utf8))
        #expect(try sandbox.ok("get", "svc", "--field", "account").bytes == Array(account.utf8))
        #expect(try sandbox.ok("get", "q").bytes == Array("\u{FE0F}".utf8))
    }

    @Test("on a terminal, people are told that a list is still there to be read")
    func reminder() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.write("list.csv", "title,password\na,1\n".utf8)
        let terminal = try PseudoTerminal(sandbox, "import", "list.csv")
        #expect(try terminal.finish() == 0)
        #expect(terminal.screen.contains("'list.csv' still contains these secrets in plaintext"), "\(terminal.screen)")
    }

    @Test("a list that is not whole is refused with its line, and nothing is imported")
    func damaged() throws {
        let sandbox = try Sandbox.withVault()
        let cases: [(String, String)] = [
            ("title,password\na,1\nb,\"2\nc,3\n", "line 3: the row"),
            ("title,password\na,1\nb,\"2\"x\n", "line 3: the row"),
            ("title,password\na,1,more\n", "line 2: 3 fields, but the header has 2"),
            (
                "name,url,username,password,note\na,u,n,p\nb,u\n",
                "line 3: the row ends after 2 of 5 fields, before its password"
            ),
            (
                "name,url,username,password,note\na,u,n,p\nb\n",
                "line 3: the row ends after 1 of 5 fields, before its password"
            ),
        ]
        for (text, message) in cases {
            try sandbox.write("list.csv", text.utf8)
            try sandbox.fails(65, message, "import", "list.csv")
        }
        try sandbox.write("latin.csv", Array("title,password\na,1\nb,".utf8) + [0xE9, 0x0A])
        try sandbox.fails(65, "line 3: this is not UTF-8", "import", "latin.csv")
        try sandbox.write("other.csv", "city,country\nRome,Italy\n".utf8)
        try sandbox.fails(65, "neither a vaultfmt export, nor", "import", "other.csv")
        try sandbox.fails(65, "line 1: not the header of a password list", "import", "--format", "csv", "other.csv")
        #expect(try sandbox.ok("list").bytes == [])
    }

    @Test("rows without a title and an address, and addresses that are none, are kept under what there is")
    func incomplete() throws {
        let (_, items, _) = try imported("title,url,username,password\n,,u,1\nCmd,not a url,u,2\n,mailto:x@y.z,u,3\n")
        #expect(items.map { $0["service"] as? String } == ["Cmd", "mailto:x@y.z", "untitled, line 2"])
        #expect(attributes(items[0])["url"] == "not a url")
    }

    @Test("an address with a number that is not a port is kept as it is, in an attribute")
    func badPort() throws {
        let (_, items, _) = try imported(
            "title,url,username,password\nBad,https://h.example:70000/x,u,1\nGood,https://h.example:65535/x,u,2\n")
        #expect(Set(items.compactMap { $0["service"] as? String }) == ["Bad"])
        #expect(items.compactMap { attributes($0)["url"] } == ["https://h.example:70000/x"])
        #expect(items.compactMap { $0["port"] as? Int } == [65_535])
    }

    @Test("a column whose name says that it is a secret is sealed, and a column of keys for codes gives codes")
    func secretColumns() throws {
        let sandbox = try Sandbox.withVault()
        let secrets = [
            "pwd", "2FA", "api key", "token", "cvv", "pass", "client secret", "private key", "recovery codes", "ssn",
        ]
        let open = ["department", "passport office", "compass", "tokens used", "spinner"]
        let names = ["name", "username", "password", "otp"] + secrets + open
        let values = ["a", "u", "p", "JBSWY3DPEHPK3PXP"] + (secrets + open).map { "value of \($0)." }
        try sandbox.write("list.csv", (names.joined(separator: ",") + "\n" + values.joined(separator: ",") + "\n").utf8)
        try sandbox.ok("import", "list.csv")
        let shown = try sandbox.ok("show", "a").output
        for name in secrets {
            #expect(!shown.contains("value of \(name)."), "\(name)")
            #expect(try sandbox.ok("get", "a", "--field", name).output == "value of \(name).")
        }
        for name in open { #expect(shown.contains("value of \(name)."), "\(name)") }
        #expect(!shown.contains("JBSWY3DPEHPK3PXP"))
        #expect(try sandbox.ok("otp", "a").output.wholeMatch(of: /\d{6}\n?/) != nil)
    }

    @Test("addresses that a comma joins are all kept, whether they have a scheme or not")
    func addressesWithCommas() throws {
        for addresses in ["example.com,other.example", "https://example.com,other.example/x", "example.com/a,b"] {
            let (_, items, _) = try imported("name,login_uri,login_username,login_password\nx,\"\(addresses)\",u,p\n")
            #expect(items.first?["server"] as? String == "example.com")
            let path = try #require(items.first?["path"] as? String)
            #expect(
                attributes(items[0])["url"] == (path == "/a,b" ? nil : addresses), "\(addresses): \(items)")
        }
    }

    @Test("custom fields of NordPass and Proton Pass whose names say that they are secrets are sealed")
    func customFields() throws {
        let nordPass = #"[{""type"":""text"",""label"":""Recovery codes"",""value"":""1111 2222""}]"#
        let proton =
            #"{""extraFields"":[{""fieldName"":""PIN"",""type"":""text"",""data"":{""content"":""0042""}},"#
            + #"{""fieldName"":""code"",""type"":""totp"",""data"":{""totpUri"":""otpauth://totp/x?secret=JBSWY3DP""}}]}"#
        for (text, name, value) in [
            (
                "name,url,additional_urls,username,password,note,type,custom_fields\nx,,,u,p,,password,\"\(nordPass)\"\n",
                "Recovery codes", "1111 2222"
            ),
            ("type,name,url,email,username,password,note,totp\nidentity,x,,,u,,\"\(proton)\",\n", "PIN", "0042"),
            (
                "type,name,url,email,username,password,note,totp\nidentity,x,,,u,,\"\(proton)\",\n", "code",
                "otpauth://totp/x?secret=JBSWY3DP"
            ),
        ] {
            let (sandbox, items, _) = try imported(text)
            #expect(!"\(items)".contains(value), "\(items)")
            #expect(try sandbox.ok("get", "x", "--field", name).output == value)
        }
    }
}
