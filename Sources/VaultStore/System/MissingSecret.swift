extension VaultError {
    /// The reason why an item shows no secret. Its words are the same in every message of the library and the command.
    package enum MissingSecret: Sendable {
        /// A merge has left a secret to settle, and nothing is shown in its place: the item came from a branch under
        /// replaced keys (specification, R-8.25).
        case toSettle
        /// The item's last secret is an earlier value: the item was settled without that secret, or the change that set
        /// the secret was undone.
        case earlier
        /// The item's last secret was forgotten.
        case forgotten
        /// The vault contains no secret of the item, and nothing that shows why: the item's last secret was an earlier
        /// value, which was forgotten or dropped.
        case gone
        /// A scoped slot opened the vault: only an owner can read the values that determine the reason.
        case hidden
        /// The values that determine the reason cannot be read here, or were not read.
        case unknown

        /// The reason, in words that follow "because".
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

        /// The statement about the item, in words that follow its name.
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
