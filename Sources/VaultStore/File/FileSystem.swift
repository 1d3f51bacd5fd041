/// The file system operations that the store needs. The product has one implementation, the real file system; the crash
/// harness has another.
package protocol FileSystem: Sendable {
    /// Opens an existing file; a directory or device is refused.
    func open(_ path: String, writable: Bool) throws(VaultError) -> any FileHandle
    /// Opens a file whose name was chosen by this library; a symbolic link is refused.
    func openOwn(_ path: String, writable: Bool) throws(VaultError) -> any FileHandle
    /// Creates a new file with mode 0600 for reading and writing; it is an error if the file already exists.
    func create(_ path: String) throws(VaultError) -> any FileHandle
    /// Returns the path with all symbolic links resolved; the file need not exist, but its directory must.
    func resolve(_ path: String) throws(VaultError) -> String
    /// Returns the identity of the file that the path currently names, or nil if there is no such file.
    func identity(of path: String) throws(VaultError) -> FileIdentity?
    /// Renames a file. An existing target is replaced if `replacing` is true; otherwise, it is an error.
    func rename(_ from: String, to: String, replacing: Bool) throws(VaultError)
    func remove(_ path: String) throws(VaultError)
    /// Makes renames, creations and removals in the file's directory durable.
    func syncDirectory(of path: String) throws(VaultError)
    /// Opens the file's directory in advance, so that syncing it after the rename cannot fail for lack of a descriptor.
    func directory(of path: String) throws(VaultError) -> any Directory
    /// Returns the names in the file's directory.
    func siblings(of path: String) throws(VaultError) -> [String]
    /// Creates a folder with mode 0700. It is not an error if the folder already exists; a missing parent is reported
    /// as `noSuchFile`.
    func makeDirectory(_ path: String) throws(VaultError)
    /// Returns the owner of a file or folder, following symbolic links, or nil if it does not exist or the system has
    /// no users.
    func owner(of path: String) -> UInt32?
    /// Returns the current time in milliseconds since 1970.
    func now() -> Int64
}

extension FileSystem {
    /// The default implementation, for file systems without symbolic links.
    package func openOwn(_ path: String, writable: Bool) throws(VaultError) -> any FileHandle {
        try open(path, writable: writable)
    }
}

/// A directory whose changes can be made durable.
package protocol Directory {
    /// Makes changes in the directory durable, like `FileSystem.syncDirectory`.
    func sync() throws(VaultError)
}

/// A directory on a file system that does not use descriptors.
private struct DirectoryByPath: Directory {
    let fileSystem: any FileSystem
    let path: String

    func sync() throws(VaultError) { try fileSystem.syncDirectory(of: path) }
}

extension FileSystem {
    package func directory(of path: String) throws(VaultError) -> any Directory {
        DirectoryByPath(fileSystem: self, path: path)
    }
}

/// An open file. Reads and writes take an offset, and either complete or fail.
package protocol FileHandle: AnyObject, Sendable {
    /// Fills the buffer; it is an error if the file ends first.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(VaultError)
    /// Reads until the buffer is full or the file ends, and returns the number of bytes read.
    func readAvailable(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(VaultError) -> Int
    func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(VaultError)
    func sync() throws(VaultError)
    func truncate(to size: UInt64) throws(VaultError)
    func size() throws(VaultError) -> UInt64
    func identity() throws(VaultError) -> FileIdentity
    /// Returns the times of the file's last changes, or nil if they are unknown.
    func times() throws(VaultError) -> FileTimes?
    /// Acquires the writer's lock; returns false if another process holds it.
    func lock() throws(VaultError) -> Bool
    func unlock()
    /// Returns whether another open file description holds the writer's lock.
    func isLockedByAnother() throws(VaultError) -> Bool
    /// Returns the lock's holder, as far as it can be determined.
    func lockHolder() -> String?
    /// Copies a range of another file on the same file system to the same offsets in this file.
    func copy(from other: any FileHandle, _ range: Range<UInt64>) throws(VaultError)
    /// Returns the permission bits in the form used by `chmod`, or nil if there are none.
    func permissions() throws(VaultError) -> UInt32?
    /// Copies the mode, owner and attributes of another file, or throws if that is impossible.
    func adopt(attributesOf other: any FileHandle) throws(VaultError)
}

/// The identity of a file: its device and inode, together with the number of its hard links.
package struct FileIdentity: Hashable, Sendable {
    package let device: UInt64
    package let inode: UInt64
    package let links: UInt64

    package init(device: UInt64, inode: UInt64, links: UInt64) {
        self.device = device
        self.inode = inode
        self.links = links
    }

    package func isSameFile(as other: FileIdentity) -> Bool { device == other.device && inode == other.inode }
}

/// The times of a file's last changes, in nanoseconds since 1970.
package struct FileTimes: Hashable, Sendable {
    /// The time at which the file's contents last changed; programs can set this to any value.
    package let modified: Int64
    /// The time of the last change to the file's contents, times, name or permissions; programs cannot set it.
    package let changed: Int64

    package init(modified: Int64, changed: Int64) {
        self.modified = modified
        self.changed = changed
    }
}

/// Default implementations, suitable for an in-memory file system.
extension FileSystem {
    package func makeDirectory(_ path: String) throws(VaultError) {}
    package func owner(of path: String) -> UInt32? { nil }
}

extension FileHandle {
    package func times() throws(VaultError) -> FileTimes? { nil }
    package func permissions() throws(VaultError) -> UInt32? { nil }

    package func readAvailable(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(VaultError) -> Int
    {
        let size = try size()
        let count = Int(min(UInt64(buffer.count), size > offset ? size - offset : 0))
        try read(into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<count]), at: offset)
        return count
    }

    /// Reads `count` bytes at `offset`. The caller has checked the count against its limit.
    package func bytes(_ count: Int, at offset: UInt64) throws(VaultError) -> [UInt8] {
        // Reading into an empty array would write to storage that all threads share.
        guard count > 0 else { return [] }
        var out = try Memory.bytes(count)
        var span = out.mutableSpan
        try span.withUnsafeMutableBytes { (buffer) throws(VaultError) in try read(into: buffer, at: offset) }
        return out
    }

    package func write(_ bytes: [UInt8], at offset: UInt64) throws(VaultError) {
        try bytes.span.bytes.withUnsafeBytes { (bytes) throws(VaultError) in try write(bytes, at: offset) }
    }
}
