import Foundation
import Testing

/// The numbers that an import reports: each entry of the source is imported, changed, skipped or left out, and what is left
/// out is named.
@Suite("import: what the numbers add up to")
struct ImportCountsTests {
    /// What `--json` reports of an import.
    private struct Counts {
        let members: [String: Int]
        let named: [String]
        let withoutCodes: [String]

        init(_ run: Run) throws {
            let object = try #require(try run.json() as? [String: Any], "\(run.output)\(run.error)")
            members = object.compactMapValues { $0 as? Int }
            named = try #require(object["notImported"] as? [String])
            withoutCodes = try #require(object["withoutCodes"] as? [String])
        }

        subscript(name: String) -> Int { members[name] ?? -1 }

        var imported: Int { self["added"] + self["keptBoth"] }
        var sum: Int {
            imported + self["replaced"] + self["updated"] + self["skipped"] + self["copies"] + self["unchanged"]
                + self["left"] + self["omitted"]
        }
    }

    /// Imports a file into an empty vault, and checks the sums, the human report, and the number of items.
    private func importing(_ file: String, _ options: [String] = []) throws -> Counts {
        let sandbox = try Sandbox.withVault()
        let run = try sandbox.run(["import", file, "--json"] + options)
        #expect(run.status == 0 || run.status == 3, "\(file): \(run.error)")
        let counts = try Counts(run)
        #expect(counts["entries"] == counts.sum, "\(file): \(run.output)")
        let list = try #require(try sandbox.ok("list", "--json").json() as? [Any])
        #expect(list.count == counts.imported, "\(file)")
        #expect(run.error.contains("imported \(counts.imported) item"), "\(file): \(run.error)")
        if counts["entries"] != counts.imported {
            #expect(run.error.contains("\(counts["entries"]) entr"), "\(file): \(run.error)")
        }
        #expect(counts["omitted"] == 0 || !counts.named.isEmpty, "\(file)")
        return counts
    }

    private static let samples = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().appendingPathComponent("Samples").path

    private static func json(_ path: String) throws -> [String: Any] {
        let data = try Data(contentsOf: URL(fileURLWithPath: path))
        return try JSONSerialization.jsonObject(with: data) as? [String: Any] ?? [:]
    }

    @Test(
        "add up for every vendor's file, and to the rows and items that are in it", arguments: ImportVendorTests.names)
    func vendors(_ name: String) throws {
        let file = "\(Self.samples)/Vendors/\(name)"
        let index = try Self.json("\(Self.samples)/Vendors/INDEX.json")
        let about = try #require((index["files"] as? [String: [String: Any]])?[name])
        guard about["must"] as? String == "import", name != "dashlane.zip" else { return }
        let sandbox = try Sandbox()
        let passphrase = try sandbox.write("p", (about["password"] as? String ?? "none").utf8)
        let counts = try importing(file, ["--source-passphrase-file", passphrase])
        #expect(counts["entries"] - counts["omitted"] == about["entries"] as? Int)
        if name.hasSuffix(".csv") {
            let text = try Data(contentsOf: URL(fileURLWithPath: file))
            let hasHeader = name != "enpass.csv"
            let rows = Self.rows(Array(text), hasBackslashes: name == "keepass1.csv") - (hasHeader ? 1 : 0)
            #expect(counts["entries"] == rows)
        } else if let items = try Self.json(file)["items"] as? [Any] {
            #expect(counts["entries"] == items.count)
        }
    }

    /// Counts the rows of a list, without blank lines.
    private static func rows(_ bytes: [UInt8], hasBackslashes: Bool) -> Int {
        var (rows, isQuoted, isEmpty, isEscaped) = (0, false, true, false)
        for byte in bytes {
            switch byte {
            case _ where isEscaped: isEscaped = false
            case UInt8(ascii: "\\") where hasBackslashes: isEscaped = true
            case UInt8(ascii: "\""):
                isQuoted.toggle()
                isEmpty = false
            case 0x0A, 0x0D:
                guard !isQuoted else { continue }
                rows += isEmpty ? 0 : 1
                isEmpty = true
            default: isEmpty = false
            }
        }
        return rows + (isEmpty ? 0 : 1)
    }

    @Test("add up when a name, a path or a group is too long for an item: that row is left out by name, not the list")
    func tooLong() throws {
        let long = String(repeating: "x", count: 5000)
        let rows = [
            "a,,u,1,Work", "\(long),,u,2,Work", "c,https://c.example/\(long),u,3,Work", "d,,u,4,\(long)", "e,,u,5,",
        ]
        let sandbox = try Sandbox.withVault()
        let list = try sandbox.write(
            "long.csv", ("title,url,username,password,folder\n" + rows.joined(separator: "\n") + "\n").utf8)
        // Without groups of folders, a folder's name is an attribute, which may be that long.
        for (options, names) in [
            ([], ["line 3, ", "line 4, 'c'"]), (["--group-from-folder"], ["line 3, ", "line 4, 'c'", "(line 5)"]),
        ]
            as [([String], [String])]
        {
            let counts = try importing(list, options)
            #expect(counts["entries"] == 5 && counts["omitted"] == names.count && counts["added"] == 5 - names.count)
            #expect(counts.named.count == names.count, "\(counts.named)")
            for (text, name) in zip(counts.named.sorted(), names.sorted()) {
                #expect(text.contains(name) && text.contains("the maximum is 4096"), "\(text)")
                #expect(text.utf8.count < 300)
            }
            let rehearsed = try sandbox.run(["import", list, "--dry-run"] + options)
            let omitted = "; \(names.count) not imported, for the reasons above"
            #expect(rehearsed.status == 3 && rehearsed.error.contains(omitted), "\(rehearsed.error)")
        }
        // A group that the user names is the user's mistake.
        try sandbox.fails(65, "the maximum is 4096", "import", list, "--group", long)
        #expect(try sandbox.ok("list").bytes == [])
    }

    @Test("add up for KDBX files, whose entries in the recycle bin are named", arguments: ImportKDBXTests.chosen)
    func kdbx(_ name: String) throws {
        let sandbox = try Sandbox()
        let counts = try importing(
            "\(ImportKDBXTests.folder)/\(name)", try ImportKDBXTests.options(name, sandbox))
        let hasBin = name != "3.1-keepassxc.kdbx" && !name.hasPrefix("4.1")
        #expect(counts["entries"] == (hasBin ? 7 : 2) && counts["omitted"] == (hasBin ? 1 : 0))
        #expect(counts.named.contains { $0.contains("'Gone' (entry 7)") } == hasBin)
    }

    @Test("add up for lists with blank rows, folders and copies, and name every line that is left out")
    func lines() throws {
        let sandbox = try Sandbox.withVault()
        let rows = ["a,u,1", ",,", "b,u,1", ",,", ",,", ",,", "a,u,1", "a,u,2", "", ",,"]
        let file = try sandbox.write("list.csv", ("title,username,password\n" + rows.joined(separator: "\n")).utf8)
        let counts = try importing(file)
        #expect(counts["entries"] == 9 && counts.imported == 3 && counts["copies"] == 1 && counts["omitted"] == 5)
        #expect(counts.named == ["lines 3, 5 to 7, 11: nothing to keep"])
    }

    @Test("add up for seeds that give no codes: each is kept, and its item is named with the reason")
    func withoutCodes() throws {
        let seed = "JBSWY3DPEHPK3PXP"
        let seeds = [
            ("a", "not base 32!", "neither an otpauth: address nor a key in Base32"),
            ("b", "otpauth://hotp/b?secret=\(seed)&counter=1", "counter-based (hotp)"),
            ("c", "otpauth://totp/c?secret=\(seed)&algorithm=MD5", "its algorithm is not SHA1"),
            ("d", "otpauth://totp/d?secret=\(seed)&digits=12", "its number of digits is not 6, 7 or 8"),
        ]
        let rows = (seeds.map { ($0.0, $0.1) } + [("e", seed)]).map { "\($0),u,pw,\($1)" }.joined(separator: "\n")
        let logins = (seeds.map { ($0.0, $0.1) } + [("e", seed)]).map { name, seed in
            #"{"type":1,"name":"\#(name)","login":{"username":"u","password":"pw","totp":"\#(seed)"}}"#
        }
        let sandbox = try Sandbox.withVault()
        let list = try sandbox.write("list.csv", "title,username,password,totp\n\(rows)\n".utf8)
        let bitwarden = try sandbox.write(
            "logins.json", #"{"encrypted":false,"items":[\#(logins.joined(separator: ","))]}"#.utf8)
        try sandbox.ok("import", list)
        let own = try sandbox.write("own.json", try sandbox.ok("export").bytes)
        for file in [list, bitwarden, own] {
            let counts = try importing(file)
            #expect(counts["entries"] == 5 && counts["added"] == 5 && counts["omitted"] == 0)
            #expect(counts.withoutCodes.count == 4, "\(counts.withoutCodes)")
            for (name, _, reason) in seeds {
                let line = counts.withoutCodes.first { $0.hasPrefix("generic-password '\(name)' 'u'") }
                #expect(line?.contains("keeps its one-time seed, which gives no codes: ") == true, "\(name)")
                #expect(line?.contains(reason) == true, "\(line ?? "none")")
            }
            let copy = try Sandbox.withVault()
            let run = try copy.ok("import", file)
            #expect(run.error.contains("imported 5 items, 4 of them with a one-time seed that gives no codes"))
            for (name, seed, _) in seeds { #expect(try copy.ok("get", name, "--field", "otp").output == seed) }
            #expect(try copy.ok("otp", "e").output.count == 6)
            // Nothing is said about what an import leaves as it is.
            #expect(try !copy.ok("import", file, "--on-duplicate", "skip").error.contains("gives no codes"))
        }
    }

    @Test("add up for every policy when items exist")
    func policies() throws {
        for policy in ["skip", "replace", "keep-both", "update-newer"] {
            let sandbox = try Sandbox.withVault()
            try sandbox.write("one.csv", "title,username,password\na,u,1\nb,u,1\nb,u,2\n".utf8)
            try sandbox.ok("import", "one.csv")
            try sandbox.write("two.csv", "title,username,password\na,u,2\nb,u,1\nb,u,2\nc,u,1\n,,\n".utf8)
            let run = try sandbox.ok("import", "two.csv", "--json", "--on-duplicate", policy)
            let counts = try Counts(run)
            #expect(counts["entries"] == 5 && counts.sum == 5, "\(policy): \(run.output)")
            #expect(run.error.contains("; 5 entries in the source"), "\(policy): \(run.error)")
        }
    }

    @Test("add up for PEM: blocks that are left out are entries, and an identity is one more")
    func pem() throws {
        let sandbox = try Sandbox()
        let made = try sandbox.run(
            [
                "req", "-x509", "-newkey", "ed25519", "-nodes", "-days", "3", "-subj", "/CN=a.example", "-keyout",
                sandbox.path("a.key"), "-out", sandbox.path("a.crt"),
            ], program: "/usr/bin/openssl")
        #expect(made.status == 0)
        let parameters = "-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n"
        let certificate = try sandbox.read("a.crt")
        let file = try sandbox.write(
            "all.pem", try certificate + sandbox.read("a.key") + certificate + Array(parameters.utf8))
        let counts = try importing(file)
        #expect(counts["entries"] == 5 && counts.imported == 3 && counts["omitted"] == 2)
        #expect(counts.named.count == 2)
    }

    @Test("add up for our own exports, whole and unchanged")
    func own() throws {
        let sandbox = try Sandbox.withVault()
        for name in ["a", "b", "c"] { try sandbox.ok("set", name, "u", input: name.utf8) }
        let file = try sandbox.write("export.json", try sandbox.ok("export").bytes)
        let counts = try importing(file)
        #expect(counts["entries"] == 3 && counts.imported == 3)
    }
}
