internal import Foundation
package import VaultFmt

/// The reason why a call to one of the Keychain APIs failed: Apple's status code, and one line that names the vault and
/// the reason.
package struct KeychainFailure: Error, Sendable {
    package let status: Int32
    /// The operation that failed, without the vault's path. It may contain names, but never a secret.
    package let reason: String

    package init(_ code: Code, _ reason: String) {
        status = code.rawValue
        self.reason = reason
    }

    /// The codes that these APIs return, by Apple's names.
    package enum Code: Int32, Sendable, CaseIterable {
        case unimplemented = -4
        case diskFull = -34
        case io = -36
        case param = -50
        case allocate = -108
        case notAvailable = -25291
        case readOnly = -25292
        case authFailed = -25293
        case noSuchKeychain = -25294
        case invalidKeychain = -25295
        case duplicateItem = -25299
        case itemNotFound = -25300
        case dataTooLarge = -25302
        case noSuchAttribute = -25303
        case invalidItemReference = -25304
        case noSuchClass = -25306
        case interactionNotAllowed = -25308
        case readOnlyAttribute = -25309
        case wrongVersion = -25310
        case dataNotAvailable = -25316
        case decode = -26275
    }

    /// True if this is an ordinary outcome rather than a failure and therefore needs no notice.
    package var isPlainOutcome: Bool { status == Code.itemNotFound.rawValue || status == Code.duplicateItem.rawValue }

    package static let itemNotFound = KeychainFailure(.itemNotFound, "no item matches")
}

extension KeychainFailure {
    /// Creates the failure for a vault error, with the error's own description.
    package init(_ error: VaultError) { self.init(Code(error.code), error.description) }
}

extension KeychainFailure.Code {
    package init(_ code: VaultError.Code) {
        self =
            switch code {
            case .notAVault, .headerInvalid, .structureInvalid, .tampered, .rolledBack, .forked, .foreignOwner,
                .memoryDamaged, .damagedTail, .unsupportedCritical:
                .invalidKeychain
            case .unsupportedVersion, .unsupportedForm: .wrongVersion
            case .kdfLimit, .busy, .cannotReplace, .noKernelKeyring, .otherProcess: .notAvailable
            case .noSlotOpens, .notPermitted, .keyFileInvalid, .passphraseInvalid: .authFailed
            case .authenticationFailed: .decode
            case .limitExceeded: .dataTooLarge
            case .deviceBound, .noSecret: .dataNotAvailable
            case .noSuchItem: .itemNotFound
            case .duplicateItem: .duplicateItem
            case .noSuchFile: .noSuchKeychain
            case .io, .outcomeUnknown: .io
            case .noSpace: .diskFull
            case .readOnly, .readOnlyExtension: .readOnly
            case .locked: .interactionNotAllowed
            case .outOfMemory: .allocate
            // Thrown only by administrative operations, which these APIs do not use.
            case .fileExists, .lastSlot, .noSuchSlot, .weakKDF, .invalidArgument: .param
            }
    }
}

/// Runs a step on the vault and converts its error to a status.
package func vaultCall<R: ~Copyable>(_ body: () throws(VaultError) -> R) throws(KeychainFailure) -> R {
    do throws(VaultError) { return try body() } catch { throw KeychainFailure(error) }
}
