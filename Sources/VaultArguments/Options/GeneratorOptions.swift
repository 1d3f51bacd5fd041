import ArgumentParser
import VaultConsole
package import VaultFmt
import VaultLocal

/// The composition of a generated password or passphrase: options that `generate`, `set` and `add` share.
package struct GeneratorOptions: ParsableArguments {
    @Option("The number of characters (default: 20).")
    var length: Int?

    @Option("The characters to draw from, instead of letters, digits and symbols.")
    var alphabet: String?

    @Flag(help: "No lower-case letters.")
    var noLowercase = false

    @Flag(help: "No upper-case letters.")
    var noUppercase = false

    @Flag(help: "No digits.")
    var noDigits = false

    @Flag(help: "No symbols.")
    var noSymbols = false

    @Flag(help: "Omit characters that are easily confused: 0Oo 1lI| 5S 2Z 8B.")
    var noAmbiguous = false

    @Option("Leave out these characters.", value: "characters")
    var exclude: String?

    @Option("Generate a passphrase of this many words instead.")
    var words: Int?

    @Option("The separator between words (default: -).")
    var separator: String?

    @Option("The word list: one from Debian's diceware package, such as en_eff, or a path.")
    var list: String?

    package init() {}

    package func validate() throws {
        guard !isForPassword || !isForWords else {
            throw ValidationError(
                "options for a password, for words and for a key file cannot be combined; use one kind")
        }
        guard words != nil || !isForWords else {
            throw ValidationError("--separator and --list require --words; add it")
        }
        guard alphabet == nil || !(noLowercase || noUppercase || noDigits || noSymbols) else {
            throw ValidationError("--alphabet already defines the characters; remove the --no-… options")
        }
        if let length, !(1...4096).contains(length) { throw ValidationError("--length must be between 1 and 4096") }
        if let words, !(1...1024).contains(words) { throw ValidationError("--words must be between 1 and 1024") }
    }

    private var passwordOptions: [(name: String, isGiven: Bool)] {
        [
            ("--length", length != nil), ("--alphabet", alphabet != nil), ("--no-lowercase", noLowercase),
            ("--no-uppercase", noUppercase), ("--no-digits", noDigits), ("--no-symbols", noSymbols),
            ("--no-ambiguous", noAmbiguous), ("--exclude", exclude != nil),
        ]
    }

    private var wordOptions: [(name: String, isGiven: Bool)] {
        [("--words", words != nil), ("--separator", separator != nil), ("--list", list != nil)]
    }

    private var isForPassword: Bool { passwordOptions.contains { $0.isGiven } }

    private var isForWords: Bool { wordOptions.contains { $0.isGiven } }

    /// The first option that is given, with its dashes; nil if none is given.
    var firstGiven: String? { (passwordOptions + wordOptions).first { $0.isGiven }?.name }

    /// True if any option is given.
    package var isGiven: Bool { firstGiven != nil }

    /// Generates a password or a passphrase.
    package func generate() throws -> GeneratedSecret {
        if let words { return try passphrase(words) }
        let length = length ?? PasswordGenerator.standardLength
        let alphabet = try drawnFrom()
        return GeneratedSecret(
            secret: PasswordGenerator.password(length: length, from: alphabet),
            description: "\(length) of \(alphabet.characters.count) characters", bits: alphabet.bits(length: length))
    }

    private func passphrase(_ count: Int) throws -> GeneratedSecret {
        let list = try WordList(list ?? WordList.standard)
        let separator = separator ?? "-"
        let limit = separator.isEmpty ? ", at most, because words without a separator can be read in several ways" : ""
        return GeneratedSecret(
            secret: PasswordGenerator.passphrase(words: count, from: list, separator: separator),
            description: "\(count) of \(list.words.count) words\(limit)", bits: Double(count) * list.bitsPerWord)
    }

    private func drawnFrom() throws -> PasswordAlphabet {
        let kinds = [
            (PasswordAlphabet.lowercase, noLowercase), (PasswordAlphabet.uppercase, noUppercase),
            (PasswordAlphabet.digits, noDigits), (PasswordAlphabet.symbols, noSymbols),
        ]
        let excluded = (exclude ?? "") + (noAmbiguous ? PasswordAlphabet.ambiguous : "")
        let drawnFrom = PasswordAlphabet(
            alphabet.map { [$0] } ?? kinds.filter { !$0.1 }.map(\.0), excluding: excluded)
        guard !drawnFrom.characters.contains(where: TerminalText.isHarmful) else {
            throw CommandFailure(.usage, "--alphabet contains characters that cannot be seen or typed; remove them")
        }
        guard drawnFrom.characters.count >= 2 else {
            throw CommandFailure(.usage, "these options allow fewer than two different characters; allow more")
        }
        return drawnFrom
    }
}

/// A generated secret, and how it was generated.
package struct GeneratedSecret: ~Copyable {
    package let secret: Secret
    /// The method of generation, such as "20 of 90 characters".
    package let description: String
    /// The entropy in bits.
    package let bits: Double

    /// The entropy with one decimal, rounded down.
    package var bitsText: String {
        let tenths = Int((bits * 10).rounded(.down))
        return "\(tenths / 10).\(tenths % 10)"
    }
}
