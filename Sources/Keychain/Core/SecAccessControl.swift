internal import VaultFmt

/// When an item's secret can be read, and who must agree to each reading.
///
/// A file cannot ask for a finger or a passcode: who must agree is for the program to ask, through
/// `Keychain.authenticate` or `SecItemVault.setAuthentication`. It is a promise of programs that use these APIs, and no
/// encryption.
public final class SecAccessControl: Sendable, Hashable {
    /// One of the `kSecAttrAccessible…` constants.
    public let protection: String
    /// What Apple's `SecAccessControlCreateFlags` says; 0 for nobody.
    public let flags: UInt

    package init(protection: String, flags: UInt) {
        self.protection = protection
        self.flags = flags
    }

    /// Nil if the protection is none of the constants.
    package convenience init?(checking protection: String?, flags: UInt) {
        guard let protection, Accessibility(code: protection) != nil else { return nil }
        self.init(protection: protection, flags: flags)
    }

    /// Two are equal if they protect in the same way, as with Apple's `CFEqual`.
    public static func == (left: SecAccessControl, right: SecAccessControl) -> Bool {
        left.protection == right.protection && left.flags == right.flags
    }

    /// Hashes what is compared.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(protection)
        hasher.combine(flags)
    }
}
