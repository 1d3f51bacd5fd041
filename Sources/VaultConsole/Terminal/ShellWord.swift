package import VaultLocal

extension TerminalText {
    /// Returns a word for a command that a message shows in single quotes, in a form that lets the command be copied.
    /// The word is unchanged if a shell would read it literally, and quoted otherwise. Characters that would control
    /// the terminal are escaped.
    package static func word(_ text: String) -> String {
        let shown = singleLine(text)
        if !shown.isEmpty, shown.unicodeScalars.allSatisfy(isPlain) { return shown }
        if !shown.contains(where: { "\"$`\\!".contains($0) }) { return "\"\(shown)\"" }
        return "'" + shown.replacing("'", with: "'\\''") + "'"
    }

    /// Returns a name in the quotes of a shell, so that it can be copied: its backslashes are not doubled. A name that a
    /// line cannot show as it is, or that is too long, is shown like `quoted`, which cannot be copied.
    package static func typed(_ text: String, limit: Int = 80) -> String {
        guard text.unicodeScalars.count <= limit, !text.unicodeScalars.contains(where: isHarmful) else {
            return quoted(text, limit: limit)
        }
        return "'" + text.replacing("'", with: "'\\''") + "'"
    }

    private static func isPlain(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.isAlphabetic || scalar.properties.numericType != nil
            || "_@%+=:,./-".unicodeScalars.contains(scalar)
    }
}
