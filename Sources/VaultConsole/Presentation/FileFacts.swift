import CVaultShim
import Glibc
import VaultFmt
import VaultLocal

/// Facts that the system reveals about a vault file without a key.
package struct FileFacts {
    package let bytes: UInt64
    /// The time of the last modification, in milliseconds since 1970.
    package let modified: Int64
    /// The file's mode, in the form that chmod accepts.
    package let mode: UInt32
    /// The process that is writing to the file now, as "name (pid)" if known; nil if no process is writing.
    package let writer: String?

    package init(_ path: String) throws {
        let status = try Self.status(of: path)
        bytes = UInt64(clamping: status.size)
        modified = status.modified_seconds * 1000 + status.modified_nanoseconds / 1_000_000
        mode = status.mode & 0o7777
        writer = try Machine.writer(of: path)
    }

    /// Returns a file's permissions in the form that chmod accepts.
    package static func mode(of path: String) throws -> UInt32 { try status(of: path).mode & 0o7777 }

    /// Calls the shim because, in the presence of Foundation, `struct stat` is sometimes Glibc's and sometimes
    /// CoreFoundation's.
    private static func status(of path: String) throws -> vault_status {
        var status = vault_status()
        guard vault_status_of(path, true, &status) == 0 else {
            throw CommandFailure(system: errno, "cannot look up \(TerminalText.path(path))")
        }
        return status
    }

    /// True if anyone but the owner may read or write the file.
    package var isOpenToOthers: Bool { mode & 0o077 != 0 }

    /// The permissions with an explanation, such as "0600, for its owner only".
    package var permissions: String {
        let digits = "0" + String(mode, radix: 8)
        guard isOpenToOthers else { return "\(digits), for its owner only" }
        return "\(digits), others can \(mode & 0o022 != 0 ? "change" : "read") it; run 'chmod 600' to prevent that"
    }
}
