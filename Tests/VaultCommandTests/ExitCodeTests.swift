import ArgumentParser
import Foundation
import Testing
import VaultFmt
import VaultLocal

@testable import VaultCommand
@testable import VaultConsole

@Suite("Exit codes, help, and how failures look")
struct ExitCodeTests {
    @Test("64: commands, options and values that do not exist, a misspelling with the nearest name")
    func usage() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.fails(64, "did you mean 'vaultfmt list'?", "lsit")
        try sandbox.fails(64, "did you mean 'vaultfmt slot remove'?", "slot", "remvoe")
        try sandbox.fails(64, "there is no command 'zzzzzzzzzz'", "zzzzzzzzzz")
        try sandbox.fails(64, "unknown option '--nonsense'", "list", "--nonsense")
        try sandbox.fails(64, "did you mean '--label'?", "list", "--lable", "x")
        try sandbox.fails(64, "invalid", "list", "--port", "many")
        try sandbox.fails(64, "missing value", "list", "--port")
        try sandbox.fails(64, "unexpected", "get", "a", "b", "c")
        try sandbox.fails(64, "no item is named", "get")
        try sandbox.fails(64, "the maximum is 4096", "set", String(repeating: "x", count: 5000), input: "s".utf8)
        try sandbox.fails(64, "an address is an attribute: --attribute url=ADDRESS", "set", "a", "--url", "b")
        try sandbox.fails(64, "did you mean '--account'?", "set", "a", "-u", "b")
        try sandbox.fails(64, "use --add-tag to add a tag", "update", "a", "--tag", "b")
        try sandbox.fails(64, "vaultfmt update SERVICE ACCOUNT --add-tag TAG", "set", "a", "--tag", "b")
        try sandbox.fails(64, "write '> FILE' after the command", "otp", "a", "--output", "b")
        try sandbox.fails(64, "vaultfmt update NAME --attach FILE", "get", "a", "--attach", "b")
        try sandbox.fails(64, "did you mean '--secret-attribute'?", "set", "a", "--hidden", "b")
        try sandbox.fails(64, "slot remove", "slot", "add", "--grant-group", "g", "--expires", "1h")
        try sandbox.fails(64, "can only be 'off'", "update", "a", "--attribute", "check=ignore")
        try sandbox.fails(64, "can only be offer, confirm or off", "update", "a", "--attribute", "ssh=bogus")
        try sandbox.fails(64, "--remove-attribute file:FILE", "update", "a", "--detach", "b")
        try sandbox.fails(64, "'vaultfmt compact'", "rm", "--purge", "a")
        try sandbox.fails(64, "vaultfmt copy NAME --to FILE", "move", "a", "--to-vault", "b")
        let terminal = try PseudoTerminal(sandbox, shell: #""$0" get $'\xff'; echo "ended: $?""#)
        try terminal.expect("not valid UTF-8")
        try terminal.expect("ended: 64")
    }

    @Test("65: not a vault, damaged, tampered with")
    func damaged() throws {
        let sandbox = try Sandbox.withVault()
        let text = try sandbox.write("text", "hello".utf8)
        try sandbox.fails(65, "vault", "inspect", text)
        try sandbox.fails(65, "vault", "list", "-f", text)
        try sandbox.ok("set", "svc", input: "s".utf8)
        let whole = try sandbox.read("test.vault")
        var bytes = whole
        bytes[4000] ^= 1
        try sandbox.write("test.vault", bytes)
        try sandbox.fails(65, "the header is damaged", "get", "svc")
        try sandbox.write("test.vault", Headers.sealed(bytes))
        try sandbox.fails(65, "(at byte 4000)", "get", "svc")
        bytes = whole
        let record = try #require(bytes.firstRange(of: Array("vREC".utf8)))
        bytes[record.lowerBound + 80] ^= 1
        try sandbox.write("test.vault", bytes)
        try sandbox.fails(65, "damaged or cut off", "get", "svc")
        sandbox.environment["XDG_STATE_HOME"] = sandbox.path("another machine")
        try sandbox.fails(1, "no item", "get", "svc")
    }

    @Test("65: an old header before a new body")
    func tampered() throws {
        let sandbox = try Sandbox.withVault()
        let before = try sandbox.read("test.vault")
        sandbox.environment["VAULTFMT_NEW_PASSPHRASE"] = "new"
        try sandbox.ok("rekey", "--kdf", "testing")
        let after = try sandbox.read("test.vault")
        try sandbox.write("test.vault", before.prefix(8192) + after.dropFirst(8192))
        try sandbox.fails(65, "assembled from two files (at byte", "list")
    }

    @Test("66: no such file")
    func noSuchFile() throws {
        let sandbox = try Sandbox()
        try sandbox.fails(66, "vaultfmt create", "list")
        try sandbox.fails(66, "no such file", "inspect")
        try sandbox.fails(66, "there is no vault", "verify", sandbox.path("absent"))
        try sandbox.fails(66, "create it first", "create", sandbox.path("no/folder/new.vault"), "--kdf", "testing")
    }

    @Test("66: a folder for the output that does not exist")
    func noSuchFolder() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "svc", input: "s".utf8)
        for words in [
            ["generate", "--key-file"], ["generate", "--identity"], ["export", "--output"], ["get", "svc", "--output"],
            ["inject", "--output"], ["create"],
        ] {
            let run = try sandbox.run(words + ["no/folder/new"])
            #expect(run.status == 66, "\(words): \(run.error)")
        }
    }

    @Test("69: a secret of no use for the purpose")
    func ofNoUse() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "svc", "ann", input: "s".utf8)
        try sandbox.fails(69, "'svc' 'ann': the secret contains no readable private key", "ssh", "public", "svc")
        let make = ["-q", "-t", "ed25519", "-a", "2", "-N", "own", "-f", sandbox.path("locked")]
        #expect(try sandbox.run(make, program: "/usr/bin/ssh-keygen").status == 0)
        let other = ["genpkey", "-algorithm", "ed448", "-out", sandbox.path("ed448")]
        #expect(try sandbox.run(other, program: "/usr/bin/openssl").status == 0)
        sandbox.environment["SSH_AUTH_SOCK"] = sandbox.path("no-agent")
        for (name, message) in [("locked", "has its own passphrase"), ("ed448", "not an Ed25519, ECDSA or RSA key")] {
            try sandbox.ok("set", name, "--secret-file", name)
            for command in ["public", "add"] {
                let run = try sandbox.fails(69, message, "ssh", command, name)
                #expect(run.error.contains("generic-password '\(name)'"), "\(run.error)")
            }
        }
        try sandbox.fails(69, "does not hold an age identity", "age-plugin", "vaultfmt:svc")
    }

    @Test("69: a later version")
    func laterVersion() throws {
        let sandbox = try Sandbox.withVault()
        var bytes = try sandbox.read("test.vault")
        bytes[8] = 2
        try sandbox.write("test.vault", bytes)
        try sandbox.fails(69, "newer vaultfmt", "inspect")
        try sandbox.fails(69, "newer vaultfmt", "list")
    }

    @Test("69: a critical extension that is not known, by its name")
    func criticalExtension() throws {
        let sandbox = try Sandbox.withVault()
        var bytes = try sandbox.read("test.vault")
        let end = 68 + Int(bytes[68]) + Int(bytes[69]) << 8
        #expect(bytes[70] == 0 && bytes[71] == 0)
        let name = Array("example.org/new".utf8)
        bytes[65] = 1
        bytes.replaceSubrange(end..<end + 4 + name.count, with: [1, UInt8(name.count)] + name + [0, 0])
        try sandbox.write("test.vault", Headers.sealed(bytes))
        try sandbox.fails(69, "example.org/new", "list")
    }

    @Test("70: an error that nobody foresaw is a bug, and says so")
    func bug() {
        struct Unforeseen: Error {}
        #expect(FailureReport.conclude(Unforeseen(), arguments: []) == .bug)
        #expect(ExitStatus(VaultError(.locked, "the vault is locked")) == .bug)
    }

    @Test(
        "every error of the library has an exit code, and its line says what to do", arguments: VaultError.Code.allCases
    )
    func everyError(_ code: VaultError.Code) {
        let failure = CommandFailure(VaultError(code, "what happened"))
        #expect(ExitStatus.allCases.contains(failure.status) && failure.status != .success)
        #expect(failure.message.hasPrefix("what happened; "))
        #expect(failure.message.count > "what happened; ".count)
    }

    @Test("74: output that cannot be written")
    func fullDisk() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "svc", input: "s".utf8)
        let terminal = try PseudoTerminal(sandbox, "get", "svc", output: "/dev/full")
        #expect(try terminal.finish() == 74)
        #expect(terminal.screen.contains("No space left on device"))
    }

    @Test("75: another process holds the vault for longer than --wait")
    func busy() throws {
        let sandbox = try Sandbox.withVault()
        let lock = try ForeignLock(sandbox.vault)
        try sandbox.fails(75, "--wait", "set", "svc", "--wait", "0.1", input: "s".utf8)
        try sandbox.ok("list")
        lock.release()
        try sandbox.ok("set", "svc", input: "s".utf8)
    }

    @Test("78: a key derivation over the reader's limit, which options raise")
    func overLimit() throws {
        let sandbox = try Sandbox.withVault()
        var bytes = try sandbox.read("test.vault")
        // Memory of the first slot (section 3.1): 2^32 − 1 KiB.
        for index in 0..<4 { bytes[68 + 32 + index] = 0xFF }
        try sandbox.write("test.vault", Headers.sealed(bytes))
        let run = try sandbox.fails(78, "--max-kdf-memory", "list")
        #expect(run.error.contains("4294967295"))
        sandbox.environment["VAULTFMT_PASSPHRASE"] = nil
        try sandbox.ok("inspect")
    }

    @Test("help exit-codes names every exit code, help environment every variable")
    func topics() throws {
        let sandbox = try Sandbox()
        let codes = try sandbox.ok("help", "exit-codes").output
        for code in [0, 1, 2, 3, 64, 65, 66, 69, 70, 73, 74, 75, 77, 78, 130] {
            #expect(codes.contains("\n  \(code) "))
        }
        let variables = try sandbox.ok("help", "environment").output
        for name in ["VAULTFMT_VAULT", "VAULTFMT_PASSPHRASE_FILE", "VAULTFMT_KEY_FILE", "XDG_STATE_HOME", "NO_COLOR"] {
            #expect(variables.contains(name))
        }
        try sandbox.fails(64, "did you mean 'vaultfmt list'?", "help", "lits")
        #expect(try sandbox.ok("--version").output.contains("."))
    }

    @Test("completions and the description for man pages come from the argument parser, each command once")
    func generated() throws {
        let sandbox = try Sandbox()
        for shell in ["bash", "zsh", "fish"] {
            #expect(try sandbox.ok("--generate-completion-script", shell).output.contains("compact"))
        }
        let dump = try #require(try sandbox.ok("--experimental-dump-help").json() as? [String: Any])
        let commands = (dump["command"] as? [String: Any])?["subcommands"] as? [[String: Any]] ?? []
        let names = commands.compactMap { $0["commandName"] as? String }
        #expect(names.contains("help") && names.contains("create"))
        #expect(Set(names).count == names.count)
    }

    @Test("every page of help fits 40 lines of 80 columns")
    func helpFits() throws {
        for (path, command) in CommandNameTests.all() where command.configuration.shouldDisplay {
            let lines = try Help.page(path, isWhole: false, columns: 80)
            #expect(lines.count <= HelpPage.mostLines, "\(path): \(lines.count) lines")
            #expect(lines.allSatisfy { TerminalText.width($0) <= 80 }, "\(path)")
        }
    }

    @Test("every command's help has two examples")
    func examples() throws {
        let sandbox = try Sandbox()
        let root = try sandbox.ok("--help").output
        let names = root.components(separatedBy: "\n").filter { $0.hasPrefix("  ") && !$0.hasPrefix("   ") }
            .compactMap { $0.split(whereSeparator: { " ,".contains($0) }).first.map(String.init) }
            .filter { !$0.hasPrefix("-") && $0 != "vaultfmt" && $0 != "See" }
        #expect(names.count >= 16, "\(names)")
        for path in names.map({ [$0] }) + [["slot", "list"], ["slot", "add"], ["slot", "remove"]] {
            let help = try sandbox.run(path + ["--help"]).output
            let examples = try #require(help.components(separatedBy: "Examples:\n").dropFirst().first, "\(path)")
            let lines = examples.components(separatedBy: "\n\n").first ?? ""
            #expect(lines.components(separatedBy: "vaultfmt ").count >= 3, "\(path): \(lines)")
            #expect(try sandbox.run(["help"] + path).output == help)
        }
    }

    @Test("memory stays out of core dumps and backtraces")
    func hardening() throws {
        let sandbox = try Sandbox.withVault()
        sandbox.environment["VAULTFMT_PASSPHRASE"] = nil
        sandbox.environment["SWIFT_BACKTRACE"] = "enable=yes"
        let terminal = try PseudoTerminal(sandbox, "list")
        try terminal.expect("Passphrase for")
        let limits = try String(contentsOfFile: "/proc/\(terminal.pid)/limits", encoding: .utf8)
        let core = try #require(limits.components(separatedBy: "\n").first { $0.hasPrefix("Max core file size") })
        // 1 forbids those to a program too; a limit that this machine has set to 0 stays.
        let limit = core.split(separator: " ").dropFirst(4).prefix(2)
        #expect(limit == ["1", "1"] || limit == ["0", "0"])
        let status = try String(contentsOfFile: "/proc/\(terminal.pid)/status", encoding: .utf8)
        let caught = try #require(status.components(separatedBy: "\n").first { $0.hasPrefix("SigCgt:") })
        let mask = try #require(UInt64(caught.dropFirst(7).trimmingCharacters(in: .whitespaces), radix: 16))
        for signal in [SIGSEGV, SIGILL, SIGTRAP, SIGBUS, SIGABRT, SIGFPE] {
            #expect(mask & 1 << UInt64(signal - 1) == 0)
        }
        try terminal.typeHidden("\u{3}")
        #expect(try terminal.finish() == 130)
    }
}
