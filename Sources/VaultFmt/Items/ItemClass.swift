/// The kind of secret that an item holds: one of the five classes of Apple's Keychain, or a class that a later version
/// of the format may define (specification, section 6.1).
public enum ItemClass: RawRepresentable, CaseIterable, Sendable, Hashable, Comparable {
    /// A password for a service.
    case genericPassword
    /// A password for a server, protocol, port and path.
    case internetPassword
    /// A certificate, by type, issuer and serial number.
    case certificate
    /// A cryptographic key.
    case key
    /// A certificate together with its private key.
    case identity
    /// A class from 6 to 63 that this version does not define. Its items can be listed, read, moved and removed, but
    /// not created.
    case reserved(UInt8)

    /// The classes that this version defines.
    public static let allCases: [ItemClass] = [.genericPassword, .internetPassword, .certificate, .key, .identity]
    /// The numbers reserved for later versions.
    static let reservedNumbers: ClosedRange<UInt8> = 6...63

    /// Makes a class from its number in the file; returns nil for a number that is neither defined nor reserved.
    public init?(rawValue: UInt8) {
        switch rawValue {
        case 1: self = .genericPassword
        case 2: self = .internetPassword
        case 3: self = .certificate
        case 4: self = .key
        case 5: self = .identity
        case Self.reservedNumbers: self = .reserved(rawValue)
        default: return nil
        }
    }

    /// The number of the class in the file.
    public var rawValue: UInt8 {
        switch self {
        case .genericPassword: 1
        case .internetPassword: 2
        case .certificate: 3
        case .key: 4
        case .identity: 5
        case .reserved(let number): number
        }
    }

    /// The name in lower case with a dash, such as `generic-password`; `class-17` for a class that this version does
    /// not define.
    public var name: String {
        switch self {
        case .genericPassword: "generic-password"
        case .internetPassword: "internet-password"
        case .certificate: "certificate"
        case .key: "key"
        case .identity: "identity"
        case .reserved(let number): "class-\(number)"
        }
    }

    /// True if this version of the format defines the class; only items of defined classes can be created.
    public var isDefined: Bool {
        if case .reserved = self { false } else { true }
    }

    /// Parses a name; returns nil if there is no such class.
    public init?(name: String) {
        let reserved = Self.reservedNumbers.map { ItemClass.reserved($0) }
        guard let found = (Self.allCases + reserved).first(where: { $0.name == name }) else { return nil }
        self = found
    }

    /// Compares classes by their order in a vault.
    public static func < (left: ItemClass, right: ItemClass) -> Bool { left.rawValue < right.rawValue }
}

/// The conditions under which an item's secret can be read (specification, section 5.4). The accessibility determines
/// which keys a locked vault keeps, and whether a device's secret is needed. Without secure hardware, the only
/// protection is that a key is absent; no rule is enforced.
public enum Accessibility: UInt8, CaseIterable, Sendable {
    /// Only while the vault is unlocked.
    case whenUnlocked = 1
    /// After the vault is first unlocked, even after `Vault.lock()`.
    case afterFirstUnlock = 2
    /// The same as `afterFirstUnlock`: a vault file cannot be read before it is first unlocked.
    case always = 3
    /// The same as `whenUnlockedThisDeviceOnly`.
    case whenPasscodeSetThisDeviceOnly = 4
    /// Only while the vault is unlocked, and only with the secret of the device that wrote the item.
    case whenUnlockedThisDeviceOnly = 5
    /// Like `afterFirstUnlock`, but only with the secret of the device that wrote the item.
    case afterFirstUnlockThisDeviceOnly = 6
    /// The same as `afterFirstUnlockThisDeviceOnly`.
    case alwaysThisDeviceOnly = 7

    /// The name in lower case with dashes, such as `when-unlocked`.
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

    /// Parses a name; returns nil if there is no such value.
    public init?(name: String) {
        guard let found = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = found
    }

    /// True if the secret can be read only with the secret of one particular device.
    public var isThisDeviceOnly: Bool { rawValue >= 4 }

    /// True if a locked vault still opens items with this accessibility.
    public var survivesLock: Bool {
        switch self {
        case .afterFirstUnlock, .always, .afterFirstUnlockThisDeviceOnly, .alwaysThisDeviceOnly: true
        case .whenUnlocked, .whenPasscodeSetThisDeviceOnly, .whenUnlockedThisDeviceOnly: false
        }
    }
}
