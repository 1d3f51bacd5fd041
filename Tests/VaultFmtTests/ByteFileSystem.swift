import VaultStore

@testable import VaultFmt

/// One file, in memory and only to be read: for looking at very many variations of a vault.
final class ByteFileSystem: FileSystem {
    private let bytes: [UInt8]
    /// What the file claims to be long, if that is another length.
    private let size: UInt64?

    init(_ bytes: [UInt8], size: UInt64? = nil) {
        self.bytes = bytes
        self.size = size
    }

    private static let readOnly = VaultError(.readOnly, "in memory")

    func open(_ path: String, writable: Bool) throws(VaultError) -> any FileHandle { ByteFile(bytes, size: size) }
    func create(_ path: String) throws(VaultError) -> any FileHandle { throw Self.readOnly }
    func resolve(_ path: String) throws(VaultError) -> String { path }
    func identity(of path: String) throws(VaultError) -> FileIdentity? { ByteFile.identity }
    func rename(_ from: String, to: String, replacing: Bool) throws(VaultError) { throw Self.readOnly }
    func remove(_ path: String) throws(VaultError) { throw Self.readOnly }
    func syncDirectory(of path: String) throws(VaultError) { throw Self.readOnly }
    func siblings(of path: String) throws(VaultError) -> [String] { [] }
    func now() -> Int64 { 0 }

    private final class ByteFile: FileHandle {
        static let identity = FileIdentity(device: 1, inode: 1, links: 1)
        private let bytes: [UInt8]
        private let claimed: UInt64

        init(_ bytes: [UInt8], size: UInt64?) {
            self.bytes = bytes
            claimed = size ?? UInt64(bytes.count)
        }

        func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(VaultError) {
            guard offset <= UInt64(bytes.count), UInt64(bytes.count) - offset >= UInt64(buffer.count) else {
                throw VaultError(.structureInvalid, "the file ends within an object", at: offset)
            }
            buffer.copyBytes(from: bytes[Int(offset)..<Int(offset) + buffer.count])
        }

        func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(VaultError) { throw readOnly }
        func sync() throws(VaultError) { throw readOnly }
        func truncate(to size: UInt64) throws(VaultError) { throw readOnly }
        func size() throws(VaultError) -> UInt64 { claimed }
        func identity() throws(VaultError) -> FileIdentity { Self.identity }
        func lock() throws(VaultError) -> Bool { true }
        func unlock() {}
        func isLockedByAnother() throws(VaultError) -> Bool { false }
        func lockHolder() -> String? { nil }
        func copy(from other: any FileHandle, _ range: Range<UInt64>) throws(VaultError) { throw readOnly }
        func adopt(attributesOf other: any FileHandle) throws(VaultError) { throw readOnly }
    }
}

extension Fast {
    /// Opens a vault that is only bytes, with the usual raw key.
    static func open(_ bytes: [UInt8]) throws -> Vault {
        let place = Store.Place(fileSystem: ByteFileSystem(bytes), cacheBytes: 1 << 16)
        return try Vault.open("in memory", factors: try rawKey(), options: OpenOptions(), place: place)
    }
}
