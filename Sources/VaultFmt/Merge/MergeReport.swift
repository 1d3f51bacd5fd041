/// Options for merging two copies of a vault.
public struct MergeOptions: Sendable {
    /// Whether values of a branch that was continued under replaced keys may be taken in, to be settled or as earlier
    /// values.
    public var acceptsOldKeys = false
    /// Whether the merge is a dry run: nothing is written, and the lock is not acquired.
    public var isRehearsal = false
    /// Whether, of two files with equal contents, the one with the greater state takes the place of the other.
    package var unifiesFiles = false

    /// Makes the default options.
    public init() {}
}

/// The result of a merge, or of a dry run.
public struct MergeReport: Sendable, Equatable {
    /// How the two copies are related.
    public enum Outcome: String, Sendable {
        /// Both copies include the same changes; nothing was written.
        case same
        /// This copy already includes everything in the other; nothing was written.
        case ours
        /// The other copy includes everything in this one and has replaced it.
        case theirs
        /// The other copy's changes were merged into this one.
        case merged
        /// The values of a branch under replaced keys were taken in.
        case adopted
    }

    /// A finding about an item or slot that a user may want to know about.
    public enum Note: Sendable, Hashable {
        /// Both copies changed these fields of an item; the losing values are left to settle.
        case conflict(ItemKey, fields: [ConflictField])
        /// An item that one copy removed is kept, because the other changed it.
        case keptAgainstRemoval(ItemKey)
        /// An item is listed under a different key than before: it was renamed in the other copy, or another item has
        /// its key now.
        case renamed(ItemKey, to: ItemKey)
        /// An item no longer has a secret: the only one left was forgotten.
        case withoutSecret(ItemKey)
        /// Two writers used one replica id, so it cannot be told whether the item was removed; it is kept.
        case keptForSplitID(ItemKey)
        /// An item has earlier values beyond the limit that was set, which were dropped because there was no room.
        case earlierValuesDropped(ItemKey)
        /// Values of a branch under replaced keys were taken into an item, to be settled or as earlier values.
        case takenInToSettle(ItemKey)
        /// A branch under replaced keys removed an item, which is kept.
        case removalNotCarriedOut(ItemKey)
        /// The item is for another device, so its secret remains sealed under a key that a former holder of its group's
        /// key may still have.
        case keptForDevice(ItemKey)
        /// The other copy removed a slot.
        case slotRemoved(SlotID, name: String)
        /// A slot was added from the other copy.
        case slotTaken(SlotID, name: String)
        /// A slot now has the name and factors that it has in the other copy.
        case slotChanged(SlotID, name: String)
        /// Both copies changed the name or the factors of a slot: those that were set later, in this copy or in the
        /// other, are in force, and the factors that were set earlier no longer open the vault.
        case slotChangedInBoth(SlotID, name: String, isOurs: Bool)
        /// A slot no longer grants these groups.
        case slotLostGroups(SlotID, name: String, groups: [String])
        /// A slot also grants these groups now.
        case slotGainedGroups(SlotID, name: String, groups: [String])
        /// No full slot was left, so the one that opened this copy was added again.
        case slotAddedAgain(SlotID, name: String)
        /// A slot of an unknown kind was dropped, because it cannot be given the new keys here.
        case slotDropped(SlotID, name: String)
        /// This copy and a branch under replaced keys differ in a slot: only one of them has it, or the branch has
        /// another form of it. The difference was not carried over.
        case slotNotCarriedOut(SlotID, name: String)
        /// Both copies have an extension with different values; this copy's value is kept.
        case extensionDiffers(String)
        /// Something that this copy now contains is damaged, as the description says; the merge did not replace it.
        case damaged(String)
        /// Two items, one from each copy, have the same key; `other` is the key under which one of them is listed.
        case sharedKey(ItemKey, other: ItemKey)
        /// Something in the other copy is damaged, as the description says. This copy includes all of the other's
        /// changes, and keeps its own version of what both have.
        case copyDamaged(String)
    }

    /// How the two copies are related.
    public internal(set) var outcome: Outcome
    /// Items whose shown values changed here, with their current keys.
    public internal(set) var taken: [ItemKey] = []
    /// Items that only the other copy had, and that were added here, with their current keys.
    public internal(set) var added: [ItemKey] = []
    /// Items whose shown values stayed as they were, but which received earlier values or values to settle from the
    /// other copy, with their current keys.
    public internal(set) var supplemented: [ItemKey] = []
    /// Items that the other copy removed, with their former keys.
    public internal(set) var removed: [ItemKey] = []
    /// Findings that a user may want to know about.
    public internal(set) var notes: [Note] = []
    /// The number of earlier values that an item keeps, if this number changed here.
    public internal(set) var limit: Int?
    /// Whether the merge was a dry run, so that nothing was written.
    public internal(set) var isRehearsal = false

    init(_ outcome: Outcome) { self.outcome = outcome }

    /// Whether something in this copy is damaged.
    public var hasDamage: Bool {
        notes.contains { note in
            if case .damaged = note { true } else { false }
        }
    }

    /// Whether two items now have the same key, so that each copy may have shown a different one under it.
    public var hasSharedKeys: Bool {
        notes.contains { note in
            if case .sharedKey = note { true } else { false }
        }
    }

    /// Whether there are values for a user to settle; see `Vault.conflicts()`.
    public var hasConflicts: Bool {
        notes.contains { note in
            switch note {
            case .conflict, .withoutSecret, .takenInToSettle: true
            default: false
            }
        }
    }

    /// Notes the changes that result from putting another copy in the place of this one.
    mutating func note(_ changes: VaultChanges) {
        for item in changes.items {
            guard let after = item.after else {
                if let before = item.before { removed.append(before) }
                continue
            }
            guard let before = item.before else {
                added.append(after)
                continue
            }
            if !item.fields.isEmpty {
                taken.append(after)
            } else if item.hasOtherEarlierValues || item.hasOtherConflicts {
                supplemented.append(after)
            }
            if before != after { notes.append(.renamed(before, to: after)) }
        }
        limit = changes.keptVersions
        sort()
    }

    mutating func sort() {
        taken.sort()
        added.sort()
        supplemented.sort()
        removed.sort()
    }
}

/// A field of an item: what one change sets as a whole.
public enum ConflictField: Sendable, Hashable {
    /// The secret.
    case secret
    /// The attribute with this name.
    case attribute(String)
    /// The item's key without its access group.
    case key
    /// The access group, the accessibility and the device.
    case place
}

extension ConflictField {
    init(_ field: FieldName) {
        switch field {
        case .secret: self = .secret
        case .attribute(let name): self = .attribute(String(decoding: name, as: UTF8.self))
        case .key: self = .key
        case .place: self = .place
        }
    }
}
