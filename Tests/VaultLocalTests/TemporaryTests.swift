import Foundation
import TestSupport
import Testing
import VaultCrypto
import VaultFmt
import VaultStore

@Suite("A temporary file")
struct TemporaryTests {
    @Test("that another process removes before it is locked is created again, a hundred times at most")
    func lost() throws {
        let folder = try Folder()
        let files = RecordingFileSystem()
        files.lose(3)
        let (file, path) = try Temporary.create(beside: folder.file("a.vault"), files, .system)
        #expect(files.calls.filter { $0.hasPrefix("create") }.count == 4)
        #expect(FileManager.default.fileExists(atPath: path))
        file.unlock()
        files.lose(1000)
        let error = #expect(throws: VaultError.self) {
            _ = try Temporary.create(beside: folder.file("a.vault"), files, .system)
        }
        #expect(error?.code == .busy)
    }

    @Test("of a new vault, lost to another process, does not keep the vault from being created")
    func ofNewVault() throws {
        let folder = try Folder()
        let files = RecordingFileSystem()
        files.lose(2)
        let place = Store.Place(fileSystem: files)
        let path = folder.file("a.vault")
        _ = try Vault.create(at: path, factors: Keys.raw(1), options: CreateOptions(), place: place)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["a.vault"])
    }
}
