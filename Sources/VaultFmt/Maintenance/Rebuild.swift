internal import VaultBytes

/// Writing a vault's live contents into a new file: compaction, rotation, and what removing a scoped slot takes.
///
/// Records go first, in the order of their random ids, so that their order tells nothing; then the keyring, the history, and the tree.
enum Rebuild {
    /// What changes on the way.
    struct Plan: ~Copyable {
        var header: Header
        var keys: VaultKeys
        var slotID: Bytes16
        var wrappingKey: Secret
        var keyring: Keyring
        /// New keys of the compartments that are resealed, by number.
        var newKeys: [UInt32: SecretBox] = [:]
        /// Whether index and locator keys are others than before.
        var hasNewIndex: Bool
        /// What is rewritten, where it is not the newest state.
        var content: Content?
    }

    /// The tree that a transaction has appended and not committed, and how many items it has.
    struct Content {
        let root: Commit.Root?
        let items: UInt64
    }

    /// Rewrites the file without what is dead; keys stay as they are. With the content and keyring of a transaction, its changes and the compaction become
    /// durable together.
    static func compact(_ core: VaultCore, content: Content? = nil, keyring: Keyring? = nil) throws(VaultError) {
        let store = core.store
        let plan = Plan(
            header: store.header, keys: try ownKeys(store), slotID: store.slot.id, wrappingKey: store.slot.wrappingKey.copy(),
            keyring: keyring ?? store.keyring, hasNewIndex: false, content: content)
        try run(plan, core)
    }

    static func ownKeys(_ store: Store) throws(VaultError) -> VaultKeys {
        guard let vaultKey = store.slot.keys.vaultKey() else { throw VaultError(.notPermitted, "only an owner can do this") }
        return VaultKeys(vaultKey: vaultKey, epoch: store.header.epoch.bytes)
    }

    static func wrappedGroup(_ number: UInt32, _ name: String, _ key: borrowing Secret, _ store: Store) throws(VaultError) -> Keyring.Group
    {
        switch store.slot.keys.owner {
        case .some(let owner): return Wrapping.wrap(group: number, name, key, owner, store.vault, store.random)
        case .none: throw VaultError(.notPermitted, "only an owner can do this")
        }
    }

    /// Carries a plan out. Returns the keys of items whose records were copied although their compartment was to be resealed.
    static func run(_ plan: consuming Plan, _ core: VaultCore, progress: ((UInt64, UInt64) -> Void)? = nil) throws(VaultError) {
        let store = core.store
        let history = try store.past.historyForCompaction(after: store.state)
        let newKeys = plan.newKeys
        let keyring = plan.keyring
        let hasNewIndex = plan.hasNewIndex
        let commit = store.state.commit
        let old = plan.content ?? Content(root: commit.root, items: commit.items)
        let oldTree = TreeReader(source: store.pages, root: old.root)
        // Its pages are read once more, in passing.
        store.pages.dropCache()
        let replacement = Store.Replacement(
            header: plan.header, keys: plan.keys, wrappingKey: plan.wrappingKey, slotID: plan.slotID)
        try store.rebuild(replacement) { (appender, keys) throws(VaultError) in
            let order = try RecordOrder(oldTree, items: old.items, start: appender.start)
            let room = try appender.leaveRoom(for: order.bytes)
            var mover = RecordMover(core, newKeys: newKeys, newLocator: hasNewIndex ? SecretBox(keys.locator.copy()) : nil, to: room)
            var tree = RebuiltTree(TreeBuilder(appender: appender, indexKey: keys.index.copy()), keyring, old.items)
            let oldest = oldestTombstone(core)
            var leaves = LeafBatches(oldTree, isCaching: false) { (leaf, _, entries: inout [LeafEntry]) throws(VaultError) in
                try LeafEntry.read(leaf, oldTree.source, into: &entries)
                return false
            }
            var first = 0
            var batch: (entries: [LeafEntry], moved: [ItemEntry]) = ([], [])
            while let entries = try leaves.nextOutputs() {
                let moved = try mover.move(entries, order, from: first) { () throws(VaultError) in try tree.append(batch, from: oldest) }
                first += moved.count
                batch = (entries, moved)
                progress?(UInt64(first), old.items)
            }
            try tree.append(batch, from: oldest)
            let root = try tree.finish()
            let body = try decoding { () throws(FormatError) in try keyring.encode() }
            let keyringRef = try appender.append(body, as: .keyring, .keyring, key: keys.index)
            let historyRef = try appender.append(history.encode(), as: .history, .history, key: keys.index)
            let live = order.bytes + tree.bytes + UInt64(keyringRef.length + historyRef.length)
            return Store.NewState(
                root: root, keyring: keyringRef, history: historyRef, clock: core.lastTick, items: tree.items, tombstones: tree.tombstones,
                liveBytes: live)
        }
        core.stateChanged()
        core.compartments.forgetAll()
    }

    private static func oldestTombstone(_ core: VaultCore) -> UInt64 {
        let now = UInt64(clamping: core.store.fileSystem.now())
        return (now > Format.tombstoneLifetime ? now - Format.tombstoneLifetime : 0) << 16
    }
}

/// The new tree, as it grows by the entries of the old one.
private struct RebuiltTree: ~Copyable {
    private var builder: TreeBuilder
    private let keyring: Keyring
    private let expected: UInt64
    private(set) var items: UInt64 = 0
    private(set) var tombstones: UInt64 = 0

    init(_ builder: consuming TreeBuilder, _ keyring: Keyring, _ expected: UInt64) {
        self.builder = builder
        self.keyring = keyring
        self.expected = expected
    }

    var bytes: UInt64 { builder.bytes }

    /// Appends entries whose items have moved; tombstones whose revision is before `oldest` are left out.
    mutating func append(_ batch: (entries: [LeafEntry], moved: [ItemEntry]), from oldest: UInt64) throws(VaultError) {
        var moved = batch.moved.makeIterator()
        for entry in batch.entries {
            if let item = entry.item {
                guard let new = moved.next() else { throw RecordOrder.changed }
                items += 1
                try builder.append(entry.page.key(entry.index), entry.value(with: new, insteadOf: item))
            } else {
                guard try TombstoneCodec.decode(entry.page, entry.index, keyring).revision >= oldest else { continue }
                try builder.append(entry.page.key(entry.index), entry.page.value(entry.index))
                tombstones += 1
            }
        }
    }

    mutating func finish() throws(VaultError) -> Commit.Root? { try builder.finish() }
}
