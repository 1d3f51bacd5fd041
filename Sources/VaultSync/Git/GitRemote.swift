import Glibc
import VaultConsole
import VaultFmt
import VaultLocal

/// The other side: a branch of a remote.
struct GitRemote {
    let name: String
    let branch: String
    /// The branch that is checked out.
    let local: String
    /// The ref that git updates when it fetches this branch.
    let tracking: String
    /// True if the local branch has no upstream yet.
    let isNew: Bool

    /// - `folder`: The folder that git keeps for the work tree.
    init(_ file: GitFile, _ given: String?, folder: String) throws {
        let git = file.git
        // --short is not used, because it prints a different name if the remote has a tag with this name.
        let (head, prefix) = (try git.run(["symbolic-ref", "--quiet", "HEAD"]), "refs/heads/")
        guard head.isSuccess, head.line.hasPrefix(prefix) else {
            throw CommandFailure(
                .usage, "no branch is checked out, so there is nothing to sync; check one out with 'git switch'")
        }
        guard try !Self.isMerging(folder) || InterruptedMerge(file, folder: folder).isOwn() else {
            throw CommandFailure(.usage, "a merge is in progress; finish it with 'git commit' or 'git merge --abort'")
        }
        local = String(head.line.dropFirst(prefix.count))
        let upstream = try git.run(["config", "branch.\(local).remote"])
        let merge = try git.run(["config", "branch.\(local).merge"])
        let remotes = try git.require(["remote"], "list remotes").text.split(separator: "\n").map(String.init)
        if upstream.isSuccess, merge.isSuccess, given == nil || given == upstream.line {
            name = upstream.line
            branch = merge.line.hasPrefix(prefix) ? String(merge.line.dropFirst(prefix.count)) : merge.line
            isNew = false
        } else {
            guard let remote = given ?? (remotes.count == 1 ? remotes.first : remotes.first { $0 == "origin" }) else {
                throw CommandFailure(
                    .usage,
                    remotes.isEmpty
                        ? "the repository has no remote; add one with 'git remote add origin ADDRESS'"
                        : "the branch has no upstream; name a remote with --remote")
            }
            name = remote
            branch = local
            isNew = true
        }
        guard remotes.contains(name) else {
            throw CommandFailure(
                .usage,
                "there is no remote \(TerminalText.quoted(name)), with which \(TerminalText.quoted(local)) would be synced; "
                    + "'git remote' lists the remotes, and --remote names one")
        }
        tracking = "refs/remotes/\(name)/\(branch)"
    }

    /// Returns whether a merge is in progress. The file is checked directly, because git would also accept a tag of the
    /// same name that came from the remote.
    static func isMerging(_ folder: String) -> Bool { access(folder + "/MERGE_HEAD", F_OK) == 0 }
}
