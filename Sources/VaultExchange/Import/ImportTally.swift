import VaultFmt
import VaultLocal

/// The number of items for each outcome, with the names of items that already existed.
package struct ImportTally {
    private var counts: [ImportSession.Action: Int] = [:]
    package internal(set) var earlierValues = 0
    package internal(set) var droppedEarlierValues = 0
    package internal(set) var displacedEarlierValues = 0
    /// The outcomes for the first few items that already existed, with their places in the source.
    package private(set) var named: [String] = []
    /// The first few items that cause an import to be refused.
    package private(set) var duplicateNames: [String] = []

    /// The first few items whose seeds of one-time codes yield no codes, with their places and the reasons.
    package private(set) var withoutCodes: [String] = []
    /// The number of such items.
    package private(set) var withoutCodesCount = 0

    /// The maximum number of skipped, replaced or renamed items that are listed by name. A dry run lists all such items
    /// on standard output.
    private static let mostNamed = 1000

    /// Returns the number of items that had an outcome.
    package func count(_ action: ImportSession.Action) -> Int { counts[action] ?? 0 }

    package var seen: Int { counts.values.reduce(0, +) }
    package var duplicates: Int { counts[.duplicate] ?? 0 }

    /// Counts an item's outcome. Unless the item was added or is unchanged, also adds it to the list of named items.
    mutating func note(
        _ decision: ImportSession.Decision, _ record: borrowing ImportRecord, _ remarks: String
    ) {
        counts[decision.action, default: 0] += 1
        if decision.adds, !decision.renamesOnly { noteCodes(of: record) }
        let what: String
        switch decision.action {
        case .add, .unchanged: return
        case .keepBoth: what = "kept both, this one as account \(TerminalText.quoted(decision.target.account ?? "")): "
        case .replace: what = "replaced: "
        case .update: what = "updated: "
        case .skip: what = "skipped: "
        case .copy: what = "skipped, an exact copy of an earlier entry: "
        case .keep where record.modified == nil:
            what = "left unchanged because it has no change date in the source: "
        case .keep: what = "left unchanged because it was changed later in the vault: "
        case .duplicate:
            guard duplicateNames.count < 5 else { return }
            duplicateNames.append("\(ItemText.summary(record.key, label: record.attributes.label)) (\(record.place))")
            return
        }
        guard named.count < Self.mostNamed else { return }
        named.append(
            "\(what)\(ItemText.summary(record.key, label: record.attributes.label)) (\(record.place))"
                + (remarks.isEmpty ? "" : "; \(remarks)"))
    }

    private mutating func noteCodes(of record: borrowing ImportRecord) {
        guard let problem = record.codeProblem else { return }
        withoutCodesCount += 1
        guard withoutCodes.count < Self.mostNamed else { return }
        withoutCodes.append(
            "\(ItemText.summary(record.key, label: record.attributes.label)) (\(record.place)) keeps its one-time seed, "
                + "which gives no codes: \(problem)")
    }
}
