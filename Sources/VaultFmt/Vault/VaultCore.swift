internal import VaultBytes
internal import VaultStore

/// The state guarded by a `Vault`: the store, the keys of compartments, and this device. Only one thread may use it at
/// a time.
final class VaultCore: RecordReading {
    let store: Store
    let device: SecretBox?
    let deviceID: Bytes16
    let lockWait: Double
    /// True if changes are kept in memory and end with this object.
    let isRehearsal: Bool
    let compartments = CompartmentKeys()
    private(set) var view: KeyringView
    private(set) var isLocked = false
    /// True if a full slot opened the vault. This is stored separately, because it cannot be determined once the vault
    /// is locked.
    private(set) var isOwner: Bool
    /// The epoch of the header under which the keys were derived.
    private var epoch: Bytes32
    /// The key of pasts, derived when it is first needed and wiped when the vault is locked.
    private var knownPastKey: SecretBox?
    /// The reason why the last due compaction failed.
    var compactionBlocked: String?
    /// The number of dead bytes in the file when that compaction failed; 0 if it did not fail.
    var deadWhenBlocked: UInt64 = 0

    init(_ store: Store, device: consuming Device?, lockWait: Double, isRehearsal: Bool = false) {
        self.store = store
        self.lockWait = lockWait
        self.isRehearsal = isRehearsal
        if let device = consume device {
            deviceID = device.id.bytes
            self.device = SecretBox(device.secret.copy())
        } else {
            deviceID = .zero
            self.device = nil
        }
        view = KeyringView(store.keyring)
        isOwner = store.slot.keys.isOwner
        epoch = store.header.epoch
    }

    var sealing: Sealing { store.sealing }
    var pages: PageSource { store.pages }

    var context: CompartmentKeys.Context {
        CompartmentKeys.Context(store: store, device: device, deviceID: deviceID, isLocked: isLocked)
    }

    /// Updates everything that depends on the store's state; called after that state has changed.
    func stateChanged() {
        if view.keyring != store.keyring {
            view = KeyringView(store.keyring)
            // Keys may have been replaced, for example because a scoped slot was removed.
            compartments.forgetAll()
        }
        if epoch != store.header.epoch {
            epoch = store.header.epoch
            compartments.forgetAll()
            knownPastKey = nil
        }
    }

    /// Returns the newest state for a rehearsal, whose changes are kept in memory as long as the returned object
    /// exists. The file is only read.
    func rehearsal() throws(VaultError) -> VaultCore {
        try refresh()
        var own: Device? = nil
        if let device { own = try Device(id: DeviceID(deviceID), secret: device.secret.copy()) }
        return VaultCore(try store.rehearsal(), device: own, lockWait: lockWait, isRehearsal: true)
    }

    // MARK: reading

    func refresh() throws(VaultError) {
        guard !isLocked else { return }
        if try store.refresh() { stateChanged() }
    }

    /// The check for entries of the current state.
    var entryCheck: EntryCheck {
        EntryCheck(view, clock: store.clock, floor: store.state.commit.floor)
    }

    /// The number of earlier values that each field of an item keeps.
    var limit: Int { store.keyring.keeping.count }

    var path: String? { store.path }

    func vector() throws(VaultError) -> Vector { try store.vector() }

    func pastKey() throws(VaultError) -> SecretBox {
        if let knownPastKey { return knownPastKey }
        try requireEarlierValues()
        let refusal = VaultError(
            .notPermitted, "the slot that opened this vault does not grant access to earlier values")
        let key = try store.slot.keys.asOwner(else: refusal) { (owner) throws(VaultError) in
            SecretBox(owner.past.copy())
        }
        knownPastKey = key
        return key
    }

    func find(_ key: ItemKey) throws(VaultError) -> Item? {
        if let (page, index) = try store.tree.find(key.bytes) {
            return try ItemCodec.item(PageName(key), page, index, entryCheck)
        }
        return try TwinSearch(store.tree, entryCheck).item(listed: key)
    }

    // MARK: records

    /// The minimum size of a large record: if a record is at least this large, starting a thread takes little time
    /// compared with hashing or opening the record.
    private static let largeRecord = 1 << 20

    /// Returns a frame that another frame, at `referrer`, refers to, after checking the frame's hash and head.
    func frame(_ ref: ObjectRef, _ type: FrameType, before referrer: UInt64) throws(VaultError) -> [UInt8] {
        let pages = store.pages
        try decoding { () throws(FormatError) in try ref.check(type, from: pages.bodyStart, before: referrer) }
        return try FrameReader.read(ref, type, pages.file)
    }

    func body(_ record: RecordRef, of item: Bytes16, before referrer: UInt64) throws(VaultError) -> Secret {
        let (ref, pages) = (record.record, store.pages)
        try decoding { () throws(FormatError) in try ref.check(.record, from: pages.bodyStart, before: referrer) }
        guard ref.length >= Self.largeRecord else {
            let frame = try FrameReader.read(ref, .record, pages.file)
            let key = try key(record.compartment)
            return try frame.span.bytes.withUnsafeBytes { (frame) throws(VaultError) in
                try RecordCodec.open(frame, record.identity(of: item), key: key.secret, pages.sealing, at: ref.offset)
            }
        }
        let frame = try pages.file.bytes(ref.length, at: ref.offset)
        let key: SecretBox
        do throws(VaultError) { key = try self.key(record.compartment) } catch {
            try FrameReader.check(frame, ref, .record)
            throw error
        }
        return try Self.openLarge(
            frame, ref, record.identity(of: item), key, pages.sealing, Workers(store.threads))
    }

    /// Returns the key of the compartment with the given number.
    func key(_ number: UInt64) throws(VaultError) -> SecretBox {
        if let known = compartments.known(number) { return known }
        guard let compartment = view.compartment(number) else {
            throw VaultError(.structureInvalid, "a compartment does not exist")
        }
        return try compartments.key(compartment, context)
    }

    /// Hashes and opens a frame at the same time; nothing is returned unless both succeed.
    private static func openLarge(
        _ frame: [UInt8], _ ref: ObjectRef, _ identity: Sealing.RecordIdentity, _ key: SecretBox, _ sealing: Sealing,
        _ workers: Workers
    ) throws(VaultError) -> Secret {
        var opened: Secret?
        var failure: VaultError?
        let (_, checked) = workers.both({
            do throws(VaultError) {
                opened = try frame.span.bytes.withUnsafeBytes { (frame) throws(VaultError) in
                    try RecordCodec.open(frame, identity, key: key.secret, sealing, at: ref.offset)
                }
            } catch { failure = error }
        }) { () -> Result<Void, VaultError> in
            do throws(VaultError) { return .success(try FrameReader.check(frame, ref, .record)) } catch {
                return .failure(error)
            }
        }
        try checked.get()
        if let failure { throw failure }
        guard let result = opened.take() else { preconditionFailure("opening must have succeeded or failed") }
        return result
    }

    // MARK: locking

    func lock() {
        guard !isLocked else { return }
        compartments.lock(view, context)
        knownPastKey = nil
        store.dropOwner()
        store.pages.dropCache()
        isLocked = true
    }

    func unlock(_ factors: borrowing Factors, _ limits: ReaderLimits) throws(VaultError) {
        try store.unlock(factors.keys, limits, external: factors.provider)
        isOwner = store.slot.keys.isOwner
        isLocked = false
        compartments.forgetAll()
        knownPastKey = nil
        stateChanged()
    }

    // MARK: writing

    func requireOwner() throws(VaultError) {
        guard !isLocked else { throw VaultError(.locked, "the vault is locked") }
        guard isOwner else {
            throw VaultError(.notPermitted, "the slot that opened this vault grants only read access")
        }
    }

    /// Runs a change under the writer's lock, on the newest state.
    func writing<R: ~Copyable>(_ body: () throws(VaultError) -> R) throws(VaultError) -> R {
        try beginWriting()
        defer { store.endWriting() }
        return try body()
    }

    func beginWriting() throws(VaultError) {
        guard store.isWritable else { throw VaultError(.readOnly, "the vault was opened for reading only") }
        try requireOwner()
        // The store may have moved to another state before the change failed.
        defer { stateChanged() }
        try store.beginWriting(wait: lockWait) { () throws(VaultError) in try refuseReadOnlyExtensions() }
    }

    /// Throws if the header has an extension that a writer must know; this version does not know any.
    func refuseReadOnlyExtensions() throws(VaultError) {
        guard let unknown = (store.header.extensions + store.keyring.extensions).first(where: \.isReadOnly) else {
            return
        }
        throw VaultError(
            .readOnlyExtension,
            "only programs that support the extension \"\(unknown.name)\" can change this vault; this program can only read it"
        )
    }

    var deadBytes: UInt64 { store.state.commit.end - min(store.state.commit.liveBytes, store.state.commit.end) }
}

extension VaultCore {
    /// Returns a slot's owner part and, if the slot's kind depends on the epoch, its wrapping key. Throws if a scoped
    /// slot contains groups other than those that the keyring grants it.
    func ownerPart(of slot: Slot) throws(VaultError) -> (
        part: OwnerPart, wrappingKey: SecretBox
    ) {
        let refusal = VaultError(.notPermitted, "only an owner can read the names of slots")
        let found = try store.slot.keys.asOwner(else: refusal) { (owner) throws(VaultError) in
            try SlotSeal.openOwner(slot, vault: store.vault, keys: owner)
        }
        guard slot.kind == .scoped else { return found }
        let grants = try SlotOpener.grants(slot, store.vault, wrappingKey: found.wrappingKey.secret)
        guard grants.numbers == (try store.keyring.dots(of: slot.id).grants.map(\.group)) else {
            throw VaultError(.structureInvalid, "a slot opens groups other than those that the keyring grants it")
        }
        return found
    }

    /// Returns the groups that a scoped slot grants; nil for a slot of another kind.
    func grantedGroups(of slot: Slot) throws(VaultError) -> Set<UInt64>? {
        guard slot.kind == .scoped else { return nil }
        _ = try ownerPart(of: slot)
        return Set(try store.keyring.dots(of: slot.id).grants.map(\.group))
    }
}
