package import VaultFmt

/// The reason why a source cannot be read, or an export cannot be written, in one line without a line end.
package struct ExchangeError: Error {
    package enum Code: Sendable {
        /// The source is damaged, or is not what it should be.
        case damaged
        /// The source needs what this version or this machine does not have.
        case unavailable
        /// No factor opens the source.
        case noAccess
        /// The source asks for more than the caller allows.
        case overLimit
        /// The caller asks for what this format cannot do, or does not give what it needs.
        case invalidArgument
        case noSuchFile
        case io
        /// The vault refuses an item of the source, or cannot be read or written; `cause` has its error.
        case refused
        case bug
    }

    /// The caller's remedy. A front end knows how its users say that.
    package enum Remedy: Sendable {
        /// Give a passphrase for the source.
        case givePassphrase
        /// Give another passphrase for the source.
        case checkPassphrase
        /// Give another passphrase or key file for the source.
        case checkFactors
        /// Raise `SourceLimits.memory`.
        case allowMemory
        /// Raise the limit on rounds: `SourceLimits.rounds` or `bcryptRounds`.
        case allowRounds
        /// Raise the limit on Argon2's memory.
        case allowDerivationMemory
        /// Raise the limit on Argon2's memory × passes.
        case allowDerivationWork
        /// Say which format the source has.
        case nameFormat
        /// Merge a vault, or export it.
        case mergeOrExport
        /// Remove attributes of the item in the vault, or do not update it.
        case removeAttributes
    }

    package let code: Code
    package let message: String
    package let remedy: Remedy?
    /// The vault's error, if it comes from there.
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

    /// Any error as this type; an error of the vault becomes its cause.
    package init(_ error: any Error) {
        switch error {
        case let error as ExchangeError: self = error
        case let error as VaultError: self.init(.refused, error.description, nil, cause: error)
        default: self.init(.bug, "unexpected: \(error)")
        }
    }

    /// The same error with the place in the source where it occurred.
    func at(_ place: String) -> ExchangeError {
        ExchangeError(code, "\(place): \(message)", remedy, cause: cause)
    }
}
