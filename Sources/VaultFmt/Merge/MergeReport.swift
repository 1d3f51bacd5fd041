/// Options for merging two copies of a vault.
public struct MergeOptions: Sendable {
    /// Where to look for the items of the common state.
    public enum Base: Sendable {
        /// In the two copies themselves.
        case automatic
        /// Also in a third copy, opened by an owner, such as an older one kept by git.
        case file(Vault)
        /// Nowhere: items are merged using only what the two copies contain.
        case none
    }

    /// Where to look for the items of the common state.
    public var base = Base.automatic
    /// Whether slots that exist only in the other copy are added.
    public var takesSlots = false
    /// Whether values of a branch that was continued under replaced keys may be added as earlier values.
    public var acceptsOldKeys = false
    /// Whether such a branch may also remove slots.
    public var removesSlotsOfOldKeys = true
    /// Whether the merge is a dry run: nothing is written, and the lock is not acquired.
    public var isRehearsal = false

    /// Makes the default options.
    public init() {}
}

/// The result of a merge, or of a dry run.
public struct MergeReport: Sendable, Equatable {
    /// How the two copies are related.
    public enum Outcome: String, Sendable {
        /// Both copies are in the same state; nothing was written.
        case same
        /// This copy already contains everything in the other; nothing was written.
        case ours
        /// The other copy continued this one and has replaced it.
        case theirs
        /// Both copies have the same contents, reached through different commits. The copy with the smaller state
        /// copied the other's and ended the fork with an empty commit; the copy with the greater state was not changed.
        case equal
        /// The other copy's changes were merged into this one.
        case merged
        /// The values of a branch under replaced keys were added as earlier values.
        case adopted
    }

    /// The information available about the items before the copies diverged.
    public enum Base: Sendable, Hashable {
        /// All items, from the state with this generation.
        case state(generation: UInt64)
        /// Only values that both copies still contain.
        case values
    }

    /// A finding about an item or slot that a user may want to know about.
    public enum Note: Sendable, Hashable {
        /// Both copies changed these fields of an item; the losing values are kept in its attribute `conflict`.
        case conflict(ItemKey, fields: [ConflictField])
        /// Both copies changed an item for another device; the losing value is now an earlier value.
        case keptAsEarlierValue(ItemKey)
        /// Another item was given this item's key, so this item now has a different key.
        case renamed(ItemKey, to: ItemKey)
        /// An item with the same key absorbed this one, whose values are now earlier values and conflicts of that item.
        case joined(ItemKey)
        /// One copy removed an item, and it is no longer known whether that copy had seen this value.
        case removedUnconfirmed(ItemKey)
        /// One copy removed an item that the other changed; the item is kept.
        case keptAgainstRemoval(ItemKey)
        /// A branch under replaced keys removed an item, which is kept.
        case removalNotCarriedOut(ItemKey)
        /// An item of a branch under replaced keys could not be added.
        case notAdopted(ItemKey)
        /// The item is for another device, so its secret remains sealed under a key that a former holder of its group's
        /// key may still have.
        case keptForDevice(ItemKey)
        /// The other copy removed a slot.
        case slotRemoved(SlotID, name: String)
        /// A slot exists only in the other copy, and was not added.
        case slotNotTaken(SlotID, name: String)
        /// A slot was added from the other copy.
        case slotTaken(SlotID, name: String)
        /// Both copies changed a slot; it now grants only the groups that both grant.
        case slotLostGroups(SlotID, name: String, groups: [String])
        /// A slot of an unknown kind was dropped, because it cannot be given the new keys here.
        case slotDropped(SlotID, name: String)
        /// A branch under replaced keys removed a slot that is kept, because removal was declined or would leave no way
        /// to open the vault.
        case slotRemovalNotCarriedOut(SlotID, name: String)
        /// Both copies have an extension with different values; this copy's value is kept.
        case extensionDiffers(String)
        /// Something that this copy now contains is damaged, as the description says; the merge did not replace it.
        case damaged(String)
    }

    /// How the two copies are related.
    public internal(set) var outcome: Outcome
    /// The information available about the items before the copies diverged; nil if nothing was compared.
    public internal(set) var base: Base?
    /// Items whose values now come from the other copy, in whole or in part, with their current keys; if values were
    /// adopted, the items that received them as earlier values.
    public internal(set) var taken: [ItemKey] = []
    /// Items whose values stayed as they were, but which received earlier values or values to settle from the other
    /// copy, with their current keys.
    public internal(set) var supplemented: [ItemKey] = []
    /// Items that the other copy removed, with their former keys.
    public internal(set) var removed: [ItemKey] = []
    /// Findings that a user may want to know about.
    public internal(set) var notes: [Note] = []
    /// Whether the merge was a dry run, so that nothing was written.
    public internal(set) var isRehearsal = false

    init(_ outcome: Outcome) { self.outcome = outcome }

    /// Whether something in this copy is damaged.
    public var hasDamage: Bool {
        notes.contains { note in
            if case .damaged = note { true } else { false }
        }
    }

    /// Whether there are conflicts for a user to settle; see `Vault.conflicts()`.
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
    /// A field of the key, by its name in section 6.1 of the specification, such as `account`, `group` or `sync`; `key`
    /// for a key of another class. In classes that this version does not define, fields are numbered from 1.
    case keyField(String)
    /// The accessibility, together with the device.
    case accessibility
}
