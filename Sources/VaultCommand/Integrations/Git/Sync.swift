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
            The vault is merged here, item by item, before git merges the rest of the repository. If another clone pushes first, sync starts over. The \
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

    func validate() throws {
        guard patience.isFinite, patience >= 0 else { throw ValidationError("--patience must be at least 0 seconds") }
    }

    func run() throws {
        let file = try GitFile(vault.path)
        let side = try GitRemote(file, remote)
        let lock = try SyncLock(file)
        defer { withExtendedLifetime(lock) {} }
        let opened = try vault.openVault(writable: true)
        var round = SyncRound(file: file, remote: side, vault: opened, access: vault.access, folder: lock.folder)
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
            "\(TerminalText.quoted(file.name)) is at generation \(opened.anchor.generation) on both sides\(rounds)")
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
            throw CommandFailure(system: -descriptor, "cannot lock \(TerminalText.quoted(path))")
        }
        let result = vault_wait_for_lock(descriptor)
        guard result == 0 else {
            close(descriptor)
            throw CommandFailure(system: -result, "cannot lock \(TerminalText.quoted(path))")
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

    /// Commits the vault if it has changed, while holding off all writers.
    private func commit() throws {
        try whileNobodyWrites {
            try git.require(["add", "--", file.pathspec], "add the vault")
            let status = try git.require(["status", "--porcelain", "--", file.pathspec], "compare the vault")
            guard !status.text.isEmpty else { return }
            try git.require(
                ["commit", "-q", "-m", "\(file.name): generation \(vault.anchor.generation)", "--", file.pathspec],
                "commit the vault")
        }
    }

    private func whileNobodyWrites(_ body: () throws -> Void) throws {
        var failure: (any Error)?
        try vault.whileNobodyWrites { do { try body() } catch { failure = error } }
        if let failure { throw failure }
    }

    /// - Returns: Whether the other side has the branch.
    private func fetch() throws -> Bool {
        let specification = "+refs/heads/\(remote.branch):\(remote.tracking)"
        let answer = try git.run(["fetch", "-q", remote.name, specification], withErrors: true)
        if answer.isSuccess { return true }
        let heads = try git.run(
            ["ls-remote", "--exit-code", "--heads", remote.name, "refs/heads/\(remote.branch)"], withErrors: true)
        guard heads.code == 2 else { throw GitProgram.failure(answer, "fetch from \(remote.name)") }
        return false
    }

    private mutating func merge() throws {
        if try isAncestor(remote.tracking, "HEAD") { return }
        try mergeVault()
        if try isAncestor("HEAD", remote.tracking), try hasTheirs() {
            try git.require(["merge", "-q", "--ff-only", remote.tracking], "apply the fetched commits")
            return
        }
        try commit()
        // The vault now contains the changes of both sides; other vaults in the repository are merged as configured.
        let driver =
            "\(GitSetup.program) git merge-driver --settled \(GitSetup.quoted(file.name)) %O %A %B %P"
        let answer = try git.run(
            ["-c", "merge.vaultfmt.driver=\(driver)", "merge", "-q", "--no-edit", remote.tracking], withErrors: true)
        guard !answer.isSuccess else { return }
        let isOpen = try git.run(["rev-parse", "--quiet", "--verify", "MERGE_HEAD"], withErrors: true).isSuccess
        if isOpen { _ = try git.run(["merge", "--abort"], withErrors: true) }
        throw GitProgram.failure(answer, "merge the rest of the repository (has 'vaultfmt git setup' been run?)")
    }

    private func isAncestor(_ one: String, _ other: String) throws -> Bool {
        try git.run(["merge-base", "--is-ancestor", one, other], withErrors: true).isSuccess
    }

    /// Merges the other side's vault into this one, which stays consistent for all readers.
    private mutating func mergeVault() throws {
        let theirs = "\(remote.tracking):\(file.name)"
        let blob = try git.run(["rev-parse", "--quiet", "--verify", theirs], withErrors: true)
        let own = try git.run(["rev-parse", "--quiet", "--verify", "HEAD:\(file.name)"], withErrors: true)
        guard blob.isSuccess, blob.line != own.line else { return }
        let copy = folder + "/vaultfmt-theirs"
        unlink(copy)
        let descriptor = vault_open(copy, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw CommandFailure(system: -descriptor, "cannot create \(copy)") }
        defer { unlink(copy) }
        // Apply git's filters, which LFS requires.
        let code = try git.write(["cat-file", "--filters", theirs], to: descriptor)
        close(descriptor)
        guard code == 0 else { throw CommandFailure(.io, "git could not read \(theirs); see 'git fsck'") }
        let merger = CopyMerger(path: file.path, access: access, options: MergeOptions())
        if let report = try merger.merge(copy, into: vault) { hasConflicts = hasConflicts || report.hasConflicts }
    }

    /// Adds the vault to git's index, and returns whether it is identical to the other side's vault.
    private func hasTheirs() throws -> Bool {
        try whileNobodyWrites { try git.require(["add", "--", file.pathspec], "add the vault") }
        return try git.run(["diff", "--cached", "--quiet", remote.tracking, "--", file.pathspec]).isSuccess
    }

    private func push() throws -> Bool {
        if !remote.isNew {
            let here = try git.require(["rev-parse", "HEAD"], "determine its newest commit").line
            if try git.run(["rev-parse", "--quiet", "--verify", remote.tracking]).line == here { return true }
        }
        let arguments = ["push", "--porcelain"] + (remote.isNew ? ["-u"] : [])
        let answer = try git.run(arguments + [remote.name, "HEAD:refs/heads/\(remote.branch)"], withErrors: true)
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
