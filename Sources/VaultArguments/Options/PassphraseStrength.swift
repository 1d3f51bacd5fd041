import Glibc
import VaultConsole
import VaultFmt
package import VaultLocal

/// An upper bound on the difficulty of guessing a passphrase, estimated without a dictionary of known passwords.
package enum PassphraseStrength {
    /// Passphrases with fewer bits cause a warning; five words from the generator's list have 64.
    static let enough = 45.0

    /// Warns if a new passphrase alone protects a slot and is easily guessed.
    package static func remark(on given: borrowing GivenFactors) {
        guard given.rawKey == nil, given.keyFile == nil else { return }
        let estimate: Double? =
            switch given.passphrase {
            case .some(let passphrase): passphrase.withUnsafeBytes { bits($0) }
            case .none: nil
            }
        guard let estimate, estimate < enough else { return }
        Terminal.warning(
            "the passphrase is weak, about \(Int(estimate)) \(Int(estimate) == 1 ? "bit" : "bits"): anyone with the file can guess it; "
                + "'vaultfmt generate --words 5' generates a strong one")
    }

    /// Returns the estimate in bits. Each character counts according to the kinds of characters in the passphrase, but
    /// less if it merely continues a sequence; a common word counts as one choice out of a thousand.
    package static func bits(_ bytes: UnsafeRawBufferPointer) -> Double {
        var alphabet = 0.0
        if bytes.contains(where: { (0x61...0x7A).contains($0) }) { alphabet += 26 }
        if bytes.contains(where: { (0x41...0x5A).contains($0) }) { alphabet += 26 }
        if bytes.contains(where: { (0x30...0x39).contains($0) }) { alphabet += 10 }
        if bytes.contains(where: { $0 < 0x80 && !isLetterOrDigit($0) }) { alphabet += 33 }
        if bytes.contains(where: { $0 >= 0x80 }) { alphabet += 100 }
        let each = log2(max(alphabet, 2))
        var total = 0.0
        var at = 0
        while at < bytes.count {
            if let length = commonWord(bytes, at) {
                total += 10
                at += length
                continue
            }
            // Continuation bytes of a character do not count.
            if bytes[at] & 0xC0 != 0x80 { total += at > 0 && follows(bytes[at - 1], bytes[at]) ? 1 : each }
            at += 1
        }
        return total
    }

    private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        default: false
        }
    }

    /// Returns whether a character repeats the previous one, or is adjacent to it in either direction.
    private static func follows(_ before: UInt8, _ byte: UInt8) -> Bool {
        before < 0x80 && byte < 0x80 && abs(Int(before) - Int(byte)) <= 1
    }

    private static let common: [StaticString] = [
        "password", "passwort", "passphrase", "qwertyuiop", "qwerty", "qwertz", "asdfgh", "zxcvbn", "letmein",
        "welcome", "iloveyou",
        "monkey",
        "dragon", "master", "admin", "login", "secret", "changeme", "football", "baseball", "sunshine", "princess",
        "vaultfmt",
    ]

    /// Returns the length of a common word that starts at the given position, ignoring case and treating the usual
    /// digits and symbols as the letters that they replace.
    private static func commonWord(_ bytes: UnsafeRawBufferPointer, _ start: Int) -> Int? {
        for word in common where start + word.utf8CodeUnitCount <= bytes.count {
            let isThere = (0..<word.utf8CodeUnitCount).allSatisfy { letter(bytes[start + $0]) == word.utf8Start[$0] }
            if isThere { return word.utf8CodeUnitCount }
        }
        return nil
    }

    /// The lower-case letter that a byte represents or is often used in place of.
    private static func letter(_ byte: UInt8) -> UInt8 {
        switch byte {
        case UInt8(ascii: "0"): UInt8(ascii: "o")
        case UInt8(ascii: "1"), UInt8(ascii: "!"): UInt8(ascii: "i")
        case UInt8(ascii: "3"): UInt8(ascii: "e")
        case UInt8(ascii: "4"), UInt8(ascii: "@"): UInt8(ascii: "a")
        case UInt8(ascii: "5"), UInt8(ascii: "$"): UInt8(ascii: "s")
        case UInt8(ascii: "7"): UInt8(ascii: "t")
        default: byte | 0x20
        }
    }
}
