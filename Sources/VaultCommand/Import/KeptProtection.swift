import VaultFmt
import VaultLocal

/// How an item that exists is protected, which an import does not change: a source can be written by somebody who knows
/// the ids of a vault's entries, and would otherwise choose who can read them.
enum KeptProtection {
    /// Returns what stays although the source says something else; empty if they agree.
    static func text(of item: Item, despite record: borrowing ImportRecord, now target: ItemKey) -> String {
        var parts: [String] = []
        // Most sources know neither, and then there is nothing to say.
        if !record.key.group.isEmpty, target.group != record.key.group {
            parts.append("stays in \(group(target.group)), not in \(group(record.key.group)) as in the source")
        }
        if record.accessibility != .whenUnlocked, item.accessibility != record.accessibility {
            parts.append(
                "stays accessible '\(item.accessibility.name)', not '\(record.accessibility.name)' as in the source")
        }
        let sealed = record.attributes.all.filter { attribute in
            guard attribute.areFlagsStated, let old = item.attributes.attribute(attribute.name) else { return false }
            return !old.flags.subtracting(attribute.flags).isDisjoint(with: Attribute.Flags.protecting)
        }
        for attribute in sealed { parts.append("\(TerminalText.quoted(attribute.name)) stays sealed or concealed") }
        return parts.joined(separator: "; ")
    }

    private static func group(_ name: String) -> String {
        name.isEmpty ? "the default group" : "group \(TerminalText.quoted(name))"
    }
}

extension Attribute.Flags {
    /// The flags that restrict how a value is shown.
    static let protecting: Attribute.Flags = [.sealed, .concealed]
}

extension Attributes {
    /// Returns the attributes, each at least as protected as the item's attribute of the same name.
    func protected(like item: Item?) -> Attributes {
        guard let item else { return self }
        return Attributes(
            all.map { attribute in
                guard attribute.areFlagsStated, let old = item.attributes.attribute(attribute.name) else {
                    return attribute
                }
                return attribute.with(flags: attribute.flags.union(old.flags.intersection(.protecting)))
            })
    }
}
