import Foundation
import TestSupport
import Testing
import VaultFmt

@testable import VaultConsole
@testable import VaultExchange
@testable import VaultReferences

@Suite("run --mask: secrets in what a program writes")
struct MaskTests {
    private func masked(_ pieces: [[UInt8]], _ values: MaskedValues) -> [UInt8] {
        var mask = OutputMask(values)
        var out = SecretBuffer()
        for piece in pieces { piece.withUnsafeBytes { mask.feed($0, into: &out) } }
        mask.finish(into: &out)
        return out.withUnsafeBytes { Array($0) }
    }

    private func values(_ texts: [[UInt8]]) throws -> MaskedValues {
        try MaskedValues(texts.map { SharedSecret(Secret(copying: $0)) })
    }

    private func split(_ bytes: [UInt8], _ generator: inout some RandomNumberGenerator) -> [[UInt8]] {
        var rest = bytes[...]
        var pieces: [[UInt8]] = []
        while !rest.isEmpty {
            let count = Int.random(in: 1...max(1, min(rest.count, 12)), using: &generator)
            pieces.append(Array(rest.prefix(count)))
            rest = rest.dropFirst(count)
        }
        return pieces
    }

    @Test("no value gets through 10,000 random splits, and all that is not part of one does")
    func splits() throws {
        var numbers = Numbers(Numbers.seed)
        for _ in 0..<10_000 {
            // Few letters, so that values overlap, repeat and begin within one another.
            let letters = Array("abc".utf8).prefix(Int.random(in: 1...3, using: &numbers))
            func word(_ lengths: ClosedRange<Int>) -> [UInt8] {
                let length = Int.random(in: lengths, using: &numbers)
                return (0..<length).map { _ in letters.randomElement(using: &numbers) ?? 0x61 }
            }
            let secrets = (0..<Int.random(in: 1...4, using: &numbers)).map { _ in word(1...9) }
            let text = (0..<Int.random(in: 0...20, using: &numbers)).flatMap { _ in
                switch Int.random(in: 0..<3, using: &numbers) {
                case 0: word(0...6)
                case 1: [Array(" -\n".utf8).randomElement(using: &numbers) ?? 0x20]
                default: secrets.randomElement(using: &numbers) ?? []
                }
            }
            let known = try values(secrets)
            let shown = masked(split(text, &numbers), known)
            for secret in secrets { #expect(!contains(shown, secret), "\(secrets) in \(text)") }
            // What is shown does not depend on how it came.
            #expect(shown == expected(text, secrets), "\(secrets) in \(text)")
        }
    }

    /// Covers every byte of every occurrence, and writes a mask for each run of them.
    private func expected(_ text: [UInt8], _ secrets: [[UInt8]]) -> [UInt8] {
        var isCovered = [Bool](repeating: false, count: text.count)
        for secret in secrets {
            for start in text.indices where text[start...].starts(with: secret) {
                for place in start..<start + secret.count { isCovered[place] = true }
            }
        }
        var out: [UInt8] = []
        for place in text.indices {
            if !isCovered[place] {
                out.append(text[place])
            } else if place == 0 || !isCovered[place - 1] {
                out += Array("********".utf8)
            }
        }
        return out
    }

    private func contains(_ bytes: [UInt8], _ value: [UInt8]) -> Bool {
        bytes.indices.contains { bytes[$0...].starts(with: value) }
    }

    @Test("a value is also masked without the newline at its end, as terminals end lines, and line by line")
    func forms() throws {
        let known = try values([Array("first line\nsecond line\n".utf8)])
        for text in ["<first line\nsecond line>", "<first line\r\nsecond line>", "<first line\nsecond line\n>"] {
            #expect(String(decoding: masked([Array(text.utf8)], known), as: UTF8.self) == "<********>")
        }
        let apart = masked([Array("1: first line\n2: second line\n".utf8)], known)
        #expect(String(decoding: apart, as: UTF8.self) == "1: ********\n2: ********\n")
    }

    @Test("the mask never is or completes a value: it is made of a character that no value has")
    func marks() throws {
        let known = try values([Array("**".utf8), Array("a#".utf8)])
        #expect(String(decoding: masked([Array("a** a#".utf8)], known), as: UTF8.self) == "a++++++++ ++++++++")
        let error = #expect(throws: CommandFailure.self) { try values([Array(0...255)]) }
        #expect(error?.status == .unavailable)
    }

    @Test("what the program writes is masked in both outputs, byte by byte; all else is exact, and so is the exit code")
    func program() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "svc", "ann", input: "Blue-Kettle-41".utf8)
        try sandbox.write(
            "chatty",
            """
            printf 'out <%s>\\n\\0\\377' "$SECRET"
            printf %s "$SECRET" | dd bs=1 status=none >&2
            printf 'Blue-Ket'; sleep 0.2; printf 'tle-41 and Blue-Kettle-'
            exit 42
            """.utf8)
        let run = try sandbox.run(
            "run", "--mask", "--env", "SECRET=vaultfmt:svc/ann", "--", "sh", sandbox.path("chatty"))
        #expect(run.status == 42)
        #expect(run.bytes == Array("out <********>\n\0".utf8) + [0xFF] + Array("******** and Blue-Kettle-".utf8))
        #expect(run.error == "********")
        let killed = try sandbox.run(
            "run", "--mask", "--env", "SECRET=vaultfmt:svc", "--", "sh", "-c", "echo $SECRET; kill -TERM $$")
        #expect(killed.status == 128 + SIGTERM && killed.output == "********\n")
        try sandbox.fails(
            127, "there is no program 'absent'", "run", "--mask", "--env", "A=vaultfmt:svc", "--", "absent")
        let input = try sandbox.ok(
            "run", "--mask", "--env", "A=vaultfmt:svc", "--", "cat", input: "x Blue-Kettle-41 y".utf8)
        #expect(input.output == "x ******** y")
    }

    @Test("a value that is divided between standard output and standard error is masked where both are one")
    func oneOutput() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "svc", input: "Blue-Kettle-41".utf8)
        let run = try sandbox.okShell(
            #"'\#(Child.binary)' run --mask --env A=vaultfmt:svc -- sh -c 'printf Blue-; printf Kettle-41 >&2' 2>&1"#)
        #expect(run.output == "********")
    }

    @Test("random splits do not get through the real binary")
    func realSplits() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "svc", input: "s3cr3t-s3cr3t-s4".utf8)
        var numbers = Numbers(Numbers.seed)
        for _ in 0..<10 {
            let text = Array("s3cr3t-s3cr3t-s3cr3t-s4 s3cr3t-s3cr3t-s4s3cr3t-s3cr3t-s4".utf8)
            let script = split(text, &numbers).map { "printf %s '\(String(decoding: $0, as: UTF8.self))'" }
            let run = try sandbox.ok(
                "run", "--mask", "--env", "A=vaultfmt:svc", "--", "sh", "-c", script.joined(separator: "; "))
            #expect(run.output == "s3cr3t-******** ********")
        }
    }

    @Test("on a terminal the program writes to a terminal of its size, and the terminal's keys reach it")
    func onTerminal() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "svc", input: "Blue-Kettle-41".utf8)
        let script = #"test -t 1 && test -t 2 && stty size <&1; echo "$A"; read line; echo "got $line"; exit 7"#
        let terminal = try PseudoTerminal(
            sandbox, "run", "--mask", "--env", "A=vaultfmt:svc", "--", "sh", "-c", script, columns: 80)
        try terminal.expect("50 80\r\n********\r\n")
        try terminal.type("word\r")
        #expect(try terminal.finish() == 7)
        #expect(terminal.screen.hasSuffix("got word\r\n") && !terminal.screen.contains("Blue"))
        // dash loses an interrupt that comes between its fork and the program: so no program runs for long.
        let endless = "echo ready; while :; do sleep 0.1; done"
        let interrupted = try PseudoTerminal(
            sandbox, "run", "--mask", "--env", "A=vaultfmt:svc", "--", "sh", "-c", endless)
        try interrupted.expect("ready")
        try interrupted.type("\u{3}")
        #expect(try interrupted.finish() == 128 + SIGINT)
    }

    @Test("what the program leaves running is waited for and masked; the person is told, and Ctrl-C stops waiting")
    func leftRunning() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "svc", input: "Blue-Kettle-41".utf8)
        let later = try sandbox.run(
            "run", "--mask", "--env", "A=vaultfmt:svc", "--", "sh", "-c", "(sleep 0.5; echo later $A) & exit 5")
        #expect(later.status == 5 && later.output == "later ********\n" && later.error.isEmpty)
        let script = "sleep 50 & printf 'now Blue-'; exit 3"
        let terminal = try PseudoTerminal(
            sandbox, "run", "--mask", "--env", "A=vaultfmt:svc", "--", "sh", "-c", script)
        try terminal.expect("now ")
        try terminal.expect(
            "the program has ended, but a process it started can still write output; press Ctrl-C to stop waiting")
        try terminal.type("\u{3}")
        #expect(try terminal.finish() == 3)
        // What was held back is no secret after all.
        #expect(terminal.screen.hasSuffix("Blue-"))
    }
}

@Suite("run: variables from files and from the environment")
struct EnvironmentFileTests {
    private func parse(_ text: String) throws -> [String] {
        try EnvironmentFile.variables(in: Secret(text: text), of: ".env").map { "\($0.name)=\($0.value.text ?? "?")" }
    }

    @Test("files are read as shells and dotenv read them, and nothing is expanded")
    func syntax() throws {
        let text = """
            # a comment
            PLAIN=value
              SPACED = some words   # and a comment

            export EXPORTED=yes
            EMPTY=
            HASH=#fff
            URL=postgres://a:b@host/db?x=1#part
            SINGLE='it is $HOME \\n "quoted" # here'
            DOUBLE="a\\tb \\"c\\" \\$d \\x # here" # comment
            LINES="one
            two"
            LAST=end\r
            """
        #expect(
            try parse(text) == [
                "PLAIN=value", "SPACED=some words", "EXPORTED=yes", "EMPTY=", "HASH=#fff",
                "URL=postgres://a:b@host/db?x=1#part", #"SINGLE=it is $HOME \n "quoted" # here"#,
                "DOUBLE=a\tb \"c\" $d \\x # here", "LINES=one\ntwo", "LAST=end",
            ])
        #expect(try parse("\u{FEFF}A=b\r\nexport=c") == ["A=b", "export=c"])
        for (text, message) in [
            ("A=b\nnonsense s3cret\n", "line 2: this is not NAME=VALUE"), ("1A=b", "line 1: this is not"),
            ("\nA='open\n\n", "line 2: the quote is not closed"), ("A=\"b\"c", "line 1: text follows"),
            ("A=b\0c", "zero byte"), ("=b", "line 1: this is not"),
        ] {
            let error = #expect(throws: CommandFailure.self) { try parse(text) }
            #expect(error?.message.contains(message) == true && error?.message.contains("s3cret") == false)
            #expect(error?.status == .usage)
        }
    }

    @Test(
        "a value is a reference, holds some in braces, or is text; --env counts before a file, and that before the environment"
    )
    func sources() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "db", "app", input: "p=w'1".utf8)
        try sandbox.ok("set", "token", input: "t0k".utf8)
        try sandbox.write(
            ".env",
            """
            DB_USER="vaultfmt:db?field=account"
            DB_PASSWORD=vaultfmt://db/app
            DB_URL="postgres://app:{{ vaultfmt:db/app }}@host/db"
            MODE='a=b "c"'
            LEVEL=1
            FROM_ALL=file
            """.utf8)
        try sandbox.write("more.env", "LEVEL=2\n".utf8)
        sandbox.environment["INHERITED"] = "vaultfmt:token"
        sandbox.environment["FROM_ALL"] = "vaultfmt:absent"
        sandbox.environment["VAULTFMT_ASKPASS"] = "vaultfmt:absent"
        let run = try sandbox.ok(
            "run", "--env-file", ".env", "--env-file", "more.env", "--env", "FROM_ALL=vaultfmt:token", "--", "env", "-0"
        )
        let variables = Set(run.output.split(separator: "\0").map(String.init))
        #expect(
            variables.isSuperset(of: [
                "DB_USER=app", "DB_PASSWORD=p=w'1", "DB_URL=postgres://app:p=w'1@host/db", "MODE=a=b \"c\"", "LEVEL=2",
                "INHERITED=t0k", "FROM_ALL=t0k", "VAULTFMT_ASKPASS=vaultfmt:absent",
            ]))
        #expect(variables.filter { $0.hasPrefix("LEVEL=") || $0.hasPrefix("FROM_ALL=") }.count == 2)
    }

    @Test("where a reference names nothing, or is another manager's, the program is not started")
    func refuses() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "one", input: "s3cret".utf8)
        for (text, status, message) in [
            ("A=vaultfmt:one\nB=vaultfmt:api%20key%20two\n", 1, "no item is named 'api key two'"),
            ("A=op://vault/item/password", 64, "'./e', line 1: 'op://vault/item/password' is a 1Password reference"),
            ("\nA=vaultfmt:a/b/c", 64, "'./e', line 2: 'vaultfmt:a/b/c' has more than one slash"),
            ("A={{ vaultfmt:one", 64, "'./e', line 1: line 1: the reference does not end"),
        ] as [(String, Int32, String)] {
            try sandbox.write("e", text.utf8)
            let run = try sandbox.fails(status, message, "run", "--env-file", "./e", "--", "touch", "started")
            #expect(!run.error.contains("s3cret"))
        }
        try sandbox.fails(66, "cannot open environment file", "run", "--env-file", "absent", "--", "touch", "started")
        sandbox.environment["X"] = "vaultfmt:a/b/c"
        try sandbox.fails(64, "the variable 'X': ", "run", "--", "touch", "started")
        #expect(!FileManager.default.fileExists(atPath: sandbox.path("started")))
    }

    @Test("signals reach the program, those that were ignored stay so, and a script needs no #!")
    func signals() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "svc", input: "hunter2".utf8)
        let script = try sandbox.write(
            "script",
            "trap 'echo got INT; exit 5' INT; trap 'echo got USR1; kill -INT $PPID' USR1\nkill -USR1 $PPID\nwhile :; do sleep 1; done\n"
                .utf8)
        chmod(script, 0o700)
        let run = try sandbox.run("run", "--mask", "--env", "A=vaultfmt:svc", "--", script)
        #expect(run.status == 5 && run.output.contains("got USR1") && run.output.contains("got INT"), "\(run.output)")
        let ignoring = try sandbox.run(
            [
                "-c", "trap '' HUP; exec \"$0\" \"$@\"", Child.binary, "run", "--mask", "--env", "A=vaultfmt:svc", "--",
                "/bin/sh", "-c", "grep SigIgn /proc/self/status",
            ], program: "/bin/sh")
        let mask = try #require(
            ignoring.output.split(whereSeparator: \.isWhitespace).last.flatMap { Int($0, radix: 16) })
        #expect(ignoring.status == 0 && mask & 1 == 1, "\(ignoring.output)")
    }

    @Test("a program that is started without secrets does not inherit the descriptor of a factor")
    func unreadFactor() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.write("pass", "typed here".utf8)
        let run = try sandbox.run(
            [
                "-c", "exec \"$0\" run --passphrase-fd 7 -- /bin/sh -c 'read x <&7; echo \"$x\"' 7<\"$1\"",
                Child.binary,
                sandbox.path("pass"),
            ], program: "/bin/sh")
        #expect(!run.output.contains("typed here"), "\(run.output)")
    }

    @Test("--confirm asks before the program gets secrets")
    func confirms() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "svc", input: "s3cret".utf8)
        for (answer, status) in [("y", 0), ("n", 77)] as [(String, Int32)] {
            let terminal = try PseudoTerminal(
                sandbox, "run", "--confirm", "--env", "A=vaultfmt:svc", "--", "sh", "-c", "echo started $A")
            try terminal.expect("Run 'sh' with secrets in A? [y/N] ")
            try terminal.type(answer + "\r")
            #expect(try terminal.finish() == status)
            #expect(terminal.screen.contains("started s3cret") == (status == 0))
        }
        try sandbox.fails(64, "leave out --confirm", "run", "--confirm", "--env", "A=vaultfmt:svc", "--", "true")
        try sandbox.fails(
            64, "which --no-input forbids", "run", "--confirm", "--no-input", "--env", "A=vaultfmt:svc", "--", "true")
        try sandbox.ok("run", "--confirm", "--", "true")
    }
}
