package import VaultAge

extension CommandFailure {
    /// Creates the failure for an age key error, with advice for the user.
    package init(_ error: AgeError, at place: String? = nil) {
        let text = place.map { "\($0): \(error.detail)" } ?? error.detail
        let advice = Self.advice(error.code)
        self.init(ExitStatus(error.code), advice.isEmpty ? text : "\(text); \(advice)")
    }

    private static func advice(_ code: AgeError.Code) -> String {
        switch code {
        case .noPlugin: "install it, or use another identity"
        case .pluginFailed, .noDevice: "check the device and the identity, then try again"
        case .timedOut: "try again, and touch the key when prompted"
        case .cancelled: "nothing was changed"
        case .incompatibleRecipients: "see --mix-recipients"
        case .wrongPassphrase: "try again"
        case .invalidIdentity: "use a file created by age-keygen or a plugin"
        case .passphraseNeeded: "run the command on a terminal, or use a file that is not encrypted"
        case .outOfMemory: "free some memory, or use a machine that has more"
        case .malformedStanza, .tooLarge, .invalidRecipient, .unsupportedRecipient, .unsupportedIdentity,
            .excessiveWork:
            ""
        }
    }
}

extension ExitStatus {
    /// Returns the exit code for an age key error.
    init(_ code: AgeError.Code) {
        switch code {
        case .malformedStanza, .invalidIdentity: self = .damaged
        case .tooLarge, .invalidRecipient, .unsupportedRecipient, .unsupportedIdentity, .incompatibleRecipients:
            self = .usage
        case .excessiveWork: self = .overLimit
        case .outOfMemory: self = .io
        case .noPlugin, .pluginFailed, .timedOut, .noDevice: self = .unavailable
        case .cancelled, .wrongPassphrase, .passphraseNeeded: self = .noAccess
        }
    }
}
