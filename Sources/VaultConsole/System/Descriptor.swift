import CVaultShim
import Glibc
package import VaultExchange
package import VaultFmt
import VaultLocal

/// The command's own operations on descriptors. Vaults are read and written by the library instead.
extension Descriptor {
    /// Returns whether a descriptor is open for reading.
    package static func isReadable(_ descriptor: Int32) -> Bool {
        let flags = fcntl(descriptor, F_GETFL)
        return flags >= 0 && flags & O_ACCMODE != O_WRONLY
    }

    /// Reads to the end into memory that is wiped after use.
    /// - `limit`: The maximum number of bytes to read; longer input fails with `ExitStatus.usage`.
    package static func readAll(_ descriptor: Int32, name: String, limit: Int) throws -> Secret {
        var buffer = Secret(count: 4096)
        var used = 0
        while true {
            if used == buffer.count {
                buffer = grown(buffer, used: used, to: min(buffer.count * 4, limit + 1))
            }
            let start = used
            let count = buffer.withUnsafeMutableBytes { bytes in
                Glibc.read(descriptor, bytes.baseAddress?.advanced(by: start), bytes.count - start)
            }
            if count < 0 {
                if errno == EINTR { continue }
                throw CommandFailure(system: errno, "cannot read \(name)")
            }
            if count == 0 { return buffer.prefix(used) }
            used += count
            guard used <= limit else {
                throw CommandFailure(.usage, "\(name) is longer than the maximum of \(limit) bytes")
            }
        }
    }

    /// Reads a whole file into memory that is wiped after use; `-` has no special meaning.
    package static func readFile(_ path: String, what: String, limit: Int) throws -> Secret {
        let descriptor = vault_open(path, O_RDONLY, 0)
        let name = "\(what) \(TerminalText.path(path))"
        guard descriptor >= 0 else {
            throw CommandFailure(system: -descriptor, "cannot open \(name)")
        }
        defer { close(descriptor) }
        return try readAll(descriptor, name: name, limit: limit)
    }

    private static func grown(_ old: borrowing Secret, used: Int, to count: Int) -> Secret {
        var larger = Secret(count: count)
        old.withUnsafeBytes { source in
            larger.withUnsafeMutableBytes { target in
                target.copyMemory(from: UnsafeRawBufferPointer(rebasing: source[..<used]))
            }
        }
        return larger
    }
}
