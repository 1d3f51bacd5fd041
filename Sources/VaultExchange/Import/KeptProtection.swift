import VaultFmt
import VaultLocal

/// The protection of an existing item, which an import does not change. Otherwise, someone who knows the identifiers of
/// a vault's entries could write a source that determines who can read those entries.
enum KeptProtection {
    /// Describes the parts that stay unchanged despite the source, and the changes to the item's name and group.
    ///
    /// - `asked`: The key that the source and the options request.
    /// - `target`: The new key of the item.
    static func parts(
        of item: Item, despite record: borrowing ImportRecord, _ asked: ItemKey?, _ target: ItemKey
    ) -> [String] {
        var parts: [String] = []
        if !isSameName(item.key, target) { parts.append("formerly \(ItemText.summary(item.key))") }
        if let asked, !isSameName(asked, target) {
            parts.append("named \(ItemText.summary(target)), because of a name conflict or its class")
        }
        if item.key.group != target.group {
            parts.append("moved from \(group(item.key.group)) to \(group(target.group)), with everything in it")
        }
        if let asked, target.group != asked.group {
            // Most sources do not have groups.
            let other = asked.group.isEmpty ? "" : ", not in \(group(asked.group)) as in the source"
            parts.append("stays in \(group(target.group))\(other)")
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
        return parts
    }

    /// Returns whether two keys differ at most in their groups.
    private static func isSameName(_ one: ItemKey, _ other: ItemKey) -> Bool {
        do throws(VaultError) { return try one.replacing(group: "") == other.replacing(group: "") } catch {
            return false
        }
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
