import Foundation
import Testing

/// Lists whose columns have other names, exports with members left out, and what is said about files that cannot be
/// read.
@Suite("import: unusual lists, and the advice for files that cannot be read")
struct ImportAdviceTests {
    private func items(_ sandbox: Sandbox) throws -> [[String: Any]] {
        try #require(try sandbox.ok("list", "--json").json() as? [[String: Any]])
    }

    @Test(
        "a column of user names is known by its usual names",
        arguments: ["Login", "user", "User Name", "User ID", "userid", "Username"])
    func userNames(_ column: String) throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.write(
            "list.csv",
            "title,\(column),password,url\none,ann,p1,https://a.example\ntwo,bob,p2,https://a.example\n".utf8)
        let run = try sandbox.ok("import", "list.csv")
        #expect(!run.error.contains("user names"), "\(run.error)")
        #expect(try items(sandbox).compactMap { $0["account"] as? String }.sorted() == ["ann", "bob"])
    }

    @Test("a list without user names is imported, and that is said")
    func noUserNames() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.write("list.csv", "title,password,url\none,p1,https://a.example\n".utf8)
        let run = try sandbox.ok("import", "list.csv")
        #expect(run.error.contains("no column of user names"), "\(run.error)")
        #expect(try items(sandbox).count == 1)
    }

    @Test("folders in NordPass's lists without a type are left out and counted")
    func foldersWithoutType() throws {
        let sandbox = try Sandbox.withVault()
        let header = "name,url,username,password,note,cardholdername,cardnumber,cvc,expirydate,zipcode,folder,full_name"
        try sandbox.write(
            "list.csv", "\(header)\nWork,,,,,,,,,,,\nHome,,,,,,,,,,,\nmail,https://m.example,ann,p,,,,,,,Work,\n".utf8)
        let run = try sandbox.ok("import", "list.csv")
        #expect(run.error.contains("imported 1 item"), "\(run.error)")
        #expect(run.error.contains("lines 2, 3: a folder"), "\(run.error)")
        #expect(try items(sandbox).count == 1)
    }

    @Test("Bitwarden's JSON without the member 'encrypted', and with null among the collections")
    func bitwardenWithoutMembers() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.write(
            "list.json",
            """
            {"folders":[{"id":"f","name":"Work"}],"items":[{"id":"1","organizationId":null,"folderId":"f","type":1,
            "name":"mail","notes":null,"login":{"uris":[{"uri":"https://m.example"}],"username":"ann","password":"p"},
            "collectionIds":[null]}]}
            """.utf8)
        try sandbox.ok("import", "list.json")
        #expect(try sandbox.ok("get", "m.example", "ann").output == "p")
    }

    @Test("what cannot be read is called by its name, with what to do instead")
    func advice() throws {
        let sandbox = try Sandbox.withVault()
        let signature: [UInt8] = [0x03, 0xD9, 0xA2, 0x9A, 0x67, 0xFB, 0x4B, 0xB5]
        try sandbox.write("old.kdbx", signature + [0, 0, 2, 0] + [UInt8](repeating: 0, count: 64))
        let passphrase = try sandbox.write("pw", "x".utf8)
        let old = try sandbox.fails(69, "save it again", "import", "old.kdbx", "--source-passphrase-file", passphrase)
        #expect(old.error.contains("KDBX 2.0") && !old.error.contains("newer vaultfmt"))
        try sandbox.write(
            "export.1pux",
            [0x50, 0x4B, 0x03, 0x04] + [UInt8](repeating: 0, count: 26) + Array("export.attributes".utf8))
        try sandbox.fails(65, "1PUX", "import", "export.1pux")
        try sandbox.fails(65, "'vaultfmt merge'", "import", sandbox.vault)
        try sandbox.write("other.json", #"{"accounts":[{"vaults":[]}]}"#.utf8)
        let other = try sandbox.fails(65, "neither a vaultfmt export nor Bitwarden's", "import", "other.json")
        #expect(other.error.contains("CSV"))
        #expect(try sandbox.ok("list").lines.isEmpty)
    }
}
