import Foundation
import Testing

@Suite("import: Bitwarden's JSON")
struct ImportBitwardenTests {
    private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("Samples/Bitwarden").path

    private func items(_ file: String, _ more: String...) throws -> [String: [String: Any]] {
        let sandbox = try Sandbox.withVault()
        let passphrase = try sandbox.write("p", "bitwarden wörd".utf8)
        let run = try sandbox.run(
            ["import", "\(Self.folder)/\(file).json", "--source-passphrase-file", passphrase] + more)
        #expect(run.status == 0, "\(run.error)")
        let export = try #require(try sandbox.ok("export").json() as? [String: Any])
        let items = try #require(export["items"] as? [[String: Any]])
        return Dictionary(items.map { (($0["attributes"] as? [String: Any])?["label"] as? String ?? "", $0) }) { $1 }
    }

    private func text(_ item: [String: Any]?, _ name: String) -> String? {
        let value = (item?["attributes"] as? [String: Any])?[name]
        return value as? String ?? (value as? [String: Any])?["text"] as? String
    }

    @Test(
        "logins, notes, cards, identities, SSH keys and passkeys arrive, plain and from behind a password",
        arguments: ["plain", "pbkdf2", "argon2id"])
    func arrives(_ file: String) throws {
        let items = try items(file)
        #expect(items.count == 6)
        let example = try #require(items["Example"])
        #expect(example["server"] as? String == "example.com")
        #expect(example["account"] as? String == "alice")
        #expect(example["secret"] as? String == "p\"\\wört")
        #expect(example["created"] as? String == "2023-01-02T03:04:05.000Z")
        #expect(example["modified"] as? String == "2024-05-06T07:08:09.120Z")
        #expect(text(example, "url") == "https://example.com/login\nhttps://example.org")
        #expect(text(example, "folder") == "Web/Shops")
        #expect(text(example, "favorite") == "1")
        #expect(text(example, "notes") == "a note\nwith <two> lines")
        #expect(text(example, "otp") == "otpauth://totp/Example:alice?secret=JBSWY3DPEHPK3PXP&issuer=Example")
        #expect(text(example, "pin") == "1234")
        #expect(text(example, "colour") == "blue")
        #expect(text(example, "remember") == "true")
        #expect(text(example, "passkey")?.contains("keyValue=MIGH\n") == true)
        let earlier = try #require(example["earlier"] as? [[String: Any]])
        #expect(earlier.map { $0["secret"] as? String } == ["first", "second"])
        #expect(items["Door"]?["secret"] as? String == "the code is 99")
        #expect(text(items["Door"], "description") == "secure note")
        #expect(items["Card"]?["secret"] as? String == "4111111111111111")
        #expect(text(items["Card"], "code") == "123")
        #expect(text(items["Me"], "ssn") == "078-05-1120")
        #expect(items["Me"]?["account"] as? String == "alice")
        #expect(items["Server"]?["secret"] as? String == "-----BEGIN…")
        #expect(text(items["Server"], "publicKey") == "ssh-ed25519 AAAA")
        #expect(text(items["Steam"], "otp")?.hasSuffix("&digits=5&encoder=steam") == true)
    }

    @Test("the trash comes along when asked for")
    func trash() throws { #expect(try items("plain", "--recycle-bin")["Gone"]?["secret"] as? String == "pw6") }

    @Test("a wrong passphrase is refused with exit 77, an export for the account alone with exit 69 and what to do")
    func refused() throws {
        let sandbox = try Sandbox.withVault()
        let wrong = try sandbox.write("wrong", "wrong".utf8)
        for file in ["pbkdf2", "argon2id"] {
            try sandbox.fails(
                77, "does not open this Bitwarden export", "import", "\(Self.folder)/\(file).json",
                "--source-passphrase-file", wrong)
        }
        try sandbox.fails(69, "export it again as 'Password protected'", "import", "\(Self.folder)/account.json")
        #expect(try sandbox.ok("list").bytes == [])
    }

    @Test("an export that is cut anywhere is refused with its place, and nothing is imported")
    func damaged() throws {
        let sandbox = try Sandbox.withVault()
        let whole = [UInt8](try Data(contentsOf: URL(fileURLWithPath: "\(Self.folder)/plain.json")))
        for length in stride(from: 100, to: whole.count - 2, by: 701) {
            try sandbox.write("cut.json", whole[..<length])
            try sandbox.fails(65, "byte ", "import", "--format", "bitwarden", "cut.json")
        }
        #expect(try sandbox.ok("list").bytes == [])
    }

    @Test(
        "an update brings what only the source's history has, whenever it was set, and says in a dry run what it will do"
    )
    func missingHistory() throws {
        let sandbox = try Sandbox.withVault()
        func list(_ password: String, _ date: String, _ history: [(String, String)]) -> String {
            let earlier = history.map { one in #"{"password":"\#(one.0)","lastUsedDate":"\#(one.1)"}"# }.joined(
                separator: ",")
            return
                #"{"encrypted":false,"items":[{"id":"11111111-2222-3333-4444-555555555555","type":1,"name":"s","revisionDate":"\#(date)","#
                + #""login":{"username":"a","password":"\#(password)"},"passwordHistory":[\#(earlier)]}]}"#
        }
        func importing(_ text: String) throws -> (dry: String, real: String) {
            try sandbox.write("list.json", text.utf8)
            let words = ["import", "list.json", "--on-duplicate", "update-newer"]
            let dry = try sandbox.run(words + ["--dry-run"])
            let real = try sandbox.run(words)
            #expect(dry.status == real.status && real.status == 0, "\(dry.error)\(real.error)")
            return (dry.error, real.error)
        }
        _ = try importing(list("p1", "2025-01-01T00:00:00.000Z", []))
        try sandbox.ok("update", "s", "--comment", "hello")
        let old = [("p1", "2026-06-01T00:00:00.000Z"), ("p2", "2026-10-01T00:00:00.000Z")]
        let first = try importing(list("p3", "2035-01-01T00:00:00.000Z", old))
        #expect(first.dry.contains("with 1 earlier value") && first.real.contains("with 1 earlier value"), "\(first)")
        func earlier() throws -> Set<String> {
            let count = try sandbox.ok("history", "s").lines.count
            return Set(
                try (1...max(count, 1)).map { number in try sandbox.ok("get", "s", "--earlier", String(number)).output }
            )
        }
        #expect(try earlier() == ["p1", "p2"])
        // The same again changes nothing; a further value of the history alone is added.
        let again = try importing(list("p3", "2035-01-01T00:00:00.000Z", old))
        #expect(again.real.contains("1 unchanged") && !again.real.contains("earlier"), "\(again)")
        let more = try importing(list("p3", "2035-01-01T00:00:00.000Z", [("p0", "2024-01-01T00:00:00.000Z")] + old))
        #expect(more.dry.contains("with 1 earlier value") && more.real.contains("with 1 earlier value"), "\(more)")
        #expect(try earlier() == ["p0", "p1", "p2"])
        #expect(try sandbox.ok("get", "s").output == "p3")
    }
}
