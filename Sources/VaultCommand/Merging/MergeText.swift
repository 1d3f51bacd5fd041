import VaultFmt
import VaultLocal

/// The report of a merge for people: names, never secrets.
enum MergeText {
    /// Returns the lines for one copy: its outcome, then one line for each item and slot worth mentioning.
    static func lines(_ outcome: CopyOutcome, of vault: String) -> [String] {
        let name = TerminalText.path(outcome.path)
        var lines: [String] = []
        if let report = outcome.report {
            lines.append("\(name): \(summary(report))")
            lines += report.taken.map { "  taken: \(ItemText.summary($0))" }
            lines += report.supplemented.map {
                "  unchanged, but with other values in its history or to settle: \(ItemText.summary($0))"
            }
            lines += report.removed.map { "  removed: \(ItemText.summary($0))" }
            lines += report.notes.map { "  \(note($0))" }
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
        switch report.outcome {
        case .same: return "the same state; there is nothing to merge"
        case .ours: return "everything it contains is already here; there is nothing to merge"
        case .theirs: return "continues this vault, and \(report.isRehearsal ? "would replace" : "replaced") it"
        case .equal: return "has the same contents; \(would)joined without changing any item"
        case .merged:
            let base = report.base == .values ? ", without a common state that can be read" : ""
            let others = report.supplemented.count
            return
                "\(would)merged\(base): \(count(report.taken.count)) taken, \(count(report.removed.count)) removed"
                + (others == 0 ? "" : ", \(count(others)) with other values kept")
        case .adopted:
            return
                "was continued under replaced keys: values of \(count(report.taken.count)) \(would)taken as earlier values"
        }
    }

    static func count(_ items: Int) -> String { items == 1 ? "1 item" : "\(items) items" }

    private static func note(_ note: MergeReport.Note) -> String {
        switch note {
        case .conflict(let key, let fields):
            "both changed: \(ItemText.summary(key)): \(Self.fields(fields)); 'vaultfmt conflicts' settles it"
        case .keptAsEarlierValue(let key):
            "both changed: \(ItemText.summary(key)), which belongs to another device; the other value is kept as an earlier value"
        case .renamed(let key, let new):
            "two items had the same name: \(ItemText.summary(key)) is now \(ItemText.summary(new))"
        case .joined(let key): "two items had the same name and are now one: \(ItemText.summary(key))"
        case .removedUnconfirmed(let key):
            "removed, perhaps without knowledge of this value: \(ItemText.summary(key))"
        case .keptAgainstRemoval(let key):
            "removed in one copy but changed in the other, so it was kept: \(ItemText.summary(key))"
        case .removalNotCarriedOut(let key): "removed under the old keys, so it was kept: \(ItemText.summary(key))"
        case .notAdopted(let key): "could not be merged: \(ItemText.summary(key))"
        case .keptForDevice(let key):
            "belongs to another device and stays under a key that a former member of its group still has: \(ItemText.summary(key))"
        case .slotRemoved(let id, let name): "slot removed: \(slot(id, name))"
        case .slotNotTaken(let id, let name): "slot not kept; --keep-slots keeps it: \(slot(id, name))"
        case .slotTaken(let id, let name): "slot taken: \(slot(id, name))"
        case .slotLostGroups(let id, let name, let groups):
            "slot that no longer opens \(groups.map { TerminalText.quoted($0) }.joined(separator: ", ")): \(slot(id, name))"
        case .slotDropped(let id, let name): "slot of unknown type, dropped: \(slot(id, name))"
        case .slotRemovalNotCarriedOut(let id, let name):
            "slot removed under the old keys, so it was kept: \(slot(id, name))"
        case .extensionDiffers(let name):
            "extension differs; this vault's version was kept: \(TerminalText.quoted(name))"
        case .damaged(let what): "damaged in the vault: \(what)"
        }
    }

    private static func slot(_ id: SlotID, _ name: String) -> String {
        name.isEmpty ? id.description : "\(id) \(TerminalText.quoted(name))"
    }

    static func fields(_ fields: [ConflictField]) -> String { fields.map(field).joined(separator: ", ") }

    /// The name of a field, quoted if it is an attribute.
    static func field(_ field: ConflictField) -> String {
        switch field {
        case .secret: "secret"
        case .attribute(let name): TerminalText.quoted(name)
        case .keyField(let name): name
        case .accessibility: "accessibility"
        }
    }
}
