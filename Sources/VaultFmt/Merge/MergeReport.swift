/// How two copies of a vault are merged.
public struct MergeOptions: Sendable {
    /// Where the items of the common state are looked for.
    public enum Base: Sendable {
        /// In the two copies themselves.
        case automatic
        /// In a third copy as well, opened by an owner: an older one, as git keeps it.
        case file(Vault)
        /// Nowhere: items are merged by what both copies hold of them.
        case none
    }

    /// Where the items of the common state are looked for.
    public var base = Base.automatic
    /// Whether slots are taken that only the other copy has.
    public var takesSlots = false
    /// Whether a branch that went on under keys that this copy has replaced may bring in its values, as earlier values
    ///
    public var acceptsOldKeys = false
    /// Whether such a branch may also remove slots.
    public var removesSlotsOfOldKeys = true
    /// Whether the merge is only rehearsed: nothing is written, and the lock is not asked for.
    public var isRehearsal = false

    /// The defaults.
    public init() {}
}

/// What a merge did, or would do.
public struct MergeReport: Sendable, Equatable {
    /// How the two copies stand to each other.
    public enum Outcome: String, Sendable {
        /// They are in the same state: nothing was written.
        case same
        /// This copy has everything that the other has: nothing was written.
        case ours
        /// The other copy came from this one, and took its place.
        case theirs
        /// Both have the same contents, after different commits. The copy with the smaller state took the other's, and ended the
        /// fork with an empty commit; the greater one was left as it was.
        case equal
        /// What the other copy has was brought into this one.
        case merged
        /// The values of a branch under replaced keys were brought in as earlier values.
        case adopted
    }

    /// What was known of the items before the copies went apart.
    public enum Base: Sendable, Hashable {
        /// All of them: those of the state with this generation.
        case state(generation: UInt64)
        /// Only values that both copies still hold.
        case values
    }

    /// What a person may want to know of one item or slot.
    public enum Note: Sendable, Hashable {
        /// Both copies changed these fields of an item; what lost is kept in its attribute `conflict`.
        case conflict(ItemKey, fields: [ConflictField])
        /// Both copies changed an item for another device; the value that lost is an earlier value now.
        case keptAsEarlierValue(ItemKey)
        /// Another item has the key of this one, which is found by another key from now on.
        case renamed(ItemKey, to: ItemKey)
        /// An item with the same key took this one in: its values are earlier values and conflicts of that one.
        case joined(ItemKey)
        /// One copy removed an item, and nobody knows any more whether it had seen this value of it.
        case removedUnconfirmed(ItemKey)
        /// One copy removed an item that the other one changed: it stays.
        case keptAgainstRemoval(ItemKey)
        /// A branch under replaced keys removed an item, which stays.
        case removalNotCarriedOut(ItemKey)
        /// An item of a branch under replaced keys could not be brought in.
        case notAdopted(ItemKey)
        /// The item is for another device: its secret stays under a key that a former holder of its group has.
        case keptForDevice(ItemKey)
        /// The other copy removed a slot.
        case slotRemoved(SlotID, name: String)
        /// Only the other copy has a slot, and it was not taken.
        case slotNotTaken(SlotID, name: String)
        /// A slot was taken from the other copy.
        case slotTaken(SlotID, name: String)
        /// Both copies changed a slot, and it grants only the groups that both grant.
        case slotLostGroups(SlotID, name: String, groups: [String])
        /// A slot of an unknown kind, which nobody here can give the new keys.
        case slotDropped(SlotID, name: String)
        /// A branch under replaced keys removed a slot that stays: it was declined, or nobody could open the vault.
        case slotRemovalNotCarriedOut(SlotID, name: String)
        /// Both copies have an extension with different values; this copy's stays.
        case extensionDiffers(String)
    }

    /// How the two copies stand to each other.
    public internal(set) var outcome: Outcome
    /// What was known of the items before; nil where nothing was compared.
    public internal(set) var base: Base?
    /// Items of which something was taken from the other copy, under their keys now.
    public internal(set) var taken: [ItemKey] = []
    /// Items that the other copy removed, under the keys that they had.
    public internal(set) var removed: [ItemKey] = []
    /// What a person may want to know.
    public internal(set) var notes: [Note] = []
    /// Whether nothing was written because it was a rehearsal.
    public internal(set) var isRehearsal = false

    init(_ outcome: Outcome) { self.outcome = outcome }

    /// Whether something is left for a person to settle: see `Vault.conflicts()`.
    public var hasConflicts: Bool {
        notes.contains { note in
            switch note {
            case .conflict, .joined, .keptAsEarlierValue, .renamed: true
            default: false
            }
        }
    }
}

/// A field of an item that two copies changed differently.
public enum ConflictField: Sendable, Hashable {
    /// The secret.
    case secret
    /// The attribute with this name.
    case attribute(String)
    /// A field of the key, by the name that section 6.1 of the specification gives it, as `account`, `group` or `sync`;
    /// `key` for a key of another class. Fields of classes that this version does not define are counted from 1.
    case keyField(String)
    /// The accessibility, and with it the device.
    case accessibility
}
