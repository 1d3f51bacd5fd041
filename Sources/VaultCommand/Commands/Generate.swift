import ArgumentParser
import VaultFmt
import VaultLocal

/// `generate`: passwords, passphrases and key files.
struct Generate: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Make up a password, a passphrase or a key file.",
        discussion: """
            Every password that can come out is as likely as the others; how likely is said on standard error, in bits of entropy. Nothing is \
            stored: see 'vaultfmt set --generate' for that.

            Examples:
              vaultfmt generate --length 24 --no-symbols
              vaultfmt generate --words 6
              vaultfmt generate --key-file ~/vault.key
            """)

    @Option("How many characters (20).")
    var length: Int?

    @Option("The characters to draw from, in place of letters, digits and symbols.")
    var alphabet: String?

    @Flag(help: "No lower-case letters.")
    var noLowercase = false

    @Flag(help: "No upper-case letters.")
    var noUppercase = false

    @Flag(help: "No digits.")
    var noDigits = false

    @Flag(help: "No symbols.")
    var noSymbols = false

    @Flag(help: "Leave out characters that are easily confused: 0Oo 1lI| 5S 2Z 8B.")
    var noAmbiguous = false

    @Option("Make a passphrase of so many words instead.")
    var words: Int?

    @Option("What stands between words (-).")
    var separator: String?

    @Option("The list of words: one of Debian's package diceware (en_eff), or a path.")
    var list: String?

    @Option("Make a key file instead: readable by you alone, never over another file.", isFile: true)
    var keyFile: String?

    func validate() throws {
        let hasPasswordOptions =
            length != nil || alphabet != nil || noLowercase || noUppercase || noDigits || noSymbols || noAmbiguous
        let hasWordOptions = words != nil || separator != nil || list != nil
        guard [hasPasswordOptions, hasWordOptions, keyFile != nil].count(where: \.self) <= 1 else {
            throw ValidationError(
                "options for a password, for words and for a key file exclude each other; give one kind")
        }
        guard words != nil || !hasWordOptions else {
            throw ValidationError("--separator and --list go with --words; add it")
        }
        guard alphabet == nil || !(noLowercase || noUppercase || noDigits || noSymbols) else {
            throw ValidationError("--alphabet says exactly what to draw from; leave the --no-… options out")
        }
        if let length, !(1...4096).contains(length) { throw ValidationError("--length takes 1 to 4096") }
        if let words, !(1...1024).contains(words) { throw ValidationError("--words takes 1 to 1024") }
    }

    func run() throws {
        if let keyFile { return try makeKeyFile(keyFile) }
        if let words { return try makePassphrase(words) }
        try makePassword()
    }

    private func makePassword() throws {
        let length = length ?? PasswordGenerator.standardLength
        let alphabet = try drawnFrom()
        try write(PasswordGenerator.password(length: length, from: alphabet))
        say("\(length) of \(alphabet.characters.count) characters", Double(length) * alphabet.bitsPerCharacter)
    }

    private func makePassphrase(_ count: Int) throws {
        let list = try WordList(list ?? WordList.standard)
        let separator = separator ?? "-"
        try write(PasswordGenerator.passphrase(words: count, from: list, separator: separator))
        let limit = separator.isEmpty ? ", at most, since words that run together can be read in several ways" : ""
        say("\(count) of \(list.words.count) words\(limit)", Double(count) * list.bitsPerWord)
    }

    private func makeKeyFile(_ path: String) throws {
        try NewFile.create(path, what: "key file", KeyFile.generate())
        Terminal.note(
            "made the key file \(TerminalText.quoted(path)); keep a copy elsewhere: without it, the vault stays closed")
    }

    private func drawnFrom() throws -> PasswordAlphabet {
        let classes = [
            (PasswordAlphabet.lowercase, noLowercase), (PasswordAlphabet.uppercase, noUppercase),
            (PasswordAlphabet.digits, noDigits),
            (PasswordAlphabet.symbols, noSymbols),
        ]
        var drawnFrom = PasswordAlphabet(alphabet ?? classes.map { $1 ? "" : $0 }.joined())
        guard !drawnFrom.characters.contains(where: TerminalText.isHarmful) else {
            throw CommandFailure(.usage, "--alphabet holds characters that cannot be seen or typed; leave them out")
        }
        if noAmbiguous { drawnFrom = drawnFrom.withoutAmbiguous() }
        guard drawnFrom.characters.count >= 2 else {
            throw CommandFailure(.usage, "fewer than two different characters are left to draw from; allow more")
        }
        return drawnFrom
    }

    private func write(_ secret: borrowing Secret) throws {
        let output = Output.standard()
        try secret.withUnsafeBytes { bytes in try output.write(bytes) }
        try output.write(byte: 0x0A)
        try output.flush()
    }

    private func say(_ what: String, _ bits: Double) {
        let tenths = Int((bits * 10).rounded(.down))
        Terminal.note("\(what): \(tenths / 10).\(tenths % 10) bits of entropy")
    }
}
