internal import VaultStore

/// Options for merging two copies of a vault.
public struct MergeOptions: Sendable {
    /// True if values of a branch under replaced keys may be imported, as values to settle or as earlier values
    ///
    public var acceptsOldKeys = false
    /// True if the merge is a dry run: it makes the same changes in memory, and so reports and fails as the merge does,
    /// as far as this does not depend on the disk, permissions or other programs. The file is not written to, and its
    /// lock is not acquired. A dry run takes as much memory as the merge would write. It throws `outOfMemory` if the
    /// system refuses that memory; by default, Linux grants it even if there is too little, and may end the process
    /// when the memory is used.
    public var isRehearsal = false
    /// True if our copy is to keep the values that it shows where the result would show older values that our copy has
    /// replaced. This happens if one copy removed an item without having seen another copy's change to the item, so
    /// that the item comes back as it was in that other copy. The items concerned are first changed in our copy, but no
    /// field is changed. Similarly, values that such an item has left to settle, and that the removal took
    /// with it, are left to settle again. `Machine.merge` sets this option.
    public var keepsNewerValues = false
    /// True if two files with equal contents are to become one: theirs replaces ours, ours is kept or, if each contains
    /// what was erased from the other, ours is compacted, which is reported as `merged`.
    package var unifiesFiles = false
    /// True if only the outcome is needed. The copies are compared where they are: nothing is written or merged, not
    /// even in memory, and the lock of the file is not acquired. The report has the outcome with which the merge would
    /// begin to write, and nothing else. Unlike a dry run, this does not tell whether the merge would fail later.
    package var onlyCompares = false

    /// Makes the default options.
    public init() {}
}

/// The result of a merge, or of a dry run.
public struct MergeReport: Sendable, Equatable {
    /// The relation between the two copies.
    public enum Outcome: String, Sendable {
        /// Both copies include the same changes; nothing was written.
        case same
        /// This copy already includes everything in the other; nothing was written.
        case ours
        /// The other copy includes everything in this one and has replaced it.
        case theirs
        /// The other copy's changes were merged into this one.
        case merged
        /// The values of a branch under replaced keys were imported.
        case adopted
    }

    /// A finding about an item or slot that a user may want to know about.
    public enum Note: Sendable, Hashable {
        /// Both copies changed these fields of an item; the losing values are left to settle.
        case conflict(ItemKey, fields: [ConflictField])
        /// The other copy has settled the item's conflicts, and the item shows the same values as before.
        case settled(ItemKey)
        /// An item that one copy removed is kept, because the other changed it.
        case keptAgainstRemoval(ItemKey)
        /// An item is listed under a different key than before: it was renamed in the other copy, or another item now
        /// has its key.
        case renamed(ItemKey, to: ItemKey)
        /// An item that showed a secret here, or that was added from the other copy, shows none: the only secret left
        /// was forgotten, is left to settle, or is an earlier value.
        case withoutSecret(ItemKey)
        /// Two writers used one replica id, so a removal of the item cannot be detected; the item is kept.
        case keptForSplitID(ItemKey)
        /// Earlier values of an item were dropped, because there was no room for them.
        case earlierValuesDropped(ItemKey)
        /// Values of a branch under replaced keys were added to an item, as values to settle or as earlier values.
        case takenInToSettle(ItemKey)
        /// A branch under replaced keys removed an item, which is kept.
        case removalNotCarriedOut(ItemKey)
        /// A branch under replaced keys forgot values of these fields of an item. Here, the values are not forgotten:
        /// they are earlier values, values to settle, or values that the item shows.
        case forgettingNotCarriedOut(ItemKey, fields: [ConflictField])
        /// A branch under replaced keys removed these attributes of an item, which are kept.
        case attributesNotRemoved(ItemKey, fields: [ConflictField])
        /// A branch under replaced keys set the number of earlier values to keep to this number. The number to keep
        /// here did not change.
        case limitNotCarriedOut(Int)
        /// The item is for another device, so its secret remains sealed under a key that a former holder of its group's
        /// key may still have.
        case keptForDevice(ItemKey)
        /// The other copy removed a slot.
        case slotRemoved(SlotID, name: String)
        /// A slot that this copy did not have was added from the other copy.
        case slotTaken(SlotID, name: String)
        /// A slot now has the name and factors that it has in the other copy.
        case slotChanged(SlotID, name: String)
        /// Both copies changed the name or the factors of a slot. The later change, in this copy or in the other, is in
        /// effect; the factors that were set earlier no longer open the vault.
        case slotChangedInBoth(SlotID, name: String, isOurs: Bool)
        /// A slot no longer grants these groups.
        case slotLostGroups(SlotID, name: String, groups: [String])
        /// A slot now grants these additional groups.
        case slotGainedGroups(SlotID, name: String, groups: [String])
        /// A slot was granted these groups in one copy, and now also opens values that the other copy put into them
        /// without having seen the grant.
        case slotReadsMore(SlotID, name: String, groups: [String])
        /// Together, the copies had removed every full slot, so the slot that opened this copy was added again; the
        /// others are gone. They return if the other copy was completed in the same way: see `slotsOfBoth`.
        case slotAddedAgain(SlotID, name: String)
        /// A full slot of one copy, where the two copies had no full slot in common: each had added or replaced its own
        /// without having seen the other's, or had added its own again (`slotAddedAgain`). The full slots of both
        /// copies open the vault.
        case slotsOfBoth(SlotID, name: String)
        /// A slot of an unknown kind was dropped, because the new keys cannot be sealed for it.
        case slotDropped(SlotID, name: String)
        /// A branch under replaced keys added, changed or removed a slot. This was not carried out: the new keys have the
        /// slot that they had, or none.
        case slotNotCarriedOut(SlotID, name: String)
        /// Both copies have an extension with different values; this copy's value is kept.
        case extensionDiffers(String)
        /// Part of this copy is damaged, as described; the merge did not replace it.
        case damaged(String)
        /// Two items, one from each copy, have the same key; `other` is the key under which one of them is listed.
        case sharedKey(ItemKey, other: ItemKey)
        /// Part of the other copy is damaged, as described. This copy includes all changes in the other copy, and keeps
        /// its own version of the common data.
        case copyDamaged(String)
    }

    /// The relation between the two copies.
    public internal(set) var outcome: Outcome
    /// Items whose shown values changed here, with their current keys.
    public internal(set) var taken: [ItemKey] = []
    /// Items that only the other copy had, and that were added here, with their current keys.
    public internal(set) var added: [ItemKey] = []
    /// Items whose shown values did not change, but that received earlier values or values to settle from the other
    /// copy, with their current keys.
    public internal(set) var supplemented: [ItemKey] = []
    /// Items that the other copy removed, with their former keys.
    public internal(set) var removed: [ItemKey] = []
    /// Findings that a user may want to know about.
    public internal(set) var notes: [Note] = []
    /// The reasons why the items in the notes `withoutSecret` show no secret.
    package private(set) var missingSecrets: [ItemKey: VaultError.MissingSecret] = [:]
    /// The number of earlier values that an item keeps, if this number changed here.
    public internal(set) var limit: Int?
    /// The old records and values in this copy that could be read with fewer rights than their items now require; the
    /// merge has rewritten the file to remove them.
    package internal(set) var remnants: [Remnant] = []
    /// True if the merge was a dry run and nothing was written.
    public internal(set) var isRehearsal = false

    init(_ outcome: Outcome) { self.outcome = outcome }

    /// True if part of this copy is damaged.
    public var hasDamage: Bool {
        notes.contains { note in
            if case .damaged = note { true } else { false }
        }
    }

    /// True if two items now have the same key; each copy may have shown a different item under that key.
    public var hasSharedKeys: Bool {
        notes.contains { note in
            if case .sharedKey = note { true } else { false }
        }
    }

    /// True if there are values for a user to settle (see `Vault.conflicts()`), or if there are notes `withoutSecret`.
    public var hasConflicts: Bool { leavesValuesToSettle || !missingSecrets.isEmpty }

    /// True if there are values for a user to settle, which include all values of an item that only a branch had
    ///
    package var leavesValuesToSettle: Bool {
        guard outcome != .adopted || added.isEmpty else { return true }
        return notes.contains { note in
            switch note {
            case .conflict, .takenInToSettle: true
            default: false
            }
        }
    }

    /// True if a branch under replaced keys took something away, or changed slots or the limit of earlier values. This
    /// was not carried out, so it has to be done again.
    package var leavesChangesToRepeat: Bool {
        notes.contains { note in
            switch note {
            case .removalNotCarriedOut, .forgettingNotCarriedOut, .attributesNotRemoved, .limitNotCarriedOut,
                .slotNotCarriedOut:
                true
            default: false
            }
        }
    }

    /// True if full slots of both copies open the vault although the copies had none in common.
    package var hasSlotsOfBoth: Bool {
        notes.contains { note in
            if case .slotsOfBoth = note { true } else { false }
        }
    }

    /// Adds a note about an item that shows no secret.
    mutating func noteMissingSecret(_ key: ItemKey, _ reason: VaultError.MissingSecret) {
        notes.append(.withoutSecret(key))
        missingSecrets[key] = reason
    }

    /// Records the changes that result from replacing this copy with another.
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
            } else if item.isSettled {
                notes.append(.settled(after))
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

/// A field of an item: the smallest part that a change can set.
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

extension MergeReport.Note {
    /// The slot of a note about a change that was not carried out.
    var slot: SlotID? {
        if case .slotNotCarriedOut(let id, _) = self { id } else { nil }
    }
}
