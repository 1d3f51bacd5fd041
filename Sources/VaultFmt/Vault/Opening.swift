package import VaultBytes

/// How a vault is opened.
public struct OpenOptions: ~Copyable, Sendable {
    /// Whether it can be changed.
    public var writable = false
    /// How much key derivation the file may ask for.
    public var limits = ReaderLimits()
    /// This device, for items of this device only; without one they are listed, and their secrets refused.
    public var device: Device?
    /// How long to wait for another writer.
    public var lockWait: Duration = .seconds(10)
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
    /// How long later changes wait for another writer.
    public var lockWait: Duration = .seconds(10)

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

extension Vault {
    /// Creates a vault with one full slot, and opens it for changing.
    ///
    /// An existing file is never overwritten, nor a symbolic link that leads nowhere (`fileExists`). Throws `weakKDF`
    /// for a cost below the floor unless that is allowed, `kdfLimit` for one that readers would refuse, `noSpace` and
    /// `io`.
    public static func create(at path: String, factors: borrowing Factors, options: consuming CreateOptions = .init())
        throws(VaultError)
        -> Vault
    {
        try create(at: path, factors: factors, options: options, place: Store.Place())
    }

    package static func create(
        at path: String, factors: borrowing Factors, options: consuming CreateOptions, place: Store.Place,
        keepsLock: Bool = false
    ) throws(VaultError) -> Vault {
        let cost = try options.cost.checked(for: factors.kinds, allowWeak: options.allowWeak)
        try SlotMaking.checkName(options.slotName)
        try ItemLimits.check(keptVersions: options.keptVersions)
        let random = place.random
        let id = random.bytes16()
        let epoch = random.bytes32()
        let keys = VaultKeys(vaultKey: random.secret(Format.keySize), epoch: epoch)
        let clock = try Clock.revision(place.fileSystem)
        let deviceID = options.deviceID
        let new = try NewSlot(factors.copy(), cost: cost, name: options.slotName)
        let (slot, wrappingKey) = try SlotMaking.fullSlot(
            keys, new, vault: id, revision: clock, device: deviceID, random)
        let header = Header(id: id, epoch: epoch, slots: [slot])
        let keeping = Keyring.Keeping(count: options.keptVersions)
        let store = try Store.create(
            at: path, keys: keys, header: header, wrappingKey: wrappingKey.secret.copy(),
            Store.New(clock: clock, keeping: keeping),
            place: place, keepsLock: keepsLock)
        let wait = options.lockWait.inSeconds
        return Vault(VaultCore(store, device: options.takeDevice(), lockWait: wait))
    }

    /// Opens a vault with the factors of one of its slots.
    ///
    /// Throws `notAVault`, `unsupportedVersion`, `unsupportedCritical`, `headerInvalid`, `kdfLimit` (before any work),
    /// `noSlotOpens`, `authenticationFailed`, `structureInvalid`, `tampered`, `noSuchFile`, `io`; with an owners'
    /// public key, `foreignOwner`; with an anchor, `foreignOwner`, `rolledBack`, `forked` and `ancestryUnprovable`.
    ///
    /// What this machine remembers of the vault is not looked at: `VaultLocal` does that.
    public static func open(_ path: String, factors: borrowing Factors, options: consuming OpenOptions = .init())
        throws(VaultError)
        -> Vault
    {
        try open(path, factors: factors, options: options, place: Store.Place())
    }

    package static func open(
        _ path: String, factors: borrowing Factors, options: consuming OpenOptions, place: Store.Place
    ) throws(VaultError) -> Vault {
        let store = try Store.open(
            path, writable: options.writable, factors: factors.keys, limits: options.limits, external: factors.provider,
            place: options.asked(at: place))
        return try Vault(opened: store, options: options)
    }

    convenience init(opened store: Store, options: consuming OpenOptions) throws(VaultError) {
        let anchor = options.anchor
        let wait = options.lockWait.inSeconds
        self.init(VaultCore(store, device: options.takeDevice(), lockWait: wait))
        if let anchor { try require(anchor) }
    }

    /// Throws if the vault has not come from this state.
    private func require(_ anchor: Anchor) throws(VaultError) {
        switch try verdict(on: anchor) {
        case .same, .descends: return
        case .foreign:
            throw VaultError(
                .foreignOwner,
                "the vault belongs to other owners than the state remembered from generation \(anchor.generation): its key was replaced "
                    + "without a hand-over, or somebody else made it")
        case .unprovable:
            throw VaultError(
                .ancestryUnprovable,
                "the file no longer proves that it continues generation \(anchor.generation), which is remembered; "
                    + "it is at generation \(self.anchor.generation) now")
        case .older:
            throw VaultError(
                .rolledBack,
                "the vault is at generation \(self.anchor.generation), but was at \(anchor.generation) before: an older copy was put in its place"
            )
        case .forked:
            throw VaultError(
                .forked, "the vault has another past than the state remembered from generation \(anchor.generation)")
        }
    }
}

extension CreateOptions {
    consuming func takeDevice() -> Device? { device }

    /// Zeros without one.
    fileprivate var deviceID: Bytes16 {
        borrowing get {
            switch device {
            case .some(let device): device.id.bytes
            case .none: .zero
            }
        }
    }
}

extension OpenOptions {
    consuming func takeDevice() -> Device? { device }

    /// The place with the owners' public key that is insisted on.
    borrowing func asked(at place: Store.Place) -> Store.Place {
        guard let owners else { return place }
        var place = place
        place.owner = owners.value
        return place
    }
}

/// What opens a vault again without its factors: `VaultLocal` keeps it, in the kernel's keyring.
extension Vault {
    /// The slot that opened this vault and its wrapping key. Throws `locked`.
    package func keptKey() throws(VaultError) -> KeptKey {
        try withCore { (core) throws(VaultError) in
            guard !core.isLocked else { throw VaultError(.locked, "the vault is locked") }
            return KeptKey(slot: core.store.slot.id, wrappingKey: core.store.slot.wrappingKey.copy())
        }
    }

    /// Opens a vault with what `keptKey` returned. Throws as `open` does, and `noSuchSlot` if the slot is gone.
    package static func open(
        _ path: String, kept key: borrowing KeptKey, of vault: VaultID, options: consuming OpenOptions,
        place: Store.Place
    ) throws(VaultError) -> Vault {
        let store = try Store.open(
            path, writable: options.writable, kept: key, vault: vault.bytes, place: options.asked(at: place))
        return try Vault(opened: store, options: options)
    }

    /// The id that a file's header shows; nothing of it is authenticated.
    package static func id(at path: String, place: Store.Place = Store.Place()) throws(VaultError) -> VaultID {
        let file = try place.fileSystem.open(try place.fileSystem.resolve(path), writable: false)
        return VaultID(try Store.readHeader(file).0.id)
    }

    /// Whether the state that is read has this slot.
    package func has(slot: Bytes16) throws(VaultError) -> Bool {
        try withCore { (core) throws(VaultError) in core.store.header.slots.contains { $0.id == slot } }
    }
}
