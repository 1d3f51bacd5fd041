import VaultFmt
import VaultLocal

/// What became of one copy.
struct CopyOutcome {
    let path: String
    var report: MergeReport?
    /// Why it was not merged.
    var failure: CommandFailure?
    /// Where it was moved.
    var movedTo: String?
    /// Whether the file has nothing to do with the vault, although its name could be that of a copy.
    var isUnrelated = false
}

/// Merges copies of a vault into it.
struct CopyMerger {
    let path: String
    let access: AccessOptions
    var options: MergeOptions
    /// Whether this machine compares the vault with what it remembers, and remembers it.
    var isWatched = true
    /// Asked before what a branch under replaced keys has comes in.
    var confirm: (MergeReport) throws -> Bool = { _ in true }

    private struct OtherVault: Error {
        let path: String
        let id: VaultID

        var outcome: CopyOutcome {
            CopyOutcome(
                path: path, failure: CommandFailure(.usage, "another vault (\(id)), which is left as it is"),
                isUnrelated: !ConflictCopies.isMarked(path))
        }
    }

    private struct Copy {
        let path: String
        let vault: Vault
        let mark: FileMark?
    }

    // MARK: named copies

    /// Merges all of them, the newest first, or throws; what was merged before a failure stays merged.
    func merge(_ others: [String], base: String?) throws -> [CopyOutcome] {
        let first = try access.open(path, anchors: .ignore)
        var copies: [Copy] = []
        for other in others { copies.append(Copy(path: other, vault: try open(other, of: first), mark: nil)) }
        Self.sort(&copies)
        var merger = self
        if let base { merger.options.base = .file(try open(base, of: first)) }
        let target = try merger.target(first, copies)
        var outcomes: [CopyOutcome] = []
        for copy in copies {
            if let report = try merger.merge(copy.vault, into: target.vault) {
                outcomes.append(CopyOutcome(path: copy.path, report: report))
            }
        }
        try finish(target)
        return outcomes
    }

    /// Merges one copy into a vault that is open for writing. Nil if the user declined.
    func merge(_ other: String, into vault: Vault) throws -> MergeReport? {
        try merge(open(other, of: vault), into: vault)
    }

    /// Opens a copy by the key that opened the vault, else by factors.
    private func open(_ other: String, of vault: Vault) throws -> Vault {
        guard try UserFiles.exists(other) else {
            throw CommandFailure(.noSuchFile, "there is no vault \(TerminalText.quoted(other)); check the path")
        }
        let id = try whileOpening { try Vault.id(at: other) }
        guard id == vault.id else {
            throw CommandFailure(
                .usage,
                "\(TerminalText.quoted(other)) is another vault (\(id)), not a copy of \(TerminalText.quoted(path)) (\(vault.id)); "
                    + "export its items and import them")
        }
        return try access.openCopy(other, of: vault) ?? access.open(other, anchors: .ignore)
    }

    // MARK: conflict copies

    /// Merges what syncers left, and moves aside what the vault has then. A copy that is none, or cannot be merged, is
    /// named and stays; no factor is tried on it.
    func mergeConflictCopies() throws -> [CopyOutcome] {
        let first = try access.open(path, anchors: .ignore)
        let paths = try ConflictCopies.paths(of: path)
        var outcomes: [CopyOutcome] = []
        var copies: [Copy] = []
        for other in paths.prefix(ConflictCopies.most) {
            do {
                let mark = try FileMark(other)
                copies.append(Copy(path: other, vault: try openLeft(other, of: first), mark: mark))
            } catch let other as OtherVault {
                outcomes.append(other.outcome)
            } catch {
                outcomes.append(CopyOutcome(path: other, failure: CommandFailure(error)))
            }
        }
        Self.sort(&copies)
        let target = try target(first, copies)
        for copy in copies {
            var outcome = CopyOutcome(path: copy.path)
            do {
                outcome.report = try merge(copy.vault, into: target.vault)
                if !options.isRehearsal { outcome.movedTo = try moveAside(copy) }
            } catch {
                outcome.failure = CommandFailure(error)
            }
            outcomes.append(outcome)
        }
        try finish(target)
        if paths.count > ConflictCopies.most {
            outcomes.append(
                CopyOutcome(
                    path: paths[ConflictCopies.most],
                    failure: CommandFailure(
                        .incomplete, "and \(paths.count - ConflictCopies.most - 1) more are left; run the command again"
                    )))
        }
        return outcomes
    }

    /// Only by the key that opened the vault: a header that somebody put there must not cost a key derivation.
    private func openLeft(_ other: String, of vault: Vault) throws -> Vault {
        let id = try whileOpening { try Vault.id(at: other) }
        guard id == vault.id else {
            throw OtherVault(path: other, id: id)
        }
        guard let copy = try access.openCopy(other, of: vault) else {
            throw CommandFailure(
                .noAccess,
                "does not open with the key that opens this vault; if you trust it, merge it by its name: 'vaultfmt merge VAULT COPY'",
                code: .noSlotOpens)
        }
        guard copy.tail.isReadWhole else {
            throw CommandFailure(
                .incomplete, "has changes that cannot be read, so it is left as it is; see 'vaultfmt verify'")
        }
        return copy
    }

    private func moveAside(_ copy: Copy) throws -> String {
        guard try FileMark(copy.path) == copy.mark else {
            throw CommandFailure(.busy, "was changed while it was merged; run the command again")
        }
        return try MovedAside.move(copy.path, of: path)
    }

    // MARK: merging

    /// Of several copies, the one in the greatest state comes first.
    private static func sort(_ copies: inout [Copy]) {
        copies.sort { left, right in
            let (one, other) = (left.vault.anchor, right.vault.anchor)
            guard one.generation == other.generation else { return one.generation > other.generation }
            return other.chain.lexicographicallyPrecedes(one.chain)
        }
    }

    /// The vault, opened for merging, and compared with what this machine remembers. A syncer may have put another
    /// machine's copy in its place: it may have another past if one of the copies continues what is remembered, for the
    /// merge of both does so again.
    private func target(_ first: Vault, _ copies: [Copy]) throws -> (vault: Vault, needsCheck: Bool) {
        guard isWatched else { return (try reopen(first, isWatched: false), false) }
        do {
            return (try reopen(first, isWatched: true), false)
        } catch let refusal as CommandFailure {
            guard [.forked, .rolledBack].contains(refusal.code),
                let remembered = try ThisMachine.current().remembered(first.id),
                try copies.contains(where: { try [.same, .descends].contains($0.vault.verdict(on: remembered.anchor)) })
            else { throw refusal }
            return (try reopen(first, isWatched: false), true)
        }
    }

    /// A vault that this machine would have refused continues what is remembered, now that it has the copies.
    private func finish(_ target: (vault: Vault, needsCheck: Bool)) throws {
        guard target.needsCheck, !options.isRehearsal else { return }
        try ThisMachine.current().check(target.vault)
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
            if report.outcome == .adopted, try !confirm(report) { return nil }
        }
        let progress = Progress("merging")
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
                "\(error.description); nothing was merged: 'vaultfmt verify' says which of both is damaged",
                code: error.code)
        default: CommandFailure(opened: error)
        }
    }
}

extension TailState {
    /// Whether nothing that may be a change is left unread.
    fileprivate var isReadWhole: Bool {
        switch self {
        case .clean, .torn: true
        case .writeInProgress, .damaged, .incomplete: false
        }
    }
}
