import Foundation
import Testing

/// `status`, and `inspect` for people.
@Suite("Status")
struct StatusTests {
    @Test("a locked vault says so, and what its file and this machine know, and asks for nothing")
    func locked() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "svc", input: "s".utf8)
        sandbox.forgetPassphrase()
        let lines = try sandbox.ok("status").lines
        #expect(lines.contains { $0.hasPrefix("state: locked") })
        #expect(lines.contains("remembered here: generation 2"))
        #expect(lines.contains { $0.contains("permissions 0600, for its owner only") })
        #expect(!lines.contains { $0.hasPrefix("items:") })
        chmod(sandbox.vault, 0o644)
        #expect(try sandbox.ok("status").output.contains("others can read it"))
        let json = try #require(try sandbox.ok("status", "--json").json() as? [String: Any])
        #expect(json["unlocked"] as? Bool == false && json["permissions"] as? String == "0644")
        #expect((json["remembered"] as? [String: Int]) == ["owner": 2] && json["items"] == nil)
        try sandbox.fails(66, "there is no vault", "status", "nothing.vault")
    }

    @Test("a key holder sees items, dead bytes and conflicts; a wrong factor still shows the rest")
    func inside() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "svc", input: "s".utf8)
        let lines = try sandbox.ok("status").lines
        #expect(lines.contains("items: 1, at generation 2") && lines.contains("conflicts: none"))
        let json = try #require(try sandbox.ok("status", "--json").json() as? [String: Any])
        #expect(json["items"] as? Int == 1 && json["generation"] as? Int == 2 && json["conflicts"] as? Int == 0)
        sandbox.environment["VAULTFMT_PASSPHRASE"] = "wrong"
        #expect(try sandbox.fails(77, "wrong passphrase", "status").output.contains("state: "))
    }

    @Test("who writes right now is named")
    func writer() throws {
        let sandbox = try Sandbox.withVault()
        let lock = try ForeignLock(sandbox.vault)
        defer { lock.release() }
        sandbox.forgetPassphrase()
        #expect(try sandbox.ok("status").output.contains("writing now: "))
    }
}
