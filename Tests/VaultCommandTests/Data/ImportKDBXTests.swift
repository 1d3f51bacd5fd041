import Foundation
import ImportFuzzing
import Testing
import VaultCommand
import VaultFmt

@testable import VaultCommand

@Suite("import: KDBX")
struct ImportKDBXTests {
    static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("Samples/KDBX").path
    static let passphrase = "päss wörd"
    static let otp = "otpauth://totp/Example:alice?secret=JBSWY3DPEHPK3PXP&period=30&digits=6&issuer=Example"

    static let files: [String] = {
        do {
            return try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasSuffix(".kdbx") }.sorted()
        } catch { return [] }
    }()

    private static let extra = "3.1-keepassxc.kdbx"

    /// Version, cipher, key derivation, compression and kind of key of a file of the matrix.
    private static func row(_ file: String) -> [String] { file.dropLast(5).split(separator: "-").map(String.init) }

    /// What is imported: files that have every pair of these; all where `VAULTFMT_KDBX_MATRIX` is `whole`, as before a
    /// release, for each takes a second and some.
    static let chosen: [String] = {
        guard ProcessInfo.processInfo.environment["VAULTFMT_KDBX_MATRIX"] != "whole" else { return files }
        let rows = Pairwise.subset(files.filter { $0 != extra }.map(row))
        return [extra] + rows.map { $0.joined(separator: "-") + ".kdbx" }
    }()

    @Test("the files that are imported have every pair of version, cipher, key derivation, compression and kind of key")
    func pairs() {
        func pairs(_ files: [String]) -> Set<Pairwise.Pair> {
            files.filter { $0 != Self.extra }.reduce(into: []) { $0.formUnion(Pairwise.pairs(Self.row($1))) }
        }
        #expect(Set(Self.chosen).isSubset(of: Self.files) && Set(Self.chosen).count == Self.chosen.count)
        #expect(pairs(Self.chosen) == pairs(Self.files))
    }

    /// The options that open a file of the matrix, after its name's last part.
    static func options(_ file: String, _ sandbox: Sandbox) throws -> [String] {
        let key = file.dropLast(5).split(separator: "-").last.map(String.init) ?? ""
        let keyFile =
            switch key {
            case "xml1", "xml2": "\(key).keyx"
            case "raw", "hex", "any": "\(key).key"
            case "both": "xml2.keyx"
            default: ""
            }
        var options: [String] = []
        if !keyFile.isEmpty { options += ["--source-key-file", "\(folder)/\(keyFile)"] }
        if ["passphrase", "both", "keepassxc"].contains(key) {
            options += ["--source-passphrase-file", try sandbox.write("source-passphrase", passphrase.utf8)]
        }
        return options
    }

    private func imported(_ file: String, _ more: String...) throws -> (Sandbox, Run) {
        let sandbox = try Sandbox.withVault()
        let run = try sandbox.run(["import", "\(Self.folder)/\(file)"] + Self.options(file, sandbox) + more)
        #expect(run.status == 0, "\(file): \(run.error)")
        return (sandbox, run)
    }

    /// The items of an export, by their labels.
    private func items(_ sandbox: Sandbox) throws -> [String: [String: Any]] {
        let export = try #require(try sandbox.ok("export").json() as? [String: Any])
        let items = try #require(export["items"] as? [[String: Any]])
        return Dictionary(items.map { (($0["attributes"] as? [String: Any])?["label"] as? String ?? "", $0) }) { $1 }
    }

    private func text(_ value: Any?) -> String? {
        value as? String ?? (value as? [String: Any])?["text"] as? String
    }

    @Test("the matrix is whole: each version with each cipher, key derivation, compression and kind of key")
    func matrix() {
        var names: Set<String> = ["3.1-keepassxc.kdbx"]
        for (version, derivations) in [
            ("3.1", ["aeskdf"]), ("4.0", ["argon2", "argon2id", "aeskdf"]), ("4.1", ["argon2", "argon2id", "aeskdf"]),
        ] {
            for cipher in ["aes256", "twofish", "chacha20"] {
                for derivation in derivations {
                    for compression in ["gzip", "plain"] {
                        for key in ["passphrase", "xml1", "xml2", "raw", "hex", "any", "both"] {
                            names.insert("\(version)-\(cipher)-\(derivation)-\(compression)-\(key).kdbx")
                        }
                    }
                }
            }
        }
        #expect(Set(Self.files) == names)
    }

    @Test("each file that other programs made arrives with the same contents", arguments: chosen)
    func arrives(_ file: String) throws {
        let (sandbox, run) = try imported(file)
        let items = try items(sandbox)
        let wifi = try #require(items["Wifi"])
        #expect(wifi["class"] as? String == "generic-password")
        #expect(wifi["secret"] as? String == "pw2")
        guard file != "3.1-keepassxc.kdbx" else { return #expect(items.count == 2) }
        let example = try #require(items["Example"])
        let attributes = try #require(example["attributes"] as? [String: Any])
        #expect(example["server"] as? String == "example.com")
        #expect(example["path"] as? String == "/login")
        #expect(example["account"] as? String == "alice")
        #expect(example["secret"] as? String == "p<&>\"' \u{1F511}")
        #expect(text(attributes["notes"]) == "a note\nof two lines & <tags>")
        #expect(text(attributes["tags"]) == "one\ntwo")
        #expect(text(attributes["otp"]) == Self.otp)
        #expect(text(attributes["colour"]) == "blue ümlaut")
        #expect(text(attributes["icon"]) == "12")
        #expect(text(attributes["folder"]) == #"Web\/Shops/Inner"#)
        #expect(text(attributes["expires"]) == "2031-02-03T04:05:06.000Z")
        let pin = try #require(attributes["pin"] as? [String: Any])
        #expect(pin["text"] as? String == "1234")
        #expect(pin["flags"] as? [String] == ["sealed", "concealed"])
        let bytes = try #require(attributes["file:bytes.bin"] as? [String: Any])
        #expect(
            Data(base64Encoded: bytes["base64"] as? String ?? "")
                == Data((0..<4).flatMap { _ in (0...255).map { UInt8($0) } }))
        #expect(text(attributes["file:text.txt"]) == "text\n")
        let earlier = try #require(example["earlier"] as? [[String: Any]])
        #expect(earlier.map { $0["secret"] as? String } == ["first", "second"])
        guard !file.hasPrefix("4.1") else { return #expect(items.count == 2) }
        #expect(items.count == 6)
        #expect(run.error.contains("not imported: 1 entry in the recycle bin"))
        let refers = try #require(items["Refers"])
        #expect(refers["account"] as? String == "alice")
        #expect(refers["secret"] as? String == "<pw2>")
        let addresses = [
            "Seed": "otpauth://totp/Seed:bob?secret=JBSWY3DPEHPK3PXP&issuer=Seed&digits=8&period=60",
            "Steam": "otpauth://totp/Steam:bob?secret=JBSWY3DPEHPK3PXP&issuer=Steam&digits=5&encoder=steam",
            "Timed":
                "otpauth://totp/Timed:bob?secret=JBSWY3DPEHPK3PXP&issuer=Timed&algorithm=SHA256&period=45",
        ]
        for (label, address) in addresses {
            #expect(text((items[label]?["attributes"] as? [String: Any])?["otp"]) == address)
        }
    }

    @Test("the recycle bin comes along when asked for")
    func recycleBin() throws {
        let (sandbox, _) = try imported("4.0-aes256-argon2-gzip-passphrase.kdbx", "--recycle-bin")
        #expect(try sandbox.ok("get", "Gone").output == "pw6")
    }

    @Test("--group puts all into one access group, --group-from-folder into one for each folder")
    func groups() throws {
        let file = "4.0-aes256-argon2-gzip-passphrase.kdbx"
        let (one, _) = try imported(file, "--group", "work")
        #expect(try items(one).values.allSatisfy { $0["group"] as? String == "work" })
        let (each, _) = try imported(file, "--group-from-folder")
        let items = try items(each)
        #expect(items["Example"]?["group"] as? String == #"Web\/Shops/Inner"#)
        #expect(items["Wifi"]?["group"] as? String == "")
    }

    @Test("a wrong passphrase, a wrong key file and a missing one are refused with exit 77, and nothing is imported")
    func wrongKeys() throws {
        let sandbox = try Sandbox.withVault()
        let wrong = try sandbox.write("wrong", "wrong".utf8)
        for file in Self.chosen {
            try sandbox.fails(
                77, "does not open this KDBX file", "import", "\(Self.folder)/\(file)", "--source-passphrase-file",
                wrong)
        }
        try sandbox.fails(
            77, "there is no terminal to prompt on", "import", "\(Self.folder)/4.0-aes256-argon2-gzip-passphrase.kdbx")
        try sandbox.fails(
            77, "forbids prompting", "import", "\(Self.folder)/4.0-aes256-argon2-gzip-passphrase.kdbx", "--no-input")
        #expect(try sandbox.ok("list").bytes == [])
    }

    @Test("bytes after the end of a database of version 4 are named, and everything before them is imported")
    func trailing() throws {
        let file = "4.0-aes256-argon2-gzip-passphrase.kdbx"
        let sandbox = try Sandbox.withVault()
        let whole = try Data(contentsOf: URL(fileURLWithPath: "\(Self.folder)/\(file)"))
        let longer = try sandbox.write("longer.kdbx", [UInt8](whole) + Array("appended".utf8))
        let run = try sandbox.run(["import", longer] + Self.options(file, sandbox))
        #expect(run.status == 0 && run.error.contains("not imported: 8 bytes after the end of the database"))
        #expect(run.error.contains("imported 6 items"), "\(run.error)")
    }

    @Test("a dry run names what each entry becomes, shows no secret, and changes nothing")
    func rehearsal() throws {
        let (sandbox, run) = try imported("4.0-aes256-argon2-gzip-passphrase.kdbx", "--dry-run")
        #expect(run.lines.count == 6)
        #expect(run.output.contains("internet-password 'example.com' 'alice'"))
        #expect(run.output.contains("otp, pin, tags"))
        #expect(!run.output.contains("pw2") && !run.output.contains("JBSWY3DP"))
        #expect(run.error.contains("would import 6 items, with 2 earlier values"))
        #expect(try sandbox.ok("list").bytes == [])
    }

    @Test("a second import changes only what changed: nothing where the file is the same")
    func again() throws {
        let file = "4.0-aes256-argon2-gzip-passphrase.kdbx"
        let (sandbox, _) = try imported(file)
        let before = try sandbox.read("test.vault")
        let run = try sandbox.run(
            ["import", "\(Self.folder)/\(file)", "--on-duplicate", "update-newer"] + Self.options(file, sandbox))
        #expect(run.status == 0 && run.error.contains("imported 0 items; 6 unchanged"))
        #expect(try sandbox.read("test.vault") == before)
        try sandbox.ok("set", "Wifi", input: "mine".utf8)
        let kept = try sandbox.run(
            ["import", "\(Self.folder)/\(file)", "--on-duplicate", "update-newer"] + Self.options(file, sandbox))
        #expect(kept.error.contains("it was changed later in the vault: generic-password 'Wifi'"))
        #expect(kept.error.contains("5 unchanged; kept the vault's version of 1 item"))
        #expect(try sandbox.ok("get", "Wifi").output == "mine")
    }

    @Test("a newer export moves what was renamed, keeps the old secret, and leaves what the vault added")
    func newerExport() throws {
        let original = try Sandbox.withVault()
        try original.ok("set", "svc", "ann", "--label", "Service", input: "one".utf8)
        let key = try original.write("key", "k".utf8)
        func export(_ name: String) throws {
            try original.ok(
                "export", "--format", "kdbx", "--kdf", "testing", "--new-passphrase-file", key, "-o",
                original.path(name))
        }
        try export("first.kdbx")
        let copy = try Sandbox.withVault()
        try copy.ok("import", original.path("first.kdbx"), "--source-passphrase-file", key)
        try copy.ok("update", "svc", "--attribute", "mine=yes")
        try copy.ok("set", "other", input: "x".utf8)
        // Later than the change of the copy.
        let second = time(nil)
        try Patience.until("the next second") { time(nil) > second }
        try original.ok("set", "svc", "ann", input: "two".utf8)
        try export("second.kdbx")
        let run = try copy.ok(
            "import", original.path("second.kdbx"), "--source-passphrase-file", key, "--on-duplicate", "update-newer")
        #expect(run.error.contains("imported 1 item, 1 of them changed since"))
        #expect(try copy.ok("get", "svc", "ann").output == "two")
        #expect(try copy.ok("get", "svc", "--field", "mine").output == "yes")
        #expect(try copy.ok("history", "svc").lines.count == 1)
    }

    @Test(
        "a newer export changes neither the group nor the protection of an item that exists, unless a group is asked for",
        arguments: ["update-newer", "replace"])
    func protection(_ policy: String) throws {
        // Entries that both vaults imported from one file are matched by their ids, whatever they are called.
        let (copy, _) = try imported("4.0-aes256-argon2-gzip-passphrase.kdbx")
        let (author, _) = try imported("4.0-aes256-argon2-gzip-passphrase.kdbx")
        try copy.ok("move", "Wifi", "--to-group", "private")
        let moment = time(nil)
        try Patience.until("the next second") { time(nil) > moment }
        try author.ok("set", "Wifi", "--accessible", "always", input: "two".utf8)
        try author.ok("move", "Wifi", "--to-group", "ci")
        let key = try author.write("key", "k".utf8)
        let file = author.path("newer.kdbx")
        try author.ok("export", "--format", "kdbx", "--kdf", "testing", "--new-passphrase-file", key, "-o", file)
        let newer = ["import", file, "--source-passphrase-file", key, "--on-duplicate", policy]
        let dry = try copy.run(newer + ["--dry-run"])
        #expect(dry.status == 0 && dry.output.contains("stays in group 'private', not in group 'ci'"), "\(dry.output)")
        let run = try copy.run(newer)
        #expect(run.status == 0, "\(run.error)")
        #expect(run.error.contains("stays in group 'private', not in group 'ci' as in the source"))
        #expect(run.error.contains("stays accessible 'when-unlocked', not 'always' as in the source"))
        let items = try #require(try copy.ok("list", "--json", "--service", "Wifi").json() as? [[String: Any]])
        #expect(items.count == 1)
        #expect(items[0]["group"] as? String == "private" && items[0]["accessible"] as? String == "when-unlocked")
        #expect(try copy.ok("get", "Wifi").output == "two")
        // Whoever runs the import may say where its items belong.
        try copy.ok("set", "Wifi", "--group", "private", input: "three".utf8)
        let moved = try copy.run(newer.dropLast() + ["replace", "--group", "build"])
        #expect(moved.status == 0, "\(moved.error)")
        #expect(try copy.ok("get", "Wifi", "--group", "build").output == "two")
    }

    /// The decrypted contents of a file: the inner header, and XML with these compressed attachments of one entry.
    private func contents(attached: [String]) -> [UInt8] {
        var bytes: [UInt8] = [1, 4, 0, 0, 0, 3, 0, 0, 0, 2, 32, 0, 0, 0] + Array(repeating: 7, count: 32)
        bytes += [0, 0, 0, 0, 0]
        let stored = attached.enumerated().map { #"<Binary ID="\#($0)" Compressed="True">\#($1)</Binary>"# }
        let named = attached.indices.map { #"<Binary><Key>file \#($0)</Key><Value Ref="\#($0)"/></Binary>"# }
        let xml = """
            <?xml version="1.0"?><KeePassFile><Meta><Binaries>\(stored.joined())</Binaries></Meta><Root><Group><Entry>
            <UUID>AAAAAAAAAAAAAAAAAAAAAQ==</UUID><String><Key>Title</Key><Value>one</Value></String>\(named.joined())
            </Entry></Group></Root></KeePassFile>
            """
        return bytes + Array(xml.utf8)
    }

    @Test("a reference to a password never becomes a name, an address or an attribute that is not sealed")
    func referencesToSecrets() throws {
        func string(_ key: String, _ value: String) -> String {
            "<String><Key>\(key)</Key><Value>\(value)</Value></String>"
        }
        let uuids = ["AAAAAAAAAAAAAAAAAAAAAQ==", "AAAAAAAAAAAAAAAAAAAAAg==", "AAAAAAAAAAAAAAAAAAAAAw=="]
        let (secret, chained) = (
            "{REF:P@I:\(String(repeating: "0", count: 31))1}", "{REF:U@I:\(String(repeating: "0", count: 31))3}"
        )
        let xml =
            #"<?xml version="1.0"?><KeePassFile><Root><Group>"#
            + "<Entry><UUID>\(uuids[0])</UUID>\(string("Title", "source"))\(string("Password", "s3cret"))</Entry>"
            + "<Entry><UUID>\(uuids[1])</UUID>\(string("Title", "two"))\(string("UserName", secret))"
            + "\(string("URL", "x \(secret)"))\(string("plain", secret))\(string("chained", chained))"
            + "\(string("Password", secret))</Entry>"
            + "<Entry><UUID>\(uuids[2])</UUID>\(string("Title", "three"))\(string("UserName", secret))</Entry>"
            + "</Group></Root></KeePassFile>"
        let front = contents(attached: []).prefix(14 + 32 + 5)
        let items = try #require(
            Interchange.items(in: front + Array(xml.utf8), format: Interchange.kdbxContents) { Issue.record("\($0)") })
        let two = try #require(items.first { $0.attributes.label == "two" })
        #expect(two.key.account == secret)
        #expect(two.secret == Array("s3cret".utf8))
        for item in items {
            #expect(!(item.key.account ?? "").contains("s3cret") && !(item.key.service ?? "").contains("s3cret"))
            for attribute in item.attributes.all where !attribute.flags.contains(.sealed) {
                #expect(!String(decoding: attribute.value ?? [], as: UTF8.self).contains("s3cret"), "\(attribute.name)")
            }
        }
        let plain = try #require(two.attributes.attribute("plain"))
        #expect(plain.flags.contains(.sealed) && plain.value == Array("s3cret".utf8))
        #expect(two.attributes.attribute("chained")?.flags.contains(.sealed) == true)
    }

    @Test("a file that is small because its entries all have the same is refused before the vault grows")
    func repeats() throws {
        func refusal(_ xml: String) -> String {
            var reason = "none"
            let front = contents(attached: []).prefix(14 + 32 + 5)
            _ = Interchange.items(
                in: front + Array("<KeePassFile>\(xml)</KeePassFile>".utf8), format: Interchange.kdbxContents
            ) { reason = $0 }
            return reason
        }
        func entry(_ number: Int, _ rest: String) -> String {
            let id = "AAAAAAAAAAAA\(String(100_000 + number))AAAAA=="
            return "<Entry><UUID>\(id)</UUID><String><Key>Title</Key><Value>\(number)</Value></String>\(rest)</Entry>"
        }
        func group(_ count: Int, _ rest: String) -> String {
            "<Root><Group>\((0..<count).map { entry($0, rest) }.joined())</Group></Root>"
        }
        // 12 MiB of zeros, which are no more than the file allows: but each of several entries, or of an entry's earlier states,
        // has them.
        let zeros = try Sandbox().shell("head -c 12582912 /dev/zero | gzip -9 | base64 -w 0").output
        let meta = "<Meta><Binaries><Binary ID=\"0\" Compressed=\"True\">\(zeros)</Binary></Binaries></Meta>"
        let attached = #"<Binary><Key>a</Key><Value Ref="0"/></Binary>"#
        #expect(refusal(meta + group(3, attached)) == "none")
        #expect(refusal(meta + group(6, attached)).contains("many entries have the same"))
        let states = (0..<6).map { "<Entry><Binary><Key>\($0)</Key><Value Ref=\"0\"/></Binary></Entry>" }.joined()
        #expect(refusal(meta + group(1, "<History>\(states)</History>")).contains("many entries have the same"))
        // A note of 60 KB that entries refer to.
        let long = String(repeating: "n", count: 60_000)
        let source =
            "<Entry><UUID>AAAAAAAAAAAAAAAAAAAAAg==</UUID><String><Key>Notes</Key><Value>\(long)</Value></String></Entry>"
        let reference = "{REF:N@I:\(String(repeating: "0", count: 31))2}"
        let field = "<String><Key>Notes</Key><Value>\(reference)</Value></String>"
        #expect(
            refusal("<Root><Group>\(source)</Group></Root>" + group(1200, field)).contains("many entries have the same")
        )
        let folder = "<Root><Group><Name>all</Name><Group><Name>\(String(repeating: "f", count: 1 << 20))</Name>"
        let filled = (0..<80).map { entry($0, "") }.joined()
        #expect(refusal("\(folder)\(filled)</Group></Group></Root>").contains("many entries have the same"))
        let empty = String(repeating: "<Entry/>", count: 30_000)
        #expect(
            refusal("<Root><Group>\(empty)</Group></Root>").contains("entries, too many for a file of its size"))
    }

    @Test("a field that somebody protects in another program is sealed, although our export notes that it was not")
    func protectedLater() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "bank", "--attribute", "answer=none yet", input: "p".utf8)
        let contents = try ExportedContents(of: sandbox)
        let xml = contents.xml
        let field = "<Key>answer</Key><Value>none yet</Value>"
        #expect(xml.contains(field))
        for value in ["<Value Protected=\"True\"></Value>", "<Value>Rex</Value>"] {
            let changed = xml.replacingOccurrences(of: field, with: "<Key>answer</Key>\(value)")
            let items = try #require(
                Interchange.items(in: contents.start + Array(changed.utf8), format: Interchange.kdbxContents) {
                    Issue.record("\($0)")
                })
            let flags = try #require(items.first?.attributes.attribute("answer")).flags
            #expect(flags.contains(.sealed) == value.contains("Protected"))
        }
    }

    @Test("an address with a password that the vault shows comes back shown, and sealed if another program changed it")
    func addressWithPassword() throws {
        let sandbox = try Sandbox.withVault()
        let address = "https://ann:hunter2@a.example/"
        try sandbox.ok("set", "svc", "--attribute", "url=\(address)", input: "p".utf8)
        let passphrase = try sandbox.write("p", "kdbx".utf8)
        try sandbox.ok(
            "export", "--format", "kdbx", "--output", "whole.kdbx", "--new-passphrase-file", passphrase, "--kdf",
            "testing")
        let copy = try Sandbox.withVault()
        try copy.ok("import", sandbox.path("whole.kdbx"), "--source-passphrase-file", passphrase)
        for vault in [sandbox, copy] { #expect(try vault.ok("list", "--json").output.contains("hunter2")) }
        let contents = try ExportedContents(of: sandbox)
        let field = "<Key>URL</Key><Value>\(address)</Value>"
        #expect(contents.xml.contains(field))
        let seconds = withUnsafeBytes(of: Int64(63_900_000_000).littleEndian) { Data($0) }
        let changed = contents.xml.replacingOccurrences(
            of: field, with: "<Key>URL</Key><Value>https://bob:pw@b.example/</Value>"
        ).replacing(
            #/<LastModificationTime>[^<]*</#, with: "<LastModificationTime>\(seconds.base64EncodedString())<")
        let items = try #require(
            Interchange.items(in: contents.start + Array(changed.utf8), format: Interchange.kdbxContents) {
                Issue.record("\($0)")
            })
        let url = try #require(items.first?.attributes.attribute("url"))
        #expect(url.flags == .sealed && url.value == Array("https://bob:pw@b.example/".utf8))
    }

    @Test("fields and lists whose names say that they are secrets are sealed; too many columns are refused at once")
    func secretNames() throws {
        func string(_ key: String) -> String { "<String><Key>\(key)</Key><Value>v</Value></String>" }
        let entry =
            "<Entry><UUID>AAAAAAAAAAAAAAAAAAAAAQ==</UUID>\(string("Title"))\(string("PIN"))\(string("colour"))</Entry>"
        let front = contents(attached: []).prefix(14 + 32 + 5)
        let xml = "<KeePassFile><Root><Group>\(entry)</Group></Root></KeePassFile>"
        let items = try #require(
            Interchange.items(in: front + Array(xml.utf8), format: Interchange.kdbxContents) { Issue.record("\($0)") })
        #expect(items.first?.attributes.attribute("PIN")?.flags.contains(.sealed) == true)
        #expect(items.first?.attributes.attribute("colour")?.flags.contains(.sealed) == false)
        var reason = ""
        let wide = "name,username,password" + String(repeating: ",", count: 20_000) + "\n"
        #expect(Interchange.items(in: Array(wide.utf8), format: "csv") { reason = $0 } == nil)
        #expect(reason.contains("more than 4096 columns"), "\(reason)")
    }

    @Test("U31: the keys that KeePass types are kept, and come out as they were")
    func autoType() throws {
        let sequence = "{USERNAME}{TAB}{PASSWORD}{TAB}<42>{ENTER}"
        let xml = """
            <?xml version="1.0"?><KeePassFile><Root><Group><Entry><UUID>AAAAAAAAAAAAAAAAAAAAAQ==</UUID>
            <String><Key>Title</Key><Value>one</Value></String><AutoType><Enabled>True</Enabled>
            <DefaultSequence>{USERNAME}{TAB}{PASSWORD}{TAB}&lt;42&gt;{ENTER}</DefaultSequence></AutoType></Entry>
            </Group></Root></KeePassFile>
            """
        let front = contents(attached: []).prefix(14 + 32 + 5)
        let items = try #require(
            Interchange.items(in: front + Array(xml.utf8), format: Interchange.kdbxContents) { Issue.record("\($0)") })
        #expect(items.map { $0.attributes.string("auto-type") } == [sequence])
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "one", "--attribute", "auto-type=\(sequence)", input: "p".utf8)
        let passphrase = try sandbox.write("p", "kdbx".utf8)
        try sandbox.ok(
            "export", "--format", "kdbx", "--output", "out.kdbx", "--new-passphrase-file", passphrase, "--kdf",
            "testing")
        let copy = try Sandbox.withVault()
        try copy.ok("import", sandbox.path("out.kdbx"), "--source-passphrase-file", passphrase)
        #expect(try copy.ok("get", "one", "--field", "auto-type").output == sequence)
    }

    @Test("our own export keeps a sealed label protected, and stores what earlier states share once")
    func sealedLabel() throws {
        let sandbox = try Sandbox.withVault()
        let zeros = try sandbox.write("zeros", [UInt8](repeating: 0, count: 16 << 20))
        try sandbox.ok("set", "svc", "--attach", zeros, input: "0".utf8)
        for secret in ["1", "2", "3"] { try sandbox.ok("set", "svc", input: secret.utf8) }
        try sandbox.ok("update", "svc", "--secret-attribute", "label", input: "hidden title".utf8)
        let passphrase = try sandbox.write("p", "kdbx".utf8)
        try sandbox.ok(
            "export", "--format", "kdbx", "--output", "out.kdbx", "--new-passphrase-file", passphrase, "--kdf",
            "testing")
        let copy = try Sandbox.withVault()
        let run = try copy.ok("import", sandbox.path("out.kdbx"), "--source-passphrase-file", passphrase)
        #expect(!run.error.contains("the protection of titles"), "\(run.error)")
        #expect(try !copy.ok("list", "--json").output.contains("hidden title"))
        #expect(try copy.ok("get", "svc", "--field", "label").output == "hidden title")
        #expect(try copy.ok("get", "svc", "--field", "zeros").bytes.count == 16 << 20)
        #expect(try copy.ok("get", "svc", "--earlier", "3").output == "0")
    }

    @Test("U31: at a terminal, a wrong passphrase can be given again, twice")
    func retried() throws {
        let sandbox = try Sandbox.withVault()
        let file = "\(Self.folder)/4.0-aes256-argon2-gzip-passphrase.kdbx"
        let good = try PseudoTerminal(sandbox, "import", file)
        for answer in ["wrong", "wrong again", Self.passphrase] {
            try good.expect("Passphrase for ")
            try good.answerHidden(answer)
        }
        #expect(try good.finish() == 0)
        #expect(good.screen.components(separatedBy: "wrong passphrase; try again").count == 3)
        let bad = try PseudoTerminal(sandbox, "import", "--dry-run", file)
        for _ in 0..<3 {
            try bad.expect("Passphrase for ")
            try bad.answerHidden("wrong")
        }
        #expect(try bad.finish() == 77)
        #expect(bad.screen.contains("does not open this KDBX file"))
    }

    @Test("attachments that together decompress to more memory than their file deserves are refused")
    func decompressed() throws {
        let sandbox = try Sandbox()
        let piece = try sandbox.shell("head -c 12582912 /dev/zero | gzip -9 | base64 -w 0").output
        for count in [3, 40] {
            var message = ""
            let items = Interchange.items(
                in: contents(attached: Array(repeating: piece, count: count)), format: Interchange.kdbxContents
            ) { message = $0 }
            #expect(items == nil && message.contains("together are larger than"), "\(count): \(message)")
        }
    }

    @Test("an empty attachment that is called compressed is empty")
    func emptyCompressed() throws {
        let bytes = contents(attached: [""])
        let items = try #require(
            Interchange.items(in: bytes, format: Interchange.kdbxContents) { Issue.record("\($0)") })
        #expect(items.count == 1)
    }

    @Test("a file that is cut anywhere, or altered anywhere, is refused with one line or means the same")
    func damaged() throws {
        // Without a hash of its header, version 3.1 does not notice that its inner key is another one.
        for file in ["3.1-keepassxc.kdbx", "4.0-chacha20-argon2-gzip-passphrase.kdbx"] {
            let whole = [UInt8](try Data(contentsOf: URL(fileURLWithPath: "\(Self.folder)/\(file)")))
            let expected = try #require(Interchange.items(in: whole, format: nil, passphrase: Self.passphrase) { _ in })
            for length in stride(from: 0, to: whole.count, by: 41) {
                var message = ""
                let items = Interchange.items(
                    in: Array(whole[..<length]), format: "kdbx", passphrase: Self.passphrase
                ) { message = $0 }
                #expect(items == nil && !message.isEmpty && !message.contains("\n"), "\(file) cut at \(length)")
            }
            for position in stride(from: 12, to: whole.count, by: 43) {
                var altered = whole
                altered[position] ^= 1 << UInt8(position % 8)
                var message = ""
                let items = Interchange.items(in: altered, format: "kdbx", passphrase: Self.passphrase) { message = $0 }
                #expect(
                    items == nil && !message.isEmpty || items == expected, "\(file) altered at \(position): \(message)")
            }
        }
    }

    @Test("hostile headers: too much work, versions and ciphers that are not known")
    func hostileHeaders() throws {
        let sandbox = try Sandbox.withVault()
        let passphrase = try sandbox.write("p", Self.passphrase.utf8)
        let name = "4.0-aes256-argon2-gzip-passphrase.kdbx"
        let whole = [UInt8](try Data(contentsOf: URL(fileURLWithPath: "\(Self.folder)/\(name)")))
        func refused(_ status: Int32, _ message: String, _ change: (inout [UInt8]) throws -> Void) throws {
            var altered = whole
            try change(&altered)
            try sandbox.write("altered.kdbx", altered)
            try sandbox.fails(
                status, message, "import", sandbox.path("altered.kdbx"), "--source-passphrase-file", passphrase)
        }
        func position(_ name: String) throws -> Int {
            let key = [0x01, 0, 0, 0] + Array(name.utf8)
            let start = try #require((0..<whole.count - 8).first { whole[$0..<$0 + key.count].elementsEqual(key) })
            return start + key.count + 4
        }
        try refused(78, "more key derivation than allowed: memory") { $0[try position("M") + 5] = 1 }
        try refused(78, "more key derivation than allowed: memory × passes") { $0[try position("I") + 6] = 1 }
        try refused(65, "invalid parameters") { $0[try position("P") + 2] = 0xFF }
        try refused(69, "a newer vaultfmt is needed") { $0[10] = 5 }
        try refused(69, "not AES-256, Twofish or ChaCha20") { $0[20] ^= 1 }
        try refused(69, "a KeePass 1 database") { $0[4] = 0x65 }
        try refused(65, "the header's checksum does not match") { $0[60] ^= 1 }
    }
}
