internal import VaultBytes
internal import VaultStore

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
            throw VaultError(.limitExceeded, "the vault's clock is at its end")
        }
        clock = tick
        return tick
    }

    var lastTick: UInt64 { clock }

    /// Makes later revisions greater than those of a branch that is merged.
    func advance(to clock: UInt64) { self.clock = max(self.clock, clock) }

    // MARK: reading

    func requireCurrent() throws(VaultError) {
        guard !isLocked else { return }
        if try store.refresh() { stateChanged() }
    }

    /// What entries of the current state are checked against.
    var entryCheck: EntryCheck { EntryCheck(view, clock: store.clock) }

    func find(_ key: ItemKey) throws(VaultError) -> Item? {
        guard let (page, index) = try store.tree.find(key.bytes) else { return nil }
        return try ItemCodec.item(key, page, index, entryCheck)
    }

    /// An item's secret, and its attributes but for large ones.
    func open(_ item: Item) throws(VaultError) -> OpenedItem {
        var body = try body(item.entry.record, item.entry.identity, before: item.referrer)
        let (secret, attributes) = try body.withSpan { (bytes) throws(VaultError) in try RecordCodec.read(bytes, item) }
        body.keep(secret)
        return OpenedItem(item: attributes.map { Item(item, $0) } ?? item, secret: body)
    }

    /// The value of an attribute that has a record of its own.
    func open(large attribute: Attribute, of item: Bytes16, before referrer: UInt64) throws(VaultError) -> Secret {
        guard case .inOwnRecord(let own) = attribute.content else {
            throw VaultError(.invalidArgument, "the attribute \"\(attribute.name)\" has no record of its own")
        }
        var body = try body(own.record, own.identity(of: item), before: referrer)
        let value = try body.withSpan { (bytes) throws(VaultError) in
            try RecordCodec.readLarge(bytes, attribute, at: own.record.offset)
        }
        body.keep(value)
        return body
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

    /// The body of a record that a frame at `referrer` refers to.
    func body(
        _ ref: ObjectRef, _ identity: Sealing.RecordIdentity, before referrer: UInt64
    ) throws(VaultError) -> Secret {
        let pages = store.pages
        try decoding { () throws(FormatError) in try ref.check(.record, from: pages.bodyStart, before: referrer) }
        guard ref.length >= Self.largeRecord else {
            let frame = try FrameReader.read(ref, .record, pages.file)
            return try Self.open(frame, ref, identity, try key(identity.compartment), pages.sealing)
        }
        let frame = try pages.file.bytes(ref.length, at: ref.offset)
        let key: SecretBox
        do throws(VaultError) { key = try self.key(identity.compartment) } catch {
            try FrameReader.check(frame, ref, .record)
            throw error
        }
        return try Self.openLarge(frame, ref, identity, key, pages.sealing)
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
            do throws(VaultError) { opened = try open(frame, ref, identity, key, sealing) } catch { failure = error }
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

    /// The body of a record whose frame was checked.
    static func open(
        _ frame: [UInt8], _ ref: ObjectRef, _ identity: Sealing.RecordIdentity, _ key: SecretBox, _ sealing: Sealing
    ) throws(VaultError) -> Secret {
        try frame.span.bytes.withUnsafeBytes { (frame) throws(VaultError) in
            try RecordCodec.open(frame, identity, key: key.secret, sealing, at: ref.offset)
        }
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

    private func beginWriting() throws(VaultError) {
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
    func compactIfDue() {
        guard deadBytes > store.state.commit.liveBytes + (4 << 20) else { return }
        do throws(VaultError) {
            try Rebuild.compact(self)
            compactionBlocked = nil
        } catch { compactionBlocked = error.description }
    }
}
