internal import VaultBytes
internal import VaultCrypto
internal import VaultStore

/// Writes a vault's live contents into a new file, for compaction, grants and revocations, and rotation (section 7.4).
///
/// The records come first, followed by the pasts, both in an order that reveals nothing, and then the
/// keyring's spare, the tree, the vectors of hand-overs, the keyring and the vector. All contents and dots of the vault
/// are preserved: equal vectors imply equal contents.
enum Rebuild {
    /// The changes to make while the file is rewritten.
    struct Plan: ~Copyable {
        var replacement: Store.Replacement
        var keyring: Keyring
        /// The compartments to which records in replaced compartments move, keyed by the number of the replaced
        /// compartment.
        var targets: [UInt64: RecordTarget] = [:]
        /// True if the vault key is replaced, and with it the locator key.
        var hasNewLocator = false
        /// The contents to write, if they differ from the newest state.
        var content: Content?
        /// The hand-overs of the result; if nil, those of the newest state.
        var handOvers: [ProvenHandOver]?
        /// The hand-over to make, if any.
        var handsOver: NewHandOver?

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

    /// The hand-over from an owners' key to another key after the state with a given vector (section 7.3).
    struct NewHandOver {
        let vector: Vector
        let next: Bytes32
        /// A store opened under the replaced key.
        let from: Store

        func make(stored: ObjectRef) throws(VaultError) -> HandOver {
            try from.slot.keys.asOwner(else: ownersOnly) { (owner) throws(VaultError) in
                HandOver.make(owner.signing(), vault: from.vault, vector: vector, stored: stored, next: next)
            }
        }
    }

    /// A tree that a transaction has appended but not committed, with the commit's counts, keyring and vector.
    struct Content {
        let root: Commit.Root?
        let items: UInt64
        let forgotten: UInt64
        let pasts: UInt64
        let keyring: Keyring
        let next: NextVector
        /// The generation of the other state that is merged; nil if none is merged.
        var generation: UInt64?

        init(
            root: Commit.Root?, items: UInt64, forgotten: UInt64, pasts: UInt64, keyring: Keyring, next: NextVector,
            generation: UInt64? = nil
        ) {
            self.root = root
            self.items = items
            self.forgotten = forgotten
            self.pasts = pasts
            self.keyring = keyring
            self.next = next
            self.generation = generation
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
        let next = if let content { content.next } else { try store.nextVector() }
        try run(
            Plan(replacement, keyring: content?.keyring ?? store.keyring, content: content), core, next,
            progress: progress)
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

    /// The keys that only owners have: the locator key and the past key.
    private static func keys(
        _ keys: borrowing VaultKeys
    ) throws(VaultError) -> (locator: SecretBox, past: SecretBox) {
        try keys.asOwner(else: ownersOnly) { (owner) throws(VaultError) in
            (SecretBox(owner.locator.copy()), SecretBox(owner.past.copy()))
        }
    }

    /// Executes a plan.
    ///
    /// - Parameters:
    ///   - plan: What to write.
    ///   - core: The vault, locked for writing.
    ///   - next: The vector of the new state. If there are no changes, it has no own row.
    ///   - progress: Called from time to time with the number of items done and the total.
    /// - Throws: An error in reading or writing the file, or an error in one of its items.
    static func run(
        _ plan: consuming Plan, _ core: VaultCore, _ next: NextVector, progress: ((UInt64, UInt64) -> Void)? = nil
    ) throws(VaultError) {
        let store = core.store
        let (keyring, targets, areLocatorsSame) = (plan.keyring, plan.targets, !plan.hasNewLocator)
        let (content, handsOver) = (plan.content, plan.handsOver)
        let commit = store.state.commit
        let source = content == nil ? store.pages : store.pagesOfChange
        let view = KeyringView(content?.keyring ?? store.keyring)
        let handOvers = if let known = plan.handOvers { known } else { try provenHandOvers(store) }
        let old = try keys(store.slot.keys)
        let reader = RebuildReader(
            source: source,
            check: EntryCheck(view, clock: next.vector.clock, floor: commit.floor, vector: next.vector),
            pastKey: old.past)
        // Each page is read only once more, so the cache is no longer useful.
        store.pages.dropCache()
        try store.rebuild(plan.replacement, next) { (appender, newKeys, made) throws(VaultError) in
            let new = try keys(newKeys)
            let writer = RebuildWriter(
                core, reader, (content.map(\.root) ?? commit.root, content?.items ?? commit.items), targets, view,
                locators: (old.locator, new.locator, areLocatorsSame), revision: next.vector.clock, progress)
            var keyring = keyring
            try writer.write(to: appender, newKeys, pastKey: new.past, &made) { () throws(VaultError) in
                // The pages separate the spare from the keyring.
                if store.writesSpares { try appender.append(spareOf: keyring, key: newKeys.index) }
            }
            made.liveBytes += try append(handOvers, handsOver, to: &keyring, store, appender, newKeys)
            made.keyring = try appender.append(keyring, key: newKeys.index)
            made.liveBytes += UInt64(made.keyring.length)
            if let merged = content?.generation { made.generation = max(made.generation, merged + 1) }
        }
        store.dropRelocation()
        core.stateChanged()
        core.compartments.forgetAll()
    }

    private static func provenHandOvers(_ store: Store) throws(VaultError) -> [ProvenHandOver] {
        var all = store.handOvers
        return try all.all()
    }

    /// Writes the vectors of hand-overs, and lists the hand-overs in the keyring. Returns the length of the frames.
    private static func append(
        _ known: [ProvenHandOver], _ new: NewHandOver?, to keyring: inout Keyring, _ store: Store, _ appender: Appender,
        _ keys: borrowing VaultKeys
    ) throws(VaultError) -> UInt64 {
        var bytes: UInt64 = 0
        var all: [(handOver: HandOver, vector: Vector)] = []
        // A hand-over's vector is written only if the keyring has room for the hand-over.
        let room = Format.Limit.handOvers - (new == nil ? 0 : 1)
        for one in Keyring.newest(known.map { ($0.handOver, $0.vector) }, room) {
            var handOver = one.handOver
            handOver.vector = try Store.append(one.vector, to: appender, key: keys.index)
            bytes += UInt64(handOver.vector.length)
            all.append((handOver, one.vector))
        }
        if let new {
            let ref = try Store.append(new.vector, to: appender, key: keys.index)
            bytes += UInt64(ref.length)
            all.append((try new.make(stored: ref), new.vector))
        }
        keyring.setHandOvers(all)
        return bytes
    }
}

extension Keyring {
    /// Lists hand-overs, in the order of the format. If there are more than 16, only those with the greatest clocks are
    /// kept.
    mutating func setHandOvers(_ all: [(handOver: HandOver, vector: Vector)]) {
        handOvers = Self.newest(all, Format.Limit.handOvers).map(\.handOver)
    }

    /// Returns the hand-overs with the greatest clocks, at most `count`, in the order of the format.
    static func newest(
        _ all: [(handOver: HandOver, vector: Vector)], _ count: Int
    ) -> [(handOver: HandOver, vector: Vector)] {
        let sorted = all.sorted { HandOver.precedes($0.handOver, $1.handOver) }
        let kept = sorted.enumerated().sorted { left, right in
            (left.element.vector.clock, left.offset) < (right.element.vector.clock, right.offset)
        }.suffix(count)
        return kept.sorted { $0.offset < $1.offset }.map(\.element)
    }
}

/// Writes the records, the pasts and the tree of a new file.
private struct RebuildWriter {
    private let core: VaultCore
    private let reader: RebuildReader
    private let content: (root: Commit.Root?, items: UInt64)
    private let targets: [UInt64: RecordTarget]
    private let view: KeyringView
    private let locators: (old: SecretBox, new: SecretBox, areSame: Bool)
    private let revision: UInt64
    private let progress: ((UInt64, UInt64) -> Void)?

    init(
        _ core: VaultCore, _ reader: RebuildReader, _ content: (root: Commit.Root?, items: UInt64),
        _ targets: [UInt64: RecordTarget], _ view: KeyringView,
        locators: (old: SecretBox, new: SecretBox, areSame: Bool), revision: UInt64,
        _ progress: ((UInt64, UInt64) -> Void)?
    ) {
        self.core = core
        self.reader = reader
        self.content = content
        self.targets = targets
        self.view = view
        self.locators = locators
        self.revision = revision
        self.progress = progress
    }

    /// Writes everything; `beforePages` appends the frames that precede the pages.
    func write(
        to appender: Appender, _ keys: borrowing VaultKeys, pastKey: SecretBox, _ made: inout Commit,
        beforePages: () throws(VaultError) -> Void
    ) throws(VaultError) {
        let store = core.store
        let oldTree = TreeReader(source: reader.source, root: content.root)
        let workers = Workers(store.threads)
        let layout = try RebuildLayout(
            oldTree, reader, items: content.items, resealed: Set(targets.keys), start: appender.start, store.random,
            on: workers)
        let room = try appender.leaveRoom(for: layout.recordBytes + layout.pastBytes)
        try beforePages()
        var mover = RecordMover(
            core, from: reader.source, view, targets, revision: revision, locators: locators, to: room, on: workers)
        let pasts = NewPasts(room, layout, store.sealing, key: pastKey)
        var tree = RebuiltTree(TreeBuilder(appender: appender, indexKey: keys.index.copy()), pasts, targets)
        let reader = reader
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
        made.root = try tree.finish()
        made.liveBytes = layout.recordBytes + layout.pastBytes + tree.bytes
        (made.items, made.forgotten, made.pasts) = (tree.items, tree.forgotten, tree.pasts)
    }
}

/// Seals pasts at the places that the layout reserves for them.
private struct NewPasts {
    private let room: RecordRoom
    private let layout: RebuildLayout
    private let sealing: Sealing
    private let key: SecretBox

    init(_ room: RecordRoom, _ layout: RebuildLayout, _ sealing: Sealing, key: SecretBox) {
        self.room = room
        self.layout = layout
        self.sealing = sealing
        self.key = key
    }

    /// Writes the past with this number, for an item whose records have moved.
    func write(
        _ past: Past, _ number: Int, _ item: LiveItem, _ moved: ArraySlice<RecordRef>
    ) throws(VaultError) -> ObjectRef {
        let places = Dictionary(zip(item.places, moved)) { first, _ in first }
        let body = try decoding { () throws(FormatError) in try past.moved(places).encode() }
        let (offset, length) = try layout.past(number)
        guard length == body.count + Format.sealOverhead else { throw RebuildLayout.changed }
        var frame = [UInt8](repeating: 0, count: length)
        frame.withUnsafeMutableBytes { frame in
            body.withUnsafeBytes {
                sealing.seal(
                    $0, as: .past, at: offset, head: FrameHead(.past, length: length).encoded, key: key.secret,
                    into: frame)
            }
        }
        return try room.place(frame, at: offset)
    }
}

/// The new tree, built from the entries of the old one.
private struct RebuiltTree: ~Copyable {
    private var builder: TreeBuilder
    private let written: NewPasts
    private let targets: [UInt64: RecordTarget]
    private(set) var items: UInt64 = 0
    private(set) var forgotten: UInt64 = 0
    private(set) var pasts: UInt64 = 0

    init(_ builder: consuming TreeBuilder, _ written: NewPasts, _ targets: [UInt64: RecordTarget]) {
        self.builder = builder
        self.written = written
        self.targets = targets
    }

    var bytes: UInt64 { builder.bytes }

    /// Appends entries with the new places of the items' records.
    mutating func append(_ batch: (entries: [LeafEntry], moved: [RecordRef])) throws(VaultError) {
        var next = 0
        // Iterate by index: an iterator would copy each entry.
        let entries = batch.entries
        for index in entries.indices {
            let (page, place) = (entries[index].page, entries[index].index)
            guard let item = entries[index].item else {
                try builder.append(page.key(place), page.value(place))
                forgotten += 1
                continue
            }
            guard batch.moved.count - next >= item.recordCount else { throw RebuildLayout.changed }
            let moved = batch.moved[next..<next + item.recordCount]
            next += item.recordCount
            var ref: ObjectRef?
            if let past = item.past {
                ref = try written.write(past, Int(pasts), item, moved)
                pasts += 1
            }
            items += 1
            try builder.append(page.key(place), try entries[index].value(item, moved, ref, targets))
        }
    }

    mutating func finish() throws(VaultError) -> Commit.Root? { try builder.finish() }
}

/// The compartment to which the records of a replaced compartment move, and its key.
struct RecordTarget: Sendable {
    let number: UInt64
    let key: SecretBox
}
