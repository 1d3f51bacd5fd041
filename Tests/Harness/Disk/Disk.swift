/// A disk in memory with one folder, `/v`, and the record of everything that was asked of it, from which `CrashStates` rebuilds what a
/// crash may leave. What processes see is kept here: the system's cache. One thread at a time.
final class Disk: @unchecked Sendable {
    enum Event {
        case create(inode: Int)
        case write(inode: Int, offset: Int, bytes: [UInt8])
        case truncate(inode: Int, size: Int)
        /// Everything written to the file before, but what a failed sync lost, is durable.
        case sync(inode: Int)
        /// A sync failed: what was not durable may or may not be, and no later sync makes it so. (Linux marks such pages clean.)
        case lose(inode: Int)
        /// Names that change at once; nil removes one.
        case names([(name: String, inode: Int?)])
        case syncDirectory
        /// From here on a crash may leave any of these states (numbers of the workload's own).
        case allowed([Int])
    }

    private(set) var events: [Event] = []
    private(set) var names: [String: Int] = [:]
    private(set) var files: [Int: [UInt8]] = [:]
    /// Which process holds a file's lock.
    var locks: [Int: Int] = [:]
    private var lastInode = 0
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
        files[lastInode] = []
        events.append(.create(inode: lastInode))
        setNames([(name, lastInode)])
        return lastInode
    }

    func setNames(_ changes: [(name: String, inode: Int?)]) {
        for (name, inode) in changes { names[name] = inode }
        events.append(.names(changes))
    }

    func write(_ bytes: [UInt8], to inode: Int, at offset: Int) {
        guard !bytes.isEmpty else { return }
        files[inode, default: []].overwrite(at: offset, with: bytes)
        events.append(.write(inode: inode, offset: offset, bytes: bytes))
    }

    func truncate(_ inode: Int, to size: Int) {
        files[inode, default: []].resize(to: size)
        events.append(.truncate(inode: inode, size: size))
    }

    func sync(_ inode: Int) { events.append(.sync(inode: inode)) }

    func lose(_ inode: Int) { events.append(.lose(inode: inode)) }

    func syncDirectory() { events.append(.syncDirectory) }

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
