import Testing

@testable import VaultFmt

/// What a vault should hold, as simple as can be.
private struct Model: Equatable {
    struct Entry: Equatable {
        var secret: [UInt8]
        var attributes: Attributes
        var accessibility: Accessibility
    }

    var items: [ItemKey: Entry] = [:]

    init() {}

    init(_ vault: Vault) throws {
        for item in try vault.allItems() {
            let opened = try vault.open(item)
            items[item.key] = Entry(secret: opened.secret.array, attributes: opened.item.attributes, accessibility: item.accessibility)
        }
    }
}

/// A small generator with a seed, so that a failure can be repeated.
struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}

@Suite("Ten thousand random operations")
struct RandomOperationsTests {
    @Test("over all five classes leave what a plain model holds, at each of a hundred reopenings")
    func equalModel() throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        print("random operations: seed \(seed)")
        var random = SplitMix(state: seed)
        let folder = try Folder()
        let path = folder.file("a.vault")
        var factor: UInt8 = 0x2B
        var vault = try Fast.create(path)
        var model = Model()
        for round in 0..<100 {
            for _ in 0..<20 { try step(vault, &model, &random) }
            // A transaction of eighty changes now and then goes over what one write takes.
            try vault.transaction { (transaction) throws(VaultError) in
                for _ in 0..<80 {
                    do { try step(transaction, &model, &random) } catch let error as VaultError { throw error } catch {
                        throw VaultError(.invalidArgument, "\(error)")
                    }
                }
            }
            if round % 9 == 4 { try vault.compact() }
            if round % 13 == 6 {
                factor &+= 1
                try vault.changeFactors(to: try Fast.rawKey(factor))
            }
            if round % 31 == 17 {
                var rotation = try vault.rotation()
                _ = try rotation.keep(try Fast.rawKey(factor))
                _ = try rotation.run()
            }
            if round % 7 == 3 {
                vault.lock()
                try vault.unlock(try Fast.rawKey(factor))
            }
            var options = OpenOptions()
            options.writable = true
            vault = try Vault.open(path, factors: try Fast.rawKey(factor), options: options)
            #expect(try Model(vault) == model, "seed \(seed), round \(round)")
            #expect(try vault.allItems().map(\.key) == model.items.keys.sorted(), "seed \(seed), round \(round)")
        }
        let report = try vault.verify()
        #expect(report.isSound, "seed \(seed): \(report.problems)")
    }

    /// What both a vault and a transaction can do.
    private func step(_ vault: Vault, _ model: inout Model, _ random: inout SplitMix) throws {
        let key = try randomKey(&random)
        let secret = [UInt8](repeating: UInt8.random(in: 0...255, using: &random), count: size(&random))
        switch Int.random(in: 0..<10, using: &random) {
        case 0..<5:
            let attributes = randomAttributes(&random)
            try vault.set(key, secret: Secret(bytes: secret), attributes: AttributeChanges(set: attributes))
            model.set(key, secret, attributes)
        case 5..<8:
            #expect(try vault.remove(key) == (model.items.removeValue(forKey: key) != nil))
        default:
            let attributes = randomAttributes(&random)
            guard model.items[key] != nil else {
                #expect(throws: VaultError(.noSuchItem, "")) { try vault.update(key, attributes: AttributeChanges(set: attributes)) }
                return
            }
            try vault.update(key, attributes: AttributeChanges(set: attributes, remove: ["b"]), accessibility: .afterFirstUnlock)
            model.update(key, attributes, removing: "b", .afterFirstUnlock)
        }
    }

    private func step(_ transaction: Transaction, _ model: inout Model, _ random: inout SplitMix) throws {
        let key = try randomKey(&random)
        let secret = [UInt8](repeating: UInt8.random(in: 0...255, using: &random), count: size(&random))
        switch Int.random(in: 0..<10, using: &random) {
        case 0..<6:
            let attributes = randomAttributes(&random)
            if model.items[key] == nil {
                try transaction.add(key, secret: Secret(bytes: secret), attributes: attributes)
            } else {
                try transaction.set(key, secret: Secret(bytes: secret), attributes: AttributeChanges(set: attributes))
            }
            model.set(key, secret, attributes)
        case 6..<8:
            #expect(try transaction.remove(key) == (model.items.removeValue(forKey: key) != nil))
        default:
            let other = try randomKey(&random)
            guard let entry = model.items[key], model.items[other] == nil, key.itemClass == other.itemClass else { return }
            try transaction.move(key, to: other)
            model.items[key] = nil
            model.items[other] = entry
        }
    }

    private func size(_ random: inout SplitMix) -> Int {
        Int.random(in: 0..<40, using: &random) == 0 ? Int.random(in: 0..<20_000, using: &random) : Int.random(in: 0..<200, using: &random)
    }

    private func randomAttributes(_ random: inout SplitMix) -> Attributes {
        var all = Attributes()
        for name in ["a", "b", "sealed:c"] where Bool.random(using: &random) {
            let isLarge = Int.random(in: 0..<8, using: &random) == 0
            all[name] = [UInt8](repeating: 7, count: isLarge ? 700 : Int.random(in: 0..<30, using: &random))
        }
        return all
    }

    /// One of about a thousand keys; a few are very long.
    private func randomKey(_ random: inout SplitMix) throws -> ItemKey {
        let number = Int.random(in: 0..<200, using: &random)
        let name = number % 23 == 0 ? String(repeating: "long", count: 300) + "\(number)" : "name\(number)"
        let group = number % 11 == 0 ? "group" : ""
        switch ItemClass.allCases.randomElement(using: &random) ?? .key {
        case .genericPassword: return try .genericPassword(service: "s\(number % 7)", account: name, group: group)
        case .internetPassword:
            return try .internetPassword(server: "h\(number % 5)", account: name, port: UInt32(number % 3), group: group)
        case .certificate: return try .certificate(type: 3, issuer: Array(name.utf8), serialNumber: [0, UInt8(number)], group: group)
        case .key:
            return try .key(
                keyClass: 1, keyType: 42, applicationLabel: [0, 0, UInt8(number)], applicationTag: Array(name.utf8), sizeInBits: 2048,
                effectiveSize: 2048, group: group)
        case .identity:
            return try .identity(type: 3, issuer: Array(name.utf8), serialNumber: [UInt8(number)], synchronizable: number % 2 == 0)
        }
    }
}

extension Model {
    fileprivate mutating func set(_ key: ItemKey, _ secret: [UInt8], _ attributes: Attributes) {
        let old = items[key]
        var all = old?.attributes ?? Attributes()
        attributes.forEach { all[$0] = $1 }
        items[key] = Entry(secret: secret, attributes: all, accessibility: old?.accessibility ?? .whenUnlocked)
    }

    fileprivate mutating func update(_ key: ItemKey, _ attributes: Attributes, removing name: String, _ accessibility: Accessibility) {
        guard var entry = items[key] else { return }
        entry.attributes[name] = nil
        attributes.forEach { entry.attributes[$0] = $1 }
        entry.accessibility = accessibility
        items[key] = entry
    }
}
