/// What the crypto layer can fail with; it says no more than that.
package enum CryptoError: Error, Equatable, Sendable {
    /// A tag, MAC or commitment is wrong: another key, or changed bytes.
    case authenticationFailed
    /// Argon2's memory could not be had.
    case outOfMemory
    /// Argon2 refused its parameters.
    case kdfFailed
    case passphraseNotUTF8
    case passphraseLength
    case keyFileDamaged
    case keyFileLength
    case rawKeyLength
}
