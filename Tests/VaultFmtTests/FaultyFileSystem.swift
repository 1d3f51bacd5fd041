import Synchronization
import VaultStore

@testable import VaultFmt

/// The real file system, with its calls counted, and failing where a plan says so.
final class FaultyFileSystem: FileSystem {
    enum Call: Sendable { case read, write, sync, truncate, create, identity, rename, syncDirectory, unlock }

    struct Counts {
        var read = 0
        var write = 0
        var sync = 0
        var truncate = 0
        var create = 0
        var identity = 0
        var rename = 0
        var syncDirectory = 0
        var unlock = 0

        subscript(call: Call) -> Int {
            get { self[keyPath: Self.path(call)] }
            set { self[keyPath: Self.path(call)] = newValue }
        }

        private static func path(_ call: Call) -> WritableKeyPath<Counts, Int> {
            switch call {
            case .read: \.read
            case .write: \.write
            case .sync: \.sync
            case .truncate: \.truncate
            case .create: \.create
            case .identity: \.identity
            case .rename: \.rename
            case .syncDirectory: \.syncDirectory
            case .unlock: \.unlock
            }
        }
    }

    /// What happens to a call: it fails; or a write puts this part of its bytes into the file, a rename of the part 1 is
    /// made, and then fails.
    struct Failure: Sendable {
        let error: VaultError
        var part = 0.0
    }

    private struct State: Sendable {
        var counts = Counts()
        var plan: (@Sendable (Call, Int) -> Failure?)?
    }

    private let real = RealFileSystem()
    private let state = Mutex(State())

    /// How many calls there were since the last reset.
    var counts: Counts { state.withLock { $0.counts } }

    /// Counts anew, and fails at nothing.
    func reset() { state.withLock { $0 = State() } }

    /// From now on asks `plan` about each call and its number, from 1.
    func fail(_ plan: @escaping @Sendable (Call, Int) -> Failure?) {
        state.withLock { state in
            state.counts = Counts()
            state.plan = plan
        }
    }

    /// Fails the `number`th call of a kind.
    func fail(_ call: Call, _ number: Int, _ error: VaultError, part: Double = 0) {
        fail { $0 == call && $1 == number ? Failure(error: error, part: part) : nil }
    }

    fileprivate func failure(_ call: Call) -> Failure? {
        let (plan, number) = state.withLock { state in
            state.counts[call] += 1
            return (state.plan, state.counts[call])
        }
        return plan?(call, number)
    }

    fileprivate func check(_ call: Call) throws(VaultError) {
        if let failure = failure(call) { throw failure.error }
    }

    func open(_ path: String, writable: Bool) throws(VaultError) -> any FileHandle {
        FaultyFile(try real.open(path, writable: writable), self)
    }

    func create(_ path: String) throws(VaultError) -> any FileHandle {
        try check(.create)
        return FaultyFile(try real.create(path), self)
    }

    func resolve(_ path: String) throws(VaultError) -> String { try real.resolve(path) }

    func identity(of path: String) throws(VaultError) -> FileIdentity? {
        try check(.identity)
        return try real.identity(of: path)
    }

    func rename(_ from: String, to: String, replacing: Bool) throws(VaultError) {
        if let failure = failure(.rename) {
            if failure.part == 1 { try real.rename(from, to: to, replacing: replacing) }
            throw failure.error
        }
        try real.rename(from, to: to, replacing: replacing)
    }

    func remove(_ path: String) throws(VaultError) { try real.remove(path) }

    func syncDirectory(of path: String) throws(VaultError) {
        try check(.syncDirectory)
        try real.syncDirectory(of: path)
    }

    func siblings(of path: String) throws(VaultError) -> [String] { try real.siblings(of: path) }
    func now() -> Int64 { real.now() }
}

private final class FaultyFile: FileHandle {
    private let inner: any FileHandle
    private let system: FaultyFileSystem

    init(_ inner: any FileHandle, _ system: FaultyFileSystem) {
        self.inner = inner
        self.system = system
    }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(VaultError) {
        try system.check(.read)
        try inner.read(into: buffer, at: offset)
    }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(VaultError) {
        guard let failure = system.failure(.write) else { return try inner.write(bytes, at: offset) }
        let part = Int(Double(bytes.count) * failure.part)
        if part > 0 { try inner.write(UnsafeRawBufferPointer(rebasing: bytes[..<part]), at: offset) }
        throw failure.error
    }

    func sync() throws(VaultError) {
        try system.check(.sync)
        try inner.sync()
    }

    func truncate(to size: UInt64) throws(VaultError) {
        try system.check(.truncate)
        try inner.truncate(to: size)
    }

    func size() throws(VaultError) -> UInt64 { try inner.size() }
    func identity() throws(VaultError) -> FileIdentity { try inner.identity() }
    func lock() throws(VaultError) -> Bool { try inner.lock() }
    func unlock() {
        inner.unlock()
        // A plan can look at the file before anything else happens; it cannot fail.
        _ = system.failure(.unlock)
    }
    func isLockedByAnother() throws(VaultError) -> Bool { try inner.isLockedByAnother() }
    func lockHolder() -> String? { inner.lockHolder() }

    func copy(from other: any FileHandle, _ range: Range<UInt64>) throws(VaultError) {
        try system.check(.write)
        try inner.copy(from: Self.unwrapped(other), range)
    }

    func adopt(attributesOf other: any FileHandle) throws(VaultError) {
        try inner.adopt(attributesOf: Self.unwrapped(other))
    }

    private static func unwrapped(_ file: any FileHandle) -> any FileHandle { (file as? FaultyFile)?.inner ?? file }
}
