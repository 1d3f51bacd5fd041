internal import VaultBytes
internal import VaultStore

/// The differences between two states of a vault: names and fields, but never secrets.
public struct VaultChanges: Sendable, Equatable {
    /// One item that was added, removed or changed.
    public struct ItemChange: Sendable, Equatable {
        /// The item.
        public let item: ItemID
        /// The item's key before the change; nil if the item was added.
        public let before: ItemKey?
        /// The item's key after the change; nil if the item was removed.
        public let after: ItemKey?
        /// The fields that were changed; empty if the item was added or removed.
        ///
        /// A secret that cannot be read by this slot or on this device counts as changed if a change of the item wrote
        /// a new record.
        public let fields: [ConflictField]
        /// Whether the item's earlier values differ.
        public let hasOtherEarlierValues: Bool
        /// The device that made the later revision or removed the item, if known.
        public let device: DeviceID?
    }

    /// The changed items, sorted by their later keys; removed items come first.
    public internal(set) var items: [ItemChange] = []
    /// Access groups that exist only in the later state, sorted.
    public internal(set) var addedGroups: [String] = []
    /// The new number of earlier values that an item keeps; nil if it was not changed.
    public internal(set) var keptVersions: Int?
    /// Slots that were removed between the two states.
    public internal(set) var removedSlots: [SlotID] = []

    /// Whether there are no differences.
    public var isEmpty: Bool { self == VaultChanges() }

    init() {}
}

extension Vault {
    /// Returns the changes from an earlier state of this file to the current one. Pages that both states share are not
    /// read.
    ///
    /// Throws `invalidArgument` for a state that is not in the file: a compaction leaves only the newest one.
    public func changes(since anchor: Anchor) throws(VaultError) -> VaultChanges {
        guard anchor.vault == id else {
            throw VaultError(.invalidArgument, "the anchor belongs to another vault (\(anchor.vault))")
        }
        return try withCore { (core) throws(VaultError) in
            let state = core.store.state
            let wanted = Ancestor(generation: anchor.generation, clock: 0, chain: anchor.value)
            if wanted.generation == state.commit.generation, wanted.chain == state.chain { return VaultChanges() }
            guard let earlier = try core.store.past.state(wanted, before: state) else {
                throw VaultError(
                    .invalidArgument, "the file no longer contains the state of generation \(anchor.generation)")
            }
            return try Comparing(core).changes(
                from: (earlier.commit, core.keyring(of: earlier.commit)), to: (state.commit, core.store.keyring))
        }
    }

    /// Returns the changes that would turn another copy of this vault into this one.
    ///
    /// Throws `invalidArgument` if it is not a copy of this vault.
    public func changes(from other: Vault) throws(VaultError) -> VaultChanges {
        guard id == other.id else {
            throw VaultError(.invalidArgument, "a different vault (\(other.id)) cannot be compared with this one")
        }
        guard other !== self else { return VaultChanges() }
        return try Self.holding([self, other]) { () throws(VaultError) in
            try Comparing(core, from: other.core).changes(
                from: (other.core.store.state.commit, other.core.store.keyring),
                to: (core.store.state.commit, core.store.keyring))
        }
    }
}

/// Compares two states, from one file or from two.
struct Comparing {
    private let before: VaultCore
    private let after: VaultCore
    private let comparison: ValueComparison

    init(_ core: VaultCore, from other: VaultCore? = nil) {
        after = core
        before = other ?? core
        comparison = ValueComparison(device: core.deviceID)
    }

    func changes(
        from old: (commit: Commit, keyring: Keyring), to new: (commit: Commit, keyring: Keyring)
    ) throws(VaultError) -> VaultChanges {
        var out = VaultChanges()
        out.items = try items(Branch(before, root: old.commit.root), Branch(after, root: new.commit.root))
        let groups = Set(old.keyring.groups.map { Array($0.name.utf8) })
        out.addedGroups = new.keyring.groups.filter { !groups.contains(Array($0.name.utf8)) }.map(\.name)
            .sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        if old.keyring.keeping.count != new.keyring.keeping.count { out.keptVersions = new.keyring.keeping.count }
        let removed = Set(old.keyring.removedSlots.map(\.id))
        out.removedSlots = new.keyring.removedSlots.filter { !removed.contains($0.id) }.map { SlotID($0.id) }
        return out
    }

    private func items(_ old: Branch, _ new: Branch) throws(VaultError) -> [VaultChanges.ItemChange] {
        var earlier: [Bytes16: HeldItem] = [:]
        var later: [Bytes16: HeldItem] = [:]
        var removals: [Bytes16: Tombstone] = [:]
        var difference = TreeDifference(old.tree, new.tree)
        while let pair = try difference.next() {
            let left = try pair.left.map { (entry) throws(VaultError) in try old.read(entry.page, entry.index) }
            let right = try pair.right.map { (entry) throws(VaultError) in try new.read(entry.page, entry.index) }
            if case .item(let one)? = left, case .item(let other)? = right, one.id == other.id, one.key == other.key {
                // After a compaction, most items are unchanged and need not be stored.
                if try change(one, other).isNothing { continue }
            }
            if case .item(let item)? = left { earlier[item.id] = item }
            if case .item(let item)? = right { later[item.id] = item }
            if case .tombstone(let id, let tombstone)? = right { removals[id] = tombstone }
        }
        var out: [VaultChanges.ItemChange] = []
        for (id, item) in earlier where later[id] == nil {
            out.append(
                VaultChanges.ItemChange(
                    item: ItemID(id), before: item.key, after: nil, fields: [], hasOtherEarlierValues: false,
                    device: Self.device(removals[id]?.removal)))
        }
        out.sort { ($0.before?.bytes ?? []).lexicographicallyPrecedes($1.before?.bytes ?? []) }
        for (id, item) in later.sorted(by: { $0.value.key < $1.value.key }) {
            let change = try earlier[id].map { (before) throws(VaultError) in try self.change(before, item) }
            if let change, change.isNothing { continue }
            out.append(
                VaultChanges.ItemChange(
                    item: ItemID(id), before: earlier[id]?.key, after: item.key, fields: change?.fields ?? [],
                    hasOtherEarlierValues: change?.hasOtherEarlierValues ?? false, device: Self.device(item.stamp)))
        }
        return out
    }

    private static func device(_ stamp: Stamp?) -> DeviceID? {
        guard let stamp, stamp.device != .zero else { return nil }
        return DeviceID(stamp.device)
    }

    // MARK: one item

    private struct Change {
        var fields: [ConflictField] = []
        var hasOtherEarlierValues = false

        var isNothing: Bool { fields.isEmpty && !hasOtherEarlierValues }
    }

    private func change(_ old: HeldItem, _ new: HeldItem) throws(VaultError) -> Change {
        var change = Change()
        if old.key != new.key {
            let (was, now) = (KeyParts(old.key), KeyParts(new.key))
            if was.isLike(now) {
                for (index, name) in now.names.enumerated() where was[index] != now[index] {
                    change.fields.append(.keyField(name))
                }
            } else {
                change.fields.append(.keyField("key"))
            }
        }
        if old.item.accessibility != new.item.accessibility || old.item.device != new.item.device {
            change.fields.append(.accessibility)
        }
        change.fields += try valueFields(old, new)
        change.hasOtherEarlierValues = old.item.earlierValues != new.item.earlierValues
        return change
    }

    /// Returns the fields that differ among the secret and attributes. Records are opened only if they differ.
    private func valueFields(_ old: HeldItem, _ new: HeldItem) throws(VaultError) -> [ConflictField] {
        if old.value.hasSameRecords(as: new.value) { return [] }
        let (was, now) = (try readable(old), try readable(new))
        var fields: [ConflictField] = []
        if let was, let now {
            if !was.secret.secret.equals(now.secret.secret) { fields.append(.secret) }
        } else if old.value.place.record.hash != new.value.place.record.hash, old.stamp != new.stamp {
            fields.append(.secret)
        }
        let (left, right) = (was?.attributes ?? old.value.attributes, now?.attributes ?? new.value.attributes)
        for attribute in left.all where right.attribute(attribute.name) == nil {
            fields.append(.attribute(attribute.name))
        }
        for attribute in right.all {
            guard let before = left.attribute(attribute.name) else {
                fields.append(.attribute(attribute.name))
                continue
            }
            if try !isSame(before, old, attribute, new) { fields.append(.attribute(attribute.name)) }
        }
        return fields
    }

    private func isSame(
        _ one: Attribute, _ old: HeldItem, _ another: Attribute, _ new: HeldItem
    ) throws(VaultError) -> Bool {
        do throws(VaultError) { return try comparison.isSame(one, old.value, another, new.value) } catch {
            guard Self.unreadable.contains(error.code) else { throw error }
            return one.flags == another.flags && old.stamp == new.stamp
        }
    }

    /// Returns an item's contents; nil if the slot, the device or damage prevents reading them.
    private func readable(_ held: HeldItem) throws(VaultError) -> HeldContent? {
        do throws(VaultError) { return try held.value.content(for: comparison.device) } catch {
            guard Self.unreadable.contains(error.code) else { throw error }
            return nil
        }
    }

    private static let unreadable: Set<VaultError.Code> = [
        .deviceBound, .notPermitted, .locked, .authenticationFailed, .structureInvalid, .unsupportedForm,
    ]
}

extension VaultCore {
    /// Returns the keyring of an earlier state of the file.
    func keyring(of commit: Commit) throws(VaultError) -> Keyring {
        let frame = try FrameReader.read(commit.keyring, .keyring, store.file)
        let body = try store.pages.open(frame, .keyring, at: commit.keyring.offset)
        return try decoding { () throws(FormatError) in try Keyring(body.span, at: commit.keyring.offset) }
    }
}
