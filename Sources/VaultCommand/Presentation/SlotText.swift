import VaultFmt
import VaultLocal

/// A slot as people see it.
enum SlotText {
    /// One line that says everything about a slot.
    static func line(_ slot: SlotInfo) -> String {
        var parts = [slot.id.description]
        if let name = slot.name, !name.isEmpty { parts.append(TerminalText.quoted(name)) }
        parts += [slot.kind.name, factors(slot), cost(slot)]
        if slot.isWeak { parts.append(Style.standardOutput.apply(.warning, to: "weak")) }
        if let groups = slot.groups {
            parts.append("groups \(groups.map { TerminalText.quoted($0) }.joined(separator: ", "))")
        }
        if slot.openedThis { parts.append("opened this") }
        return parts.filter { !$0.isEmpty }.joined(separator: ", ")
    }

    /// "256 MiB, 3 passes, 4 lanes", or nothing for a slot without key derivation.
    static func cost(_ slot: SlotInfo) -> String {
        guard let cost = slot.cost else { return slot.isKnown ? "" : "strength unknown" }
        return "Argon2id \(MemorySize.text(kibibytes: cost.memoryKiB))/\(cost.passes)/\(cost.lanes)"
    }

    /// A short name for messages.
    static func short(_ slot: SlotInfo) -> String {
        let name = slot.name.map { $0.isEmpty ? "" : " \(TerminalText.quoted($0))" } ?? ""
        return "\(slot.id)\(name) (\(slot.kind.name), \(factors(slot)))"
    }

    /// "passphrase and key file", with who makes an external key.
    static func factors(_ slot: SlotInfo) -> String {
        let text = slot.factors.description.isEmpty ? "unknown factors" : slot.factors.description
        return slot.provider.map { "\(text) of \(TerminalText.quoted($0))" } ?? text
    }

    /// How hard it is to open without its factors, in a word.
    static func strength(_ slot: SlotInfo) -> String {
        switch slot.strength {
        case .ofKey: "key"
        case .stretched: "stretched"
        case .unknown: "unknown"
        }
    }

    /// Says what else an operation on slots did.
    static func report(_ change: SlotChange) {
        for slot in change.dropped {
            Terminal.warning("dropped slot \(short(slot)): this version cannot give it the new keys")
        }
        for key in change.keptForDevices {
            Terminal.warning(
                "kept under its old key, for it is bound to another device: \(ItemText.summary(key)); it gets a new one when that device changes it"
            )
        }
    }
}
