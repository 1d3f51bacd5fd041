import Foundation
import Testing

@Suite("Names that other people wrote")
struct NameTests {
    private static let names = odd + honest

    /// Controls, line ends, an escape sequence, marks that turn the direction, invisible characters, wide ones, and a
    /// lone backslash.
    private static let odd = [
        "bell\u{7} and \u{1B}[31mred\u{1B}[0m", "two\nlines\r\nand a\ttab", "safe\u{202E}txt.exe",
        "\u{2066}isolated\u{2069}",
        "zero\u{200B}width\u{FEFF}",
        "C1 \u{9B}31m", "漢字とかな", "e\u{301} composed later", "back\\slash", " spaces ", "\u{2028}separator",
        "-starts-with-dash", "\u{7F}",
    ]

    /// Names with characters that no terminal draws by themselves, but that belong to the text: a joiner and a
    /// non-joiner, a variation selector, a private-use and an unassigned code point.
    private static let honest = [
        "می\u{200C}خواهم", "क्\u{200D}ष", "👩\u{200D}💻", "❤\u{FE0F}", "logo \u{E000}", "later \u{378}",
    ]

    @Test("survive set, get, list and JSON, and come out harmless on a terminal and in a pipe")
    func survive() throws {
        let sandbox = try Sandbox.withVault()
        for name in Self.names {
            try sandbox.ok("set", "--label", name, "--", name, name, input: name.utf8)
            #expect(try sandbox.ok("get", "--field", "account", "--", name, name).bytes == Array(name.utf8))
        }
        let expected = Set(Self.names.map { Array($0.utf8) })
        let items = try #require(try sandbox.ok("list", "--json").json() as? [[String: Any]])
        for member in ["service", "account"] {
            #expect(Set(items.map { Array(($0[member] as? String ?? "").utf8) }) == expected)
        }
        let rows = try sandbox.ok("list").output.components(separatedBy: "\n").dropLast()
        #expect(rows.count == Self.names.count)
        let cells = rows.map { $0.components(separatedBy: "\t") }
        #expect(cells.allSatisfy { $0.count == 6 })
        for column in [1, 2, 3] { #expect(Set(cells.map { Array(Self.unescaped($0[column]).utf8) }) == expected) }
        for name in Self.honest {
            #expect(cells.contains { $0[1].utf8.elementsEqual(name.utf8) }, "\(name.debugDescription) is escaped")
        }
        for output in [rows.joined(), try sandbox.ok("show", "safe\u{202E}txt.exe").output] {
            let raw = output.unicodeScalars.filter { $0 != "\t" && $0 != "\n" && Self.isControlling($0) }
            #expect(raw.isEmpty, "\(output.debugDescription)")
        }
        try expectHarmless(sandbox)
    }

    private func expectHarmless(_ sandbox: Sandbox) throws {
        sandbox.environment["NO_COLOR"] = "1"
        let terminal = try PseudoTerminal(sandbox, "list", columns: 400)
        #expect(try terminal.finish() == 0)
        let harmful = terminal.screen.unicodeScalars.filter { scalar in
            scalar != "\r" && scalar != "\n" && Self.isHarmful(scalar)
        }
        #expect(harmful.isEmpty, "\(terminal.screen.debugDescription)")
        let lines = terminal.screen.components(separatedBy: "\r\n").dropLast()
        #expect(
            lines.count == 1 + Self.names.count, "a heading, and a line an item: \(terminal.screen.debugDescription)")
    }

    private static func isHarmful(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: true
        default: false
        }
    }

    /// The characters that are escaped in a pipe.
    private static func isControlling(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7F..<0xA0, 0x61C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069: true
        default: false
        }
    }

    @Test("a secret that is shown in a pipe has only such characters escaped, and get writes it as it is")
    func revealed() throws {
        let sandbox = try Sandbox.withVault()
        let marks = "\u{61C}\u{200E}\u{200F}\u{202A}\u{202E}\u{2066}\u{2069}\u{2028}\u{2029}\u{85}"
        let shown = #"\u{61c}\u{200e}\u{200f}\u{202a}\u{202e}\u{2066}\u{2069}\u{2028}\u{2029}\u{85}"#
        let secret = Self.honest.joined(separator: " ")
        try sandbox.ok("set", "svc", input: "\(secret)\\\(marks)".utf8)
        let row = Array("\nsecret\t\(secret)\\\\\(shown)\n".utf8)
        let view = try sandbox.ok("show", "svc", "--reveal")
        #expect(view.bytes.contains(row), "\(view.output.debugDescription)")
        #expect(try sandbox.ok("get", "svc").bytes == Array("\(secret)\\\(marks)".utf8))
        let help = try sandbox.ok("show", "--help-all").output.split(whereSeparator: \.isWhitespace)
        #expect(help.joined(separator: " ").contains("'vaultfmt get' writes one exactly as it is stored"))
    }

    @Test("are harmless in error messages too")
    func inErrors() throws {
        let sandbox = try Sandbox.withVault()
        let run = try sandbox.fails(1, "\\u{1b}[31m\\n", "get", "\u{1B}[31m\nvaultfmt: all is well")
        #expect(run.error.utf8.count { $0 == 0x0A } == 1)
        #expect(!run.error.contains("\u{1B}"))
    }

    @Test("of 1,000 bytes are accounts like any other")
    func long() throws {
        let sandbox = try Sandbox.withVault()
        let account = String(repeating: "ä", count: 500)
        try sandbox.ok("set", "svc", account, input: "s".utf8)
        #expect(try sandbox.ok("get", "svc", account).output == "s")
        #expect(try sandbox.ok("list").output.contains("\t\(account)\t"))
        let items = try #require(try sandbox.ok("list", "--json").json() as? [[String: Any]])
        #expect(items.first?["account"] as? String == account)
        let terminal = try PseudoTerminal(sandbox, "list", columns: 80)
        #expect(try terminal.finish() == 0)
        #expect(terminal.screen.contains("ää…"))
    }

    /// A cell of tab-separated output as it was stored.
    private static func unescaped(_ cell: String) -> String {
        var result = String.UnicodeScalarView()
        var rest = cell.unicodeScalars[...]
        while let scalar = rest.popFirst() {
            guard scalar == "\\", let escaped = rest.popFirst() else {
                result.append(scalar)
                continue
            }
            switch escaped {
            case "t": result.append("\t")
            case "n": result.append("\n")
            case "r": result.append("\r")
            case "x":
                result.append(Unicode.Scalar(UInt8(String(rest.prefix(2)), radix: 16) ?? 0))
                rest = rest.dropFirst(2)
            case "u":
                let digits = rest.dropFirst().prefix { $0 != "}" }
                result.append(UInt32(String(digits), radix: 16).flatMap(Unicode.Scalar.init) ?? "\0")
                rest = rest.dropFirst(digits.count + 2)
            default: result.append(escaped)
            }
        }
        return String(result)
    }
}
