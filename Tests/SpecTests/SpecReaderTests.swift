import Foundation
import Testing
import VaultFmt

@Suite("A reader written from the specification alone")
struct SpecReaderTests {
    /// Factors as the library and the reader take them.
    struct Way: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var passphrase: [UInt8]?
        var keyFile: [UInt8]?
        var rawKey: [UInt8]?

        /// The passphrase is given with an accent of its own, which NFC joins with its letter.
        static let all = [
            Way(testDescription: "passphrase", passphrase: Array("ko\u{308}der – straße".utf8)),
            Way(testDescription: "passphrase and generated key file", passphrase: Array("p".utf8), keyFile: generated()),
            Way(testDescription: "passphrase and other key file", passphrase: Array("p".utf8), keyFile: Array(repeating: 7, count: 1000)),
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

        func arguments(_ folder: Folder) throws -> [String] {
            var out: [String] = []
            if let passphrase { out += ["--passphrase-file", try folder.write("passphrase of \(testDescription)", passphrase)] }
            if let keyFile { out += ["--key-file", try folder.write("key file of \(testDescription)", keyFile)] }
            if let rawKey { out += ["--raw-key-file", try folder.write("raw key of \(testDescription)", rawKey)] }
            return out
        }
    }

    @Test("reads every kind of item, through every kind of slot, in every state of a vault's life", arguments: Way.all)
    func life(_ way: Way) throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let device = Device.random()
        let arguments =
            try way.arguments(folder) + ["--device-file", folder.write("device", device.fileContents().withUnsafeBytes { Array($0) })]
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
        try vault.update(.genericPassword(service: "a", account: "1"), attributes: AttributeChanges(set: ["label": "neu"]))
        try vault.move(.genericPassword(service: "a", account: "2"), to: .genericPassword(service: "b", account: "2", group: "work"))
        try compare(vault, arguments)

        let scoped = Way(testDescription: "scoped", rawKey: Array(101...132))
        let slot = try vault.addSlot(scoped.factors(), name: "scoped", grantedGroups: ["work"])
        let reading = try compare(vault, arguments)
        #expect(reading.slots == ["erster", "scoped"])
        let partial = try SpecReader.read(path, scoped.arguments(folder))
        #expect(partial.items.allSatisfy { ($0.secret != nil) == ($0.group == "work" && $0.accessibility < 4) })
        #expect(partial.items.map(\.id) == reading.items.map(\.id))

        try vault.compact()
        try compare(vault, arguments)
        try vault.changeFactors(to: way.factors(), cost: .testing, allowWeak: true)
        try compare(vault, arguments)
        try vault.removeSlot(slot)
        try compare(vault, arguments)
        var rotation = try vault.rotation()
        _ = try rotation.keep(way.factors())
        _ = try rotation.run()
        try vault.set(.genericPassword(service: "after"), secret: Secret(text: "rotation"))
        #expect(try compare(vault, arguments).slots == ["erster"])
    }

    @Test("reads a tree of three levels, and one that was thinned out")
    func tree() throws {
        let folder = try Folder()
        let way = Way(testDescription: "raw key", rawKey: Array(1...32))
        let vault = try Vault.create(at: folder.file("a.vault"), factors: way.factors())
        try vault.transaction { (transaction) throws(VaultError) in
            for number in 0..<3000 {
                let key = try ItemKey.genericPassword(service: String(repeating: "\(number % 50)", count: 60), account: "\(number)")
                try transaction.add(key, secret: Secret(text: "\(number)"))
            }
        }
        let arguments = try way.arguments(folder)
        #expect(try compare(vault, arguments).levels == 2)
        try vault.transaction { (transaction) throws(VaultError) in
            for number in 0..<2990 {
                _ = try transaction.remove(.genericPassword(service: String(repeating: "\(number % 50)", count: 60), account: "\(number)"))
            }
        }
        #expect(try compare(vault, arguments).items.count == 10)
    }

    private func fill(_ vault: Vault) throws {
        try vault.transaction { (transaction) throws(VaultError) in
            for account in 0..<3 {
                try transaction.add(.genericPassword(service: "a", account: "\(account)"), secret: Secret(text: "\(account)"))
            }
            try transaction.add(.genericPassword(service: "gone"), secret: Secret(text: "x"))
            try transaction.add(.genericPassword(service: "zero\u{0}in it", account: "", synchronizable: true), secret: Secret(count: 0))
            try transaction.add(
                .internetPassword(
                    server: "s", account: "a", protocol: "https", port: 65_536, path: "/p", securityDomain: "d", authenticationType: "t"),
                secret: Secret.random(count: 1100), created: -5, modified: 1 << 50)
            try transaction.add(.certificate(type: 3, issuer: [0, 1, 0xFF, 0], serialNumber: [0]), secret: Secret.random(count: 80))
            try transaction.add(
                .key(
                    keyClass: 1, keyType: 42, applicationLabel: [1], applicationTag: [], sizeInBits: 2048, effectiveSize: 2047,
                    group: "work"),
                secret: Secret.random(count: 1500), accessibility: .afterFirstUnlock)
            try transaction.add(.identity(type: 3, issuer: [1], serialNumber: [2, 3]), secret: Secret.random(count: 2500))
            try transaction.add(
                .genericPassword(service: "here", group: "work"), secret: Secret(text: "only"), accessibility: .whenUnlockedThisDeviceOnly)
            let attributes = Attributes([
                "large": Array(repeating: 1, count: 257), "small": Array(repeating: 2, count: 256), "é": [], "sealed:seed": [3],
            ])
            try transaction.add(.genericPassword(service: "attributes"), secret: Secret(text: "s"), attributes: attributes)
        }
    }

    /// Both must see the same vault.
    @discardableResult
    private func compare(_ vault: Vault, _ arguments: [String]) throws -> SpecReader.Reading {
        let reading = try SpecReader.read(vault.path, arguments)
        #expect(reading.id == vault.id.description)
        #expect("\(reading.id):\(reading.generation):\(reading.chain)" == vault.anchor.description)
        #expect(reading.tail == 0 && reading.incomplete == nil)
        var items: [SpecReader.ReadItem] = []
        var cursor = try vault.items()
        while let item = try cursor.next() {
            let opened = try vault.open(item)
            items.append(SpecReader.ReadItem(opened))
        }
        #expect(reading.items.map(\.id) == items.map(\.id))
        // One by one, so that a failure does not print all of them.
        for (left, right) in zip(reading.items, items) where left != right {
            Issue.record("the reader has \(left), the library \(right)")
            break
        }
        return reading
    }
}

extension SpecReader.ReadItem {
    init(_ opened: borrowing OpenedItem) {
        let item = opened.item
        var attributes: [String: String] = [:]
        item.attributes.forEach { name, value in attributes[name] = Self.hex(value) }
        self.init(
            id: item.id.description, class: item.key.itemClass.name, group: item.key.group, synchronizable: item.key.synchronizable,
            accessibility: item.accessibility.rawValue, revision: item.revision, created: item.created, modified: item.modified,
            attributes: attributes, secret: opened.secret.withUnsafeBytes { Self.hex(Array($0)) })
        switch item.key.fields {
        case .genericPassword(let service, let account):
            self.service = service
            self.account = account
        case .internetPassword(let server, let `protocol`, let port, let path, let account, let securityDomain, let authenticationType):
            self.server = server
            self.protocol = `protocol`
            self.port = port
            self.path = path
            self.account = account
            self.securityDomain = securityDomain
            self.authenticationType = authenticationType
        case .certificate(let type, let issuer, let serialNumber), .identity(let type, let issuer, let serialNumber):
            self.type = type
            self.issuer = Self.hex(issuer)
            self.serialNumber = Self.hex(serialNumber)
        case .key(let keyClass, let keyType, let applicationLabel, let applicationTag, let sizeInBits, let effectiveSize):
            self.keyClass = keyClass
            self.keyType = keyType
            self.applicationLabel = Self.hex(applicationLabel)
            self.applicationTag = Self.hex(applicationTag)
            self.sizeInBits = sizeInBits
            self.effectiveSize = effectiveSize
        }
    }

    static func hex(_ bytes: [UInt8]) -> String { bytes.map { String(format: "%02x", $0) }.joined() }
}
