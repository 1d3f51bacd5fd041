/// The files of a rehearsal: one existing file, and the files that the rehearsed change creates. Everything that is
/// written is kept in memory, and the existing file is only read.
///
/// Only one thread of one store changes these files, so their locks are always free.
package final class RehearsalFiles: FileSystem {
    private struct State {
        var files: [String: RehearsalFile]
        var nextInode: UInt64
    }

    /// The device number of the files that are created; no file system has this number.
    private static let device = UInt64.max

    private let beneath: any FileSystem
    private let state: Guarded<State>

    /// Creates the files of a rehearsal.
    /// - Parameters:
    ///   - file: The existing file.
    ///   - path: The path of that file, with symbolic links resolved.
    ///   - end: The end of the part of the file that the rehearsal sees; other programs may write after it.
    ///   - beneath: The file system that contains the file.
    /// - Throws: `io` if the file cannot be identified.
    package init(
        over file: any FileHandle, at path: String, end: UInt64, _ beneath: any FileSystem
    ) throws(VaultError) {
        self.beneath = beneath
        let identity = try file.identity()
        let existing = RehearsalFile(identity, OverlaidBytes(over: file, 0..<end))
        // In a rehearsal of a rehearsal, the existing file may have an identity of this kind.
        let lastInode = identity.device == Self.device ? identity.inode : 0
        state = Guarded(State(files: [path: existing], nextInode: lastInode + 1))
    }

    package func open(_ path: String, writable: Bool) throws(VaultError) -> any FileHandle {
        guard let file = found(path) else { throw VaultError(.noSuchFile, "cannot open \(path): no such file") }
        return file
    }

    package func create(_ path: String) throws(VaultError) -> any FileHandle {
        let new: RehearsalFile? = state.withLock { state in
            guard state.files[path] == nil else { return nil }
            let identity = FileIdentity(device: Self.device, inode: state.nextInode, links: 1)
            state.nextInode += 1
            let file = RehearsalFile(identity, OverlaidBytes())
            state.files[path] = file
            return file
        }
        guard let new else { throw VaultError(.fileExists, "\(path) already exists") }
        return new
    }

    package func resolve(_ path: String) throws(VaultError) -> String { path }

    package func identity(of path: String) throws(VaultError) -> FileIdentity? { try found(path)?.identity() }

    package func rename(_ from: String, to: String, replacing: Bool) throws(VaultError) {
        let failure: VaultError? = state.withLock { state in
            guard replacing || state.files[to] == nil else { return VaultError(.fileExists, "\(to) already exists") }
            guard let file = state.files.removeValue(forKey: from) else {
                return VaultError(.noSuchFile, "cannot rename \(from): no such file")
            }
            state.files[to] = file
            return nil
        }
        if let failure { throw failure }
    }

    package func remove(_ path: String) throws(VaultError) { state.withLock { $0.files[path] = nil } }

    package func syncDirectory(of path: String) throws(VaultError) {}

    /// Returns no names: files that killed writers left next to the vault are not part of a rehearsal.
    package func siblings(of path: String) throws(VaultError) -> [String] { [] }

    package func now() -> Int64 { beneath.now() }

    private func found(_ path: String) -> RehearsalFile? { state.withLock { $0.files[path] } }
}

/// A file of a rehearsal.
private final class RehearsalFile: FileHandle {
    private let id: FileIdentity
    private let contents: Guarded<OverlaidBytes>

    init(_ id: FileIdentity, _ contents: OverlaidBytes) {
        self.id = id
        self.contents = Guarded(contents)
    }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(VaultError) {
        // The copy shares the pages, so other threads need not wait while they are read.
        let contents = contents.withLock { $0 }
        guard offset <= contents.size, contents.size - offset >= UInt64(buffer.count) else {
            throw VaultError(.structureInvalid, "the file ends within an object", at: offset)
        }
        try contents.read(into: buffer, at: offset)
    }

    func write(_ new: UnsafeRawBufferPointer, at offset: UInt64) throws(VaultError) {
        try contents.withLock { (contents) throws(VaultError) in try contents.write(new, at: offset) }
    }

    func truncate(to size: UInt64) throws(VaultError) { contents.withLock { $0.truncate(to: size) } }

    func copy(from other: any FileHandle, _ range: Range<UInt64>) throws(VaultError) {
        try contents.withLock { (contents) throws(VaultError) in try contents.copy(from: other, range) }
    }

    func size() throws(VaultError) -> UInt64 { contents.withLock { $0.size } }
    func identity() throws(VaultError) -> FileIdentity { id }
    func sync() throws(VaultError) {}
    func lock() throws(VaultError) -> Bool { true }
    func unlock() {}
    func isLockedByAnother() throws(VaultError) -> Bool { false }
    func lockHolder() -> String? { nil }
    func adopt(attributesOf other: any FileHandle) throws(VaultError) {}
}

/// Bytes in memory that overlay a part of another file. That file is read wherever nothing has been written.
private struct OverlaidBytes: Sendable {
    /// Part of another file, at the same offsets.
    private struct Source: Sendable {
        let file: any FileHandle
        var range: Range<UInt64>
    }

    /// The size of a page, which is large enough for `Memory` to check whether the process may allocate it. If the
    /// system grants more memory than it has, as Linux does by default, it may still end a process that uses that
    /// memory.
    private static let pageSize: UInt64 = 1 << 18

    private(set) var size: UInt64 = 0
    /// The pages that were written to, by their numbers.
    private var pages: [UInt64: [UInt8]] = [:]
    private var source: Source?

    init() {}

    init(over file: any FileHandle, _ range: Range<UInt64>) {
        source = Source(file: file, range: range)
        size = range.upperBound
    }

    /// Reads a range, which must not extend beyond the end.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(VaultError) {
        var done = 0
        while done < buffer.count {
            let (number, start) = Self.place(offset + UInt64(done))
            let count = min(buffer.count - done, Int(Self.pageSize) - start)
            let part = UnsafeMutableRawBufferPointer(rebasing: buffer[done..<done + count])
            if let page = pages[number] {
                part.copyBytes(from: page[start..<start + count])
            } else {
                try readSource(into: part, at: offset + UInt64(done))
            }
            done += count
        }
    }

    /// Reads a range from the source; bytes that the source does not have are zero.
    private func readSource(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(VaultError) {
        _ = buffer.initializeMemory(as: UInt8.self, repeating: 0)
        guard let source else { return }
        let there = (offset..<offset + UInt64(buffer.count)).clamped(to: source.range)
        guard !there.isEmpty else { return }
        let (start, end) = (Int(there.lowerBound - offset), Int(there.upperBound - offset))
        try source.file.read(
            into: UnsafeMutableRawBufferPointer(rebasing: buffer[start..<end]), at: there.lowerBound)
    }

    mutating func write(_ new: UnsafeRawBufferPointer, at offset: UInt64) throws(VaultError) {
        guard !new.isEmpty else { return }
        var done = 0
        while done < new.count {
            let (number, start) = Self.place(offset + UInt64(done))
            let count = min(new.count - done, Int(Self.pageSize) - start)
            let part = UnsafeRawBufferPointer(rebasing: new[done..<done + count])
            if pages[number] == nil { pages[number] = try page(number) }
            pages[number]?.withUnsafeMutableBytes { page in
                UnsafeMutableRawBufferPointer(rebasing: page[start..<start + count]).copyMemory(from: part)
            }
            done += count
        }
        size = max(size, offset + UInt64(new.count))
    }

    /// Returns a page as it is before anything is written to it.
    private func page(_ number: UInt64) throws(VaultError) -> [UInt8] {
        var page = try Memory.bytes(Int(Self.pageSize))
        var span = page.mutableSpan
        try span.withUnsafeMutableBytes { (buffer) throws(VaultError) in
            try readSource(into: buffer, at: number * Self.pageSize)
        }
        return page
    }

    mutating func truncate(to newSize: UInt64) {
        if newSize < size {
            let (last, start) = Self.place(newSize)
            pages = pages.filter { $0.key <= last }
            pages[last]?.replaceSubrange(start..., with: repeatElement(0, count: Int(Self.pageSize) - start))
            if let range = source?.range { source?.range = range.clamped(to: 0..<newSize) }
        }
        size = newSize
    }

    /// Copies a range of another file. The first such range is not read until it is needed.
    mutating func copy(from other: any FileHandle, _ range: Range<UInt64>) throws(VaultError) {
        let isFirst = source == nil
        if isFirst { source = Source(file: other, range: range) }
        var start = range.lowerBound
        while start < range.upperBound {
            let number = Self.place(start).page
            let end = min(range.upperBound, (number + 1) * Self.pageSize)
            if !isFirst || pages[number] != nil {
                let bytes = try other.bytes(Int(end - start), at: start)
                try bytes.span.bytes.withUnsafeBytes { (bytes) throws(VaultError) in try write(bytes, at: start) }
            }
            start = end
        }
        size = max(size, range.upperBound)
    }

    private static func place(_ offset: UInt64) -> (page: UInt64, start: Int) {
        (offset / pageSize, Int(offset % pageSize))
    }
}
