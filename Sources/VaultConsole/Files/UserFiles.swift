import CVaultShim
import Glibc
import VaultLocal

/// User-supplied paths of files that a command will write.
package enum UserFiles {
    /// Returns whether anything exists at a path, including a dangling link.
    package static func exists(_ path: String) throws -> Bool {
        var status = vault_status()
        if vault_status_of(path, false, &status) == 0 { return true }
        if errno == ENOENT || errno == ENOTDIR { return false }
        throw CommandFailure(system: errno, "cannot look up \(TerminalText.path(path))")
    }

    /// Returns whether a path is a symbolic link to something that does not exist.
    package static func isDanglingLink(_ path: String) throws -> Bool {
        var status = vault_status()
        guard try exists(path) else { return false }
        return vault_status_of(path, true, &status) != 0 && errno == ENOENT
    }

    /// The folder that contains a path.
    package static func parent(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }
}
