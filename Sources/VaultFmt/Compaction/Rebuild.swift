internal import VaultBytes

/// Writes a vault's live contents into a new file, for compaction, grants and revocations, and rotation (section 7.4).
///
/// The records come first, followed by the earlier values, both in an order that reveals nothing, and then the
/// tree, the keyring and the history.
enum Rebuild {
    /// The changes to make while the file is rewritten.
    struct Plan: ~Copyable {
        var replacement: Store.Replacement
        var keyring: Keyring
        /// The compartments to which records in replaced compartments move, by the number of the replaced compartment.
        var targets: [UInt64: RecordTarget] = [:]
        /// Whether the vault key is replaced, and with it the locator key.
        var hasNewLocator = false
        /// The contents to write, if they differ from the newest state.
        var content: Content?

        init(
            _ replacement: consuming Store.Replacement, keyring: Keyring, targets: [UInt64: RecordTarget] = [:],
            hasNewLocator: Bool = false, content: Content? = nil
        ) {
            self.replacement = replacement
            self.keyring = keyring
            self.targets = targets
            self.hasNewLocator = hasNewLocator
            self.content = content
        }
    }

    /// A tree that a transaction has appended but not committed, with its number of items, the keyring that it refers
    /// to, and the other fields of its commit.
    struct Content {
        let root: Commit.Root?
        let items: UInt64
        let keyring: Keyring
        var merging: MergedBranch?

        init(root: Commit.Root?, items: UInt64, keyring: Keyring, merging: MergedBranch? = nil) {
            self.root = root
            self.items = items
            self.keyring = keyring
            self.merging = merging
        }
    }

    /// Rewrites the file without dead objects; keys do not change. If a transaction's content is given, its changes and
    /// the compaction become durable together.
    static func compact(
        _ core: VaultCore, content: Content? = nil, progress: ((UInt64, UInt64) -> Void)? = nil
    ) throws(VaultError) {
        let store = core.store
        let replacement = Store.Replacement(
            header: store.header, keys: try ownKeys(store), wrappingKey: store.slot.wrappingKey.copy(),
            slotID: store.slot.id)
        try run(
            Plan(replacement, keyring: content?.keyring ?? store.keyring, content: content), core, progress: progress)
    }

    static func ownKeys(_ store: Store) throws(VaultError) -> VaultKeys {
        guard let vaultKey = store.slot.keys.vaultKey() else { throw ownersOnly }
        return VaultKeys(vaultKey: vaultKey, epoch: store.header.epoch)
    }

    /// Returns a group whose key is wrapped for a store's owners.
    static func wrappedGroup(_ number: UInt64, _ name: String, _ key: borrowing Secret, _ store: Store)
        throws(VaultError) -> Keyring.Group
    {
        try store.slot.keys.asOwner(else: ownersOnly) { (owner) throws(VaultError) in
            Wrapping.wrap(group: number, name, key, owner, store.vault, store.random)
        }
    }

    private static let ownersOnly = VaultError(.notPermitted, "only an owner can do this")

    private static func locatorKey(_ keys: borrowing VaultKeys) throws(VaultError) -> SecretBox {
        try keys.asOwner(else: ownersOnly) { (owner) throws(VaultError) in SecretBox(owner.locator.copy()) }
    }

    /// Carries out a plan.
    static func run(_ plan: consuming Plan, _ core: VaultCore, progress: ((UInt64, UInt64) -> Void)? = nil)
        throws(VaultError)
    {
        let store = core.store
        let (keyring, targets, areLocatorsSame) = (plan.keyring, plan.targets, !plan.hasNewLocator)
        let commit = store.state.commit
        let content = plan.content ?? Content(root: commit.root, items: commit.items, keyring: store.keyring)
        let clock = plan.content == nil ? commit.clock : core.lastTick
        let history = try History.after(store, merging: content.merging)
        let source = plan.content == nil ? store.pages : store.pagesOfChange
        let view = KeyringView(content.keyring)
        let reader = RebuildReader(source: source, check: EntryCheck(view, clock: clock), kept: keyring.keeping.count)
        // Its pages are read once more, without caching.
        store.pages.dropCache()
        let oldLocator = try locatorKey(store.slot.keys)
        try store.rebuild(plan.replacement) { (appender, keys, next) throws(VaultError) in
            let oldTree = TreeReader(source: source, root: content.root)
            let workers = Workers(store.threads)
            let layout = try RebuildLayout(
                oldTree, reader, items: content.items, resealed: Set(targets.keys), start: appender.start, store.random,
                on: workers)
            let room = try appender.leaveRoom(for: layout.recordBytes + layout.versionBytes)
            var mover = RecordMover(
                core, from: source, view, targets, locators: (oldLocator, try locatorKey(keys), areLocatorsSame),
                to: room, on: workers)
            let new = NewVersions(room, layout, store.sealing, indexKey: SecretBox(keys.index.copy()))
            var tree = RebuiltTree(
                TreeBuilder(appender: appender, indexKey: keys.index.copy()), new, reader.check,
                oldest: oldestTombstone(core),
                horizon: max(commit.tombstoneHorizon, content.merging?.tombstoneHorizon ?? 0))
            var leaves = LeafBatches(oldTree, on: workers, isCaching: false) {
                (leaf, _, entries: inout [LeafEntry]) throws(VaultError) in
                try reader.read(leaf, into: &entries)
                return false
            }
            var records = 0
            var batch: (entries: [LeafEntry], moved: [RecordRef]) = ([], [])
            while let entries = try leaves.nextOutputs() {
                let moved = try mover.move(entries, layout, from: records) { () throws(VaultError) in
                    try tree.append(batch)
                }
                records += moved.count
                batch = (entries, moved)
                progress?(tree.items, content.items)
            }
            try tree.append(batch)
            progress?(tree.items, content.items)
            next.root = try tree.finish()
            let body = try decoding { () throws(FormatError) in try keyring.encode() }
            let ring = try appender.append(body, as: .keyring, .keyring, key: keys.index)
            let past = try appender.append(history.encode(), as: .history, .history, key: keys.index)
            (next.keyring, next.history) = (ring, past)
            next.liveBytes = layout.recordBytes + layout.versionBytes + tree.bytes + UInt64(ring.length + past.length)
            next.clock = max(core.lastTick, content.merging?.clock ?? 0)
            next.tombstoneHorizon = tree.horizon
            (next.items, next.tombstones, next.versions) = (tree.items, tree.tombstones, tree.versions)
            if let merging = content.merging { next.generation = merging.generation(after: commit.generation) }
        }
        store.dropRelocation()
        core.stateChanged()
        core.compartments.forgetAll()
    }

    /// Returns the oldest revision whose tombstones are kept; older tombstones are dropped (section 6.5).
    private static func oldestTombstone(_ core: VaultCore) -> UInt64 {
        let now = UInt64(clamping: core.store.fileSystem.now())
        return (now > Format.tombstoneLifetime ? now - Format.tombstoneLifetime : 0) << 16
    }
}

/// Seals earlier values at the places that the layout reserves for them.
private struct NewVersions {
    private let room: RecordRoom
    private let layout: RebuildLayout
    private let sealing: Sealing
    private let indexKey: SecretBox

    init(_ room: RecordRoom, _ layout: RebuildLayout, _ sealing: Sealing, indexKey: SecretBox) {
        self.room = room
        self.layout = layout
        self.sealing = sealing
        self.indexKey = indexKey
    }

    /// Writes the frame with this number, for an item whose records have moved.
    func write(_ versions: Versions, _ number: Int, _ item: LiveItem, _ moved: ArraySlice<RecordRef>)
        throws(VaultError) -> ObjectRef
    {
        let places = Dictionary(zip(item.places, moved)) { first, _ in first }
        let body = try decoding { () throws(FormatError) in try versions.moved(places).encode() }
        let (offset, length) = try layout.versions(number)
        guard length == body.count + Format.sealOverhead else { throw RebuildLayout.changed }
        var frame = [UInt8](repeating: 0, count: length)
        frame.withUnsafeMutableBytes { frame in
            body.withUnsafeBytes {
                sealing.seal(
                    $0, as: .versions, at: offset, head: FrameHead(.versions, length: length).encoded,
                    key: indexKey.secret, into: frame)
            }
        }
        return try room.place(frame, at: offset)
    }
}

/// The new tree, built from the entries of the old one.
private struct RebuiltTree: ~Copyable {
    private var builder: TreeBuilder
    private let earlier: NewVersions
    private let check: EntryCheck
    private let oldest: UInt64
    private(set) var horizon: UInt64
    private(set) var items: UInt64 = 0
    private(set) var tombstones: UInt64 = 0
    /// The number of earlier values.
    private(set) var versions: UInt64 = 0
    private var frames = 0

    /// Tombstones whose revision is before `oldest` are dropped, and raise the horizon.
    init(_ builder: consuming TreeBuilder, _ earlier: NewVersions, _ check: EntryCheck, oldest: UInt64, horizon: UInt64)
    {
        self.builder = builder
        self.earlier = earlier
        self.check = check
        self.oldest = oldest
        self.horizon = horizon
    }

    var bytes: UInt64 { builder.bytes }

    /// Appends the entries of items, with the new places of their records.
    mutating func append(_ batch: (entries: [LeafEntry], moved: [RecordRef])) throws(VaultError) {
        var next = 0
        // Iterates by index because an iterator would copy each entry.
        let entries = batch.entries
        for index in entries.indices {
            guard let item = entries[index].item else {
                try appendTombstone(entries[index])
                continue
            }
            guard batch.moved.count - next >= item.recordCount else { throw RebuildLayout.changed }
            let moved = batch.moved[next..<next + item.recordCount]
            next += item.recordCount
            var named: ItemEntry.Versions?
            if let values = item.versions {
                named = ItemEntry.Versions(
                    count: values.versions.count, frame: try earlier.write(values, frames, item, moved))
                frames += 1
                versions += UInt64(values.versions.count)
            }
            let key = entries[index].page.key(entries[index].index)
            items += 1
            try builder.append(key, try entries[index].value(item, moved, named))
        }
    }

    private mutating func appendTombstone(_ entry: LeafEntry) throws(VaultError) {
        let revision = try TombstoneCodec.decode(entry.page, entry.index, check).entry.revision
        guard revision >= oldest else {
            horizon = max(horizon, revision + 1)
            return
        }
        try builder.append(entry.page.key(entry.index), entry.page.value(entry.index))
        tombstones += 1
    }

    mutating func finish() throws(VaultError) -> Commit.Root? { try builder.finish() }
}

/// The compartment to which the records of a replaced compartment move, and its key.
struct RecordTarget: Sendable {
    let number: UInt64
    let key: SecretBox
}
