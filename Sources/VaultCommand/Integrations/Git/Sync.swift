import ArgumentParser
import CVaultShim
import Glibc
import VaultFmt
import VaultLocal

/// `sync`: synchronizes a vault in a git repository with another repository.
struct Sync: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sync",
        abstract: "Commit to git, merge what others pushed, and push.",
        discussion: """
            The vault is merged here, item by item, before git merges the rest of the repository; so are other vaults in it that both sides changed, \
            with the same factors. Git and its hooks get no factors. If another clone pushes first, sync starts over. The \
            other side is the branch's upstream or, if there is none, the same branch of --remote. Changes committed under keys that the other side \
            has replaced are not merged: see --accept-old-keys in 'vaultfmt merge --help'. If there are conflicts to settle, everything is still pushed, \
            but the exit code is 3.

            Examples:
              vaultfmt sync work.vault
              vaultfmt sync work.vault --remote origin
            """)

    @OptionGroup var vault: VaultFileOptions

    @Option("The remote to use if the branch has no upstream.", value: "name")
    var remote: String?

    @Option("How long to keep trying while others push.", value: "seconds")
    var patience: Double = 600

    @OptionGroup(title: "The other side") var other: OtherFactorOptions

    func validate() throws {
        guard patience.isFinite, patience >= 0 else { throw ValidationError("--patience must be at least 0 seconds") }
    }

    func run() throws {
        let file = try GitFile(vault.path)
        let side = try GitRemote(file, remote)
        let lock = try SyncLock(file)
        defer { withExtendedLifetime(lock) {} }
        let opened = try vault.openVault(writable: true)
        var round = SyncRound(
            file: file, remote: side, vault: opened, access: vault.access, folder: lock.folder,
            otherFactors: other.sources)
        let end = Clock.now + patience
        var pause = 0.05
        while try !round.run() {
            guard Clock.now < end else {
                throw CommandFailure(
                    .busy,
                    "other clones kept pushing first for \(Int(patience)) s; everything is committed here, so try again"
                )
            }
            Clock.sleep(Double.random(in: 0..<pause))
            pause = min(pause * 2, 2)
        }
        let rounds = round.rounds == 1 ? "" : ", in \(round.rounds) rounds"
        Terminal.note(
            "\(TerminalText.quoted(file.name)) is at generation \(opened.state.generation) on both sides\(rounds)")
        guard !round.hasConflicts else {
            throw CommandFailure(.incomplete, "synced, with conflicts to settle; 'vaultfmt conflicts' shows them")
        }
    }
}

/// A monotonic clock, in seconds.
private enum Clock {
    private static let start = ContinuousClock.now

    static var now: Double { (ContinuousClock.now - start) / .seconds(1) }

    static func sleep(_ seconds: Double) { usleep(UInt32(seconds * 1e6)) }
}

/// The other side: a branch of a remote.
struct GitRemote {
    let name: String
    let branch: String
    /// The ref that git updates when it fetches this branch.
    let tracking: String
    /// Whether the local branch has no upstream yet.
    let isNew: Bool

    init(_ file: GitFile, _ given: String?) throws {
        let git = file.git
        let head = try git.run(["symbolic-ref", "--quiet", "--short", "HEAD"], withErrors: true)
        guard head.isSuccess else {
            throw CommandFailure(
                .usage, "no branch is checked out, so there is nothing to sync; check one out with 'git switch'")
        }
        guard try !git.run(["rev-parse", "--quiet", "--verify", "MERGE_HEAD"], withErrors: true).isSuccess else {
            throw CommandFailure(.usage, "a merge is in progress; finish it with 'git commit' or 'git merge --abort'")
        }
        let local = head.line
        let upstream = try git.run(["config", "branch.\(local).remote"])
        let merge = try git.run(["config", "branch.\(local).merge"])
        if upstream.isSuccess, merge.isSuccess, given == nil || given == upstream.line {
            name = upstream.line
            branch = merge.line.hasPrefix("refs/heads/") ? String(merge.line.dropFirst(11)) : merge.line
            isNew = false
        } else {
            let remotes = try git.require(["remote"], "list remotes").text.split(separator: "\n").map(String.init)
            guard let remote = given ?? (remotes.count == 1 ? remotes.first : remotes.first { $0 == "origin" }) else {
                throw CommandFailure(.usage, "the branch has no upstream; name a remote with --remote")
            }
            name = remote
            branch = local
            isNew = true
        }
        tracking = "refs/remotes/\(name)/\(branch)"
    }
}

/// Allows only one `sync` at a time in a clone.
private final class SyncLock {
    /// The repository's `.git` folder.
    let folder: String
    private let descriptor: Int32

    init(_ file: GitFile) throws {
        folder = try file.git.require(["rev-parse", "--absolute-git-dir"], "find its folder").line
        let path = folder + "/vaultfmt-sync.lock"
        descriptor = vault_open(path, O_RDWR | O_CREAT, 0o600)
        guard descriptor >= 0 else {
            throw CommandFailure(system: -descriptor, "cannot lock \(TerminalText.path(path))")
        }
        let result = vault_wait_for_lock(descriptor)
        guard result == 0 else {
            close(descriptor)
            throw CommandFailure(system: -result, "cannot lock \(TerminalText.path(path))")
        }
    }

    deinit { close(descriptor) }
}

/// One attempt: commit, fetch, merge, push.
private struct SyncRound {
    let file: GitFile
    let remote: GitRemote
    let vault: Vault
    let access: AccessOptions
    let folder: String
    /// The factors of the other side's vaults, if they are not those of this side.
    let otherFactors: FactorSources?
    var rounds = 0
    var hasConflicts = false

    private var git: GitProgram { file.git }

    /// - Returns: False if another clone pushed first.
    mutating func run() throws -> Bool {
        rounds += 1
        try commit()
        if try fetch() { try merge() }
        return try push()
    }

    private func commit() throws { try commit(file.name, of: vault) }

    /// Commits a vault if it has changed, while holding off all writers.
    private func commit(_ name: String, of vault: Vault) throws {
        try whileNobodyWrites(vault) {
            let pathspec = GitFile.pathspec(name)
            try git.require(["add", "--", pathspec], "add the vault")
            let status = try git.require(["status", "--porcelain", "--", pathspec], "compare the vault")
            guard !status.text.isEmpty else { return }
            let message = "\(name): generation \(vault.state.generation)"
            try git.require(["commit", "-q", "-m", message, "--", pathspec], "commit the vault")
        }
    }

    private func whileNobodyWrites(_ vault: Vault, _ body: () throws -> Void) throws {
        var failure: (any Error)?
        try vault.whileNobodyWrites { do { try body() } catch { failure = error } }
        if let failure { throw failure }
    }

    /// - Returns: Whether the other side has the branch.
    private func fetch() throws -> Bool {
        let specification = "+refs/heads/\(remote.branch):\(remote.tracking)"
        let answer = try git.run(["fetch", "-q", "--", remote.name, specification], withErrors: true)
        if answer.isSuccess { return true }
        let heads = try git.run(
            ["ls-remote", "--exit-code", "--heads", "--", remote.name, "refs/heads/\(remote.branch)"], withErrors: true)
        guard heads.code == 2 else { throw GitProgram.failure(answer, "fetch from \(remote.name)") }
        return false
    }

    /// Merges the vaults here, and lets git merge the rest: a commit on top of theirs has these vaults as they are here,
    /// so that git finds no difference in them, changes none of them in the tree, and starts no driver.
    private mutating func merge() throws {
        if try isAncestor(remote.tracking, "HEAD") { return }
        let base = try git.run(["merge-base", "HEAD", remote.tracking], withErrors: true)
        if base.isSuccess { try requireTheirs(since: base.line) }
        try mergeVault(file.name, into: vault)
        if try isAncestor("HEAD", remote.tracking), try hasTheirs() {
            try git.require(["merge", "-q", "--ff-only", remote.tracking], "apply the fetched commits")
            return
        }
        try commit()
        let names = [file.name] + (base.isSuccess ? try mergeOthers(since: base.line) : [])
        let target = try GitBranch(git: git, commit: remote.tracking, folder: folder).replacing(names)
        let answer = try git.run(["merge", "-q", "--no-edit", target], withErrors: true)
        guard answer.isSuccess else {
            let isOpen = try git.run(["rev-parse", "--quiet", "--verify", "MERGE_HEAD"], withErrors: true).isSuccess
            if isOpen { _ = try git.run(["merge", "--abort"], withErrors: true) }
            throw GitProgram.failure(answer, "merge the rest of the repository")
        }
    }

    /// A vault that the other side had and has no more must not vanish here as well.
    private func requireTheirs(since base: String) throws {
        guard try blob(file.name, at: remote.tracking) == nil, try blob(file.name, at: base) != nil else { return }
        throw CommandFailure(
            .io,
            "the other side removed \(TerminalText.quoted(file.name)), which was left unchanged here; restore it there with 'git revert', or remove it here too"
        )
    }

    /// Merges the other vaults of the repository that both sides have changed.
    /// - Returns: Their names.
    private mutating func mergeOthers(since base: String) throws -> [String] {
        let theirs = try changed(base, remote.tracking)
        var names: [String] = []
        for name in try changed(base, "HEAD") where name != file.name && theirs.contains(name) {
            guard try isVault(name), try blob(name, at: remote.tracking) != nil else { continue }
            let path = file.top + "/" + name
            guard try git.require(["status", "--porcelain", "--", GitFile.pathspec(name)], "compare it").text.isEmpty
            else {
                throw CommandFailure(
                    .usage, "\(TerminalText.quoted(name)) has changes that are not committed; sync it first")
            }
            let other = try access.open(path, writable: true)
            try mergeVault(name, into: other)
            try commit(name, of: other)
            names.append(name)
        }
        return names
    }

    /// The names of files that differ between two commits and exist in the second one.
    private func changed(_ one: String, _ other: String) throws -> [String] {
        let arguments = ["diff", "--name-only", "--no-renames", "--diff-filter=AM", "-z", one, other, "--"]
        return try git.run(arguments).text.split(separator: "\0").map(String.init)
    }

    /// Whether git merges a file with the driver of vaults.
    private func isVault(_ name: String) throws -> Bool {
        try git.run(["check-attr", "-z", "merge", "--", name]).text == "\(name)\0merge\0vaultfmt\0"
    }

    /// The id of a file's bytes in a commit; nil if it is not there.
    private func blob(_ name: String, at commit: String) throws -> String? {
        let found = try git.run(["rev-parse", "--quiet", "--verify", "\(commit):\(name)"], withErrors: true)
        return found.isSuccess ? found.line : nil
    }

    private func isAncestor(_ one: String, _ other: String) throws -> Bool {
        try git.run(["merge-base", "--is-ancestor", one, other], withErrors: true).isSuccess
    }

    /// Merges the other side's version of a vault into this one, which stays consistent for all readers.
    private mutating func mergeVault(_ name: String, into vault: Vault) throws {
        guard let blob = try blob(name, at: remote.tracking), try blob != self.blob(name, at: "HEAD") else { return }
        let copy = folder + "/vaultfmt-theirs"
        unlink(copy)
        let descriptor = vault_open(copy, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw CommandFailure(system: -descriptor, "cannot create \(copy)") }
        defer { unlink(copy) }
        // Apply git's filters, which LFS requires.
        let theirs = "\(remote.tracking):\(name)"
        let code = try git.write(["cat-file", "--filters", theirs], to: descriptor)
        close(descriptor)
        guard code == 0 else {
            throw CommandFailure(.io, "git could not read \(TerminalText.quoted(theirs)); see 'git fsck'")
        }
        let merger = CopyMerger(path: vault.path, access: access, options: MergeOptions(), otherFactors: otherFactors)
        let title = "\(TerminalText.quoted(name)) of \(TerminalText.escaped(remote.name))"
        guard let outcome = try merger.merge(copy, called: title, into: vault) else { return }
        hasConflicts = hasConflicts || outcome.hasConflicts
        for line in outcome.report.map(MergeText.slotLines) ?? [] { Terminal.note(line) }
    }

    /// Adds the vault to git's index, and returns whether it is identical to the other side's vault.
    private func hasTheirs() throws -> Bool {
        try whileNobodyWrites(vault) { try git.require(["add", "--", file.pathspec], "add the vault") }
        return try git.run(["diff", "--cached", "--quiet", remote.tracking, "--", file.pathspec]).isSuccess
    }

    private func push() throws -> Bool {
        if !remote.isNew {
            let here = try git.require(["rev-parse", "HEAD"], "determine its newest commit").line
            if try git.run(["rev-parse", "--quiet", "--verify", remote.tracking]).line == here { return true }
        }
        let arguments = ["push", "--porcelain"] + (remote.isNew ? ["-u"] : [])
        let answer = try git.run(arguments + ["--", remote.name, "HEAD:refs/heads/\(remote.branch)"], withErrors: true)
        if answer.isSuccess { return true }
        let refused = answer.text.split(separator: "\n").filter { $0.hasPrefix("!\t") }
        let isRace = refused.contains { line in
            line.contains("[rejected]")
                || (line.contains("[remote rejected]")
                    && ["lock", "failed to update ref", "incorrect old value", "reference already exists"].contains {
                        line.contains($0)
                    })
        }
        guard isRace else { throw GitProgram.failure(answer, "push to \(remote.name)") }
        return false
    }
}
