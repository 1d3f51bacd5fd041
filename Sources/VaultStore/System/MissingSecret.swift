extension VaultError {
    /// The reason why an item shows no secret. Its words are the same in every message of the library and the command.
    package enum MissingSecret: Sendable {
        /// A merge has left one to settle, and nothing is shown in its place: the item came from a branch under
        /// replaced keys (specification, R-8.25).
        case toSettle
        /// Its last secret is an earlier value: the item was settled without it, or the change that gave it to the item
        /// was undone.
        case earlier
        /// Its last secret was forgotten.
        case forgotten
        /// The vault contains no secret of it, and nothing that tells why: its last secret was an earlier value, which
        /// was forgotten or dropped.
        case gone
        /// A scoped slot opened the vault: only an owner can read the values that tell.
        case hidden
        /// The values that tell cannot be read here, or were not read.
        case unknown

        /// The reason, to follow "because".
        package var words: String {
            switch self {
            case .toSettle: "a merge has left its secret to settle"
            case .earlier: "its last secret is an earlier value"
            case .forgotten: "its last secret was forgotten"
            case .gone: "its last secret was forgotten or is no longer kept"
            case .hidden: "only an owner of the vault can read why it shows no secret"
            case .unknown: "it shows no secret"
            }
        }

        /// What to say of the item, to follow its name.
        package var statement: String {
            switch self {
            case .toSettle, .earlier, .forgotten, .gone: "shows no secret, because \(words)"
            case .hidden: "shows no secret, and only an owner of the vault can read why"
            case .unknown: "shows no secret"
            }
        }

        /// True if the vault still contains a secret that the item can show again.
        package var isRecoverable: Bool {
            switch self {
            case .toSettle, .earlier: true
            case .forgotten, .gone, .hidden, .unknown: false
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
