import CVaultShim
import Glibc
import VaultFmt
import VaultLocal

/// A new file, 0600, that has no name before all of it is on the disk: a file with the name is a whole file, and a
/// killed process leaves nothing, or a locked-out temporary that the next one removes. Never over another file unless
/// asked to.
struct NewFile: ~Copyable {
    /// Where to write.
    let descriptor: Int32
    private let path: String
    private let what: String
    /// The file's name until it is whole: nil where the file system can keep it without one, and nothing is replaced.
    private let temporary: String?
    private let replaces: Bool

    /// - `what`: What it is, for messages, such as "key file".
    /// - `replaces`: Whether a file with this name is replaced when this one is whole.
    init(_ path: String, what: String, replaces: Bool = false) throws {
        self.path = path
        self.what = what
        self.replaces = replaces
        if !replaces { try Self.check(path, what: what) }
        Machine.sweep(beside: path)
        let unnamed = replaces ? -1 : vault_open_unnamed(UserFiles.parent(of: path))
        if unnamed >= 0 {
            descriptor = unnamed
            temporary = nil
        } else {
            (descriptor, temporary) = try Self.named(beside: path, what)
        }
    }

    /// A file with a name of its own, on a file system or kernel that needs one. It is locked, which shows whoever
    /// sweeps that its writer lives.
    private static func named(beside path: String, _ what: String) throws -> (Int32, String) {
        let message = "cannot create \(what) \(TerminalText.quoted(path))"
        for _ in 0..<100 {
            let temporary = Machine.temporaryName(beside: path)
            let descriptor = vault_open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600)
            guard descriptor >= 0 else {
                // The file that is missing is the folder, which is not the one that was asked for.
                throw descriptor == -ENOENT
                    ? CommandFailure(.io, "\(message): there is no such folder")
                    : CommandFailure(system: -descriptor, message)
            }
            // Between the two, another process may have taken it for a dead one's and removed it.
            var (own, found) = (vault_status(), vault_status())
            if vault_lock_exclusive(descriptor) == 0, vault_status_of_open(descriptor, &own) == 0,
                vault_status_of(temporary, false, &found) == 0, own.number == found.number, own.device == found.device
            {
                return (descriptor, temporary)
            }
            close(descriptor)
        }
        throw CommandFailure(.busy, "\(message): another process removes it each time")
    }

    deinit {
        close(descriptor)
        if let temporary { unlink(temporary) }
    }

    /// Refuses a path that is taken.
    static func check(_ path: String, what: String) throws {
        var status = vault_status()
        guard vault_status_of(path, false, &status) == 0 else {
            guard errno == ENOENT else {
                throw CommandFailure(system: errno, "cannot create \(what) \(TerminalText.quoted(path))")
            }
            return
        }
        throw exists(path, what)
    }

    /// Makes all of it durable and gives it its name, and makes that durable too.
    consuming func finish() throws {
        guard fsync(descriptor) == 0 else { throw failure(errno) }
        let result = nameIt()
        guard result == 0 else { throw result == -EEXIST ? Self.exists(path, what) : failure(-result) }
        let synced = vault_sync_directory(UserFiles.parent(of: path))
        guard synced == 0 else {
            let name = TerminalText.quoted(path)
            throw CommandFailure(
                .io, "\(what) \(name) is written, but its folder could not be synced: \(Descriptor.message(-synced))")
        }
        warnIfReadable()
    }

    private borrowing func nameIt() -> Int32 {
        guard let temporary else { return vault_link_open(descriptor, path) }
        guard replaces else { return vault_rename_noreplace(temporary, path) }
        return rename(temporary, path) == 0 ? 0 : -errno
    }

    /// Says so where the file system did not take the mode that it was asked for.
    private borrowing func warnIfReadable() {
        var status = vault_status()
        guard vault_status_of_open(descriptor, &status) == 0, status.mode & 0o077 != 0 else { return }
        Terminal.warning(
            "\(what) \(TerminalText.quoted(path)) can be read by others: this file system keeps no permissions; keep it on one that does"
        )
    }

    private borrowing func failure(_ number: Int32) -> CommandFailure {
        CommandFailure(system: number, "cannot write \(what) \(TerminalText.quoted(path))")
    }

    private static func exists(_ path: String, _ what: String) -> CommandFailure {
        CommandFailure(
            .outputExists, "\(what) \(TerminalText.quoted(path)) exists already; choose another name or move it away")
    }
}

extension NewFile {
    /// Makes a new file, 0600, over another one only if it `replaces` it; it and its name are durable on return.
    static func create(
        _ path: String, what: String, _ contents: borrowing Secret, replaces: Bool = false
    ) throws {
        let file = try NewFile(path, what: what, replaces: replaces)
        let failure = contents.withUnsafeBytes { Descriptor.writeAll(file.descriptor, $0) }
        guard failure == 0 else {
            throw CommandFailure(system: failure, "cannot write \(what) \(TerminalText.quoted(path))")
        }
        try file.finish()
    }
}
