/// What kind of secret an item is: the five classes of Apple's Keychain, and those that a later version of the format
/// may define (specification, section 6.1).
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
    /// A class from 6 to 63 that this version does not define. Its items are listed, read, moved and removed, and never
    /// made.
    case reserved(UInt8)

    /// Those that this version defines.
    public static let allCases: [ItemClass] = [.genericPassword, .internetPassword, .certificate, .key, .identity]
    /// The numbers of those that it does not.
    static let reservedNumbers: ClosedRange<UInt8> = 6...63

    /// The number of the class in the file; nil for one that is neither defined nor reserved.
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

    /// The name in lower case with a dash: `generic-password`; `class-17` for one that this version does not define.
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

    /// Whether this version of the format defines it, so that items of it can be made.
    public var isDefined: Bool {
        if case .reserved = self { false } else { true }
    }

    /// Reads a name; nil if there is no such class.
    public init?(name: String) {
        let reserved = Self.reservedNumbers.map { ItemClass.reserved($0) }
        guard let found = (Self.allCases + reserved).first(where: { $0.name == name }) else { return nil }
        self = found
    }

    /// The order of classes in a vault.
    public static func < (left: ItemClass, right: ItemClass) -> Bool { left.rawValue < right.rawValue }
}

/// When an item's secret can be read (specification, section 5.4): which keys a locked vault keeps, and
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
