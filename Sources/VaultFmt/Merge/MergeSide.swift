internal import VaultBytes
internal import VaultStore

/// One of two states that are merged, and the changes that this state includes (specification, section 8.1).
struct MergeSide {
    let core: VaultCore
    let vector: Vector
    /// The ids that are split on either side; their rows are ignored.
    private let split: Set<ReplicaID>

    private init(_ core: VaultCore, _ vector: Vector, _ split: Set<ReplicaID>) {
        self.core = core
        self.vector = vector
        self.split = split
    }

    /// Creates the two sides of a merge; `alsoSplit` are ids for which this machine has detected two writers.
    static func both(
        _ ours: VaultCore, _ theirs: VaultCore, alsoSplit: [ReplicaID]
    ) throws(VaultError) -> (ours: MergeSide, theirs: MergeSide) {
        let (mine, its) = (try ours.store.vector(), try theirs.store.vector())
        let split = Set((mine.rows + its.rows).filter(\.isSplit).map(\.id)).union(alsoSplit)
        return (MergeSide(ours, mine, split), MergeSide(theirs, its, split))
    }

    var store: Store { core.store }
    var keyring: Keyring { core.store.keyring }

    /// Returns the state of an item of this side. An error for a damaged list of earlier values names the item and the
    /// copy.
    func state(of item: Item, isOurs: Bool) throws(VaultError) -> ItemState {
        try ItemStates(vector).state(of: item, try past(of: item, isOurs: isOurs))
    }

    /// Returns the past of an item of this side, like ``state(of:isOurs:)``.
    func past(of item: Item, isOurs: Bool) throws(VaultError) -> Past? {
        do throws(VaultError) { return try core.past(of: item) } catch {
            throw MergedItem.naming(error, past: item.key, inOurs: isOurs)
        }
    }

    /// Returns whether the side includes a change; if so, values of that change that the side lacks were removed.
    func hasSeen(_ dot: Dot) -> Bool { !isSplit(dot) && vector.hasSeen(dot) }

    /// True if an id is split on either side.
    var hasSplitIDs: Bool { !split.isEmpty }

    func isSplit(_ dot: Dot) -> Bool { split.contains(dot.replica) }

    /// Returns whether the side includes every change of the other; false if this cannot be determined because of a
    /// split id.
    func includes(_ other: MergeSide) -> Bool {
        split.isEmpty && vector.hasSeen(all: other.vector)
    }

    /// Returns a dot that a frame of this side stores.
    func dot(_ stored: StoredDot) throws(VaultError) -> Dot {
        guard let dot = vector.dot(stored) else {
            throw VaultError(.structureInvalid, "the keyring has a dot that the vector does not include")
        }
        return dot
    }

    /// The vector of the result: our rows, followed by the rows that only their side has.
    func joined(with other: MergeSide) -> Vector {
        var joined = vector
        joined.join(other.vector)
        for id in split { joined.split(id) }
        return joined
    }

    // MARK: slots

    /// A slot's dots in the keyring.
    struct SlotState {
        let made: Dot
        let changed: Dot
        /// The dots of the grants, by the name of the group.
        let grants: [GroupName: Dot]
    }

    func slots() throws(VaultError) -> [Bytes16: SlotState] {
        let names = Dictionary(uniqueKeysWithValues: keyring.groups.map { ($0.number, GroupName($0.name)) })
        var all: [Bytes16: SlotState] = [:]
        for slot in keyring.slots {
            var grants: [GroupName: Dot] = [:]
            for grant in slot.grants {
                guard let name = names[grant.group] else {
                    throw VaultError(.structureInvalid, "a slot is granted a group that does not exist")
                }
                grants[name] = try dot(grant.dot)
            }
            all[slot.id] = SlotState(made: try dot(slot.made), changed: try dot(slot.changed), grants: grants)
        }
        return all
    }
}

/// The name of an access group, compared by its bytes because Swift compares canonically equivalent strings as equal.
struct GroupName: Hashable, Comparable {
    let text: String
    private let bytes: [UInt8]

    init(_ text: String) {
        self.text = text
        bytes = Array(text.utf8)
    }

    static func == (left: GroupName, right: GroupName) -> Bool { left.bytes == right.bytes }

    static func < (left: GroupName, right: GroupName) -> Bool { ByteOrder.isLess(left.bytes, right.bytes) }

    func hash(into hasher: inout Hasher) { hasher.combine(bytes) }
}
