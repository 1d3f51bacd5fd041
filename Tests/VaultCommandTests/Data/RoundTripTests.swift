import Foundation
import ImportFuzzing
import Testing
import VaultCommand
import VaultFmt

@Suite("export and import")
struct RoundTripTests {
    /// Names as other people might give them.
    private static let names = [
        "", "plain", "with space", "line\nbreak\r\n\t", "\u{0}\u{1}\u{7F}\u{9B}31m\u{1B}[2J",
        "\u{202E}gnirts\u{2066}\u{200F}", "e\u{301}",
        "é",
        "\u{301}combining first", "🙂👩‍👩‍👧", "\"quoted\", {json} \\u0041 \\", "\u{2028}\u{2029}\u{FEFF}",
        "\u{10FFFF}\u{E000}",
        String(repeating: "ü", count: 500), "</script>&amp;", "=1+1",
        "{REF:P@U:plain}", "{ref:n@u:with space}",
    ]

    private static let secrets: [[UInt8]] = [
        [], [0], [0x0A], Array("hunter2".utf8), Array("line\nbreak \u{202E}\u{0}".utf8), [0xFF, 0xFE, 0x00, 0xC3],
        Array((0...255).map(UInt8.init)),
        Array("\u{FEFF}bom".utf8), [UInt8](repeating: 0x5C, count: 3_000), [UInt8](repeating: 0x80, count: 3_001),
        Array("before {REF:P@U:plain} after".utf8),
    ]

    private static let times: [Int64] = [
        0, 1, -1, 999, 1_600_000_000_123, 253_402_300_799_999, 253_402_300_800_000, -62_135_596_800_000,
        1 << 61 - 1, -1 << 61,
    ]

    private func passphrase() throws -> Factors { try Factors(passphrase: Secret(text: Sandbox.passphrase)) }

    private func create(_ sandbox: Sandbox) throws -> Vault {
        var options = CreateOptions()
        options.cost = .testing
        options.allowWeak = true
        return try Vault.create(at: sandbox.vault, factors: try passphrase(), options: options)
    }

    private static func secret(_ bytes: [UInt8]) -> Secret {
        var secret = Secret(count: bytes.count)
        secret.withUnsafeMutableBytes { $0.copyBytes(from: bytes) }
        return secret
    }

    /// A key of each class with hostile names in turn.
    private func key(_ index: Int) throws -> ItemKey {
        func name(_ step: Int) -> String { Self.names[(index / 5 + step) % Self.names.count] }
        func bytes(_ step: Int) -> [UInt8] { Array(Self.secrets[(index / 5 + step) % 7]) }
        let number = UInt32(truncatingIfNeeded: index &* 2_654_435_761)
        let (group, synchronizable) = (name(8), index.isMultiple(of: 3))
        switch index % 5 {
        case 0:
            return try .genericPassword(
                service: name(0) + "\(index)", account: name(3), group: group, synchronizable: synchronizable)
        case 1:
            return try .internetPassword(
                server: name(1) + "\(index)", account: name(5), protocol: name(2), port: number, path: name(4),
                securityDomain: name(6), authenticationType: name(7), group: group, synchronizable: synchronizable)
        case 2:
            return try .certificate(
                type: number, issuer: bytes(0), serialNumber: bytes(2) + [UInt8(truncatingIfNeeded: index)],
                group: group, synchronizable: synchronizable)
        case 3:
            return try .key(
                keyClass: number % 3, keyType: number,
                applicationLabel: bytes(1) + [UInt8(truncatingIfNeeded: index)], applicationTag: bytes(3),
                sizeInBits: .max, effectiveSize: number, group: group, synchronizable: synchronizable)
        default:
            return try .identity(
                type: 0, issuer: bytes(4), serialNumber: bytes(5) + [UInt8(truncatingIfNeeded: index)],
                group: group, synchronizable: synchronizable)
        }
    }

    private func attributes(_ index: Int) -> Attributes {
        var attributes = Attributes()
        for step in 0..<(index % 8) {
            let name = Self.names[(index + step) % Self.names.count]
            attributes[String(decoding: name.utf8.prefix(250), as: UTF8.self) + "\(step)"] =
                Self.secrets[(index + step * 3) % Self.secrets.count]
        }
        // Names that are one and the same to Swift's ==, and two to the format.
        if index.isMultiple(of: 7) {
            attributes["caf\u{E9}"] = [1]
            attributes["cafe\u{301}"] = [2]
        }
        attributes.label = Self.names[index % Self.names.count]
        // Flags that are not the usual ones of their names, and none where there would be some.
        let flags: [Attribute.Flags] = [[], .sealed, .concealed, .binary, [.sealed, .concealed, .binary]]
        let value = [UInt8](
            repeating: index.isMultiple(of: 3) ? 0xFE : 0x61, count: [0, 3, 256, 257, 4096, 4097][index % 6])
        attributes.set(Attribute("flagged", value, flags: flags[index % 5]))
        attributes.set(Attribute("notes", value, flags: index.isMultiple(of: 2) ? .sealed : []))
        return attributes
    }

    private struct Contents: Equatable {
        let key: ItemKey
        let attributes: [[UInt8]]
        let accessibility: Accessibility
        let created: Int64
        let modified: Int64
        let secret: [UInt8]
        var earlier: [Earlier] = []
    }

    private struct Earlier: Equatable {
        let attribute: String?
        let flags: Attribute.Flags
        let attributes: [[UInt8]]
        let replaced: Int64
        let secret: [UInt8]
    }

    /// Names, flags and values, of any size.
    private func parts(_ attributes: Attributes, _ read: (String) throws -> Secret?) throws -> [[UInt8]] {
        var all: [[UInt8]] = []
        for attribute in attributes.all {
            guard let value = try read(attribute.name) else { throw Failure("\(attribute.name) has no value") }
            all += [Array(attribute.name.utf8), [attribute.flags.rawValue], value.withUnsafeBytes(Array.init)]
        }
        return all
    }

    /// Everything in a vault that an equal one must have.
    private func contents(_ vault: Vault) throws -> [Contents] {
        var all: [Contents] = []
        var cursor = try vault.items()
        while let listed = try cursor.next() {
            let opened = try vault.open(listed)
            let item = opened.item
            var contents = Contents(
                key: item.key, attributes: try parts(item.attributes) { try vault.attribute($0, of: item) },
                accessibility: item.accessibility, created: item.created, modified: item.modified,
                secret: opened.secret.withUnsafeBytes(Array.init))
            for value in try vault.earlierValues(of: item) {
                contents.earlier.append(
                    Earlier(
                        attribute: value.attribute, flags: value.flags,
                        attributes: try parts(value.attributes) { try vault.attribute($0, of: value) },
                        replaced: value.replaced, secret: try vault.secret(of: value).withUnsafeBytes(Array.init)))
            }
            // Those of each field in their order. An import sets them all anew.
            let fields = Dictionary(grouping: contents.earlier) { $0.attribute ?? "" }
            contents.earlier = fields.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }.flatMap(\.value)
            all.append(contents)
        }
        return all
    }

    @Test(
        "an import of an export gives an equal vault: keys, secrets, attributes, flags, accessibility, times, earlier values of all five classes"
    )
    func equalVaults() throws {
        let sandbox = try Sandbox()
        let original = try create(sandbox)
        try fill(original, 0..<300)
        let before = try contents(original)
        #expect(before.count == 300)
        #expect(Set(before.map { $0.earlier.count { $0.attribute == nil } }) == [0, 1, 2, 3])
        #expect(Set(before.map { $0.earlier.count { $0.attribute == "notes" } }) == [0, 1])

        let export = try sandbox.ok("export")
        #expect(!export.bytes.contains { $0 == 0x1B || $0 == 0x7F || ($0 < 0x20 && $0 != 0x0A) })
        let other = try Sandbox()
        let copy = try create(other)
        try other.ok("import", "-", input: export.bytes)
        try copy.refresh()
        #expect(try contents(copy) == before)
        #expect(copy.id != original.id)
    }

    /// Puts items with all that an item can have into a vault.
    private func fill(_ vault: Vault, _ indices: Range<Int>) throws {
        let accessible: [Accessibility] = [.whenUnlocked, .afterFirstUnlock, .always]
        try vault.transaction { transaction throws(VaultError) in
            for index in indices {
                let secret = Self.secrets[index % Self.secrets.count]
                let key: ItemKey
                do { key = try self.key(index) } catch {
                    throw error as? VaultError ?? VaultError(.invalidArgument, "\(error)")
                }
                try transaction.add(
                    key, secret: Self.secret(secret), attributes: attributes(index),
                    accessibility: accessible[index % 3], created: Self.times[index % Self.times.count],
                    modified: Self.times[(index + 3) % Self.times.count])
                for step in 0..<(index % 4) {
                    try transaction.set(
                        key, secret: Self.secret(Array("again \(step)".utf8)),
                        attributes: .init(set: attributes(index + step)))
                }
            }
        }
    }

    @Test("an import of a KDBX export gives an equal vault, by any program's eyes nothing but KDBX")
    func throughKDBX() throws {
        let sandbox = try Sandbox()
        let original = try create(sandbox)
        try fill(original, 0..<300)
        let before = try contents(original)
        let passphrase = try sandbox.write("key", "k".utf8)
        let file = sandbox.path("out.kdbx")
        try sandbox.ok(
            "export", "--format", "kdbx", "--kdf", "testing", "--new-passphrase-file", passphrase, "-o", file)
        let other = try Sandbox()
        let copy = try create(other)
        try other.ok("import", file, "--source-passphrase-file", passphrase)
        try copy.refresh()
        #expect(try contents(copy) == before)
    }

    @Test("random vaults come back from KDBX equal: items of each class with hostile names, values, flags and history")
    func randomVaultsThroughKDBX() throws {
        let environment = ProcessInfo.processInfo.environment["VAULTFMT_RANDOM_VAULTS"]
        let count = environment.flatMap(Int.init) ?? 40
        for seed in 0..<count {
            let sandbox = try Sandbox()
            let original = try create(sandbox)
            let start = seed * 7919 % 100_000
            try fill(original, start..<start + seed % 9)
            let other = try Sandbox()
            let copy = try create(other)
            let descriptor = open(sandbox.path("out.kdbx"), O_RDWR | O_CREAT, 0o600)
            try Interchange.writeKDBX(of: original, to: descriptor)
            close(descriptor)
            try Interchange.importItems(in: try sandbox.read("out.kdbx"), into: copy)
            #expect(try contents(copy) == (try contents(original)), "seed \(seed)")
            withExtendedLifetime((sandbox, other)) {}
        }
    }

    @Test("the largest secret, all attributes and their largest values come through")
    func largest() throws {
        let sandbox = try Sandbox()
        let original = try create(sandbox)
        var attributes = Attributes()
        for index in 0..<63 { attributes["a\(index)"] = [UInt8](repeating: 0xFF, count: index) }
        attributes["large"] = [UInt8](repeating: 0x01, count: 1 << 20 - 4096)
        let secret = Secret.random(count: 16 << 20)
        let key = try ItemKey.genericPassword(service: String(repeating: "\u{1}", count: 4000), account: "a")
        try original.add(key, secret: secret, attributes: attributes)
        let other = try Sandbox()
        let copy = try create(other)
        try other.ok("import", "-", input: try sandbox.ok("export").bytes)
        try copy.refresh()
        guard let opened = try copy.get(key) else { throw Failure("the item is not in the copy") }
        let isEqual = opened.secret.equals(secret)
        #expect(isEqual)
        #expect(opened.item.attributes.count == 64)
        let item = opened.item
        guard let large = try copy.attribute("large", of: item) else {
            throw Failure("the attribute is not in the copy")
        }
        #expect(large.withUnsafeBytes(Array.init) == attributes["large"])
    }
}
