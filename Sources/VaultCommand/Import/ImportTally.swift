import VaultFmt
import VaultLocal

/// The number of items for each outcome, with the names of items that already existed.
struct ImportTally {
    private var counts: [ImportSession.Action: Int] = [:]
    var earlierValues = 0
    var droppedEarlierValues = 0
    var displacedEarlierValues = 0
    /// The outcomes for items that already existed, with their places in the source; only the first few.
    private(set) var named: [String] = []
    /// The first few of those because of which an import is refused.
    private(set) var duplicateNames: [String] = []

    /// The maximum number of skipped, replaced or renamed items that are listed by name. A dry run lists all of them on
    /// standard output.
    private static let mostNamed = 1000

    var seen: Int { counts.values.reduce(0, +) }
    var duplicates: Int { counts[.duplicate] ?? 0 }

    /// Counts the outcome of an item, and keeps its name if it already existed.
    mutating func note(
        _ decision: ImportSession.Decision, _ record: borrowing ImportRecord, _ remarks: String
    ) {
        counts[decision.action, default: 0] += 1
        let what: String
        switch decision.action {
        case .add, .unchanged: return
        case .keepBoth: what = "kept both, this one as account \(TerminalText.quoted(decision.target.account ?? "")): "
        case .replace: what = "replaced: "
        case .update: what = "updated: "
        case .skip: what = "skipped: "
        case .copy: what = "skipped, an exact copy of an earlier entry: "
        case .keep where record.modified == nil:
            what = "left unchanged because the source does not say when it was changed: "
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

    /// The counts by their names in the JSON report.
    var members: [(String, Int)] {
        let actions: [(String, ImportSession.Action)] = [
            ("added", .add), ("keptBoth", .keepBoth), ("replaced", .replace), ("updated", .update), ("skipped", .skip),
            ("copies", .copy), ("unchanged", .unchanged), ("left", .keep),
        ]
        return actions.map { ($0, counts[$1] ?? 0) } + [
            ("earlierValues", earlierValues), ("droppedEarlierValues", droppedEarlierValues),
            ("displacedEarlierValues", displacedEarlierValues),
        ]
    }

    func report(verb: String, _ participle: String, _ policy: DuplicatePolicy, omitted: Int) {
        for line in named { Terminal.note(line) }
        let count = { (action: ImportSession.Action) in counts[action] ?? 0 }
        let (added, replaced) = (count(.add) + count(.keepBoth), count(.replace))
        let (updated, skipped, copies) = (count(.update), count(.skip), count(.copy))
        let unnamed = count(.keepBoth) + replaced + skipped + copies + updated + count(.keep) - named.count
        if unnamed > 0 { Terminal.note("… and \(unnamed) more") }
        let imported = added + replaced + updated
        var text = "\(verb) \(Self.items(imported))"
        if replaced > 0 { text += ", \(replaced) of them replacing others" }
        if updated > 0 { text += ", \(updated) of them changed since" }
        if earlierValues > 0 { text += ", with \(earlierValues) earlier \(earlierValues == 1 ? "value" : "values")" }
        if droppedEarlierValues > 0 {
            Terminal.warning(
                "not \(participle): \(droppedEarlierValues) earlier values, because the vault keeps fewer ('vaultfmt rekey --keep')"
            )
        }
        if displacedEarlierValues > 0 {
            let count = displacedEarlierValues == 1 ? "1 earlier value" : "\(displacedEarlierValues) earlier values"
            Terminal.warning(
                "\(count) of the vault gave way to the source's, because it keeps fewer ('vaultfmt rekey --keep')")
        }
        if skipped > 0 { text += "; skipped \(skipped) that already existed" }
        if copies > 0 { text += "; skipped \(copies) exact \(copies == 1 ? "copy" : "copies")" }
        if count(.unchanged) > 0 { text += "; \(count(.unchanged)) unchanged" }
        if count(.keep) > 0 { text += "; kept the vault's version of \(Self.items(count(.keep)))" }
        if count(.duplicate) > 0 { text += "; \(count(.duplicate)) already exist" }
        if omitted > 0 { text += "; left out \(omitted)" }
        let entries = seen + omitted
        if entries != imported { text += "; \(entries) \(entries == 1 ? "entry" : "entries") in the source" }
        Terminal.note(text)
    }

    private static func items(_ count: Int) -> String { "\(count) \(count == 1 ? "item" : "items")" }
}
