import Foundation
import Testing

@Suite("Names that other people wrote")
struct NameTests {
    /// Controls, line ends, an escape sequence, marks that turn the direction, invisible characters, wide ones, and a
    /// lone backslash.
    static let names = [
        "bell\u{7} and \u{1B}[31mred\u{1B}[0m", "two\nlines\r\nand a\ttab", "safe\u{202E}txt.exe",
        "\u{2066}isolated\u{2069}",
        "zero\u{200B}width\u{FEFF}",
        "C1 \u{9B}31m", "漢字とかな", "e\u{301} composed later", "back\\slash", " spaces ", "\u{2028}separator",
        "-starts-with-dash", "\u{7F}",
    ]

    @Test("survive set, get, list and JSON, and come out harmless on a terminal")
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
        try expectHarmless(sandbox)
    }

    private func expectHarmless(_ sandbox: Sandbox) throws {
        sandbox.environment["NO_COLOR"] = "1"
        let terminal = try PseudoTerminal(sandbox, "list", columns: 400)
        #expect(try terminal.finish() == 0)
        let harmful = terminal.screen.unicodeScalars.filter { scalar in
            guard scalar != "\r", scalar != "\n" else { return false }
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator: return true
            default: return false
            }
        }
        #expect(harmful.isEmpty, "\(terminal.screen.debugDescription)")
        let lines = terminal.screen.components(separatedBy: "\r\n").dropLast()
        #expect(
            lines.count == 1 + Self.names.count, "a heading, and a line an item: \(terminal.screen.debugDescription)")
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
            default: result.append(escaped)
            }
        }
        return String(result)
    }
}
