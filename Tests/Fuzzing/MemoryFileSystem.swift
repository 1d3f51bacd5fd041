internal import Synchronization
package import VaultStore

/// A file system in memory, with files that can be changed, replaced and locked; its clock goes on by a millisecond each time that it is asked.
package final class MemoryFileSystem: FileSystem {
    private struct State {
        var files: [String: MemoryFile] = [:]
        var nextInode: UInt64 = 1
        var now: Int64 = 1_700_000_000_000
    }

    private let state = Mutex(State())

    package init() {}

    package init(_ path: String, _ bytes: [UInt8]) { setContents(path, bytes) }

    /// Lets time pass.
    package func wait(milliseconds: Int64) { state.withLock { $0.now += milliseconds } }

    /// A file's bytes; nil if there is none.
    package func contents(_ path: String) -> [UInt8]? { state.withLock { $0.files[path] }?.snapshot() }

    /// Puts a file there, in place of another.
    package func setContents(_ path: String, _ bytes: [UInt8]) {
        state.withLock { state in
            state.files[path] = MemoryFile(inode: state.nextInode, bytes)
            state.nextInode += 1
        }
    }

    /// The names of all files.
    package var names: [String] { state.withLock { $0.files.keys.sorted() } }

    package func open(_ path: String, writable: Bool) throws(VaultError) -> any FileHandle {
        guard let file = state.withLock({ $0.files[path] }) else { throw VaultError(.noSuchFile, "\(path) is not there") }
        return MemoryHandle(file, isWritable: writable)
    }

    package func create(_ path: String) throws(VaultError) -> any FileHandle {
        let file: MemoryFile? = state.withLock { state in
            guard state.files[path] == nil else { return nil }
            let file = MemoryFile(inode: state.nextInode, [])
            state.nextInode += 1
            state.files[path] = file
            return file
        }
        guard let file else { throw VaultError(.fileExists, "\(path) exists already") }
        return MemoryHandle(file, isWritable: true)
    }

    package func resolve(_ path: String) throws(VaultError) -> String { path }

    package func identity(of path: String) throws(VaultError) -> FileIdentity? { state.withLock { $0.files[path] }?.identity }

    package func rename(_ from: String, to: String, replacing: Bool) throws(VaultError) {
        let failure: VaultError? = state.withLock { state in
            guard let file = state.files[from] else { return VaultError(.noSuchFile, "\(from) is not there") }
            guard replacing || state.files[to] == nil else { return VaultError(.fileExists, "\(to) exists already") }
            state.files[from] = nil
            state.files[to] = file
            return nil
        }
        if let failure { throw failure }
    }

    package func remove(_ path: String) throws(VaultError) {
        guard state.withLock({ $0.files.removeValue(forKey: path) }) != nil else { throw VaultError(.noSuchFile, "\(path) is not there") }
    }

    package func syncDirectory(of path: String) throws(VaultError) {}

    package func siblings(of path: String) throws(VaultError) -> [String] { names }

    package func now() -> Int64 {
        state.withLock { state in
            state.now += 1
            return state.now
        }
    }
}

/// A file, which lives as long as a name or an opening of it does.
private final class MemoryFile: Sendable {
    struct State {
        var bytes: [UInt8]
        var holder: ObjectIdentifier?
    }

    let identity: FileIdentity
    let state: Mutex<State>
    /// More than a fuzzer's input should ever lead to.
    static let greatestSize: UInt64 = 256 << 20

    init(inode: UInt64, _ bytes: [UInt8]) {
        identity = FileIdentity(device: 1, inode: inode, links: 1)
        state = Mutex(State(bytes: bytes))
    }

    func snapshot() -> [UInt8] { state.withLock { $0.bytes } }
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
        let isThere = file.state.withLock { state in
            guard offset <= UInt64(state.bytes.count), UInt64(state.bytes.count) - offset >= UInt64(buffer.count) else { return false }
            state.bytes.withUnsafeBytes { bytes in
                buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[Int(offset)..<Int(offset) + buffer.count]))
            }
            return true
        }
        guard isThere else { throw VaultError(.structureInvalid, "the file ends within an object", at: offset) }
    }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(VaultError) {
        try requireWritable()
        guard offset + UInt64(bytes.count) <= MemoryFile.greatestSize else {
            throw VaultError(.noSpace, "the file is too large for memory")
        }
        file.state.withLock { state in
            let end = Int(offset) + bytes.count
            if state.bytes.count < end { state.bytes += [UInt8](repeating: 0, count: end - state.bytes.count) }
            state.bytes.withUnsafeMutableBytes { UnsafeMutableRawBufferPointer(rebasing: $0[Int(offset)..<end]).copyMemory(from: bytes) }
        }
    }

    func sync() throws(VaultError) {}

    func truncate(to size: UInt64) throws(VaultError) {
        try requireWritable()
        file.state.withLock { state in
            if UInt64(state.bytes.count) > size {
                state.bytes.removeLast(state.bytes.count - Int(size))
            } else {
                state.bytes += [UInt8](repeating: 0, count: Int(size) - state.bytes.count)
            }
        }
    }

    func size() throws(VaultError) -> UInt64 { file.state.withLock { UInt64($0.bytes.count) } }

    func identity() throws(VaultError) -> FileIdentity { file.identity }

    func lock() throws(VaultError) -> Bool {
        file.state.withLock { state in
            guard state.holder == nil || state.holder == ObjectIdentifier(self) else { return false }
            state.holder = ObjectIdentifier(self)
            return true
        }
    }

    func unlock() { file.state.withLock { if $0.holder == ObjectIdentifier(self) { $0.holder = nil } } }

    func isLockedByAnother() throws(VaultError) -> Bool {
        file.state.withLock { $0.holder != nil && $0.holder != ObjectIdentifier(self) }
    }

    func lockHolder() -> String? { nil }

    func copy(from other: any FileHandle, _ range: Range<UInt64>) throws(VaultError) {
        let bytes = try other.bytes(Int(range.upperBound - range.lowerBound), at: range.lowerBound)
        try write(bytes, at: range.lowerBound)
    }

    func adopt(attributesOf other: any FileHandle) throws(VaultError) {}

    private func requireWritable() throws(VaultError) {
        guard isWritable else { throw VaultError(.readOnly, "the file was opened for reading") }
    }
}
