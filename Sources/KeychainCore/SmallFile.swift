internal import CVaultShim
internal import Glibc
internal import VaultFmt

/// Small secret files beside a vault: key files, passphrase files, the device file. Read into wiped memory, made 0600 in one step.
enum SmallFile {
    /// Reads a file, or returns nil where there is none. Throws `io`, and `param` for one longer than `limit` bytes.
    static func read(_ path: String, what: String, limit: Int) throws(KeychainFailure) -> Secret? {
        let descriptor = vault_open(path, O_RDONLY, 0)
        guard descriptor >= 0 else {
            if descriptor == -ENOENT || descriptor == -ENOTDIR { return nil }
            throw failure(-descriptor, "cannot open the \(what) \(OneLine.quoted(path))")
        }
        defer { close(descriptor) }
        var buffer = Secret(count: min(4096, limit + 1))
        var used = 0
        while true {
            let start = used
            let count = buffer.withUnsafeMutableBytes { Glibc.read(descriptor, $0.baseAddress?.advanced(by: start), $0.count - start) }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw failure(errno, "cannot read the \(what) \(OneLine.quoted(path))") }
            if count == 0 { return buffer.prefix(used) }
            used += count
            guard used <= limit else { throw KeychainFailure(.param, "the \(what) \(OneLine.quoted(path)) is longer than \(limit) bytes") }
            if used == buffer.count { buffer = grown(buffer, to: min(used * 4, limit + 1)) }
        }
    }

    /// Makes a file, 0600, that is complete before it has its name. False if there is one already, which stays as it is.
    static func create(_ path: String, what: String, _ contents: borrowing Secret) throws(KeychainFailure) -> Bool {
        let folder = parent(of: path)
        try makeFolder(folder)
        let temporary = "\(path).\(getpid()).\(UInt32.random(in: 0 ... .max))"
        let descriptor = vault_open(temporary, O_WRONLY | O_CREAT | O_EXCL, 0o600)
        guard descriptor >= 0 else { throw failure(-descriptor, "cannot make the \(what) \(OneLine.quoted(path))") }
        defer { unlink(temporary) }
        let written = contents.withUnsafeBytes { write($0, to: descriptor) }
        close(descriptor)
        guard written == 0 else { throw failure(written, "cannot write the \(what) \(OneLine.quoted(path))") }
        let renamed = vault_rename_noreplace(temporary, path)
        if renamed == -EEXIST { return false }
        guard renamed == 0 else { throw failure(-renamed, "cannot make the \(what) \(OneLine.quoted(path))") }
        sync(folder)
        return true
    }

    /// Makes a folder, 0700, and those above it.
    static func makeFolder(_ path: String) throws(KeychainFailure) {
        if mkdir(path, 0o700) == 0 || errno == EEXIST { return }
        if errno == ENOENT, parent(of: path) != path {
            try makeFolder(parent(of: path))
            if mkdir(path, 0o700) == 0 || errno == EEXIST { return }
        }
        throw failure(errno, "cannot make the folder \(OneLine.quoted(path))")
    }

    /// The folder that a path is in.
    static func parent(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    private static func write(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) -> Int32 {
        var rest = bytes[...]
        while !rest.isEmpty {
            let piece = UnsafeRawBufferPointer(rebasing: rest)
            let count = Glibc.write(descriptor, piece.baseAddress, piece.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { return errno }
            rest = rest.dropFirst(count)
        }
        return fsync(descriptor) == 0 ? 0 : errno
    }

    private static func sync(_ folder: String) {
        let descriptor = vault_open(folder, O_RDONLY | O_DIRECTORY, 0)
        guard descriptor >= 0 else { return }
        fsync(descriptor)
        close(descriptor)
    }

    private static func grown(_ old: borrowing Secret, to count: Int) -> Secret {
        var larger = Secret(count: count)
        old.withUnsafeBytes { source in larger.withUnsafeMutableBytes { $0.copyMemory(from: source) } }
        return larger
    }

    private static func failure(_ number: Int32, _ what: String) -> KeychainFailure {
        let text = strerror(number).map { String(cString: $0) } ?? "error \(number)"
        return KeychainFailure(number == ENOSPC || number == EDQUOT ? .diskFull : .io, "\(what): \(text)")
    }
}
