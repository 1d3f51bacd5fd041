import CVaultShim
import Glibc
import VaultConsole
import VaultFmt
import VaultLocal

/// A vault as a file in a git repository.
struct GitFile {
    let git: GitProgram
    /// The vault's path, as the user gave it.
    let path: String
    /// The vault's path relative to the top of the repository.
    let name: String
    /// The top of the repository.
    let top: String

    init(_ path: String) throws {
        guard try UserFiles.exists(path) else {
            throw CommandFailure(.noSuchFile, "there is no vault \(TerminalText.path(path)); check the path")
        }
        try Self.requireFile(path)
        self.path = path
        let folder = UserFiles.parent(of: path)
        let here = try GitProgram(folder: folder)
        // The options are passed one at a time, because either path can contain newlines.
        let found = try ["--show-toplevel", "--show-prefix"].map { try here.run(["rev-parse", $0]) }
        let prefix: String
        if let failed = found.first(where: { !$0.isSuccess }) {
            guard let tree = try Self.workTree(around: folder) else {
                throw CommandFailure(
                    .usage,
                    "\(TerminalText.path(path)) is not in a git repository; create one with 'git init' (git said: \(GitProgram.reason(failed)))"
                )
            }
            (top, prefix) = tree
        } else {
            (top, prefix) = (found[0].path, found[1].path)
        }
        name = prefix + String(path[(path.lastIndex(of: "/").map { path.index(after: $0) } ?? path.startIndex)...])
        git = try GitProgram(folder: top)
    }

    /// Finds the work tree around a folder that looks like a repository without a work tree, where git stops searching.
    /// - Returns: The work tree's top, and the folder's path relative to the top, with a slash at the end; nil if there
    ///   is no work tree.
    /// - Throws: A failure with git's reason if git refuses the repository.
    private static func workTree(around folder: String) throws -> (String, String)? {
        guard let real = realpath(folder, nil) else { return nil }
        defer { free(real) }
        let whole = String(cString: real)
        var top = whole
        while access(top + "/.git", F_OK) != 0 {
            guard top != "/" else { return nil }
            top = UserFiles.parent(of: top)
        }
        // The reason is compared below, so it must not be translated.
        let answer = try GitProgram(folder: top).run(["rev-parse", "--show-toplevel"], settings: ["LC_ALL": "C"])
        guard answer.isSuccess else {
            let reason = GitProgram.reason(answer)
            // For example, the folder is empty, or another program uses it.
            guard !reason.hasPrefix("fatal: not a git repository") else { return nil }
            // There is a repository, but another user owns it, or its configuration is damaged.
            throw CommandFailure(.io, "git refuses the repository \(TerminalText.path(top)): \(reason)")
        }
        guard answer.path == top, whole != top else { return nil }
        return (top, whole.dropFirst(top == "/" ? 1 : top.count + 1) + "/")
    }

    /// Throws an error for a link: git would store the link, but not the vault that it points to.
    static func requireFile(_ path: String) throws {
        var status = vault_status()
        guard vault_status_of(path, false, &status) == 0 else {
            throw CommandFailure(system: errno, "cannot look up \(TerminalText.path(path))")
        }
        guard status.mode & S_IFMT != S_IFLNK else {
            throw CommandFailure(
                .usage, "\(TerminalText.path(path)) is a symbolic link; give the path of the file that it points to")
        }
    }

    /// The vault's name as a pathspec that matches only this file.
    var pathspec: String { Self.pathspec(name) }

    /// Returns a pathspec that matches only the file with this name.
    static func pathspec(_ name: String) -> String { ":(literal,top)" + name }
}

/// A file, folder, link or submodule in a commit.
struct GitEntry {
    let mode: String
    let id: String

    /// Finds the entry with the given name in a commit; returns nil if the entry does not exist.
    init?(_ name: String, at commit: String, _ git: GitProgram) throws {
        let listed = try git.require(["ls-tree", "-z", commit, "--", GitFile.pathspec(name)], "find \(name)").text
        let fields = listed.split(separator: "\t").first?.split(separator: " ") ?? []
        guard fields.count == 3 else { return nil }
        (mode, id) = (String(fields[0]), String(fields[2]))
    }

    /// True if the entry is a regular file.
    var isFile: Bool { mode.hasPrefix("100") }

    /// A word for the kind of entry.
    var kind: String {
        switch mode {
        case "120000": "a symbolic link"
        case "160000": "a submodule"
        case "040000": "a folder"
        default: "a file"
        }
    }
}

extension Vault {
    /// Returns whether a file is a vault: git may store something else in its place, such as an LFS pointer.
    static func isOne(at path: String) throws -> Bool {
        do throws(VaultError) {
            _ = try Vault.id(at: path)
            return true
        } catch {
            guard error.code == .notAVault else { throw CommandFailure(error) }
            return false
        }
    }
}
