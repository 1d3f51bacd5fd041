internal import Synchronization
internal import VaultStore

/// A process that uses a `Disk`: the store's view of it. It can be killed, after which nothing that it asks for
/// happens, and its calls can be made to fail. Two threads may read and write at once; for all else, one at a time.
final class DiskProcess: FileSystem, @unchecked Sendable {
    enum Call: CaseIterable {
        case open, create, resolve, identity, rename, remove, syncDirectory, siblings, read, write, sync, truncate,
            size, lock
    }

    /// What becomes of a call.
    enum Fate {
        /// It fails; a write puts this part of its bytes into the file before.
        case fails(VaultError, part: Double = 0)
        /// The process is killed: before a call; in the middle of a write, after this part of its bytes.
        case kills(part: Double = 0)
        /// A sync fails, and what it should have made durable will be so by no later sync.
        case loses
    }

    let disk: Disk
    let number: Int
    private(set) var isDead = false
    private(set) var calls = 0
    /// Asked about each call and its number, from 1.
    var plan: ((Call, Int) -> Fate?)?

    private static let dead = VaultError(.io, "the process was killed")
    static let lost = VaultError(.outcomeUnknown, "planned: the sync failed")

    init(_ disk: Disk, number: Int) {
        self.disk = disk
        self.number = number
    }

    func kill() {
        isDead = true
        disk.releaseLocks(of: number)
    }

    /// Killed by one of its own calls, beside which another may be at work.
    fileprivate func die() { entrance.withLock { (_) in kill() } }

    /// Counts calls anew.
    func plan(_ plan: ((Call, Int) -> Fate?)?) {
        calls = 0
        self.plan = plan
    }

    /// Listings read on two threads, and replacing a file writes on two.
    private let entrance = Mutex(())

    /// Fails as planned; returns the part of a write that is still done, if it is to fail after that.
    fileprivate func enter(_ call: Call) throws(VaultError) -> (part: Double, error: VaultError, kills: Bool)? {
        try entrance.withLock { (_) throws(VaultError) in try pass(call) }
    }

    private func pass(_ call: Call) throws(VaultError) -> (part: Double, error: VaultError, kills: Bool)? {
        guard !isDead else { throw Self.dead }
        calls += 1
        switch plan?(call, calls) {
        case nil: return nil
        case .fails(let error, let part):
            if call == .write, part > 0 { return (part, error, false) }
            throw error
        case .kills(let part):
            if call == .write, part > 0 { return (part, Self.dead, true) }
            kill()
            throw Self.dead
        case .loses: throw Self.lost
        }
    }

    private func name(_ path: String) -> String { Disk.name(path) }

    func open(_ path: String, writable: Bool) throws(VaultError) -> any FileHandle {
        _ = try enter(.open)
        guard let inode = disk.names[name(path)] else { throw VaultError(.noSuchFile, "no file \(path)") }
        return DiskFile(self, inode)
    }

    func create(_ path: String) throws(VaultError) -> any FileHandle {
        _ = try enter(.create)
        guard disk.names[name(path)] == nil else { throw VaultError(.fileExists, "\(path) already exists") }
        return DiskFile(self, disk.create(name(path)))
    }

    func resolve(_ path: String) throws(VaultError) -> String {
        _ = try enter(.resolve)
        return path
    }

    func identity(of path: String) throws(VaultError) -> FileIdentity? {
        _ = try enter(.identity)
        return disk.names[name(path)].map { FileIdentity(device: disk.device, inode: UInt64($0), links: 1) }
    }

    func rename(_ from: String, to: String, replacing: Bool) throws(VaultError) {
        _ = try enter(.rename)
        guard let inode = disk.names[name(from)] else { throw VaultError(.noSuchFile, "no file \(from)") }
        guard replacing || disk.names[name(to)] == nil else { throw VaultError(.fileExists, "\(to) already exists") }
        disk.setNames([(name(from), nil), (name(to), inode)])
    }

    func remove(_ path: String) throws(VaultError) {
        _ = try enter(.remove)
        if disk.names[name(path)] != nil { disk.setNames([(name(path), nil)]) }
    }

    func syncDirectory(of path: String) throws(VaultError) {
        _ = try enter(.syncDirectory)
        disk.syncDirectory(Disk.folder(name(path)))
    }

    func siblings(of path: String) throws(VaultError) -> [String] {
        _ = try enter(.siblings)
        let folder = Disk.folder(name(path))
        return disk.names.keys.filter { Disk.folder($0) == folder }.map {
            folder.isEmpty ? $0 : String($0.dropFirst(folder.count + 1))
        }
        .sorted()
    }

    func now() -> Int64 { disk.tick() }
}

private final class DiskFile: FileHandle, @unchecked Sendable {
    private let process: DiskProcess
    private let inode: Int
    private var disk: Disk { process.disk }

    init(_ process: DiskProcess, _ inode: Int) {
        self.process = process
        self.inode = inode
    }

    deinit { unlock() }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(VaultError) {
        _ = try process.enter(.read)
        guard disk.read(inode, into: buffer, at: offset) else {
            throw VaultError(.structureInvalid, "the file ends within an object", at: offset)
        }
    }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(VaultError) {
        guard let failure = try process.enter(.write) else {
            return disk.write(Array(bytes), to: inode, at: Int(offset))
        }
        // The kernel writes page by page, and so does whole sectors before it stops.
        let part = (Int(offset) + Int(Double(bytes.count) * failure.part)) / 512 * 512 - Int(offset)
        disk.write(Array(bytes.prefix(max(0, part))), to: inode, at: Int(offset))
        if failure.kills { process.die() }
        throw failure.error
    }

    func sync() throws(VaultError) {
        do throws(VaultError) { _ = try process.enter(.sync) } catch {
            if error.detail == DiskProcess.lost.detail { disk.lose(inode) }
            throw error
        }
        disk.sync(inode)
    }

    func truncate(to size: UInt64) throws(VaultError) {
        _ = try process.enter(.truncate)
        disk.truncate(inode, to: Int(size))
    }

    func size() throws(VaultError) -> UInt64 {
        _ = try process.enter(.size)
        return UInt64(disk.size(inode))
    }

    func identity() throws(VaultError) -> FileIdentity {
        _ = try process.enter(.identity)
        return FileIdentity(device: disk.device, inode: UInt64(inode), links: 1)
    }

    func lock() throws(VaultError) -> Bool {
        _ = try process.enter(.lock)
        guard disk.locks[inode] == nil || disk.locks[inode] == process.number else { return false }
        disk.locks[inode] = process.number
        return true
    }

    func unlock() {
        guard !process.isDead, disk.locks[inode] == process.number else { return }
        disk.locks[inode] = nil
    }

    func isLockedByAnother() throws(VaultError) -> Bool {
        _ = try process.enter(.lock)
        return disk.locks[inode].map { $0 != process.number } ?? false
    }

    func lockHolder() -> String? { disk.locks[inode].map { "process \($0)" } }

    func copy(from other: any FileHandle, _ range: Range<UInt64>) throws(VaultError) {
        // In pieces, as copy_file_range may: each can be the last one that happens.
        var offset = range.lowerBound
        while offset < range.upperBound {
            let count = Int(min(range.upperBound - offset, 64 << 10))
            try write(try other.bytes(count, at: offset), at: offset)
            offset += UInt64(count)
        }
    }

    func adopt(attributesOf other: any FileHandle) throws(VaultError) {}
}
