import Foundation
import Testing

@Suite("Scoped slots at the command")
struct ScopeTests {
    private func sandbox() throws -> Sandbox {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "deploy", "--group", "ci", input: "first".utf8)
        try sandbox.ok("set", "other", "--group", "home", input: "other".utf8)
        return sandbox
    }

    private func key(_ sandbox: Sandbox, _ byte: UInt8 = 7) throws -> String {
        try sandbox.write("raw-\(byte)", [UInt8](repeating: byte, count: 32))
    }

    @Test("objects that a scoped slot cannot check lead to exit 77, as with 'check', and are not called damaged")
    func unchecked() throws {
        let sandbox = try sandbox()
        let key = try key(sandbox)
        try sandbox.ok("slot", "add", "--new-raw-key-file", key, "--grant-group", "ci")
        sandbox.environment["VAULTFMT_PASSPHRASE"] = nil
        try sandbox.fails(
            77, "could not be checked without their keys; verify the vault with a full slot", "verify",
            "--raw-key-file", key)
    }

    @Test("S5: --grant-group of a group that is not there is refused, with those that are; --create-group makes it")
    func unknownGroup() throws {
        let sandbox = try sandbox()
        let key = try key(sandbox)
        let before = try sandbox.read("test.vault")
        let run = try sandbox.fails(
            1, "no access group 'c1'", "slot", "add", "--new-raw-key-file", key, "--grant-group", "c1")
        #expect(run.error.contains("'ci'") && run.error.contains("--create-group"))
        #expect(try sandbox.read("test.vault") == before)
        try sandbox.fails(64, "--grant-group", "slot", "add", "--new-raw-key-file", key, "--create-group")
        try sandbox.ok(
            "slot", "add", "--new-raw-key-file", key, "--grant-group", "ci", "--grant-group", "later", "--create-group")
        #expect(try sandbox.ok("slot", "list").output.contains("ci, later"))
    }

    @Test("slot remove says of a scoped slot that its keys were replaced, of a full one that a copied key opens")
    func removed() throws {
        let sandbox = try sandbox()
        try sandbox.ok("slot", "add", "--new-raw-key-file", key(sandbox), "--grant-group", "ci", "--name", "runner")
        try sandbox.ok("slot", "add", "--new-raw-key-file", key(sandbox, 8), "--name", "full")
        let scoped = try sandbox.ok("slot", "remove", "runner", "--yes").error
        #expect(scoped.contains("the keys that it opens were replaced") && !scoped.contains("still opens"), "\(scoped)")
        let full = try sandbox.ok("slot", "remove", "full", "--yes").error
        #expect(full.contains("a copied key still opens the vault until 'vaultfmt rekey --rotate'"), "\(full)")
    }

    @Test("S5: factors that open a slot already are refused, and the slot is named")
    func sameFactors() throws {
        let sandbox = try sandbox()
        let key = try key(sandbox)
        try sandbox.ok("slot", "add", "--new-raw-key-file", key, "--grant-group", "ci", "--name", "runner")
        let before = try sandbox.read("test.vault")
        try sandbox.fails(64, "\"runner\"", "slot", "add", "--new-raw-key-file", key, "--name", "full")
        sandbox.environment["VAULTFMT_NEW_PASSPHRASE"] = sandbox.environment["VAULTFMT_PASSPHRASE"]
        try sandbox.fails(64, "open the full slot", "slot", "add", "--kdf", "testing")
        #expect(try sandbox.read("test.vault") == before)
    }

    @Test(
        "S1: the help of --grant-group says that its holder lists all names, and that secrets it could read should be changed"
    )
    func help() throws {
        func words(_ option: String) throws -> String {
            try Sandbox().ok("slot", "add", option).output.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        }
        #expect(try words("--help").contains("only to this group and to the names of all items"))
        let words = try words("--help-all")
        #expect(words.contains("the names, labels and dates of all items"))
        #expect(words.contains("change the secret itself"))
    }

    @Test(
        "S1, S2: what becomes stricter leaves nothing in the file; with --later, the command says what stays readable, and for whom"
    )
    func later() throws {
        let sandbox = try sandbox()
        // Earlier values are for owners only: no record of theirs is among those that others open.
        try sandbox.ok("rekey", "--keep", "0")
        try sandbox.ok("slot", "add", "--new-raw-key-file", key(sandbox), "--grant-group", "ci")
        func records() throws -> Int {
            let bytes = try sandbox.read("test.vault")
            return bytes.indices.dropLast(4).count { bytes[$0..<$0 + 4].elementsEqual("vREC".utf8) }
        }
        #expect(try records() == 2)
        var run = try sandbox.ok("move", "deploy", "--to-group", "home", "--later")
        #expect(run.error.contains("an old record of") && run.error.contains("with the slots of the group 'ci'"))
        #expect(run.error.contains("'vaultfmt compact'"))
        #expect(try records() == 3)
        run = try sandbox.ok("update", "other", "--accessible", "always", "--later")
        #expect(!run.error.contains("old record"))
        run = try sandbox.ok("update", "other", "--accessible", "when-unlocked", "--later")
        #expect(run.error.contains("while the vault is locked"))
        run = try sandbox.ok(
            "set", "other", "--accessible", "when-unlocked-this-device-only", "--later", input: "new".utf8)
        #expect(run.error.contains("on other devices"))
        #expect(try records() == 6)
        try sandbox.ok("update", "other", "--accessible", "always")
        run = try sandbox.ok("update", "other", "--accessible", "when-unlocked")
        #expect(try records() == 2 && !run.error.contains("an old record of"))
        #expect(run.error.contains("the file was rewritten"))
        #expect(try sandbox.ok("get", "deploy").output == "first")
    }

    @Test(
        "S1: an attribute that is sealed leaves no page that other slots read; with --later, the command says what stays readable"
    )
    func sealing() throws {
        let sandbox = try sandbox()
        try sandbox.ok("slot", "add", "--new-raw-key-file", key(sandbox), "--grant-group", "ci")
        try sandbox.ok("update", "other", "--accessible", "always")
        try sandbox.ok("update", "other", "--attribute", "pet=Biscuit", "--attribute", "town=Rome")
        // A secret that was replaced keeps the attributes of its time, for owners.
        try sandbox.ok("set", "other", input: "newer".utf8)
        try sandbox.ok("compact")
        func pages() throws -> Int {
            let bytes = try sandbox.read("test.vault")
            return bytes.indices.dropLast(4).count { bytes[$0..<$0 + 4].elementsEqual("vPAG".utf8) }
        }
        let clean = try pages()
        var run = try sandbox.ok("update", "other", "--secret-attribute", "pet", "--later", input: "Rex".utf8)
        #expect(run.error.contains("the old value of 'pet' of generic-password 'other'"), "\(run.error)")
        #expect(run.error.contains("can still be read with scoped slots that do not open the item until 'vaultfmt"))
        #expect(run.error.contains("an earlier value of generic-password 'other'"), "\(run.error)")
        #expect(run.error.contains("still contains 'pet'"), "\(run.error)")
        #expect(run.error.contains("'vaultfmt forget'"))
        #expect(try pages() > clean)
        run = try sandbox.ok("set", "other", "--secret-attribute", "town", input: "Paris".utf8)
        #expect(
            run.error.contains("the file was rewritten to protect the old value of 'town' from its previous readers"),
            "\(run.error)")
        #expect(run.error.contains("still contains 'town'"))
        #expect(try pages() == clean)
        // What is sealed already was readable to nobody else.
        run = try sandbox.ok("update", "other", "--secret-attribute", "pet", input: "Max".utf8)
        #expect(!run.error.contains("rewritten") && !run.error.contains("still contains"), "\(run.error)")
        #expect(try sandbox.ok("get", "other", "--field", "pet").output == "Max")
        #expect(try sandbox.ok("get", "other").output == "newer")
    }

    @Test(
        "S3: salvage leaves out what is not proven to be an owner's, names it, and ends with 3; --include-unproven takes it"
    )
    func salvage() throws {
        let sandbox = try sandbox()
        try sandbox.ok("rekey", "--keep", "0")
        try sandbox.ok("slot", "add", "--new-raw-key-file", key(sandbox), "--grant-group", "ci")
        try sandbox.ok("set", "deploy", input: "second".utf8)
        try sandbox.ok("set", "other", input: "second".utf8)
        var bytes = try sandbox.read("test.vault")
        let records = bytes.indices.dropLast(4).filter { bytes[$0..<$0 + 4].elementsEqual("vREC".utf8) }
        // The last but one is the newest record of "deploy".
        bytes[try #require(records.dropLast().last) + 100] ^= 1
        try sandbox.write("test.vault", bytes)
        var run = try sandbox.fails(
            3, "not proven", "salvage", sandbox.vault, "--output", sandbox.path("new.vault"), "--kdf", "testing")
        #expect(
            run.error.contains("not proven to come from an owner, left out: generic-password 'deploy'")
                && run.error.contains("recovered 1 "))
        #expect(
            run.error.contains(": a state of 1 item; --include-unproven recovers that too"), "\(run.error)")
        run = try sandbox.fails(
            3, "not proven", "salvage", sandbox.vault, "--output", sandbox.path("all.vault"), "--kdf", "testing",
            "--include-unproven")
        #expect(run.error.contains("included: generic-password 'deploy'"))
        #expect(try sandbox.ok("get", "deploy", "-f", sandbox.path("all.vault")).output == "first")
    }
}
