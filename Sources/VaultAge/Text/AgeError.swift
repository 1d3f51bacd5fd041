/// The reason why an operation with age keys failed. Two errors are equal if their codes are equal.
public struct AgeError: Error, Equatable, CustomStringConvertible, Sendable {
    /// The kinds of failure, with stable numbers.
    public enum Code: Int32, Sendable, CaseIterable {
        /// A stanza, or a list of them, is malformed.
        case malformedStanza = 1
        /// A size or number exceeds a limit.
        case tooLarge = 2
        /// A recipient is malformed.
        case invalidRecipient = 3
        /// A recipient is of a kind that cannot be used here.
        case unsupportedRecipient = 4
        /// An identity, or a file of identities, is malformed.
        case invalidIdentity = 5
        /// An identity is of a kind that cannot be used here.
        case unsupportedIdentity = 6
        /// Recipients with different labels cannot share a slot.
        case incompatibleRecipients = 7
        /// Decrypting a passphrase-encrypted file requires more work than is allowed.
        case excessiveWork = 8
        /// The passphrase does not decrypt the file.
        case wrongPassphrase = 9
        /// There is not enough memory for the key derivation.
        case outOfMemory = 10
        /// The plugin's program was not found in PATH.
        case noPlugin = 11
        /// A plugin reported a failure, exited early, or violated the protocol.
        case pluginFailed = 12
        /// The user declined, or a plugin was interrupted.
        case cancelled = 13
        /// A plugin did not respond in time.
        case timedOut = 14
        /// A plugin needs a device that is absent.
        case noDevice = 15
        /// A passphrase is needed, but no one can be asked for it.
        case passphraseNeeded = 16
    }

    /// The kind of failure.
    public let code: Code
    /// One line of human-readable text. It may quote a file or a plugin, but it never contains a secret.
    public let detail: String

    /// Creates an error.
    public init(_ code: Code, _ detail: String) {
        self.code = code
        self.detail = detail
    }

    /// The detail of the error.
    public var description: String { detail }

    /// Compares the codes.
    public static func == (left: AgeError, right: AgeError) -> Bool { left.code == right.code }
}
