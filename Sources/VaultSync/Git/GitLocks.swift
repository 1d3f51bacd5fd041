import CVaultShim
import Glibc
import VaultConsole
import VaultFmt
import VaultLocal

/// Allows only one `sync` at a time in a clone.
final class SyncLock {
    /// The folder that git keeps for this work tree.
    let folder: String
    private let descriptor: Int32
    private static let prefix = "vaultfmt-sync-"

    /// Waits for the lock, and removes the files of a killed `sync`.
    init(_ file: GitFile, patience: Double) throws {
        folder = try file.git.require(["rev-parse", "--absolute-git-dir"], "find its folder").path
        let path = folder + "/vaultfmt-sync.lock"
        descriptor = vault_open(path, O_RDWR | O_CREAT | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else {
            throw CommandFailure(system: -descriptor, "cannot lock \(TerminalText.path(path))")
        }
        let end = Clock.now + patience
        while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            let error = errno
            guard error == EWOULDBLOCK || error == EINTR else {
                throw CommandFailure(system: error, "cannot lock \(TerminalText.path(path))")
            }
            guard Clock.now < end else {
                throw CommandFailure(
                    .busy, "another sync of this clone has been running for \(Int(patience)) s; wait for it, or end it")
            }
            Clock.sleep(0.05)
        }
        removeLeftovers()
    }

    deinit { close(descriptor) }

    /// Returns the path of a temporary file. A git process that outlives a killed `sync` still uses that process's
    /// file.
    func temporary(_ name: String) -> String { "\(folder)/\(Self.prefix)\(getpid())-\(name)" }

    private func removeLeftovers() {
        guard let directory = vault_open_directory(folder) else { return }
        defer { closedir(directory) }
        while let entry = vault_next_name(directory) {
            let name = String(cString: entry)
            if name.hasPrefix(Self.prefix) { unlink(folder + "/" + name) }
        }
    }
}

/// The locks that git holds while it changes a repository. They are files, which remain if git is killed.
struct GitLocks {
    private let paths: [String]

    init(_ file: GitFile, _ remote: GitRemote, folder: String) throws {
        // The path is relative to the top, where git runs.
        let found = try file.git.require(["rev-parse", "--git-common-dir"], "find its folder").path
        let common = found.hasPrefix("/") ? found : "\(file.top)/\(found)"
        paths =
            ["index", "HEAD", "ORIG_HEAD", "AUTO_MERGE"].map { "\(folder)/\($0).lock" }
            + ["packed-refs", "config", "shallow", "refs/heads/\(remote.local)", remote.tracking].map {
                "\(common)/\($0).lock"
            }
    }

    /// Returns the lock that stopped git, if any; git may have released it since.
    func blocking(_ failure: CommandFailure) -> String? {
        guard failure.status == .io else { return nil }
        if let held { return held }
        return paths.first { path in failure.message.contains(path[(path.lastIndex(of: "/") ?? path.startIndex)...]) }
    }

    /// A lock that exists.
    private var held: String? { paths.first { access($0, F_OK) == 0 } }

    /// Waits until no lock exists.
    /// - Throws: `ExitStatus.busy` with the remedy if a lock still exists at `end`, because the git process that
    ///   created it was probably killed.
    func wait(until end: Double) throws {
        while let path = held {
            guard Clock.now < end else {
                throw CommandFailure(
                    .busy,
                    "another git process has locked the repository, or was killed while holding the lock; if no git is running, delete \(TerminalText.path(path))"
                )
            }
            Clock.sleep(0.05)
        }
    }
}

/// A monotonic clock, in seconds.
enum Clock {
    private static let start = ContinuousClock.now

    static var now: Double { (ContinuousClock.now - start) / .seconds(1) }

    static func sleep(_ seconds: Double) { usleep(UInt32(seconds * 1e6)) }
}
