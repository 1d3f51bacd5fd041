internal import Synchronization

/// A disk in memory with folders, of which `/v` is the vault's, and the record of everything that was asked of it, from
/// which `CrashStates` rebuilds what a crash may leave. What processes see is kept here: the system's cache. Two
/// threads may read and write at once; for all else, one at a time.
final class Disk: @unchecked Sendable {
    enum Event {
        case create(inode: Int)
        case write(inode: Int, offset: Int, bytes: [UInt8])
        case truncate(inode: Int, size: Int)
        /// Everything written to the file before, but what a failed sync lost, is durable.
        case sync(inode: Int)
        /// A sync failed: what was not durable may or may not be, and no later sync makes it so. (Linux marks such
        /// pages clean.)
        case lose(inode: Int)
        /// Names that change at once; nil removes one.
        case names([(name: String, inode: Int?)])
        /// What changed in this folder is durable.
        case syncDirectory(String)
        /// From here on a crash may leave any of these states (numbers of the workload's own).
        case allowed([Int])
    }

    private(set) var events: [Event] = []
    private(set) var names: [String: Int] = [:]
    private(set) var files: [Int: [UInt8]] = [:]
    private let entrance = Mutex(())
    /// Which process holds a file's lock.
    var locks: [Int: Int] = [:]
    private var lastInode = 0
    /// What a crash left is another disk: no run of a machine outlives a crash (section 7.5).
    let device = UInt64(Disk.lastDevice.wrappingAdd(1, ordering: .relaxed).newValue)
    private static let lastDevice = Atomic(0)
    private(set) var clock: Int64 = 1_700_000_000_000
    private var lastProcess = 0

    /// With these files, all durable.
    init(_ content: [String: [UInt8]] = [:]) {
        for (name, bytes) in content.sorted(by: { $0.key < $1.key }) {
            lastInode += 1
            files[lastInode] = bytes
            names[name] = lastInode
        }
    }

    func startProcess() -> DiskProcess {
        lastProcess += 1
        return DiskProcess(self, number: lastProcess)
    }

    func tick() -> Int64 {
        clock += 1
        return clock
    }

    /// What stands under each name.
    var content: [String: [UInt8]] { names.compactMapValues { files[$0] } }

    func mark(_ allowed: [Int]) { events.append(.allowed(allowed)) }

    // MARK: what processes do

    func create(_ name: String) -> Int {
        lastInode += 1
        change(.create(inode: lastInode), of: lastInode) { _ in }
        setNames([(name, lastInode)])
        return lastInode
    }

    func setNames(_ changes: [(name: String, inode: Int?)]) {
        for (name, inode) in changes { names[name] = inode }
        events.append(.names(changes))
    }

    func write(_ bytes: [UInt8], to inode: Int, at offset: Int) {
        guard !bytes.isEmpty else { return }
        change(.write(inode: inode, offset: offset, bytes: bytes), of: inode) { $0.overwrite(at: offset, with: bytes) }
    }

    func truncate(_ inode: Int, to size: Int) {
        change(.truncate(inode: inode, size: size), of: inode) { $0.resize(to: size) }
    }

    private func change(_ event: Event, of inode: Int, _ change: (inout [UInt8]) -> Void) {
        entrance.withLock { _ in
            change(&files[inode, default: []])
            events.append(event)
        }
    }

    /// False if the file ends before.
    func read(_ inode: Int, into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) -> Bool {
        // Shared, not copied: a change that comes meanwhile makes its own.
        let bytes = entrance.withLock { _ in files[inode] ?? [] }
        guard offset <= UInt64(bytes.count), UInt64(bytes.count) - offset >= UInt64(buffer.count) else { return false }
        bytes.withUnsafeBytes {
            buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[Int(offset)..<Int(offset) + buffer.count]))
        }
        return true
    }

    func size(_ inode: Int) -> Int { entrance.withLock { _ in files[inode]?.count ?? 0 } }

    func sync(_ inode: Int) { events.append(.sync(inode: inode)) }

    func lose(_ inode: Int) { events.append(.lose(inode: inode)) }

    func syncDirectory(_ folder: String) { events.append(.syncDirectory(folder)) }

    /// The folder of a name: names in `/v` are without one, others whole paths.
    static func folder(_ name: String) -> String {
        name.contains("/") ? String(name[..<(name.lastIndex(of: "/") ?? name.startIndex)]) : ""
    }

    /// The name for a path.
    static func name(_ path: String) -> String { path.hasPrefix("/v/") ? String(path.dropFirst(3)) : path }

    func releaseLocks(of process: Int) { locks = locks.filter { $0.value != process } }
}

extension [UInt8] {
    mutating func resize(to size: Int) {
        if count > size { removeLast(count - size) } else { append(contentsOf: repeatElement(0, count: size - count)) }
    }

    /// Writes as a file is written: what lies between its end and `offset` becomes zeros.
    mutating func overwrite(at offset: Int, with bytes: some Collection<UInt8>) {
        if count < offset { resize(to: offset) }
        let end = offset + bytes.count
        replaceSubrange(offset..<Swift.min(end, count), with: bytes)
    }
}
