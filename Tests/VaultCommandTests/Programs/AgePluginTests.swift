import Foundation
import Testing

@Suite("age's plugin: identities in a vault")
struct AgePluginTests {
    private let sandbox: Sandbox

    init() throws {
        sandbox = try Sandbox.withVault()
        try sandbox.linkPrograms()
        try sandbox.write("text", "some text".utf8)
    }

    /// Makes an item with an identity, the file `NAME.txt` for age, and returns the public key.
    private func identity(_ name: String, _ options: String = "") throws -> String {
        let made = try sandbox.okShell("vaultfmt set '\(name)' --generate-identity \(options)")
        let key = try #require(made.error.split(separator: "\n").first { $0.contains("public key: ") })
        try sandbox.okShell("vaultfmt age-plugin 'vaultfmt:\(name)' > '\(name).txt'")
        return String(key.drop { $0 != ":" }.dropFirst().drop { $0 != ":" }.dropFirst(2))
    }

    @Test("age decrypts with the identity in the vault what was encrypted to its public key")
    func decrypting() throws {
        let key = try identity("backup")
        let file = String(decoding: try sandbox.read("backup.txt"), as: UTF8.self)
        #expect(file.hasPrefix("# item: vaultfmt:backup\n# public key: \(key)\nAGE-PLUGIN-VAULTFMT-1"))
        try sandbox.okShell("age -r '\(key)' -o file text")
        #expect(try sandbox.okShell("age -d -i backup.txt file").output == "some text")
        try sandbox.okShell("age-keygen -o other 2>/dev/null; age -r \"$(age-keygen -y other)\" -o file2 text")
        let other = try sandbox.shell("age -d -i backup.txt file2")
        #expect(other.status == 1 && other.error.contains("no identity matched"), "\(other.error)")
    }

    @Test("pyrage decrypts with the identity in the vault, though it starts what the plugin's link leads to")
    func pyrage() throws {
        let key = try identity("backup")
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../../..")
            .standardizedFileURL.path
        sandbox.environment["TOOL"] = "\(root)/Tests/VaultAgeTests/Programs/pyrage-tool"
        sandbox.environment["PYTHON"] = "\(root)/.python/bin/python"
        try sandbox.okShell("\"$PYTHON\" \"$TOOL\" encrypt text file '\(key)'")
        #expect(try sandbox.okShell("\"$PYTHON\" \"$TOOL\" decrypt backup.txt file").output == "some text")
    }

    @Test("is started as rage does it, which follows the plugin's link: under the program's own name")
    func ownName() throws {
        let run = try sandbox.run(["--age-plugin=identity-v1"], input: Array("-> done\n\n".utf8))
        #expect(run.status == 0 && run.output == "-> done\n\n", "\(run.output) \(run.error)")
    }

    @Test("age encrypts to an identity in the vault without its public key")
    func encrypting() throws {
        _ = try identity("backup")
        try sandbox.okShell("age -e -i backup.txt -o file text")
        #expect(try sandbox.okShell("age -d -i backup.txt file").output == "some text")
    }

    @Test("an OpenSSH key in the vault decrypts what was encrypted to its public key")
    func openSSH() throws {
        try sandbox.okShell(
            """
            ssh-keygen -q -t ed25519 -N '' -C '' -f key
            vaultfmt set ssh-key --secret-file key
            vaultfmt age-plugin vaultfmt:ssh-key > ssh.txt
            age -R key.pub -o file text
            """)
        #expect(try sandbox.okShell("age -d -i ssh.txt file").output == "some text")
    }

    @Test("an unlocked vault serves any number of files, and asks for nothing", .enabled(if: Machine.hasKeyring))
    func unlocked() throws {
        let key = try identity("backup")
        try sandbox.unlock()
        for name in ["a", "b"] {
            try sandbox.okShell("age -r '\(key)' -o \(name) text")
            #expect(try sandbox.okShell("age -d -i backup.txt \(name)").output == "some text")
        }
    }

    @Test("age asks for the passphrase of a locked vault, which it is named, and again after a wrong one")
    func asking() throws {
        let key = try identity("backup")
        try sandbox.okShell("age -r '\(key)' -o file text")
        sandbox.forgetPassphrase()
        let terminal = try PseudoTerminal(sandbox, shell: "age -d -i backup.txt file", hasJobs: false)
        try terminal.expect("Passphrase for \(sandbox.vault)")
        try terminal.answerHidden("not this one")
        try terminal.expect("Wrong passphrase; try again. Passphrase for")
        try terminal.answerHidden(Sandbox.passphrase)
        try terminal.expect("some text")
        #expect(try terminal.finish() == 0)
    }

    @Test("two identities of one vault cost one question")
    func together() throws {
        _ = (try identity("one"), try identity("two"))
        sandbox.forgetPassphrase()
        let lines = try ["one.txt", "two.txt"].map { name in
            try #require(String(decoding: try sandbox.read(name), as: UTF8.self).split(separator: "\n").last)
        }
        let said = lines.map { "-> add-identity \($0)\n\n" }.joined()
        let answer = try spoken(
            "recipient-v1",
            "\(said)-> wrap-file-key\n\(encoded("sixteen bytes ok"))\n-> done\n\n-> ok\n\(encoded(Sandbox.passphrase))\n"
                + "-> ok\n\n-> ok\n\n")
        let heads = answer.output.split(separator: "\n").filter { $0.hasPrefix("-> ") }.map { $0.prefix(22) }
        #expect(
            heads == ["-> request-secret", "-> recipient-stanza 0 ", "-> recipient-stanza 0 ", "-> done"],
            "\(answer.output)\(answer.error)")
    }

    @Test("an identity of the default vault names no path; another names its own")
    func places() throws {
        _ = try identity("backup")
        let named = try sandbox.read("backup.txt")
        sandbox.environment["VAULTFMT_VAULT"] = nil
        try sandbox.ok("create", "--kdf", "testing")
        let key = try identity("backup")
        #expect(try sandbox.read("backup.txt").count < named.count)
        try sandbox.okShell("age -r '\(key)' -o file text")
        #expect(try sandbox.okShell("age -d -i backup.txt file").output == "some text")
    }

    @Test("a post-quantum identity is served too")
    func postQuantum() throws {
        let key = try identity("backup", "--pq")
        #expect(key.hasPrefix("age1pq1"))
        // Debian's age does not know the type. A vault does, which is opened through the same plugin.
        sandbox.forgetPassphrase()
        try sandbox.ok("create", "pq.vault", "--recipient", key, "--no-recovery")
        let terminal = try PseudoTerminal(sandbox, "status", "pq.vault", "--identity", sandbox.path("backup.txt"))
        try terminal.expect("age plugin 'vaultfmt' asks: Passphrase for \(sandbox.vault)")
        try terminal.answerHidden(Sandbox.passphrase)
        #expect(try terminal.finish() == 0)
    }

    /// What the plugin answers when the other side has this to say; what it sends is not waited for.
    private func spoken(_ machine: String, _ said: String) throws -> Run {
        try sandbox.run(
            ["--age-plugin=\(machine)"], program: sandbox.path("bin/age-plugin-vaultfmt"), input: Array(said.utf8))
    }

    /// A line of base64.
    private func encoded(_ text: String) -> String {
        Data(text.utf8).base64EncodedString().replacing("=", with: "")
    }

    @Test("what it cannot use is reported through age, with the next step")
    func reports() throws {
        _ = try identity("backup")
        try sandbox.okShell(
            """
            vaultfmt age-plugin vaultfmt:backup > gone.txt
            vaultfmt remove backup --yes
            age-keygen 2>/dev/null | vaultfmt set another
            """)
        let line = try #require(
            String(decoding: try sandbox.read("gone.txt"), as: UTF8.self).split(separator: "\n").last)
        let gone = try spoken("identity-v1", "-> add-identity \(line)\n\n-> done\n\n-> ok\n\n")
        #expect(gone.status == 0 && gone.output.hasPrefix("-> error identity 0\n"), "\(gone.output)")
        #expect(gone.output.hasSuffix("-> done\n\n"))
        let foreign = try spoken("identity-v1", "-> add-identity AGE-PLUGIN-OTHER-1QQQ\n\n-> done\n\n-> ok\n\n")
        #expect(foreign.output.hasPrefix("-> error identity 0\n"))
        let recipient = try spoken("recipient-v1", "-> add-recipient age1vaultfmt1qqq\n\n-> done\n\n-> ok\n\n")
        #expect(recipient.output.hasPrefix("-> error recipient 0\n"))
    }

    @Test(
        "a malformed stanza of a type that it knows keeps its file closed, and no other; unknown commands are ignored")
    func stanzas() throws {
        let key = try identity("backup")
        try sandbox.okShell("age -r '\(key)' -o file text")
        let lines = String(decoding: try sandbox.read("file"), as: UTF8.self).split(
            separator: "\n", omittingEmptySubsequences: false)
        let stanza = try #require(lines.first { $0.hasPrefix("-> X25519 ") }).dropFirst(3)
        let body = lines[2]
        let identity = try #require(
            String(decoding: try sandbox.read("backup.txt"), as: UTF8.self).split(separator: "\n").last)
        let answer = try spoken(
            "identity-v1",
            """
            -> add-identity \(identity)

            -> grease-1 a b
            \(encoded("grease"))
            -> recipient-stanza 0 X25519 AAAA
            \(body)
            -> recipient-stanza 0 \(stanza)
            \(body)
            -> recipient-stanza 1 unknown x
            \(body)
            -> recipient-stanza 1 \(stanza)
            \(body)
            -> done

            -> ok

            -> ok


            """)
        let heads = answer.output.split(separator: "\n").filter { $0.hasPrefix("-> ") }
        #expect(heads == ["-> error stanza 0 0", "-> file-key 1", "-> done"], "\(answer.output)\(answer.error)")
    }

    @Test("what breaks the protocol, and what is no item with an identity, is refused in one line")
    func refusals() throws {
        for said in ["", "hello\n", "-> add-identity\n\n-> done\n\n", "-> recipient-stanza 0\n\n", "-> done\nA\n"] {
            let run = try spoken("identity-v1", said)
            #expect(run.status == 69, "\(said): \(run.output)")
            #expect(run.error.split(separator: "\n").count == 1 && run.error.contains("the program that started"))
        }
        try sandbox.fails(64, "does not support", "age-plugin", "--age-plugin", "identity-v9")
        try sandbox.fails(64, "no item is named", "age-plugin")
        try sandbox.fails(1, "no item is named", "age-plugin", "vaultfmt:absent")
        try sandbox.ok("set", "mail", input: "password".utf8)
        try sandbox.fails(69, "does not hold an age identity", "age-plugin", "vaultfmt:mail")
        try sandbox.ok("set", "plugin", input: "AGE-PLUGIN-ABSENT-1DEHKYMMY0YP280FE".utf8)
        try sandbox.fails(69, "holds a plugin identity", "age-plugin", "vaultfmt:plugin")
    }
}

@Suite("Identities that are made up")
struct GeneratedIdentityTests {
    @Test(
        "generate --identity makes a file that age-keygen and age accept, for its owner alone, and never over another")
    func files() throws {
        let sandbox = try Sandbox.withVault()
        let made = try sandbox.ok("generate", "--identity", "alice.txt")
        #expect(made.output.hasPrefix("age1"))
        let mode = try FileManager.default.attributesOfItem(atPath: sandbox.path("alice.txt"))[.posixPermissions]
        #expect(mode as? Int == 0o600)
        #expect(try sandbox.okShell("age-keygen -y alice.txt").output == made.output)
        let before = try sandbox.read("alice.txt")
        try sandbox.fails(73, "already exists", "generate", "--identity", "alice.txt")
        #expect(try sandbox.read("alice.txt") == before)
        let other = try #require(
            try sandbox.ok("generate", "--identity", "bob.txt", "--pq", "--json").json() as? [String: String])
        #expect(other["identityFile"] == "bob.txt" && other["publicKey"]?.hasPrefix("age1pq1") == true)
        let recipient = try #require(other["publicKey"])
        try sandbox.ok("slot", "add", "--recipient", recipient)
        sandbox.environment["VAULTFMT_PASSPHRASE"] = nil
        try sandbox.ok("list", "--identity", "bob.txt")
    }

    @Test("options that do not go together are refused")
    func usage() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.fails(64, "--pq requires", "generate", "--pq")
        try sandbox.fails(64, "cannot be combined", "generate", "--identity", "a", "--words", "6")
        try sandbox.fails(64, "cannot be combined", "generate", "--identity", "a", "--key-file", "b")
        try sandbox.fails(64, "--pq requires", "set", "a", "--pq")
        try sandbox.fails(64, "--generate-identity cannot be combined", "set", "a", "--generate-identity", "--generate")
        #expect(!FileManager.default.fileExists(atPath: sandbox.path("a")))
    }
}
