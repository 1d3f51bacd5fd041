import CVaultShim
import Glibc
import VaultArguments
import VaultConsole
import VaultFmt
import VaultLocal

/// One attempt to sync: commit, fetch, merge, push. It can be interrupted anywhere and run again.
struct SyncRound {
    let file: GitFile
    let remote: GitRemote
    let vault: Vault
    let access: AccessOptions
    /// The factors of the other side's vaults, if they differ from this side's factors.
    let otherFactors: FactorSources?
    let lock: SyncLock
    var rounds = 0
    /// The vaults in which a merge found damaged data.
    var damaged: Set<String> = []
    /// The vaults in which a merge found two items with the same name.
    var sharedNames: Set<String> = []
    /// The vaults in which a merge left items that show no secret.
    var withoutSecrets: Set<String> = []
    /// The vaults in which changes that were made under replaced keys were not carried out.
    var withChangesToRepeat: Set<String> = []
    /// The vaults that full slots of both sides open, although the sides had none in common.
    var withSlotsOfBoth: Set<String> = []
    /// Descriptions of how the other side's incomplete versions end, keyed by vault name.
    var cutOff: [String: String] = [:]
    /// The other vaults in which a merge left unsettled conflicts.
    var unsettledOthers: Set<String> = []
    /// True if all versions of other vaults that were taken from the other side are known to continue the local ones.
    var areOthersProven = true
    /// The vaults as they were last added to git, in this round or an earlier one, keyed by name.
    var synced: [String: SyncedVault] = [:]
    /// The names of the vaults that this round has added to git.
    private(set) var addedNames: Set<String> = []
    /// The other side's reason for rejecting the last push.
    var refusal: String?
    /// The other side's newest commit, as fetched in this round. Other programs may also fetch, which moves the
    /// remote-tracking branch.
    private(set) var fetched = ""

    var git: GitProgram { file.git }
    private var interrupted: InterruptedMerge { InterruptedMerge(file, folder: lock.folder) }

    /// - Returns: False if another clone pushed first.
    mutating func run() throws -> Bool {
        rounds += 1
        // The other vaults of the last round may have nothing to merge in this one.
        addedNames = []
        try interrupted.takeBack()
        try commit(file.name, of: vault)
        let isThere = try fetch()
        if isThere {
            try merge()
            try requireInPlace(file.name, vault)
        }
        for name in addedNames.sorted() { try requireSynced(name, in: "refs/heads/\(remote.local)") }
        if isThere { try requireGivenBack(file.name) }
        guard try push(isThere: isThere) else { return false }
        try requireAllInPlace()
        return true
    }

    // MARK: committing

    /// Commits a vault if it has changed, while blocking all writers.
    private mutating func commit(_ name: String, of vault: Vault) throws {
        try whileNobodyWrites(name, vault) { round, held in
            try round.requireBranch()
            try round.requireCommitted(vault.id, as: name)
            guard try round.stage(name, vault, held) else { return }
            let (git, pathspec) = (round.git, GitFile.pathspec(name))
            let status = try git.require(["status", "--porcelain", "--", pathspec], "compare the vault")
            guard !status.text.isEmpty else { return }
            let message = "\(name): generation \(held.state.generation)"
            try git.require(["commit", "-q", "-m", message, "--", pathspec], "commit the vault")
            try round.requireSynced(name, in: "HEAD")
        }
    }

    /// Adds a vault to git's index, and records what was added.
    /// - Returns: False if attributes prevent the addition, but this state of the vault is already committed.
    private mutating func stage(_ name: String, _ vault: Vault, _ held: HeldVault) throws -> Bool {
        let path = file.top + "/" + name
        try GitFile.requireFile(path)
        let committed = try git.run(["rev-parse", "--quiet", "--verify", "HEAD:\(name)"])
        let here = try hash(path)
        // This is checked after reading: if the vault is still in place, the vault itself was read.
        guard try held.isInPlace() else { throw Self.overwritten(name) }
        let added: String?
        do { added = try add(name, here) } catch {
            // Attributes that prevent a commit may have been removed by the other side since.
            guard committed.isSuccess, committed.line == here else { throw error }
            added = nil
        }
        synced[name] = SyncedVault(
            vault: vault, stored: added ?? here, contents: here, generation: held.state.generation)
        addedNames.insert(name)
        return added != nil
    }

    /// Throws an error if another vault would be committed in place of the committed one.
    private func requireCommitted(_ id: VaultID, as name: String) throws {
        let status = try git.require(["status", "--porcelain", "--", GitFile.pathspec(name)], "compare the vault")
        guard !status.text.isEmpty, try git.run(["rev-parse", "--quiet", "--verify", "HEAD"]).isSuccess,
            let before = try GitEntry(name, at: "HEAD", git), before.isFile
        else { return }
        let copy = lock.temporary("before")
        defer { unlink(copy) }
        let other: VaultID
        do {
            try extract(before, name, to: copy)
            other = try whileOpening { try Vault.id(at: copy) }
        } catch let failure as CommandFailure where failure.code != nil {
            // The committed file is damaged or was written by a newer version of the program, and the local vault may
            // be its replacement.
            return
        }
        guard other == id else {
            throw CommandFailure(
                .usage,
                "\(TerminalText.quoted(name)) is another vault (\(id)), not the one that is committed (\(other)); "
                    + "give it another name, or, if it is to replace that one, commit it with git")
        }
    }

    /// Throws an error if another branch has been checked out since: that branch's commits are not meant for this
    /// branch's remote.
    func requireBranch() throws {
        let head = try git.run(["symbolic-ref", "--quiet", "HEAD"])
        guard head.isSuccess, head.line == "refs/heads/\(remote.local)" else {
            throw CommandFailure(
                .busy,
                "the branch \(TerminalText.quoted(remote.local)) is not checked out any more, so nothing else was committed or pushed; sync again"
            )
        }
    }

    /// Runs a closure while no program that knows the vault's lock writes to it. If the vault is not in place at the
    /// end, that is the error thrown, even if the closure failed as a result.
    private mutating func whileNobodyWrites(
        _ name: String, _ vault: Vault, _ body: (inout SyncRound, HeldVault) throws -> Void
    ) throws {
        var failure: (any Error)?
        do throws(VaultError) {
            try vault.whileNobodyWrites { held in do { try body(&self, held) } catch { failure = error } }
        } catch { failure = error }
        try requireInPlace(name, vault)
        if let failure { throw failure }
    }

    /// Writes git's output to a new file.
    /// - Returns: True if git succeeded.
    func write(_ arguments: [String], to path: String) throws -> Bool {
        unlink(path)
        let descriptor = vault_open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else {
            throw CommandFailure(system: -descriptor, "cannot create \(TerminalText.path(path))")
        }
        defer { close(descriptor) }
        return try git.write(arguments, to: descriptor) == 0
    }

    // MARK: fetching and pushing

    /// Fetches the branch.
    /// - Returns: True if the other side has the branch.
    private mutating func fetch() throws -> Bool {
        let branch = "refs/heads/\(remote.branch)"
        // A submodule that cannot be fetched must not prevent a sync, and the remote chooses the names of tags.
        let options = ["fetch", "-q", "--no-tags", "--no-recurse-submodules"]
        let answer = try git.run(options + ["--", remote.name, "+\(branch):\(remote.tracking)"])
        if answer.isSuccess {
            fetched = try git.require(
                ["rev-parse", "--verify", remote.tracking + "^{commit}"], "find what was fetched"
            ).line
            return true
        }
        let heads = try git.run(["ls-remote", "--", remote.name, branch])
        let isThere = heads.text.split(separator: "\n").contains { $0.split(separator: "\t").last == branch[...] }
        guard heads.isSuccess, !isThere else { throw GitProgram.failure(answer, "fetch from \(remote.name)") }
        return false
    }

    private mutating func push(isThere: Bool) throws -> Bool {
        try requireBranch()
        let branch = "refs/heads/\(remote.local)"
        let here = try git.require(["rev-parse", "--verify", branch], "determine its newest commit").line
        if !remote.isNew, isThere, fetched == here { return true }
        let answer = try send(here)
        if answer.isSuccess {
            if remote.isNew { try setUpstream() }
            return true
        }
        // A line contains "!", the names of the refs and git's reason. Only the reason counts: a branch can be named
        // "unlock".
        let refused = answer.text.split(separator: "\n").compactMap { line in
            line.hasPrefix("!\t") ? line.split(separator: "\t", maxSplits: 2).dropFirst(2).first : nil
        }
        let isRace = refused.contains { line in
            line.contains("[rejected]")
                || (line.contains("[remote rejected]")
                    && ["lock", "failed to update ref", "incorrect old value", "reference already exists"].contains {
                        line.contains($0)
                    })
        }
        guard isRace else { throw GitProgram.failure(answer, "push to \(remote.name)") }
        refusal = GitProgram.reason(answer)
        return false
    }

    /// Pushes a commit to the branch. A branch name is never unambiguous, here or on the other side, because a tag can
    /// have any name, even refs/heads/main. Patterns, however, are unambiguous.
    private func send(_ commit: String) throws -> GitProgram.Answer {
        let folder = "refs/worktree/vaultfmt-sync"
        // A killed sync may have left this ref, possibly for another branch.
        let left = try git.require(["for-each-ref", "--format=%(refname)", folder], "list its refs").text
        for ref in left.split(separator: "\n") { try removeRef(String(ref)) }
        let own = "\(folder)/\(remote.branch)"
        try git.require(["update-ref", own, commit], "prepare the push")
        let answer = try git.run(["push", "--porcelain", "--", remote.name, "\(folder)/*:refs/heads/*"])
        try removeRef(own)
        return answer
    }

    private func removeRef(_ ref: String) throws { try git.require(["update-ref", "-d", ref], "remove a ref") }

    /// Sets the pushed branch as the upstream of the local one, as git does when it pushes by name.
    private func setUpstream() throws {
        for (key, value) in [("merge", "refs/heads/\(remote.branch)"), ("remote", remote.name)] {
            try git.require(["config", "--local", "branch.\(remote.local).\(key)", value], "set the upstream")
        }
    }

    // MARK: merging

    /// Merges the vaults here, and lets git merge the other files. A commit on top of the other side's commit contains
    /// these vaults in their local state, so that git finds no difference in them, does not change them in the tree,
    /// and starts no driver.
    private mutating func merge() throws {
        if try isAncestor(fetched, "HEAD") { return }
        // Two histories can have several merge bases.
        let common = try git.run(["merge-base", "--all", "HEAD", fetched])
        let bases = common.isSuccess ? common.text.split(separator: "\n").map(String.init) : []
        try requireTheirs(file.name, since: bases)
        try requireNoLoss()
        let others = try otherVaults(since: bases)
        try mergeVault(file.name, into: vault)
        if others.merged.isEmpty, others.kept.isEmpty, try isAncestor("HEAD", fetched), try hasTheirs() {
            let answer = try interrupted.during(fetched) {
                try git.run(Self.quietMerge + ["--ff-only"] + Self.wholeMerge + [fetched])
            }
            guard answer.isSuccess else { throw GitProgram.failure(answer, "apply the fetched commits") }
            return
        }
        try commit(file.name, of: vault)
        for name in others.merged {
            let other = try openChanged(name)
            try mergeVault(name, into: other)
            if try !other.conflicts().isEmpty { unsettledOthers.insert(name) }
            try commit(name, of: other)
        }
        try requireBranch()
        let names = [file.name] + others.merged + others.kept
        let index = lock.temporary("index")
        let target = try GitBranch(git: git, commit: fetched, index: index).replacing(names)
        let answer = try interrupted.during(target) {
            let answer = try git.run(Self.quietMerge + ["--ff", "--no-edit"] + Self.wholeMerge + [target])
            guard !answer.isSuccess, GitRemote.isMerging(lock.folder) else { return answer }
            try git.require(["merge", "--abort"], "end the merge")
            throw conflicting(answer)
        }
        guard answer.isSuccess else { throw GitProgram.failure(answer, "merge the rest of the repository") }
    }

    /// The failure if other files could not be merged; their merge has been undone.
    private func conflicting(_ answer: GitProgram.Answer) -> CommandFailure {
        let branch = TerminalText.word("\(remote.name)/\(remote.branch)")
        return CommandFailure(
            .io,
            "git could not merge the rest of the repository: \(GitProgram.reason(answer)); "
                + "merge it with 'git merge \(branch)', and sync again")
    }

    /// An automatic stash would remove a vault that has just been changed from the tree.
    private static let quietMerge = ["-c", "merge.autoStash=false", "merge", "-q"]

    /// Git's configuration may set merge options for the branch that would make git end without a commit.
    private static let wholeMerge = ["--commit", "--no-squash"]

    /// Finds the other side's version. Fails if the other side removed the vault or replaced it, because the vault must
    /// not disappear here as well.
    /// - Returns: The other side's version; nil if the other side has never had one.
    @discardableResult
    func requireTheirs(_ vault: String, since bases: [String]) throws -> GitEntry? {
        let name = TerminalText.quoted(vault)
        let remedy = "it was left unchanged here; restore it there with 'git revert', or remove it here too"
        if let theirs = try GitEntry(vault, at: fetched, git) {
            guard !theirs.isFile else { return theirs }
            throw CommandFailure(.io, "the other side replaced \(name) with \(theirs.kind); \(remedy)")
        }
        guard try bases.contains(where: { try GitEntry(vault, at: $0, git) != nil }) else { return nil }
        throw CommandFailure(.io, "the other side removed \(name); \(remedy)")
    }

    /// Returns the names of files that differ between two commits in the given ways, which are written as for git's
    /// --diff-filter.
    func changed(_ one: String, _ other: String, _ ways: String) throws -> [String] {
        let arguments = ["diff", "--name-only", "--no-renames", "--diff-filter=\(ways)", "-z", one, other, "--"]
        return try git.require(arguments, "compare commits").text.split(separator: "\0").map(String.init)
    }

    private func isAncestor(_ one: String, _ other: String) throws -> Bool {
        try git.run(["merge-base", "--is-ancestor", one, other]).isSuccess
    }

    /// Merges the other side's version of a vault into this one, which stays consistent for all readers.
    private mutating func mergeVault(_ name: String, into vault: Vault) throws {
        guard let theirs = try GitEntry(name, at: fetched, git),
            try theirs.id != GitEntry(name, at: "HEAD", git)?.id
        else { return }
        let copy = lock.temporary("theirs")
        defer { unlink(copy) }
        let outcome: CopyOutcome?
        do {
            outcome = try Self.naming(name, copy) {
                try extract(theirs, name, to: copy)
                try Self.require(vault.id, at: copy)
                var options = MergeOptions()
                // Otherwise, if one of two clones was compacted, each would repeatedly push its own file.
                options.unifiesFiles = true
                let merger = CopyMerger(
                    path: vault.path, access: access, options: options, otherFactors: otherFactors)
                return try merger.merge(copy, called: Self.whose(name), into: vault)
            }
        } catch {
            // The other side is not to blame for a vault that was replaced here.
            try requireInPlace(name, vault)
            throw error
        }
        cutOff[name] = outcome?.tail.endOfCopy
        if outcome?.losesSecrets == true { withoutSecrets.insert(name) }
        if outcome?.leavesChangesToRepeat == true { withChangesToRepeat.insert(name) }
        if outcome?.hasSlotsOfBoth == true { withSlotsOfBoth.insert(name) }
        if let report = outcome?.report {
            if report.hasDamage { damaged.insert(name) }
            if report.hasSharedKeys { sharedNames.insert(name) }
            for line in MergeText.noteLines(report) { Terminal.note(line) }
        }
    }

    static func whose(_ name: String) -> String { "the other side's \(TerminalText.quoted(name))" }

    /// Makes failures name the other side's vault instead of the copy that is read.
    static func naming<R>(_ name: String, _ copy: String, _ body: () throws -> R) throws -> R {
        do { return try body() } catch let failure as CommandFailure {
            let names = [TerminalText.path(copy), whose(name)]
            let message = names.reduce(failure.message) { $0.replacing($1, with: "it") }
            throw CommandFailure(failure.status, "\(whose(name)): \(message)", code: failure.code)
        }
    }

    /// Throws an error if the copy is a copy of another vault.
    static func require(_ id: VaultID, at copy: String) throws {
        let other = try whileOpening { try Vault.id(at: copy) }
        guard other == id else {
            throw CommandFailure(
                .damaged,
                "it is another vault (\(other)), not a copy of the one here (\(id)); restore it there with 'git revert'"
            )
        }
    }

    /// Writes a version of a vault to a file.
    ///
    /// Git stores the vault itself, unless a filter, such as LFS, replaces the vault.
    func extract(_ entry: GitEntry, _ name: String, to copy: String) throws {
        let forms = [["cat-file", "blob", entry.id], ["cat-file", "--filters", "--path=\(name)", entry.id]]
        for form in forms {
            guard try write(form, to: copy) else {
                throw CommandFailure(.io, "git could not read it; see 'git fsck'")
            }
            if try Vault.isOne(at: copy) { return }
        }
        throw CommandFailure(
            .damaged,
            "it is not a vault, and git's filter for it does not turn it into one; restore it there with 'git revert', or, if a filter is new there, check out its "
                + ".gitattributes first ('git checkout \(TerminalText.escaped("\(remote.name)/\(remote.branch)")) -- .gitattributes')",
            code: .notAVault)
    }

    /// Adds the vault to git's index, and returns whether it is identical to the other side's vault.
    private mutating func hasTheirs() throws -> Bool {
        try whileNobodyWrites(file.name, vault) { round, held in
            _ = try round.stage(round.file.name, round.vault, held)
        }
        return try git.run(["diff", "--cached", "--quiet", fetched, "--", file.pathspec]).isSuccess
    }
}
