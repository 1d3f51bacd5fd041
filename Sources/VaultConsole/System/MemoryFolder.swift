import CVaultShim
import Glibc
import VaultExchange
import VaultFmt
import VaultLocal

/// A private folder in memory-backed storage, for a secret that another program must read from a file. The system may
/// swap such memory out, but otherwise never writes it to disk.
///
/// If a process is killed, its folder remains, and the next process wipes it. A folder in use is locked.
package struct MemoryFolder: ~Copyable {
    private static let prefix = "vaultfmt-edit-"
    let path: String
    private let lock: Int32

    /// Creates the folder with mode 0700 in `$XDG_RUNTIME_DIR` or `/dev/shm`, using the first of them that is in
    /// memory.
    ///
    /// - `instead`: The alternative to mention if neither is available.
    package init(instead: String) throws {
        for base in Self.bases where Self.isInMemory(base) {
            // Another process may mistake a folder that is not yet locked for an abandoned one.
            for _ in 0..<10 {
                var template = Array("\(base)/\(Self.prefix)XXXXXX".utf8CString)
                guard mkdtemp(&template) != nil else { break }
                let made = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
                guard let locked = Self.lock(made) else { continue }
                path = made
                lock = locked
                return
            }
        }
        throw CommandFailure(
            .io,
            "no storage in memory: neither XDG_RUNTIME_DIR nor /dev/shm is a writable tmpfs; \(instead)")
    }

    /// The path of the file that holds the secret.
    package var file: String { path + "/secret" }

    /// Overwrites and removes everything in the folder, including files left by an editor, and then the folder itself.
    /// - Returns: The path of anything that could not be removed.
    consuming func wipe() -> String? {
        defer { close(lock) }
        return Self.wipe(folder: path) ? nil : path
    }

    /// Wipes the folders of this user's killed processes.
    /// - Returns: The paths of the wiped folders.
    static func sweep() -> [String] {
        var wiped: [String] = []
        for base in bases where isInMemory(base) {
            for name in names(in: base) where name.hasPrefix(prefix) {
                let path = "\(base)/\(name)"
                var status = vault_status()
                guard vault_status_of(path, false, &status) == 0, status.mode & S_IFMT == S_IFDIR,
                    status.owner == geteuid()
                else {
                    continue
                }
                guard let lock = lock(path) else { continue }
                defer { close(lock) }
                if wipe(folder: path) { wiped.append(path) }
            }
        }
        return wiped
    }

    /// A memory-backed folder in which other programs can create files; nil if no such folder exists.
    package static var base: String? { bases.first(where: isInMemory) }

    private static var bases: [String] { [Environment.nonEmpty("XDG_RUNTIME_DIR"), "/dev/shm"].compactMap { $0 } }

    /// Locks a folder; returns nil if another process holds the lock or the folder is gone.
    private static func lock(_ path: String) -> Int32? {
        let descriptor = vault_open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0)
        guard descriptor >= 0 else { return nil }
        if flock(descriptor, LOCK_EX | LOCK_NB) == 0, access(path, F_OK) == 0 { return descriptor }
        close(descriptor)
        return nil
    }

    private static func names(in path: String) -> [String] {
        guard let folder = vault_open_directory(path) else { return [] }
        defer { closedir(folder) }
        var names: [String] = []
        while let entry = vault_next_name(folder) { names.append(String(cString: entry)) }
        return names
    }

    private static func wipe(folder path: String) -> Bool {
        for name in names(in: path) where name != "." && name != ".." { wipe("\(path)/\(name)") }
        return rmdir(path) == 0
    }

    package static func isInMemory(_ folder: String) -> Bool {
        let descriptor = vault_open(folder, O_RDONLY | O_DIRECTORY, 0)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        return vault_is_in_memory(descriptor) == 1
    }

    private static func wipe(_ file: String) {
        let descriptor = vault_open(file, O_WRONLY | O_NOFOLLOW | O_NONBLOCK, 0)
        if descriptor >= 0 {
            let zeros = Secret(count: 65_536)
            var left = lseek(descriptor, 0, SEEK_END)
            lseek(descriptor, 0, SEEK_SET)
            while left > 0 {
                let piece = zeros.prefix(min(left, zeros.count))
                guard piece.withUnsafeBytes({ Descriptor.writeAll(descriptor, $0) }) == 0 else { break }
                left -= piece.count
            }
            close(descriptor)
        }
        unlink(file)
    }
}
