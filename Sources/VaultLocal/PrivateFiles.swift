internal import Glibc
internal import VaultBytes
internal import VaultCrypto
internal import VaultFmt
internal import VaultStore

/// Small files that this machine keeps about vaults, outside them: 0600, in folders of 0700, complete before they have
/// their names, never through a symbolic link, and nothing in a folder of somebody else.
struct PrivateFiles: Sendable {
    let place: Store.Place
    let announcer: Announcer

    private var fileSystem: any FileSystem { place.fileSystem }

    /// Reads a file, or returns nil where there is none.
    /// - Throws: `memoryDamaged` for what is no file, a link, or longer than `limit` bytes; `io`, with the owner where
    ///   that is the cause.
    func read(_ path: String, what: String, limit: Int) throws(VaultError) -> Secret? {
        do throws(VaultError) {
            let file = try fileSystem.openOwn(path, writable: false)
            var contents = Secret(count: limit + 1)
            var failure: VaultError?
            let count = contents.withUnsafeMutableBytes { buffer in
                do throws(VaultError) { return try file.readAvailable(into: buffer, at: 0) } catch {
                    failure = error
                    return 0
                }
            }
            if let failure { throw failure }
            guard count <= limit else {
                throw VaultError(
                    .memoryDamaged, "\(Self.named(what, path)) is damaged: it is longer than \(limit) bytes")
            }
            return contents.prefix(count)
        } catch {
            switch error.code {
            case .noSuchFile: return nil
            case .notAVault:
                throw VaultError(
                    .memoryDamaged, "\(Self.named(what, path)) is damaged: it is a link, or no regular file")
            case .memoryDamaged: throw error
            default: throw explained(error, path)
            }
        }
    }

    /// Writes a file beside its place, syncs it and moves it there.
    /// - Parameter replacing: If false, a file that exists already wins, and false is returned.
    @discardableResult
    func write(
        _ path: String, what: String, _ contents: borrowing Secret, replacing: Bool = true
    ) throws(VaultError) -> Bool {
        let folder = Places.parent(of: path)
        try makeFolder(folder)
        try Temporary.removeStale(beside: path, fileSystem)
        let (file, temporary) = try makeTemporary(beside: path)
        do throws(VaultError) {
            try contents.withUnsafeBytes { (bytes) throws(VaultError) in try file.write(bytes, at: 0) }
            try file.sync()
            if let mode = try file.permissions(), mode & 0o077 != 0 {
                announcer.warning(
                    "\(Self.named(what, path)) can be read by others: this file system keeps no permissions; keep it on one that does"
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

    /// A new file that is locked: whoever sweeps sees by that that its writer lives.
    private func makeTemporary(beside path: String) throws(VaultError) -> (file: any FileHandle, path: String) {
        for _ in 0..<100 {
            let temporary = Temporary.name(beside: path, place.random)
            let file = try fileSystem.create(temporary)
            // Between the two, another process may have taken it for a dead one's and removed it.
            guard try file.lock(), let named = try fileSystem.identity(of: temporary),
                try named.isSameFile(as: file.identity())
            else {
                continue
            }
            return (file, temporary)
        }
        throw VaultError(.busy, "what is made beside \(path) is removed by another process each time")
    }

    /// Makes a folder and those above it; throws `io` where that would leave something of this user's in a folder of
    /// another user.
    func makeFolder(_ path: String) throws(VaultError) {
        var missing: [String] = []
        var folder = path
        while fileSystem.owner(of: folder) == nil, Places.parent(of: folder) != folder {
            missing.append(folder)
            folder = Places.parent(of: folder)
        }
        try requireOwn(folder)
        for folder in missing.reversed() { try fileSystem.makeDirectory(folder) }
    }

    /// Throws where a folder is another user's: with `sudo` and the user's HOME, root's files there would lock the user
    /// out.
    func requireOwn(_ folder: String) throws(VaultError) {
        guard let owner = fileSystem.owner(of: folder), owner != geteuid(), owner != 0 else { return }
        throw VaultError(
            .io,
            "the folder \(TerminalText.path(folder)) belongs to user \(owner), and nothing is made there by user \(geteuid()): "
                + "run as that user, or set HOME to your own")
    }

    /// Runs a step while no other process runs one with the same lock file, which is made on first need. Waits for 10
    /// seconds at most.
    func locked<R>(_ path: String, _ body: () throws(VaultError) -> R) throws(VaultError) -> R {
        try makeFolder(Places.parent(of: path))
        let file = try openLock(path)
        var waited = 0
        while try !file.lock() {
            guard waited < 1000 else { throw VaultError(.busy, "\(path) is locked by another process") }
            _ = ForkGate.outside { usleep(10_000) }
            waited += 1
        }
        defer { file.unlock() }
        return try body()
    }

    private func openLock(_ path: String) throws(VaultError) -> any FileHandle {
        do throws(VaultError) { return try fileSystem.openOwn(path, writable: true) } catch {
            guard error.code == .noSuchFile else { throw explained(error, path) }
        }
        do throws(VaultError) { return try fileSystem.create(path) } catch {
            // Another process was faster.
            guard error.code == .fileExists else { throw error }
        }
        return try fileSystem.openOwn(path, writable: true)
    }

    /// Removes what interrupted writers have left in a folder.
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

    /// An error, with whose the file is where that may be why.
    private func explained(_ error: VaultError, _ path: String) -> VaultError {
        guard error.code == .io else { return error }
        var place = path
        while fileSystem.owner(of: place) == nil, Places.parent(of: place) != place { place = Places.parent(of: place) }
        guard let owner = fileSystem.owner(of: place), owner != geteuid() else { return error }
        let cause =
            "\(TerminalText.path(place)) belongs to user \(owner), perhaps since a command ran as that user with this HOME"
        return VaultError(.io, "\(error.detail); \(cause): give it back with chown", at: error.offset)
    }

    private static func named(_ what: String, _ path: String) -> String { "the \(what) \(TerminalText.path(path))" }
}
