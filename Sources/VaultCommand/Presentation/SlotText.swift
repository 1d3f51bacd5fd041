import VaultFmt
import VaultLocal

/// A slot as people see it.
enum SlotText {
    /// One line that says everything about a slot.
    static func line(_ slot: SlotInfo) -> String {
        var parts = [slot.id.description]
        if let name = slot.name, !name.isEmpty { parts.append(TerminalText.quoted(name)) }
        parts += [slot.isFull ? "full" : "scoped", slot.factors.description, cost(slot)]
        if slot.isWeak { parts.append(Style.standardOutput.apply(.warning, to: "weak")) }
        if let groups = slot.groups, !slot.isFull {
            parts.append("groups \(groups.map { TerminalText.quoted($0) }.joined(separator: ", "))")
        }
        if slot.openedThis { parts.append("opened this") }
        return parts.filter { !$0.isEmpty }.joined(separator: ", ")
    }

    /// "256 MiB, 3 passes, 4 lanes", or nothing for a slot without key derivation.
    static func cost(_ slot: SlotInfo) -> String {
        guard let cost = slot.cost else { return "" }
        return "Argon2id \(MemorySize.text(kibibytes: cost.memoryKiB))/\(cost.passes)/\(cost.lanes)"
    }

    /// A short name for messages.
    static func short(_ slot: SlotInfo) -> String {
        let name = slot.name.map { $0.isEmpty ? "" : " \(TerminalText.quoted($0))" } ?? ""
        return "\(slot.id)\(name) (\(slot.isFull ? "full" : "scoped"), \(slot.factors.description))"
    }
}
