import CVaultShim
import Glibc
import VaultExchange
package import VaultFmt
import VaultLocal

/// A new file with mode 0600 that gets its name only after its contents are on disk. If the process is killed, it
/// leaves nothing behind except possibly a temporary file, which the next writer removes. An existing file is replaced
/// only on request.
package struct NewFile: ~Copyable {
    /// The descriptor to write to.
    package let descriptor: Int32
    private let path: String
    private let what: String
    /// The temporary name of the file; nil if the file system supports unnamed files and nothing is replaced.
    package let temporary: String?
    private let replaces: Bool

    /// - `what`: A description for messages, such as "key file".
    /// - `replaces`: Whether an existing file with this name is replaced.
    /// - `isNamed`: Whether the file always has a temporary name, so that it can be read.
    package init(_ path: String, what: String, replaces: Bool = false, isNamed: Bool = false) throws {
        self.path = path
        self.what = what
        self.replaces = replaces
        if !replaces { try Self.check(path, what: what) }
        Machine.sweep(beside: path)
        let unnamed = replaces || isNamed ? -1 : vault_open_unnamed(UserFiles.parent(of: path))
        if unnamed >= 0 {
            descriptor = unnamed
            temporary = nil
        } else {
            (descriptor, temporary) = try Self.named(beside: path, what)
        }
    }

    /// Creates a temporary file with a name, for file systems and kernels that need one. Its lock indicates that its
    /// writer is still running.
    private static func named(beside path: String, _ what: String) throws -> (Int32, String) {
        let message = "cannot create \(what) \(TerminalText.path(path))"
        for _ in 0..<100 {
            let temporary = Machine.temporaryName(beside: path)
            let descriptor = vault_open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600)
            guard descriptor >= 0 else {
                // The folder is missing, not the requested file.
                throw descriptor == -ENOENT
                    ? CommandFailure(.noSuchFile, "\(message): the folder does not exist; create it first")
                    : CommandFailure(system: -descriptor, message)
            }
            // Before the file was locked, another process may have mistaken it for a dead writer's file and removed it.
            var (own, found) = (vault_status(), vault_status())
            if vault_lock_exclusive(descriptor) == 0, vault_status_of_open(descriptor, &own) == 0,
                vault_status_of(temporary, false, &found) == 0, own.number == found.number, own.device == found.device
            {
                return (descriptor, temporary)
            }
            close(descriptor)
        }
        throw CommandFailure(.busy, "\(message): another process keeps removing it")
    }

    deinit {
        close(descriptor)
        if let temporary { unlink(temporary) }
    }

    /// Throws an error if a path exists.
    package static func check(_ path: String, what: String) throws {
        var status = vault_status()
        guard vault_status_of(path, false, &status) == 0 else {
            guard errno == ENOENT else {
                throw CommandFailure(system: errno, "cannot create \(what) \(TerminalText.path(path))")
            }
            return
        }
        throw exists(path, what)
    }

    /// Syncs the contents.
    package borrowing func sync() throws {
        guard fsync(descriptor) == 0 else { throw failure(errno) }
    }

    /// Syncs the contents, then the name.
    ///
    /// - `isPrivate`: Whether to warn if others can read the file.
    package consuming func finish(isPrivate: Bool = true) throws {
        try sync()
        let result = nameIt()
        guard result == 0 else { throw result == -EEXIST ? Self.exists(path, what) : failure(-result) }
        let synced = vault_sync_directory(UserFiles.parent(of: path))
        guard synced == 0 else {
            let name = TerminalText.path(path)
            throw CommandFailure(
                .io, "\(what) \(name) was written, but its folder could not be synced: \(Descriptor.message(-synced))")
        }
        if isPrivate { warnIfReadable() }
    }

    private borrowing func nameIt() -> Int32 {
        guard let temporary else { return vault_link_open(descriptor, path) }
        guard replaces else { return vault_rename_noreplace(temporary, path) }
        return rename(temporary, path) == 0 ? 0 : -errno
    }

    /// Warns if the file system did not apply the requested mode.
    private borrowing func warnIfReadable() {
        var status = vault_status()
        guard vault_status_of_open(descriptor, &status) == 0, status.mode & 0o077 != 0 else { return }
        Terminal.warning(
            "\(what) \(TerminalText.path(path)) can be read by others: this file system does not store permissions; move it to one that does"
        )
    }

    private borrowing func failure(_ number: Int32) -> CommandFailure {
        CommandFailure(system: number, "cannot write \(what) \(TerminalText.path(path))")
    }

    private static func exists(_ path: String, _ what: String) -> CommandFailure {
        CommandFailure(
            .outputExists, "\(what) \(TerminalText.path(path)) already exists; choose another name or move it away")
    }
}

extension NewFile {
    /// Creates a file with mode 0600, replacing an existing one only if `replaces` is set. The contents and the name
    /// are durable on return.
    package static func create(
        _ path: String, what: String, _ contents: borrowing Secret, replaces: Bool = false
    ) throws {
        let file = try NewFile(path, what: what, replaces: replaces)
        let failure = contents.withUnsafeBytes { Descriptor.writeAll(file.descriptor, $0) }
        guard failure == 0 else {
            throw CommandFailure(system: failure, "cannot write \(what) \(TerminalText.path(path))")
        }
        try file.finish()
    }
}
