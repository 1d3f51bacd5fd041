public import VaultFmt
internal import VaultStore

/// A change that can be undone or redone.
public struct UndoStep: Sendable {
    /// The newest state of the vault.
    public let now: StateID
    /// The state whose items are restored.
    public let target: StateID
    /// The changes to undo, the newest first; for a redo, the changes to make again, the oldest first.
    public let entries: [LogEntry]
    /// The differences between the newest state and the target.
    public let changes: VaultChanges
    /// True if, as far as this machine knows, this machine made all of these changes.
    public let isMadeHere: Bool
    /// True if the step makes an undone change again.
    let isRedo: Bool
    /// The generation of the vault afterwards, from the user's point of view: the target's own generation or, if the
    /// target is itself an undo, the generation that the undo led to.
    let position: UInt64
    /// The generation of the last change that was not an undo; a redo cannot go beyond this generation.
    let origin: UInt64
}

/// The result of planning an undo or redo.
public enum UndoPlan: Sendable {
    /// The step to carry out.
    case step(UndoStep)
    /// There is nothing to do: the vault has no earlier state, or no undo that could be redone.
    case nothing
    /// Only this number of changes can be undone or redone.
    case fewer(Int)
    /// The file no longer contains the earlier state, because it was compacted or rewritten at this time (milliseconds
    /// since 1970).
    case gone(Int64)
}

/// Undo and redo. Each undo reverts one more change; a redo reverses an undo, unless the vault has been changed
/// otherwise. This machine recognises its own undos by its records; without a record, an undo is treated like any other
/// change.
extension Machine {
    /// Plans to undo the last changes.
    ///
    /// - Parameters:
    ///   - vault: The vault, opened by an owner.
    ///   - steps: The number of changes.
    /// - Returns: The changes to undo, or the reason why nothing can be undone.
    /// - Throws: `authenticationFailed` if an earlier commit is damaged.
    public func planUndo(of vault: Vault, steps: Int = 1) throws(VaultError) -> UndoPlan {
        var states = VisibleStates(vault, memory.ownCommits(of: vault.id))
        let start = try states.start()
        guard var entry = try states.entry(start.generation) else { return .gone(states.oldest) }
        var taken: [LogEntry] = []
        var target = entry
        while taken.count < steps {
            guard entry.changes != nil else { return .gone(entry.time) }
            guard let before = try states.before(entry), let visible = try states.visible(before) else {
                return taken.isEmpty ? .nothing : .fewer(taken.count)
            }
            // An undo does not affect groups or slots, so changes that affect only those are skipped.
            if entry.changesItems { taken.append(entry) }
            (target, entry) = (before, visible)
        }
        return .step(
            UndoStep(
                now: vault.state, target: target.state, entries: taken,
                changes: try vault.changes(undoingTo: target.state), isMadeHere: taken.allSatisfy(states.isMadeHere),
                isRedo: false,
                position: entry.state.generation, origin: start.origin))
    }

    /// Plans to redo the last changes that were undone.
    ///
    /// - Parameters:
    ///   - vault: The vault, opened by an owner.
    ///   - steps: The number of changes.
    /// - Returns: The changes to make again, or the reason why nothing can be redone.
    /// - Throws: `authenticationFailed` if an earlier commit is damaged.
    public func planRedo(of vault: Vault, steps: Int = 1) throws(VaultError) -> UndoPlan {
        var states = VisibleStates(vault, memory.ownCommits(of: vault.id))
        let start = try states.start()
        guard start.generation < start.origin, let newest = try states.entry(start.origin) else { return .nothing }
        var undone = [newest]
        var oldest = newest
        while let before = try states.before(oldest), let visible = try states.visible(before),
            visible.state.generation > start.generation
        {
            undone.append(visible)
            oldest = visible
        }
        // An undo skips the changes that affect only groups or slots, so they do not count here either.
        let redone = undone.reversed().filter(\.changesItems).prefix(max(steps, 0))
        guard let target = redone.last else { return .nothing }
        guard redone.count == steps else { return .fewer(redone.count) }
        return .step(
            UndoStep(
                now: vault.state, target: target.state, entries: Array(redone),
                changes: try vault.changes(undoingTo: target.state), isMadeHere: true, isRedo: true,
                position: target.state.generation, origin: start.origin))
    }

    /// Carries out a plan.
    ///
    /// - Parameters:
    ///   - step: The plan.
    ///   - vault: The vault for which the plan was made.
    /// - Throws: The same errors as `Vault.undo(to:from:)`.
    public func carryOut(_ step: UndoStep, on vault: Vault) throws(VaultError) {
        _ = try carryOutListingDropped(step, on: vault)
    }

    /// Carries out a plan, and returns the earlier values that were dropped although their items then list fewer than
    /// the vault keeps. `vault` can be a rehearsal of the vault for which the plan was made.
    package func carryOutListingDropped(_ step: UndoStep, on vault: Vault) throws(VaultError) -> [DroppedValue] {
        // Values that a merge left to settle did not exist before the merge, and do not exist after it is undone.
        let settles = step.isRedo || step.entries.contains(where: \.isMerge)
        let dropped = try vault.undo(to: step.target, from: step.now, settles: settles)
        // The memory is for changes of the file.
        guard vault.state != step.now, !vault.isRehearsal else { return dropped }
        let entry = OwnCommits.Entry(
            generation: vault.state.generation, chain: vault.state.chainValue, target: step.position,
            origin: step.origin)
        do throws(VaultError) { try memory.ownCommits(of: vault.id).note(entry) } catch {
            announcer.warning(
                "cannot record that this machine undid a change, so another 'undo' would reverse this one: \(error.description)"
            )
        }
        return dropped
    }
}

extension LogEntry {
    /// True if the change affects what an undo restores, or if the file no longer contains the state before it.
    fileprivate var changesItems: Bool {
        guard let changes else { return true }
        return !changes.items.isEmpty || changes.keptVersions != nil
    }
}

/// The states of a vault from the user's point of view: an undo is not a separate state, but represents the state that
/// it restored.
private struct VisibleStates {
    private let vault: Vault
    private let own: OwnCommits
    private var log: [LogEntry] = []
    /// True if the log contains every state in the file.
    private var isWhole = false

    init(_ vault: Vault, _ own: OwnCommits) {
        self.vault = vault
        self.own = own
    }

    /// The time at which the oldest state read so far was made.
    var oldest: Int64 { log.last?.time ?? 0 }

    /// Returns the generation whose items are in the newest state, and the greatest generation that a redo can restore.
    func start() throws(VaultError) -> (generation: UInt64, origin: UInt64) {
        let now = vault.state
        guard let entry = own.entry(now.generation, now.chainValue), entry.target != 0 else {
            return (now.generation, now.generation)
        }
        return (entry.target, entry.origin)
    }

    /// Returns the state of a generation, if the file contains it.
    mutating func entry(_ generation: UInt64) throws(VaultError) -> LogEntry? {
        try read(downTo: generation)
        return log.first { $0.state.generation == generation }
    }

    /// Returns the state before the given one; nil if the file does not contain that state.
    mutating func before(_ entry: LogEntry) throws(VaultError) -> LogEntry? {
        try read(downTo: entry.state.generation)
        guard let index = log.firstIndex(where: { $0.state == entry.state }), index + 1 < log.count else { return nil }
        let before = log[index + 1]
        // The entry is read again to include its own changes, because the last entry read may lack its predecessor.
        return try self.entry(before.state.generation)
    }

    /// Returns a state or, if it is an undo, the state that it restored.
    mutating func visible(_ entry: LogEntry) throws(VaultError) -> LogEntry? {
        guard let noted = own.entry(entry.state.generation, entry.state.chainValue), noted.target != 0,
            noted.target < entry.state.generation
        else { return entry }
        return try self.entry(noted.target)
    }

    /// Returns whether this machine made the change, and the change is not a merge.
    func isMadeHere(_ entry: LogEntry) -> Bool {
        own.entry(entry.state.generation, entry.state.chainValue) != nil && !entry.isMerge
    }

    /// Reads the log back to the state before a generation.
    private mutating func read(downTo generation: UInt64) throws(VaultError) {
        if isWhole { return }
        if let last = log.last, last.state.generation < generation { return }
        let (distance, overflow) = vault.state.generation.subtractingReportingOverflow(generation)
        guard !overflow else { return }
        let limit = Int(clamping: distance).addingReportingOverflow(2)
        guard !limit.overflow else { return }
        log = try vault.log(limit: limit.partialValue)
        isWhole = log.count < limit.partialValue
    }
}
