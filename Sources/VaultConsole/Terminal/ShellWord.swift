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

    private static func isPlain(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.isAlphabetic || scalar.properties.numericType != nil
            || "_@%+=:,./-".unicodeScalars.contains(scalar)
    }
}
