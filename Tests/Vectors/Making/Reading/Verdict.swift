package import VaultBytes

/// What a reader makes of a file (Spec/vectors/README.md).
package enum Verdict: String, CaseIterable, Sendable {
    case success
    case successTailTorn = "success-tail-torn"
    case successTailIncomplete = "success-tail-incomplete"
    case successTailDamaged = "success-tail-damaged"
    case notAVault = "not-a-vault"
    case unsupportedVersion = "unsupported-version"
    case unsupportedCritical = "unsupported-critical"
    case headerInvalid = "header-invalid"
    case kdfLimit = "kdf-limit"
    case noSlotOpens = "no-slot-opens"
    case foreign
    case authenticationFailed = "authentication-failed"
    case structureInvalid = "structure-invalid"
    case unsupportedForm = "unsupported-form"
    case deviceBound = "device-bound"

    package init(_ error: FormatError) {
        switch error.code {
        case .notAVault: self = .notAVault
        case .unsupportedVersion: self = .unsupportedVersion
        case .unsupportedCritical: self = .unsupportedCritical
        case .headerInvalid: self = .headerInvalid
        case .structureInvalid, .limitExceeded: self = .structureInvalid
        case .unsupportedForm: self = .unsupportedForm
        }
    }

    package var isSuccess: Bool { rawValue.hasPrefix("success") }
}
