import Foundation
import Testing

@Suite("At a terminal")
struct TerminalTests {
    /// A sandbox whose passphrase is not in the environment.
    private func asking() throws -> Sandbox {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "svc", input: "the secret".utf8)
        sandbox.environment["VAULTFMT_PASSPHRASE"] = nil
        return sandbox
    }

    @Test("the passphrase is asked for on the terminal, hidden, and the secret is followed by a newline")
    func hiddenPrompt() throws {
        let sandbox = try asking()
        let terminal = try PseudoTerminal(sandbox, "get", "svc")
        try terminal.expect("Passphrase for \(sandbox.vault): ")
        try terminal.answerHidden(Sandbox.passphrase)
        #expect(try terminal.finish() == 0)
        #expect(terminal.screen.hasSuffix("the secret\r\n"))
        #expect(!terminal.screen.contains(Sandbox.passphrase))
        #expect(terminal.echoes)
    }

    @Test("prompts use the terminal itself while standard output is a file")
    func outputIsFile() throws {
        let sandbox = try asking()
        let terminal = try PseudoTerminal(sandbox, "get", "svc", output: sandbox.path("out"))
        try terminal.expect("Passphrase for")
        try terminal.answerHidden(Sandbox.passphrase)
        #expect(try terminal.finish() == 0)
        #expect(try sandbox.read("out") == Array("the secret".utf8))
    }

    @Test("U8: a wrong passphrase may be typed again, twice; then it is exit 77, with what the vault's own slots take")
    func wrongPassphrase() throws {
        let sandbox = try asking()
        let terminal = try PseudoTerminal(sandbox, "get", "svc")
        for _ in 0..<3 {
            try terminal.expect("Passphrase for")
            try terminal.answerHidden("wrong")
        }
        #expect(try terminal.finish() == 77)
        #expect(terminal.screen.components(separatedBy: "wrong passphrase; try again").count == 3)
        #expect(terminal.screen.contains("wrong passphrase\r\n"))
        #expect(!terminal.screen.contains("the secret"))
        let second = try PseudoTerminal(sandbox, "get", "svc")
        try second.expect("Passphrase for")
        try second.answerHidden("wrong")
        try second.expect("try again")
        try second.expect("Passphrase for")
        try second.answerHidden(Sandbox.passphrase)
        #expect(try second.finish() == 0)
        #expect(second.screen.hasSuffix("the secret\r\n"))
    }

    @Test("removing a slot asks; any answer but yes removes nothing")
    func slotRemoval() throws {
        let sandbox = try asking()
        sandbox.environment["VAULTFMT_NEW_PASSPHRASE"] = "second"
        sandbox.environment["VAULTFMT_PASSPHRASE"] = Sandbox.passphrase
        try sandbox.ok("slot", "add", "--kdf", "testing", "--name", "spare")
        sandbox.environment["VAULTFMT_PASSPHRASE"] = nil
        for (answer, code, slots) in [("n", 77, 2), ("y", 0, 1)] {
            let terminal = try PseudoTerminal(sandbox, "slot", "remove", "spare")
            try terminal.expect("Passphrase for")
            try terminal.answerHidden(Sandbox.passphrase)
            try terminal.expect("Remove the slot ")
            try terminal.expect("[y/N] ")
            try terminal.type(answer + "\r")
            #expect(try terminal.finish() == Int32(code))
            sandbox.environment["VAULTFMT_PASSPHRASE"] = Sandbox.passphrase
            #expect(try sandbox.ok("slot", "list").lines.count == slots)
            sandbox.environment["VAULTFMT_PASSPHRASE"] = nil
        }
    }

    @Test("D4: keys typed while the vault opens answer no later question, and are not shown")
    func typedAhead() throws {
        let sandbox = try asking()
        let remove = try PseudoTerminal(sandbox, "remove", "svc")
        try remove.expect("Passphrase for")
        try remove.typeHidden(Sandbox.passphrase + "\ry\r")
        try remove.expect("[y/N] ")
        try remove.type("n\r")
        #expect(try remove.finish() == 77)
        #expect(remove.screen.contains("[y/N] n\r\n") && remove.screen.contains("nothing was removed"))
        let set = try PseudoTerminal(sandbox, "set", "svc")
        try set.expect("Passphrase for")
        try set.typeHidden(Sandbox.passphrase + "\rtyped ahead\r")
        for question in ["Secret for", "again: "] {
            try set.expect(question)
            try set.answerHidden("typed at the question")
        }
        #expect(try set.finish() == 0)
        #expect(!set.screen.contains("typed"))
        #expect(set.echoes)
        sandbox.environment["VAULTFMT_PASSPHRASE"] = Sandbox.passphrase
        #expect(try sandbox.ok("get", "svc").output == "typed at the question")
    }

    @Test("E1: of two processes on one terminal one asks after the other")
    func oneAtATime() throws {
        let sandbox = try asking()
        let terminal = try PseudoTerminal(sandbox, shell: #""$0" get svc & "$0" get svc; wait"#, hasJobs: false)
        try terminal.expect("Passphrase for")
        try terminal.expectWaiter()
        #expect(terminal.screen.components(separatedBy: "Passphrase for").count == 2)
        try terminal.answerHidden(Sandbox.passphrase)
        try terminal.expect("Passphrase for")
        #expect(terminal.screen.components(separatedBy: "Passphrase for").count == 3)
        try terminal.answerHidden(Sandbox.passphrase)
        #expect(try terminal.finish() == 0)
        #expect(terminal.screen.components(separatedBy: "the secret").count == 3)
        #expect(!terminal.screen.contains(Sandbox.passphrase))
        #expect(terminal.echoes)
    }

    @Test(
        "E1: who waited for a question finds that the vault was unlocked meanwhile",
        .enabled(if: Machine.hasKeyring, "no kernel keyring here"))
    func unlockedMeanwhile() throws {
        let sandbox = try asking()
        let script =
            #"{ until [[ -e asked ]]; do sleep 0.05; done; "$0" get svc; } & "$0" unlock --for 1h; wait"#
        let terminal = try PseudoTerminal(sandbox, shell: script, hasJobs: false)
        try terminal.expect("Passphrase for")
        try sandbox.write("asked", "".utf8)
        try terminal.expectWaiter()
        try terminal.answerHidden(Sandbox.passphrase)
        try terminal.expect("the secret")
        #expect(try terminal.finish() == 0)
        #expect(terminal.screen.components(separatedBy: "Passphrase for").count == 2)
        try sandbox.ok("lock")
    }

    @Test("E1: killed at a question, with a signal that no process can catch, it leaves echo on")
    func killed() throws {
        let sandbox = try asking()
        let terminal = try PseudoTerminal(sandbox, "get", "svc")
        try terminal.expect("Passphrase for")
        #expect(!terminal.echoes)
        kill(terminal.pid, SIGKILL)
        #expect(try terminal.finish() == 128 + SIGKILL)
        try Patience.until("the terminal shows what is typed") { terminal.echoes }
    }

    @Test("E10: a signal between two questions restores the echo too", arguments: [SIGINT, SIGTERM, SIGHUP, SIGQUIT])
    func terminatedBetween(_ signal: Int32) throws {
        let sandbox = try asking()
        // The slot's derivation takes longer than any test waits, so that the second question cannot come first.
        var bytes = try sandbox.read("test.vault")
        bytes.replaceSubrange(100..<108, with: [0, 0, 1, 0, 0xE8, 0xFD, 0, 0])  // 64 MiB, 65,000 passes
        try sandbox.write("test.vault", Headers.sealed(bytes))
        let terminal = try PseudoTerminal(
            sandbox, "set", "svc", "--max-kdf-passes", "65000", "--max-kdf-work", "4095GiB")
        try terminal.expect("Passphrase for")
        try terminal.typeHidden("p\r")
        try terminal.expect("\r\n")
        #expect(!terminal.echoes)
        kill(terminal.pid, signal)
        #expect(try terminal.finish() == 128 + signal)
        #expect(terminal.echoes)
        #expect(!terminal.screen.contains("Secret for"))
    }

    @Test("a new passphrase is asked for twice, again if the two differ")
    func createAsksTwice() throws {
        let sandbox = try Sandbox()
        sandbox.environment["VAULTFMT_PASSPHRASE"] = nil
        let terminal = try PseudoTerminal(sandbox, "create", "--kdf", "testing")
        try terminal.expect("New passphrase for \(sandbox.vault): ")
        try terminal.answerHidden("one")
        try terminal.expect("again: ")
        try terminal.answerHidden("other")
        try terminal.expect("do not match")
        try terminal.expect("New passphrase for")
        try terminal.answerHidden("zwei Wörter")
        try terminal.expect("again: ")
        try terminal.answerHidden("zwei Wörter")
        #expect(try terminal.finish() == 0)
        sandbox.environment["VAULTFMT_PASSPHRASE"] = "zwei Wo\u{308}rter"
        try sandbox.ok("list")
    }

    @Test("work that takes longer than a second says so, and takes the line away")
    func progress() throws {
        let sandbox = try Sandbox.withVault()
        let lock = try ForeignLock(sandbox.vault)
        let terminal = try PseudoTerminal(sandbox, "set", "svc", "--generate", "--wait", "600")
        try terminal.expect("vaultfmt: writing")
        lock.release()
        #expect(try terminal.finish() == 0)
        #expect(terminal.screen.hasSuffix("…\r\u{1B}[Kvaultfmt: created generic-password 'svc' ''\r\n"))
        #expect(try sandbox.ok("get", "svc").output.count == 20)
    }

    @Test("a secret is asked for twice, hidden")
    func setAsksTwice() throws {
        let sandbox = try Sandbox.withVault()
        let terminal = try PseudoTerminal(sandbox, "set", "svc")
        try terminal.expect("Secret for generic-password 'svc' '': ")
        try terminal.answerHidden("typed ünïcode")
        try terminal.expect("again: ")
        try terminal.answerHidden("typed ünïcode")
        #expect(try terminal.finish() == 0)
        #expect(!terminal.screen.contains("typed"))
        #expect(try sandbox.ok("get", "svc").output == "typed ünïcode")
    }

    @Test("Ctrl-C at a prompt restores the echo and exits 130")
    func interrupt() throws {
        let sandbox = try asking()
        let terminal = try PseudoTerminal(sandbox, "get", "svc")
        try terminal.expect("Passphrase for")
        try terminal.typeHidden("half\u{3}")
        #expect(try terminal.finish() == 130)
        #expect(terminal.echoes)
    }

    @Test("a signal that ends the process at a prompt restores the echo first", arguments: [SIGTERM, SIGHUP, SIGQUIT])
    func terminated(_ signal: Int32) throws {
        let sandbox = try asking()
        let terminal = try PseudoTerminal(sandbox, "get", "svc")
        try terminal.expect("Passphrase for")
        #expect(!terminal.echoes)
        kill(terminal.pid, signal)
        #expect(try terminal.finish() == 128 + signal)
        #expect(terminal.echoes)
    }

    @Test("a line too long for the terminal is refused, not cut")
    func tooLong() throws {
        let sandbox = try asking()
        let terminal = try PseudoTerminal(sandbox, "get", "svc")
        try terminal.expect("Passphrase for")
        try terminal.typeHidden(String(repeating: "x", count: 5000) + "\r")
        #expect(try terminal.finish() == 64)
        #expect(terminal.screen.contains("too long for a terminal"))
    }

    @Test("the prompt's own words are harmless, whatever the vault is called")
    func promptIsEscaped() throws {
        let sandbox = try Sandbox()
        sandbox.environment["VAULTFMT_VAULT"] = sandbox.path("\u{1B}[31m\u{202E}.vault")
        try sandbox.ok("create", "--kdf", "testing")
        sandbox.environment["VAULTFMT_PASSPHRASE"] = nil
        let terminal = try PseudoTerminal(sandbox, "list")
        try terminal.expect("\\u{1b}[31m\\u{202e}.vault: ")
        try terminal.answerHidden(Sandbox.passphrase)
        #expect(try terminal.finish() == 0)
        #expect(!terminal.screen.contains("\u{1B}"))
    }

    @Test("Ctrl-Z at a prompt restores the echo, stops, and asks again on return")
    func stop() throws {
        let sandbox = try asking()
        let terminal = try PseudoTerminal(
            sandbox, shell: #""$0" get svc; echo "stopped: $?"; read line; fg; echo "ended: $?""#)
        try terminal.expect("Passphrase for")
        try terminal.typeHidden("half\u{1A}")
        try terminal.expect("stopped: 148")
        #expect(terminal.echoes)
        try terminal.type("\r")
        try terminal.expect("Passphrase for")
        try terminal.answerHidden(Sandbox.passphrase)
        try terminal.expect("the secret")
        try terminal.expect("ended: 0")
        #expect(try terminal.finish() == 0)
        #expect(terminal.echoes)
    }

    @Test("end of input at a prompt is exit 77")
    func endOfInput() throws {
        let sandbox = try asking()
        let terminal = try PseudoTerminal(sandbox, "get", "svc")
        try terminal.expect("Passphrase for")
        try terminal.typeHidden("\u{4}")
        #expect(try terminal.finish() == 77)
        #expect(terminal.echoes)
    }

    @Test("--no-input never prompts, and no terminal means no prompt")
    func noInput() throws {
        let sandbox = try asking()
        let terminal = try PseudoTerminal(sandbox, "get", "svc", "--no-input")
        #expect(try terminal.finish() == 77)
        #expect(!terminal.screen.contains("Passphrase for"))
        try sandbox.fails(77, "--no-input forbids prompting", "get", "svc", "--no-input")
        try sandbox.fails(77, "no terminal to prompt on", "get", "svc")
        sandbox.environment["VAULTFMT_PASSPHRASE"] = Sandbox.passphrase
        let secret = try PseudoTerminal(sandbox, "set", "svc", "--no-input")
        #expect(try secret.finish() == 64)
    }

    @Test("remove asks, and takes nothing but yes for yes")
    func confirm() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "svc", input: "s".utf8)
        let no = try PseudoTerminal(sandbox, "remove", "svc")
        try no.expect("Remove generic-password 'svc' ''? [y/N] ")
        try no.type("\r")
        #expect(try no.finish() == 77)
        #expect(no.screen.contains("nothing was removed because the answer was not yes"))
        try sandbox.ok("get", "svc")
        let yes = try PseudoTerminal(sandbox, "remove", "svc")
        try yes.expect("[y/N] ")
        try yes.type("y\r")
        #expect(try yes.finish() == 0)
        try sandbox.fails(1, "no item", "get", "svc")
    }

    @Test(
        "a secret that is not text, or would command the terminal, is shown with --force only",
        arguments: [[0xFF, 0xFE], [0x1B, 0x5B, 0x33]])
    func notText(_ bytes: [UInt8]) throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "svc", input: bytes)
        let refused = try PseudoTerminal(sandbox, "get", "svc")
        #expect(try refused.finish() == 64)
        #expect(refused.screen.contains("--force"))
        let forced = try PseudoTerminal(sandbox, "get", "svc", "--force")
        #expect(try forced.finish() == 0)
        #expect(try sandbox.ok("get", "svc").bytes == bytes)
    }

    @Test("list is a table with a heading, in bold unless NO_COLOR is set")
    func table() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "漢字", "alice", input: "1".utf8)
        try sandbox.ok("set", "svc", "bob", input: "2".utf8)
        let colored = try PseudoTerminal(sandbox, "list")
        #expect(try colored.finish() == 0)
        #expect(colored.screen.hasPrefix("\u{1B}[1mNAME"))
        sandbox.environment["NO_COLOR"] = "1"
        let plain = try PseudoTerminal(sandbox, "list")
        #expect(try plain.finish() == 0)
        #expect(!plain.screen.contains("\u{1B}"))
        let lines = plain.screen.components(separatedBy: "\r\n")
        #expect(lines[0].hasPrefix("NAME  ACCOUNT  CHANGED"))
        #expect(lines[1].hasPrefix("svc   bob      20"))
        #expect(lines[2].hasPrefix("漢字  alice    20"))
    }

    @Test("a failure is red on a terminal, and plain with NO_COLOR")
    func failureColor() throws {
        let sandbox = try Sandbox.withVault()
        let colored = try PseudoTerminal(sandbox, "get", "nothing")
        #expect(try colored.finish() == 1)
        #expect(colored.screen.contains("\u{1B}[31mvaultfmt:\u{1B}[0m"))
        sandbox.environment["NO_COLOR"] = "1"
        let plain = try PseudoTerminal(sandbox, "get", "nothing")
        #expect(try plain.finish() == 1)
        #expect(!plain.screen.contains("\u{1B}"))
    }

    @Test("a closed pipe ends it quietly")
    func closedPipe() throws {
        let sandbox = try Sandbox.withVault()
        let large = try sandbox.write("large", [UInt8](repeating: 0x41, count: 1 << 20))
        try sandbox.ok("set", "svc", "--secret-file", large)
        let terminal = try PseudoTerminal(
            sandbox, shell: #"trap '' PIPE; "$0" get svc | head -c 3; echo " status ${PIPESTATUS[0]}""#)
        try terminal.expect("AAA status 141")
        #expect(try terminal.finish() == 0)
        #expect(terminal.screen == "AAA status 141\r\n")
    }
}
