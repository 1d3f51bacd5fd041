import CVaultShim
import Glibc
import VaultConsole
import VaultFmt
import VaultLocal

/// The merge of the rest of the repository, during which git can be interrupted: it changes the tree, then the index,
/// then the branch. A half-finished merge would block every later merge.
struct InterruptedMerge {
    let git: GitProgram
    /// The top of the repository.
    let top: String
    /// The folder that git keeps for the work tree.
    let folder: String

    init(_ file: GitFile, folder: String) { (git, top, self.folder) = (file.git, file.top, folder) }

    /// The two commits that git is merging; both are recorded as refs, so that git keeps the commits.
    private static let refs = ["refs/worktree/vaultfmt-merge/before", "refs/worktree/vaultfmt-merge/target"]

    /// Lets git merge a commit, and records the merge until it has ended.
    func during(_ target: String, _ merge: () throws -> GitProgram.Answer) throws -> GitProgram.Answer {
        for (ref, commit) in zip(Self.refs, ["HEAD", target]) {
            try git.require(["update-ref", ref, commit], "prepare the merge")
        }
        let result = Result { try merge() }
        if case .success(let answer) = result, answer.isSuccess {
            try forget()
        } else {
            // Git may have been interrupted. If its locks prevent the recovery, the next sync tries again.
            do { try takeBack() } catch is CommandFailure {}
        }
        return try result.get()
    }

    private func forget() throws {
        for ref in Self.refs.reversed() { try git.require(["update-ref", "-d", ref], "remove a ref") }
    }

    /// Finishes an interrupted merge if only its commit is missing. Otherwise undoes the merge's changes to files that
    /// have not changed since. Vaults are committed instead, because this machine may have seen their new states.
    func takeBack() throws {
        let noted = try Self.refs.map { try git.run(["rev-parse", "--quiet", "--verify", $0]) }
        guard noted.allSatisfy(\.isSuccess) else { return }
        let merged = try git.run(["merge-tree", "--write-tree"] + noted.map(\.line))
        guard let tree = merged.text.split(separator: "\n").first.map(String.init) else { return try forget() }
        if GitRemote.isMerging(folder) {
            guard try isOwn() else { return }
            // If the index does not contain the merge yet, committing it would revert all of the other side's changes.
            let index = try git.run(["write-tree"])
            if index.isSuccess, index.line == tree {
                if try git.run(["commit", "-q", "--no-edit"]).isSuccess { return try forget() }
            } else if index.isSuccess {
                // If the user has staged changes since, only the user can commit or unstage them.
                let before = try git.require(["rev-parse", "--verify", noted[0].line + "^{tree}"], "find the tree")
                guard index.line == before.line else {
                    throw CommandFailure(
                        .usage,
                        "a merge was interrupted, and something has been staged since; abort the merge with 'git reset', which keeps every file, and sync again"
                    )
                }
            }
            try git.require(["merge", "--abort"], "end the interrupted merge")
        }
        let changed = try names(["diff-tree", "-r", noted[0].line, tree])
            .intersection(names(["diff-tree", "-r", "HEAD", tree]))
        // An index that was not refreshed reports files as different if only their times differ.
        _ = try git.run(["update-index", "-q", "--refresh"])
        let different = try names(["diff-files"])
        let staged = try names(["diff-index", "--cached", "HEAD"])
        let others = try names(["diff-index", "--cached", tree])
        for name in changed {
            let isDone =
                if staged.contains(name) { !others.contains(name) && !different.contains(name) } else {
                    try isWritten(name, as: GitEntry(name, at: tree, git))
                }
            if isDone { try isVault(name) ? commit(name) : restore(name) }
        }
        try forget()
    }

    private func isVault(_ name: String) -> Bool {
        do throws(VaultError) { _ = try Vault.id(at: top + "/" + name) } catch { return false }
        return true
    }

    private func commit(_ name: String) throws {
        let pathspec = GitFile.pathspec(name)
        try git.require(["add", "--", pathspec], "add a vault")
        try git.require(["commit", "-q", "-m", "\(name): as fetched", "--", pathspec], "commit a vault")
    }

    /// Returns whether the merge in progress was started by `sync`.
    func isOwn() throws -> Bool {
        let both = try ["MERGE_HEAD", Self.refs[1]].map { try git.run(["rev-parse", "--quiet", "--verify", $0]) }
        return both.allSatisfy(\.isSuccess) && both[0].line == both[1].line
    }

    private func names(_ arguments: [String]) throws -> Set<String> {
        let options = ["--name-only", "--no-renames", "-z"]
        let listed = try git.require([arguments[0]] + options + arguments.dropFirst(), "compare the tree").text
        return Set(listed.split(separator: "\0").map(String.init))
    }

    /// Returns whether the file in the tree is identical to the entry or, if the entry is nil, does not exist.
    private func isWritten(_ name: String, as entry: GitEntry?) throws -> Bool {
        var status = vault_status()
        guard vault_status_of(top + "/" + name, false, &status) == 0 else { return entry == nil }
        guard let entry, entry.isFile, status.mode & S_IFMT == S_IFREG else { return false }
        return try git.run(["hash-object", "--", name]).line == entry.id
    }

    /// Restores a file to its version in HEAD, in the index and in the tree.
    private func restore(_ name: String) throws {
        if try GitEntry(name, at: "HEAD", git) != nil {
            try git.require(
                ["restore", "--source=HEAD", "--staged", "--worktree", "--", GitFile.pathspec(name)],
                "undo the interrupted merge")
            return
        }
        try git.require(
            ["rm", "-q", "--cached", "--ignore-unmatch", "--", GitFile.pathspec(name)], "undo the merge")
        unlink(top + "/" + name)
    }
}
