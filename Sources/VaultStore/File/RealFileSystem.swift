internal import CVaultShim
internal import Glibc
internal import VaultBytes

/// The operating system's file system.
package struct RealFileSystem: FileSystem {
    package init() {}

    package func open(_ path: String, writable: Bool) throws(VaultError) -> any FileHandle {
        try open(path, writable ? O_RDWR : O_RDONLY)
    }

    package func openOwn(_ path: String, writable: Bool) throws(VaultError) -> any FileHandle {
        try open(path, (writable ? O_RDWR : O_RDONLY) | O_NOFOLLOW)
    }

    private func open(_ path: String, _ flags: Int32) throws(VaultError) -> any FileHandle {
        // The file is opened in non-blocking mode, because opening a FIFO by mistake would hang.
        let descriptor = vault_open(path, flags | O_NONBLOCK | O_NOCTTY, 0)
        if flags & O_NOFOLLOW != 0 {
            guard descriptor != -ELOOP else { throw VaultError(.notAVault, "\(path) is a symbolic link") }
            guard descriptor != -ENOTDIR else { throw VaultError(.noSuchFile, "cannot open \(path): no such file") }
        }
        guard descriptor >= 0 else { throw SystemCall.error(-descriptor, "open", path) }
        let file = RealFile(descriptor: descriptor, path: path)
        try file.requireRegular()
        return file
    }

    package func makeDirectory(_ path: String) throws(VaultError) {
        guard mkdir(path, 0o700) == 0 || errno == EEXIST else {
            throw SystemCall.error(errno, "create the folder", path)
        }
    }

    package func owner(of path: String) -> UInt32? {
        var status = stat()
        return stat(path, &status) == 0 ? status.st_uid : nil
    }

    package func create(_ path: String) throws(VaultError) -> any FileHandle {
        let descriptor = vault_open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw SystemCall.error(-descriptor, "create", path) }
        return RealFile(descriptor: descriptor, path: path)
    }

    package func resolve(_ path: String) throws(VaultError) -> String {
        if let whole = canonical(path) { return whole }
        guard errno == ENOENT else { throw SystemCall.error(errno, "open", path) }
        let (directory, name) = Self.split(path)
        guard let parent = canonical(directory) else { throw SystemCall.error(errno, "open the folder of", path) }
        return parent == "/" ? "/" + name : parent + "/" + name
    }

    private func canonical(_ path: String) -> String? {
        guard let resolved = realpath(path, nil) else { return nil }
        defer { free(resolved) }
        return String(cString: resolved)
    }

    package func identity(of path: String) throws(VaultError) -> FileIdentity? {
        var file = vault_file()
        let result = vault_stat(-1, path, &file)
        if result == -ENOENT { return nil }
        guard result == 0 else { throw SystemCall.error(-result, "look up", path) }
        return FileIdentity(file)
    }

    package func rename(_ from: String, to: String, replacing: Bool) throws(VaultError) {
        let result = replacing ? (Glibc.rename(from, to) == 0 ? 0 : -errno) : vault_rename_noreplace(from, to)
        guard result == 0 else { throw SystemCall.error(-result, "rename a file to", to) }
    }

    package func remove(_ path: String) throws(VaultError) {
        guard unlink(path) == 0 || errno == ENOENT else { throw SystemCall.error(errno, "remove", path) }
    }

    package func syncDirectory(of path: String) throws(VaultError) { try directory(of: path).sync() }

    package func directory(of path: String) throws(VaultError) -> any Directory {
        let directory = Self.split(path).directory
        let descriptor = vault_open(directory, O_RDONLY | O_DIRECTORY, 0)
        guard descriptor >= 0 else { throw SystemCall.error(-descriptor, "open the folder", directory) }
        return RealDirectory(descriptor: descriptor, path: directory)
    }

    package func siblings(of path: String) throws(VaultError) -> [String] {
        let directory = Self.split(path).directory
        guard let stream = vault_open_directory(directory) else {
            throw SystemCall.error(errno, "list the folder", directory)
        }
        defer { closedir(stream) }
        var names: [String] = []
        while let name = vault_next_name(stream) {
            names.append(String(cString: name))
        }
        return names
    }

    package func now() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        let (milliseconds, overflow) = Int64(time.tv_sec).multipliedReportingOverflow(by: 1000)
        return overflow ? (time.tv_sec < 0 ? .min : .max) : milliseconds + Int64(time.tv_nsec) / 1_000_000
    }

    static func split(_ path: String) -> (directory: String, name: String) {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return (".", path) }
        let name = String(path[path.utf8.index(after: slash)...])
        return (slash == path.startIndex ? "/" : String(path[..<slash]), name)
    }
}

/// A directory, closed when its last user releases it.
private final class RealDirectory: Directory {
    private let descriptor: Int32
    private let path: String

    init(descriptor: Int32, path: String) {
        self.descriptor = descriptor
        self.path = path
    }

    deinit { close(descriptor) }

    func sync() throws(VaultError) {
        while fsync(descriptor) != 0 {
            // Some file systems cannot sync directories, and do not need to.
            if errno == EINVAL || errno == EROFS { return }
            guard errno == EINTR else {
                throw VaultError(.outcomeUnknown, "the folder \(path) could not be synced: \(SystemCall.text(errno))")
            }
        }
    }
}

extension FileIdentity {
    init(_ file: vault_file) { self.init(device: file.device, inode: file.inode, links: file.links) }
}

/// Errors, as described by the operating system.
enum SystemCall {
    static func text(_ number: Int32) -> String {
        guard let text = strerror(number) else { return "error \(number)" }
        return String(cString: text)
    }

    static func error(_ number: Int32, _ action: String, _ path: String) -> VaultError {
        switch number {
        case ENOENT: VaultError(.noSuchFile, "cannot \(action) \(path): no such file")
        case EEXIST: VaultError(.fileExists, "\(path) already exists")
        case ENOSPC, EDQUOT: VaultError(.noSpace, "no space left for \(path)")
        case EFBIG:
            VaultError(
                .noSpace, "\(path) would exceed the maximum file size of this process (ulimit -f) or of its file system"
            )
        default: VaultError(.io, "cannot \(action) \(path): \(text(number))")
        }
    }
}
