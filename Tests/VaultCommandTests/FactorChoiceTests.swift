import Foundation
import Testing

/// A variable applies to every command and every vault; an option is given for one of them. The user who names a
/// factor means the slot that it opens.
@Suite("A factor that an option names decides which slot opens")
struct FactorChoiceTests {
    private let sandbox: Sandbox
    private let passphrase: String
    private let wrong: String
    private let new: String

    init() throws {
        sandbox = try Sandbox()
        sandbox.forgetPassphrase()
        passphrase = try sandbox.write("pw", "the passphrase of a slot".utf8)
        wrong = try sandbox.write("wrong", "the passphrase of no slot".utf8)
        new = try sandbox.write("new", "another good passphrase".utf8)
    }

    private func generate(_ name: String) throws -> String {
        try sandbox.ok("generate", "--key-file", sandbox.path(name))
        return sandbox.path(name)
    }

    /// Makes a vault with a slot for a key file and another for a passphrase, and returns the key file.
    private func makeSlots() throws -> String {
        let key = try generate("own.key")
        try sandbox.ok("create", "--key-file", key)
        try sandbox.ok("set", "svc", "--key-file", key, input: "s3cret".utf8)
        try sandbox.ok(
            "slot", "add", "--key-file", key, "--new-passphrase-file", passphrase, "--kdf", "testing", "--name", "pp")
        return key
    }

    /// Runs a command that must not open the vault: exit 77, this message, no output, and no change.
    private func isRefused(_ message: String, _ arguments: [String], input: String = "") throws {
        let before = try sandbox.read("test.vault")
        let run = try sandbox.run(arguments, input: Array(input.utf8))
        #expect(run.status == 77 && run.output.isEmpty, "\(arguments): \(run.error)")
        #expect(run.error.contains(message), "\(arguments): \(run.error)")
        #expect(try sandbox.read("test.vault") == before, "\(arguments)")
    }

    @Test("rekey changes the slot of the passphrase that is given, not that of the key file in the environment")
    func rekey() throws {
        let key = try makeSlots()
        sandbox.environment["VAULTFMT_KEY_FILE"] = key
        let run = try sandbox.ok(
            "rekey", "--passphrase-file", passphrase, "--new-passphrase-file", new, "--kdf", "testing")
        #expect(run.error.contains("it opens with a passphrase;"), "\(run.error)")
        for variable in [key, nil] {
            sandbox.environment["VAULTFMT_KEY_FILE"] = variable
            try isRefused("wrong passphrase (--passphrase-file)", ["get", "svc", "--passphrase-file", passphrase])
            #expect(try sandbox.ok("get", "svc", "--passphrase-file", new).output == "s3cret")
        }
        #expect(try sandbox.ok("get", "svc", "--key-file", key).output == "s3cret")
    }

    @Test("rekey changes the slot of the key file that is given, not that of the passphrase in the environment")
    func rekeyKeyFile() throws {
        let key = try makeSlots()
        let other = try generate("other.key")
        sandbox.environment["VAULTFMT_PASSPHRASE_FILE"] = passphrase
        try sandbox.ok("rekey", "--key-file", key, "--new-key-file", other)
        try isRefused("(--key-file)", ["get", "svc", "--key-file", key])
        #expect(try sandbox.ok("get", "svc", "--key-file", other).output == "s3cret")
        #expect(try sandbox.ok("get", "svc").output == "s3cret")
    }

    @Test("rekey changes the slot that needs the given passphrase only, if another one also needs the key file")
    func rekeyExactly() throws {
        let key = try generate("second.key")
        try sandbox.ok("create", "--passphrase-file", passphrase, "--kdf", "testing")
        try sandbox.ok(
            "slot", "add", "--passphrase-file", passphrase, "--new-passphrase-file", passphrase, "--new-key-file", key,
            "--kdf", "testing")
        sandbox.environment["VAULTFMT_KEY_FILE"] = key
        try sandbox.ok("rekey", "--passphrase-file", passphrase, "--new-passphrase-file", new, "--kdf", "testing")
        sandbox.environment["VAULTFMT_KEY_FILE"] = nil
        try isRefused("wrong passphrase (--passphrase-file)", ["list", "--passphrase-file", passphrase])
        try sandbox.ok("list", "--passphrase-file", new)
        try sandbox.ok("list", "--passphrase-file", passphrase, "--key-file", key)
    }

    @Test("a wrong passphrase opens and changes nothing, even if the key file in the environment would")
    func wrongPassphrase() throws {
        sandbox.environment["VAULTFMT_KEY_FILE"] = try makeSlots()
        let message = "wrong passphrase (--passphrase-file); it opens with a generated key file (--key-file)"
        try isRefused(message, ["get", "svc", "--passphrase-file", wrong])
        try isRefused(message, ["set", "svc", "--passphrase-file", wrong], input: "changed")
        try isRefused(
            message, ["rekey", "--passphrase-file", wrong, "--new-passphrase-file", new, "--kdf", "testing"])
        try isRefused(message, ["rekey", "--rotate", "--yes", "--passphrase-file", wrong])
        try isRefused(
            "wrong passphrase (--passphrase-fd)", ["get", "svc", "--passphrase-fd", "0"], input: "no such passphrase")
        let saved = sandbox.path("saved.vault")
        try isRefused("(--passphrase-file)", ["salvage", "--output", saved, "--passphrase-file", wrong])
        #expect(!FileManager.default.fileExists(atPath: saved))
        #expect(try sandbox.ok("get", "svc").output == "s3cret")
    }

    @Test(
        "a key file that fits no slot opens nothing, even if the passphrase in the environment would",
        arguments: ["VAULTFMT_PASSPHRASE_FILE", "VAULTFMT_PASSPHRASE"])
    func wrongKeyFile(_ variable: String) throws {
        _ = try makeSlots()
        let other = try generate("other.key")
        let text = String(decoding: try sandbox.read("pw"), as: UTF8.self)
        sandbox.environment[variable] = variable.hasSuffix("_FILE") ? passphrase : text
        try isRefused("no slot opens with this key (--key-file)", ["get", "svc", "--key-file", other])
        try isRefused("(--key-file)", ["rekey", "--key-file", other, "--new-key-file", other])
        #expect(try sandbox.ok("get", "svc").output == "s3cret")
    }

    @Test("the passphrase of an owner is not passed over for a scoped key in the environment")
    func scopedVariable() throws {
        try sandbox.ok("create", "--passphrase-file", passphrase, "--kdf", "testing")
        try sandbox.ok("set", "priv", "a", "--passphrase-file", passphrase, input: "private".utf8)
        let key = try generate("ci.key")
        try sandbox.ok(
            "slot", "add", "--passphrase-file", passphrase, "--new-key-file", key, "--grant-group", "ci",
            "--create-group")
        sandbox.environment["VAULTFMT_KEY_FILE"] = key
        try isRefused("does not grant", ["get", "priv", "a"])
        #expect(try sandbox.ok("get", "priv", "a", "--passphrase-file", passphrase).output == "private")
        try sandbox.ok("set", "priv", "a", "--passphrase-file", passphrase, input: "changed".utf8)
        #expect(try sandbox.ok("get", "priv", "a", "--passphrase-file", passphrase).output == "changed")
    }

    @Test("a slot for two factors opens with both from options, both from variables, or one of each")
    func twoFactors() throws {
        let key = try generate("second.key")
        let (first, second) = (["--passphrase-file", passphrase], ["--key-file", key])
        try sandbox.ok(["create", "--kdf", "testing"] + first + second)
        try sandbox.ok(["set", "svc"] + first + second, input: "s3cret".utf8)
        let ways: [(passphrase: Bool, keyFile: Bool)] = [(true, true), (true, false), (false, true), (false, false)]
        for way in ways {
            sandbox.environment["VAULTFMT_PASSPHRASE_FILE"] = way.passphrase ? passphrase : nil
            sandbox.environment["VAULTFMT_KEY_FILE"] = way.keyFile ? key : nil
            let options = (way.passphrase ? [] : first) + (way.keyFile ? [] : second)
            #expect(try sandbox.ok(["get", "svc"] + options).output == "s3cret", "\(options)")
        }
        sandbox.environment["VAULTFMT_KEY_FILE"] = key
        try isRefused("wrong passphrase or key file (--passphrase-file)", ["get", "svc", "--passphrase-file", wrong])
        // What variables complete is changed like any other slot, and stays in use.
        try sandbox.ok("rekey", "--passphrase-file", passphrase, "--new-passphrase-file", new, "--kdf", "testing")
        try isRefused("wrong passphrase", ["get", "svc", "--passphrase-file", passphrase])
        #expect(try sandbox.ok("get", "svc", "--passphrase-file", new).output == "s3cret")
        sandbox.environment["VAULTFMT_KEY_FILE"] = nil
        try isRefused("it opens with a passphrase and a generated", ["get", "svc", "--passphrase-file", new])
        #expect(try sandbox.ok("get", "svc", "--passphrase-file", new, "--key-file", key).output == "s3cret")
    }

    @Test("a salvaged vault opens with the passphrase that is given, even if another slot also needs the key file")
    func salvage() throws {
        let key = try generate("second.key")
        let (first, second) = (["--passphrase-file", passphrase], ["--new-key-file", key])
        try sandbox.ok(["create", "--kdf", "testing"] + first)
        try sandbox.ok(["set", "svc"] + first, input: "s3cret".utf8)
        try sandbox.ok(["slot", "add", "--new-passphrase-file", passphrase, "--kdf", "testing"] + first + second)
        sandbox.environment["VAULTFMT_KEY_FILE"] = key
        let saved = sandbox.path("saved.vault")
        try sandbox.ok(["salvage", "--output", saved, "--kdf", "testing"] + first)
        sandbox.environment["VAULTFMT_KEY_FILE"] = nil
        #expect(try sandbox.ok(["get", "svc", "--vault", saved] + first).output == "s3cret")
    }

    @Test("factors that options give together are needed together")
    func together() throws {
        let key = try makeSlots()
        let (first, second) = (["--passphrase-file", passphrase], ["--key-file", key])
        let message = "(--passphrase-file and --key-file together)"
        try isRefused(message, ["get", "svc"] + first + second)
        try isRefused(message, ["rekey", "--new-passphrase-file", new, "--kdf", "testing"] + first + second)
        for one in [first, second] { try sandbox.ok(["get", "svc"] + one) }
    }

    @Test("variables alone are tried one by one, and with a new slot's options as before")
    func variables() throws {
        let key = try makeSlots()
        sandbox.environment["VAULTFMT_KEY_FILE"] = key
        sandbox.environment["VAULTFMT_PASSPHRASE_FILE"] = wrong
        #expect(try sandbox.ok("get", "svc").output == "s3cret")
        let raw = try sandbox.write("raw", (0..<32).map { UInt8($0) })
        try sandbox.ok("slot", "add", "--new-raw-key-file", raw)
        #expect(try sandbox.ok("get", "svc", "--raw-key-file", raw).output == "s3cret")
        sandbox.environment["VAULTFMT_KEY_FILE"] = try generate("other.key")
        sandbox.environment["VAULTFMT_PASSPHRASE_FILE"] = passphrase
        #expect(try sandbox.ok("get", "svc").output == "s3cret")
        // A new slot needs both, whichever way they come.
        sandbox.environment["VAULTFMT_NEW_KEY_FILE"] = key
        let added = try sandbox.ok("slot", "add", "--new-passphrase-file", new, "--kdf", "testing")
        #expect(added.error.contains("a passphrase and a generated key file together"), "\(added.error)")
        try sandbox.ok("get", "svc", "--passphrase-file", new, "--key-file", key)
    }

    @Test("an identity that is given is not replaced by factors in the environment, nor the other way round")
    func identity() throws {
        let (alice, bob) = (try identity("alice"), try identity("bob"))
        let key = try makeSlots()
        try sandbox.ok("slot", "add", "--key-file", key, "--recipient", alice.recipient)
        sandbox.environment["VAULTFMT_KEY_FILE"] = key
        #expect(try sandbox.ok("get", "svc", "--identity", alice.file).output == "s3cret")
        try isRefused("(--identity)", ["get", "svc", "--identity", bob.file])
        sandbox.environment["VAULTFMT_KEY_FILE"] = nil
        sandbox.environment["VAULTFMT_IDENTITY"] = alice.file
        #expect(try sandbox.ok("get", "svc").output == "s3cret")
        try isRefused("wrong passphrase (--passphrase-file)", ["get", "svc", "--passphrase-file", wrong])
        try isRefused("(--key-file)", ["get", "svc", "--key-file", generate("other.key")])
        try sandbox.fails(
            64, "--key-file cannot be combined with --identity", "get", "svc", "--key-file", key, "--identity",
            alice.file)
    }

    @Test("an identity in the environment completes a passphrase that an option gives")
    func identityCompletes() throws {
        let alice = try identity("alice")
        let file = ["--passphrase-file", passphrase]
        try sandbox.ok(["create", "--recipient", alice.recipient, "--no-recovery", "--kdf", "testing"] + file)
        try isRefused("a passphrase and an age identity", ["list"] + file)
        sandbox.environment["VAULTFMT_IDENTITY"] = alice.file
        try sandbox.ok(["list"] + file)
        try isRefused("(--passphrase-file)", ["list", "--passphrase-file", wrong])
    }

    @Test(
        "a key that 'unlock' keeps does not open the vault in place of a wrong factor",
        .enabled(if: Machine.hasKeyring, "no kernel keyring here"))
    func keptKey() throws {
        let key = try makeSlots()
        try sandbox.ok("unlock", "--key-file", key)
        #expect(try sandbox.ok("get", "svc").output == "s3cret")
        try isRefused("wrong passphrase (--passphrase-file)", ["get", "svc", "--passphrase-file", wrong])
        sandbox.environment["VAULTFMT_KEY_FILE"] = key
        try isRefused("wrong passphrase (--passphrase-file)", ["get", "svc", "--passphrase-file", wrong])
        try sandbox.ok("lock")
    }

    /// A new identity file, and its recipient.
    private func identity(_ name: String) throws -> (file: String, recipient: String) {
        let file = sandbox.path(name + ".txt")
        let made = try sandbox.ok("generate", "--identity", file, "--json").json() as? [String: String]
        return (file, try #require(made?["publicKey"]))
    }
}
