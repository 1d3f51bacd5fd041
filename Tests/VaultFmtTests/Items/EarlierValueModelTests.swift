import Foundation
import Testing

@testable import VaultFmt

/// What an item is, and was.
private struct ModelItem: Equatable {
    struct Value: Equatable {
        var secret: [UInt8]
        var attributes: [String: Field]

        /// Whether something that is sealed is lost when another value takes its place.
        func isReplaced(by new: Value) -> Bool {
            secret != new.secret
                || attributes.contains { $1.flags.contains(.sealed) && new.attributes[$0]?.value != $1.value }
        }
    }

    struct Field: Equatable {
        var flags: Attribute.Flags
        var value: [UInt8]
    }

    var value: Value
    var accessibility: Accessibility
    var earlier: [Value] = []
}

/// A vault and a plain model of it, changed in the same way.
private struct ModelRun {
    private let path: String
    private let clock: SettableClock
    private var vault: Vault
    private var model: [ItemKey: ModelItem] = [:]
    private var kept = 10
    private var numbers: Numbers
    private var time: Int64 = 1_700_000_000_000
    private static let sizes = [0, 1, 200, 256, 257, 4096, 4097, 9000]

    init(_ path: String, seed: UInt64) throws {
        self.path = path
        numbers = Numbers(seed)
        clock = SettableClock()
        clock.set(time)
        vault = try Fast.create(path, fileSystem: clock)
    }

    // MARK: choices

    private mutating func pick(_ count: Int) -> Int { Int.random(in: 0..<count, using: &numbers) }

    private mutating func anyKey() throws -> ItemKey {
        try .genericPassword(service: "s\(pick(3))", account: "", group: "g\(pick(2))")
    }

    private mutating func someKey() throws -> ItemKey {
        let known = model.keys.sorted()
        return known.isEmpty || pick(8) == 0 ? try anyKey() : known[pick(known.count)]
    }

    private mutating func bytes() -> [UInt8] {
        let size = Self.sizes[pick(Self.sizes.count)]
        return numbers.pattern(size)
    }

    private mutating func secret() -> [UInt8] { pick(3) == 0 ? [1] : bytes() }

    private mutating func fields() -> [String: ModelItem.Field] {
        var out: [String: ModelItem.Field] = [:]
        for _ in 0..<pick(4) {
            let flags: Attribute.Flags = [[], .sealed, .concealed, [.sealed, .binary]][pick(4)]
            out["a\(pick(4))"] = ModelItem.Field(flags: flags, value: bytes())
        }
        return out
    }

    private static func attributes(_ fields: [String: ModelItem.Field]) -> Attributes {
        Attributes(fields.map { Attribute($0, $1.value, flags: $1.flags) })
    }

    // MARK: changes

    /// One change, on the vault or within a transaction, and on the model.
    private mutating func change(_ transaction: Transaction) throws {
        let key = try someKey()
        guard var item = model[key] else {
            let value = ModelItem.Value(secret: secret(), attributes: fields())
            try transaction.add(key, secret: Secret(bytes: value.secret), attributes: Self.attributes(value.attributes))
            model[key] = ModelItem(value: value, accessibility: .whenUnlocked)
            return
        }
        switch pick(12) {
        case 0...2:
            let (secret, set, replaceAll) = (secret(), fields(), pick(3) == 0)
            var new = ModelItem.Value(secret: secret, attributes: replaceAll ? [:] : item.value.attributes)
            new.attributes.merge(set) { $1 }
            let changes = AttributeChanges(set: Self.attributes(set), replaceAll: replaceAll)
            try transaction.set(key, secret: Secret(bytes: secret), attributes: changes)
            item.become(new, kept)
        case 3...5:
            let (set, remove) = (fields(), "a\(pick(4))")
            var new = item.value
            new.attributes[remove] = nil
            new.attributes.merge(set) { $1 }
            try transaction.update(key, attributes: AttributeChanges(set: Self.attributes(set), remove: [remove]))
            item.become(new, kept)
        case 6:
            item.accessibility = [.whenUnlocked, .afterFirstUnlock, .always][pick(3)]
            try transaction.update(key, accessibility: item.accessibility)
        case 7:
            let target = try anyKey()
            guard model[target] == nil else { return }
            try transaction.move(key, to: target)
            model[key] = nil
            model[target] = item
            return
        case 8:
            _ = try transaction.remove(key)
            model[key] = nil
            return
        case 9:
            let values = try transaction.earlierValues(of: key)
            guard !values.isEmpty else { return }
            let index = pick(values.count)
            try transaction.restore(values[index], of: key)
            item.become(item.earlier[index], kept)
        case 10:
            let values = try transaction.earlierValues(of: key)
            guard !values.isEmpty else { return }
            let index = pick(values.count)
            let all = pick(4) == 0
            _ = try transaction.forgetEarlierValues(of: key, all ? nil : [values[index]])
            if all { item.earlier = [] } else { item.earlier.remove(at: index) }
        default:
            var values: [ModelItem.Value] = []
            for _ in 0..<pick(3) { values.append(ModelItem.Value(secret: secret(), attributes: fields())) }
            let new = values.map {
                NewEarlierValue(
                    secret: Secret(bytes: $0.secret), attributes: Self.attributes($0.attributes), modified: 1,
                    replaced: 2)
            }
            let added = try transaction.addEarlierValues(new, to: key)
            #expect(added == min(kept, values.count))
            if added > 0 { item.earlier = (item.earlier + values).suffix(kept) }
        }
        model[key] = item
    }

    /// One commit, or something that is done to the whole vault.
    mutating func step() throws {
        time += Int64(pick(5000))
        clock.set(time)
        switch pick(14) {
        case 0: try vault.compact()
        case 1:
            var rotation = try vault.rotation()
            _ = try rotation.keep(try Fast.rawKey())
            _ = try rotation.run()
        case 2:
            vault = try Fast.open(path, fileSystem: clock)
            return
        case 3:
            kept = [0, 1, 2, 5, 10][pick(5)]
            try vault.keepVersions(kept)
            return
        case 4:
            let before = model
            let (open, count) = (try vault.begin(), pick(5))
            for _ in 0..<count { try within(open) }
            try open.rollBack()
            model = before
            return
        default:
            let (open, count) = (try vault.begin(), 1 + pick(3))
            for _ in 0..<count { try within(open) }
            let narrows = try open.perform { (transaction) throws(VaultError) in !transaction.remnants.isEmpty }
            try open.commit()
            if narrows { dropExcess() }
            return
        }
        dropExcess()
    }

    /// Compaction drops what exceeds the setting.
    private mutating func dropExcess() {
        for (key, item) in model {
            var item = item
            item.earlier = item.earlier.suffix(kept)
            model[key] = item
        }
    }

    private mutating func within(_ open: OpenTransaction) throws {
        var failure: (any Error)?
        try open.perform { (transaction) throws(VaultError) in
            do { try change(transaction) } catch { failure = error }
        }
        if let failure { throw failure }
    }

    // MARK: comparing

    /// Everything in the file, by another handle.
    func check(_ what: String) throws {
        let reader = try Fast.open(path, fileSystem: clock)
        var found: [ItemKey: ModelItem] = [:]
        for item in try reader.allItems() {
            var one = ModelItem(
                value: .init(secret: try reader.open(item).secret.array, attributes: [:]),
                accessibility: item.accessibility)
            for attribute in item.attributes.all {
                let value = try reader.attribute(attribute.name, of: item)?.array
                one.value.attributes[attribute.name] = .init(flags: attribute.flags, value: value ?? [])
            }
            for value in try reader.earlierValues(of: item) {
                var earlier = ModelItem.Value(secret: try reader.secret(of: value).array, attributes: [:])
                for attribute in value.attributes.all {
                    let bytes = try reader.attribute(attribute.name, of: value)?.array
                    earlier.attributes[attribute.name] = .init(flags: attribute.flags, value: bytes ?? [])
                }
                one.earlier.append(earlier)
            }
            found[item.key] = one
        }
        #expect(found.keys.sorted() == model.keys.sorted(), "\(what)")
        for (key, item) in model {
            #expect(
                found[key]?.value == item.value && found[key]?.accessibility == item.accessibility, "\(what): \(key)")
            #expect(found[key]?.earlier == item.earlier, "\(what): earlier values of \(key)")
        }
        let report = try reader.verify()
        #expect(report.isSound, "\(what): \(report.problems)")
    }
}

extension ModelItem {
    /// Another value, with the old one kept if something sealed is lost with it.
    fileprivate mutating func become(_ new: Value, _ kept: Int) {
        if kept > 0, value.isReplaced(by: new) { earlier = (earlier + [value]).suffix(kept) }
        value = new
    }
}

@Suite("Earlier values and attributes under random changes")
struct EarlierValueModelTests {
    /// `VAULTFMT_SEED` runs others.
    private static let seeds: [UInt64] = {
        let first = ProcessInfo.processInfo.environment["VAULTFMT_SEED"].flatMap { UInt64($0) } ?? 1
        return (0..<12).map { first &+ $0 }
    }()

    @Test("equal a plain model of them after every commit, compaction, rotation and reopening", arguments: seeds)
    func model(seed: UInt64) throws {
        let folder = try Folder()
        var run = try ModelRun(folder.file("a.vault"), seed: seed)
        for number in 0..<40 {
            try run.step()
            try run.check("seed \(seed), step \(number)")
        }
        #expect(folder.names == ["a.vault"])
    }
}
