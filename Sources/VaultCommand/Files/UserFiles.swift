import CVaultShim
import Glibc
import VaultLocal

/// Paths that a user named, for files that a command is to write.
enum UserFiles {
    /// Whether there is something at a path, a dangling link included.
    static func exists(_ path: String) throws -> Bool {
        var status = vault_status()
        if vault_status_of(path, false, &status) == 0 { return true }
        if errno == ENOENT || errno == ENOTDIR { return false }
        throw CommandFailure(system: errno, "cannot look up \(TerminalText.quoted(path))")
    }

    /// The folder that a path is in.
    static func parent(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }
}
