import Foundation
import Synchronization
import VaultStore

@testable import VaultFmt

/// The real file system but for its clock.
final class SettableClock: FileSystem {
    private let real = RealFileSystem()
    private let time = Mutex<Int64>(0)

    func set(_ milliseconds: Int64) { time.withLock { $0 = milliseconds } }
    func now() -> Int64 { time.withLock { $0 } }
    func open(_ path: String, writable: Bool) throws(VaultError) -> any VaultStore.FileHandle {
        try real.open(path, writable: writable)
    }
    func create(_ path: String) throws(VaultError) -> any VaultStore.FileHandle { try real.create(path) }
    func resolve(_ path: String) throws(VaultError) -> String { try real.resolve(path) }
    func identity(of path: String) throws(VaultError) -> FileIdentity? { try real.identity(of: path) }
    func rename(_ from: String, to: String, replacing: Bool) throws(VaultError) {
        try real.rename(from, to: to, replacing: replacing)
    }
    func remove(_ path: String) throws(VaultError) { try real.remove(path) }
    func syncDirectory(of path: String) throws(VaultError) { try real.syncDirectory(of: path) }
    func siblings(of path: String) throws(VaultError) -> [String] { try real.siblings(of: path) }
}

extension Fast {
    static func create(_ path: String, fileSystem: any FileSystem) throws -> Vault {
        try Vault.create(
            at: path, factors: try rawKey(), options: CreateOptions(), place: Store.Place(fileSystem: fileSystem))
    }

    static func open(_ path: String, fileSystem: any FileSystem, cacheBytes: Int = 8 << 20) throws -> Vault {
        var options = OpenOptions()
        options.writable = true
        return try Vault.open(
            path, factors: try rawKey(), options: options,
            place: Store.Place(fileSystem: fileSystem, cacheBytes: cacheBytes))
    }
}
