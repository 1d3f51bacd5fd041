import Glibc
import TestSupport
import Testing

@testable import VaultStore

@Suite("A sync that failed")
struct FailedSyncTests {
    /// The system reports what it could not write to the first that asks, and not again.
    @Test("is not made good by one that succeeds: nobody knows what became of the data (R-7.5)")
    func sticky() throws {
        let folder = try Folder()
        // A pipe cannot be synced. What takes the place of its descriptor can.
        try #require(mkfifo(folder.file("pipe"), 0o600) == 0)
        let descriptor = open(folder.file("pipe"), O_RDWR | O_CLOEXEC)
        let regular = open(folder.file("file"), O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        try #require(descriptor >= 0 && regular >= 0)
        defer { close(regular) }
        let file = RealFile(descriptor: descriptor, path: "x")
        #expect(throws: VaultError.self) { try file.sync() }
        try #require(dup2(regular, descriptor) == descriptor)
        try #require(fdatasync(descriptor) == 0)
        let error = #expect(throws: VaultError.self) { try file.sync() }
        #expect(error?.code == .outcomeUnknown)
    }
}
