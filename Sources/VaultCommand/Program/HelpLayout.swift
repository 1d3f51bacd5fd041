import VaultConsole
import VaultLocal

/// Text wrapped to the width of a page.
struct HelpLayout {
    /// The columns of a page. Lines are not longer on wider terminals, because long lines are hard to read.
    static let standardColumns = 80
    private static let indent = 2
    /// The column where descriptions begin.
    private static let descriptionColumn = 25

    let columns: Int

    /// Creates a page for a terminal of the given width, or for a file.
    init(terminalColumns: Int?) {
        columns = min(max(terminalColumns ?? Self.standardColumns, 40), Self.standardColumns)
    }

    /// Returns a paragraph with a hanging indent.
    func paragraph(_ text: String, indent: Int = 0, hanging: Int = 0) -> [String] {
        var lines: [String] = []
        var line = String(repeating: " ", count: indent)
        var isEmpty = true
        for word in text.split(separator: " ") {
            if !isEmpty, TerminalText.width(line) + 1 + TerminalText.width(String(word)) > columns {
                lines.append(line)
                line = String(repeating: " ", count: indent + hanging)
                isEmpty = true
            }
            line += (isEmpty ? "" : " ") + word
            isEmpty = false
        }
        return isEmpty && lines.isEmpty ? [""] : lines + (isEmpty ? [] : [line])
    }

    /// Returns a term and its description, in two columns.
    func definition(_ term: String, _ meaning: String) -> [String] {
        let start = String(repeating: " ", count: Self.indent) + term
        guard !meaning.isEmpty else { return [start] }
        var lines = paragraph(meaning, indent: Self.descriptionColumn)
        guard TerminalText.width(start) < Self.descriptionColumn - 1 else { return [start] + lines }
        let padding = Self.descriptionColumn - TerminalText.width(start)
        lines[0] = start + String(repeating: " ", count: padding) + lines[0].drop { $0 == " " }
        return lines
    }

    /// Returns names, one after the other.
    func names(_ names: [String]) -> [String] { paragraph(names.joined(separator: " "), indent: Self.indent) }

    /// Returns a line for the shell; a long line is continued with a backslash, never within quotes.
    func commandLine(_ text: String) -> [String] {
        let indent = String(repeating: " ", count: Self.indent)
        guard TerminalText.width(indent + text) > columns else { return [indent + text] }
        var words: [String] = [""]
        var quote: Character?
        for character in text {
            if character == " ", quote == nil { words.append("") } else { words[words.count - 1].append(character) }
            if character == quote { quote = nil } else if quote == nil, "'\"".contains(character) { quote = character }
        }
        var lines: [String] = []
        var line = indent + words[0]
        for word in words.dropFirst() {
            if TerminalText.width(line) + 1 + TerminalText.width(word) > columns - 2 {
                lines.append(line + " \\")
                line = indent + indent + word
            } else {
                line += " " + word
            }
        }
        return lines + [line]
    }

    /// Wraps preformatted text: each line is wrapped to its own indentation or, if the line has a second column, to
    /// that column.
    func folded(_ text: String) -> [String] {
        text.split(separator: "\n", omittingEmptySubsequences: false).flatMap { line -> [String] in
            guard TerminalText.width(String(line)) > columns else { return [String(line)] }
            let start = Self.lastColumn(of: line)
            let head = line.prefix(start)
            var lines = paragraph(String(line.dropFirst(start)), indent: start)
            lines[0] = String(head) + lines[0].drop { $0 == " " }
            return lines
        }
    }

    /// Returns the column in which the text of a line begins: after its first gap of two spaces, or after its
    /// indentation.
    private static func lastColumn(of line: Substring) -> Int {
        let indent = line.prefix { $0 == " " }.count
        guard let gap = line.dropFirst(indent).firstRange(of: "  ") else { return indent }
        let rest = line[gap.lowerBound...]
        return line.distance(from: line.startIndex, to: gap.lowerBound) + rest.prefix { $0 == " " }.count
    }
}
