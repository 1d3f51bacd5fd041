internal import VaultBytes

/// What a `Vault` guards: the store, the keys of compartments, and what this device is. One thread at a time.
final class VaultCore {
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
    private(set) var fingerprint: [UInt8]
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
        fingerprint = store.slot.keys.fingerprint(vault: store.vault.bytes)
        epoch = store.header.epoch
    }

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
            fingerprint = store.slot.keys.fingerprint(vault: store.vault.bytes)
            compartments.forgetAll()
        }
        clock = max(clock, store.state.commit.clock)
    }

    /// A revision that is greater than all before (specification, section 1).
    func tick() throws(VaultError) -> UInt64 {
        let now = try Clock.revision(store.fileSystem)
        let (next, overflow) = clock.addingReportingOverflow(1)
        guard !overflow else { throw VaultError(.limitExceeded, "the vault's clock is at its end") }
        clock = max(now, next)
        return clock
    }

    var lastTick: UInt64 { clock }

    // MARK: reading

    func requireCurrent() throws(VaultError) {
        guard !isLocked else { return }
        if try store.refresh() { stateChanged() }
    }

    func find(_ key: ItemKey) throws(VaultError) -> Item? {
        guard let (page, index) = try store.tree.find(key.bytes) else { return nil }
        return try ItemCodec.item(key, page, index, view)
    }

    func open(_ item: Item) throws(VaultError) -> OpenedItem {
        guard let compartment = view.compartment(item.entry.compartment) else {
            throw VaultError(.structureInvalid, "an item's compartment does not exist")
        }
        let key = try compartments.key(compartment, context)
        // the record must be the one that the index names.
        let record = item.entry.record
        guard record.length >= Self.largeRecord else {
            return try Self.open(item, try FrameReader.read(record, .record, store.file), key, store.sealing)
        }
        return try Self.openLarge(item, try store.file.bytes(record.length, at: record.offset), key, store.sealing)
    }

    /// From here on, a thread to start takes little beside hashing or opening a record.
    private static let largeRecord = 1 << 20

    /// The same as reading and opening, which need not wait for each other; nothing comes out before both are content.
    private static func openLarge(_ item: Item, _ frame: [UInt8], _ key: SecretBox, _ sealing: Sealing) throws(VaultError) -> OpenedItem {
        var opened: OpenedItem?
        var failure: VaultError?
        let record = item.entry.record
        let (_, checked) = SecondThread().both({
            do throws(VaultError) { opened = try open(item, frame, key, sealing) } catch { failure = error }
        }) { () -> Result<Void, VaultError> in
            do throws(VaultError) { return .success(try FrameReader.check(frame, record, .record)) } catch { return .failure(error) }
        }
        try checked.get()
        if let failure { throw failure }
        guard let result = opened.take() else { preconditionFailure("it was opened, or failed to") }
        return result
    }

    /// Opens an item's record, whose frame was checked.
    static func open(_ item: Item, _ frame: [UInt8], _ key: SecretBox, _ sealing: Sealing) throws(VaultError) -> OpenedItem {
        var body = try frame.span.bytes.withUnsafeBytes { (frame) throws(VaultError) in
            try RecordCodec.open(frame, item.entry.identity, key: key.secret, sealing, at: item.entry.record.offset)
        }
        let (secret, whole) = try body.withSpan { (bytes) throws(VaultError) in try RecordCodec.take(bytes, item) }
        body.keep(secret)
        return OpenedItem(item: whole, secret: body)
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
        try store.unlock(factors.keys, limits)
        isOwner = store.slot.keys.isOwner
        isLocked = false
        fingerprint = store.slot.keys.fingerprint(vault: store.vault.bytes)
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

    private func beginWriting() throws(VaultError) {
        guard store.isWritable else { throw VaultError(.readOnly, "the vault was opened for reading only") }
        try requireOwner()
        do throws(VaultError) { try store.beginWriting(wait: lockWait) } catch {
            // It may have moved to another state before it failed.
            stateChanged()
            throw error
        }
        stateChanged()
    }

    /// Runs a transaction and, if that is due, a compaction after it was acknowledged.
    func transaction<R>(_ body: (Transaction) throws(VaultError) -> R) throws(VaultError) -> R {
        let transaction = try begin()
        let result: R
        do throws(VaultError) { result = try body(transaction) } catch {
            rollBack(transaction)
            throw error
        }
        try commit(transaction)
        return result
    }

    /// Starts a transaction, which `commit` or `rollBack` ends.
    func begin() throws(VaultError) -> Transaction {
        try beginWriting()
        do throws(VaultError) { return try Transaction(self) } catch {
            store.endWriting()
            throw error
        }
    }

    /// Ends a transaction, whether its changes became durable or not.
    func commit(_ transaction: Transaction) throws(VaultError) {
        defer { store.endWriting() }
        do throws(VaultError) { try transaction.commit() } catch {
            transaction.end()
            throw error
        }
        compactIfDue()
    }

    func rollBack(_ transaction: Transaction) {
        transaction.end()
        store.endWriting()
    }

    var deadBytes: UInt64 { store.state.commit.end - min(store.state.commit.liveBytes, store.state.commit.end) }

    /// Section 3 of the design: once dead bytes exceed live ones by 4 MiB. The commit stands whatever becomes of it.
    private func compactIfDue() {
        guard deadBytes > store.state.commit.liveBytes + (4 << 20) else { return }
        do throws(VaultError) {
            try Rebuild.compact(self)
            compactionBlocked = nil
        } catch { compactionBlocked = error.description }
    }
}
