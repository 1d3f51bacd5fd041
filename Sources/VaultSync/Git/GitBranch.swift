import Glibc
import VaultConsole
import VaultFmt
import VaultLocal

/// A fetched commit, on top of which files can be replaced without touching the tree.
struct GitBranch {
    let git: GitProgram
    /// The commit, in a form that git can resolve.
    let commit: String
    /// The path for a temporary index.
    let index: String

    /// Returns a commit on top of this one in which the files with these names are identical to the ones in HEAD;
    /// returns this commit if they already are.
    func replacing(_ names: [String]) throws -> String {
        defer { unlink(index) }
        let settings = ["GIT_INDEX_FILE": index]
        try git.require(["read-tree", commit], "read the other side's files", settings: settings)
        for name in names {
            guard let found = try GitEntry(name, at: "HEAD", git), found.isFile else {
                throw CommandFailure(.io, "\(TerminalText.quoted(name)) is not a file in HEAD; see 'git status'")
            }
            let entry = "\(found.mode),\(found.id),\(name)"
            try git.require(
                ["update-index", "--add", "--cacheinfo", entry], "prepare the merge", settings: settings)
        }
        let tree = try git.require(["write-tree"], "prepare the merge", settings: settings).line
        let before = try git.require(["rev-parse", "\(commit)^{tree}"], "prepare the merge").line
        guard before != tree else { return commit }
        let parent = try git.require(["rev-parse", "\(commit)^{commit}"], "prepare the merge").line
        let message = "\(names[0]): merged before the rest"
        return try git.require(["commit-tree", tree, "-p", parent, "-m", message], "prepare the merge").line
    }
}
