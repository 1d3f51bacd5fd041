internal import VaultBytes

/// Changes that become durable together, or not at all. Only to be used within the closure that it was given to.
///
/// It sees its own changes. Other handles see none of them before the transaction has ended.
public final class Transaction {
    /// What becomes of records that this transaction leaves behind, and that open with fewer rights than their items ask for from now on.
    public var narrowing = Narrowing.atOnce
    /// Those records, in the order in which they were left behind. They go with the commit, or, where `narrowing` is `.later`, stay until the vault is
    /// compacted.
    public private(set) var remnants: [Remnant] = []

    private let core: VaultCore
    private let appender: Appender
    private var changes = PendingChanges()
    private var keyring: Keyring
    private var view: KeyringView
    private var newKeys: [UInt32: SecretBox] = [:]
    private var newGroups: [UInt32: SecretBox] = [:]
    private var items: Int64 = 0
    private var tombstones: Int64 = 0
    private var liveBytes: Int64 = 0
    /// What the scoped slots open, once it is needed.
    private var grants: SlotGrants?
    private var hasEnded = false

    init(_ core: VaultCore) throws(VaultError) {
        self.core = core
        appender = try core.store.makeAppender()
        keyring = core.store.keyring
        view = core.view
    }

    // MARK: reading

    /// The item with this key, without its secret; nil if there is none.
    public func item(_ key: ItemKey) throws(VaultError) -> Item? {
        try requireOpen()
        guard let change = changes.find(key.bytes) else { return try core.find(key) }
        guard let value = change else { return nil }
        // Records of this transaction end before the page that will name them, which is not yet there.
        return try ItemCodec.item(key, value, view, before: appender.position)
    }

    /// The item with its secret; nil if there is none.
    public func get(_ key: ItemKey) throws(VaultError) -> OpenedItem? {
        guard let item = try item(key) else { return nil }
        return try open(item)
    }

    /// All matching items as they were when the transaction began, in the order of their keys.
    package func items(matching query: Query = Query()) throws(VaultError) -> ItemCursor {
        try requireOpen()
        return ItemCursor(core, query)
    }

    private func open(_ item: Item) throws(VaultError) -> OpenedItem {
        let record = item.entry.record
        guard record.offset >= appender.start else { return try core.open(item) }
        return try VaultCore.open(item, try appender.frame(record), try key(item.entry.compartment), core.store.sealing)
    }

    // MARK: changing

    /// Adds an item. Throws `duplicateItem` if the key exists, `limitExceeded` beyond a limit, `deviceBound` where a device is needed and none given.
    public func add(
        _ key: ItemKey, secret: borrowing Secret, attributes: Attributes = .init(), accessibility: Accessibility = .whenUnlocked,
        created: Int64? = nil, modified: Int64? = nil
    ) throws(VaultError) {
        guard try item(key) == nil else { throw VaultError(.duplicateItem, "the item exists already") }
        try put(key, secret, attributes, accessibility, replacing: nil, created: created, modified: modified)
    }

    /// Adds an item, or replaces its secret and the attributes named; the others stay. Without an accessibility, an item keeps its own.
    public func set(
        _ key: ItemKey, secret: borrowing Secret, attributes: AttributeChanges = .init(), accessibility: Accessibility? = nil,
        created: Int64? = nil, modified: Int64? = nil
    ) throws(VaultError) {
        guard let old = try item(key) else {
            let initial = attributes.applied(to: Attributes())
            try put(key, secret, initial, accessibility ?? .whenUnlocked, replacing: nil, created: created, modified: modified)
            return
        }
        let new = attributes.applied(to: try allAttributes(old, needed: !attributes.replaceAll))
        try put(key, secret, new, accessibility ?? old.accessibility, replacing: old, created: created, modified: modified)
    }

    /// Changes attributes or accessibility of an item, not its secret. Throws `noSuchItem`.
    public func update(_ key: ItemKey, attributes: AttributeChanges = .init(), accessibility: Accessibility? = nil) throws(VaultError) {
        guard let old = try item(key) else { throw VaultError(.noSuchItem, "no such item") }
        let isMoved = accessibility.map { $0 != old.accessibility } ?? false
        let isInPage = old.largeAttributes == 0 && attributes.set.inRecord.isEmpty
        guard isMoved || !isInPage else { return try updateInPage(old, attributes.applied(to: old.attributes)) }
        let opened = try open(old)
        let new = attributes.applied(to: opened.item.attributes)
        try put(key, opened.secret, new, accessibility ?? old.accessibility, replacing: old, created: nil, modified: nil)
    }

    /// Gives an item another key; it keeps its id, secret and attributes. Throws `noSuchItem`, or `duplicateItem` if the new key exists.
    public func move(_ key: ItemKey, to newKey: ItemKey) throws(VaultError) {
        guard let old = try item(key) else { throw VaultError(.noSuchItem, "no such item") }
        guard key != newKey else { return }
        guard key.itemClass == newKey.itemClass else { throw VaultError(.invalidArgument, "an item keeps its class") }
        guard try item(newKey) == nil else { throw VaultError(.duplicateItem, "the item exists already") }
        let opened = try open(old)
        try put(
            newKey, opened.secret, opened.item.attributes, old.accessibility, replacing: nil, keeping: old, created: old.created,
            modified: nil)
        // One item less here, now that there is one more with the new key.
        changes.put(key.bytes, nil)
        items -= 1
        liveBytes -= Int64(old.entry.record.length)
    }

    /// Removes an item, and leaves a tombstone; false if there is none. What was sealed stays in the file until it is compacted.
    public func remove(_ key: ItemKey) throws(VaultError) -> Bool {
        guard let old = try item(key) else { return false }
        let tombstone = TombstoneEntry(revision: try core.tick(), device: try deviceNumber())
        changes.put(key.bytes, nil)
        changes.put(TombstoneEntry.key(old.id.bytes), tombstone.encode())
        items -= 1
        tombstones += 1
        liveBytes -= Int64(old.entry.record.length)
        return true
    }

    // MARK: putting items together

    private func allAttributes(_ item: Item, needed: Bool) throws(VaultError) -> Attributes {
        guard needed, item.largeAttributes > 0 else { return item.attributes }
        return try open(item).item.attributes
    }

    private func updateInPage(_ old: Item, _ attributes: Attributes) throws(VaultError) {
        try attributes.check()
        var entry = old.entry
        entry.revision = try core.tick()
        entry.device = try deviceNumber()
        entry.modified = core.store.fileSystem.now()
        changes.put(old.key.bytes, ItemCodec.encode(entry, attributes))
    }

    private func put(
        _ key: ItemKey, _ secret: borrowing Secret, _ attributes: Attributes, _ accessibility: Accessibility, replacing old: Item?,
        keeping identity: Item? = nil, created: Int64?, modified: Int64?
    ) throws(VaultError) {
        try Self.check(secretBytes: secret.count, attributes, created: created, modified: modified)
        let compartment = try compartment(key.group, accessibility)
        let revision = try core.tick()
        let id = (old ?? identity)?.id.bytes ?? core.store.random.bytes16()
        let now = core.store.fileSystem.now()
        var entry = ItemEntry(
            record: ObjectRef(offset: 0, length: 0, hash: .zero), id: id, revision: revision, device: try deviceNumber(),
            recordRevision: revision,
            compartment: compartment, created: created ?? old?.created ?? now, modified: modified ?? now)
        entry.record = try RecordCodec.append(
            key, secret, attributes, entry.identity, compartmentKey: try self.key(compartment).secret,
            locatorKey: core.store.slot.keys.locator,
            to: appender, core.store.sealing)
        changes.put(key.bytes, ItemCodec.encode(entry, attributes))
        if old == nil { items += 1 }
        liveBytes += Int64(entry.record.length) - Int64(old?.entry.record.length ?? 0)
        if let before = old ?? identity { try note(before, now: key, in: compartment) }
    }

    // MARK: what is left behind

    /// Notes a record that is replaced by one in another compartment, if somebody could open it who cannot open the new one.
    private func note(_ old: Item, now key: ItemKey, in compartment: UInt32) throws(VaultError) {
        guard old.entry.compartment != compartment, let before = view.compartment(old.entry.compartment),
            let now = view.compartment(compartment)
        else { return }
        if grants == nil, before.group.number != now.group.number { grants = try SlotGrants(core) }
        let remnant = Remnant(key, before, now, slots: grants?.count(with: before.group.number, without: now.group.number) ?? 0)
        if remnant.isReadable { remnants.append(remnant) }
    }

    /// Checks what every item must keep to.
    static func check(secretBytes: Int, _ attributes: Attributes, created: Int64?, modified: Int64?) throws(VaultError) {
        guard secretBytes <= Format.Limit.secret else {
            throw VaultError(.limitExceeded, "a secret has at most \(Format.Limit.secret) bytes, not \(secretBytes)")
        }
        try attributes.check()
        for date in [created, modified] {
            guard Format.Limit.time.contains(date ?? 0) else {
                throw VaultError(.invalidArgument, "a date is more than 2^62 milliseconds from 1970")
            }
        }
    }

    static let noDevice = VaultError(.deviceBound, "an item for this device only needs the device's secret")
    static let groupTooLong = VaultError(.limitExceeded, "an access group's name has at most \(Format.Limit.field) bytes")

    // MARK: compartments

    /// Whether items for this device only can be made.
    var hasDevice: Bool { core.deviceID != .zero }

    /// The number of the compartment for such items; a new one if need be.
    private func compartment(_ group: String, _ accessibility: Accessibility) throws(VaultError) -> UInt32 {
        let device = accessibility.isThisDeviceOnly ? core.deviceID : .zero
        if accessibility.isThisDeviceOnly, device == .zero {
            throw Self.noDevice
        }
        let name = Array(group.utf8)
        let known = keyring.groups.first { $0.name.utf8.elementsEqual(name) }
        if let known,
            let found = keyring.compartments.first(where: {
                $0.group == known.number && $0.accessibility == accessibility.rawValue && $0.device == device
            })
        {
            return found.number
        }
        if let known { return try addCompartment(known.number, accessibility, device) }
        return try addCompartment(try addGroup(group), accessibility, device)
    }

    private func addGroup(_ name: String) throws(VaultError) -> UInt32 {
        let number = try keyring.numberForGroup(named: name)
        let key = core.store.random.secret(Format.keySize)
        keyring.groups.append(try Rebuild.wrappedGroup(number, name, key, core.store))
        newGroups[number] = SecretBox(key)
        view = KeyringView(keyring)
        return number
    }

    private func addCompartment(_ group: UInt32, _ accessibility: Accessibility, _ device: Bytes16) throws(VaultError) -> UInt32 {
        guard keyring.compartments.count < Format.Limit.compartments, keyring.nextCompartment < .max else {
            throw VaultError(.limitExceeded, "a vault has at most \(Format.Limit.compartments) compartments")
        }
        let number = keyring.nextCompartment
        var info = Keyring.Compartment(number: number, group: group, accessibility: accessibility.rawValue, device: device, wrapped: [])
        let key = core.store.random.secret(Format.keySize)
        Wrapping.wrap(&info, key, try groupKey(group).secret, device: core.device, core.store.vault, core.store.random)
        keyring.compartments.append(info)
        keyring.nextCompartment += 1
        newKeys[number] = SecretBox(key)
        view = KeyringView(keyring)
        return number
    }

    private func groupKey(_ number: UInt32) throws(VaultError) -> SecretBox {
        if let new = newGroups[number] { return new }
        guard let group = keyring.groups.first(where: { $0.number == number }) else {
            throw VaultError(.structureInvalid, "an access group does not exist")
        }
        return try core.compartments.groupKey(group, core.context)
    }

    private func key(_ number: UInt32) throws(VaultError) -> SecretBox {
        if let new = newKeys[number] { return new }
        guard let compartment = view.compartment(number) else { throw VaultError(.structureInvalid, "a compartment does not exist") }
        return try core.compartments.key(compartment, core.context)
    }

    /// This device's number in the keyring; 0 where none was given.
    private func deviceNumber() throws(VaultError) -> Int {
        guard core.deviceID != .zero else { return 0 }
        if let index = keyring.devices.firstIndex(of: core.deviceID) { return index + 1 }
        guard keyring.devices.count < Format.Limit.devices else {
            throw VaultError(.limitExceeded, "a vault knows at most \(Format.Limit.devices) devices")
        }
        keyring.devices.append(core.deviceID)
        view = KeyringView(keyring)
        return keyring.devices.count
    }

    // MARK: ending

    /// Writes everything; nothing if nothing was changed.
    func commit() throws(VaultError) {
        try requireOpen()
        let store = core.store
        guard changes.count > 0 || keyring != store.keyring else { return end() }
        hasEnded = true
        let old = store.state.commit
        changes.sort()
        var writer = TreeWriter(source: store.pages, appender: appender, indexKey: store.slot.keys.index.copy())
        let root = try writer.apply(changes, to: old.root)
        let items = try Self.sum(old.items, items)
        if narrowing == .atOnce, !remnants.isEmpty {
            // In the file that is given up: it is read from there, and no commit ever names it.
            try appender.flush()
            return try Rebuild.compact(core, content: Rebuild.Content(root: root, items: items), keyring: keyring)
        }
        liveBytes += Int64(writer.bytesAdded) - Int64(writer.bytesRemoved)
        var ref = old.keyring
        if keyring != store.keyring {
            let body = try decoding { () throws(FormatError) in try keyring.encode() }
            ref = try appender.append(body, as: .keyring, .keyring, key: store.slot.keys.index)
            liveBytes += Int64(ref.length) - Int64(old.keyring.length)
        }
        let state = Store.NewState(
            root: root, keyring: ref, history: old.history, clock: core.lastTick, items: items,
            tombstones: try Self.sum(old.tombstones, tombstones), liveBytes: try Self.sum(old.liveBytes, liveBytes))
        try store.commit(appender, state, keyring: keyring)
        core.stateChanged()
    }

    /// Gives up what was not committed.
    func end() {
        hasEnded = true
        if appender.hasWritten { core.store.abandon() }
    }

    private func requireOpen() throws(VaultError) {
        guard !hasEnded else { throw VaultError(.invalidArgument, "a transaction ends with its closure") }
    }

    /// A count of the file and a change to it: the file could claim anything.
    private static func sum(_ count: UInt64, _ change: Int64) throws(VaultError) -> UInt64 {
        let (sum, overflow) = Int64(clamping: count).addingReportingOverflow(change)
        guard !overflow, sum >= 0 else { throw VaultError(.structureInvalid, "the vault's counts are wrong") }
        return UInt64(sum)
    }
}
