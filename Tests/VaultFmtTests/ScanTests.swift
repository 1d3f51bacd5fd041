import Testing
import VaultFmt

@Suite("A scan")
struct ScanTests {
    private func scanned(_ vault: Vault, _ query: Query = Query()) throws -> [(key: ItemKey, secret: [UInt8]?)] {
        var all: [(key: ItemKey, secret: [UInt8]?)] = []
        try vault.forEachSecret(matching: query) { (item, secret) throws(VaultError) in
            switch secret {
            case .opened(let bytes): all.append((item.key, Array(bytes)))
            case .refused: all.append((item.key, nil))
            }
        }
        return all
    }

    @Test("gives every secret once, in the order of keys, whatever its size")
    func everything() throws {
        let folder = try Folder()
        let vault = try Fast.create(folder.file("a.vault"))
        try vault.transaction { (transaction) throws(VaultError) in
            for number in 0..<3000 {
                let size = number % 500 == 7 ? 300_000 : number % 90
                let key = try ItemKey.genericPassword(service: "s\(number % 7)", account: "\(number)")
                try transaction.add(key, secret: Secret(bytes: [UInt8](repeating: UInt8(number % 251), count: size)))
            }
        }
        let all = try scanned(vault)
        #expect(all.count == 3000)
        #expect(all.map(\.key) == all.map(\.key).sorted())
        for (key, secret) in all {
            let number = try #require(Int(key.account ?? ""))
            #expect(secret == [UInt8](repeating: UInt8(number % 251), count: number % 500 == 7 ? 300_000 : number % 90))
        }
        var query = Query()
        query[.service] = "s3"
        #expect(try scanned(vault, query).allSatisfy { $0.key.service == "s3" })
    }

    @Test(
        "says which secrets it may not open, gives the attributes that stand with a secret, and lets its caller use the vault"
    )
    func refused() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let device = Device.random()
        let here = try Fast.create(path, device: try Device(fileContents: device.fileContents()))
        try here.add(try password("a"), secret: Secret(text: "1"), accessibility: .whenUnlockedThisDeviceOnly)
        var large = Attributes()
        large["note"] = [UInt8](repeating: 65, count: 1000)
        try here.add(try password("b"), secret: Secret(text: "2"), attributes: large)
        #expect(try scanned(here).map(\.secret) == [Array("1".utf8), Array("2".utf8)])
        let elsewhere = try Fast.open(path)
        var notes = 0
        try elsewhere.forEachSecret { (item, secret) throws(VaultError) in
            if case .refused(let error) = secret { #expect(error.code == .deviceBound && item.key.service == "a") }
            notes += item.attributes["note"]?.count ?? 0
            _ = try elsewhere.item(item.key)
        }
        #expect(notes == 1000)
    }

    @Test("ends at a record that is damaged")
    func damaged() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        try Fast.create(path).transaction { (transaction) throws(VaultError) in
            for number in 0..<200 {
                try transaction.add(try ItemKey.genericPassword(service: "\(number)"), secret: Secret(count: 300))
            }
        }
        var bytes = try folder.read("a.vault")
        let record = try #require(bytes.firstRange(of: Array("vREC".utf8)))
        bytes[record.lowerBound + 100] ^= 1
        try folder.write("b.vault", bytes)
        let vault = try Fast.open(folder.file("b.vault"))
        #expect(throws: VaultError(.authenticationFailed, "")) { try scanned(vault) }
    }
}
