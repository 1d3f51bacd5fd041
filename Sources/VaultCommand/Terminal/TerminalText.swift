/// Text as it may be shown to a person: what a file or another person wrote cannot move the cursor, hide itself,
/// reorder the line or end it.
enum TerminalText {
    /// The text with everything escaped that is not plainly visible: controls, line ends, marks that change the
    /// direction of writing, invisible and private characters. A backslash is doubled, so that the result is unambiguous.
    static func escaped(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: { $0 == "\\" || isHarmful($0) }) else { return text }
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case "\r": result += "\\r"
            case "\t": result += "\\t"
            case _ where isHarmful(scalar): result += "\\u{" + String(scalar.value, radix: 16) + "}"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    /// Text for one line of a message: as `escaped`, but backslashes stay as they are.
    static func singleLine(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: isHarmful) else { return text }
        var result = ""
        for scalar in text.unicodeScalars {
            if isHarmful(scalar) {
                result += escaped(String(scalar))
            } else {
                result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    /// A name in quotes for a message, escaped and cut to a length that leaves the message readable.
    static func quoted(_ text: String, limit: Int = 80) -> String {
        let shown = escaped(text)
        return shown.count <= limit ? "'\(shown)'" : "'\(shown.prefix(limit))…'"
    }

    /// Whether showing the character as it is could do more than put a mark on the screen.
    static func isHarmful(_ scalar: Unicode.Scalar) -> Bool {
        if scalar.value < 0x7F { return scalar.value < 0x20 }
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned: return true
        default: return scalar.properties.isDefaultIgnorableCodePoint
        }
    }

    /// The number of terminal columns of text that holds nothing harmful.
    static func width(_ text: String) -> Int {
        var columns = 0
        for character in text {
            columns += width(of: character)
        }
        return columns
    }

    private static func width(of character: Character) -> Int {
        guard let scalar = character.unicodeScalars.first else { return 0 }
        if scalar.value < 0x300 { return 1 }
        if scalar.properties.isEmojiPresentation { return 2 }
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .enclosingMark: return 0
        default: return isWide(scalar.value) ? 2 : 1
        }
    }

    /// East Asian Wide and Fullwidth blocks (Unicode Standard Annex 11).
    private static func isWide(_ value: UInt32) -> Bool {
        switch value {
        case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0x33FF, 0x3400...0x4DBF, 0x4E00...0x9FFF, 0xA000...0xA4CF,
            0xA960...0xA97F, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF01...0xFF60, 0xFFE0...0xFFE6,
            0x17000...0x18CFF, 0x1B000...0x1B2FF, 0x20000...0x3FFFD:
            true
        default: false
        }
    }
}
