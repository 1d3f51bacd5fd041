/// The errors of the crypto layer. They contain no further details.
package enum CryptoError: Error, Equatable, Sendable {
    /// A tag, MAC or commitment is wrong: either the key is wrong, or the bytes were changed.
    case authenticationFailed
    /// There is not enough memory for Argon2 or for a secret.
    case outOfMemory
    /// Argon2 rejected its parameters.
    case kdfFailed
    case passphraseNotUTF8
    case passphraseLength
    /// A new passphrase contains a code point that Unicode 13.0 does not assign.
    case passphraseUnassigned
    case keyFileDamaged
    case keyFileLength
    case rawKeyLength
}
