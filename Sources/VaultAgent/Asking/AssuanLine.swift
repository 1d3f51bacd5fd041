internal import VaultLocal

/// A line of the Assuan protocol, which pinentry uses for its commands.
enum AssuanLine {
    /// The longest line that the protocol allows, in bytes, without the newline.
    static let longest = 1000

    /// Returns a line with a command and its argument, including the newline; nil if it is longer than the protocol
    /// allows.
    ///
    /// Control characters and percent signs in the argument are escaped, so that it stays on one line and is displayed
    /// unchanged.
    static func command(_ name: String, _ argument: String = "") -> [UInt8]? {
        var line = Array(name.utf8)
        if !argument.isEmpty { line.append(UInt8(ascii: " ")) }
        for byte in argument.utf8 {
            if byte < 0x20 || byte == 0x7F || byte == UInt8(ascii: "%") {
                line += [UInt8(ascii: "%"), digit(byte >> 4), digit(byte & 15)]
            } else {
                line.append(byte)
            }
        }
        guard line.count <= longest else { return nil }
        return line + [UInt8(ascii: "\n")]
    }

    private static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") + value - 10
    }

    /// Returns the value of a hexadecimal digit; nil for other bytes.
    static func value(ofDigit digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        default: nil
        }
    }
}

/// The texts of questions. They contain names chosen by other programs and people.
package enum QuestionText {
    /// Returns whether a question can be shown in full. Otherwise, it is never asked, because nobody can agree to text
    /// that they cannot see.
    package static func fits(_ question: String) -> Bool { line(question) != nil }

    /// Returns the command that sets pinentry's question; nil if the question is too long.
    static func line(_ question: String) -> [UInt8]? { AssuanLine.command("SETDESC", shown(question)) }

    /// Returns a text in which only newlines affect how it is displayed.
    ///
    /// `<` is escaped too: some pinentries interpret a text with tags as markup, and a name could use that to hide what
    /// follows it.
    static func shown(_ text: String) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            var shown = ""
            for scalar in TerminalText.singleLine(String(line)).unicodeScalars {
                if scalar == "<" { shown += "\\u{3c}" } else { shown.unicodeScalars.append(scalar) }
            }
            return shown
        }.joined(separator: "\n")
    }
}
