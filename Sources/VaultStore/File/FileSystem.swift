/// What the store asks of a file system. The real one is its only implementation in the product; the crash harness has
/// another.
package protocol FileSystem: Sendable {
    /// Opens an existing file; a directory or device is refused.
    func open(_ path: String, writable: Bool) throws(VaultError) -> any FileHandle
    /// As `open`, of a file with a name of our own making: a symbolic link is refused.
    func openOwn(_ path: String, writable: Bool) throws(VaultError) -> any FileHandle
    /// Creates a new file with mode 0600 for reading and writing; one that exists is an error.
    func create(_ path: String) throws(VaultError) -> any FileHandle
    /// The path with all symbolic links followed; of a file that need not exist, but whose directory does.
    func resolve(_ path: String) throws(VaultError) -> String
    /// Which file the path names now; nil if none.
    func identity(of path: String) throws(VaultError) -> FileIdentity?
    /// Renames over whatever is there, or fails if something is.
    func rename(_ from: String, to: String, replacing: Bool) throws(VaultError)
    func remove(_ path: String) throws(VaultError)
    /// Makes renames, creations and removals in the file's directory durable.
    func syncDirectory(of path: String) throws(VaultError)
    /// The file's directory, held open: syncing it cannot fail for want of a descriptor, after the file has got its
    /// name.
    func directory(of path: String) throws(VaultError) -> any Directory
    /// The names in the file's directory.
    func siblings(of path: String) throws(VaultError) -> [String]
    /// Makes a folder with mode 0700; one that exists is fine, one above it that does not is `noSuchFile`.
    func makeDirectory(_ path: String) throws(VaultError)
    /// The user that a file or folder belongs to, symbolic links followed; nil where there is none, or no users.
    func owner(of path: String) -> UInt32?
    /// Milliseconds since 1970.
    func now() -> Int64
}

extension FileSystem {
    /// Where there are no symbolic links.
    package func openOwn(_ path: String, writable: Bool) throws(VaultError) -> any FileHandle {
        try open(path, writable: writable)
    }
}

/// A directory whose changes can be made durable.
package protocol Directory {
    /// As `FileSystem.syncDirectory`.
    func sync() throws(VaultError)
}

/// A directory of a file system that needs no descriptors.
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

/// One open file. Reads and writes are at offsets, whole or failing.
package protocol FileHandle: AnyObject, Sendable {
    /// Fills the buffer; a file that ends before is an error.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(VaultError)
    /// Fills as much of the buffer as the file has from there on; says how much.
    func readAvailable(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(VaultError) -> Int
    func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(VaultError)
    func sync() throws(VaultError)
    func truncate(to size: UInt64) throws(VaultError)
    func size() throws(VaultError) -> UInt64
    func identity() throws(VaultError) -> FileIdentity
    /// Takes the writer's lock; false if another holds it.
    func lock() throws(VaultError) -> Bool
    func unlock()
    /// Whether another opening holds the writer's lock.
    func isLockedByAnother() throws(VaultError) -> Bool
    /// Who holds the lock, as far as can be found out.
    func lockHolder() -> String?
    /// Copies a range of another file of the same file system to the same offsets.
    func copy(from other: any FileHandle, _ range: Range<UInt64>) throws(VaultError)
    /// The permissions, as chmod takes them; nil where there are none.
    func permissions() throws(VaultError) -> UInt32?
    /// Gives this file the mode, owner and attributes of another, or says why it cannot.
    func adopt(attributesOf other: any FileHandle) throws(VaultError)
}

/// Device and inode, and how many names the file has.
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

/// What a file system of bytes in memory has not.
extension FileSystem {
    package func makeDirectory(_ path: String) throws(VaultError) {}
    package func owner(of path: String) -> UInt32? { nil }
}

extension FileHandle {
    package func permissions() throws(VaultError) -> UInt32? { nil }

    package func readAvailable(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(VaultError) -> Int
    {
        let size = try size()
        let count = Int(min(UInt64(buffer.count), size > offset ? size - offset : 0))
        try read(into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<count]), at: offset)
        return count
    }

    /// `count` bytes at `offset`. The caller has checked the count against its limit.
    package func bytes(_ count: Int, at offset: UInt64) throws(VaultError) -> [UInt8] {
        // Making an array of none would write into the empty array that all threads share.
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
