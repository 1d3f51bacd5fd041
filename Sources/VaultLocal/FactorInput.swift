internal import CVaultShim
internal import Glibc
package import VaultFmt

/// Reads factors from files and descriptors into memory that is wiped after use.
package enum FactorInput {
    /// The maximum length that the format allows, plus a line ending.
    package static let longestPassphrase = 65_538
    /// 64 MiB.
    package static let longestKeyFile = 64 << 20

    /// Reads a passphrase file. A single trailing line ending (LF or CR LF) is not part of the passphrase.
    package static func passphrase(file path: String) throws(VaultError) -> Secret {
        withoutLineEnd(try file(path, what: "passphrase file", limit: longestPassphrase))
    }

    /// Reads a passphrase from an open descriptor, and closes the descriptor, so no program started later can read it
    /// again.
    package static func passphrase(descriptor: Int32) throws(VaultError) -> Secret {
        withoutLineEnd(try spent(descriptor, name: "descriptor \(descriptor)", limit: longestPassphrase))
    }

    /// Reads a file to its end; `-` has no special meaning. If the path refers to an open descriptor (`/dev/fd/N`), the
    /// descriptor is closed.
    package static func file(_ path: String, what: String, limit: Int) throws(VaultError) -> Secret {
        let name = "\(what) \(TerminalText.path(path))"
        if let descriptor = descriptor(path) { return try spent(descriptor, name: name, limit: limit) }
        let descriptor = vault_open(path, O_RDONLY | O_NOCTTY, 0)
        guard descriptor >= 0 else { throw failure(-descriptor, "cannot open \(name)") }
        defer { close(descriptor) }
        return try contents(descriptor, name: name, limit: limit)
    }

    /// Reads a descriptor to its end. Throws `invalidArgument` if there are more than `limit` bytes.
    package static func contents(_ descriptor: Int32, name: String, limit: Int) throws(VaultError) -> Secret {
        var buffer = Secret(count: min(4096, limit + 1))
        var used = 0
        while true {
            let start = used
            let count = buffer.withUnsafeMutableBytes {
                read(descriptor, $0.baseAddress?.advanced(by: start), $0.count - start)
            }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw failure(errno, "cannot read \(name)") }
            if count == 0 { return buffer.prefix(used) }
            used += count
            guard used <= limit else {
                throw VaultError(.invalidArgument, "\(name) is longer than the maximum of \(limit) bytes")
            }
            if used == buffer.count { buffer = grown(buffer, to: min(used * 4, limit + 1)) }
        }
    }

    /// Removes a single trailing line ending (LF or CR LF).
    package static func withoutLineEnd(_ secret: consuming Secret) -> Secret {
        let count = secret.withUnsafeBytes { bytes in
            guard bytes.last == 0x0A else { return bytes.count }
            return bytes.dropLast().last == 0x0D ? bytes.count - 2 : bytes.count - 1
        }
        return count == secret.count ? secret : secret.prefix(count)
    }

    /// Reads a descriptor to its end and closes it. A standard descriptor is replaced with the null device instead,
    /// which prevents the reuse of its number.
    private static func spent(_ descriptor: Int32, name: String, limit: Int) throws(VaultError) -> Secret {
        defer { discard(descriptor) }
        return try contents(descriptor, name: name, limit: limit)
    }

    /// Closes a descriptor. A standard descriptor is replaced with the null device instead.
    package static func discard(_ descriptor: Int32) {
        guard descriptor <= STDERR_FILENO else {
            close(descriptor)
            return
        }
        let null = vault_open("/dev/null", O_RDWR, 0)
        guard null >= 0 else { return }
        dup2(null, descriptor)
        close(null)
    }

    /// Prevents programs started later from inheriting a descriptor, unless the descriptor is a standard one.
    package static func closeOnExec(_ descriptor: Int32) {
        if descriptor > STDERR_FILENO { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
    }

    /// Returns the descriptor that a path refers to, if any.
    package static func descriptor(_ path: String) -> Int32? {
        if path == "/dev/stdin" { return STDIN_FILENO }
        for folder in ["/dev/fd/", "/proc/self/fd/"] where path.hasPrefix(folder) {
            if let number = Int32(path.dropFirst(folder.count)), number >= 0 { return number }
        }
        return nil
    }

    private static func grown(_ old: borrowing Secret, to count: Int) -> Secret {
        var larger = Secret(count: count)
        old.withUnsafeBytes { source in larger.withUnsafeMutableBytes { $0.copyMemory(from: source) } }
        return larger
    }

    private static func failure(_ number: Int32, _ what: String) -> VaultError {
        let text = strerror(number).map { String(cString: $0) } ?? "error \(number)"
        return VaultError(number == ENOENT ? .noSuchFile : .io, "\(what): \(text)")
    }
}
