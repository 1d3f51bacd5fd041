internal import VaultBytes

/// Options for opening a vault.
public struct OpenOptions: ~Copyable, Sendable {
    /// True if the vault can be changed.
    public var writable = false
    /// The limits on key derivation.
    public var limits = ReaderLimits()
    /// This device, for device-only items. Without it, such items are listed, but their secrets are refused.
    public var device: Device?
    /// The maximum time to wait for another writer.
    public var lockWait: Duration = .seconds(10)
    /// A state that the vault must continue; otherwise `foreignOwner`, `rolledBack` or `forked` is thrown.
    public var anchor: Anchor?
    /// The owners' public key that the vault must have; otherwise `foreignOwner` is thrown before any of its contents
    /// are returned.
    public var owners: OwnersPublicKey?
    /// True to search the whole file for the newest state, instead of only the end of the file within the bounds of
    /// section 7.1. Use this to call `repair` on a vault that cannot be opened because other programs have appended
    /// bytes.
    public var searchesWholeFile = false
    /// The number of threads for lists, scans, compaction and rotation, 1 to 64; nil for one per processor, up to 16.
    /// Threads are started when there is work for them, and end with the call or cursor that uses them.
    public var threads: Int?

    /// Makes the default options: for reading, without a device.
    public init() {}

    /// True if there is a device.
    package var hasDevice: Bool {
        borrowing get {
            switch device {
            case .some: true
            case .none: false
            }
        }
    }
}

/// Options for creating a vault.
public struct CreateOptions: ~Copyable, Sendable {
    /// The cost of the first slot's key derivation.
    public var cost: KDFCost = .moderate
    /// True if a cost below the floor is accepted.
    public var allowWeak = false
    /// The first slot's name, at most 63 bytes.
    public var slotName = ""
    /// The number of earlier values that each field of an item keeps, 0 to 50.
    public var keptVersions = 10
    /// This device, as in the options for opening.
    public var device: Device?
    /// The maximum time that later changes wait for another writer.
    public var lockWait: Duration = .seconds(10)
    /// The number of threads, as in the options for opening.
    public var threads: Int?

    /// Makes the default options.
    public init() {}

    /// True if there is a device.
    package var hasDevice: Bool {
        borrowing get {
            switch device {
            case .some: true
            case .none: false
            }
        }
    }
}

/// The access granted by the slot that opened a vault.
public enum Access: Sendable, Hashable {
    /// Everything, including changes.
    case owner
    /// The index and the secrets of these access groups, for reading only.
    case scoped(groups: [String])
}

extension Vault {
    /// Creates a vault with one full slot, and opens it for changing.
    ///
    /// An existing file or a dangling symbolic link is never overwritten (`fileExists`). Throws `weakKDF` for a cost
    /// below the floor unless `allowWeak` is set, `kdfLimit` for a cost that readers would refuse, `noSpace` and `io`.
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
        try Workers.check(threads: options.threads)
        var place = place
        place.threads = options.threads ?? place.threads
        let random = place.random
        let id = random.bytes16()
        let epoch = random.bytes32()
        let keys = VaultKeys(vaultKey: random.secret(Format.keySize), epoch: epoch)
        let new = try NewSlot(factors.copy(), cost: cost, name: options.slotName, vault: id, random)
        let (slot, wrappingKey) = try SlotMaking.fullSlot(keys, new, vault: id, random)
        let header = Header(id: id, epoch: epoch, slots: [slot])
        let store = try Store.create(
            at: path, keys: keys, header: header, wrappingKey: wrappingKey.secret.copy(), limit: options.keptVersions,
            place: place, keepsLock: keepsLock)
        let wait = options.lockWait.inSeconds
        return Vault(VaultCore(store, device: options.takeDevice(), lockWait: wait))
    }

    /// Opens a vault with the factors of one of its slots.
    ///
    /// Throws `notAVault`, `unsupportedVersion`, `unsupportedCritical`, `headerInvalid`, `kdfLimit` (before any work),
    /// `noSlotOpens`, `authenticationFailed`, `structureInvalid`, `tampered`, `noSuchFile`, `io`; with an owners'
    /// public key, `foreignOwner`; with an anchor, `foreignOwner`, `rolledBack` and `forked`.
    ///
    /// The state that this machine remembers is not checked here; `VaultLocal` checks it.
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
            place: try options.asked(at: place))
        return try Vault(opened: store, options: options)
    }

    convenience init(opened store: Store, options: consuming OpenOptions) throws(VaultError) {
        let anchor = options.anchor
        let wait = options.lockWait.inSeconds
        self.init(VaultCore(store, device: options.takeDevice(), lockWait: wait))
        if let anchor { try require(anchor) }
    }

    /// Throws an error if the vault does not continue this state.
    private func require(_ anchor: Anchor) throws(VaultError) {
        switch try verdict(on: anchor) {
        case .same, .descends: return
        case .foreign:
            throw VaultError(
                .foreignOwner,
                "the vault belongs to other owners: after the remembered generation \(anchor.generation), its key was replaced "
                    + "without a hand-over, or someone else created the vault")
        case .older:
            throw VaultError(
                .rolledBack,
                "the vault is at generation \(state.generation), but was previously at \(anchor.generation): it was replaced with an older copy"
            )
        case .forked:
            throw VaultError(
                .forked, "the vault has forked: it lacks changes of the remembered generation \(anchor.generation)")
        }
    }
}

extension CreateOptions {
    consuming func takeDevice() -> Device? { device }
}

extension OpenOptions {
    consuming func takeDevice() -> Device? { device }

    /// Returns the given place with these options applied: the owners' public key, the extent of the search and the
    /// number of threads.
    borrowing func asked(at place: Store.Place) throws(VaultError) -> Store.Place {
        try Workers.check(threads: threads)
        var place = place
        if let owners { place.owner = owners.value }
        place.searchesWholeFile = searchesWholeFile
        place.threads = threads ?? place.threads
        return place
    }
}

/// Opening a vault again without its factors. `VaultLocal` stores the key in the kernel keyring.
extension Vault {
    /// Returns the slot that opened this vault, and that slot's wrapping key. Throws `locked` if the vault is locked.
    package func keptKey() throws(VaultError) -> KeptKey {
        try withCore { (core) throws(VaultError) in
            guard !core.isLocked else { throw VaultError(.locked, "the vault is locked") }
            return KeptKey(slot: core.store.slot.id, wrappingKey: core.store.slot.wrappingKey.copy())
        }
    }

    /// Opens a vault with the result of `keptKey`. Throws the same errors as `open`, or `noSuchSlot` if the slot no
    /// longer exists.
    package static func open(
        _ path: String, kept key: borrowing KeptKey, of vault: VaultID, options: consuming OpenOptions,
        place: Store.Place
    ) throws(VaultError) -> Vault {
        let store = try Store.open(
            path, writable: options.writable, kept: key, vault: vault.bytes, place: try options.asked(at: place))
        return try Vault(opened: store, options: options)
    }

    /// Returns the vault id in a file's header. The id is not authenticated.
    package static func id(at path: String, place: Store.Place = Store.Place()) throws(VaultError) -> VaultID {
        let file = try place.fileSystem.open(try place.fileSystem.resolve(path), writable: false)
        return VaultID(try Store.readHeader(file).0.id)
    }

    /// Returns whether a kept key opens its slot in the current state. A slot keeps its id when its factors change.
    package func isOpened(by key: borrowing KeptKey) throws(VaultError) -> Bool {
        let (id, wrappingKey) = (key.slot, SecretBox(key.wrappingKey.copy()))
        return try withCore { (core) throws(VaultError) in
            let header = core.store.header
            guard let slot = header.slots.first(where: { $0.id == id }) else { return false }
            do throws(VaultError) {
                _ = try SlotOpener.open(slot, header, wrappingKey: wrappingKey.secret.copy())
                return true
            } catch { return false }
        }
    }
}
