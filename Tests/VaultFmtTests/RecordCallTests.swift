import Testing
import VaultFmt

@Suite("Calls of the system for records")
struct RecordCallTests {
    @Test("are far fewer than records, in a vault whose records are close together")
    func calls() throws {
        let folder = try Folder()
        let system = FaultyFileSystem()
        let vault = try Fast.create(folder.file("a.vault"), fileSystem: system)
        try vault.transaction { (transaction) throws(VaultError) in
            for number in 0..<1000 {
                try transaction.add(try ItemKey.genericPassword(service: "\(number)"), secret: Secret(count: 64))
            }
        }
        // Afterwards, the records are in the order of their nonces.
        try vault.compact()
        let before = try vault.dump()
        system.reset()
        var seen = 0
        try vault.forEachSecret { (_, _) throws(VaultError) in seen += 1 }
        #expect(seen == 1000)
        #expect(system.counts.read < 500)
        system.reset()
        try vault.rotate()
        #expect(system.counts.read < 750)
        #expect(system.counts.write < 50)
        #expect(try vault.dump() == before)
    }
}
