import Synchronization
import VaultStore

@testable import VaultLocal

/// The real file system, and a list of what changed it or was synced, in order. Its syncs can be made to fail.
final class RecordingFileSystem: FileSystem {
    private let real = RealFileSystem()
    private let record = Mutex<[String]>([])
    private let failing = Mutex<String?>(nil)
    private let failingFolder = Mutex<String?>(nil)
    private let losing = Mutex(0)
    private let appearing = Mutex(false)
    private let meanwhile = Mutex<(call: String, body: @Sendable () -> Void)?>(nil)

    var calls: [String] { record.withLock { $0 } }
    func forget() { record.withLock { $0 = [] } }
    /// Makes syncs of files with this name fail.
    func failSyncs(of name: String?) { failing.withLock { $0 = name } }
    /// Makes syncs of the folder fail that are asked for by a file of this name.
    func failFolderSyncs(of name: String?) { failingFolder.withLock { $0 = name } }

    /// Removes the next so many new files before they are locked, as another process does that takes them for a dead
    /// writer's.
    func lose(_ count: Int) { losing.withLock { $0 = count } }

    /// Makes folders that are missing when they are listed appear at that moment, as another process does.
    func makeListedFolders() { appearing.withLock { $0 = true } }

    private func isLost() -> Bool {
        losing.withLock { count in
            defer { count = max(0, count - 1) }
            return count > 0
        }
    }

    /// Calls `body` before the next such call, as if another program did something then: "sync a.vault".
    func interfere(before call: String, _ body: @escaping @Sendable () -> Void) {
        meanwhile.withLock { $0 = (call, body) }
    }

    fileprivate func note(_ call: String, _ path: String) {
        let body = meanwhile.withLock { planned -> (@Sendable () -> Void)? in
            guard let now = planned, "\(call) \(path)".hasPrefix(now.call) else { return nil }
            planned = nil
            return now.body
        }
        body?()
        record.withLock { $0.append("\(call) \(Self.name(path))") }
    }

    fileprivate func check(_ path: String) throws(VaultError) {
        guard failing.withLock({ $0 }) == Self.name(path) else { return }
        throw VaultError(.outcomeUnknown, "planned: \(path) cannot be synced")
    }

    static func name(_ path: String) -> String { String(path.split(separator: "/").last ?? "") }

    func now() -> Int64 { real.now() }
    func open(_ path: String, writable: Bool) throws(VaultError) -> any FileHandle {
        RecordingFile(try real.open(path, writable: writable), path, self)
    }
    func openOwn(_ path: String, writable: Bool) throws(VaultError) -> any FileHandle {
        RecordingFile(try real.openOwn(path, writable: writable), path, self)
    }
    func create(_ path: String) throws(VaultError) -> any FileHandle {
        note("create", path)
        let file = RecordingFile(try real.create(path), path, self)
        if isLost() { try real.remove(path) }
        return file
    }
    func resolve(_ path: String) throws(VaultError) -> String { try real.resolve(path) }
    func identity(of path: String) throws(VaultError) -> FileIdentity? { try real.identity(of: path) }
    func rename(_ from: String, to: String, replacing: Bool) throws(VaultError) {
        note("rename", to)
        try real.rename(from, to: to, replacing: replacing)
    }
    func remove(_ path: String) throws(VaultError) {
        note("remove", path)
        try real.remove(path)
    }
    func syncDirectory(of path: String) throws(VaultError) {
        guard failingFolder.withLock({ $0 }) != Self.name(path) else {
            throw VaultError(.outcomeUnknown, "planned: the folder of \(path) cannot be synced")
        }
        note("sync folder of", path)
        try real.syncDirectory(of: path)
    }
    func siblings(of path: String) throws(VaultError) -> [String] {
        do throws(VaultError) { return try real.siblings(of: path) } catch {
            if appearing.withLock({ $0 }) { try real.makeDirectory(String(path.dropLast())) }
            throw error
        }
    }
    func makeDirectory(_ path: String) throws(VaultError) { try real.makeDirectory(path) }
    func owner(of path: String) -> UInt32? { real.owner(of: path) }
}

private final class RecordingFile: FileHandle {
    private let real: any FileHandle
    private let path: String
    private let system: RecordingFileSystem

    init(_ real: any FileHandle, _ path: String, _ system: RecordingFileSystem) {
        self.real = real
        self.path = path
        self.system = system
    }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(VaultError) {
        try real.read(into: buffer, at: offset)
    }
    func readAvailable(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(VaultError) -> Int {
        try real.readAvailable(into: buffer, at: offset)
    }
    func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(VaultError) {
        try real.write(bytes, at: offset)
    }
    func sync() throws(VaultError) {
        try system.check(path)
        system.note("sync", path)
        try real.sync()
    }
    func truncate(to size: UInt64) throws(VaultError) { try real.truncate(to: size) }
    func size() throws(VaultError) -> UInt64 { try real.size() }
    func identity() throws(VaultError) -> FileIdentity { try real.identity() }
    func lock() throws(VaultError) -> Bool { try real.lock() }
    func unlock() { real.unlock() }
    func isLockedByAnother() throws(VaultError) -> Bool { try real.isLockedByAnother() }
    func lockHolder() -> String? { real.lockHolder() }
    func copy(from other: any FileHandle, _ range: Range<UInt64>) throws(VaultError) {
        try real.copy(from: (other as? RecordingFile)?.real ?? other, range)
    }
    func adopt(attributesOf other: any FileHandle) throws(VaultError) {
        try real.adopt(attributesOf: (other as? RecordingFile)?.real ?? other)
    }
    func permissions() throws(VaultError) -> UInt32? { try real.permissions() }
}
