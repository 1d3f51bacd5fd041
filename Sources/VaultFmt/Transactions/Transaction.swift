internal import VaultBytes
internal import VaultStore

/// Changes that become durable together or not at all. A transaction must be used only within the closure that it is
/// passed to.
///
/// Reads within the transaction include its changes; other handles do not see them before the commit.
public final class Transaction: RecordReading {
    /// Determines the treatment of old records, and of old values of attributes, that can be opened with fewer rights
    /// than their items now require.
    public var narrowing = Narrowing.atOnce
    /// The old records and values that this transaction leaves behind, in order. They are removed by the commit or, if
    /// `narrowing` is `.later`, when the vault is compacted.
    public private(set) var remnants: [Remnant] = []
    /// The earlier values that this transaction drops from fields that then list fewer values than the vault keeps.
    /// This happens if a value that is already one of a field's earlier values becomes current again.
    package internal(set) var crowdedOut: [DroppedValue] = []

    let core: VaultCore
    let appender: Appender
    /// The vector of the state that the commit creates, and the dots of its changes.
    let next: NextVector
    var changes = PendingChanges()
    var ring: WritableKeyring
    var tally = Tally()
    var names = ItemNames()
    private let locatorKey: SecretBox
    /// The grants of the scoped slots, determined when first needed.
    private var grants: SlotGrants?
    /// The sealed attributes whose old values are among the remnants, by item.
    private var sealedFields: [Bytes16: Set<FieldName>] = [:]
    private var hasEnded = false
    /// True if items of classes that this version does not define may be created; only for items copied from another
    /// vault.
    var makesAnyClass = false
    /// The generation of the branch that the commit merges, if any.
    private var mergedGeneration: UInt64?

    /// The changes to the state's counts.
    struct Tally {
        var items: Int64 = 0
        var forgotten: Int64 = 0
        var pasts: Int64 = 0
        var liveBytes: Int64 = 0
        /// True if frames of unknown size were dropped, in which case the remaining frames must be counted.
        var isLiveBytesLost = false
    }

    init(_ core: VaultCore) throws(VaultError) {
        self.core = core
        let refusal = VaultError(.notPermitted, "the slot that opened this vault grants only read access")
        locatorKey = try core.store.slot.keys.asOwner(else: refusal) { (owner) throws(VaultError) in
            SecretBox(owner.locator.copy())
        }
        next = try core.store.nextVector()
        appender = try core.store.makeAppender()
        ring = WritableKeyring(core)
    }

    // MARK: reading

    /// Returns the item with this key, without its secret; nil if it does not exist.
    public func item(_ key: ItemKey) throws(VaultError) -> Item? {
        try requireOpen()
        if let item = try entry(PageName(key)) { return item }
        return try other(listed: key)
    }

    /// Returns the item with its secret; nil if it does not exist.
    public func get(_ key: ItemKey) throws(VaultError) -> OpenedItem? {
        guard let item = try item(key) else { return nil }
        return try opened(item)
    }

    /// Returns the item with its secret and all of its attributes, including large ones; nil if it does not exist.
    package func whole(_ key: ItemKey) throws(VaultError) -> OpenedItem? {
        guard let item = try item(key) else { return nil }
        return try whole(item)
    }

    /// Returns the value, of any size, of an attribute; nil if the item does not have this attribute. Throws
    /// `noSuchItem`.
    public func attribute(_ name: String, of key: ItemKey) throws(VaultError) -> Secret? {
        try value(of: name, try existing(key))
    }

    /// Returns all matching items as they were when the transaction began, sorted by key.
    package func items(matching query: Query = Query()) throws(VaultError) -> ItemCursor {
        try requireOpen()
        return ItemCursor(core, query)
    }

    var sealing: Sealing { core.sealing }
    var pages: PageSource { core.pages }
    var entryCheck: EntryCheck {
        let commit = core.store.state.commit
        let clock = max(commit.clock, next.own?.revision ?? 0, mergedGeneration == nil ? 0 : next.vector.clock)
        return EntryCheck(ring.view, clock: clock, floor: commit.floor)
    }
    var limit: Int { ring.kept }

    var path: String? { core.store.path }

    func pastKey() throws(VaultError) -> SecretBox { try core.pastKey() }

    func vector() throws(VaultError) -> Vector { next.vector }

    func key(_ compartment: UInt64) throws(VaultError) -> SecretBox { try ring.key(compartment) }

    func frame(_ ref: ObjectRef, _ type: FrameType, before referrer: UInt64) throws(VaultError) -> [UInt8] {
        guard ref.offset >= appender.start else { return try core.frame(ref, type, before: referrer) }
        // A page of the file can contain any reference, even one to data that is being appended.
        try decoding { () throws(FormatError) in
            try ref.check(type, from: core.store.pages.bodyStart, before: referrer)
        }
        let frame = try appender.frame(ref)
        try FrameReader.check(frame, ref, type)
        return frame
    }

    func existing(_ key: ItemKey) throws(VaultError) -> Item {
        guard let item = try item(key) else { throw Self.noSuchItem }
        return item
    }

    // MARK: changing

    /// Adds an item. Throws `duplicateItem` if the key exists, `limitExceeded` if a limit is exceeded, `deviceBound` if
    /// a device is needed but none was given, and `invalidArgument` for an attribute whose value was not read or a
    /// class that this version does not define.
    public func add(
        _ key: ItemKey, secret: borrowing Secret, attributes: Attributes = .init(),
        accessibility: Accessibility = .whenUnlocked,
        created: Int64? = nil, modified: Int64? = nil
    ) throws(VaultError) {
        guard try item(key) == nil else { throw VaultError(.duplicateItem, "the item already exists") }
        try make(key, secret, attributes, accessibility, created: created, modified: modified)
    }

    /// Adds an item, or replaces an existing item's secret and the given attributes; all other attributes are kept. If
    /// no accessibility is given, an existing item keeps its own.
    ///
    /// If the secret or the value of a sealed attribute changes, the old value becomes an earlier value, unless the
    /// vault does not keep any. Conflicts in the fields that are set are settled.
    ///
    /// A new secret repairs an item whose record is damaged. The attributes in that record, sealed ones of at most
    /// 4096 bytes and others of 257 to 4096 bytes, are lost with it, which the caller must request: unless `attributes`
    /// sets or removes each of them, this throws `authenticationFailed` or `structureInvalid`.
    public func set(
        _ key: ItemKey, secret: borrowing Secret, attributes: AttributeChanges = .init(),
        accessibility: Accessibility? = nil,
        created: Int64? = nil, modified: Int64? = nil
    ) throws(VaultError) {
        guard let old = try item(key) else {
            let initial = attributes.applied(to: Attributes())
            try make(key, secret, initial, accessibility ?? .whenUnlocked, created: created, modified: modified)
            return
        }
        var change = ItemChange(old)
        change.attributes = attributes.applied(to: change.before)
        change.accessibility = accessibility ?? old.accessibility
        (change.created, change.modified) = (created, modified)
        change.settles(attributes.set.all)
        var failure: VaultError?
        if ring.kept == 0, !change.attributes.needsRecord {
            // No earlier values are kept, so the old value is not needed.
            change.writesSecret = true
        } else if let opened = try opened(old, else: &failure) {
            change.before = opened.item.attributes
            change.attributes = attributes.applied(to: change.before)
            change.writesSecret = old.lacksSecret || old.needsSettling || !opened.secret.equals(secret)
        } else {
            // Another device's value is kept unchanged. A damaged value cannot be kept; a new secret repairs the item.
            guard !change.attributes.needsRecord else {
                throw (failure ?? Self.noSuchItem).naming(.secretWithAttributes, of: old.key)
            }
            change.writesSecret = true
        }
        try apply(change, secret: secret)
    }

    /// Opens an item; returns nil and sets `failure` if the item belongs to another device or is damaged.
    func opened(_ item: Item, else failure: inout VaultError?) throws(VaultError) -> OpenedItem? {
        do throws(VaultError) { return try openedRecord(item) } catch {
            guard Self.cannotBeRead.contains(error.code) else { throw error }
            failure = error
            return nil
        }
    }

    private static let noSuchItem = VaultError(.noSuchItem, "no such item")
    static let cannotBeRead: Set<VaultError.Code> = [
        .deviceBound, .authenticationFailed, .structureInvalid, .unsupportedForm,
    ]

    /// Changes the attributes or accessibility of an item, but not its secret. Throws `noSuchItem`.
    ///
    /// If the value of a sealed attribute changes, the old value becomes an earlier value, unless the vault does not
    /// keep any. Conflicts in the attributes that are set are settled.
    public func update(_ key: ItemKey, attributes: AttributeChanges = .init(), accessibility: Accessibility? = nil)
        throws(VaultError)
    {
        let old = try existing(key)
        var change = ItemChange(old)
        change.attributes = attributes.applied(to: change.before)
        change.accessibility = accessibility ?? old.accessibility
        change.settles(attributes.set.all)
        guard change.accessibility != old.accessibility || attributes.touchesRecord(of: change.before) else {
            return try apply(change)
        }
        let opened = try namedRecord(old)
        change.before = opened.item.attributes
        change.attributes = attributes.applied(to: change.before)
        try apply(change, secret: opened.secret)
    }

    /// Changes an item's key; the item keeps its id, secret, attributes and earlier values.
    ///
    /// `modified`: the time of the change, in milliseconds since 1970; nil for now.
    ///
    /// Throws `noSuchItem`, or `duplicateItem` if the new key exists.
    public func move(_ key: ItemKey, to newKey: ItemKey, modified: Int64? = nil) throws(VaultError) {
        try ItemLimits.check(date: modified ?? 0)
        let old = try existing(key)
        guard old.storedKey != newKey, key != newKey else { return }
        guard key.itemClass == newKey.itemClass else {
            throw VaultError(.invalidArgument, "an item's class cannot be changed")
        }
        guard try item(newKey) == nil else { throw VaultError(.duplicateItem, "the item already exists") }
        var change = ItemChange(old)
        change.key = newKey
        change.modified = modified
        guard old.storedKey.group != newKey.group else { return try apply(change) }
        let opened = try namedRecord(old)
        change.before = opened.item.attributes
        change.attributes = opened.item.attributes
        try apply(change, secret: opened.secret)
    }

    /// Removes an item with its earlier values; returns false if the item does not exist. The item's ciphertext stays
    /// in the file until the file is compacted.
    public func remove(_ key: ItemKey) throws(VaultError) -> Bool {
        guard let old = try item(key) else { return false }
        // The removal is a change and therefore needs a dot.
        _ = try nextDot()
        let past = try pastToRemove(old)
        try take(old)
        tally.items -= 1
        tally.pasts -= old.hasPast ? 1 : 0
        tally.liveBytes -= ItemFrames.bytes(old.entry, old.largeRecords, past)
        return true
    }

    /// Sets the number of earlier values that each field of an item keeps, 0 to 50. Existing excess values are kept
    /// until their item is changed.
    public func keepVersions(_ count: Int) throws(VaultError) {
        try requireOpen()
        try ItemLimits.check(keptVersions: count)
        guard count != ring.kept else { return }
        ring.keep(count, next.stored(try nextDot()))
    }

    // MARK: dots

    /// Returns the dot of another change in this commit.
    func nextDot() throws(VaultError) -> Dot { try next.tick() }

    /// Returns the revision under which another record is sealed.
    func recordRevision() throws(VaultError) -> UInt64 {
        mergedGeneration == nil || next.own != nil ? try next.tick().revision : next.vector.clock
    }

    // MARK: sealing

    func seal(_ identity: Sealing.RecordIdentity) throws(VaultError) -> RecordCodec.Seal {
        RecordCodec.Seal(
            identity: identity, key: try ring.key(identity.compartment), locatorKey: locatorKey,
            sealing: core.store.sealing)
    }

    // MARK: records left behind

    /// Notes a replaced record if it can be opened without the rights that its replacement in another compartment
    /// requires.
    func note(_ old: Item, now key: ItemKey, in compartment: UInt64) throws(VaultError) {
        guard old.entry.compartment != compartment, let before = ring.compartment(old.entry.compartment),
            let now = ring.compartment(compartment)
        else { return }
        let isMoved = before.group.number != now.group.number
        let slots = try isMoved ? slotGrants().count(with: before.group.number, without: now.group.number) : 0
        let remnant = Remnant(key, before, now, slots: slots)
        if remnant.isReadable { remnants.append(remnant) }
    }

    /// Notes the old values, in the index, of attributes that are written as sealed ones. Every reader of the index
    /// could read them. A value is noted once, even if the transaction writes the attribute several times.
    ///
    /// - `before`: The item as it was when the transaction began; only its values are in pages of the file.
    func note(sealed names: [String], before: Item, now key: ItemKey, in compartment: UInt64) throws(VaultError) {
        let shown = names.filter { name in
            before.attributes.attribute(name)?.fileFlags.isDisjoint(with: [.inItemRecord, .inOwnRecord]) == true
        }
        guard !shown.isEmpty, let now = ring.compartment(compartment) else { return }
        let slots = try slotGrants().count(without: now.group.number)
        for name in shown {
            let remnant = Remnant(key, sealed: name, now, slots: slots)
            guard remnant.isReadable else { continue }
            let field = FieldName.attribute(name)
            if sealedFields[before.entry.id, default: []].insert(field).inserted { remnants.append(remnant) }
        }
    }

    private func slotGrants() throws(VaultError) -> SlotGrants {
        if let grants { return grants }
        let found = try SlotGrants(core)
        grants = found
        return found
    }

    /// True if device-only items can be created.
    var hasDevice: Bool { core.deviceID != .zero }

    // MARK: ending

    /// Makes the commit a merge that includes every change of another state. Must be called before any change; the
    /// commit is made even if there are no changes.
    func join(_ other: Vector, generation: UInt64) {
        mergedGeneration = generation
        next.join(other)
    }

    /// Writes and commits all changes; does nothing if there are none.
    func commit() throws(VaultError) {
        try requireOpen()
        let store = core.store
        guard changes.count > 0 || ring.isChanged || mergedGeneration != nil else { return end() }
        if narrowing == .atOnce, !remnants.isEmpty {
            return try Rebuild.compact(core, content: try endInReplacement())
        }
        hasEnded = true
        let old = store.state.commit
        changes.sort()
        var writer = TreeWriter(source: store.pages, appender: appender, indexKey: store.slot.keys.index.copy())
        let root = try writer.apply(changes, to: old.root)
        tally.liveBytes += Int64(writer.bytesAdded) - Int64(writer.bytesRemoved)
        var ref = old.keyring
        if ring.isChanged {
            ref = try appender.append(ring.keyring, key: store.slot.keys.index, withSpare: store.writesSpares)
            tally.liveBytes += Int64(ref.length) - Int64(old.keyring.length)
        }
        var new = store.state.successor
        if let mergedGeneration { new.generation = max(new.generation, mergedGeneration + 1) }
        (new.root, new.keyring) = (root, ref)
        new.items = try Self.sum(old.items, tally.items)
        new.forgotten = try Self.sum(old.forgotten, tally.forgotten)
        new.pasts = try Self.sum(old.pasts, tally.pasts)
        new.liveBytes = try Self.sum(old.liveBytes, tally.liveBytes)
        if tally.isLiveBytesLost { new.liveBytes = try counted(new) ?? new.liveBytes }
        try store.commit(appender, new, next, keyring: ring.keyring)
        core.stateChanged()
    }

    /// Counts the live bytes of the new state except those of the vector. This is necessary if a removed part was too
    /// damaged for its size to be determined. Returns nil if a remaining part is just as damaged.
    private func counted(_ new: Commit) throws(VaultError) -> UInt64? {
        try appender.flush()
        let store = core.store
        var live = try LiveFrames(store.pagesOfChange, self)
        do throws(VaultError) { try live.count(new.root) } catch {
            guard Self.cannotBeRead.contains(error.code) else { throw error }
            return nil
        }
        return store.header.bodyStart + UInt64(Format.commitSize + new.keyring.length) + live.bytes
            + (try store.vectorBytes())
    }

    /// Ends the transaction by writing its tree to the old file, from which the replacement file is made. No commit
    /// ever refers to that tree.
    func endInReplacement() throws(VaultError) -> Rebuild.Content {
        try requireOpen()
        hasEnded = true
        let store = core.store
        changes.sort()
        var writer = TreeWriter(source: store.pages, appender: appender, indexKey: store.slot.keys.index.copy())
        let root = try writer.apply(changes, to: store.state.commit.root)
        try appender.flush()
        let old = store.state.commit
        return Rebuild.Content(
            root: root, items: try Self.sum(old.items, tally.items),
            forgotten: try Self.sum(old.forgotten, tally.forgotten), pasts: try Self.sum(old.pasts, tally.pasts),
            keyring: ring.keyring, next: next, generation: mergedGeneration)
    }

    /// Ends the transaction, discarding anything that was not committed.
    func end() {
        hasEnded = true
        if appender.hasWritten { core.store.abandon(appender) }
    }

    func requireOpen() throws(VaultError) {
        guard !hasEnded else {
            throw VaultError(.invalidArgument, "a transaction cannot be used after its closure has returned")
        }
    }

    /// Adds a change to a count from the file, checking the result because the file could contain any number.
    private static func sum(_ count: UInt64, _ change: Int64) throws(VaultError) -> UInt64 {
        let (sum, overflow) = Int64(clamping: count).addingReportingOverflow(change)
        guard !overflow, sum >= 0 else { throw VaultError(.structureInvalid, "the vault's counts are wrong") }
        return UInt64(sum)
    }
}
