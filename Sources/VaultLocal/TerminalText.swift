/// Text that is safe to show on a terminal: text from a file or another person cannot move the cursor, hide itself, or
/// reorder or end the line.
package enum TerminalText {
    /// Returns the text with all characters escaped that are not plainly visible: control characters, line endings,
    /// bidirectional formatting marks, and invisible and private-use characters. Backslashes are doubled to make the
    /// result unambiguous.
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

    /// Returns text for one line of a message: like `escaped`, but backslashes are not doubled.
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

    /// Returns a name in quotes for a message, escaped, and truncated to keep the message readable. A quote in the name
    /// is escaped, too, because it would look like the end of the name, and the text after it would look like the
    /// message's own words.
    package static func quoted(_ text: String, limit: Int = 80) -> String {
        let escaped = escaped(text).unicodeScalars
        var shown = "'"
        for scalar in escaped.prefix(limit) {
            if scalar == "'" { shown += "\\" }
            shown.unicodeScalars.append(scalar)
        }
        return shown + (escaped.count > limit ? "…'" : "'")
    }

    /// Returns a path in quotes for a message, escaped but not truncated.
    package static func path(_ path: String) -> String { "'\(escaped(path))'" }

    /// Returns whether showing the character unescaped could do more than draw a visible character.
    package static func isHarmful(_ scalar: Unicode.Scalar) -> Bool {
        if scalar.value < 0x7F { return scalar.value < 0x20 }
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned: return true
        default: return scalar.properties.isDefaultIgnorableCodePoint
        }
    }

    /// Returns whether the character could control a terminal, end a line, or reorder the text around it.
    ///
    /// Text for programs escapes only these characters: joiners and variation selectors occur in legitimate names, and
    /// which code points are unassigned depends on the version of Unicode.
    package static func isControlling(_ scalar: Unicode.Scalar) -> Bool {
        if scalar.value < 0x7F { return scalar.value < 0x20 }
        switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: return true
        default: return scalar.properties.isBidiControl
        }
    }
}
