import Testing

@testable import VaultFmt

@Suite("The index")
struct TreeShapeTests {
    /// Attributes that make an item's entry about this long.
    static func wide(_ bytes: Int) -> Attributes {
        var attributes = Attributes()
        for index in 0..<(bytes + 255) / 256 {
            attributes["a\(10 + index)"] = [UInt8](repeating: UInt8(index), count: min(256, bytes - index * 256))
        }
        return attributes
    }

    private func checkSound(_ vault: Vault, sourceLocation: SourceLocation = #_sourceLocation) throws {
        let report = try vault.verify()
        #expect(report.isSound, "\(report.problems)", sourceLocation: sourceLocation)
    }

    @Test("takes thousands of items whose names share thousands of bytes", arguments: [1000, 4000])
    func longKeys(length: Int) throws {
        let folder = try Folder()
        let vault = try Fast.create(folder.file("a.vault"))
        let service = String(repeating: "s", count: length)
        var all: [ItemKey] = []
        for number in 0..<150 { all.append(try password(service, "\(number)")) }
        try vault.transaction { (transaction) throws(VaultError) in
            for key in all { try transaction.add(key, secret: Secret(text: "x")) }
        }
        #expect(try vault.allItems().map(\.key) == all.sorted())
        try checkSound(vault)
        for number in stride(from: 0, to: 150, by: 6) { try vault.remove(all[number]) }
        for number in 150..<180 { try vault.put(try password(service, "\(number)"), "y") }
        #expect(try vault.allItems().count == 155)
        try vault.compact()
        #expect(try vault.allItems().count == 155)
        #expect(try vault.statistics().treeHeight <= 8)
        try checkSound(vault)
    }

    @Test("takes items whose names are as long as can be and share nothing")
    func longestKeys() throws {
        let folder = try Folder()
        let vault = try Fast.create(folder.file("a.vault"))
        var numbers = Numbers(1)
        var all: Set<ItemKey> = []
        for round in 0..<60 {
            let key = try ItemKey.certificate(
                type: UInt32(round % 3), issuer: numbers.bytes(3900).map { $0 | 1 },
                serialNumber: numbers.bytes(4000).map { $0 | 1 })
            try vault.put(key, "\(round)")
            all.insert(key)
        }
        #expect(try Set(vault.allItems().map(\.key)) == all)
        try checkSound(vault)
        for key in all.sorted().prefix(50) { try vault.remove(key) }
        #expect(try vault.allItems().count == 10)
        try checkSound(vault)
    }

    @Test("shrinks to a leaf when one transaction removes all that made it grow")
    func collapse() throws {
        let folder = try Folder()
        let vault = try Fast.create(folder.file("a.vault"))
        var all: [ItemKey] = []
        for number in 0..<120 { all.append(try password("service", "\(1000 + number)")) }
        try vault.transaction { (transaction) throws(VaultError) in
            for key in all { try transaction.add(key, secret: Secret(text: ""), attributes: Self.wide(12_000)) }
        }
        #expect(try vault.statistics().treeHeight >= 3)
        for keep in [100, 119, 120] {
            try vault.transaction { (transaction) throws(VaultError) in
                for key in all[..<keep] { _ = try transaction.remove(key) }
            }
            #expect(try vault.allItems().map(\.key) == Array(all[keep...]))
            try checkSound(vault)
        }
        try vault.put(all[0], "again")
        #expect(try vault.text(all[0]) == "again")
        try checkSound(vault)
    }

    @Test("takes large and small entries side by side, in one transaction on a tree that is there already")
    func mixedSizes() throws {
        let folder = try Folder()
        let vault = try Fast.create(folder.file("a.vault"))
        try vault.transaction { (transaction) throws(VaultError) in
            for number in 0..<100 {
                try transaction.add(
                    try password("m", "\(number * 1000)"), secret: Secret(text: ""), attributes: Self.wide(100))
            }
        }
        var numbers = Numbers(5)
        for _ in 0..<60 {
            try vault.transaction { (transaction) throws(VaultError) in
                let start = Int.random(in: 0..<100_000, using: &numbers)
                for step in 0..<Int.random(in: 1...12, using: &numbers) {
                    let size = [0, 30, 1700, 1750, 1800, 1850, 5000][Int.random(in: 0..<7, using: &numbers)]
                    try transaction.set(
                        try password("m", "\(start + step)"), secret: Secret(text: ""),
                        attributes: AttributeChanges(set: Self.wide(size)))
                }
            }
        }
        try checkSound(vault)
    }
}
