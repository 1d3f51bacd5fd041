/// What kind of secret an item is: the five classes of Apple's Keychain (specification, section 6.1).
public enum ItemClass: UInt8, CaseIterable, Sendable, Comparable {
    /// A password for a service.
    case genericPassword = 1
    /// A password for a server, protocol, port and path.
    case internetPassword = 2
    /// A certificate, by type, issuer and serial number.
    case certificate = 3
    /// A cryptographic key.
    case key = 4
    /// A certificate together with its private key.
    case identity = 5

    /// The name in lower case with a dash: `generic-password`.
    public var name: String {
        switch self {
        case .genericPassword: "generic-password"
        case .internetPassword: "internet-password"
        case .certificate: "certificate"
        case .key: "key"
        case .identity: "identity"
        }
    }

    /// Reads a name; nil if there is no such class.
    public init?(name: String) {
        guard let found = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = found
    }

    /// The order of classes in a vault.
    public static func < (left: ItemClass, right: ItemClass) -> Bool { left.rawValue < right.rawValue }
}

/// When an item's secret can be read (specification, sections 5.3 and 2.11 of the design): which keys a locked vault keeps, and
/// whether a device's secret is needed. Without secure hardware this is the absence of a key, not its enforcement.
public enum Accessibility: UInt8, CaseIterable, Sendable {
    /// Only while the vault is unlocked.
    case whenUnlocked = 1
    /// From the first unlocking on, also after `Vault.lock()`.
    case afterFirstUnlock = 2
    /// As `afterFirstUnlock`: a file cannot be read before it was unlocked once.
    case always = 3
    /// As `whenUnlockedThisDeviceOnly`.
    case whenPasscodeSetThisDeviceOnly = 4
    /// Only while unlocked, and only with the secret of the device that wrote it.
    case whenUnlockedThisDeviceOnly = 5
    /// As `afterFirstUnlock`, and only with the secret of the device that wrote it.
    case afterFirstUnlockThisDeviceOnly = 6
    /// As `afterFirstUnlockThisDeviceOnly`.
    case alwaysThisDeviceOnly = 7

    /// The name in lower case with dashes: `when-unlocked`.
    public var name: String {
        switch self {
        case .whenUnlocked: "when-unlocked"
        case .afterFirstUnlock: "after-first-unlock"
        case .always: "always"
        case .whenPasscodeSetThisDeviceOnly: "when-passcode-set-this-device-only"
        case .whenUnlockedThisDeviceOnly: "when-unlocked-this-device-only"
        case .afterFirstUnlockThisDeviceOnly: "after-first-unlock-this-device-only"
        case .alwaysThisDeviceOnly: "always-this-device-only"
        }
    }

    /// Reads a name; nil if there is no such value.
    public init?(name: String) {
        guard let found = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = found
    }

    /// Whether the secret can be read with one device's secret only.
    public var isThisDeviceOnly: Bool { rawValue >= 4 }

    /// Whether a locked vault still opens such items.
    public var survivesLock: Bool {
        switch self {
        case .afterFirstUnlock, .always, .afterFirstUnlockThisDeviceOnly, .alwaysThisDeviceOnly: true
        case .whenUnlocked, .whenPasscodeSetThisDeviceOnly, .whenUnlockedThisDeviceOnly: false
        }
    }
}
