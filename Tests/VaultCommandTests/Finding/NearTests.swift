import Foundation
import Testing

@Suite("Part of a name")
struct NearTests {
    private func filled() throws -> Sandbox {
        let sandbox = try Sandbox.withVault()
        for (name, label) in [
            ("github private", "One"), ("github work", "Two"), ("gitlab", "Three"), ("linkedin", "Café Zürich"),
            ("mail", "M"), ("mail backup", "B"),
        ] {
            try sandbox.ok("set", name, "mira", "--label", label, input: "of \(name)".utf8)
        }
        return sandbox
    }

    @Test("in a script a name is exact: nothing is picked, and the error offers what is near")
    func script() throws {
        let sandbox = try filled()
        let several = try sandbox.fails(
            1,
            "no item is named 'git'; did you mean 'github private' 'mira' (One), 'github work' 'mira' (Two) or 'gitlab'",
            "get", "git")
        #expect(several.bytes == [])
        try sandbox.fails(
            1, "no item is named 'linkdin'; did you mean 'linkedin' 'mira' (Café Zürich)?", "show", "linkdin")
        try sandbox.fails(1, "no item is named 'zzz'; 'vaultfmt list' shows", "get", "zzz")
        #expect(try sandbox.ok("get", "mail").output == "of mail")
        let terminal = try PseudoTerminal(sandbox, shell: #"x=$("$0" get linked); echo "ended: $? <$x>""#)
        try terminal.expect("no item is named 'linked'")
        try terminal.expect("ended: 1 <>")
    }

    @Test(
        "on a terminal one item that fits is used, and shown before",
        arguments: ["linked", "CAFE", "LinkedIn", "zürich"])
    func one(_ part: String) throws {
        let sandbox = try filled()
        defer { withExtendedLifetime(sandbox) {} }
        let terminal = try PseudoTerminal(sandbox, "get", part, columns: 80)
        try terminal.expect("Using generic-password 'linkedin' 'mira'")
        try terminal.expect("of linkedin")
        #expect(try terminal.finish() == 0)
    }

    @Test("a name that begins another is meant by itself, and a misspelt one is nobody's")
    func exact() throws {
        let sandbox = try filled()
        let exact = try PseudoTerminal(sandbox, "get", "mail", columns: 80)
        #expect(try exact.finish() == 0)
        #expect(exact.screen.contains("of mail\r\n") && !exact.screen.contains("Using"))
        let folded = try PseudoTerminal(sandbox, "get", "MAIL", columns: 80)
        try folded.expect("Using generic-password 'mail' 'mira'")
        #expect(try folded.finish() == 0)
        let misspelt = try PseudoTerminal(sandbox, "get", "linkdin", columns: 80)
        #expect(try misspelt.finish() == 1)
        #expect(misspelt.screen.contains("did you mean 'linkedin'") && !misspelt.screen.contains("of linkedin"))
        let quiet = try PseudoTerminal(sandbox, "get", "linked", "--no-input", columns: 80)
        #expect(try quiet.finish() == 1)
    }

    @Test("of several one is chosen with the arrow keys or by its number")
    func menu() throws {
        let sandbox = try filled()
        for (keys, secret) in [
            ("\u{1B}[B\r", "of github work"), ("3\r", "of gitlab"), ("\u{1B}[A\r", "of gitlab"),
            ("\r", "of github private"),
            ("9\u{1B}OB2\r", "of github work"),
        ] {
            let terminal = try PseudoTerminal(sandbox, "get", "git", columns: 80)
            try terminal.expect("3 items match 'git':")
            try terminal.expect("q for none: ")
            #expect(!terminal.echoes)
            try terminal.type(keys)
            try terminal.expect(secret)
            #expect(try terminal.finish() == 0)
            #expect(terminal.echoes)
        }
    }

    @Test(
        "none is chosen with q, Escape or Ctrl-D, exit 2; Ctrl-C is 130; the terminal is as it was",
        arguments: [
            ("q", Int32(2)), ("\u{1B}", 2), ("\u{04}", 2), ("\u{03}", 130),
        ])
    func none(_ key: String, _ status: Int32) throws {
        let sandbox = try filled()
        defer { withExtendedLifetime(sandbox) {} }
        let terminal = try PseudoTerminal(sandbox, "get", "git", columns: 80)
        try terminal.expect("q for none: ")
        try terminal.type(key)
        #expect(try terminal.finish() == status)
        #expect(!terminal.screen.contains("of g"))
        #expect(terminal.echoes)
    }

    @Test("killed at the menu, it leaves the terminal as it was")
    func killed() throws {
        let sandbox = try filled()
        defer { withExtendedLifetime(sandbox) {} }
        let terminal = try PseudoTerminal(sandbox, "get", "git", columns: 80)
        try terminal.expect("q for none: ")
        #expect(!terminal.echoes)
        kill(terminal.pid, SIGKILL)
        try Patience.until("echo is on") { terminal.echoes }
    }

    @Test("--id names an item whatever it is called")
    func ids() throws {
        let sandbox = try filled()
        let id = try sandbox.ok("get", "gitlab", "--field", "id").output
        #expect(try sandbox.ok("get", "--id", id).output == "of gitlab")
        #expect(try sandbox.ok("get", "--id", String(id.prefix(16)).uppercased()).output == "of gitlab")
        try sandbox.ok("update", "--id", id, "--label", "New")
        #expect(try sandbox.ok("show", "gitlab", "--field", "label").output == "New")
        try sandbox.fails(1, "no item has this id", "get", "--id", String(repeating: "0", count: 32))
        try sandbox.fails(64, "--id takes 4 to 32 hexadecimal digits, not 'xyz'", "get", "--id", "xyz")
    }
}
