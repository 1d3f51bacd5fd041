import Foundation
import Testing

@Suite("Secrets that are made up or have several lines")
struct SecretSourceTests {
    @Test("set and add take the generator's options with --generate")
    func generator() throws {
        let sandbox = try Sandbox.withVault()
        for _ in 0..<20 {
            try sandbox.ok("set", "bank", "--generate=12", "--no-symbols")
            let bank = try sandbox.ok("get", "bank").output
            #expect(
                bank.wholeMatch(of: /[A-Za-z0-9]{12}/) != nil && bank.contains(/[0-9]/) && bank.contains(/[A-Za-z]/))
        }
        try sandbox.write("words.txt", "ant\nbee\ncow\n".utf8)
        try sandbox.ok("add", "home wifi", "--generate", "--words", "5", "--list", "./words.txt")
        #expect(try sandbox.ok("get", "home wifi").output.wholeMatch(of: /(ant|bee|cow)(-(ant|bee|cow)){4}/) != nil)
        try sandbox.ok("set", "shop", "mira", "--generate", "--length", "24", "--exclude", "aeiou", "--no-uppercase")
        #expect(try sandbox.ok("get", "shop").output.wholeMatch(of: /[^aeiouA-Z]{24}/) != nil)
        try sandbox.fails(64, "leave one out", "set", "x", "--generate=12", "--length", "13")
        try sandbox.fails(64, "cannot be combined", "set", "x", "--secret-file", "f", "--words", "5")
        try sandbox.fails(64, "cannot be combined", "set", "x", "--words", "5", "--no-digits")
        try sandbox.fails(1, "no item is named", "get", "x")
    }

    @Test("an option of the generator without --generate is refused, so a secret that is piped in is not replaced")
    func generatorAlone() throws {
        let sandbox = try Sandbox.withVault()
        let options = [
            ["--length", "12"], ["--alphabet", "ab"], ["--no-lowercase"], ["--no-uppercase"], ["--no-digits"],
            ["--no-symbols"], ["--no-ambiguous"], ["--exclude", "x"], ["--words", "6"],
        ]
        try sandbox.ok("set", "kept", input: "first".utf8)
        for option in options {
            for command in ["set", "add"] {
                let run = try sandbox.run([command, "new", "u"] + option, input: Array("my-secret".utf8))
                #expect(run.status == 64 && run.error.contains("\(option[0]) requires --generate"), "\(run.error)")
            }
            for other in [["--otp"], ["--secret-attribute", "pin"], ["--ssh-generate", "ed25519"]] {
                let run = try sandbox.run(["set", "kept"] + other + option, input: Array("JBSWY3DPEHPK3PXP".utf8))
                #expect(run.status == 64, "\(other) \(option): \(run.error)")
            }
        }
        try sandbox.fails(1, "no item is named", "get", "new")
        #expect(try sandbox.ok("get", "kept").output == "first")
        #expect(try !sandbox.ok("show", "kept").output.contains("pin"))
    }

    @Test("a password has at least one character of each kind, where there is room for all")
    func kinds() throws {
        let sandbox = try Sandbox()
        for _ in 0..<20 {
            let four = try sandbox.ok("generate", "--length", "4").output
            #expect(four.contains(/[a-z]/) && four.contains(/[A-Z]/) && four.contains(/[0-9]/))
            #expect(four.contains(/[^A-Za-z0-9\n]/))
        }
        #expect(try sandbox.ok("generate", "--length", "3").output.count == 4)
        // 4! orders of 26 · 26 · 10 · 28 characters: log2 of 4542720.
        #expect(try sandbox.ok("generate", "--length", "4").error.contains("4 of 90 characters: 22.1 bits"))
    }

    @Test("several lines are typed or pasted unseen, ended by Ctrl-D, and stored with the newline at their end")
    func lines() throws {
        let sandbox = try Sandbox.withVault()
        for (typed, read, options, stored) in [
            ("one\r\r\ttwo\r", "3 lines, 10 bytes", [], "one\n\n\ttwo\n"), ("one\r", "1 line, 4 bytes", [], "one"),
            ("one\r", "1 line, 4 bytes", ["--exact"], "one\n"),
        ] as [(String, String, [String], String)] {
            let script = (["\"$0\" set note --multiline"] + options).joined(separator: " ")
            let terminal = try PseudoTerminal(sandbox, shell: script, hasJobs: false)
            try terminal.expect("ended by Ctrl-D on a line of its own:")
            try terminal.typeHidden(typed + "\u{4}")
            try terminal.expect("read \(read)")
            #expect(try terminal.finish() == 0)
            #expect(!terminal.screen.contains("two"))
            #expect(try sandbox.ok("get", "note").output == stored)
        }
        let empty = try PseudoTerminal(sandbox, "set", "note", "--multiline")
        try empty.expect("of its own:")
        try empty.typeHidden("\u{4}")
        #expect(try empty.finish() == 77)
        let long = try PseudoTerminal(sandbox, "set", "note", "--multiline")
        try long.expect("of its own:")
        try long.typeHidden("a\r" + String(repeating: "x", count: 5000) + "\r\u{4}")
        #expect(try long.finish() == 64)
        #expect(long.screen.contains("too long for a terminal"))
        #expect(try sandbox.ok("get", "note").output == "one\n")
        try sandbox.fails(64, "--multiline cannot be combined", "set", "note", "--multiline", "--generate")
    }
}
