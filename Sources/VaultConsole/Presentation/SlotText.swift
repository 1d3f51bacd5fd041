import VaultExchange
package import VaultFmt
import VaultLocal

/// Human-readable descriptions of slots.
package enum SlotText {
    /// Describes a slot completely in one line.
    static func line(_ slot: SlotInfo) -> String {
        var parts = [slot.id.description]
        if let name = slot.name, !name.isEmpty { parts.append(TerminalText.quoted(name)) }
        parts += [slot.kind.name, factors(slot), cost(slot)]
        if slot.isWeak { parts.append(Style.standardOutput.apply(.warning, to: "weak")) }
        if let mark = RecipientList.mark(slot) { parts.append(mark) }
        if let groups = slot.groups {
            parts.append("groups \(groups.map { TerminalText.quoted($0) }.joined(separator: ", "))")
        }
        if slot.openedThis { parts.append("opened this") }
        return parts.filter { !$0.isEmpty }.joined(separator: ", ")
    }

    /// Describes the access that a slot grants, the cost of a guess at its factors, and whether that cost is
    /// sufficient; the date of the slot's last change is included if known.
    static func verdict(_ slot: SlotInfo) -> String {
        let opens =
            switch slot.kind {
            case .full: "opens everything"
            case .scoped: "opens some groups"
            case .unknown: "opens data that requires a newer vaultfmt"
            }
        let guess =
            switch slot.strength {
            case .ofKey: "its key cannot be guessed"
            case .stretched(let cost):
                "each guess takes \(MemorySize.text(kibibytes: cost.memoryKiB)) of memory and \(cost.passes) \(cost.passes == 1 ? "pass" : "passes") over it: "
                    + (slot.isWeak ? "too cheap; raise it with 'vaultfmt rekey'" : "good with a strong passphrase")
            case .unknown: "this version cannot rate its strength"
            }
        let changed = Timestamp.short(Int64(clamping: slot.revision >> 16))
        let date = slot.revision == 0 ? "" : ", changed \(changed) UTC"
        return "\(opens); \(guess)\(date)"
    }

    /// Returns the cost, such as "Argon2id 256 MiB/3/4", or an empty string for a slot without key derivation.
    package static func cost(_ slot: SlotInfo) -> String {
        guard let cost = slot.cost else { return slot.isKnown ? "" : "strength unknown" }
        return "Argon2id \(MemorySize.text(kibibytes: cost.memoryKiB))/\(cost.passes)/\(cost.lanes)"
    }

    /// Returns a short name for messages.
    package static func short(_ slot: SlotInfo) -> String {
        let name = slot.name.map { $0.isEmpty ? "" : " \(TerminalText.quoted($0))" } ?? ""
        return "\(slot.id)\(name) (\(slot.kind.name), \(factors(slot)))"
    }

    /// Returns the factors, such as "passphrase and key file"; for an external key, its provider is included.
    package static func factors(_ slot: SlotInfo) -> String {
        if let recipients = RecipientList.text(slot) {
            return slot.factors.contains(.passphrase) ? "passphrase and \(recipients)" : recipients
        }
        let text = slot.factors.description.isEmpty ? "unknown factors" : slot.factors.description
        return slot.provider.map { "\(text) of \(TerminalText.quoted($0))" } ?? text
    }

    /// Describes in one word how hard it is to open a slot without its factors.
    static func strength(_ slot: SlotInfo) -> String {
        switch slot.strength {
        case .ofKey: "key"
        case .stretched: "stretched"
        case .unknown: "unknown"
        }
    }

    /// Reports the side effects of an operation on slots.
    package static func report(_ change: SlotChange) {
        for slot in change.dropped {
            Terminal.warning("dropped slot \(short(slot)): this version cannot rewrap it for the new keys")
        }
        for key in change.keptForDevices {
            Terminal.warning(
                "kept under its old key, because it is bound to another device: \(ItemText.summary(key)); 'rekey --rotate' on that device replaces the key"
            )
        }
    }
}
