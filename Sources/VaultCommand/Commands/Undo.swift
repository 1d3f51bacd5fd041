import ArgumentParser
import VaultArguments
import VaultConsole
import VaultExchange
import VaultFmt
import VaultLocal
import VaultSync

/// `undo`: undoes the last change.
struct Undo: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "undo",
        abstract: "Undo the last change.",
        discussion: """
            An undo is itself a new change: 'vaultfmt redo' reapplies the change, and a secret that an undo replaces \
            becomes an earlier value of its item. If the item already has as many earlier values as the vault keeps, \
            the oldest is dropped, and neither undo nor redo restores it. Undo again to go further back. A merge, or a \
            change made by another machine, is undone only after confirmation; other machines receive the undo when \
            they next merge. The file contains earlier states until it is compacted or rewritten; a rotation and most \
            slot changes rewrite it.

            Examples:
              vaultfmt undo
              vaultfmt undo --steps 3 --dry-run
            """)

    @Option("Undo this many changes at once.", value: "number")
    var steps = 1

    @OptionGroup var options: UndoOptions

    func validate() throws {
        guard steps >= 1 else { throw ValidationError("--steps must be at least 1") }
    }

    func run() throws {
        let (opened, machine) = try options.open()
        switch try Progress.during("reading", { try machine.planUndo(of: opened, steps: steps) }) {
        case .step(let step):
            for entry in step.entries { Terminal.note("undo: \(UndoText.change(entry))") }
            try options.carryOut(step, on: opened, machine, "undone")
        case .nothing: throw CommandFailure(.noSuchItem, "there is nothing to undo: the vault has no earlier state")
        case .fewer(let count):
            throw CommandFailure(
                .noSuchItem,
                "only \(count) \(count == 1 ? "change" : "changes") can be undone; 'vaultfmt undo --steps \(count)' does that"
            )
        case .gone(let time):
            throw CommandFailure(
                .noSuchItem,
                "this cannot be undone: the file was compacted or rewritten at \(Timestamp.short(time)) UTC and no longer contains the earlier state; "
                    + "'vaultfmt history' shows earlier values; a backup may contain the rest")
        }
    }
}

/// `redo`: undoes an undo.
struct Redo: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "redo",
        abstract: "Redo a change that was undone.",
        discussion: """
            After several undos, each redo reapplies one change, in the order in which the changes were made. If \
            another change has been made since, there is nothing to redo.

            Examples:
              vaultfmt redo
              vaultfmt redo --steps 3 --dry-run
            """)

    @Option("Redo this many changes at once.", value: "number")
    var steps = 1

    @OptionGroup var options: UndoOptions

    func validate() throws {
        guard steps >= 1 else { throw ValidationError("--steps must be at least 1") }
    }

    func run() throws {
        let (opened, machine) = try options.open()
        switch try Progress.during("reading", { try machine.planRedo(of: opened, steps: steps) }) {
        case .step(let step):
            for entry in step.entries { Terminal.note("redo: \(UndoText.change(entry))") }
            try options.carryOut(step, on: opened, machine, "redone")
        case .fewer(let count):
            throw CommandFailure(
                .noSuchItem,
                "only \(count) \(count == 1 ? "change" : "changes") can be redone; 'vaultfmt redo --steps \(count)' does that"
            )
        case .nothing, .gone:
            throw CommandFailure(
                .noSuchItem, "there is nothing to redo: no change was undone, or another change has been made since")
        }
    }
}

/// The options and steps that `undo` and `redo` share.
struct UndoOptions: ParsableArguments {
    @Flag(help: "Show what would be done, without changing anything.")
    var dryRun = false

    @Flag(name: [.short, .long], help: "Do not ask for confirmation, even for a change made elsewhere.")
    var yes = false

    @OptionGroup var vault: VaultOptions

    func open() throws -> (Vault, Machine) {
        if !yes { ControllingTerminal.beginSeries() }
        return (try vault.openVault(writable: !dryRun), try ThisMachine.current())
    }

    /// Shows the changes, asks for confirmation unless this machine made them, and then undoes or redoes them.
    func carryOut(_ step: UndoStep, on vault: Vault, _ machine: Machine, _ done: String) throws {
        for line in UndoText.lines(step.changes) { Terminal.errorLine("  \(line)") }
        guard !dryRun else {
            // The same change is made in memory, so it fails and reports as it would in the file.
            let rehearsed = try vault.rehearsal(merges: false)
            try make(step, on: rehearsed, machine, done)
            if try rehearsed.log(limit: 2).count < 2 {
                Terminal.note("the file would be rewritten because it contains \(Self.oldRecord)")
            }
            return Terminal.note("nothing was changed (--dry-run)")
        }
        guard try isAllowed(step) else { throw CommandFailure.declined("nothing was changed") }
        ControllingTerminal.end()
        try make(step, on: vault, machine, done)
        let (way, back) = done == "undone" ? ("redo", "redoes") : ("undo", "undoes")
        guard try canBeReverted(vault, machine, done) else {
            return Terminal.note(
                "\(done); the file was rewritten because it contained \(Self.oldRecord): 'vaultfmt \(way)' cannot reverse this, and removed items cannot be restored"
            )
        }
        Terminal.note("\(done); 'vaultfmt \(way)' \(back) the change")
    }

    private static let oldRecord = "an old record or value that others could read but no longer should"

    /// Carries out a step on the vault, or on a rehearsal of it, and reports the consequences that both have.
    private func make(_ step: UndoStep, on vault: Vault, _ machine: Machine, _ done: String) throws {
        let before = vault.state
        let further =
            done == "undone" ? "'vaultfmt undo --steps NUMBER' goes back" : "'vaultfmt redo --steps NUMBER' goes on"
        let dropped: [DroppedValue]
        do {
            dropped = try Progress.during(dryRun ? "comparing" : "writing") {
                try machine.carryOutListingDropped(step, on: vault)
            }
        } catch let error as VaultError where error.code == .invalidArgument {
            // The state is not one that can be restored; the command itself was correct.
            throw CommandFailure(
                .unavailable, "this cannot be \(done): \(error.description); \(further) further", code: error.code)
        }
        guard vault.state != before else {
            throw CommandFailure(
                .noSuchItem,
                "this cannot be \(done): the change only added or forgot earlier values, and an undo leaves those as they are; "
                    + "\(further) further")
        }
        DroppedValues.report(dropped, in: vault)
        guard step.entries.contains(where: \.isMerge) || !step.isMadeHere else { return }
        Terminal.note(
            "other machines \(dryRun ? "would" : "will") follow: this is a change like any other, so what is \(done) here is \(done) on them too, "
                + "with their next merge")
    }

    /// Returns whether the file still contains the states that the step needs: a change that narrows who can read an
    /// item rewrites the file.
    private func canBeReverted(_ vault: Vault, _ machine: Machine, _ done: String) throws -> Bool {
        let plan = done == "undone" ? try machine.planRedo(of: vault) : try machine.planUndo(of: vault, steps: 1)
        if case .step = plan { return true }
        return false
    }

    private func isAllowed(_ step: UndoStep) throws -> Bool {
        if yes || step.isMadeHere { return true }
        guard !vault.access.noInput, Prompt.isPossible else {
            throw CommandFailure(
                .usage,
                "this machine has no record of making the change, and other machines would follow, so nothing was undone; inspect it with --dry-run, then use --yes"
            )
        }
        return try Prompt.confirm(
            "This machine has no record of making this change, and other machines will follow. Undo it anyway?",
            instead: "use --yes")
    }
}

/// Describes an undo using the names of items, never their secrets.
enum UndoText {
    private static let most = 20

    /// Describes one change in the log on a single line.
    static func change(_ entry: LogEntry) -> String {
        var text = "the change at \(Timestamp.short(entry.time)) UTC (generation \(entry.state.generation))"
        if entry.isMerge { text += ", a merge" }
        return text
    }

    /// Lists the differences, one line per item.
    static func lines(_ changes: VaultChanges) -> [String] {
        var lines = changes.items.prefix(most).map(line)
        if changes.items.count > most { lines.append("… and \(changes.items.count - most) more items") }
        if let kept = changes.keptVersions { lines.append("earlier values kept: \(kept)") }
        return lines
    }

    private static func line(_ change: VaultChanges.ItemChange) -> String {
        switch (change.before, change.after) {
        case (let gone?, nil): return "removed again: \(ItemText.summary(gone))"
        case (nil, let back?): return "back: \(ItemText.summary(back))"
        case (let before?, let after?):
            var what = MergeText.fields(of: change)
            if change.hasOtherConflicts, what.isEmpty { what.append("values to settle") }
            if change.hasOtherEarlierValues, what.isEmpty { what.append("earlier values") }
            let moved = before == after ? "" : " (now \(ItemText.summary(before)))"
            return "as before: \(ItemText.summary(after))\(moved): \(what.joined(separator: ", "))"
        case (nil, nil): return ""
        }
    }
}
