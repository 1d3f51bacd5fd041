/// When an item's secret can be read. Without secure hardware this is the absence of a key, not its enforcement.
public enum Accessibility: Sendable, CaseIterable {
    /// While the vault is unlocked.
    case whenUnlocked
    /// From the first unlocking on, also after `Keychain.lock()`.
    case afterFirstUnlock
    /// As `afterFirstUnlock`: a vault cannot be read before it was opened once.
    case always
    /// As `whenUnlockedThisDeviceOnly`: a vault has no passcode.
    case whenPasscodeSetThisDeviceOnly
    /// While the vault is unlocked, and with the device file of the machine that stored it only.
    case whenUnlockedThisDeviceOnly
    /// As `afterFirstUnlock`, and with the device file of the machine that stored it only.
    case afterFirstUnlockThisDeviceOnly
    /// As `afterFirstUnlockThisDeviceOnly`.
    case alwaysThisDeviceOnly
}

extension Accessibility: RawRepresentable, CustomStringConvertible {
    /// The case of a constant's value; nil for any other text.
    public init?(rawValue: String) {
        guard let found = Self.allCases.first(where: { $0.rawValue == rawValue }) else { return nil }
        self = found
    }

    /// The value of its `kSecAttrAccessible…` constant.
    public var rawValue: String { code.value }

    /// Its name, as the constant ends.
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
