internal import VaultBytes
internal import VaultStore

/// What a `Vault` guards: the store, the keys of compartments, and what this device is. One thread at a time.
final class VaultCore: RecordReading {
    let store: Store
    let device: SecretBox?
    let deviceID: Bytes16
    let lockWait: Double
    let compartments = CompartmentKeys()
    private(set) var view: KeyringView
    private(set) var isLocked = false
    /// The greatest revision given out or seen.
    private var clock: UInt64
    /// Whether the slot that opened the vault is a full one: kept apart, since a locked vault no longer shows it.
    private(set) var isOwner: Bool
    /// Of the header that the keys were derived under.
    private var epoch: Bytes32
    /// Why the last compaction that would have been due did not happen.
    var compactionBlocked: String?

    init(_ store: Store, device: consuming Device?, lockWait: Double) {
        self.store = store
        self.lockWait = lockWait
        if let device = consume device {
            deviceID = device.id.bytes
            self.device = SecretBox(device.secret.copy())
        } else {
            deviceID = .zero
            self.device = nil
        }
        view = KeyringView(store.keyring)
        clock = store.state.commit.clock
        isOwner = store.slot.keys.isOwner
        epoch = store.header.epoch
    }

    var sealing: Sealing { store.sealing }
    var pages: PageSource { store.pages }

    var context: CompartmentKeys.Context {
        CompartmentKeys.Context(store: store, device: device, deviceID: deviceID, isLocked: isLocked)
    }

    /// After the store's state has changed.
    func stateChanged() {
        if view.keyring != store.keyring {
            view = KeyringView(store.keyring)
            // Keys may have been replaced: removing a scoped slot does that.
            compartments.forgetAll()
        }
        if epoch != store.header.epoch {
            epoch = store.header.epoch
            compartments.forgetAll()
        }
        clock = max(clock, store.state.commit.clock)
    }

    /// A revision that is greater than all before (specification, section 1).
    func tick() throws(VaultError) -> UInt64 {
        let now = try Clock.revision(store.fileSystem)
        let (next, overflow) = clock.addingReportingOverflow(1)
        let tick = max(now, next)
        guard !overflow, tick <= Format.Limit.number else {
            throw VaultError(.limitExceeded, "the vault's clock has reached its greatest value")
        }
        clock = tick
        return tick
    }

    var lastTick: UInt64 { clock }

    /// Makes later revisions greater than those of a branch that is merged.
    func advance(to clock: UInt64) { self.clock = max(self.clock, clock) }

    // MARK: reading

    func refresh() throws(VaultError) {
        guard !isLocked else { return }
        if try store.refresh() { stateChanged() }
    }

    /// What entries of the current state are checked against.
    var entryCheck: EntryCheck { EntryCheck(view, clock: store.clock) }

    func find(_ key: ItemKey) throws(VaultError) -> Item? {
        guard let (page, index) = try store.tree.find(key.bytes) else { return nil }
        return try ItemCodec.item(key, page, index, entryCheck)
    }

    // MARK: records

    /// From here on, a thread to start takes little beside hashing or opening a record.
    private static let largeRecord = 1 << 20

    /// A frame that another one, at `referrer`, refers to; its hash and head are checked.
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
        return try Self.openLarge(frame, ref, record.identity(of: item), key, pages.sealing)
    }

    /// The key of a compartment, by its number.
    func key(_ number: UInt64) throws(VaultError) -> SecretBox {
        if let known = compartments.known(number) { return known }
        guard let compartment = view.compartment(number) else {
            throw VaultError(.structureInvalid, "a compartment does not exist")
        }
        return try compartments.key(compartment, context)
    }

    /// Hashes and opens a frame at the same time; nothing comes out before both are right.
    private static func openLarge(
        _ frame: [UInt8], _ ref: ObjectRef, _ identity: Sealing.RecordIdentity, _ key: SecretBox, _ sealing: Sealing
    ) throws(VaultError) -> Secret {
        var opened: Secret?
        var failure: VaultError?
        let (_, checked) = SecondThread().both({
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
        guard let result = opened.take() else { preconditionFailure("it was opened, or failed to") }
        return result
    }

    // MARK: locking

    func lock() {
        guard !isLocked else { return }
        compartments.lock(view, context)
        store.dropOwner()
        store.pages.dropCache()
        isLocked = true
    }

    func unlock(_ factors: borrowing Factors, _ limits: ReaderLimits) throws(VaultError) {
        try store.unlock(factors.keys, limits, external: factors.provider)
        isOwner = store.slot.keys.isOwner
        isLocked = false
        compartments.forgetAll()
        stateChanged()
    }

    // MARK: writing

    func requireOwner() throws(VaultError) {
        guard !isLocked else { throw VaultError(.locked, "the vault is locked") }
        guard isOwner else { throw VaultError(.notPermitted, "the slot that opened this vault grants reading only") }
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
        // It may have moved to another state before it fails.
        defer { stateChanged() }
        try store.beginWriting(wait: lockWait) { () throws(VaultError) in try refuseReadOnlyExtensions() }
    }

    /// This version knows no extension.
    func refuseReadOnlyExtensions() throws(VaultError) {
        guard let unknown = (store.header.extensions + store.keyring.extensions).first(where: \.isReadOnly) else {
            return
        }
        throw VaultError(
            .readOnlyExtension,
            "only programs that know the extension \"\(unknown.name)\" can change this vault; this one can read it")
    }

    var deadBytes: UInt64 { store.state.commit.end - min(store.state.commit.liveBytes, store.state.commit.end) }
}

/// The machine's time as the format can hold it: a revision has 47 bits for milliseconds (specification, section 1).
enum Clock {
    /// The machine's time as the beginning of a revision, which is at least 1. A clock before 1970 counts as 1970.
    static func revision(_ fileSystem: any FileSystem) throws(VaultError) -> UInt64 {
        let now = UInt64(clamping: fileSystem.now())
        guard now < 1 << 47 else {
            throw VaultError(
                .io, "the machine's clock shows a time that no vault can hold (\(now) ms after 1970): set it")
        }
        return max(now << 16, 1)
    }
}

extension VaultCore {
    /// What a slot's owner part says, and for a slot whose kind depends on the epoch, its wrapping key.
    func ownerPart(of slot: Slot) throws(VaultError) -> (
        part: OwnerPart, wrappingKey: SecretBox
    ) {
        let refusal = VaultError(.notPermitted, "only an owner can read the names of slots")
        let opened = try store.slot.keys.asOwner(else: refusal) { (owner) throws(VaultError) in
            try SlotSeal.openOwner(slot, vault: store.vault, keys: owner)
        }
        guard opened.part.revision <= store.state.commit.clock else {
            throw VaultError(.structureInvalid, "a slot's revision is after the vault's clock")
        }
        return opened
    }

    /// The groups that a scoped slot grants; nil for a slot of another kind.
    func grantedGroups(of slot: Slot) throws(VaultError) -> Set<UInt64>? {
        guard slot.kind == .scoped else { return nil }
        let part = try ownerPart(of: slot)
        return Set(try SlotOpener.grants(slot, store.vault, wrappingKey: part.wrappingKey.secret).numbers)
    }
}
