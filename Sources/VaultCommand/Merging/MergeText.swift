import VaultFmt
import VaultLocal

/// What a person is told of a merge: names, never secrets.
enum MergeText {
    /// The lines of one copy: what became of it, then one line for each item and slot worth knowing of.
    static func lines(_ outcome: CopyOutcome, of vault: String) -> [String] {
        let name = TerminalText.quoted(outcome.path)
        var lines: [String] = []
        if let report = outcome.report {
            lines.append("\(name): \(summary(report))")
            lines += report.taken.map { "  taken: \(ItemText.summary($0))" }
            lines += report.removed.map { "  removed: \(ItemText.summary($0))" }
            lines += report.notes.map { "  \(note($0))" }
        }
        if let failure = outcome.failure { lines.append("\(name): \(failure.message)") }
        if let place = outcome.movedTo { lines.append("\(name): moved to \(TerminalText.quoted(place))") }
        return lines
    }

    private static func summary(_ report: MergeReport) -> String {
        let would = report.isRehearsal ? "would be " : ""
        switch report.outcome {
        case .same: return "the same state; nothing to merge"
        case .ours: return "everything that it has is here; nothing to merge"
        case .theirs: return "continues this vault, and \(report.isRehearsal ? "would take" : "took") its place"
        case .equal: return "holds the same; \(would)joined without a change of any item"
        case .merged:
            let base = report.base == .values ? ", without a common state that can be read" : ""
            return "\(would)merged\(base): \(count(report.taken.count)) taken, \(count(report.removed.count)) removed"
        case .adopted:
            return
                "went on under keys that were replaced: values of \(count(report.taken.count)) \(would)taken as earlier values"
        }
    }

    static func count(_ items: Int) -> String { items == 1 ? "1 item" : "\(items) items" }

    private static func note(_ note: MergeReport.Note) -> String {
        switch note {
        case .conflict(let key, let fields):
            "both changed: \(ItemText.summary(key)): \(Self.fields(fields)); 'vaultfmt conflicts' settles it"
        case .keptAsEarlierValue(let key):
            "both changed: \(ItemText.summary(key)), of another device; the value that lost is an earlier value"
        case .renamed(let key, let new):
            "two items of one name: \(ItemText.summary(key)) is \(ItemText.summary(new)) now"
        case .joined(let key): "two items of one name, which are one now: \(ItemText.summary(key))"
        case .removedUnconfirmed(let key):
            "removed, and nobody knows whether with this value in view: \(ItemText.summary(key))"
        case .keptAgainstRemoval(let key): "removed by one, changed by the other, so it stays: \(ItemText.summary(key))"
        case .removalNotCarriedOut(let key): "removed under the old keys, stays: \(ItemText.summary(key))"
        case .notAdopted(let key): "could not be taken: \(ItemText.summary(key))"
        case .keptForDevice(let key):
            "of another device, stays under a key that a former holder of its group has: \(ItemText.summary(key))"
        case .slotRemoved(let id, let name): "slot removed: \(slot(id, name))"
        case .slotNotTaken(let id, let name): "slot not taken, --keep-slots takes it: \(slot(id, name))"
        case .slotTaken(let id, let name): "slot taken: \(slot(id, name))"
        case .slotLostGroups(let id, let name, let groups):
            "slot that no longer opens \(groups.map { TerminalText.quoted($0) }.joined(separator: ", ")): \(slot(id, name))"
        case .slotDropped(let id, let name): "slot of an unknown kind, dropped: \(slot(id, name))"
        case .slotRemovalNotCarriedOut(let id, let name): "slot removed under the old keys, stays: \(slot(id, name))"
        case .extensionDiffers(let name): "extension that differs, this vault's stays: \(TerminalText.quoted(name))"
        }
    }

    private static func slot(_ id: SlotID, _ name: String) -> String {
        name.isEmpty ? id.description : "\(id) \(TerminalText.quoted(name))"
    }

    static func fields(_ fields: [ConflictField]) -> String { fields.map(field).joined(separator: ", ") }

    /// A field's name; an attribute's is quoted.
    static func field(_ field: ConflictField) -> String {
        switch field {
        case .secret: "secret"
        case .attribute(let name): TerminalText.quoted(name)
        case .keyField(let name): name
        case .accessibility: "accessibility"
        }
    }
}
