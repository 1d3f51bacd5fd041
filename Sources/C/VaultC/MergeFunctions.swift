// The header documents and names these functions.
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation, AlwaysUseLowerCamelCase

public import CVaultFmt
internal import VaultBytes
internal import VaultFmt
internal import VaultLocal

// MARK: merging

@c @implementation
public func vaultfmt_merge(
    _ vault: OpaquePointer?, _ other: OpaquePointer?, _ options: UnsafePointer<vaultfmt_merge_options>?,
    _ report: UnsafeMutablePointer<UnsafePointer<vaultfmt_merge_report>?>?
) -> vaultfmt_status {
    report?.pointee = nil
    return status {
        let handle = try Handle.vault(vault)
        let copy = try Handle.vault(other).vault
        let (wanted, takesDropped) = try Input.mergeOptions(options)
        let found: MergeReport
        if let machine = handle.machine {
            found = try machine.merge(copy, into: handle.vault, options: wanted, takesDropped: takesDropped)
        } else {
            guard !takesDropped else {
                throw VaultError(
                    .invalidArgument,
                    "takes_dropped requires a vault that this machine remembers: open it with vaultfmt_local_open or vaultfmt_open_unlocked"
                )
            }
            var safe = wanted
            safe.keepsNewerValues = true
            found = try handle.vault.merge(copy, options: safe)
        }
        if let report { report.pointee = try Output.mergeReport(found) }
    }
}

@c @implementation
public func vaultfmt_merge_report_free(_ report: UnsafePointer<vaultfmt_merge_report>?) { Block.free(report) }

// MARK: conflicts

@c @implementation
public func vaultfmt_get_conflicts(
    _ vault: OpaquePointer?, _ conflicts: UnsafeMutablePointer<UnsafePointer<vaultfmt_conflicts>?>?
) -> vaultfmt_status {
    conflicts?.pointee = nil
    return status {
        let out = try given(conflicts, "conflicts")
        out.pointee = try Output.conflicts(try Handle.vault(vault).vault.conflicts())
    }
}

@c @implementation
public func vaultfmt_conflicts_free(_ conflicts: UnsafePointer<vaultfmt_conflicts>?) { Block.free(conflicts) }

@c @implementation
public func vaultfmt_settle(
    _ vault: OpaquePointer?, _ key: UnsafePointer<vaultfmt_key>?, _ keep: UnsafePointer<vaultfmt_conflict_id>?,
    _ count: Int
) -> vaultfmt_status {
    status {
        let handle = try Handle.vault(vault)
        let key = try Input.key(key)
        var ids: [ConflictID] = []
        for id in try Input.elements(keep, count, "keep") { ids.append(try ConflictID(id)) }
        try handle.changing { (transaction) throws(VaultError) in
            let values = try transaction.conflict(in: key)?.values ?? []
            var chosen: [Conflict.Value] = []
            for id in ids {
                guard let value = values.first(where: { id.names($0) }) else {
                    throw VaultError(.noSuchItem, "the item has no such value to settle")
                }
                chosen.append(value)
            }
            try transaction.settle(key, keeping: chosen)
        }
    }
}

/// The identity of a value that is left to settle.
private struct ConflictID: Sendable {
    private let revision: UInt64
    private let replica: UInt64
    private let field: ConflictField

    init(_ id: vaultfmt_conflict_id) throws(VaultError) {
        try requireZero(id.reserved)
        revision = id.revision
        replica = id.replica
        switch Int(id.field) {
        case Int(VAULTFMT_FIELD_SECRET): field = .secret
        case Int(VAULTFMT_FIELD_ATTRIBUTE): field = .attribute(try Input.attributeName(id.attribute))
        case Int(VAULTFMT_FIELD_KEY): field = .key
        case Int(VAULTFMT_FIELD_PLACE): field = .place
        default: throw VaultError(.invalidArgument, "there is no field \(id.field)")
        }
        guard case .attribute = field else {
            guard id.attribute.data == nil else {
                throw VaultError(.invalidArgument, "only an attribute has a name")
            }
            return
        }
    }

    func names(_ value: Conflict.Value) -> Bool {
        value.revision == revision && value.replica == replica && value.field == field
    }
}

// MARK: structures

extension Input {
    fileprivate static func mergeOptions(
        _ pointer: UnsafePointer<vaultfmt_merge_options>?
    ) throws(VaultError) -> (options: MergeOptions, takesDropped: Bool) {
        var options = MergeOptions()
        guard let given = try optional(pointer, sized: \.struct_size, "options") else { return (options, false) }
        options.isRehearsal = try flag(given.is_rehearsal, "is_rehearsal")
        options.acceptsOldKeys = try flag(given.accepts_old_keys, "accepts_old_keys")
        return (options, try flag(given.takes_dropped, "takes_dropped"))
    }
}

extension Output {
    fileprivate static func mergeReport(
        _ report: MergeReport
    ) throws(VaultError) -> UnsafePointer<vaultfmt_merge_report> {
        try Block.make { arena in
            var out = vaultfmt_merge_report()
            out.outcome = report.outcome.number
            out.is_rehearsal = report.isRehearsal ? 1 : 0
            out.has_conflicts = report.hasConflicts ? 1 : 0
            out.has_damage = report.hasDamage ? 1 : 0
            (out.added, out.added_count) = keys(report.added, &arena)
            (out.changed, out.changed_count) = keys(report.taken, &arena)
            (out.supplemented, out.supplemented_count) = keys(report.supplemented, &arena)
            (out.removed, out.removed_count) = keys(report.removed, &arena)
            var notes: [vaultfmt_merge_note] = []
            for note in report.notes { notes.append(self.note(note, &arena)) }
            out.notes = arena.appendPointers(notes)
            out.note_count = notes.count
            return out
        }
    }

    private static func keys(
        _ keys: [ItemKey], _ arena: inout Arena
    ) -> (UnsafePointer<UnsafePointer<vaultfmt_key>?>?, Int) {
        var list: [vaultfmt_key] = []
        for key in keys { list.append(self.key(key, &arena)) }
        return (arena.appendPointers(list), list.count)
    }

    private static func pointer(to key: ItemKey, _ arena: inout Arena) -> UnsafePointer<vaultfmt_key>? {
        arena.append([self.key(key, &arena)])
    }

    private static func note(_ note: MergeReport.Note, _ arena: inout Arena) -> vaultfmt_merge_note {
        var out = vaultfmt_merge_note()
        out.kind = note.number
        switch note {
        case .conflict(let key, _), .settled(let key), .keptAgainstRemoval(let key), .withoutSecret(let key),
            .keptForSplitID(let key), .earlierValuesDropped(let key), .takenInToSettle(let key),
            .removalNotCarriedOut(let key), .forgettingNotCarriedOut(let key, _), .attributesNotRemoved(let key, _),
            .keptForDevice(let key):
            out.key = pointer(to: key, &arena)
        case .renamed(let key, let new), .sharedKey(let key, let new):
            out.key = pointer(to: key, &arena)
            out.new_key = pointer(to: new, &arena)
        case .slotRemoved(let id, let name), .slotTaken(let id, let name), .slotChanged(let id, let name),
            .slotAddedAgain(let id, let name), .slotsOfBoth(let id, let name), .slotDropped(let id, let name),
            .slotNotCarriedOut(let id, let name):
            fill(&out.slot, id.bytes.bytes)
            out.text = arena.append(name)
        case .slotChangedInBoth(let id, let name, let isOurs):
            fill(&out.slot, id.bytes.bytes)
            out.text = arena.append(name)
            out.is_ours = isOurs ? 1 : 0
        case .slotLostGroups(let id, let name, let groups), .slotGainedGroups(let id, let name, let groups),
            .slotReadsMore(let id, let name, let groups):
            fill(&out.slot, id.bytes.bytes)
            out.text = arena.append(name)
            (out.groups, out.group_count) = texts(groups, &arena)
        case .limitNotCarriedOut(let count): out.text = arena.append(String(count))
        case .extensionDiffers(let text), .damaged(let text), .copyDamaged(let text): out.text = arena.append(text)
        }
        return out
    }

    fileprivate static func conflicts(
        _ conflicts: [Conflict]
    ) throws(VaultError) -> UnsafePointer<vaultfmt_conflicts> {
        try Block.make { arena in
            var list: [vaultfmt_conflict] = []
            for conflict in conflicts {
                var out = vaultfmt_conflict()
                fill(&out.item, conflict.item.bytes.bytes)
                out.key = self.key(conflict.key, &arena)
                out.place = place(conflict.place, &arena)
                var values: [vaultfmt_conflict_value] = []
                for value in conflict.values { values.append(self.value(value, &arena)) }
                out.values = arena.appendPointers(values)
                out.count = values.count
                list.append(out)
            }
            return vaultfmt_conflicts(conflicts: arena.appendPointers(list), count: list.count)
        }
    }

    private static func value(_ value: Conflict.Value, _ arena: inout Arena) -> vaultfmt_conflict_value {
        var out = vaultfmt_conflict_value()
        out.id.revision = value.revision
        out.id.replica = value.replica
        switch value.field {
        case .secret: out.id.field = UInt32(VAULTFMT_FIELD_SECRET)
        case .attribute(let name):
            out.id.field = UInt32(VAULTFMT_FIELD_ATTRIBUTE)
            out.id.attribute = arena.append(name)
        case .key: out.id.field = UInt32(VAULTFMT_FIELD_KEY)
        case .place: out.id.field = UInt32(VAULTFMT_FIELD_PLACE)
        }
        out.flags = UInt32(value.flags.rawValue)
        out.time = value.time
        if let bytes = value.withValue({ arena.append($0) }) { out.value = bytes }
        if let key = value.key { out.key = pointer(to: key, &arena) }
        if let place = value.place ?? value.otherPlace { out.place = arena.append([self.place(place, &arena)]) }
        return out
    }

    private static func place(_ place: Conflict.Place, _ arena: inout Arena) -> vaultfmt_place {
        var out = vaultfmt_place()
        out.group = arena.append(place.group)
        out.accessibility = UInt32(place.accessibility.rawValue)
        if let device = place.device {
            out.is_device_bound = 1
            fill(&out.device, device.bytes.bytes)
        }
        return out
    }
}

extension MergeReport.Outcome {
    fileprivate var number: UInt32 {
        switch self {
        case .same: UInt32(VAULTFMT_MERGE_SAME)
        case .ours: UInt32(VAULTFMT_MERGE_OURS)
        case .theirs: UInt32(VAULTFMT_MERGE_THEIRS)
        case .merged: UInt32(VAULTFMT_MERGE_MERGED)
        case .adopted: UInt32(VAULTFMT_MERGE_ADOPTED)
        }
    }
}

extension MergeReport.Note {
    fileprivate var number: UInt32 {
        let number =
            switch self {
            case .conflict: VAULTFMT_NOTE_CONFLICT
            case .keptAgainstRemoval: VAULTFMT_NOTE_KEPT_AGAINST_REMOVAL
            case .renamed: VAULTFMT_NOTE_RENAMED
            case .withoutSecret: VAULTFMT_NOTE_WITHOUT_SECRET
            case .keptForSplitID: VAULTFMT_NOTE_KEPT_FOR_SPLIT_ID
            case .earlierValuesDropped: VAULTFMT_NOTE_EARLIER_VALUES_DROPPED
            case .takenInToSettle: VAULTFMT_NOTE_TAKEN_IN_TO_SETTLE
            case .removalNotCarriedOut: VAULTFMT_NOTE_REMOVAL_NOT_CARRIED_OUT
            case .keptForDevice: VAULTFMT_NOTE_KEPT_FOR_DEVICE
            case .slotRemoved: VAULTFMT_NOTE_SLOT_REMOVED
            case .slotTaken: VAULTFMT_NOTE_SLOT_TAKEN
            case .slotChanged: VAULTFMT_NOTE_SLOT_CHANGED
            case .slotChangedInBoth: VAULTFMT_NOTE_SLOT_CHANGED_IN_BOTH
            case .slotLostGroups: VAULTFMT_NOTE_SLOT_LOST_GROUPS
            case .slotGainedGroups: VAULTFMT_NOTE_SLOT_GAINED_GROUPS
            case .slotAddedAgain: VAULTFMT_NOTE_SLOT_ADDED_AGAIN
            case .slotDropped: VAULTFMT_NOTE_SLOT_DROPPED
            case .slotNotCarriedOut: VAULTFMT_NOTE_SLOT_NOT_CARRIED_OUT
            case .extensionDiffers: VAULTFMT_NOTE_EXTENSION_DIFFERS
            case .damaged: VAULTFMT_NOTE_DAMAGED
            case .copyDamaged: VAULTFMT_NOTE_COPY_DAMAGED
            case .sharedKey: VAULTFMT_NOTE_SHARED_KEY
            case .settled: VAULTFMT_NOTE_SETTLED
            case .slotReadsMore: VAULTFMT_NOTE_SLOT_READS_MORE
            case .forgettingNotCarriedOut: VAULTFMT_NOTE_FORGETTING_NOT_CARRIED_OUT
            case .attributesNotRemoved: VAULTFMT_NOTE_ATTRIBUTES_NOT_REMOVED
            case .limitNotCarriedOut: VAULTFMT_NOTE_LIMIT_NOT_CARRIED_OUT
            case .slotsOfBoth: VAULTFMT_NOTE_SLOTS_OF_BOTH
            }
        return UInt32(number)
    }
}
