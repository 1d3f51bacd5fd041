import VaultExchange
import VaultFmt
import VaultLocal

/// Describes the differences between two states: names and fields, never values.
enum ChangesText {
    /// Returns a line for each item and for each change to the vault itself.
    static func lines(_ changes: VaultChanges) -> [String] {
        var lines = changes.items.map(line)
        lines += changes.addedGroups.map { "group added: \($0.isEmpty ? "(default)" : TerminalText.quoted($0))" }
        lines += changes.addedSlots.map { "slot added: \($0)" }
        lines += changes.changedSlots.map { "slot changed: \($0)" }
        lines += changes.removedSlots.map { "slot removed: \($0)" }
        if let kept = changes.keptVersions { lines.append("earlier values kept: \(kept)") }
        return lines
    }

    private static func line(_ change: VaultChanges.ItemChange) -> String {
        switch (change.before, change.after) {
        case (let before?, nil): return "- \(ItemText.summary(before))"
        case (nil, let after?): return "+ \(ItemText.summary(after))"
        case (let before?, let after?):
            var what = MergeText.fields(of: change)
            if change.hasOtherEarlierValues { what.append("earlier values") }
            if change.hasOtherConflicts { what.append("conflicts to settle") }
            let moved = before == after ? "" : " (was \(ItemText.summary(before)))"
            let details = what.isEmpty ? "" : ": \(what.joined(separator: ", "))"
            return "~ \(ItemText.summary(after))\(moved)\(details)"
        case (nil, nil): return ""
        }
    }
}

extension JSONWriter {
    /// Writes the members `items` (`change`, `id`, `before`, `after`, `fields`, `earlierValues`, `conflicts`),
    /// `addedGroups`, `addedSlots`, `changedSlots`, `removedSlots` and, if it was changed, `keptVersions`.
    mutating func members(of changes: VaultChanges) throws {
        try array("items") { writer in
            for item in changes.items { try writer.object { writer in try writer.members(of: item) } }
        }
        try array("addedGroups") { writer in for group in changes.addedGroups { try writer.value(group) } }
        let slots = [
            ("addedSlots", changes.addedSlots), ("changedSlots", changes.changedSlots),
            ("removedSlots", changes.removedSlots),
        ]
        for (name, ids) in slots {
            try array(name) { writer in for slot in ids { try writer.value(slot.description) } }
        }
        if let kept = changes.keptVersions { try member("keptVersions", kept) }
    }

    private mutating func members(of item: VaultChanges.ItemChange) throws {
        try member("change", item.before == nil ? "added" : item.after == nil ? "removed" : "changed")
        try member("id", item.item.description)
        for (label, key) in [("before", item.before), ("after", item.after)] {
            guard let key else { continue }
            try name(label)
            try object(naming: key)
        }
        try fields(item.fields)
        try member("earlierValues", item.hasOtherEarlierValues)
        try member("conflicts", item.hasOtherConflicts)
    }
}
