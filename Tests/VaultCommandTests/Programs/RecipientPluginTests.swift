import Foundation
import Testing
import VaultCrypto
import VaultFmt

@testable import VaultAge
@testable import VaultArguments
@testable import VaultConsole

/// The command with other people's age plugins: Tests/VaultAgeTests/Programs/age-plugin-trial, which does its work, or
/// fails, as its name says.
@Suite("A plugin's recipient")
struct RecipientPluginTests {
    private let sandbox: Sandbox

    /// A vault that the plugin `plain` opens, and no passphrase at hand.
    init() throws {
        sandbox = try Sandbox()
        try FileManager.default.createDirectory(atPath: sandbox.path("bin"), withIntermediateDirectories: true)
        sandbox.environment["PATH"] = sandbox.path("bin") + ":/usr/bin:/bin"
        try sandbox.addPlugin("plain")
        sandbox.environment["VAULTFMT_PASSPHRASE"] = nil
        try sandbox.ok(
            "create", "--recipient", recipient("plain"), "--recovery-key-file", sandbox.path("back"), "--kdf",
            "testing")
        try sandbox.ok("set", "mail", "--key-file", sandbox.path("back"), input: "s3cret".utf8)
    }

    private func recipient(_ plugin: String) -> String { bech32("age1\(plugin)") }

    private func bech32(_ prefix: String) -> String {
        Bech32.encode(prefix: prefix, Secret(bytes: [UInt8](repeating: 1, count: 20))).asText
    }

    /// A file with an identity that opens the vault, by a plugin of this name.
    private func identity(_ plugin: String) throws -> String {
        try sandbox.addPlugin(plugin)
        return try sandbox.write("\(plugin).txt", (bech32("age-plugin-\(plugin)-").uppercased() + "\n").utf8)
    }

    /// The plugin that was started last has ended.
    private func expectEnded() throws {
        let text = String(decoding: try sandbox.read("bin/pid"), as: UTF8.self)
        let pid = try #require(pid_t(text))
        try Patience.untilEnd(of: pid)
    }

    @Test("opens the vault by its identity, with one call for all of its slots")
    func opening() throws {
        for name in ["two", "three"] {
            try sandbox.ok(
                "slot", "add", "--name", name, "--recipient", recipient("plain"), "--key-file", sandbox.path("back"))
        }
        let file = try identity("plain")
        try FileManager.default.removeItem(atPath: sandbox.path("bin/starts"))
        let run = try sandbox.ok("get", "mail", "--identity", file)
        #expect(run.output.contains("s3cret"))
        #expect(try sandbox.read("bin/starts") == Array("once\n".utf8))
        try expectEnded()
    }

    @Test(
        "is not opened by a plugin that fails: one line with the plugin's name, exit 69",
        arguments: [
            ("dies", "exited with code 1 before it had finished; its last message was: no such card"),
            ("killed", "was killed by a signal before it had finished"),
            ("halfway", "exited with code 0 before it had finished"),
            ("no-arrow", "broke the protocol"), ("control", "broke the protocol"), ("long-line", "broke the protocol"),
            ("greasy", "broke the protocol"), ("key-short", "returned a file key of 15 bytes"),
            ("key-index", "returned a file key for a file that it was not asked about"),
            ("no-device", "reports: insert the card"),
            ("broken", "reports: insert the card"),
        ])
    func failing(_ plugin: String, _ message: String) throws {
        let file = try identity(plugin)
        let run = try sandbox.fails(69, message, "list", "--identity", file)
        #expect(run.error.split(separator: "\n").count == 1, "\(run.error)")
        #expect(run.error.contains("the age plugin '\(plugin)'") && run.error.contains("; "), "\(run.error)")
        #expect(run.output.isEmpty)
        try expectEnded()
    }

    @Test("is not opened by a plugin that talks without end: it is stopped, exit 69")
    func chatty() throws {
        let run = try sandbox.fails(69, "sent too many messages", "list", "--identity", try identity("chatty"))
        #expect(run.error.split(separator: "\n").count <= 101)
        try expectEnded()
    }

    @Test("is not opened without its plugin, or by a file that is not a program: exit 69, and the plugin is named")
    func missing() throws {
        let file = try identity("plain")
        try FileManager.default.removeItem(atPath: sandbox.path("bin/age-plugin-plain"))
        try sandbox.fails(69, "'age-plugin-plain', which is not on the PATH", "list", "--identity", file)
        try sandbox.write("bin/age-plugin-plain", "#!/bin/sh\n".utf8)
        try sandbox.fails(69, "'age-plugin-plain', which is not on the PATH", "list", "--identity", file)
        sandbox.environment["PATH"] = "bin:/usr/bin:/bin"
        chmod(sandbox.path("bin/age-plugin-plain"), 0o700)
        try sandbox.fails(69, "'age-plugin-plain', which is not on the PATH", "list", "--identity", file)
    }

    @Test(
        "gets no slot from a plugin that is missing or fails, and the vault stays as it was",
        arguments: ["absent", "dies"])
    func making(_ plugin: String) throws {
        if plugin != "absent" { try sandbox.addPlugin(plugin) }
        let before = try sandbox.read("test.vault")
        try sandbox.fails(
            69, "age-plugin-absent", "slot", "add", "--recipient", recipient("absent"), "--key-file",
            sandbox.path("back"))
        try sandbox.fails(
            69, plugin, "slot", "add", "--recipient", recipient(plugin), "--key-file", sandbox.path("back"))
        #expect(try sandbox.read("test.vault") == before)
        let new = sandbox.path("new.vault")
        try sandbox.fails(69, plugin, "create", new, "--recipient", recipient(plugin), "--no-recovery")
        #expect(!FileManager.default.fileExists(atPath: new))
    }

    @Test("is no use to an agent that opens the vault on demand, which must not wait for its plugin")
    func onDemand() throws {
        let file = try identity("plain")
        try FileManager.default.removeItem(atPath: sandbox.path("bin/starts"))
        sandbox.environment["XDG_RUNTIME_DIR"] = sandbox.folder
        try sandbox.fails(
            69, "an identity of a plugin cannot be used with --on-demand", "agent", "--on-demand", "--identity", file)
        #expect(!FileManager.default.fileExists(atPath: sandbox.path("bin/starts")))
    }

    @Test("is named when a rotation cannot make its slot again, and keeps its slot when it can")
    func rotation() throws {
        let file = try identity("plain")
        let link = sandbox.path("bin/age-plugin-plain")
        try FileManager.default.moveItem(atPath: link, toPath: sandbox.path("away"))
        let before = try sandbox.read("test.vault")
        let refused = try sandbox.run(["rekey", "--rotate", "--key-file", sandbox.path("back")])
        #expect(refused.status == 64 && refused.error.contains("age-plugin-plain"), "\(refused.error)")
        #expect(try sandbox.read("test.vault") == before)
        try FileManager.default.moveItem(atPath: sandbox.path("away"), toPath: link)
        let run = try sandbox.ok("rekey", "--rotate", "--yes", "--key-file", sandbox.path("back"))
        #expect(run.error.contains("can be opened by \(recipient("plain"))"))
        #expect(try sandbox.ok("get", "mail", "--identity", file).output.contains("s3cret"))
    }

    // MARK: at a terminal

    @Test("asks for a touch through its plugin: the message is shown with the plugin's name")
    func touch() throws {
        let terminal = try PseudoTerminal(sandbox, "get", "mail", "--identity", try identity("shows"))
        try terminal.expect("age plugin 'shows': Touch it.")
        try terminal.expect("s3cret")
        #expect(try terminal.finish() == 0)
    }

    @Test("asks for a confirmation through its plugin; no, or nobody to ask, is 'cancelled', exit 77")
    func confirmation() throws {
        let file = try identity("confirms")
        for (answer, status) in [("y", 0), ("n", 77), ("Use it", 0), ("skip", 77)] as [(String, Int32)] {
            let terminal = try PseudoTerminal(sandbox, "get", "mail", "--identity", file)
            try terminal.expect("age plugin 'confirms': Use the card? (y: Use it, n: Skip)")
            try terminal.type(answer + "\r")
            try terminal.expect(status == 0 ? "s3cret" : "cancelled when the age plugin 'confirms' asked a question")
            #expect(try terminal.finish() == status)
        }
        let run = try sandbox.fails(77, "it was not allowed", "list", "--identity", file, "--no-input")
        #expect(run.error.split(separator: "\n").count == 1, "\(run.error)")
        try expectEnded()
    }

    @Test("asks again where the answer is none; the only answer of a plugin is Enter; Ctrl-D cancels")
    func confirmationAgain() throws {
        let file = try identity("confirms")
        let terminal = try PseudoTerminal(sandbox, "get", "mail", "--identity", file)
        for answer in ["zzz\r", "y\r"] {
            try terminal.expect("age plugin 'confirms': Use the card? (y: Use it, n: Skip)")
            try terminal.type(answer)
        }
        try terminal.expect("s3cret")
        #expect(try terminal.finish() == 0)
        let ended = try PseudoTerminal(sandbox, "get", "mail", "--identity", file)
        try ended.expect("Use the card?")
        try ended.type("\u{4}")
        try ended.expect("cancelled because nobody answered the age plugin 'confirms'")
        #expect(try ended.finish() == 77)
        let warned = try PseudoTerminal(sandbox, "get", "mail", "--identity", try identity("warns"))
        try warned.expect("age plugin 'warns': The card is old. (Enter: Go on)")
        try warned.type("\r")
        try warned.expect("s3cret")
        #expect(try warned.finish() == 0)
    }

    @Test("gets long messages whole, and sees where one is cut")
    func longMessages() throws {
        let run = try sandbox.ok("get", "mail", "--identity", try identity("wordy"))
        #expect(run.error.contains("https://example.org/?" + String(repeating: "a", count: 1500) + "z"))
        #expect(run.error.contains(String(repeating: "b", count: 4096) + "…") && !run.error.contains("by"))
    }

    @Test("hears a plugin's reason when nobody could answer it")
    func unansweredReason() throws {
        try sandbox.fails(
            77, "nobody answered the age plugin 'silent'; its last message was: no PIN was given", "list", "--identity",
            try identity("silent"), "--no-input")
    }

    @Test("asks for lines through its plugin: a public one is shown, a secret one hidden")
    func lines() throws {
        let terminal = try PseudoTerminal(sandbox, "get", "mail", "--identity", try identity("asks"))
        try terminal.expect("age plugin 'asks' asks: Which card?")
        #expect(terminal.echoes)
        try terminal.type("1234\r")
        try terminal.expect("age plugin 'asks' asks: PIN of it?")
        try terminal.answerHidden("1234")
        try terminal.expect("s3cret")
        #expect(try terminal.finish() == 0)
        try sandbox.fails(77, "cancelled", "list", "--identity", sandbox.path("asks.txt"))
    }

    @Test("whose plugin is silent can be interrupted: the plugin ends with the command")
    func interrupted() throws {
        let file = try identity("slow")
        let terminal = try PseudoTerminal(sandbox, "get", "mail", "--identity", file)
        try Patience.until("the plugin runs") {
            FileManager.default.contents(atPath: sandbox.path("bin/pid"))?.isEmpty == false
        }
        try terminal.type("\u{3}")
        #expect(try terminal.finish() == 130)
        try expectEnded()
    }

    @Test("whose plugin is silent for longer than it may be is 'timed out': exit 69, and the advice to touch the key")
    func timeout() throws {
        let file = try identity("slow")
        guard case .identities(let all) = try IdentityFile.read(Secret(bytes: sandbox.read("slow.txt"))),
            case .plugin(let identity)? = all.first
        else { throw Failure("not an identity of a plugin: \(file)") }
        let host = PluginHost(
            path: sandbox.path("bin"), dialogue: PluginQuestions(mayAsk: false), patience: .milliseconds(1500))
        let factor = AgeFactor(identities: host.identities([identity]))
        do {
            try AgeKeys.reporting(factor) {
                _ = try Vault.open(sandbox.vault, factors: try Factors(external: factor))
            }
            Issue.record("it opened")
        } catch let failure as CommandFailure {
            #expect(failure.status == .unavailable)
            #expect(failure.message.hasPrefix("the age plugin 'slow' did not respond for"))
            #expect(failure.message.hasSuffix("; try again, and touch the key when prompted"))
        }
        try expectEnded()
    }
}

extension Sandbox {
    /// Puts a plugin on the PATH that behaves as its name says.
    fileprivate func addPlugin(_ name: String) throws {
        let trial = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../VaultAgeTests/Programs/age-plugin-trial").standardizedFileURL
        let link = path("bin/age-plugin-\(name)")
        guard !FileManager.default.fileExists(atPath: link) else { return }
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: trial.path)
    }
}
