import VaultAgent

extension CommandFailure {
    /// Creates the failure for an SSH agent error or an SSH key error.
    init(_ error: AgentError) { self.init(ExitStatus(error.code), error.message) }
}

extension ExitStatus {
    /// Returns the exit code for an SSH agent error.
    init(_ code: AgentError.Code) {
        switch code {
        case .malformed: self = .damaged
        case .unsupported, .unavailable: self = .unavailable
        case .refused: self = .noAccess
        case .system: self = .io
        case .busy: self = .busy
        }
    }
}
