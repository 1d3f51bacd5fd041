internal import VaultFmt

/// The accessibility of an item's secret, and the approval that each read requires.
///
/// A file cannot ask for a fingerprint or a passcode, so the program must ask for approval, through
/// `Keychain.authenticate` or `SecItemVault.setAuthentication`. Only programs that use these APIs honor this
/// requirement; encryption does not enforce it.
public final class SecAccessControl: Sendable, Hashable {
    /// One of the `kSecAttrAccessible…` constants.
    public let protection: String
    /// The value of Apple's `SecAccessControlCreateFlags`; 0 if no approval is required.
    public let flags: UInt

    package init(protection: String, flags: UInt) {
        self.protection = protection
        self.flags = flags
    }

    /// Returns nil if the protection is not one of the constants.
    package convenience init?(checking protection: String?, flags: UInt) {
        guard let protection, Accessibility(code: protection) != nil else { return nil }
        self.init(protection: protection, flags: flags)
    }

    /// Returns whether both give the same protection, like Apple's `CFEqual`.
    public static func == (left: SecAccessControl, right: SecAccessControl) -> Bool {
        left.protection == right.protection && left.flags == right.flags
    }

    /// Hashes the compared properties.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(protection)
        hasher.combine(flags)
    }
}
