import VaultFmt
import VaultLocal

/// The outcome for one copy.
struct CopyOutcome {
    let path: String
    var report: MergeReport?
    /// The reason it was not merged.
    var failure: CommandFailure?
    /// The path it was moved to.
    var movedTo: String?
    /// Whether the file is unrelated to the vault, although its name looks like that of a copy.
    var isUnrelated = false
    /// Whether it was left in place because a person may have named it.
    var mayBeNamedByPerson = false
    /// Whether the vault has conflicts to settle, from this copy or from before.
    var leavesConflicts = false

    /// Whether items were removed that the copy may have known only as they were earlier.
    var hasUnconfirmedRemovals: Bool { report?.hasUnconfirmedRemovals == true }
}

extension MergeReport {
    fileprivate var hasUnconfirmedRemovals: Bool {
        notes.contains { if case .removedUnconfirmed = $0 { true } else { false } }
    }

    /// Whether a person has to look at the result.
    var needsAttention: Bool { hasConflicts || hasUnconfirmedRemovals }
}

/// Merges copies of a vault into it.
struct CopyMerger {
    let path: String
    let access: AccessOptions
    var options: MergeOptions
    /// Whether this machine checks the vault against the state it remembers, and updates that state.
    var isWatched = true
    /// Called for confirmation before anything from a branch under replaced keys is merged, with the path of the copy.
    var confirm: (MergeReport, _ copy: String) throws -> Bool = { _, _ in true }

    private struct OtherVault: Error {
        let path: String
        let id: VaultID

        var outcome: CopyOutcome {
            CopyOutcome(
                path: path, failure: CommandFailure(.usage, "another vault (\(id)), which was left unchanged"),
                isUnrelated: !ConflictCopies.isMarked(path))
        }
    }

    private struct Copy {
        let path: String
        let anchor: Anchor
        let mark: FileMark?
        /// Whether it ends within a change, because its writer was interrupted or because it was not copied to its end.
        var isCut = false
        /// Whether a person could have named it; see `ConflictCopies.Candidate`.
        var mayBeNamedByPerson = false
        /// Opens the copy. There can be any number of copies, so those that syncers left are not kept open.
        let open: () throws -> Vault
    }

    // MARK: named copies

    /// Merges all copies, newest first. If one fails, copies that were merged before it stay merged.
    func merge(_ others: [String], base: String?) throws -> [CopyOutcome] {
        let first = try access.open(path, anchors: .ignore)
        var copies: [Copy] = []
        for other in others {
            let vault = try open(other, of: first)
            copies.append(Copy(path: other, anchor: vault.anchor, mark: nil) { vault })
        }
        Self.sort(&copies)
        var merger = self
        if let base { merger.options.base = .file(try open(base, of: first)) }
        let target = try merger.target(first, copies)
        var outcomes: [CopyOutcome] = []
        for copy in copies {
            if let report = try merger.merge(try copy.open(), into: target.vault) {
                outcomes.append(CopyOutcome(path: copy.path, report: report))
            }
        }
        try finish(target, &outcomes)
        return outcomes
    }

    /// Merges one copy into a vault that is open for writing; returns nil if the user declined.
    func merge(_ other: String, into vault: Vault) throws -> MergeReport? {
        try merge(open(other, of: vault), into: vault)
    }

    /// Opens a copy with the key that opened the vault or, failing that, with its own factors.
    private func open(_ other: String, of vault: Vault) throws -> Vault {
        guard try UserFiles.exists(other) else {
            throw CommandFailure(.noSuchFile, "there is no vault \(TerminalText.path(other)); check the path")
        }
        let id = try whileOpening { try Vault.id(at: other) }
        guard id == vault.id else {
            throw CommandFailure(
                .usage,
                "\(TerminalText.path(other)) is another vault (\(id)), not a copy of \(TerminalText.path(path)) (\(vault.id)); "
                    + "export its items and import them")
        }
        return try access.openCopy(other, of: vault) ?? access.open(other, anchors: .ignore)
    }

    // MARK: conflict copies

    /// Merges the copies that syncers left, and moves aside those if the vault now has their contents. A file that is
    /// not a copy, or that cannot be merged, is reported and left in place; no factor is tried on it.
    func mergeConflictCopies() throws -> [CopyOutcome] {
        let first = try access.open(path, anchors: .ignore)
        let candidates = try ConflictCopies.candidates(of: path)
        var outcomes: [CopyOutcome] = []
        var copies: [Copy] = []
        var unread: [CopyOutcome] = []
        for candidate in candidates {
            let other = candidate.path
            do {
                let mark = try FileMark(other)
                let vault = try openLeft(other, of: first)
                copies.append(
                    Copy(
                        path: other, anchor: vault.anchor, mark: mark, isCut: vault.tail != .clean,
                        mayBeNamedByPerson: candidate.mayBeNamedByPerson
                    ) { try openLeft(other, of: first) })
            } catch  where candidate.mayBeNamedByPerson {
                unread.append(CopyOutcome(path: other, failure: error as? CommandFailure))
            } catch let other as OtherVault {
                outcomes.append(other.outcome)
            } catch {
                outcomes.append(CopyOutcome(path: other, failure: CommandFailure(error)))
            }
        }
        Self.sort(&copies)
        let target = try Self.preferring(outcomes + unread) { try self.target(first, copies) }
        for copy in copies {
            var outcome = CopyOutcome(path: copy.path)
            do {
                if copy.mayBeNamedByPerson, try !hasNews(try copy.open(), for: target.vault) { continue }
                outcome.report = try merge(try copy.open(), into: target.vault)
                if copy.isCut { throw Self.cut }
                outcome.mayBeNamedByPerson = copy.mayBeNamedByPerson
                // What is damaged in the vault may be intact in the copy.
                if !options.isRehearsal, !copy.mayBeNamedByPerson, outcome.report?.hasDamage != true {
                    outcome.movedTo = try moveAside(copy)
                }
            } catch {
                outcome.failure = CommandFailure(error)
            }
            outcomes.append(outcome)
        }
        try Self.preferring(outcomes + unread) { try finish(target, &outcomes) }
        return outcomes
    }

    /// Replaces the refusal of a vault by the failure to read or write a copy, if there is one: with that copy, the vault
    /// might have continued what this machine remembers, and there is nothing to accept until the copy has been merged.
    private static func preferring<R>(_ outcomes: [CopyOutcome], _ body: () throws -> R) throws -> R {
        do { return try body() } catch {
            guard [.forked, .rolledBack].contains(CommandFailure(error).code),
                let failed = outcomes.first(where: { $0.failure?.status == .io || $0.failure?.status == .busy }),
                let failure = failed.failure
            else { throw error }
            throw CommandFailure(
                failure.status, "\(TerminalText.path(failed.path)) was not merged: \(failure.message)",
                code: failure.code)
        }
    }

    /// Opens a copy only with the key that opened the vault: a planted header must not trigger a key derivation.
    private func openLeft(_ other: String, of vault: Vault) throws -> Vault {
        let id = try whileOpening { try Vault.id(at: other) }
        guard id == vault.id else {
            throw OtherVault(path: other, id: id)
        }
        guard let copy = try access.openCopy(other, of: vault) else {
            throw CommandFailure(
                .noAccess,
                "does not open with this vault's key; if you trust it, merge it by name: 'vaultfmt merge VAULT COPY'",
                code: .noSlotOpens)
        }
        guard copy.tail.isReadWhole else {
            throw CommandFailure(
                .incomplete, "has changes that cannot be read, so it was left unchanged; see 'vaultfmt verify'")
        }
        return copy
    }

    /// Whether a copy has changes that the vault lacks. A backup has none.
    private func hasNews(_ copy: Vault, for vault: Vault) throws -> Bool {
        var rehearsal = options
        rehearsal.isRehearsal = true
        do throws(VaultError) {
            return ![.same, .ours, .equal].contains(try vault.merge(copy, options: rehearsal).outcome)
        } catch {
            throw Self.failure(error)
        }
    }

    private static let cut = CommandFailure(
        .incomplete,
        "ends within a change, so it was left in place; wait until the rest has been synced and merge again, or delete it"
    )

    private func moveAside(_ copy: Copy) throws -> String {
        guard try FileMark(copy.path) == copy.mark else {
            throw CommandFailure(.busy, "was changed while it was being merged; run the command again")
        }
        return try MovedAside.move(copy.path, of: path)
    }

    // MARK: merging

    /// Sorts the copies; the one with the greatest state comes first.
    private static func sort(_ copies: inout [Copy]) {
        copies.sort { left, right in
            let (one, other) = (left.anchor, right.anchor)
            guard one.generation == other.generation else { return one.generation > other.generation }
            return other.chain.lexicographicallyPrecedes(one.chain)
        }
    }

    /// Opens the vault for merging and checks it against what this machine remembers. A syncer may have replaced it
    /// with another machine's copy. A different history is accepted if one of the copies continues the remembered
    /// state, because the merged vault then continues it too.
    private func target(_ first: Vault, _ copies: [Copy]) throws -> (vault: Vault, needsCheck: Bool) {
        guard isWatched else { return (try reopen(first, isWatched: false), false) }
        do {
            return (try reopen(first, isWatched: true), false)
        } catch let refusal as CommandFailure {
            guard [.forked, .rolledBack].contains(refusal.code),
                let remembered = try ThisMachine.current().remembered(first.id),
                try copies.contains(where: { copy in
                    try [.same, .descends].contains(copy.open().verdict(on: remembered.anchor))
                })
            else { throw refusal }
            return (try reopen(first, isWatched: false), true)
        }
    }

    /// Checks that a vault that this machine would have refused continues the remembered state once the copies are
    /// merged, and notes whether anything is left to settle: a copy may also have had conflicts already.
    private func finish(_ target: (vault: Vault, needsCheck: Bool), _ outcomes: inout [CopyOutcome]) throws {
        if target.needsCheck, !options.isRehearsal { try ThisMachine.current().check(target.vault) }
        let isUnsettled = try outcomes.contains { $0.report != nil } && !target.vault.conflicts().isEmpty
        for index in outcomes.indices where outcomes[index].report != nil {
            outcomes[index].leavesConflicts = isUnsettled || outcomes[index].report?.hasConflicts == true
        }
    }

    private func reopen(_ vault: Vault, isWatched: Bool) throws -> Vault {
        guard let again = try access.openCopy(path, of: vault, writable: !options.isRehearsal, isWatched: isWatched)
        else { throw CommandFailure(.busy, "another program has just changed the keys of the vault; try again") }
        return again
    }

    /// - Returns: Nil if the user declined.
    private func merge(_ other: Vault, into vault: Vault) throws -> MergeReport? {
        if options.acceptsOldKeys, !options.isRehearsal {
            var rehearsal = options
            rehearsal.isRehearsal = true
            let report = try vault.merge(other, options: rehearsal)
            if report.outcome == .adopted, try !confirm(report, other.path) { return nil }
        }
        let progress = Progress("merging", of: "items")
        defer { progress.finish() }
        do throws(VaultError) {
            return try vault.merge(other, options: options) { done, total in progress.update(done, of: total) }
        } catch {
            throw Self.failure(error)
        }
    }

    private static func failure(_ error: VaultError) -> CommandFailure {
        switch error.code {
        case .foreignOwner:
            CommandFailure(
                ExitStatus(error),
                "\(error.description); nothing was merged: see 'vaultfmt merge --help', --accept-old-keys",
                code: error.code)
        case .authenticationFailed, .structureInvalid, .headerInvalid:
            CommandFailure(
                ExitStatus(error),
                "\(error.description); nothing was merged: run 'vaultfmt verify' on both to see which is damaged",
                code: error.code)
        default: CommandFailure(opened: error)
        }
    }
}

extension TailState {
    /// Whether everything that could contain a change has been read.
    fileprivate var isReadWhole: Bool {
        switch self {
        case .clean, .torn: true
        case .writeInProgress, .damaged, .incomplete: false
        }
    }
}
