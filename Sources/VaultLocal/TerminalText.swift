/// Text as it may be shown to a person: what a file or another person wrote cannot move the cursor, hide itself,
/// reorder the line or end it.
package enum TerminalText {
    /// The text with everything escaped that is not plainly visible: controls, line ends, marks that change the
    /// direction of writing, invisible and private characters. A backslash is doubled, so that the result is
    /// unambiguous.
    package static func escaped(_ text: String) -> String {
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
    package static func singleLine(_ text: String) -> String {
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
    package static func quoted(_ text: String, limit: Int = 80) -> String {
        let shown = escaped(text)
        return shown.count <= limit ? "'\(shown)'" : "'\(shown.prefix(limit))…'"
    }

    /// A path in quotes for a message, escaped and whole.
    package static func path(_ path: String) -> String { "'\(escaped(path))'" }

    /// Whether showing the character as it is could do more than put a mark on the screen.
    package static func isHarmful(_ scalar: Unicode.Scalar) -> Bool {
        if scalar.value < 0x7F { return scalar.value < 0x20 }
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned: return true
        default: return scalar.properties.isDefaultIgnorableCodePoint
        }
    }
}
