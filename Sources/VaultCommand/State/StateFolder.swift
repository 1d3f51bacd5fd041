import CVaultShim
import Glibc
import VaultFmt
import VaultLocal

/// Files that a command writes for its user: complete before they have their names.
enum StateFolder {
    /// Whether there is something at a path, a dangling link included.
    static func exists(_ path: String) throws(CommandFailure) -> Bool {
        var information = stat()
        if lstat(path, &information) == 0 { return true }
        if errno == ENOENT || errno == ENOTDIR { return false }
        throw CommandFailure(system: errno, "cannot look up \(TerminalText.quoted(path))")
    }

    /// Writes a file beside its place, syncs it and moves it there.
    /// - Parameter replacing: If false, a file that is there already wins, and false is returned.
    @discardableResult
    static func write(
        _ path: String, what: String, _ contents: borrowing Secret, replacing: Bool = true
    ) throws(CommandFailure) -> Bool {
        let folder = parent(of: path)
        let temporary = "\(path).\(getpid())"
        unlink(temporary)
        try Descriptor.createFile(temporary, what: what, contents)
        let result = replacing ? (rename(temporary, path) == 0 ? 0 : -errno) : vault_rename_noreplace(temporary, path)
        guard result == 0 else {
            unlink(temporary)
            if !replacing && result == -EEXIST { return false }
            throw CommandFailure(system: -result, "cannot write \(what) \(TerminalText.quoted(path))")
        }
        syncFolder(folder)
        return true
    }

    /// The folder that a path is in.
    static func parent(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    private static func syncFolder(_ path: String) {
        let descriptor = vault_open(path, O_RDONLY | O_DIRECTORY, 0)
        guard descriptor >= 0 else { return }
        fsync(descriptor)
        close(descriptor)
    }
}
