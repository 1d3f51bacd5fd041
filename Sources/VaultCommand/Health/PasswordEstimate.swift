import CInterchange
import VaultArguments
import VaultExchange
import VaultFmt

/// Estimates the difficulty of guessing a password: with libzxcvbn, which recognizes words, names, dates and keyboard
/// patterns, or, if that library is not installed, with a rough method of its own.
struct PasswordEstimate {
    /// The strength threshold: ten billion guesses are enough to find any password with fewer bits.
    static let enough = 33.2
    /// The number of characters that are examined. Any further characters are ignored: they do not make a weak password
    /// strong, and the library's running time is quadratic in the length.
    private static let longest = 96

    /// True if libzxcvbn is installed.
    let isExact = interchange_load(INTERCHANGE_ZXCVBN, nil, 0) == INTERCHANGE_LOADED

    /// The package to install for better estimates.
    static let package = String(cString: interchange_package(INTERCHANGE_ZXCVBN))

    /// Returns an upper bound on the strength of a password, in bits.
    func bits(_ password: UnsafeRawBufferPointer) -> Double {
        guard isExact else { return PassphraseStrength.bits(password) }
        let part = UnsafeRawBufferPointer(rebasing: password.prefix(Self.longest))
        guard !part.contains(0) else { return PassphraseStrength.bits(password) }
        var text = SecretBuffer(capacity: part.count + 1)
        text.append(part)
        text.append(0)
        return text.withUnsafeBytes { bytes in
            guard let start = bytes.bindMemory(to: CChar.self).baseAddress else { return 0 }
            return interchange_zxcvbn(start, nil)
        }
    }
}
