import VaultExchange
import VaultFmt

/// The lines that `salvage` prints about items: each item once, with everything that is known about it.
struct SalvageText {
    private let report: SalvageReport
    private let includesUnproven: Bool
    private var order: [ItemKey] = []
    private var all: [ItemKey: Facts] = [:]

    /// Everything that is known about one item.
    private struct Facts {
        /// How the item was recovered, in phrases that follow "recovered".
        var ways: [String] = []
        /// The key under which the item was recovered, if that key differs from the item's own.
        var recovered: ItemKey?
        var isRecovered = false
        /// The fate of the state that is not proven.
        var unproven: String?
        /// The reason why the item is lost.
        var loss: String?
        /// True if nothing needs attention but the lost entry in the index.
        var isNote = true
    }

    init(_ report: SalvageReport, includesUnproven: Bool) {
        self.report = report
        self.includesUnproven = includesUnproven
        // An item that was recovered under a former name is reported under its name in the unproven state.
        let names = Dictionary(
            report.recoveredInstead.map { ($0.recovered, $0.key) }, uniquingKeysWith: { first, _ in first })
        for (keys, way, isNote) in Self.ways(report) {
            for key in keys {
                note(names[key] ?? key) {
                    $0.ways.append(way)
                    $0.isNote = $0.isNote && isNote
                }
            }
        }
        for loss in report.lost { note(loss.key) { $0.loss = loss.reason } }
        noteUnproven()
    }

    private static func ways(_ report: SalvageReport) -> [(keys: [ItemKey], way: String, isNote: Bool)] {
        [
            (report.withoutIndex, "without the index", true),
            (report.older, "with an older secret", false),
            (report.fromConflict, "with a value that was left to settle, because its secret is damaged", false),
            (report.partial, "in part", false),
            (report.uncommitted, "from a change whose commit is damaged or missing, not proven", false),
            (report.keptProven, "with the proven secret as an earlier value", false),
            (report.removedLater, "although it was removed by a change whose commit is damaged or missing", false),
        ]
    }

    private mutating func note(_ key: ItemKey, _ change: (inout Facts) -> Void) {
        if all[key] == nil { order.append(key) }
        change(&all[key, default: Facts()])
    }

    private mutating func noteUnproven() {
        let origin = "not proven to come from an owner"
        let included = Set(report.recoveredUnproven)
        let instead = Dictionary(
            report.recoveredInstead.map { ($0.key, $0.recovered) }, uniquingKeysWith: { first, _ in first })
        let fate = includesUnproven ? "cannot be read" : "left out"
        for key in report.unproven {
            note(key) { facts in
                facts.isNote = false
                if included.contains(key) {
                    facts.unproven = "\(origin), included"
                } else if let recovered = instead[key] {
                    facts.isRecovered = true
                    facts.recovered = recovered == key ? nil : recovered
                    facts.unproven = "another state, \(origin), \(fate)"
                } else {
                    facts.unproven = facts.loss == nil ? "\(origin), \(fate)" : "a state \(origin), \(fate)"
                }
            }
        }
    }

    /// One line for each item that is not simply recovered, in the order of the report; `isNote` is false if the item
    /// needs attention.
    var lines: [(text: String, isNote: Bool)] {
        var lines: [(text: String, isNote: Bool)] = []
        for key in order {
            guard let facts = all[key] else { continue }
            let reason = facts.loss.map { ": \($0)" } ?? ""
            let text = "\(Self.parts(facts).joined(separator: "; ")): \(ItemText.summary(key))\(reason)"
            lines.append((text, facts.isNote && facts.loss == nil))
        }
        return lines
    }

    private static func parts(_ facts: Facts) -> [String] {
        var parts: [String] = []
        if facts.isRecovered || !facts.ways.isEmpty {
            let place = facts.recovered.map { " as \(ItemText.summary($0))" } ?? ""
            let ways = facts.ways.isEmpty ? "" : " \(facts.ways.joined(separator: ", "))"
            parts.append("recovered\(place)\(ways)")
        }
        if facts.loss != nil { parts.append("lost") }
        if let unproven = facts.unproven { parts.append(unproven) }
        return parts
    }

    /// The number of items of which an unproven state was left out because the user did not ask for it.
    var leftOut: Int { includesUnproven ? 0 : report.unproven.count }

    /// The option that recovers what was left out; nil if nothing was.
    var adviceOnLeftOut: String? {
        guard leftOut > 0 else { return nil }
        let (items, check) =
            leftOut == 1 ? ("1 item", "check the item") : ("\(leftOut) items", "check each of these items")
        return "left out what is not proven to come from an owner: a state of \(items); "
            + "--include-unproven recovers that too, into another new file; \(check) before you trust it"
    }

    /// The number of items that were recovered with less than they had, in parentheses; empty if there are none.
    var lesser: String {
        let counts = [
            (report.partial.count, "in part"), (report.older.count, "with an older secret"),
            (report.fromConflict.count, "with a value to settle"),
            (report.withoutIndex.count, "without the index"), (report.recoveredUnproven.count, "not proven"),
        ].filter { $0.0 > 0 }.map { "\($0) \($1)" }
        return counts.isEmpty ? "" : " (\(counts.joined(separator: ", ")))"
    }

    /// Text such as "lost 2" or, if the number is not known, the reason.
    var losses: String {
        let known = UInt64(report.lost.count) + report.unnamed
        let obstacles = report.countingObstacles
        guard !obstacles.isEmpty else { return "lost \(known)" }
        let number = known == 0 ? "lost: unknown number" : "lost: at least \(known), but an unknown number"
        return "\(number), because \(obstacles.joined(separator: ", and "))"
    }
}
