import Glibc
import VaultExchange
import VaultFmt

/// The characters from which a password is drawn, divided into kinds. A password contains at least one character of
/// each kind.
struct PasswordAlphabet {
    static let lowercase = "abcdefghijklmnopqrstuvwxyz"
    static let uppercase = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    static let digits = "0123456789"
    /// ASCII punctuation without quotes, the backslash and the backquote, which shells and file formats treat
    /// specially.
    static let symbols = "!#$%&()*+,-./:;<=>?@[]^_{|}~"
    /// Characters that are easily confused.
    static let ambiguous = "0Oo1lI|5S2Z8B"

    /// Lowercase and uppercase letters, digits and symbols.
    static let standard = PasswordAlphabet([lowercase, uppercase, digits, symbols])

    let characters: [Unicode.Scalar]
    /// The kind of each character.
    fileprivate let kinds: [Int]
    /// The number of characters of each kind.
    private let sizes: [Int]

    /// Creates an alphabet from which excluded characters are omitted. Each character counts only once, even if it is
    /// listed several times.
    init(_ kinds: [String], excluding excluded: String = "") {
        var seen = Set(excluded.unicodeScalars)
        let sets = kinds.map { $0.unicodeScalars.filter { seen.insert($0).inserted } }.filter { !$0.isEmpty }
        characters = sets.flatMap { Array($0) }
        self.kinds = sets.enumerated().flatMap { kind, set in set.map { _ in kind } }
        sizes = sets.map(\.count)
    }

    /// Returns the number of kinds that a password of the given length must contain: all kinds if the password is long
    /// enough, and none otherwise.
    fileprivate func required(length: Int) -> Int { length >= sizes.count ? sizes.count : 0 }

    /// Returns the entropy of a password in bits. All passwords that contain the required kinds are equally likely.
    func bits(length: Int) -> Double {
        let total = Double(max(characters.count, 1))
        let bits = Double(length) * log2(total)
        guard required(length: length) > 1 else { return bits }
        // The fraction of passwords that contain every kind, by inclusion–exclusion over the missing kinds.
        let share = (0..<1 << sizes.count).reduce(0.0) { sum, left in
            let out = sizes.indices.filter { left >> $0 & 1 == 1 }
            let rest = (total - Double(out.map { sizes[$0] }.reduce(0, +))) / total
            return sum + (out.count.isMultiple(of: 2) ? 1 : -1) * pow(rest, Double(length))
        }
        return bits + log2(share)
    }
}

/// Generates passwords; all possible passwords are equally likely.
package enum PasswordGenerator {
    /// The default length of a password.
    package static let standardLength = 20

    /// Returns a random password of the given length, with at least one character of each kind if the password is long
    /// enough.
    ///
    /// A password that lacks a kind is discarded as a whole: inserting a character of that kind would make some
    /// passwords more likely than others.
    static func password(length: Int, from alphabet: PasswordAlphabet = .standard) -> Secret {
        var random = UniformRandom()
        while true {
            var password = SecretBuffer(capacity: max(length, 1) * 4)
            var kinds: Set<Int> = []
            for _ in 0..<length {
                let index = Int(random.next(below: UInt32(clamping: alphabet.characters.count)))
                password.append(contentsOf: UTF8.encode(alphabet.characters[index]) ?? .init())
                kinds.insert(alphabet.kinds[index])
            }
            if kinds.count >= alphabet.required(length: length) { return password.secret() }
        }
    }

    /// Returns a passphrase of words from a list.
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
