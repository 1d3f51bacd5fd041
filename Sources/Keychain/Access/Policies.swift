internal import KeychainCore

/// How to handle items that require asking the user.
public enum AuthenticationUI: Sendable, CaseIterable {
    /// Ask the user.
    case allow
    /// Fail with `Status.interactionNotAllowed` if the user would have to be asked.
    case fail
    /// Treat items for which the user would have to be asked as if they did not exist.
    case skip

    /// The value of the corresponding `kSecUseAuthenticationUI…` constant.
    public var rawValue: String {
        switch self {
        case .allow: SecKey.useAuthenticationUIAllow
        case .fail: SecKey.useAuthenticationUIFail
        case .skip: SecKey.useAuthenticationUISkip
        }
    }

    /// `allow`, `fail` or `skip`.
    public var description: String {
        switch self {
        case .allow: "allow"
        case .fail: "fail"
        case .skip: "skip"
        }
    }
}

/// The approval that each read of an item's secret requires, with Apple's values. `Keychain.authenticate` decides how
/// to interpret them.
public struct AuthenticationPolicy: OptionSet, Sendable, Hashable {
    /// The value, as in Apple's access control flags.
    public let rawValue: UInt

    /// Creates a policy from a number.
    public init(rawValue: UInt) { self.rawValue = rawValue }

    /// The user, by any means.
    public static let userPresence = AuthenticationPolicy(rawValue: 1 << 0)
    /// Any enrolled finger or face.
    public static let biometryAny = AuthenticationPolicy(rawValue: 1 << 1)
    /// The older name of `biometryAny`.
    public static let touchIDAny = AuthenticationPolicy(rawValue: 1 << 1)
    /// The currently enrolled fingers or face.
    public static let biometryCurrentSet = AuthenticationPolicy(rawValue: 1 << 3)
    /// The older name of `biometryCurrentSet`.
    public static let touchIDCurrentSet = AuthenticationPolicy(rawValue: 1 << 3)
    /// The device's passcode.
    public static let devicePasscode = AuthenticationPolicy(rawValue: 1 << 4)
    /// A nearby watch.
    public static let watch = AuthenticationPolicy(rawValue: 1 << 5)
    /// One of several constraints suffices.
    public static let or = AuthenticationPolicy(rawValue: 1 << 14)
    /// All of several constraints are needed.
    public static let and = AuthenticationPolicy(rawValue: 1 << 15)
    /// Operations of a private key.
    public static let privateKeyUsage = AuthenticationPolicy(rawValue: 1 << 30)
    /// A password set by the program.
    public static let applicationPassword = AuthenticationPolicy(rawValue: 1 << 31)
}
