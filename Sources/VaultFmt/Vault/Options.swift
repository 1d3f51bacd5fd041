internal import VaultBytes

/// How a vault is opened.
public struct OpenOptions: ~Copyable, Sendable {
    /// Whether it can be changed.
    public var writable = false
    /// How much key derivation the file may ask for.
    public var limits = ReaderLimits()
    /// This device, for items of this device only; without one they are listed, and their secrets refused.
    public var device: Device?
    /// How long to wait for another writer, in seconds.
    public var lockWait: Double = 10
    /// A state that the vault must have come from: else `foreignOwner`, `rolledBack`, `forked` or `ancestryUnprovable`
    /// is thrown.
    public var anchor: Anchor?
    /// The owners' public key that the vault must have: else `foreignOwner` is thrown, before anything of it is served.
    public var owners: OwnersPublicKey?

    /// The defaults: for reading, without a device.
    public init() {}

    /// Whether there is a device.
    package var hasDevice: Bool {
        borrowing get {
            switch device {
            case .some: true
            case .none: false
            }
        }
    }
}

/// How a vault is created.
public struct CreateOptions: ~Copyable, Sendable {
    /// The cost of its first slot's key derivation.
    public var cost: KDFCost = .moderate
    /// Whether a cost below the floor is accepted.
    public var allowWeak = false
    /// The first slot's name, at most 63 bytes.
    public var slotName = ""
    /// How many earlier values an item keeps, 0 to 50.
    public var keptVersions = 10
    /// This device, as when opening.
    public var device: Device?
    /// How long later changes wait for another writer, in seconds.
    public var lockWait: Double = 10

    /// The defaults.
    public init() {}

    /// Whether there is a device.
    package var hasDevice: Bool {
        borrowing get {
            switch device {
            case .some: true
            case .none: false
            }
        }
    }
}

/// What a slot opens.
public enum Access: Sendable, Hashable {
    /// Everything, and may change it.
    case owner
    /// The index, and the secrets of these access groups; may change nothing.
    case scoped(groups: [String])
}
