import CVaultShim
import Glibc
import VaultFmt

/// A folder of our own in memory-backed storage, for a secret that another program must see as a file. The system may swap such
/// memory out, but writes it to no disk otherwise.
struct MemoryFolder: ~Copyable {
    private let path: String

    /// Makes the folder, 0700, in `$XDG_RUNTIME_DIR` or `/dev/shm`, whichever is kept in memory.
    init() throws(CommandFailure) {
        let bases = [Environment.nonEmpty("XDG_RUNTIME_DIR"), "/dev/shm"].compactMap { $0 }
        for base in bases where Self.isInMemory(base) {
            var template = Array("\(base)/vaultfmt-XXXXXX".utf8CString)
            if mkdtemp(&template) != nil {
                path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
                return
            }
        }
        throw CommandFailure(
            .io,
            "no storage in memory to edit in: neither XDG_RUNTIME_DIR nor /dev/shm is a tmpfs that can be written; "
                + "use 'vaultfmt get' and 'vaultfmt set' instead")
    }

    /// The file with the secret.
    var file: String { path + "/secret" }

    /// Overwrites and removes everything in the folder, what an editor left there included, and the folder.
    /// - Returns: What stayed behind, if anything.
    consuming func wipe() -> String? {
        if let folder = vault_open_directory(path) {
            while let entry = vault_next_name(folder) {
                let name = String(cString: entry)
                if name != "." && name != ".." { Self.wipe("\(path)/\(name)") }
            }
            closedir(folder)
        }
        return rmdir(path) == 0 ? nil : path
    }

    private static func isInMemory(_ folder: String) -> Bool {
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
