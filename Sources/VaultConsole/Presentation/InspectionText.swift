import VaultExchange
package import VaultFmt
import VaultLocal

/// A vault's description as human-readable text.
package enum InspectionText {
    /// Describes the parts of a vault that are visible without a key.
    package static func outside(
        _ view: Inspection, _ facts: FileFacts, path: String, slots: [SlotInfo], isVerbose: Bool
    ) -> String {
        var lines = [
            "file: \(TerminalText.escaped(path)), \(MemorySize.text(bytes: view.fileBytes)) (\(view.fileBytes) bytes)",
            "changed: \(Timestamp.short(facts.modified)) UTC",
            "permissions: \(facts.permissions)",
            "id: \(view.id)",
        ]
        if isVerbose { lines += ["format: \(view.version)", "header: \(view.headerBytes) bytes"] }
        for (number, slot) in slots.enumerated() {
            lines.append("slot \(number + 1): \(SlotText.line(slot))")
            lines.append("  \(SlotText.verdict(slot))")
        }
        for item in view.extensions {
            lines.append(
                "extension: \(TerminalText.escaped(item.name)), \(item.isCritical ? "critical" : "not critical"), "
                    + "\(item.isReadOnly ? "prevents other programs from writing, " : "")\(item.bytes) bytes")
        }
        for kind in view.objects where isVerbose {
            lines.append(
                "objects: \(kind.count) × \(TerminalText.escaped(kind.type)), \(MemorySize.text(bytes: kind.bytes))")
        }
        if case .clean = view.tail, !isVerbose { return lines.joined(separator: "\n") + "\n" }
        lines.append("tail: \(tail(view.tail))")
        return lines.joined(separator: "\n") + "\n"
    }

    /// Describes the parts of a vault that only a key holder can see.
    package static func inside(_ view: InsideView, isVerbose: Bool) -> String {
        let figures = view.statistics
        var lines = [
            "opened as: \(access(view.access))",
            "owners: \(view.owners)",
            "generation: \(figures.generation)",
            "items: \(figures.items)",
        ]
        for (itemClass, count) in figures.itemsByClass where count > 0 { lines.append("  \(itemClass.name): \(count)") }
        lines.append("items with earlier values or conflicts: \(figures.itemsWithPast)")
        lines.append("earlier values kept: at most \(figures.keptVersions) of each secret and sealed attribute")
        lines.append(
            "live: \(MemorySize.text(bytes: figures.liveBytes)), dead: \(MemorySize.text(bytes: figures.deadBytes))")
        let memory = figures.memoryLocked ? "locked" : "not locked: secrets may be swapped out; raise 'ulimit -l'"
        if isVerbose {
            lines.append("anchor: \(view.anchor)")
            lines.append("forgotten values: \(figures.forgottenValues)")
            if let replicas = figures.replicas { lines.append("replica ids: \(replicas)") }
            for compartment in figures.compartments { lines.append("compartment: \(line(compartment))") }
            lines.append("tree: depth \(figures.treeHeight)")
        }
        if isVerbose || !figures.memoryLocked { lines.append("memory: \(memory)") }
        if let blocked = figures.compactionBlocked {
            lines.append("compaction: cannot run automatically: \(TerminalText.singleLine(blocked))")
        }
        return lines.joined(separator: "\n") + "\n"
    }

    package static func tail(_ tail: TailState) -> String {
        switch tail {
        case .clean: "clean"
        case .torn(let bytes): "unfinished, \(bytes) bytes after the newest commit; the next change removes them"
        case .damaged(let bytes):
            "damaged, \(bytes) bytes with a commit that does not open; 'vaultfmt repair' sets them aside; 'vaultfmt salvage' recovers intact data"
        case .incomplete(let generation):
            "generation \(generation) is incomplete; 'vaultfmt salvage' recovers intact data"
        case .writeInProgress: "another process is writing"
        }
    }

    package static func access(_ access: Access) -> String {
        switch access {
        case .owner: "owner"
        case .scoped(let groups):
            "scoped to the groups \(groups.map { TerminalText.quoted($0) }.joined(separator: ", "))"
        }
    }

    private static func line(_ compartment: Statistics.Compartment) -> String {
        let device = compartment.device.map { ", device \($0)" } ?? ""
        return
            "group \(TerminalText.quoted(compartment.group)), \(compartment.accessibility.name)\(device), \(compartment.items) items"
    }
}
