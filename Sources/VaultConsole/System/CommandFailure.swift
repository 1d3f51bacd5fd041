import Glibc
import VaultAge
import VaultAgent
import VaultExchange
package import VaultFmt

/// The command's exit codes (`vaultfmt help exit-codes`).
package enum ExitStatus: Int32, CaseIterable {
    case success = 0
    case noSuchItem = 1
    case ambiguous = 2
    /// The command completed, but a part is missing, unproven or unsettled.
    case incomplete = 3
    case usage = 64
    case damaged = 65
    case noSuchFile = 66
    case unavailable = 69
    case bug = 70
    case outputExists = 73
    case io = 74
    case busy = 75
    case noAccess = 77
    case overLimit = 78
    case cannotStart = 126
    case noSuchProgram = 127
    case interrupted = 130
}

/// The reason why a command fails: an exit code, and one line that describes the problem and the remedy.
package struct CommandFailure: Error {
    package let status: ExitStatus
    package let message: String
    /// The library's error code, if the error came from the library.
    package let code: VaultError.Code?

    package init(_ status: ExitStatus, _ message: String, code: VaultError.Code? = nil) {
        self.status = status
        self.message = message
        self.code = code
    }
}

/// A command that only has subcommands was called without one.
package struct MissingCommand: Error {
    package init() {}
}

extension CommandFailure {
    /// Returns the failure for a question that was not answered with yes. Declining counts as a failure, so that a
    /// script that continues only on success stops here.
    /// - `outcome`: The consequence, such as "nothing was removed".
    package static func declined(_ outcome: String) -> CommandFailure {
        CommandFailure(
            .noAccess, "\(outcome) because the answer was not yes; run the command again and answer y, or use --yes")
    }
}

extension ExitStatus {
    /// Returns the exit code for a library error.
    package init(_ error: VaultError) {
        switch error.code {
        case .noSuchItem, .duplicateItem, .noSuchSlot, .noSecret: self = .noSuchItem
        case .invalidArgument, .weakKDF, .lastSlot, .passphraseInvalid, .limitExceeded: self = .usage
        case .notAVault, .headerInvalid, .authenticationFailed, .structureInvalid, .tampered, .rolledBack, .forked,
            .foreignOwner, .memoryDamaged, .keyFileInvalid, .damagedTail:
            self = .damaged
        case .noSuchFile: self = .noSuchFile
        case .unsupportedVersion, .unsupportedCritical, .unsupportedForm, .readOnlyExtension, .deviceBound,
            .noKernelKeyring:
            self = .unavailable
        case .locked, .otherProcess: self = .bug
        case .fileExists: self = .outputExists
        case .io, .noSpace, .readOnly, .outcomeUnknown, .cannotReplace, .outOfMemory: self = .io
        case .busy: self = .busy
        case .noSlotOpens, .notPermitted: self = .noAccess
        case .kdfLimit: self = .overLimit
        }
    }
}

extension CommandFailure {
    /// Creates the failure for an error that ended a salvage; no other way to recover the file remains.
    package init(salvaging error: VaultError) {
        switch error.code {
        case .headerInvalid where error.isOfEarlierVersion: self.init(error)
        case .notAVault, .headerInvalid, .authenticationFailed, .structureInvalid, .tampered:
            self.init(
                ExitStatus(error),
                "\(error.description); nothing in this file can be recovered: restore a backup, or try another copy",
                code: error.code)
        default: self.init(error)
        }
    }

    /// Creates the failure for a library error, with advice for the user.
    package init(_ error: VaultError) {
        let status = ExitStatus(error)
        self.init(status, "\(error.description); \(Self.advice(error, status))", code: error.code)
    }

    static func advice(_ error: VaultError, _ status: ExitStatus) -> String {
        switch error.code {
        case .notAVault: "specify the path of a vault, or create one with 'vaultfmt create'"
        case .unsupportedVersion, .unsupportedCritical, .unsupportedForm, .readOnlyExtension:
            "a newer vaultfmt is needed"
        case .damagedTail: "examine it first: it may be a change made by someone else"
        case .headerInvalid where error.isOfEarlierVersion:
            "export it with the old command ('vaultfmt export'), and import the export with this one"
        case .headerInvalid:
            "restore a backup, or try another copy; without one, 'vaultfmt salvage' tries the header's copy, which follows the header"
        case .authenticationFailed where error.hasDamagedPast, .structureInvalid where error.hasDamagedPast:
            "put an intact copy of the vault in its place or, without one, run 'vaultfmt forget ITEM --all'"
        case .authenticationFailed, .structureInvalid:
            "restore a backup; without one, 'vaultfmt salvage' recovers data that still authenticates, and reports data that is not proven"
        case .limitExceeded: "remove unneeded data, store less, or split it"
        case .tampered: "restore a copy you trust"
        // The end of the file is not the state at which the vault opened.
        case .rolledBack where error.offset != nil:
            "nothing was changed; open a backup with '--vault BACKUP', go back to it with 'vaultfmt restore --from BACKUP', or recover "
                + "intact data with 'vaultfmt salvage'"
        case .rolledBack, .forked:
            "restore the newest copy, merge a file syncer's conflicted copies with 'vaultfmt merge --conflicts', or accept this one with "
                + "'vaultfmt anchor --accept'"
        case .foreignOwner:
            "restore a copy you trust; if you know these owners, accept them with 'vaultfmt anchor --accept'"
        case .memoryDamaged: "examine the vault, then accept its state with 'vaultfmt anchor --accept'"
        case .kdfLimit:
            "raise it with --max-kdf-memory, --max-kdf-passes, --max-kdf-lanes or --max-kdf-work if you trust this file"
        case .noSlotOpens: "check the passphrase and the key file; 'vaultfmt inspect' shows the required factors"
        case .deviceBound: "open it on the device that stored it"
        case .noSuchFile: "check the path; 'vaultfmt create' creates a vault"
        case .fileExists: "choose another name or move it away"
        case .noSpace: "free some disk space and try again"
        case .io, .readOnly: "check the path, its permissions and the disk"
        case .cannotReplace: "make a copy of the vault and use that"
        case .busy: "try again, or wait longer with --wait SECONDS"
        case .notPermitted: "open the vault with a full slot"
        case .outcomeUnknown: "check the disk, then run the command again; 'vaultfmt verify' checks the file"
        case .lastSlot: "add another full slot first with 'vaultfmt slot add'"
        case .noSuchSlot: "'vaultfmt slot list' lists them"
        case .noSuchItem: "'vaultfmt list' shows the items"
        case .noSecret: (error.missingSecret ?? .unknown).advice
        case .duplicateItem: "choose another name, or replace its secret with 'vaultfmt set'"
        case .keyFileInvalid: "use an intact copy of the key file"
        case .passphraseInvalid: "use a passphrase that is valid UTF-8"
        case .weakKDF: "choose a higher cost, or accept this one with --allow-weak-kdf"
        case .invalidArgument: "see 'vaultfmt help' or the command's --help"
        case .outOfMemory: "free some memory, or use a machine that has more"
        case .locked, .otherProcess: "this is a bug in vaultfmt: please report it"
        case .noKernelKeyring: "pass the passphrase to each command, for example with VAULTFMT_PASSPHRASE_FILE"
        }
    }

    /// Creates the failure for a failed system call, with advice for the user.
    package init(system number: Int32, _ what: String) {
        let advice =
            switch number {
            case EACCES, EPERM, EROFS: "check its permissions"
            case ENOENT, ENOTDIR, EISDIR, ELOOP, ENAMETOOLONG: "check the path"
            case ENOSPC, EDQUOT: "free some disk space and try again"
            case EBADF: "use an open descriptor"
            default: "check the path and the disk"
            }
        self.init(number == ENOENT ? .noSuchFile : .io, "\(what): \(Descriptor.message(number)); \(advice)")
    }
}

extension CommandFailure {
    /// Creates the failure for a library error in an open vault. The factor was correct, but another program may since
    /// have changed the slot that the factor opens.
    package init(opened error: VaultError) {
        guard error.code == .noSlotOpens else {
            self.init(error)
            return
        }
        self.init(.busy, "another program has just changed the keys of the vault; run the command again")
    }
}

extension CommandFailure {
    /// Creates the failure for any error in a command. Errors that are not yet failures come from the library, after a
    /// vault has been opened.
    package init(_ error: any Error) {
        switch error {
        case let failure as CommandFailure: self = failure
        case let error as ExchangeError: self.init(error)
        case let error as VaultError: self.init(opened: error)
        case let error as AgeError: self.init(error, at: nil)
        case let error as AgentError: self.init(error)
        default: self.init(.bug, "unexpected: \(error); this is a bug in vaultfmt: please report it")
        }
    }
}

/// Calls the library before a vault is opened, when a factor may be wrong. All other library errors are reported by
/// `FailureReport` as errors of an open vault.
package func whileOpening<Result: ~Copyable>(_ call: () throws -> Result) throws -> Result {
    do {
        return try call()
    } catch let error as VaultError {
        throw CommandFailure(error)
    }
}
