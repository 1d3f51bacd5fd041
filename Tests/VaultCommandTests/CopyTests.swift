import Foundation
import Testing

/// A vault whose item `netflix` once had a key for one-time codes, and other secrets.
@Suite("Copying items to another vault")
struct CopyTests {
    private static let seed = "JBSWY3DPEHPK3PXP"

    private func sandbox() throws -> Sandbox {
        let sandbox = try Sandbox.withVault()
        let otp = try sandbox.write("seed", Self.seed.utf8)
        try sandbox.ok("set", "netflix", "ann", "--otp-file", otp, "--attribute", "folder=fun", input: "old".utf8)
        try sandbox.ok("set", "netflix", "ann", "--label", "TV", input: "new".utf8)
        try sandbox.ok("set", "netflix", "ann", input: "newer".utf8)
        try sandbox.write("scan.pdf", [0, 1, 2, 255])
        try sandbox.ok("update", "netflix", "ann", "--attach", sandbox.path("scan.pdf"), "--add-tag", "family")
        try sandbox.ok("set", "bank", "ann", input: "secret".utf8)
        try sandbox.write("other passphrase", "quite another horse".utf8)
        return sandbox
    }

    private func copy(_ sandbox: Sandbox, _ arguments: String...) throws -> Run {
        let other = ["--to", "family.vault", "--to-passphrase-file", sandbox.path("other passphrase")]
        return try sandbox.run(["copy"] + arguments + other)
    }

    private func inOther(_ sandbox: Sandbox, _ arguments: String...) throws -> Run {
        try sandbox.run(
            arguments + ["--vault", "family.vault", "--passphrase-file", sandbox.path("other passphrase")])
    }

    @Test(
        "U21: what is removed before sharing is named while earlier values keep it, and is not in a copy of the items")
    func sharing() throws {
        let sandbox = try sandbox()
        let updated = try sandbox.ok("update", "netflix", "ann", "--remove-attribute", "otp")
        #expect(updated.error.contains("an earlier value of generic-password 'netflix'"), "\(updated.error)")
        #expect(updated.error.contains("still contains 'otp', even after 'vaultfmt compact'"))
        #expect(updated.error.contains("'vaultfmt forget'") && updated.error.contains("'vaultfmt copy'"))
        #expect(try sandbox.ok("compact").error.contains("1 item has earlier values; 'vaultfmt forget'"))
        #expect(try sandbox.ok("get", "netflix", "ann", "--earlier", "1", "--field", "otp").output.contains(Self.seed))
        let copied = try copy(sandbox, "netflix", "--kdf", "testing")
        #expect(copied.status == 0 && copied.error.contains("copied 1 item"), "\(copied.error)")
        #expect(try inOther(sandbox, "get", "netflix").output == "newer")
        #expect(try inOther(sandbox, "get", "netflix", "--earlier", "1").status == 1)
        #expect(try inOther(sandbox, "get", "netflix", "--field", "otp").status == 1)
        #expect(try inOther(sandbox, "get", "netflix", "--field", "scan.pdf").bytes == [0, 1, 2, 255])
        #expect(try inOther(sandbox, "list").lines.count == 1)
        // Everything else of the item is as it was.
        func fields(_ run: Run) throws -> NSDictionary {
            let all = try #require(try run.json() as? [String: Any])
            let ours: Set = ["id", "revision", "writtenBy", "earlierValues"]
            return NSDictionary(dictionary: all.filter { !ours.contains($0.key) })
        }
        let (mine, theirs) = (
            try sandbox.ok("show", "netflix", "--json"), try inOther(sandbox, "show", "netflix", "--json")
        )
        #expect(try fields(mine) == fields(theirs))
        // The passphrase of this vault opens nothing there.
        try sandbox.fails(77, "wrong passphrase", "list", "--vault", "family.vault")
        // Forgotten, compacted: nothing more to name.
        try sandbox.ok("forget", "netflix", "ann", "--all", "--yes")
        #expect(!(try sandbox.ok("compact").error.contains("earlier values")))
    }

    @Test("--history copies earlier values; an existing vault is opened with its own factors, and twins are a choice")
    func existing() throws {
        let sandbox = try sandbox()
        let other = sandbox.path("other passphrase")
        try sandbox.ok("create", "family.vault", "--kdf", "testing", "--passphrase-file", other)
        #expect(try copy(sandbox, "netflix", "bank", "--history", "--yes").status == 0)
        #expect(try inOther(sandbox, "get", "netflix", "--earlier", "1").output == "new")
        #expect(try inOther(sandbox, "history", "netflix").lines.count == 2)
        #expect(try inOther(sandbox, "get", "netflix", "--field", "otp").output.contains(Self.seed))
        let twin = try copy(sandbox, "netflix")
        #expect(twin.status == 1 && twin.error.contains("nothing was copied") && twin.error.contains("--on-duplicate"))
        try sandbox.ok("set", "netflix", "ann", input: "newest".utf8)
        #expect(try copy(sandbox, "--all", "--yes", "--on-duplicate", "update-newer").status == 0)
        #expect(try inOther(sandbox, "get", "netflix").output == "newest")
        #expect(try copy(sandbox, "bank", "--on-duplicate", "keep-both", "--to-group", "shared").status == 0)
        #expect(try inOther(sandbox, "list", "--group", "shared").lines.count == 1)
    }

    @Test("a copy that fails after it has created the other vault removes it, as nothing was stored in it")
    func failsAfterCreating() throws {
        let sandbox = try sandbox()
        try sandbox.write("large", [UInt8](repeating: 0x61, count: 300_000))
        try sandbox.ok("set", "large", "x", "--secret-file", "large")
        func copyLarge(to vault: String, _ more: String = "") throws -> Run {
            try sandbox.shell(
                "ulimit -f 128; '\(Child.binary)' copy large --to \(vault) --to-passphrase-file 'other passphrase' \(more)"
            )
        }
        let run = try copyLarge(to: "family.vault", "--kdf testing")
        #expect(run.status == 74, "\(run.error)")
        #expect(run.error.contains("removed the new vault 'family.vault', because nothing was copied"), "\(run.error)")
        #expect(!FileManager.default.fileExists(atPath: sandbox.path("family.vault")))
        #expect(try copy(sandbox, "bank", "--kdf", "testing").status == 0)
        // A vault that existed before stays, also if it is empty.
        let other = sandbox.path("other passphrase")
        try sandbox.ok("create", "empty.vault", "--kdf", "testing", "--passphrase-file", other)
        #expect(try copyLarge(to: "empty.vault").status == 74)
        #expect(FileManager.default.fileExists(atPath: sandbox.path("empty.vault")))
    }

    @Test("--history with a scoped slot, which opens no earlier values, is refused before a vault is created")
    func scopedHistory() throws {
        let sandbox = try sandbox()
        try sandbox.ok("move", "bank", "--to-group", "ci")
        try sandbox.ok("set", "bank", "ann", input: "newer".utf8)
        let key = try sandbox.write("key", [UInt8](repeating: 7, count: 32))
        try sandbox.ok("slot", "add", "--new-raw-key-file", key, "--grant-group", "ci")
        sandbox.environment["VAULTFMT_PASSPHRASE"] = nil
        let run = try copy(sandbox, "bank", "--history", "--raw-key-file", key, "--kdf", "testing")
        #expect(run.status == 77 && run.error.contains("access to earlier values"), "\(run.error)")
        #expect(!FileManager.default.fileExists(atPath: sandbox.path("family.vault")))
        #expect(try copy(sandbox, "bank", "--raw-key-file", key, "--kdf", "testing").status == 0)
    }

    @Test("what cannot be copied is refused or named, and no vault is created for it")
    func refused() throws {
        let sandbox = try sandbox()
        func isThere() -> Bool { FileManager.default.fileExists(atPath: sandbox.path("family.vault")) }
        try sandbox.fails(64, "use --to VAULT", "copy", "netflix")
        try sandbox.fails(64, "is this vault, or a copy of it", "copy", "netflix", "--to", sandbox.vault)
        try sandbox.fails(
            77, "use --to-passphrase-file or --to-key-file", "copy", "netflix", "--to", "family.vault", "--no-input")
        #expect(try copy(sandbox, "nosuch").status == 1 && !isThere())
        try sandbox.fails(64, "use --yes", "copy", "--all", "--to", "family.vault")
        try sandbox.ok("set", "here", "--accessible", "when-unlocked-this-device-only", input: "h".utf8)
        let device = try copy(sandbox, "here")
        #expect(device.status == 64 && device.error.contains("device-only") && !isThere(), "\(device.error)")
        let both = try copy(sandbox, "here", "bank", "--yes", "--kdf", "testing")
        #expect(
            both.status == 3 && both.error.contains("not copied: ") && both.error.contains("device-only"),
            "\(both.error)")
        #expect(try inOther(sandbox, "list").lines.count == 1)
        try sandbox.fails(
            77, "wrong passphrase", "copy", "netflix", "--to", "family.vault", "--to-passphrase-file",
            sandbox.write("w", "x".utf8))
        try sandbox.fails(64, "--kdf", "copy", "netflix", "--to", "family.vault", "--kdf", "testing")
        try sandbox.fails(
            66, "does not exist", "copy", "netflix", "--to", "no/family.vault", "--to-passphrase-file",
            sandbox.path("w"))
        try sandbox.write("text", "no vault".utf8)
        try sandbox.fails(
            65, "not a vault", "copy", "netflix", "--to", "text", "--to-passphrase-file", sandbox.path("w"))
    }
}
