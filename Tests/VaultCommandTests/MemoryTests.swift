import Foundation
import TestSupport
import Testing
import VaultFmt

@Suite("What this machine remembers")
struct MemoryTests {
    /// Puts one of the vault's earlier states back.
    private func rolledBack() throws -> Sandbox {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "svc", input: "old".utf8)
        let old = try sandbox.read("test.vault")
        try sandbox.ok("set", "svc", input: "new".utf8)
        try sandbox.write("test.vault", old)
        return sandbox
    }

    @Test("a vault that was rolled back is refused until its state is accepted")
    func rollback() throws {
        let sandbox = try rolledBack()
        let refused = try sandbox.fails(65, "rolled back", "get", "svc")
        #expect(refused.bytes == [])
        try sandbox.fails(65, "rolled back", "set", "svc", input: "x".utf8)
        try sandbox.fails(65, "rolled back", "anchor")
        let report = try #require(try sandbox.fails(65, "rolled back", "verify", "--json").json() as? [String: Any])
        let problems = try #require(report["problems"] as? [String])
        #expect(report["sound"] as? Bool == false && report["problemCount"] as? Int == 1)
        #expect(problems.count == 1 && problems.allSatisfy { $0.contains("rolled back") }, "\(problems)")
        try sandbox.ok("anchor", "--accept")
        #expect(try sandbox.ok("get", "svc").output == "old")
    }

    @Test(
        "N2: a stranger's vault with the same id is refused, whichever slot the same key opens in it, and the honest one opens again",
        arguments: [true, false])
    func stranger(knownAsScoped: Bool) throws {
        let sandbox = try Sandbox.withVault()
        let key = try sandbox.write("key", [UInt8](repeating: 7, count: 32))
        try sandbox.ok("set", "svc", "--group", "ci", input: "honest".utf8)
        let empty = try sandbox.read("test.vault")
        let grant = { (isScoped: Bool) in
            let scope = isScoped ? ["--grant-group", "ci"] : []
            let run = try sandbox.run(["slot", "add", "--new-raw-key-file", key] + scope)
            #expect(run.status == 0, "\(run.error)")
        }
        try grant(knownAsScoped)
        let honest = try sandbox.read("test.vault")
        /// Runs commands with a memory of their own.
        func on(_ state: String, _ body: () throws -> Void) rethrows {
            let before = sandbox.environment
            sandbox.environment["XDG_STATE_HOME"] = sandbox.path(state)
            try body()
            sandbox.environment = before
        }
        func get() throws -> Run {
            sandbox.environment["VAULTFMT_PASSPHRASE"] = nil
            return try sandbox.run("get", "svc", "--raw-key-file", key)
        }
        try on("victim") {
            let run = try get()
            #expect(run.output == "honest")
        }
        for strangersIsScoped in [true, false] {
            try sandbox.write("test.vault", empty)
            try on("stranger \(strangersIsScoped)") {
                try sandbox.ok("rekey", "--rotate")
                try sandbox.ok("set", "svc", "--group", "ci", input: "forged".utf8)
                try grant(strangersIsScoped)
            }
            let forged = try StrangersVault.withoutHandOvers(
                try sandbox.read("test.vault"), .passphrase(Array(Sandbox.passphrase.utf8)))
            try sandbox.write("test.vault", forged)
            try on("a new machine") {
                let run = try get()
                #expect(run.output == "forged", "the key opens it")
            }
            try on("victim") {
                let refused = try get()
                #expect(refused.status == 65 && refused.bytes == [] && refused.error.contains("other owners"))
            }
            try FileManager.default.removeItem(atPath: sandbox.path("a new machine"))
            try sandbox.write("test.vault", honest)
            try on("victim") {
                let run = try get()
                #expect(run.output == "honest")
            }
        }
    }

    @Test("a vault that was continued from an older state is forked, and refused")
    func fork() throws {
        let sandbox = try rolledBack()
        let state = sandbox.environment["XDG_STATE_HOME"]
        sandbox.environment["XDG_STATE_HOME"] = sandbox.path("elsewhere")
        try sandbox.ok("set", "svc", input: "other".utf8)
        try sandbox.ok("set", "svc", input: "other still".utf8)
        sandbox.environment["XDG_STATE_HOME"] = state
        try sandbox.fails(65, "forked", "get", "svc")
        try sandbox.ok("anchor", "--accept")
        #expect(try sandbox.ok("get", "svc").output == "other still")
    }

    @Test("the first sight of a vault is one line on standard error, the next is none")
    func firstSight() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "svc", input: "s".utf8)
        #expect(try sandbox.ok("get", "svc").error == "")
        sandbox.environment["XDG_STATE_HOME"] = sandbox.path("another machine")
        let first = try sandbox.ok("get", "svc")
        #expect(first.output == "s")
        #expect(first.error.hasPrefix("vaultfmt: this machine has not seen this vault before"))
        #expect(first.error.utf8.count { $0 == 0x0A } == 1)
        #expect(try sandbox.ok("get", "svc").error == "")
    }

    @Test("a vault that is opened with a slot for some groups for the first time is not called unknown")
    func otherRole() throws {
        let sandbox = try Sandbox.withVault()
        let key = try sandbox.write("ci.key", [UInt8](repeating: 7, count: 32))
        try sandbox.ok("slot", "add", "--new-raw-key-file", key, "--grant-group", "ci", "--create-group")
        try sandbox.ok("set", "svc", "--group", "ci", input: "s".utf8)
        sandbox.environment["VAULTFMT_PASSPHRASE"] = nil
        let first = try sandbox.ok("get", "svc", "--raw-key-file", key)
        #expect(first.error.hasPrefix("vaultfmt: this machine has not opened this vault with a slot for some groups"))
        #expect(try sandbox.ok("get", "svc", "--raw-key-file", key).error == "")
    }

    @Test("a change made elsewhere is simply newer")
    func descends() throws {
        let sandbox = try Sandbox.withVault()
        let state = sandbox.environment["XDG_STATE_HOME"]
        sandbox.environment["XDG_STATE_HOME"] = sandbox.path("elsewhere")
        for number in 0..<5 { try sandbox.ok("set", "svc", input: "\(number)".utf8) }
        try sandbox.ok("compact")
        sandbox.environment["XDG_STATE_HOME"] = state
        let run = try sandbox.ok("get", "svc")
        #expect(run.output == "4")
        #expect(run.error == "")
    }

    @Test("M3: a vault proves its past however much it was changed and compacted elsewhere")
    func provable() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "svc", input: "before".utf8)
        let anchor = try sandbox.ok("anchor").output.trimmingCharacters(in: .newlines)
        do {
            var options = OpenOptions()
            options.writable = true
            let vault = try Vault.open(
                sandbox.vault, factors: Factors(passphrase: Secret(text: Sandbox.passphrase)), options: options)
            let key = try ItemKey.genericPassword(service: "svc")
            for number in 0..<300 { try vault.set(key, secret: Secret(text: "\(number)")) }
            try vault.compact()
        }
        let run = try sandbox.ok("get", "svc")
        #expect(run.output == "299" && run.error == "")
        try sandbox.ok("verify", "--anchor", anchor)
    }

    @Test("a copy from before a rotation is found out, also with the passphrase from then")
    func beforeRotation() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "svc", input: "s".utf8)
        let old = try sandbox.read("test.vault")
        try sandbox.ok("rekey", "--rotate")
        try sandbox.write("test.vault", old)
        try sandbox.fails(65, "other owners", "get", "svc")
    }

    @Test("what is remembered is 0600, one file for each vault and place, whatever its key")
    func files() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("rekey", "--rotate")
        let folder = sandbox.path("state/vaultfmt/anchors")
        let names = try FileManager.default.contentsOfDirectory(atPath: folder)
            .filter { $0 != ".lock" && !$0.hasSuffix(".made") }
        #expect(names.count == 1)
        let name = try #require(names.first)
        let attributes = try FileManager.default.attributesOfItem(atPath: folder + "/" + name)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        let anchor = try sandbox.ok("anchor").output.trimmingCharacters(in: .newlines)
        let owners = try #require((try sandbox.ok("inspect", "--json").json() as? [String: Any])?["owners"] as? String)
        #expect(anchor.contains(":\(owners):"))
        #expect(name.hasPrefix(anchor.prefix(32) + ".") && name.hasSuffix(".owner"))
        try sandbox.write("state/vaultfmt/anchors/\(name)", "nonsense".utf8)
        try sandbox.fails(65, "is damaged", "list")
        try sandbox.ok("anchor", "--accept")
        try sandbox.ok("list")
    }

    @Test("a state folder that cannot be written is a warning, not a failure")
    func readOnlyState() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.write("file", "not a folder".utf8)
        sandbox.environment["XDG_STATE_HOME"] = sandbox.path("file")
        let run = try sandbox.ok("list")
        #expect(run.error.contains("warning:"))
    }

    @Test("an item of this device only needs the device file, which is made on first need")
    func device() throws {
        let sandbox = try Sandbox.withVault()
        #expect(!FileManager.default.fileExists(atPath: sandbox.path("state/vaultfmt/device")))
        try sandbox.ok("set", "svc", "--accessible", "when-unlocked-this-device-only", input: "bound".utf8)
        let attributes = try FileManager.default.attributesOfItem(atPath: sandbox.path("state/vaultfmt/device"))
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        #expect(try sandbox.ok("get", "svc").output == "bound")
        try sandbox.ok("verify")
        sandbox.environment["XDG_STATE_HOME"] = sandbox.path("another machine")
        #expect(try sandbox.ok("list").lines.count == 1)
        #expect(try sandbox.ok("get", "svc", "--field", "accessible").output == "when-unlocked-this-device-only")
        try sandbox.fails(69, "device", "get", "svc")
        try sandbox.fails(69, "could not be checked", "verify")
        let rotation = try sandbox.ok("rekey", "--rotate")
        #expect(rotation.error.contains("bound to another device: generic-password 'svc'"))
        sandbox.environment["XDG_STATE_HOME"] = sandbox.path("state")
        #expect(try sandbox.ok("get", "svc").output == "bound")
    }
}
