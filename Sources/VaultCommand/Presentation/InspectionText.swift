import VaultFmt
import VaultLocal

/// A vault's description as lines for people.
enum InspectionText {
    /// What is known without a key.
    static func outside(_ view: Inspection, path: String, slots: [SlotInfo]) -> String {
        var lines = [
            "file: \(TerminalText.escaped(path)), \(MemorySize.text(bytes: view.fileBytes)) (\(view.fileBytes) bytes)",
            "format: \(view.version)",
            "id: \(view.id)",
            "header: \(view.headerBytes) bytes",
        ]
        for (number, slot) in slots.enumerated() { lines.append("slot \(number + 1): \(SlotText.line(slot))") }
        for item in view.extensions {
            lines.append(
                "extension: \(TerminalText.escaped(item.name)), \(item.isCritical ? "critical" : "not critical"), "
                    + "\(item.isReadOnly ? "keeps others from writing, " : "")\(item.bytes) bytes")
        }
        for kind in view.objects {
            lines.append(
                "objects: \(kind.count) × \(TerminalText.escaped(kind.type)), \(MemorySize.text(bytes: kind.bytes))")
        }
        lines.append("tail: \(tail(view.tail))")
        return lines.joined(separator: "\n") + "\n"
    }

    /// What a key holder sees.
    static func inside(_ view: InsideView) -> String {
        let figures = view.statistics
        var lines = [
            "opened as: \(access(view.access))",
            "owners: \(view.owners)",
            "generation: \(figures.generation)",
            "anchor: \(view.anchor)",
            "items: \(figures.items)",
        ]
        for (itemClass, count) in figures.itemsByClass where count > 0 { lines.append("  \(itemClass.name): \(count)") }
        lines.append("earlier values: \(figures.earlierValues), an item keeps \(figures.keptVersions)")
        lines.append("tombstones: \(figures.tombstones)")
        for compartment in figures.compartments { lines.append("compartment: \(line(compartment))") }
        lines += [
            "live: \(MemorySize.text(bytes: figures.liveBytes)), dead: \(MemorySize.text(bytes: figures.deadBytes))",
            "tree: depth \(figures.treeHeight)",
            "memory: \(figures.memoryLocked ? "locked" : "not locked: secrets may be swapped out; raise 'ulimit -l'")",
        ]
        if let blocked = figures.compactionBlocked {
            lines.append("compaction: cannot run by itself: \(TerminalText.singleLine(blocked))")
        }
        return lines.joined(separator: "\n") + "\n"
    }

    static func tail(_ tail: TailState) -> String {
        switch tail {
        case .clean: "clean"
        case .torn(let bytes): "unfinished, \(bytes) bytes after the newest commit; the next change cuts it off"
        case .damaged(let bytes):
            "damaged, \(bytes) bytes with a commit that does not open; 'vaultfmt repair' puts them aside; 'vaultfmt salvage' can read what is there"
        case .incomplete(let generation):
            "generation \(generation) is incomplete; 'vaultfmt salvage' can read what is there"
        case .writeInProgress: "another process is writing"
        }
    }

    static func access(_ access: Access) -> String {
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
