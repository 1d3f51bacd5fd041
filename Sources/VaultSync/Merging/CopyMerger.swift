import VaultArguments
import VaultConsole
import VaultExchange
import VaultFmt
import VaultLocal

/// The outcome for one copy.
struct CopyOutcome {
    let path: String
    var report: MergeReport?
    /// The reason why the copy was not merged.
    var failure: CommandFailure?
    /// The path to which the copy was moved.
    var movedTo: String?
    /// True if the file is unrelated to the vault, although its name looks like a copy's name.
    var isUnrelated = false
    /// True if the copy was left in place because a person may have named it.
    var mayBeNamedByPerson = false
    /// The bytes after the merged state in the copy's file, which show whether part of the copy may be missing.
    var tail = TailState.clean
    /// True if the vault has conflicts to settle, either from this copy or from before.
    var leavesConflicts = false

    /// True if items show no secret any more, or came without one; the report names them and the reasons.
    var losesSecrets: Bool { report?.missingSecrets.isEmpty == false }

    /// True if changes under replaced keys, which the report names, were not carried out.
    var leavesChangesToRepeat: Bool { report?.leavesChangesToRepeat == true }

    /// True if full slots of both copies open the vault, although the copies had none in common.
    var hasSlotsOfBoth: Bool { report?.hasSlotsOfBoth == true }
}

/// Merges copies of a vault into it.
struct CopyMerger {
    let path: String
    let access: AccessOptions
    var options: MergeOptions
    /// The copies' factors, if they differ from the vault's factors.
    var otherFactors: FactorSources?
    /// True to merge changes that the user has dropped here.
    var acceptsDropped = false
    /// The canonical path of the vault, if `path` is a temporary file.
    var place: String?
    /// True to check the vault against the state that this machine remembers, and to update that state.
    var isWatched = true
    /// Called with the path of the copy, to ask for confirmation before anything from a branch under replaced keys is
    /// merged.
    var confirm: (MergeReport, _ copy: String) throws -> Bool = { _, _ in true }
    /// Advice on how to open a copy that has other factors.
    var factorAdvice = "give them with --other-passphrase-file, --other-key-file or --other-raw-key-file"

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
        let state: StateID
        let mark: FileMark?
        /// The bytes after the state in the file, which show whether the file's writer was interrupted or the file was
        /// not copied completely.
        let tail: TailState
        /// True if a person could have named the copy; see `ConflictCopies.Candidate`.
        var mayBeNamedByPerson = false
        /// Opens the copy. Copies left by syncers are not kept open, because there can be any number of them.
        let open: () throws -> Vault
    }

    // MARK: named copies

    /// Merges all copies, newest first. If one fails, the copies that were merged before it stay merged.
    func merge(_ others: [String]) throws -> [CopyOutcome] {
        let first = try access.open(path, anchors: .ignore)
        try refuseStranger(first)
        var copies: [Copy] = []
        for other in others {
            let vault = try naming(other) { try open(other, of: first) }
            copies.append(Copy(path: other, state: vault.state, mark: nil, tail: vault.tail) { vault })
        }
        Self.sort(&copies)
        let target = try target(first, copies)
        var outcomes: [CopyOutcome] = []
        for copy in copies {
            let merged = options.isRehearsal ? [] : outcomes
            let done = try naming(copy.path, after: merged) {
                try merge(try copy.open(), copy.path, into: target.vault)
            }
            guard var outcome = done else {
                throw CommandFailure.declined("\(TerminalText.path(copy.path)) was not merged")
            }
            outcome.tail = copy.tail
            outcomes.append(outcome)
        }
        try finish(target, &outcomes)
        return outcomes
    }

    private static let nothingMerged = "nothing was merged"

    /// Calls `body`, which opens or merges a copy. A failure names the copy, and the copies that were merged before it.
    private func naming<R>(_ copy: String, after merged: [CopyOutcome] = [], _ body: () throws -> R) throws -> R {
        do { return try body() } catch {
            guard error is CommandFailure || error is VaultError else { throw error }
            let (failure, name) = (CommandFailure(error), TerminalText.path(copy))
            var message = failure.message
            if !message.contains(name) { message = "\(name): \(message)" }
            if merged.isEmpty {
                if !message.contains(Self.nothingMerged) { message += "; \(Self.nothingMerged)" }
            } else {
                let before = merged.map { TerminalText.path($0.path) }.joined(separator: ", ")
                message = message.replacing(Self.nothingMerged, with: "it was not merged")
                message += "; merged before it: \(before)"
            }
            throw CommandFailure(failure.status, message, code: failure.code)
        }
    }

    /// Merges one copy into a vault that is open for writing; returns nil if the user declined.
    /// - `name`: The copy's name in messages.
    func merge(_ other: String, called name: String, into vault: Vault) throws -> CopyOutcome? {
        let copy = try open(other, called: name, of: vault)
        var outcome = try merge(copy, name, into: vault)
        outcome?.tail = copy.tail
        return outcome
    }

    /// Opens a copy with the key that opened the vault or, failing that, with its own factors.
    private func open(_ other: String, called name: String? = nil, of vault: Vault) throws -> Vault {
        guard try UserFiles.exists(other) else {
            throw CommandFailure(.noSuchFile, "there is no vault \(TerminalText.path(other)); check the path")
        }
        let id = try whileOpening { try Vault.id(at: other) }
        guard id == vault.id else {
            throw CommandFailure(
                .usage,
                "\(TerminalText.path(other)) is another vault (\(id)), not a copy of \(TerminalText.path(path)) (\(vault.id)); "
                    + "'vaultfmt copy --all --vault \(TerminalText.word(other)) --to \(TerminalText.word(path)) --on-duplicate update-newer' copies its items into it"
            )
        }
        let name = name ?? TerminalText.path(other)
        if let copy = try access.openCopy(other, of: vault, called: name) { return copy }
        do {
            if let otherFactors {
                return try access.open(
                    other, with: otherFactors.read(), writable: false, anchors: .ignore, called: name)
            }
            return try access.withFactors(other, called: name) { given in
                try access.open(other, with: given, writable: false, anchors: .ignore, called: name)
            }
        } catch let failure as CommandFailure where failure.status == .noAccess {
            throw CommandFailure(
                failure.status,
                "\(name) has other factors than this copy: \(failure.message); \(factorAdvice)",
                code: failure.code)
        }
    }

    // MARK: conflict copies

    /// Merges the copies that syncers left, and moves each aside once the vault has its contents. A file that is not a
    /// copy, or that cannot be merged, is reported and left in place; no factor is tried on it.
    func mergeConflictCopies() throws -> [CopyOutcome] {
        let first = try access.open(path, anchors: .ignore)
        try refuseStranger(first)
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
                        path: other, state: vault.state, mark: mark, tail: vault.tail,
                        mayBeNamedByPerson: candidate.mayBeNamedByPerson
                    ) { try openLeft(other, of: first, showsTail: false) })
            } catch  where candidate.mayBeNamedByPerson && Self.isNoCopy(error) {
                unread.append(CopyOutcome(path: other, failure: error as? CommandFailure))
            } catch let other as OtherVault {
                outcomes.append(other.outcome)
            } catch {
                var outcome = CopyOutcome(path: other, failure: CommandFailure(error))
                // An older backup may have other keys; the user is told that it was not merged, but the merge does not fail.
                outcome.isUnrelated = candidate.mayBeNamedByPerson && outcome.failure?.status == .noAccess
                outcomes.append(outcome)
            }
        }
        Self.sort(&copies)
        let target = try Self.preferring(outcomes + unread) { try self.target(first, copies) }
        var done: [(copy: Copy, index: Int)] = []
        for copy in copies {
            do {
                let vault = try copy.open()
                // The part of an incomplete copy that has not arrived yet may contain something new.
                if copy.mayBeNamedByPerson, copy.tail.endOfCopy == nil, try !hasNews(vault, for: target.vault) {
                    continue
                }
                var outcome = try merge(vault, copy.path, into: target.vault) ?? CopyOutcome(path: copy.path)
                outcome.mayBeNamedByPerson = copy.mayBeNamedByPerson
                (outcome.tail, outcome.failure) = (copy.tail, Self.failure(copy.tail))
                // What is damaged in the vault may be intact in the copy.
                let isLeft =
                    outcome.mayBeNamedByPerson || copy.tail != .clean || outcome.report?.hasDamage == true
                outcomes.append(outcome)
                if !isLeft { done.append((copy, outcomes.endIndex - 1)) }
            } catch {
                outcomes.append(CopyOutcome(path: copy.path, failure: CommandFailure(error)))
            }
        }
        try Self.preferring(outcomes + unread) { try finish(target, &outcomes) }
        // The copies are not moved until now, because a copy may be needed to prove that the vault continues the state
        // that this machine remembers.
        if !options.isRehearsal { moveAside(done, &outcomes) }
        return outcomes
    }

    /// Returns whether an error shows that a file named like a copy is another vault or not a vault at all.
    private static func isNoCopy(_ error: any Error) -> Bool {
        guard let failure = error as? CommandFailure else { return error is OtherVault }
        return failure.code == .notAVault || failure.status == .usage
    }

    private func moveAside(_ copies: [(copy: Copy, index: Int)], _ outcomes: inout [CopyOutcome]) {
        for (copy, index) in copies {
            do { outcomes[index].movedTo = try moveAside(copy) } catch {
                outcomes[index].failure = CommandFailure(error)
            }
        }
    }

    /// Throws the failure to read or write a copy, if there was one, instead of the error that refuses the vault: with
    /// that copy, the vault might have continued the state that this machine remembers, and the user should not accept
    /// anything until the copy has been merged.
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

    /// Opens a copy with nothing but the key that opened the vault, so that a planted header cannot trigger a key
    /// derivation.
    /// - `showsTail`: False if the copy has been opened before, and a notice has described its end.
    private func openLeft(_ other: String, of vault: Vault, showsTail: Bool = true) throws -> Vault {
        let id = try whileOpening { try Vault.id(at: other) }
        guard id == vault.id else {
            throw OtherVault(path: other, id: id)
        }
        guard
            let copy = try access.openCopy(
                other, of: vault, called: TerminalText.path(other), showsTail: showsTail)
        else {
            throw CommandFailure(
                .noAccess,
                "does not open with this vault's key; if you trust it, merge it by name: 'vaultfmt merge VAULT COPY'",
                code: .noSlotOpens)
        }
        guard copy.tail != .writeInProgress else {
            throw CommandFailure(.busy, "is being written to; merge again later")
        }
        return copy
    }

    /// Returns whether a copy has changes that the vault lacks. An older backup has no such changes.
    private func hasNews(_ copy: Vault, for vault: Vault) throws -> Bool {
        var comparison = options
        (comparison.onlyCompares, comparison.keepsNewerValues) = (true, true)
        do throws(VaultError) {
            return ![.same, .ours].contains(try vault.merge(copy, options: comparison).outcome)
        } catch {
            throw failure(error, mergingWith: copy)
        }
    }

    /// Returns the reason why a copy is left in place although it has been merged.
    private static func failure(_ tail: TailState) -> CommandFailure? {
        guard let end = tail.endOfCopy else { return nil }
        return CommandFailure(
            .incomplete,
            "\(end), so it was left in place; wait until the rest has been synced and merge again, or delete it")
    }

    private func moveAside(_ copy: Copy) throws -> String {
        guard try FileMark(copy.path) == copy.mark else {
            throw CommandFailure(.busy, "was changed while it was being merged; run the command again")
        }
        return try MovedAside.move(copy.path, of: path)
    }

    // MARK: merging

    /// Sorts the copies, newest first. The result of the merge does not depend on their order, but merging the first
    /// may make the others unnecessary.
    private static func sort(_ copies: inout [Copy]) {
        copies.sort { left, right in
            let (one, other) = (left.state, right.state)
            guard one.generation == other.generation else { return one.generation > other.generation }
            return other.chain.lexicographicallyPrecedes(one.chain)
        }
    }

    /// Refuses a vault in whose place this machine knows another one, before it is compared with the copies. Only they
    /// show whether an older or different history of the same vault is accepted; see `target`.
    private func refuseStranger(_ vault: Vault) throws {
        guard isWatched else { return }
        let machine = try ThisMachine.current()
        do throws(VaultError) { try machine.check(vault) } catch {
            guard [.forked, .rolledBack].contains(error.code) else { throw CommandFailure(error) }
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
            let machine = try ThisMachine.current()
            guard [.forked, .rolledBack].contains(refusal.code),
                let remembered = try machine.remembered(first.id, at: path) ?? machine.remembered(first.id),
                try copies.contains(where: { copy in
                    try [.same, .descends].contains(copy.open().verdict(on: remembered.anchor))
                })
            else { throw refusal }
            if !acceptsDropped { try check(first, into: first) }
            return (try reopen(first, isWatched: false), true)
        }
    }

    /// Checks that a vault that this machine would have refused continues the remembered state once the copies are
    /// merged, and notes whether anything is left to settle: a copy may have had conflicts already.
    private func finish(_ target: (vault: Vault, needsCheck: Bool), _ outcomes: inout [CopyOutcome]) throws {
        if target.needsCheck, !options.isRehearsal {
            if acceptsDropped { try check(target.vault, into: target.vault) }
            try ThisMachine.current().check(target.vault)
        }
        let isUnsettled = try outcomes.contains { $0.report != nil } && !target.vault.conflicts().isEmpty
        guard isUnsettled else { return }
        for index in outcomes.indices where outcomes[index].report != nil { outcomes[index].leavesConflicts = true }
    }

    /// Opens the vault again for merging; a dry run merges into a rehearsal of it, as the merge does into the vault.
    private func reopen(_ vault: Vault, isWatched: Bool) throws -> Vault {
        guard
            let again = try access.openCopy(
                path, of: vault, writable: !options.isRehearsal, isWatched: isWatched, showsTail: false)
        else {
            throw CommandFailure(.busy, "another program has just changed the keys of the vault; try again")
        }
        guard options.isRehearsal else { return again }
        do throws(VaultError) { return try again.rehearsal(merges: true) } catch { throw Self.failure(error) }
    }

    /// Refuses a copy that contains changes that the user has dropped here, unless the user asked for them.
    private func check(_ other: Vault, into vault: Vault) throws {
        let machine = try ThisMachine.current()
        do throws(VaultError) {
            try machine.checkMerge(of: other, into: vault, takesDropped: acceptsDropped, at: place)
        } catch {
            guard error.code == .forked else { throw error }
            throw CommandFailure(
                .damaged,
                "\(error.detail); nothing was merged: 'vaultfmt merge --accept-dropped' takes them in again",
                code: error.code)
        }
    }

    /// - Returns: Nil if the user declined.
    private func merge(_ other: Vault, _ name: String, into vault: Vault) throws -> CopyOutcome? {
        if !acceptsDropped { try check(other, into: vault) }
        if options.acceptsOldKeys, !options.isRehearsal {
            var rehearsal = options
            rehearsal.isRehearsal = true
            let report: MergeReport
            do throws(VaultError) { report = try vault.merge(other, options: rehearsal) } catch {
                throw Self.failure(error)
            }
            if report.outcome == .adopted, try !confirm(report, name) { return nil }
        }
        let report = try merge(other, into: vault)
        // The check is not done until now, so that a failed merge does not restore what was dropped. A dry run forgets
        // nothing.
        if acceptsDropped, !options.isRehearsal { try check(other, into: vault) }
        let leavesConflicts =
            try report.leavesValuesToSettle || report.outcome == .theirs && !other.conflicts().isEmpty
        return CopyOutcome(path: name, report: report, leavesConflicts: leavesConflicts)
    }

    private func merge(_ other: Vault, into vault: Vault) throws -> MergeReport {
        let progress = Progress("merging", of: "items")
        defer { progress.finish() }
        var options = options
        options.keepsNewerValues = true
        // A dry run of several copies merges each into the result of the ones before it.
        if vault.isRehearsal { options.isRehearsal = false }
        let report: MergeReport
        do throws(VaultError) {
            report = try vault.merge(other, options: options) { done, total in progress.update(done, of: total) }
        } catch {
            throw failure(error, mergingWith: other)
        }
        progress.finish()
        if !report.isRehearsal { NarrowingOption.noteRewriting(RemnantCounts(report.remnants)) }
        return report
    }

    /// Returns the failure of a merge. If an item's list of earlier values is damaged, both files are named.
    private func failure(_ error: VaultError, mergingWith other: Vault) -> CommandFailure {
        guard error.hasDamagedPast else { return Self.failure(error) }
        return CommandFailure(
            ExitStatus(error),
            "\(error.description); nothing was merged: the vault is \(TerminalText.path(path)), and the other copy is \(TerminalText.path(other.path)); "
                + "'vaultfmt forget ITEM --all --vault FILE' drops the list in one of these files",
            code: error.code)
    }

    private static func failure(_ error: VaultError) -> CommandFailure {
        switch error.code {
        case .foreignOwner
        where [VaultError.replacedKeysLater.detail, VaultError.replacedKeysEarlier.detail].contains(error.detail):
            CommandFailure(
                ExitStatus(error),
                "\(error.description); nothing was merged: compare 'vaultfmt slot list' of both, run 'vaultfmt rekey --rotate' on the one whose slots are right, unless it is the later one, and merge the other into it with --accept-old-keys",
                code: error.code)
        case .foreignOwner:
            CommandFailure(
                ExitStatus(error),
                "\(error.description); nothing was merged: see 'vaultfmt merge --help', --accept-old-keys",
                code: error.code)
        case .noSlotOpens where error.detail == VaultError.slotsInUseGone.detail:
            CommandFailure(
                ExitStatus(error),
                "\(error.description); nothing was merged: give the factors of such a slot, or the other copy's with --other-passphrase-file, --other-key-file or --other-raw-key-file",
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
    /// A description of how a copy with this tail ends; nil if the copy is complete.
    var endOfCopy: String? {
        switch self {
        case .clean, .writeInProgress: nil
        case .torn: "ends within a change"
        case .damaged, .incomplete: "ends with changes that cannot be read"
        }
    }
}
