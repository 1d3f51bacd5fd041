import Foundation
import Testing
import VaultFmt

@Suite("The reference implementation")
struct ReferenceTests {
    /// Factors as the library and the readers take them.
    struct Way: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var passphrase: [UInt8]?
        var keyFile: [UInt8]?
        var rawKey: [UInt8]?

        /// The passphrase is given with an accent of its own, which NFC joins with its letter.
        static let all = [
            Way(testDescription: "passphrase", passphrase: Array("ko\u{308}der – straße".utf8)),
            Way(
                testDescription: "passphrase and generated key file", passphrase: Array("p".utf8), keyFile: generated()),
            Way(
                testDescription: "passphrase and other key file", passphrase: Array("p".utf8),
                keyFile: Array(repeating: 7, count: 1000)),
            Way(testDescription: "generated key file", keyFile: generated()),
            Way(testDescription: "other key file", keyFile: [0]),
            Way(testDescription: "raw key", rawKey: Array(1...32)),
        ]

        private static func generated() -> [UInt8] { KeyFile.generate().withUnsafeBytes { Array($0) } }

        func factors() throws -> Factors {
            if let rawKey { return try Factors(rawKey: Secret(rawKey)) }
            var secret: Secret?
            if let passphrase { secret = Secret(passphrase) }
            var file: KeyFile?
            if let keyFile { file = try KeyFile(contents: Secret(keyFile)) }
            return try Factors(passphrase: secret, keyFile: file)
        }

        var arguments: [String] {
            var out: [String] = []
            for (name, value) in [("passphrase", passphrase), ("key-file", keyFile), ("raw-key", rawKey)] {
                if let value { out += ["--" + name, Readers.hex(value)] }
            }
            return out
        }
    }

    @Test("reads every kind of item, through every kind of slot, in every state of a vault's life", arguments: Way.all)
    func life(_ way: Way) throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let device = Device.random()
        let kept = device.fileContents().withUnsafeBytes { Array($0) }
        let arguments =
            way.arguments + ["--device", Readers.hex(Array(kept[..<16])) + ":" + Readers.hex(Array(kept[16...]))]
        var options = CreateOptions()
        options.cost = .testing
        options.allowWeak = true
        options.slotName = "erster"
        options.device = consume device
        let vault = try Vault.create(at: path, factors: way.factors(), options: options)
        try compare(vault, arguments)
        try fill(vault)
        try compare(vault, arguments)
        try vault.remove(.genericPassword(service: "gone"))
        try vault.update(
            .genericPassword(service: "a", account: "1"), attributes: AttributeChanges(set: ["label": "neu"]))
        try vault.move(
            .genericPassword(service: "a", account: "2"),
            to: .genericPassword(service: "b", account: "2", group: "work"))
        try compare(vault, arguments)

        let scoped = Way(testDescription: "scoped", rawKey: Array(101...132))
        let slot = try vault.addSlot(scoped.factors(), name: "scoped", grantedGroups: ["work"])
        let all = try compare(vault, arguments)
        #expect(names(all) == ["657273746572", "73636f706564"])
        let some = try Readers.check(path, scoped.arguments)
        // Of the group "work" are the moved item and the key, and the one for a device that the scoped slot's holder is
        // not.
        #expect(some.first == "device-bound" && some.filter { $0.hasPrefix("secret ") }.count == 2)
        #expect(some.filter { $0.hasPrefix("item ") } == all.filter { $0.hasPrefix("item ") })

        try vault.compact()
        try compare(vault, arguments)
        try vault.changeFactors(to: way.factors(), cost: .testing, allowWeak: true)
        try compare(vault, arguments)
        try vault.removeSlot(slot.id)
        try compare(vault, arguments)
        var rotation = try vault.rotation()
        _ = try rotation.keep(way.factors())
        _ = try rotation.run()
        try vault.set(.genericPassword(service: "after"), secret: Secret(text: "rotation"))
        #expect(names(try compare(vault, arguments)) == ["657273746572"])
    }

    @Test("reads a tree of four levels, and one that was thinned out")
    func tree() throws {
        let folder = try Folder()
        let way = Way(testDescription: "raw key", rawKey: Array(1...32))
        let vault = try Vault.create(at: folder.file("a.vault"), factors: way.factors())
        try vault.transaction { (transaction) throws(VaultError) in
            for number in 0..<3000 {
                let key = try ItemKey.genericPassword(
                    service: String(repeating: "\(number % 50)", count: 90), account: "\(number)")
                try transaction.add(key, secret: Secret(text: "\(number)"))
            }
        }
        let height = try vault.statistics().treeHeight
        #expect(height == 4)
        try compare(vault, way.arguments)
        try vault.transaction { (transaction) throws(VaultError) in
            for number in 0..<2990 {
                _ = try transaction.remove(
                    .genericPassword(service: String(repeating: "\(number % 50)", count: 90), account: "\(number)"))
            }
        }
        #expect(try compare(vault, way.arguments).filter { $0.hasPrefix("item ") }.count == 10)
    }

    /// The slots' names in a dump, in the order of the header, in hexadecimal.
    private func names(_ dump: [String]) -> [String] {
        dump.filter { $0.hasPrefix("slot-owner ") }.map { String($0.split(separator: " ")[1]) }
    }

    private func fill(_ vault: Vault) throws {
        try vault.transaction { (transaction) throws(VaultError) in
            for account in 0..<3 {
                try transaction.add(
                    .genericPassword(service: "a", account: "\(account)"), secret: Secret(text: "\(account)"))
            }
            try transaction.add(.genericPassword(service: "gone"), secret: Secret(text: "x"))
            try transaction.add(
                .genericPassword(service: "zero\u{0}in it", account: "", synchronizable: true), secret: Secret(count: 0)
            )
            try transaction.add(
                .internetPassword(
                    server: "s", account: "a", protocol: "https", port: 65_536, path: "/p", securityDomain: "d",
                    authenticationType: "t"),
                secret: Secret.random(count: 1100), created: -5, modified: 1 << 50)
            try transaction.add(
                .certificate(type: 3, issuer: [0, 1, 0xFF, 0], serialNumber: [0]), secret: Secret.random(count: 80))
            try transaction.add(
                .key(
                    keyClass: 1, keyType: 42, applicationLabel: [1], applicationTag: [], sizeInBits: 2048,
                    effectiveSize: 2047,
                    group: "work"),
                secret: Secret.random(count: 1500), accessibility: .afterFirstUnlock)
            try transaction.add(
                .identity(type: 3, issuer: [1], serialNumber: [2, 3]), secret: Secret.random(count: 2500))
            try transaction.add(
                .genericPassword(service: "here", group: "work"), secret: Secret(text: "only"),
                accessibility: .whenUnlockedThisDeviceOnly)
            let attributes = Attributes([
                "large": Array(repeating: 1, count: 257), "small": Array(repeating: 2, count: 256), "é": [],
                "sealed:seed": [3],
            ])
            try transaction.add(
                .genericPassword(service: "attributes"), secret: Secret(text: "s"), attributes: attributes)
        }
    }

    /// Both must read all of it, and the same.
    @discardableResult
    private func compare(_ vault: Vault, _ arguments: [String]) throws -> [String] {
        let read = try Readers.check(vault.path, arguments)
        #expect(read.first == "success" && read.last == "end")
        // Every byte of the file, as the library counts it.
        let counts = try Readers.reference(["verify"] + arguments + [vault.path]).split(separator: "\n").map {
            String($0)
        }
        let report = try vault.verify()
        #expect(report.isSound, "\(report.problems)")
        for (kind, count) in report.objects {
            #expect(counts.contains("\(kind) \(count)"), "\(count) of \(kind): \(counts)")
        }
        #expect(
            read.contains("generation \(vault.state.generation)")
                && read.contains("chain " + Readers.hex(vault.state.chain)))
        return read
    }
}
