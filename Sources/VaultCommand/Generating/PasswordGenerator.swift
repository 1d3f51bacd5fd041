import Glibc
import VaultFmt

/// The characters that a password is drawn from.
struct PasswordAlphabet {
    static let lowercase = "abcdefghijklmnopqrstuvwxyz"
    static let uppercase = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    static let digits = "0123456789"
    /// The punctuation of ASCII without quotes, backslash and backquote, which shells and file formats treat specially.
    static let symbols = "!#$%&()*+,-./:;<=>?@[]^_{|}~"
    /// Characters that are easily confused.
    static let ambiguous: Set<Unicode.Scalar> = ["0", "O", "o", "1", "l", "I", "|", "5", "S", "2", "Z", "8", "B"]

    /// Lower and upper case letters, digits and symbols.
    static let standard = PasswordAlphabet(lowercase + uppercase + digits + symbols)

    let characters: [Unicode.Scalar]

    /// Takes each character once, however often it stands there.
    init(_ text: String) {
        var seen: Set<Unicode.Scalar> = []
        characters = text.unicodeScalars.filter { seen.insert($0).inserted }
    }

    /// The same without characters that are easily confused.
    func withoutAmbiguous() -> PasswordAlphabet {
        PasswordAlphabet(String(String.UnicodeScalarView(characters.filter { !Self.ambiguous.contains($0) })))
    }

    /// How much a character drawn from it adds, in bits.
    var bitsPerCharacter: Double { log2(Double(max(characters.count, 1))) }
}

/// Makes passwords, each of the possible ones as likely as the others: no character is forced into them.
enum PasswordGenerator {
    /// How many characters a password has where nobody says.
    static let standardLength = 20

    /// A random password.
    /// - `length`: In characters.
    static func password(length: Int, from alphabet: PasswordAlphabet = .standard) -> Secret {
        var random = UniformRandom()
        var password = SecretBuffer(capacity: max(length, 1) * 4)
        for _ in 0..<length {
            let index = Int(random.next(below: UInt32(clamping: alphabet.characters.count)))
            password.append(contentsOf: UTF8.encode(alphabet.characters[index]) ?? .init())
        }
        return password.secret()
    }

    /// A passphrase of words from a list.
    static func passphrase(words: Int, from list: WordList, separator: String) -> Secret {
        var random = UniformRandom()
        var passphrase = SecretBuffer()
        for position in 0..<words {
            if position > 0 { passphrase.append(contentsOf: separator.utf8) }
            let index = Int(random.next(below: UInt32(clamping: list.words.count)))
            passphrase.append(contentsOf: list.words[index].utf8)
        }
        return passphrase.secret()
    }
}
