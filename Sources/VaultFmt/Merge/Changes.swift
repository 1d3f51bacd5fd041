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
        /// A value that this slot or device cannot read counts as changed if a change wrote it.
        public let fields: [ConflictField]
        /// True if the item's earlier values differ.
        public let hasOtherEarlierValues: Bool
        /// True if the values that are left to settle differ.
        public let hasOtherConflicts: Bool
        /// True if the change has settled the item: values were left to settle before, none are now, and each of the
        /// item's earlier values was already an earlier value or left to settle before.
        ///
        /// False if the values to settle cannot be read, because a scoped slot opened the vault or the vault is locked.
        public let isSettled: Bool
        /// True if the item's accessibility or device differs; the group is part of its keys.
        package let hasOtherAccessibility: Bool
    }

    /// The changed items, sorted by their later keys; removed items come first.
    public internal(set) var items: [ItemChange] = []
    /// Access groups that exist only in the later state, sorted.
    public internal(set) var addedGroups: [String] = []
    /// The new number of earlier values that each field of an item keeps; nil if it was not changed.
    public internal(set) var keptVersions: Int?
    /// Slots that were added between the two states.
    public internal(set) var addedSlots: [SlotID] = []
    /// Slots whose names, factors or grants were changed.
    public internal(set) var changedSlots: [SlotID] = []
    /// Slots that were removed.
    public internal(set) var removedSlots: [SlotID] = []

    /// True if there are no differences.
    public var isEmpty: Bool { self == VaultChanges() }

    init() {}
}

extension Vault {
    /// Returns the changes from an earlier state of this file to the current one. Pages that both states share are not
    /// read.
    ///
    /// Throws `invalidArgument` for a state that is not in the file: a compaction leaves only the newest one.
    public func changes(since state: StateID) throws(VaultError) -> VaultChanges {
        guard state.vault == id else {
            throw VaultError(.invalidArgument, "the state belongs to another vault (\(state.vault))")
        }
        return try withCore { (core) throws(VaultError) in
            let now = core.store.state
            if state.generation == now.commit.generation, state.chainValue == now.chain { return VaultChanges() }
            guard
                let earlier = try core.store.past.state(
                    generation: state.generation, chain: state.chainValue, before: now)
            else {
                throw VaultError(
                    .invalidArgument, "the file no longer contains the state of generation \(state.generation)")
            }
            return try Comparing(try StateReader(core, earlier.commit), StateReader(core)).changes()
        }
    }

    /// Returns the changes that would turn another copy of this vault into this one.
    ///
    /// Throws `invalidArgument` if the other vault is not a copy of this one.
    public func changes(from other: Vault) throws(VaultError) -> VaultChanges {
        guard id == other.id else {
            throw VaultError(.invalidArgument, "a different vault (\(other.id)) cannot be compared with this one")
        }
        guard other !== self else { return VaultChanges() }
        return try Self.holding([self, other]) { () throws(VaultError) in
            try Comparing(StateReader(other.core), StateReader(core)).changes()
        }
    }
}

/// Compares two states, from one file or from two.
struct Comparing {
    private let before: StateReader
    private let after: StateReader

    init(_ before: StateReader, _ after: StateReader) {
        self.before = before
        self.after = after
    }

    func changes() throws(VaultError) -> VaultChanges {
        var out = VaultChanges()
        out.items = try items()
        let groups = Set(before.keyring.groups.map { GroupName($0.name) })
        out.addedGroups = after.keyring.groups.map { GroupName($0.name) }.filter { !groups.contains($0) }.sorted()
            .map(\.text)
        if before.keyring.keeping.count != after.keyring.keeping.count {
            out.keptVersions = after.keyring.keeping.count
        }
        compareSlots(&out)
        return out
    }

    private func compareSlots(_ out: inout VaultChanges) {
        let old = Dictionary(before.keyring.slots.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
        for slot in after.keyring.slots {
            guard let known = old[slot.id], known.made.revision == slot.made.revision else {
                out.addedSlots.append(SlotID(slot.id))
                continue
            }
            let isSame =
                known.changed.revision == slot.changed.revision
                && known.grants.map(\.dot.revision).sorted() == slot.grants.map(\.dot.revision).sorted()
            if !isSame { out.changedSlots.append(SlotID(slot.id)) }
        }
        let ids = Set(after.keyring.slots.map(\.id))
        out.removedSlots = before.keyring.slots.map(\.id).filter { !ids.contains($0) }.map { SlotID($0) }
    }

    // MARK: items

    private func items() throws(VaultError) -> [VaultChanges.ItemChange] {
        var earlier: [Bytes16: Item] = [:]
        var later: [Bytes16: Item] = [:]
        var difference = TreeDifference(before.tree, after.tree)
        while let pair = try difference.next() {
            let left = try pair.left.map { (entry) throws(VaultError) in try before.read(entry.page, entry.index) }
            let right = try pair.right.map { (entry) throws(VaultError) in try after.read(entry.page, entry.index) }
            if case .item(let one)? = left, case .item(let other)? = right, one.id == other.id {
                // After a compaction, most items are unchanged and need not be stored.
                if one.key == other.key, try change(one, other).isNothing { continue }
            }
            if case .item(let item)? = left { earlier[item.entry.id] = item }
            if case .item(let item)? = right { later[item.entry.id] = item }
        }
        var out: [VaultChanges.ItemChange] = []
        for (id, item) in earlier where later[id] == nil {
            out.append(
                VaultChanges.ItemChange(
                    item: ItemID(id), before: item.key, after: nil, fields: [], hasOtherEarlierValues: false,
                    hasOtherConflicts: false, isSettled: false, hasOtherAccessibility: false))
        }
        out.sort { ($0.before?.bytes ?? []).lexicographicallyPrecedes($1.before?.bytes ?? []) }
        for (id, item) in later.sorted(by: { $0.value.key < $1.value.key }) {
            let change = try earlier[id].map { (old) throws(VaultError) in try self.change(old, item) }
            if let change, change.isNothing, earlier[id]?.key == item.key { continue }
            out.append(
                VaultChanges.ItemChange(
                    item: ItemID(id), before: earlier[id]?.key, after: item.key, fields: change?.fields ?? [],
                    hasOtherEarlierValues: change?.hasOtherEarlierValues ?? false,
                    hasOtherConflicts: change?.hasOtherConflicts ?? false, isSettled: change?.isSettled ?? false,
                    hasOtherAccessibility: change?.hasOtherAccessibility ?? false))
        }
        return out
    }

    // MARK: one item

    private struct Change {
        var fields: [ConflictField] = []
        var hasOtherEarlierValues = false
        var hasOtherConflicts = false
        var isSettled = false
        /// True if the accessibility or the device differs, which counts as a change of the field `place`.
        var hasOtherAccessibility = false

        var isNothing: Bool { fields.isEmpty && !hasOtherEarlierValues && !hasOtherConflicts }
    }

    private func change(_ old: Item, _ new: Item) throws(VaultError) -> Change {
        var change = Change()
        change.hasOtherAccessibility = old.accessibility != new.accessibility || old.device != new.device
        let (was, now) = (ShownValues(old), ShownValues(new))
        for field in Set(was.values.keys).union(now.values.keys).sorted() {
            guard let left = was.values[field], let right = now.values[field],
                try isSame(field, left, of: old, right, of: new)
            else {
                change.fields.append(ConflictField(field))
                continue
            }
        }
        guard old.entry.past?.hash != new.entry.past?.hash || old.entry.past != nil else { return change }
        guard after.core.isOwner, before.core.isOwner, !after.core.isLocked else {
            change.hasOtherEarlierValues = old.entry.past?.hash != new.entry.past?.hash
            change.hasOtherConflicts = old.needsSettling != new.needsSettling
            return change
        }
        let state = try before.state(of: old)
        let (left, right) = (try before.view(of: old, state), try view(new, after))
        change.hasOtherEarlierValues = left.earlier != right.earlier
        change.hasOtherConflicts = left.marks != right.marks
        change.isSettled =
            !left.marks.isEmpty && right.marks.isEmpty && right.earlier.allSatisfy { state.values[$0] != nil }
        return change
    }

    private func view(_ item: Item, _ reader: StateReader) throws(VaultError) -> ItemView {
        let state = try reader.state(of: item)
        return try reader.view(of: item, state)
    }

    /// Compares two values by their bytes, which are read only if the values' records differ. Unreadable values are
    /// considered identical only if their revisions are equal.
    private func isSame(
        _ field: FieldName, _ left: ShownValues.Value, of old: Item, _ right: ShownValues.Value, of new: Item
    ) throws(VaultError) -> Bool {
        if left.held == right.held { return true }
        if let mine = left.held.record, let its = right.held.record, mine.record.hash == its.record.hash {
            return left.flags == right.flags
        }
        guard left.held.isInRecord || right.held.isInRecord else { return false }
        do throws(VaultError) {
            return try before.classOf(left, field, of: old) == after.classOf(right, field, of: new)
        } catch {
            guard Self.unreadable.contains(error.code) else { throw error }
            return left.revision == right.revision
        }
    }

    private static let unreadable: Set<VaultError.Code> = [
        .deviceBound, .notPermitted, .locked, .authenticationFailed, .structureInvalid, .unsupportedForm,
    ]
}

/// The fields in an item's entry, without dots, because the positions of ids differ between files.
private struct ShownValues {
    struct Value {
        let held: HeldValue
        let revision: UInt64

        /// The flags of an attribute that are part of its value.
        var flags: AttributeFlags? {
            if case .attribute(let flags, _) = held.content { flags.meaning } else { nil }
        }
    }

    private(set) var values: [FieldName: Value] = [:]

    init(_ item: Item) {
        let entry = item.entry
        func add(_ field: FieldName, _ place: Int, _ content: HeldValue) {
            values[field] = Value(held: content, revision: entry.dot(of: place).revision)
        }
        add(.key, FieldSet.key, HeldValue(.key(item.storedKey.withoutGroup)))
        add(.place, FieldSet.place, HeldValue(.place(item.place)))
        if !item.lacksSecret { add(.secret, FieldSet.secret, HeldValue(.secret(entry.own, attributes: []))) }
        for (index, attribute) in item.attributes.listed.enumerated() {
            add(
                .attribute(attribute.name), FieldSet.firstAttribute + index,
                HeldValue(attribute, itemRecord: entry.own))
        }
    }
}

extension StateReader {
    /// Classifies a shown value by its bytes.
    fileprivate func classOf(
        _ value: ShownValues.Value, _ field: FieldName, of item: Item
    ) throws(VaultError) -> ValueClass {
        let name = ValueName(field, Dot(revision: value.revision, replica: 0))
        if case .attribute(let flags, .inPage(let bytes)) = value.held.content {
            return .digest(ValueDigest.of(Secret(bytes: bytes)), flags.meaning)
        }
        if field == .secret {
            let opened = try openedRecord(item)
            return .digest(ValueDigest.of(opened.secret), [])
        }
        return .digest(
            ValueDigest.of(try bytes(name, value.held, of: item.entry.id, before: item.referrer)), value.flags ?? [])
    }
}
