import Foundation
import Testing

@testable import VaultFmt

/// What a vault should hold, in plain memory.
private struct Model {
    var items: Dump = [:]

    /// Without the dates that the clock gave.
    static func comparable(_ dump: Dump) -> Dump {
        dump.mapValues { contents in
            var out = contents
            out.created = nil
            out.modified = nil
            return out
        }
    }
}

/// Makes up items and changes.
private struct Changes {
    var numbers: Numbers

    init(seed: UInt64) { numbers = Numbers(seed) }

    mutating func below(_ end: Int) -> Int { Int.random(in: 0..<end, using: &numbers) }
    mutating func chance(_ one: Int) -> Bool { below(one) == 0 }

    /// Few enough names that most are met again; some share long beginnings, some are long by themselves.
    mutating func key() throws(VaultError) -> ItemKey {
        let name = "\(below(15))"
        let group = ["", "", "", "work", "home"][below(5)]
        let long = String(repeating: "long ", count: chance(8) ? (chance(3) ? 600 : 100) : 0)
        switch below(8) {
        case 0, 1, 2:
            return try .genericPassword(service: long + "service \(below(4))", account: name, group: group, synchronizable: chance(9))
        case 3, 4:
            return try .internetPassword(
                server: "host\(below(3)).example", account: name, protocol: "https", port: UInt32(below(2) * 443), path: long)
        case 5:
            return try .certificate(type: 3, issuer: Array((long + "CN=\(below(3))").utf8), serialNumber: [UInt8(below(30))], group: group)
        case 6:
            return try .key(
                keyClass: UInt32(below(2)), keyType: 42, applicationLabel: [UInt8(below(20))], applicationTag: Array(long.utf8),
                sizeInBits: 2048,
                effectiveSize: 2048)
        default: return try .identity(type: 3, issuer: Array("CN=\(below(3))".utf8), serialNumber: [UInt8(below(20))])
        }
    }

    mutating func secret() -> [UInt8] { numbers.pattern(chance(60) ? 3000 + below(30_000) : below(200)) }

    mutating func attributes() -> Attributes {
        var all = Attributes()
        for _ in 0..<below(4) {
            let name = ["label", "comment", "sealed:seed", "note", "tag"][below(5)]
            all[name] = numbers.pattern(chance(12) ? 257 + below(2000) : below(120))
        }
        return all
    }

    mutating func changes() -> AttributeChanges {
        AttributeChanges(set: attributes(), remove: chance(3) ? ["comment", "tag"] : [], replaceAll: chance(8))
    }

    mutating func accessibility() -> Accessibility { Accessibility.allCases[below(Accessibility.allCases.count)] }
}

extension Contents {
    /// What a change makes of attributes, written down once more.
    fileprivate mutating func apply(_ changes: AttributeChanges) {
        if changes.replaceAll { attributes = [:] }
        for name in changes.remove { attributes[Array(name.utf8)] = nil }
        changes.set.forEach { attributes[Array($0.utf8)] = $1 }
    }
}

@Suite("A vault of random operations")
struct ModelTests {
    private static let operations = 10_000

    /// `VAULTFMT_SEED` runs a printed seed again.
    private static var seed: UInt64 {
        ProcessInfo.processInfo.environment["VAULTFMT_SEED"].flatMap { UInt64($0) } ?? .random(in: 1...(.max))
    }

    /// One random change to both.
    private func change(_ transaction: Transaction, _ model: inout Model, _ changes: inout Changes) throws(VaultError) {
        let key = try changes.key()
        let known = model.items[key]
        switch changes.below(10) {
        case 0, 1, 2, 3:
            let (secret, new) = (changes.secret(), changes.changes())
            let accessibility = changes.chance(3) ? changes.accessibility() : nil
            try transaction.set(key, secret: Secret(bytes: secret), attributes: new, accessibility: accessibility)
            var contents = known ?? Contents(secret: [], attributes: [:], accessibility: .whenUnlocked)
            contents.secret = secret
            contents.accessibility = accessibility ?? contents.accessibility
            contents.apply(known == nil ? AttributeChanges(set: new.set) : new)
            model.items[key] = contents
        case 4:
            let (secret, attributes, accessibility) = (changes.secret(), changes.attributes(), changes.accessibility())
            do throws(VaultError) {
                try transaction.add(key, secret: Secret(bytes: secret), attributes: attributes, accessibility: accessibility)
                #expect(known == nil)
                var contents = Contents(secret: secret, attributes: [:], accessibility: accessibility)
                contents.apply(AttributeChanges(set: attributes))
                model.items[key] = contents
            } catch { #expect(error.code == .duplicateItem && known != nil) }
        case 5, 6:
            let new = changes.changes()
            let accessibility = changes.chance(4) ? changes.accessibility() : nil
            do throws(VaultError) {
                try transaction.update(key, attributes: new, accessibility: accessibility)
                model.items[key]?.apply(new)
                if let accessibility { model.items[key]?.accessibility = accessibility }
                #expect(known != nil)
            } catch { #expect(error.code == .noSuchItem && known == nil) }
        case 7:
            let target = try changes.key()
            do throws(VaultError) {
                try transaction.move(key, to: target)
                model.items[key] = nil
                model.items[target] = known
            } catch {
                let expected: VaultError.Code =
                    known == nil ? .noSuchItem : key.itemClass != target.itemClass ? .invalidArgument : .duplicateItem
                #expect(error.code == expected)
            }
        default:
            let wasThere = try transaction.remove(key)
            #expect(wasThere == (known != nil))
            model.items[key] = nil
        }
    }

    /// So many changes in one transaction; one in twelve is given up.
    private func transact(_ vault: Vault, _ model: inout Model, _ changes: inout Changes, _ count: Int) throws {
        let before = model
        let givesUp = changes.chance(12)
        do throws(VaultError) {
            try vault.transaction { (transaction) throws(VaultError) in
                for _ in 0..<count { try change(transaction, &model, &changes) }
                if givesUp { throw VaultError(.invalidArgument, "given up") }
            }
        } catch {
            guard givesUp, error.detail == "given up" else { throw error }
            model = before
        }
    }

    private func factors(_ generation: UInt8) throws -> Factors { try Fast.rawKey(generation) }

    private func open(_ path: String, _ key: UInt8, _ device: [UInt8], cacheBytes: Int) throws -> Vault {
        var options = OpenOptions()
        options.writable = true
        options.device = try Device(fileContents: Secret(bytes: device))
        return try Vault.open(path, factors: try factors(key), options: options, place: Store.Place(cacheBytes: cacheBytes))
    }

    /// Rarer things that leave the contents as they are.
    private func maintain(_ vault: Vault, _ key: inout UInt8, _ changes: inout Changes) throws {
        switch changes.below(12) {
        case 0, 1, 2: try vault.compact()
        case 3, 4, 5, 6:
            vault.lock()
            try vault.unlock(try factors(key))
        case 7:
            key &+= 1
            try vault.changeFactors(to: try factors(key))
        case 8:
            var rotation = try vault.rotation()
            _ = try rotation.keep(try factors(key))
            _ = try rotation.run()
        case 9:
            let slot = try vault.addSlot(try Fast.rawKey(255), grantedGroups: ["work"])
            try vault.removeSlot(slot)
        default: try vault.refresh()
        }
    }

    @Test("equals a plain model of it each time that it is opened again")
    func model() throws {
        let seed = Self.seed
        print("random operations: VAULTFMT_SEED=\(seed)")
        var changes = Changes(seed: seed)
        let folder = try Folder()
        let path = folder.file("a.vault")
        let device = Device.random().fileContents().array
        var options = CreateOptions()
        options.device = try Device(fileContents: Secret(bytes: device))
        var key: UInt8 = 1
        var vault = try Vault.create(at: path, factors: try factors(key), options: options)
        var model = Model()
        var done = 0
        var next = 100
        var anchor = vault.anchor
        while done < Self.operations {
            let count = changes.chance(20) ? 5 + changes.below(60) : 1 + changes.below(3)
            try transact(vault, &model, &changes, count)
            done += count
            if changes.chance(60) { try maintain(vault, &key, &changes) }
            guard done >= next else { continue }
            next += 100
            // Small caches and large ones.
            let again = try open(path, key, device, cacheBytes: [0, 20_000, 8 << 20][changes.below(3)])
            try check(again, model, "after \(done) operations of seed \(seed)")
            #expect(try [.descends, .same].contains(again.verdict(on: anchor)))
            anchor = again.anchor
            // Now and then the handle that was open goes on: it has to notice the other's changes.
            if changes.chance(3) { try transact(again, &model, &changes, 1) }
            if changes.chance(2) { vault = again }
            if next % 2000 == 100 { #expect(try vault.verify().isSound, "seed \(seed)") }
        }
        let report = try vault.verify()
        #expect(report.isSound, "seed \(seed): \(report.problems)")
        #expect(try vault.statistics().items == UInt64(model.items.count))
        #expect(model.items.count > 100)
    }

    private func check(_ vault: Vault, _ model: Model, _ when: String) throws {
        let found = Model.comparable(try vault.dump())
        if found != model.items {
            let wrong = Set(found.keys).union(model.items.keys).filter { found[$0] != model.items[$0] }
            Issue.record("\(when): \(wrong.count) items differ, first \(String(describing: wrong.min()?.fields).prefix(200))")
            throw VaultError(.structureInvalid, "the model differs")
        }
        // Look-ups agree with the listing.
        for key in model.items.keys.sorted().prefix(10) { #expect(try vault.item(key) != nil) }
    }
}
