extension VaultError {
    /// The reason why an item shows no secret. Its words are the same in every message of the library and the command.
    package enum MissingSecret: Sendable {
        /// A merge has left one to settle, and nothing is shown in its place: the item came from a branch under
        /// replaced keys (specification, R-8.25).
        case toSettle
        /// Its last secret is an earlier value: the item was settled without it.
        case earlier
        /// Its last secret was forgotten.
        case forgotten
        /// It has none, or the values that it does not show cannot be read here, or were not read.
        case unknown

        /// The reason, to follow "because".
        package var words: String {
            switch self {
            case .toSettle: "a merge has left its secret to settle"
            case .earlier: "its last secret is an earlier value"
            case .forgotten: "its last secret was forgotten"
            case .unknown: "it shows no secret"
            }
        }

        /// What to say of the item, to follow its name.
        package var statement: String {
            switch self {
            case .toSettle, .earlier, .forgotten: "shows no secret, because \(words)"
            case .unknown: "shows no secret"
            }
        }

        /// True if the vault still contains a secret that the item can show again.
        package var isRecoverable: Bool {
            switch self {
            case .toSettle, .earlier: true
            case .forgotten, .unknown: false
            }
        }
    }

    /// The error for an item that shows no secret.
    package static func noSecret(_ reason: MissingSecret) -> VaultError {
        var error = VaultError(.noSecret, "the item \(reason.statement)")
        error.missingSecret = reason
        return error
    }
}
