import VaultExchange
import VaultFmt

extension CommandFailure {
    /// Creates the failure for an error in a source or an export, with advice for the user.
    init(_ error: ExchangeError) {
        if let cause = error.cause {
            // If an item does not fit into a vault, the source is at fault, not the command line.
            let status = ExitStatus(cause)
            self.init(
                status == .usage ? .damaged : status, "\(error.message); \(Self.advice(cause, status))",
                code: cause.code)
        } else {
            self.init(ExitStatus(error.code), error.message + (error.remedy.map { "; \(Self.advice($0))" } ?? ""))
        }
    }

    private static func advice(_ remedy: ExchangeError.Remedy) -> String {
        switch remedy {
        case .givePassphrase: "use --source-passphrase-file"
        case .checkPassphrase: "check --source-passphrase-file"
        case .checkFactors:
            "check --source-passphrase-file and --source-key-file (a file that also needs a hardware key cannot be read)"
        case .allowMemory: "allow more with --max-source-memory"
        case .allowRounds: "allow more with --max-source-rounds"
        case .allowDerivationMemory: "raise it with --max-kdf-memory if you trust this file"
        case .allowDerivationWork: "raise it with --max-kdf-work if you trust this file"
        case .nameFormat: "specify the format with --format"
        case .mergeOrExport:
            "merge a copy of the same vault with 'vaultfmt merge'; for another vault, import the output of 'vaultfmt export'"
        case .removeAttributes:
            "remove some of them ('vaultfmt update --remove-attribute'), or choose --on-duplicate skip, replace or keep-both"
        }
    }
}

extension ExitStatus {
    /// Returns the exit code for an error in a source or an export.
    init(_ code: ExchangeError.Code) {
        switch code {
        case .damaged, .refused: self = .damaged
        case .unavailable: self = .unavailable
        case .noAccess: self = .noAccess
        case .overLimit: self = .overLimit
        case .invalidArgument: self = .usage
        case .noSuchFile: self = .noSuchFile
        case .io: self = .io
        case .bug: self = .bug
        }
    }
}
