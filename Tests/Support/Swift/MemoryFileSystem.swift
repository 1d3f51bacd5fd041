internal import Synchronization
internal import VaultBytes
package import VaultStore

/// A file system of bytes in memory, with a clock that stands where it is set: vaults made in it are the same each
/// time.
///
/// Its directories need not be made; it has no symbolic links, and its locks are those of one process. Everything that
/// is written is durable at once.
package final class MemoryFileSystem: FileSystem {
    private struct State {
        var files: [String: MemoryFile] = [:]
        var clock: Int64
        var nextInode: UInt64 = 1
    }

    private let state: Mutex<State>

    package init(clock: Int64 = 0) { state = Mutex(State(clock: clock)) }

    /// With one file in it.
    package convenience init(_ path: String, _ bytes: [UInt8], clock: Int64 = 0) {
        self.init(clock: clock)
        put(path, bytes)
    }

    /// A file's bytes as they are now; nil if there is none.
    package func bytes(of path: String) -> [UInt8]? { state.withLock { $0.files[path] }?.contents }

    /// How many bytes of a file were read since it was put there or made.
    package func bytesRead(of path: String) -> Int { state.withLock { $0.files[path] }?.bytesRead ?? 0 }

    /// Puts a file there, in place of one that may be.
    package func put(_ path: String, _ bytes: [UInt8]) {
        state.withLock { state in
            state.files[path] = MemoryFile(bytes, inode: state.nextInode)
            state.nextInode += 1
        }
    }

    package func setClock(_ milliseconds: Int64) { state.withLock { $0.clock = milliseconds } }

    package func now() -> Int64 { state.withLock { $0.clock } }
    package func resolve(_ path: String) throws(VaultError) -> String { path }
    package func syncDirectory(of path: String) throws(VaultError) {}

    package func open(_ path: String, writable: Bool) throws(VaultError) -> any FileHandle {
        guard let file = state.withLock({ $0.files[path] }) else {
            throw VaultError(.noSuchFile, "no such file: \(path)")
        }
        return MemoryHandle(file, isWritable: writable)
    }

    package func create(_ path: String) throws(VaultError) -> any FileHandle {
        guard state.withLock({ $0.files[path] }) == nil else { throw VaultError(.fileExists, "\(path) already exists") }
        put(path, [])
        return try open(path, writable: true)
    }

    package func identity(of path: String) throws(VaultError) -> FileIdentity? {
        state.withLock { $0.files[path] }?.identity
    }

    package func rename(_ from: String, to: String, replacing: Bool) throws(VaultError) {
        let failure: VaultError? = state.withLock { state in
            guard replacing || state.files[to] == nil else { return VaultError(.fileExists, "\(to) already exists") }
            guard let file = state.files.removeValue(forKey: from) else {
                return VaultError(.noSuchFile, "no such file: \(from)")
            }
            state.files[to] = file
            return nil
        }
        if let failure { throw failure }
    }

    package func remove(_ path: String) throws(VaultError) {
        guard state.withLock({ $0.files.removeValue(forKey: path) }) != nil else {
            throw VaultError(.noSuchFile, "no such file: \(path)")
        }
    }

    package func siblings(of path: String) throws(VaultError) -> [String] {
        let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? ""
        let paths = state.withLock { $0.files.keys.sorted() }
        return paths.filter { $0.hasPrefix(folder) }.map { String($0.dropFirst(folder.count)) }.filter {
            !$0.contains("/")
        }
    }
}

/// A file's bytes, and who holds the writer's lock.
private final class MemoryFile: Sendable {
    private struct State {
        var bytes: [UInt8]
        var bytesRead = 0
        var holder: ObjectIdentifier?
    }

    let identity: FileIdentity
    private let state: Mutex<State>

    init(_ bytes: [UInt8], inode: UInt64) {
        identity = FileIdentity(device: 1, inode: inode, links: 1)
        state = Mutex(State(bytes: bytes))
    }

    var contents: [UInt8] { state.withLock { $0.bytes } }
    var count: Int { state.withLock { $0.bytes.count } }

    /// How many bytes were read in all.
    var bytesRead: Int { state.withLock { $0.bytesRead } }

    /// False if the file ends before.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) -> Bool {
        let address = UInt(bitPattern: buffer.baseAddress)
        let count = buffer.count
        return state.withLock { state in
            guard offset <= UInt64(state.bytes.count), UInt64(state.bytes.count) - offset >= UInt64(count) else {
                return false
            }
            state.bytesRead += count
            guard let start = UnsafeMutableRawPointer(bitPattern: address) else { return true }
            let out = UnsafeMutableRawBufferPointer(start: start, count: count)
            state.bytes.withUnsafeBytes { bytes in
                out.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[Int(offset)..<Int(offset) + count]))
            }
            return true
        }
    }

    func write(_ new: [UInt8], at offset: UInt64) {
        state.withLock { state in
            let end = Int(offset) + new.count
            if state.bytes.count < end { state.bytes.append(zeros: end - state.bytes.count) }
            state.bytes.replaceSubrange(Int(offset)..<end, with: new)
        }
    }

    func truncate(to size: UInt64) {
        state.withLock { state in
            let rest = state.bytes.count - Int(size)
            if rest > 0 { state.bytes.removeLast(rest) } else { state.bytes.append(zeros: -rest) }
        }
    }

    func lock(for handle: ObjectIdentifier) -> Bool {
        state.withLock { state in
            guard state.holder == nil || state.holder == handle else { return false }
            state.holder = handle
            return true
        }
    }

    func unlock(for handle: ObjectIdentifier) { state.withLock { if $0.holder == handle { $0.holder = nil } } }

    func isLocked(byOtherThan handle: ObjectIdentifier) -> Bool {
        state.withLock { $0.holder != nil && $0.holder != handle }
    }
}

private final class MemoryHandle: FileHandle {
    private let file: MemoryFile
    private let isWritable: Bool

    init(_ file: MemoryFile, isWritable: Bool) {
        self.file = file
        self.isWritable = isWritable
    }

    deinit { unlock() }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(VaultError) {
        guard file.read(into: buffer, at: offset) else {
            throw VaultError(.structureInvalid, "the file ends within an object", at: offset)
        }
    }

    func readAvailable(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(VaultError) -> Int {
        let size = UInt64(file.count)
        // A file that was overwritten may end before what a program reads of it.
        guard offset < size else { return 0 }
        let count = Int(min(UInt64(buffer.count), size - offset))
        try read(into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<count]), at: offset)
        return count
    }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(VaultError) {
        try requireWritable()
        file.write(Array(bytes), at: offset)
    }

    func truncate(to size: UInt64) throws(VaultError) {
        try requireWritable()
        file.truncate(to: size)
    }

    func copy(from other: any FileHandle, _ range: Range<UInt64>) throws(VaultError) {
        try requireWritable()
        file.write(
            try other.bytes(Int(range.upperBound - range.lowerBound), at: range.lowerBound), at: range.lowerBound)
    }

    private func requireWritable() throws(VaultError) {
        guard isWritable else { throw VaultError(.readOnly, "the file was opened for reading") }
    }

    func sync() throws(VaultError) {}
    func size() throws(VaultError) -> UInt64 { UInt64(file.count) }
    func identity() throws(VaultError) -> FileIdentity { file.identity }
    func lock() throws(VaultError) -> Bool { file.lock(for: ObjectIdentifier(self)) }
    func unlock() { file.unlock(for: ObjectIdentifier(self)) }
    func isLockedByAnother() throws(VaultError) -> Bool { file.isLocked(byOtherThan: ObjectIdentifier(self)) }
    func lockHolder() -> String? { nil }
    func adopt(attributesOf other: any FileHandle) throws(VaultError) {}
}
