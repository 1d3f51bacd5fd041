import Testing

@testable import VaultFmt

@Suite("The limits of an item")
struct LimitTests {
    private let key: ItemKey

    init() throws { key = try password("s", "a") }

    @Test("are 16 MiB for a secret, to the byte, also next to large attributes")
    func secrets() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try Fast.create(path)
        let most = 16 << 20
        var largest = Secret(count: most)
        largest.withUnsafeMutableBytes { bytes in
            for index in stride(from: 0, to: bytes.count, by: 4093) { bytes[index] = UInt8(index % 251) }
        }
        var attributes = Attributes()
        for index in 0..<4 { attributes["a\(index)"] = [UInt8](repeating: 1, count: 1 << 18) }
        try vault.add(key, secret: largest, attributes: attributes)
        fails(.limitExceeded, "not \(most + 1)") {
            try vault.add(try password("s", "b"), secret: Secret(count: most + 1))
        }
        let again = try Fast.open(path)
        let opened = try #require(try again.contents(of: key))
        #expect(opened.secret == largest.array)
        #expect(opened.attributes.count == 4)
        #expect(try again.allItems().count == 1)
        #expect(try again.verify().isSound)
        let size = try contents(path).count
        #expect(size < 20 << 20, "a refused secret leaves nothing behind")
    }

    @Test(
        "divide attributes at 256 bytes: shorter ones are listed, longer ones come with the secret",
        arguments: [0, 1, 255, 256, 257, 258, 70_000])
    func attributeSizes(size: Int) throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try Fast.create(path)
        let value = (0..<size).map { UInt8(truncatingIfNeeded: $0) }
        try vault.add(key, secret: Secret(text: "s"), attributes: Attributes(["a": value, "b": [1]]))
        let again = try Fast.open(path)
        let listed = try #require(try again.item(key))
        #expect(listed.attributes["a"] == (size <= 256 ? value : nil))
        #expect(listed.unreadAttributes == (size <= 256 ? 0 : 1))
        #expect(try again.dump()[key]?.attributes == [[97]: value, [98]: [1]])
    }

    @Test("are 64 attributes, and names of 1 to 255 bytes")
    func attributes() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try Fast.create(path)
        func numbered(_ count: Int, _ size: Int = 1) -> Attributes {
            var all = Attributes()
            for index in 0..<count { all["n\(index)"] = [UInt8](repeating: 7, count: size) }
            return all
        }
        func named(_ count: Int) -> Attributes { Attributes([String(repeating: "n", count: count): [1]]) }
        for (index, good) in [
            numbered(64), numbered(64, 256), numbered(64, 257), numbered(64, 4096), numbered(64, 4097), named(1),
            named(255),
        ].enumerated() {
            let key = try password("good", "\(index)")
            try vault.add(key, secret: Secret(text: ""), attributes: good)
            #expect(try vault.contents(of: key)?.attributes.count == good.count)
        }
        for bad in [numbered(65), named(0), named(256)] {
            fails(.limitExceeded) { try vault.add(key, secret: Secret(text: ""), attributes: bad) }
        }
        // Also where an update would bring them over it.
        let full = try password("good", "0")
        fails(.limitExceeded, "not 65") { try vault.update(full, attributes: AttributeChanges(set: ["one more": ""])) }
        fails(.limitExceeded, "not 65") {
            try vault.set(full, secret: Secret(text: ""), attributes: AttributeChanges(set: ["one more": ""]))
        }
        let again = try Fast.open(path)
        #expect(try again.allItems().count == 7)
        #expect(try again.verify().isSound)
    }

    @Test("allow an item that is as large as can be everywhere at once")
    func largestEntry() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try Fast.create(path)
        var attributes = Attributes()
        for index in 0..<64 {
            attributes[String(repeating: "n", count: 250) + "\(1000 + index)"] = [UInt8](repeating: 1, count: 256)
        }
        for account in ["x", "y", "z"] {
            let key = try ItemKey.genericPassword(
                service: String(repeating: "s", count: 4096), account: String(repeating: account, count: 4072))
            #expect(key.bytes.count == 8176)
            try vault.add(key, secret: Secret(text: account), attributes: attributes)
        }
        let again = try Fast.open(path)
        #expect(try again.allItems().map(\.attributes.count) == [64, 64, 64])
        #expect(try again.verify().isSound)
        try again.compact()
        #expect(try again.verify().isSound)
        // Its earlier values too: 50 of them fit into one frame.
        try again.keepVersions(50)
        let key = try #require(try again.allItems().first).key
        try again.transaction { (transaction) throws(VaultError) in
            for number in 0..<51 { try transaction.set(key, secret: Secret(text: "\(number)")) }
        }
        #expect(try again.earlierValues(of: key).count == 50)
        #expect(try again.verify().isSound)
    }
}
