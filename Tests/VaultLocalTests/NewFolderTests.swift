import Foundation
import TestSupport
import Testing
import VaultFmt
import VaultStore

@testable import VaultLocal

@Suite("New folders")
struct NewFolderTests {
    @Test("that are made for a vault or for what is remembered are synced into the folders above them")
    func synced() throws {
        let folder = try Folder()
        let files = RecordingFileSystem()
        let machine = Machine(
            Owner(folder, "one").machine.places, place: Store.Place(fileSystem: files), notices: { _ in })
        try machine.makeFolder(of: folder.file("new/deep/a.vault"))
        #expect(files.calls == ["sync folder of new", "sync folder of deep"])
        files.failFolderSyncs(of: "lost")
        let error = #expect(throws: VaultError.self) { try machine.makeFolder(of: folder.file("new/lost/a.vault")) }
        #expect(error?.code == .outcomeUnknown)
    }
}
