package import VaultLocal

extension TerminalText {
    /// Returns the number of terminal columns that a text occupies, provided that the text contains no harmful
    /// characters.
    package static func width(_ text: String) -> Int {
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
