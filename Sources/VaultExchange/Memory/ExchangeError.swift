package import VaultFmt

/// The reason why a source cannot be read, or an export cannot be written, in one line without a newline.
package struct ExchangeError: Error {
    package enum Code: Sendable {
        /// The source is damaged, or is not in the expected form.
        case damaged
        /// The source needs something that this version or this machine does not have.
        case unavailable
        /// No factor opens the source.
        case noAccess
        /// The source requires more work or memory than the caller allows.
        case overLimit
        /// The format does not support the caller's request, or the caller did not supply required input.
        case invalidArgument
        case noSuchFile
        case io
        /// The vault rejects an item from the source, or cannot be read or written; `cause` contains the vault's error.
        case refused
        case bug
    }

    /// A remedy for the caller. The front end phrases it for its users.
    package enum Remedy: Sendable {
        /// Provide a passphrase for the source.
        case givePassphrase
        /// Provide a different passphrase for the source.
        case checkPassphrase
        /// Provide a different passphrase or key file for the source.
        case checkFactors
        /// Raise `SourceLimits.memory`.
        case allowMemory
        /// Raise the limit on rounds: `SourceLimits.rounds` or `bcryptRounds`.
        case allowRounds
        /// Raise the limit on Argon2's memory.
        case allowDerivationMemory
        /// Raise the limit on Argon2's memory × passes.
        case allowDerivationWork
        /// Specify the format of the source.
        case nameFormat
        /// Merge a vault, or export it.
        case mergeOrExport
        /// Remove attributes from the item in the vault, or do not update that item.
        case removeAttributes
    }

    package let code: Code
    package let message: String
    package let remedy: Remedy?
    /// The vault's error, if the vault caused the failure.
    package let cause: VaultError?

    init(_ code: Code, _ message: String, _ remedy: Remedy? = nil) {
        self.init(code, message, remedy, cause: nil)
    }

    private init(_ code: Code, _ message: String, _ remedy: Remedy?, cause: VaultError?) {
        self.code = code
        self.message = message
        self.remedy = remedy
        self.cause = cause
    }

    /// The error for a damaged or invalid source.
    static func damaged(_ place: String, _ what: String) -> ExchangeError {
        ExchangeError(.damaged, "\(place): \(what)")
    }

    /// Converts any error to this type; an error of the vault becomes its cause.
    package init(_ error: any Error) {
        switch error {
        case let error as ExchangeError: self = error
        case let error as VaultError: self.init(.refused, error.description, nil, cause: error)
        default: self.init(.bug, "unexpected: \(error)")
        }
    }

    /// Returns the error with the place in the source where it occurred.
    func at(_ place: String) -> ExchangeError {
        ExchangeError(code, "\(place): \(message)", remedy, cause: cause)
    }
}
