import VaultConsole
import VaultExchange
package import VaultFmt
import VaultLocal

/// The human-readable report of a merge: names, never secrets.
package enum MergeText {
    /// Returns the lines for one copy: its outcome, then one line for each item and slot worth mentioning.
    static func lines(_ outcome: CopyOutcome, of vault: String) -> [String] {
        let name = TerminalText.path(outcome.path)
        var lines: [String] = []
        if let report = outcome.report {
            lines.append("\(name): \(summary(report))")
            // Anyone with a replaced key could have added the item, so it shows nothing until it is settled (R-8.25).
            let limits = report.outcome == .adopted ? ", without secret and attributes until you settle it" : ""
            lines += report.added.map { "  added\(limits): \(ItemText.summary($0))" }
            lines += report.taken.map { "  changed: \(ItemText.summary($0))" }
            lines += report.supplemented.map {
                "  unchanged, but with other values in its history or to settle: \(ItemText.summary($0))"
            }
            lines += report.removed.map { "  removed: \(ItemText.summary($0))" }
            lines += report.notes.map { "  \(note($0, in: report))" }
            if let limit = report.limit { lines.append("  earlier values kept: \(limit)") }
        }
        if let failure = outcome.failure { lines.append("\(name): \(failure.message)") }
        if outcome.mayBeNamedByPerson, outcome.report?.isRehearsal == false {
            lines.append("\(name): left in place, because you may have named it; everything in it is in the vault now")
        }
        if let place = outcome.movedTo { lines.append("\(name): moved to \(TerminalText.path(place))") }
        return lines
    }

    private static func summary(_ report: MergeReport) -> String {
        let would = report.isRehearsal ? "would be " : ""
        var counts =
            "\(count(report.added.count)) added, \(report.taken.count) changed, \(report.removed.count) removed"
        let settled = report.notes.count { if case .settled = $0 { true } else { false } }
        if settled > 0 { counts += ", \(settled) settled" }
        if !report.supplemented.isEmpty { counts += ", \(report.supplemented.count) with other values kept" }
        switch report.outcome {
        case .same: return "the same state; there is nothing to merge"
        case .ours: return "everything it contains is already here; there is nothing to merge"
        case .theirs:
            return
                "includes every change of this vault, and \(report.isRehearsal ? "would replace" : "replaced") it: \(counts)"
        case .merged: return "\(would)merged: \(counts)"
        case .adopted:
            let changed = report.notes.count { if case .takenInToSettle = $0 { true } else { false } }
            let items = report.added.count + changed
            return
                "was continued under replaced keys: values of \(count(items)) \(would)taken in, to settle or as earlier values"
        }
    }

    /// Returns a line for each finding, up to the number of lines that a person can be expected to read.
    static func noteLines(_ report: MergeReport) -> [String] {
        let most = 50
        let lines = report.notes.prefix(most).map { note($0, in: report) }
        return report.notes.count > most ? lines + ["… and \(report.notes.count - most) more"] : lines
    }

    package static func count(_ items: Int) -> String { items == 1 ? "1 item" : "\(items) items" }

    private static func note(_ note: MergeReport.Note, in report: MergeReport) -> String {
        switch note {
        case .conflict(let key, let fields):
            "both changed: \(ItemText.summary(key)): \(Self.fields(fields)); 'vaultfmt conflicts' settles it"
        case .settled(let key): "settled in the other copy: \(ItemText.summary(key))"
        case .keptAgainstRemoval(let key):
            "removed in one copy but changed in the other, so it was kept: \(ItemText.summary(key))"
        case .renamed(let key, let new): "renamed: \(ItemText.summary(key)) is now \(ItemText.summary(new))"
        case .withoutSecret(let key):
            (report.missingSecrets[key] ?? .unknown).line(key)
        case .keptForSplitID(let key):
            "two machines used the same replica id, so it is not known whether this item was removed; it was kept: \(ItemText.summary(key))"
        case .earlierValuesDropped(let key):
            "had no room for all earlier values; the oldest were dropped: \(ItemText.summary(key))"
        case .takenInToSettle(let key):
            "values under the old keys, to settle or as earlier values: \(ItemText.summary(key))"
        case .removalNotCarriedOut(let key):
            "removed under the old keys, so it \(was(report)): \(ItemText.summary(key)); 'vaultfmt remove' removes it again"
        case .forgettingNotCarriedOut(let key, let fields):
            "values forgotten under the old keys, so they \(were(report)): \(ItemText.summary(key)): \(Self.fields(fields)); 'vaultfmt forget' forgets them again"
        case .attributesNotRemoved(let key, let fields):
            "attributes removed under the old keys, so they \(were(report)): \(ItemText.summary(key)): \(Self.fields(fields)); 'vaultfmt update --remove-attribute' removes them again"
        case .limitNotCarriedOut(let count):
            "earlier values to keep, set to \(count) under the old keys; that change was not carried out; 'vaultfmt rekey --keep \(count)' repeats it"
        case .keptForDevice(let key):
            "belongs to another device and stays under a key that a former member of its group still has: \(ItemText.summary(key))"
        case .slotRemoved(let id, let name): "slot removed: \(slot(id, name))"
        case .slotTaken(let id, let name): "slot added: \(slot(id, name))"
        case .slotChanged(let id, let name): "slot with the other copy's name and factors: \(slot(id, name))"
        case .slotChangedInBoth(let id, let name, let isOurs):
            "both copies changed this slot's name, passphrase or key; \(isOurs ? "this vault's" : "the other copy's") was set later and is used now: \(slot(id, name))"
        case .slotLostGroups(let id, let name, let groups):
            "slot that no longer opens \(list(groups)): \(slot(id, name))"
        case .slotGainedGroups(let id, let name, let groups): "slot that also opens \(list(groups)): \(slot(id, name))"
        case .slotReadsMore(let id, let name, let groups):
            "slot that was granted \(list(groups)) in one copy and can now read what the other copy put there: \(slot(id, name))"
        case .slotAddedAgain(let id, let name):
            "between them, the two copies had removed every full slot, so the one that opened this vault was added again, and the others are gone: \(slot(id, name))"
        case .slotsOfBoth(let id, let name):
            "the two copies had no full slot in common, so the full slots of both open the vault; 'vaultfmt slot remove' removes an unwanted one: \(slot(id, name))"
        case .slotDropped(let id, let name): "slot of unknown type, dropped: \(slot(id, name))"
        case .slotNotCarriedOut(let id, let name):
            "slot added, changed or removed under the old keys; that change was not carried out; 'vaultfmt slot' repeats it: \(slot(id, name))"
        case .extensionDiffers(let name):
            "extension differs; this vault's version was kept: \(TerminalText.quoted(name))"
        case .sharedKey(let key, let other):
            "two items, one from each copy, have the same name: \(ItemText.summary(key)) and \(ItemText.summary(other)); 'vaultfmt move' renames one"
        case .damaged(let what): "damaged in the vault: \(what)"
        case .copyDamaged(let what): "damaged in the other copy, and not taken from it: \(what)"
        }
    }

    /// The fate of something that was taken away under replaced keys. A machine that follows the rotation did not
    /// have it before.
    private static func was(_ report: MergeReport) -> String { report.outcome == .theirs ? "is back" : "was kept" }

    private static func were(_ report: MergeReport) -> String { report.outcome == .theirs ? "are back" : "were kept" }

    private static func slot(_ id: SlotID, _ name: String) -> String {
        name.isEmpty ? id.description : "\(id) \(TerminalText.quoted(name))"
    }

    private static func list(_ groups: [String]) -> String {
        groups.map { TerminalText.quoted($0) }.joined(separator: ", ")
    }

    static func fields(_ fields: [ConflictField]) -> String { fields.map(field).joined(separator: ", ") }

    /// The names of the fields that a change has set, with the part of an item's place that differs.
    package static func fields(of change: VaultChanges.ItemChange) -> [String] {
        change.fields.map { field in
            guard field == .place else { return Self.field(field) }
            guard change.hasOtherAccessibility else { return "group" }
            guard let before = change.before, let after = change.after,
                before.group.utf8.elementsEqual(after.group.utf8)
            else { return Self.field(field) }
            return "accessibility"
        }
    }

    /// The name of a field, in quotes if the field is an attribute.
    package static func field(_ field: ConflictField) -> String {
        switch field {
        case .secret: "secret"
        case .attribute(let name): TerminalText.quoted(name)
        case .key: "name"
        case .place: "group and accessibility"
        }
    }
}
