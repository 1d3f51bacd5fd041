import Foundation
import Testing

@Suite("Owners, damaged tails and slots of later versions")
struct OwnerTests {
    private func owners(_ sandbox: Sandbox, _ file: String = "test.vault") throws -> String {
        let inside = try #require(try sandbox.ok("inspect", file, "--json").json() as? [String: Any])
        return try #require(inside["owners"] as? String)
    }

    @Test(
        "--owner refuses a vault of others before anything of it is served; it is the same for all slots, and another after a rotation"
    )
    func owner() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "svc", "--group", "ci", input: "s".utf8)
        let key = try sandbox.write("raw", [UInt8](repeating: 7, count: 32))
        try sandbox.ok("slot", "add", "--new-raw-key-file", key, "--grant-group", "ci")
        let owner = try owners(sandbox)
        #expect(owner.count == 64)
        // A build machine without any memory.
        sandbox.environment["XDG_STATE_HOME"] = sandbox.path("build")
        #expect(try sandbox.ok("get", "svc", "--raw-key-file", key, "--owner", owner).output == "s")
        let other = String(owner.dropLast()) + (owner.hasSuffix("0") ? "1" : "0")
        let all = [
            ["get", "svc"], ["list"], ["export"], ["verify"], ["anchor"], ["history", "svc"],
            ["get", "svc", "--raw-key-file", key],
            ["salvage", "--output", sandbox.path("salvaged")],
        ]
        for arguments in all {
            let run = try sandbox.run(arguments + ["--owner", other])
            #expect(
                run.status == 65 && run.bytes == [] && run.error.contains("owners other than"),
                "\(arguments): \(run.error)")
        }
        #expect(!FileManager.default.fileExists(atPath: sandbox.path("salvaged")))
        let salvaged = try sandbox.ok("salvage", "--output", sandbox.path("salvaged"), "--owner", owner)
        #expect(salvaged.error.contains("(scoped, raw key); 'vaultfmt slot add' recreates it"))
        try sandbox.fails(64, "--owner does not apply to a new vault", "create", "new.vault", "--owner", owner)
        try sandbox.fails(64, "invalid value for '--owner", "list", "--owner", "abc")
        sandbox.environment["XDG_STATE_HOME"] = sandbox.path("state")
        try sandbox.ok("rekey", "--rotate", "--keep-raw-key-file", key)
        #expect(try owners(sandbox) != owner)
        try sandbox.fails(65, "owners other than", "get", "svc", "--owner", owner)
    }

    @Test(
        "--owner counts for a vault that is kept unlocked too",
        .enabled(if: Machine.hasKeyring, "no kernel keyring here"))
    func unlocked() throws {
        let sandbox = try Sandbox.withVault()
        let owner = try owners(sandbox)
        try sandbox.ok("unlock")
        sandbox.environment["VAULTFMT_PASSPHRASE"] = nil
        try sandbox.ok("list", "--owner", owner)
        try sandbox.fails(65, "owners other than", "list", "--owner", String(repeating: "0", count: 64))
        try sandbox.ok("lock")
    }

    @Test("a damaged end is read around, named, and changed by nothing until 'repair' has put it aside")
    func repair() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "a", input: "1".utf8)
        let before = try sandbox.read("test.vault")
        try sandbox.ok("set", "b", input: "2".utf8)
        var bytes = try sandbox.read("test.vault")
        bytes[bytes.count - 100] ^= 1
        try sandbox.write("test.vault", bytes)
        sandbox.environment["XDG_STATE_HOME"] = sandbox.path("other")
        let read = try sandbox.ok("get", "a")
        #expect(read.output == "1" && read.error.contains("vaultfmt repair"))
        try sandbox.fails(65, "vaultfmt repair", "set", "c", input: "3".utf8)
        try sandbox.fails(65, "1 problem", "verify")
        #expect(try sandbox.read("test.vault") == bytes)
        let run = try sandbox.ok("repair")
        #expect(run.error.contains("test.vault.damaged-3"))
        #expect(try sandbox.read("test.vault") == before)
        #expect(try sandbox.read("test.vault.damaged-3") == Array(bytes[before.count...]))
        try sandbox.ok("set", "c", input: "3".utf8)
        #expect(try sandbox.ok("verify").output.contains("sound:"))
        #expect(try sandbox.ok("repair").error.contains("is not damaged"))
    }

    @Test(
        "N11: what keeps every other command from finding the newest state, 'repair' sets aside",
        arguments: [true, false])
    func repairFarEnd(hasHeads: Bool) throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "a", input: "1".utf8)
        let whole = try sandbox.read("test.vault")
        let junk: [UInt8]
        if hasHeads {
            junk = (0..<64).flatMap { Array("vCMT".utf8) + [0, 2, 0, 0] + [UInt8](repeating: $0, count: 504) }
            try sandbox.write("test.vault", whole + junk)
        } else {
            junk = [7]
            #expect(truncate(sandbox.vault, 300 << 20) == 0)
            let file = try FileHandle(forWritingTo: URL(fileURLWithPath: sandbox.vault))
            try file.seekToEnd()
            try file.write(contentsOf: junk)
            try file.close()
        }
        for command in ["list", "verify", "compact"] {
            try sandbox.fails(65, "'vaultfmt repair' searches all of it", command)
        }
        let run = try sandbox.ok("repair")
        #expect(run.error.contains("test.vault.damaged-3") && !run.error.contains("cannot be changed"))
        #expect(try sandbox.read("test.vault") == whole)
        #expect(try sandbox.ok("get", "a").output == "1")
        try sandbox.ok("set", "b", input: "2".utf8)
        try sandbox.ok("verify")
        if hasHeads { #expect(try sandbox.read("test.vault.damaged-3") == junk) }
        // It does not go back behind what this machine has seen.
        try sandbox.write("test.vault", whole + junk)
        try sandbox.fails(65, "damaged or cut off", "repair")
    }

    @Test("a slot of a kind or factors that this version does not know is listed, of unknown strength")
    func unknownSlot() throws {
        let sandbox = try Sandbox.withVault()
        let whole = try sandbox.read("test.vault")
        for (place, value, text) in [(68 + 20, 0x03, "unknown kind 3"), (68 + 21, 0x40, "unknown factors")]
            as [(Int, UInt8, String)]
        {
            var bytes = whole
            bytes[place] = value
            try sandbox.write("test.vault", Headers.sealed(bytes))
            sandbox.environment["VAULTFMT_PASSPHRASE"] = nil
            let shown = try sandbox.ok("inspect").output
            #expect(shown.contains(text) && shown.contains("strength unknown"), "\(shown)")
            let json = try #require(try sandbox.ok("inspect", "--json").json() as? [String: Any])
            let slot = try #require((json["slots"] as? [[String: Any]])?.first)
            #expect(slot["strength"] as? String == "unknown" && slot["weak"] as? Bool == false)
            sandbox.environment["VAULTFMT_PASSPHRASE"] = Sandbox.passphrase
            try sandbox.fails(77, "a newer vaultfmt is needed", "list")
        }
    }
}
