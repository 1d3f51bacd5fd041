/// The conditions under which an item's secret can be read. Without secure hardware, they are enforced only by the
/// absence of a key.
public enum Accessibility: Sendable, CaseIterable {
    /// Readable while the vault is unlocked.
    case whenUnlocked
    /// Readable after the vault has been unlocked once, even after `Keychain.lock()`.
    case afterFirstUnlock
    /// The same as `afterFirstUnlock`: a vault cannot be read before it has been opened once.
    case always
    /// The same as `whenUnlockedThisDeviceOnly`: a vault has no passcode.
    case whenPasscodeSetThisDeviceOnly
    /// Readable while the vault is unlocked, and only with the device file of the machine that stored the item.
    case whenUnlockedThisDeviceOnly
    /// Like `afterFirstUnlock`, but only with the device file of the machine that stored the item.
    case afterFirstUnlockThisDeviceOnly
    /// The same as `afterFirstUnlockThisDeviceOnly`.
    case alwaysThisDeviceOnly
}

extension Accessibility: RawRepresentable, CustomStringConvertible {
    /// Creates the case that corresponds to a constant's value; returns nil for any other string.
    public init?(rawValue: String) {
        guard let found = Self.allCases.first(where: { $0.rawValue == rawValue }) else { return nil }
        self = found
    }

    /// The value of the corresponding `kSecAttrAccessible…` constant.
    public var rawValue: String { code.value }

    /// The constant's name without its prefix.
    public var description: String { code.name }

    private var code: (name: String, value: String) {
        switch self {
        case .whenUnlocked: ("WhenUnlocked", "ak")
        case .afterFirstUnlock: ("AfterFirstUnlock", "ck")
        case .always: ("Always", "dk")
        case .whenPasscodeSetThisDeviceOnly: ("WhenPasscodeSetThisDeviceOnly", "akpu")
        case .whenUnlockedThisDeviceOnly: ("WhenUnlockedThisDeviceOnly", "aku")
        case .afterFirstUnlockThisDeviceOnly: ("AfterFirstUnlockThisDeviceOnly", "cku")
        case .alwaysThisDeviceOnly: ("AlwaysThisDeviceOnly", "dku")
        }
    }
}
