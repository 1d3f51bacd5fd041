public import Foundation
public import KeychainCore

/// When an item's secret can be read, and who must agree.
public typealias SecAccessControl = KeychainCore.SecAccessControl

/// Who must agree to each reading of an item's secret, by Apple's names and values. A vault cannot ask: the program
/// does, in `SecItemVault.setAuthentication`.
public struct SecAccessControlCreateFlags: OptionSet, Sendable {
    /// As at Apple.
    public let rawValue: UInt

    /// Makes flags from a number.
    public init(rawValue: UInt) { self.rawValue = rawValue }

    /// The user, by whatever means.
    public static let userPresence = SecAccessControlCreateFlags(rawValue: 1 << 0)
    /// Any enrolled finger or face.
    public static let biometryAny = SecAccessControlCreateFlags(rawValue: 1 << 1)
    /// The older name of `biometryAny`.
    public static let touchIDAny = biometryAny
    /// The fingers or face enrolled now.
    public static let biometryCurrentSet = SecAccessControlCreateFlags(rawValue: 1 << 3)
    /// The older name of `biometryCurrentSet`.
    public static let touchIDCurrentSet = biometryCurrentSet
    /// The device's passcode.
    public static let devicePasscode = SecAccessControlCreateFlags(rawValue: 1 << 4)
    /// A watch nearby.
    public static let watch = SecAccessControlCreateFlags(rawValue: 1 << 5)
    /// The newer name of `watch`.
    public static let companion = watch
    /// One of several constraints suffices.
    public static let or = SecAccessControlCreateFlags(rawValue: 1 << 14)
    /// All of several constraints are needed.
    public static let and = SecAccessControlCreateFlags(rawValue: 1 << 15)
    /// Operations of a private key.
    public static let privateKeyUsage = SecAccessControlCreateFlags(rawValue: 1 << 30)
    /// A password of the program's.
    public static let applicationPassword = SecAccessControlCreateFlags(rawValue: 1 << 31)
}

// swift-format-ignore: AlwaysUseLowerCamelCase
/// Makes an access control for `kSecAttrAccessControl`.
///
/// - Parameters:
///   - allocator: nil or `kCFAllocatorDefault`.
///   - protection: One of the `kSecAttrAccessible…` constants.
///   - flags: Who must agree; none of them for nobody.
///   - error: Gets the error if `protection` is none of the constants (`errSecParam`).
/// - Returns: The access control, or nil.
public func SecAccessControlCreateWithFlags(
    _ allocator: CFAllocator?, _ protection: CFTypeRef, _ flags: SecAccessControlCreateFlags,
    _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> SecAccessControl? {
    if let control = SecAccessControl(checking: protection as? String, flags: flags.rawValue) { return control }
    error?.pointee = Unmanaged.passRetained(NSError(domain: NSOSStatusErrorDomain, code: Int(errSecParam)))
    return nil
}

/// An item whose secret somebody must agree to have read.
public struct SecItemAuthenticationRequest {
    /// The service of a generic password, the server of an internet password, or nothing.
    public let place: String
    /// The account.
    public let account: String
    /// Who must agree.
    public let flags: SecAccessControlCreateFlags
    /// What the query says in `kSecUseOperationPrompt`.
    public let prompt: String?
    /// What the query says in `kSecUseAuthenticationContext`.
    public let context: AnyObject?
}

extension SecItemVault {
    /// Asks whether the secret of an item with an access control may be read; false refuses it with `errSecAuthFailed`.
    ///
    /// Called by every reading of such an item, on the thread that reads. Nil, as at the start, means that nobody can
    /// be asked: such items cannot be stored (`errSecUnimplemented`), nor their secrets read
    /// (`errSecInteractionNotAllowed`). Shared with `Keychain.authenticate`: the last one set counts.
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
