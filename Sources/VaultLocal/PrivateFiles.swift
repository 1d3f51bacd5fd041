internal import Glibc
internal import VaultBytes
internal import VaultCrypto
internal import VaultFmt
internal import VaultStore

/// Reads and writes this machine's small files about vaults, with mode 0600 in folders with mode 0700. They appear
/// under their names only when complete, are never opened through a symbolic link, and are never created in another
/// user's folder.
struct PrivateFiles: Sendable {
    let place: Store.Place
    let announcer: Announcer

    private var fileSystem: any FileSystem { place.fileSystem }

    /// Reads a file; returns nil if the file does not exist.
    /// - Throws: `memoryDamaged` if the file is not regular or is longer than `limit` bytes; `io`, with the file's
    ///   owner if that may be the cause.
    func read(_ path: String, what: String, limit: Int) throws(VaultError) -> Secret? {
        do throws(VaultError) {
            let file = try fileSystem.openOwn(path, writable: false)
            let size = Int(clamping: try file.size())
            guard size <= limit else {
                throw VaultError(
                    .memoryDamaged, "\(Self.named(what, path)) is damaged: it is longer than \(limit) bytes")
            }
            // One more byte than the file's size, to detect growth: such files are replaced as a whole. Small files can
            // be read even if memory for secrets has run out.
            var contents = size < 32_768 ? Secret(count: size + 1) : try Secret(allocating: size + 1)
            var failure: VaultError?
            let count = contents.withUnsafeMutableBytes { buffer in
                do throws(VaultError) { return try file.readAvailable(into: buffer, at: 0) } catch {
                    failure = error
                    return 0
                }
            }
            if let failure { throw failure }
            guard count <= size else {
                throw VaultError(.memoryDamaged, "\(Self.named(what, path)) is damaged: it grows while it is read")
            }
            return contents.prefix(count)
        } catch {
            switch error.code {
            case .noSuchFile: return nil
            case .notAVault:
                throw VaultError(
                    .memoryDamaged, "\(Self.named(what, path)) is damaged: it is a link or not a regular file")
            case .memoryDamaged: throw error
            default: throw explained(error, path)
            }
        }
    }

    /// Opens a file that will be changed in place; throws `noSuchFile` if the file does not exist.
    func openOwn(_ path: String, writable: Bool) throws(VaultError) -> any FileHandle {
        try fileSystem.openOwn(path, writable: writable)
    }

    /// Creates a file that will be changed in place, in one of this user's folders; throws `fileExists`.
    func createOwn(_ path: String) throws(VaultError) -> any FileHandle {
        try makeFolder(Places.parent(of: path))
        return try fileSystem.create(path)
    }

    /// Writes a temporary file, syncs it, and renames it.
    ///
    /// If `replacing` is false, an existing file is kept and false is returned.
    @discardableResult
    func write(
        _ path: String, what: String, _ contents: borrowing Secret, replacing: Bool = true
    ) throws(VaultError) -> Bool {
        try write(path, what: what, replacing: replacing) { (file) throws(VaultError) in
            try contents.withUnsafeBytes { (bytes) throws(VaultError) in try file.write(bytes, at: 0) }
        }
    }

    /// Replaces a file like the function above; a closure writes the contents.
    @discardableResult
    func write(
        _ path: String, what: String, replacing: Bool = true, _ fill: (any FileHandle) throws(VaultError) -> Void
    ) throws(VaultError) -> Bool {
        let folder = Places.parent(of: path)
        try makeFolder(folder)
        try Temporary.removeStale(beside: path, fileSystem)
        let (file, temporary) = try Temporary.create(beside: path, fileSystem, place.random)
        do throws(VaultError) {
            try fill(file)
            try file.sync()
            if let mode = try file.permissions(), mode & 0o077 != 0 {
                announcer.warning(
                    "\(Self.named(what, path)) can be read by others: this file system does not store permissions; keep it on one that does"
                )
            }
            try fileSystem.rename(temporary, to: path, replacing: replacing)
        } catch {
            do throws(VaultError) { try fileSystem.remove(temporary) } catch {}
            if !replacing, error.code == .fileExists { return false }
            throw error.code == .outcomeUnknown
                ? VaultError(.io, "cannot write \(Self.named(what, path)): \(error.detail)") : error
        }
        try fileSystem.syncDirectory(of: path)
        return true
    }

    /// Creates a folder and the folders above it; throws `io` if this would put the user's files in another user's
    /// folder.
    func makeFolder(_ path: String) throws(VaultError) {
        var missing: [String] = []
        var folder = path
        while fileSystem.owner(of: folder) == nil, Places.parent(of: folder) != folder {
            missing.append(folder)
            folder = Places.parent(of: folder)
        }
        try requireOwn(folder)
        for folder in missing.reversed() {
            try fileSystem.makeDirectory(folder)
            try syncEntry(of: folder)
        }
    }

    /// Makes the entry of a new folder durable.
    private func syncEntry(of folder: String) throws(VaultError) {
        do throws(VaultError) { try fileSystem.syncDirectory(of: folder) } catch {
            // The parent folder may be writable but not readable for this user, who then cannot sync the folder.
            guard error.code != .outcomeUnknown else { throw error }
        }
    }

    /// Throws if a folder belongs to another user: with `sudo` and the user's HOME, files created there by root would
    /// lock the user out.
    func requireOwn(_ folder: String) throws(VaultError) {
        guard let owner = fileSystem.owner(of: folder), owner != geteuid(), owner != 0 else { return }
        throw VaultError(
            .io,
            "the folder \(TerminalText.path(folder)) belongs to user \(owner), so user \(geteuid()) does not create files there: "
                + "run as that user, or set HOME to your own")
    }

    /// Runs a closure under an exclusive lock on a lock file, which is created if needed. Waits at most 10 seconds.
    func locked<R>(_ path: String, _ body: () throws(VaultError) -> R) throws(VaultError) -> R {
        try makeFolder(Places.parent(of: path))
        let file = try openLock(path)
        try lock(file, path)
        defer { file.unlock() }
        return try body()
    }

    /// Waits at most 10 seconds for the lock on a file.
    func lock(_ file: any FileHandle, _ path: String) throws(VaultError) {
        var waited = 0
        while try !file.lock() {
            guard waited < 1000 else {
                throw VaultError(.busy, "\(TerminalText.path(path)) is locked by another process")
            }
            _ = ForkGate.outside { usleep(10_000) }
            waited += 1
        }
    }

    /// Returns the identity of the file at a path; nil if there is none.
    func identity(_ path: String) throws(VaultError) -> FileIdentity? { try fileSystem.identity(of: path) }

    private func openLock(_ path: String) throws(VaultError) -> any FileHandle {
        do throws(VaultError) { return try fileSystem.openOwn(path, writable: true) } catch {
            guard error.code == .noSuchFile else { throw explained(error, path) }
        }
        do throws(VaultError) { return try fileSystem.create(path) } catch {
            // Another process created the file first.
            guard error.code == .fileExists else { throw error }
        }
        return try fileSystem.openOwn(path, writable: true)
    }

    /// Removes the temporary files of interrupted writers in a folder.
    func sweep(_ folder: String) throws(VaultError) {
        var names: Set<Substring> = []
        for name in try fileSystem.siblings(of: folder + "/") {
            if name.hasPrefix("."), name.dropLast(8).hasSuffix(".vaultfmt-") {
                names.insert(name.dropFirst().dropLast(18))
            }
        }
        for name in names { try Temporary.removeStale(beside: folder + "/" + name, fileSystem) }
    }

    func remove(_ path: String) throws(VaultError) { try fileSystem.remove(path) }

    /// Returns whether a file or a folder exists at a path.
    func exists(_ path: String) -> Bool {
        do throws(VaultError) { return try fileSystem.identity(of: path) != nil } catch {
            return fileSystem.owner(of: path) != nil
        }
    }

    /// Returns the names of the files in a folder.
    func names(in folder: String) throws(VaultError) -> [String] { try fileSystem.siblings(of: folder + "/") }

    /// Returns the error, adding the file's owner if that may be the cause.
    func explained(_ error: VaultError, _ path: String) -> VaultError {
        guard error.code == .io else { return error }
        var place = path
        while fileSystem.owner(of: place) == nil, Places.parent(of: place) != place { place = Places.parent(of: place) }
        guard let owner = fileSystem.owner(of: place), owner != geteuid() else { return error }
        let cause =
            "\(TerminalText.path(place)) belongs to user \(owner), perhaps because a command ran as that user with this HOME"
        return VaultError(.io, "\(error.detail); \(cause): change the owner with chown", at: error.offset)
    }

    private static func named(_ what: String, _ path: String) -> String { "the \(what) \(TerminalText.path(path))" }
}
