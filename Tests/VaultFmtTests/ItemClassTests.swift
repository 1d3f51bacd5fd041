import TestSupport
import Testing

@testable import VaultFmt

@Suite("An item's key")
struct ItemClassTests {
    /// One of each class with every field set, and for each its neighbours: the same but for one field.
    static func neighbours() throws -> [[ItemKey]] {
        [try generics(), try internets(), try certificates(), try keys(), try identities()]
    }

    private static let a: [UInt8] = [1, 0, 2]
    private static let b: [UInt8] = [0, 0]

    private static func generics() throws -> [ItemKey] {
        let rows: [(String, String, String, Bool)] = [
            ("s", "a", "g", true), ("s2", "a", "g", true), ("s", "a2", "g", true), ("s", "a", "g2", true),
            ("s", "a", "g", false),
        ]
        return try rows.map {
            try ItemKey.genericPassword(service: $0.0, account: $0.1, group: $0.2, synchronizable: $0.3)
        }
    }

    private static func internets() throws -> [ItemKey] {
        let whole = ["h", "https", "443", "/p", "a", "d", "basic", "g", "true"]
        let others = ["h2", "http", "444", "/q", "b", "e", "digest", "", "false"]
        var rows = [whole]
        for index in whole.indices {
            var row = whole
            row[index] = others[index]
            rows.append(row)
        }
        return try rows.map { row in
            try ItemKey.internetPassword(
                server: row[0], account: row[4], protocol: row[1], port: UInt32(row[2]) ?? 0, path: row[3],
                securityDomain: row[5],
                authenticationType: row[6], group: row[7], synchronizable: row[8] == "true")
        }
    }

    private typealias CertificateRow = (UInt32, [UInt8], [UInt8], String, Bool)
    private static let certificateRows: [CertificateRow] = [
        (3, a, b, "g", true), (4, a, b, "g", true), (3, b, b, "g", true), (3, a, a, "g", true), (3, a, b, "", true),
        (3, a, b, "g", false),
    ]

    private static func certificates() throws -> [ItemKey] {
        try certificateRows.map {
            try ItemKey.certificate(type: $0.0, issuer: $0.1, serialNumber: $0.2, group: $0.3, synchronizable: $0.4)
        }
    }

    private static func keys() throws -> [ItemKey] {
        let rows: [(UInt32, UInt32, [UInt8], [UInt8], UInt32, UInt32, String, Bool)] = [
            (1, 42, a, b, 2048, 2047, "g", true), (2, 42, a, b, 2048, 2047, "g", true),
            (1, 43, a, b, 2048, 2047, "g", true),
            (1, 42, b, b, 2048, 2047, "g", true), (1, 42, a, a, 2048, 2047, "g", true),
            (1, 42, a, b, 2049, 2047, "g", true),
            (1, 42, a, b, 2048, 2046, "g", true), (1, 42, a, b, 2048, 2047, "h", true),
            (1, 42, a, b, 2048, 2047, "g", false),
        ]
        return try rows.map { row in
            try ItemKey.key(
                keyClass: row.0, keyType: row.1, applicationLabel: row.2, applicationTag: row.3, sizeInBits: row.4,
                effectiveSize: row.5,
                group: row.6, synchronizable: row.7)
        }
    }

    private static func identities() throws -> [ItemKey] {
        try certificateRows.map {
            try ItemKey.identity(type: $0.0, issuer: $0.1, serialNumber: $0.2, group: $0.3, synchronizable: $0.4)
        }
    }

    @Test("has every attribute of its class's primary key: items that differ in one are two items")
    func primaryKeys() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try Fast.create(path)
        let all = try Self.neighbours()
        #expect(all.map { $0[0].itemClass } == ItemClass.allCases)
        for (index, key) in all.joined().enumerated() { try vault.add(key, secret: Secret(text: "\(index)")) }
        let again = try Fast.open(path)
        #expect(try again.allItems().map(\.key) == all.joined().sorted())
        for (index, key) in all.joined().enumerated() { #expect(try again.text(key) == "\(index)") }
        #expect(try again.verify().isSound)
    }

    @Test("gives its fields back, and is made of them again")
    func fields() throws {
        for key in try Self.neighbours().joined() {
            #expect(try ItemKey(key.itemClass, key.fields, group: key.group, synchronizable: key.synchronizable) == key)
            #expect(try ItemKey(key.bytes) == key)
            #expect(Set(key.fields.keys) == Set(key.itemClass.fields))
            #expect(ItemKey.Field.allCases.allSatisfy { key[$0] == key.fields[$0] })
        }
        let generic = try Self.neighbours()[0][0]
        #expect(
            generic.service == "s" && generic.account == "a" && generic.server == nil && generic.group == "g"
                && generic.synchronizable)
        let internet = try Self.neighbours()[1][0]
        #expect(internet.service == nil && internet.account == "a" && internet.server == "h")
        let certificate = try Self.neighbours()[2][0]
        #expect(certificate.service == nil && certificate.account == nil && certificate.server == nil)
    }

    @Test("sorts by class, then by its fields in their order, numbers as numbers")
    func order() throws {
        var sorted: [ItemKey] = []
        sorted.append(try .genericPassword(service: "a", account: "z"))
        sorted.append(try .genericPassword(service: "a\0", account: ""))
        sorted.append(try .genericPassword(service: "b", account: "a"))
        sorted.append(try .genericPassword(service: "b", account: "a", group: "x"))
        for port in [9, 10, 300] as [UInt32] { sorted.append(try .internetPassword(server: "a", port: port)) }
        sorted.append(try .certificate(type: 1, issuer: [], serialNumber: []))
        sorted.append(
            try .key(keyClass: 0, keyType: 0, applicationLabel: [], applicationTag: [], sizeInBits: 0, effectiveSize: 0)
        )
        sorted.append(try .identity(type: 0, issuer: [], serialNumber: []))
        var numbers = Numbers(Numbers.seed)
        for _ in 0..<20 {
            #expect(sorted.shuffled(using: &numbers).sorted() == sorted, "VAULTFMT_SEED=\(Numbers.seed)")
        }
    }

    @Test("is refused in any encoding but its own (R-6.1)")
    func encodings() throws {
        for key in try Self.neighbours().joined() {
            let bytes = key.bytes
            var variants: [[UInt8]] = [Array(bytes.dropLast()), bytes + [0], bytes.dropLast() + [2]]
            for first in [0, 64, 0x7E] as [UInt8] { variants.append([first] + bytes.dropFirst()) }
            for bad in variants { fails(.structureInvalid) { _ = try ItemKey(bad) } }
        }
        fails(.structureInvalid) { _ = try ItemKey([]) }
    }

    @Test("has fields of at most 4096 bytes, and 8176 bytes in all")
    func limits() throws {
        let most = String(repeating: "x", count: 4096)
        _ = try ItemKey.genericPassword(service: most, account: String(repeating: "y", count: 4072))
        fails(.limitExceeded, "the service has 4097 bytes") { _ = try ItemKey.genericPassword(service: most + "x") }
        fails(.limitExceeded, "the account") { _ = try ItemKey.internetPassword(server: "h", account: most + "x") }
        fails(.limitExceeded, "the access group") { _ = try ItemKey.genericPassword(service: "s", group: most + "x") }
        fails(.limitExceeded, "the issuer") {
            _ = try ItemKey.certificate(type: 0, issuer: [UInt8](repeating: 1, count: 4097), serialNumber: [])
        }
        fails(.limitExceeded, "have 8200 bytes") { _ = try ItemKey.genericPassword(service: most, account: most) }
        // Zeros take two bytes each.
        fails(.limitExceeded, "the maximum is 8176") {
            _ = try ItemKey.genericPassword(service: String(repeating: "\0", count: 4093))
        }
        #expect(try ItemKey.genericPassword(service: String(repeating: "\0", count: 4084)).bytes.count == 8176)
    }

    @Test("has classes and accessibilities with names")
    func names() {
        for one in ItemClass.allCases { #expect(ItemClass(name: one.name) == one) }
        for one in Accessibility.allCases { #expect(Accessibility(name: one.name) == one) }
        #expect(ItemClass(name: "password") == nil && Accessibility(name: "") == nil)
        #expect(Accessibility.allCases.filter(\.isThisDeviceOnly).count == 4)
    }
}
