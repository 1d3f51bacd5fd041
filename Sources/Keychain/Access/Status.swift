public import Foundation
internal import KeychainCore

extension Status: CustomStringConvertible {
    /// Creates the case with this code, or `unexpectedError` if there is no such case.
    public init(status: OSStatus) { self = Status(rawValue: status) ?? .unexpectedError }

    /// One sentence in English. `Keychain.lastFailure` contains the vault's path and the reason.
    public var description: String { StatusText.sentence(rawValue) ?? "status \(rawValue)" }
}

extension Status: CustomNSError {
    /// `KeychainAccessErrorDomain`.
    public static let errorDomain = KeychainAccessErrorDomain

    /// The numeric code.
    public var errorCode: Int { Int(rawValue) }

    /// The description, as the error's localized description.
    public var errorUserInfo: [String: Any] { [NSLocalizedDescriptionKey: description] }
}
