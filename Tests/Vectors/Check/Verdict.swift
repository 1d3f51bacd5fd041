import VaultFmt

/// What a reader makes of a file (Spec/vectors/README.md).
enum Verdict: String, CaseIterable {
    case success
    case successTailDamaged = "success-tail-damaged"
    case notAVault = "not-a-vault"
    case unsupportedVersion = "unsupported-version"
    case unsupportedCritical = "unsupported-critical"
    case headerInvalid = "header-invalid"
    case kdfLimit = "kdf-limit"
    case noSlotOpens = "no-slot-opens"
    case authenticationFailed = "authentication-failed"
    case structureInvalid = "structure-invalid"
    case limitExceeded = "limit-exceeded"
    case deviceBound = "device-bound"

    /// Nil for what is no answer about the file, such as an operating system's error.
    init?(_ error: VaultError) {
        switch error.code {
        case .notAVault: self = .notAVault
        case .unsupportedVersion: self = .unsupportedVersion
        case .unsupportedCritical: self = .unsupportedCritical
        case .headerInvalid: self = .headerInvalid
        case .kdfLimit: self = .kdfLimit
        case .noSlotOpens, .passphraseInvalid, .keyFileInvalid: self = .noSlotOpens
        case .authenticationFailed, .tampered: self = .authenticationFailed
        case .structureInvalid: self = .structureInvalid
        case .limitExceeded: self = .limitExceeded
        case .deviceBound: self = .deviceBound
        default: return nil
        }
    }
}
