public import Foundation
public import KeychainCore

/// The accessibility of an item's secret, and the approval that each read requires.
public typealias SecAccessControl = KeychainCore.SecAccessControl

/// The approval that each read of an item's secret requires, by Apple's names and values. A vault cannot ask the user,
/// so the program must do so, through `SecItemVault.setAuthentication`.
public struct SecAccessControlCreateFlags: OptionSet, Sendable {
    /// The value, as on Apple platforms.
    public let rawValue: UInt

    /// Creates flags from a number.
    public init(rawValue: UInt) { self.rawValue = rawValue }

    /// The user, by any means.
    public static let userPresence = SecAccessControlCreateFlags(rawValue: 1 << 0)
    /// Any enrolled finger or face.
    public static let biometryAny = SecAccessControlCreateFlags(rawValue: 1 << 1)
    /// The older name of `biometryAny`.
    public static let touchIDAny = biometryAny
    /// The currently enrolled fingers or face.
    public static let biometryCurrentSet = SecAccessControlCreateFlags(rawValue: 1 << 3)
    /// The older name of `biometryCurrentSet`.
    public static let touchIDCurrentSet = biometryCurrentSet
    /// The device's passcode.
    public static let devicePasscode = SecAccessControlCreateFlags(rawValue: 1 << 4)
    /// A nearby watch.
    public static let watch = SecAccessControlCreateFlags(rawValue: 1 << 5)
    /// The newer name of `watch`.
    public static let companion = watch
    /// One of several constraints suffices.
    public static let or = SecAccessControlCreateFlags(rawValue: 1 << 14)
    /// All of several constraints are needed.
    public static let and = SecAccessControlCreateFlags(rawValue: 1 << 15)
    /// Operations of a private key.
    public static let privateKeyUsage = SecAccessControlCreateFlags(rawValue: 1 << 30)
    /// A password set by the program.
    public static let applicationPassword = SecAccessControlCreateFlags(rawValue: 1 << 31)
}

// swift-format-ignore: AlwaysUseLowerCamelCase
/// Creates an access control for `kSecAttrAccessControl`.
///
/// - Parameters:
///   - allocator: nil or `kCFAllocatorDefault`.
///   - protection: One of the `kSecAttrAccessible…` constants.
///   - flags: The approvals that are required; empty if none are.
///   - error: Set to `errSecParam` if `protection` is not one of the constants.
/// - Returns: The access control, or nil.
public func SecAccessControlCreateWithFlags(
    _ allocator: CFAllocator?, _ protection: CFTypeRef, _ flags: SecAccessControlCreateFlags,
    _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> SecAccessControl? {
    if let control = SecAccessControl(checking: protection as? String, flags: flags.rawValue) { return control }
    error?.pointee = Unmanaged.passRetained(NSError(domain: NSOSStatusErrorDomain, code: Int(errSecParam)))
    return nil
}

/// A request to approve reading an item's secret.
public struct SecItemAuthenticationRequest {
    /// The service of a generic password or the server of an internet password; empty for other classes.
    public let place: String
    /// The account.
    public let account: String
    /// The required approval.
    public let flags: SecAccessControlCreateFlags
    /// The value of `kSecUseOperationPrompt` in the query.
    public let prompt: String?
    /// The value of `kSecUseAuthenticationContext` in the query.
    public let context: AnyObject?
}

extension SecItemVault {
    /// Sets the handler that decides whether the secret of an item with an access control may be read; if it returns
    /// false, the call fails with `errSecAuthFailed`.
    ///
    /// The handler is called for every read of such an item, on the reading thread. If it is nil, which is the default,
    /// the user cannot be asked: such items cannot be stored (`errSecUnimplemented`), and their secrets cannot be read
    /// (`errSecInteractionNotAllowed`). The handler is shared with `Keychain.authenticate`; the last handler set
    /// applies.
    public static func setAuthentication(_ handler: (@Sendable (SecItemAuthenticationRequest) -> Bool)?) {
        guard let handler else {
            Authentication.handler = nil
            return
        }
        Authentication.handler = { (question: Authentication.Question) -> Bool in
            handler(
                SecItemAuthenticationRequest(
                    place: question.place, account: question.account,
                    flags: SecAccessControlCreateFlags(rawValue: question.policy),
                    prompt: question.prompt, context: question.context))
        }
    }
}
