import Glibc
import VaultBytes
package import VaultExchange
import VaultLocal

/// Rows for standard output: columns with a heading on a terminal, tab-separated without a heading otherwise.
///
/// On a terminal, every cell is escaped with `TerminalText`. Elsewhere, backslashes, tabs and newlines are written as
/// `\\`, `\t`, `\n` and `\r`, other ASCII control characters as `\xNN`, and C1 controls, line and paragraph separators,
/// and bidirectional formatting marks as `\u{…}`. Each row is then one line, its cells can be distinguished, and no
/// label can control a terminal or reorder its text; everything else, such as joiners and variation selectors, is
/// written unchanged.
package struct Table {
    let headings: [String]
    private var rows: [[String]] = []
    /// True if the output is a terminal.
    package let isForPeople: Bool

    /// Columns that are never truncated, such as dates.
    private let fixed: Set<Int>
    /// True if nothing is truncated, even on a narrow terminal.
    private let isWide: Bool

    package init(
        _ headings: [String], fixed: Set<Int> = [], isWide: Bool = false, isTerminal: Bool = Terminal.outputIsTerminal
    ) {
        self.headings = headings
        self.fixed = fixed
        self.isWide = isWide
        isForPeople = isTerminal
    }

    var isEmpty: Bool { rows.isEmpty }

    /// Adds a row; if the output is not a terminal, it is written immediately, so that a listing of any length needs
    /// little memory.
    package mutating func add(_ cells: [String], to output: Output) throws {
        if isForPeople {
            rows.append(cells.map(TerminalText.escaped))
        } else {
            try output.line(cells.map(Self.machineReadable).joined(separator: "\t"))
        }
    }

    /// Writes the remaining rows.
    package func finish(_ output: Output) throws {
        guard isForPeople, !rows.isEmpty else { return }
        var widths = headings.map { TerminalText.width($0) }
        for row in rows {
            for (column, cell) in row.enumerated() where column < widths.count {
                widths[column] = max(widths[column], TerminalText.width(cell))
            }
        }
        if !isWide { widths = narrowed(widths, to: Terminal.columns(of: STDOUT_FILENO)) }
        try output.line(Style.standardOutput.apply(.heading, to: Self.line(headings, widths)))
        for row in rows { try output.line(Self.line(row, widths)) }
    }

    /// Returns a cell as written in tab-separated output, so that untrusted text cannot break a row, or control or
    /// reorder the text of the terminal at the end of a pipe.
    package static func machineReadable(_ text: String) -> String {
        guard text.utf8.contains(where: { $0 < 0x20 || $0 == 0x5C || $0 >= 0x7F }) else { return text }
        var result = ""
        for scalar in text.unicodeScalars {
            if let escaped = escape(scalar) { result += escaped } else { result.unicodeScalars.append(scalar) }
        }
        return result
    }

    /// Returns what is written in tab-separated output in place of a character; nil if it is written unchanged.
    package static func escape(_ scalar: Unicode.Scalar) -> String? {
        switch scalar {
        case "\\": "\\\\"
        case "\t": "\\t"
        case "\n": "\\n"
        case "\r": "\\r"
        case "\0"..<" ", "\u{7F}": "\\x" + Hex.encode([UInt8(scalar.value)])
        case _ where TerminalText.isControlling(scalar): "\\u{" + String(scalar.value, radix: 16) + "}"
        default: nil
        }
    }

    private static func line(_ cells: [String], _ widths: [Int]) -> String {
        var line = ""
        for (column, cell) in cells.enumerated() {
            let isLast = column == cells.count - 1
            let width = column < widths.count ? widths[column] : 0
            let shown = cut(cell, to: width)
            line += shown
            if !isLast { line += String(repeating: " ", count: max(0, width - TerminalText.width(shown)) + 2) }
        }
        return line
    }

    /// Returns the cell; if it is too wide, its middle is omitted, because names often differ at their ends.
    private static func cut(_ cell: String, to width: Int) -> String {
        guard TerminalText.width(cell) > width else { return cell }
        let tail = (width - 1) / 3
        let start = fitting(cell, width - 1 - tail)
        return start + "…" + String(fitting(String(cell.reversed()), tail).reversed())
    }

    /// Returns as many leading characters as fit.
    private static func fitting(_ text: String, _ width: Int) -> String {
        var shown = ""
        var used = 0
        for character in text {
            used += TerminalText.width(String(character))
            if used > width { break }
            shown.append(character)
        }
        return shown
    }

    /// Narrows the widest columns until the table fits; no column becomes narrower than 8.
    private func narrowed(_ widths: [Int], to available: Int?) -> [Int] {
        guard let available else { return widths }
        var widths = widths
        let mayNarrow = widths.indices.filter { !fixed.contains($0) }
        var excess = widths.reduce(0, +) + 2 * (widths.count - 1) - available
        while excess > 0, let widest = mayNarrow.max(by: { widths[$0] < widths[$1] }), widths[widest] > 8 {
            let second = mayNarrow.filter { $0 != widest }.map { widths[$0] }.max() ?? 8
            let step = min(excess, max(1, widths[widest] - max(second, 8)))
            widths[widest] -= step
            excess -= step
        }
        return widths
    }
}
