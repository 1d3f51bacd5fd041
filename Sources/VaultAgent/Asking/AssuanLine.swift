internal import VaultLocal

/// A line of the Assuan protocol, in which pinentry gets its commands.
enum AssuanLine {
    /// The longest line that the protocol allows, without its end, in bytes.
    static let longest = 1000

    /// Returns a command with its argument as a line with its end; nil if it is longer than the protocol allows.
    ///
    /// Control characters and percent signs in the argument are escaped, so that it stays one line and is shown
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

/// The texts of questions, which contain names that others have chosen.
package enum QuestionText {
    /// Returns whether a question can be shown whole. One that cannot is not asked: nobody agrees to what is not shown.
    package static func fits(_ question: String) -> Bool { line(question) != nil }

    /// Returns the line that tells pinentry the question; nil if it does not fit.
    static func line(_ question: String) -> [UInt8]? { AssuanLine.command("SETDESC", shown(question)) }

    /// Returns a text in which only its line ends have an effect on what is shown around them.
    ///
    /// A `<` is escaped, too: some pinentries take a text with tags for markup, in which a name could hide what
    /// follows.
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
