import Foundation
import Testing

@Suite("Names that other people wrote")
struct NameTests {
    /// Controls, line ends, an escape sequence, marks that turn the direction, invisible characters, wide ones, and a lone backslash.
    static let names = [
        "bell\u{7} and \u{1B}[31mred\u{1B}[0m", "two\nlines\r\nand a\ttab", "safe\u{202E}txt.exe", "\u{2066}isolated\u{2069}",
        "zero\u{200B}width\u{FEFF}",
        "C1 \u{9B}31m", "漢字とかな", "e\u{301} composed later", "back\\slash", " spaces ", "\u{2028}separator", "-starts-with-dash", "\u{7F}",
    ]

    @Test("survive set, get, list, JSON", arguments: names)
    func survive(_ name: String) throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "--label", name, "--", name, name, input: name.utf8)
        #expect(try sandbox.ok("get", "--", name, name).bytes == Array(name.utf8))
        #expect(try sandbox.ok("get", "--field", "account", "--", name).bytes == Array(name.utf8))
        let items = try #require(try sandbox.ok("list", "--json").json() as? [[String: Any]])
        let item = try #require(items.first)
        #expect(Array((item["service"] as? String ?? "").utf8) == Array(name.utf8))
        #expect(Array((item["account"] as? String ?? "").utf8) == Array(name.utf8))
        let row = try sandbox.ok("list").output
        #expect(row.utf8.count { $0 == 0x0A } == 1)
        let cells = row.components(separatedBy: "\t")
        #expect(cells.count == 6)
        #expect(Self.unescaped(cells[1]) == name)
    }

    @Test("come out harmless on a terminal", arguments: names)
    func harmless(_ name: String) throws {
        let sandbox = try Sandbox.withVault()
        sandbox.environment["NO_COLOR"] = "1"
        try sandbox.ok("set", "--", name, name, input: "s".utf8)
        let terminal = try PseudoTerminal(sandbox, "list")
        #expect(try terminal.finish() == 0)
        let harmful = terminal.screen.unicodeScalars.filter { scalar in
            guard scalar != "\r", scalar != "\n" else { return false }
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator: return true
            default: return false
            }
        }
        #expect(harmful.isEmpty, "\(terminal.screen.debugDescription)")
        #expect(terminal.screen.split(separator: "\r\n").count == 2, "a heading and one line: \(terminal.screen.debugDescription)")
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
        var result = ""
        var isEscaped = false
        for scalar in cell.unicodeScalars {
            if isEscaped {
                isEscaped = false
                switch scalar {
                case "t": result += "\t"
                case "n": result += "\n"
                case "r": result += "\r"
                default: result.unicodeScalars.append(scalar)
                }
            } else if scalar == "\\" {
                isEscaped = true
            } else {
                result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}
