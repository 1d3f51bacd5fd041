import Foundation
import Testing

@testable import VaultFmt

/// What an item is, and what each of its fields was.
private struct ModelItem: Equatable {
    struct Value: Equatable {
        var secret: [UInt8]
        var attributes: [String: Field]

        /// The attributes that are not sealed.
        var plain: [String: Field] { attributes.filter { !$1.flags.contains(.sealed) } }
    }

    struct Field: Equatable {
        var flags: Attribute.Flags
        var value: [UInt8]
    }

    /// A secret that was replaced, with the plain attributes of its time, or a sealed attribute.
    struct Earlier: Equatable {
        var attribute: String?
        var field: Field
        var attributes: [String: Field] = [:]

        init(_ attribute: String, _ field: Field) {
            self.attribute = attribute
            self.field = field
        }

        init(secretOf value: Value) {
            field = Field(flags: [], value: value.secret)
            attributes = value.plain
        }

        /// Whether both are the same bytes of one field.
        func isSame(as other: Earlier) -> Bool { attribute == other.attribute && field == other.field }
    }

    var value: Value
    var accessibility: Accessibility
    /// All that is kept, the oldest change first: equal values too.
    var earlier: [(order: Int, Earlier)] = []
    /// The number of the change that set each field; nil is the secret.
    var orders: [String?: Int] = [:]

    static func == (left: ModelItem, right: ModelItem) -> Bool {
        left.value == right.value && left.accessibility == right.accessibility
    }

    private var shown: [Earlier] {
        [Earlier(secretOf: value)] + value.attributes.map { Earlier($0, $1) }
    }

    /// What is listed: of equal values the newest, none that is shown, and as many of a field as the vault keeps.
    func listed(_ kept: Int) -> [Earlier] {
        var all: [(order: Int, Earlier)] = []
        for one in Self.newest(earlier, kept).reversed() {
            guard !shown.contains(where: { $0.isSame(as: one.1) }),
                !all.contains(where: { $0.1.isSame(as: one.1) })
            else { continue }
            all.append(one)
        }
        return all.reversed().map(\.1)
    }

    /// The newest different values of each field, each with those that are equal.
    private static func newest(_ all: [(order: Int, Earlier)], _ kept: Int) -> [(order: Int, Earlier)] {
        var out: [(order: Int, Earlier)] = []
        var different: [String?: [Earlier]] = [:]
        for one in all.reversed() {
            let known = different[one.1.attribute] ?? []
            if !known.contains(where: { $0.isSame(as: one.1) }) {
                guard known.count < kept else { continue }
                different[one.1.attribute, default: []].append(one.1)
            }
            out.append(one)
        }
        return out.reversed()
    }

    /// Another value, with what is replaced kept by the order in which it was set.
    mutating func become(_ new: Value, _ kept: Int, change: Int) {
        var replaced: [(order: Int, Earlier)] = []
        if new.secret != value.secret {
            replaced.append((orders[nil] ?? 0, Earlier(secretOf: value)))
            orders[nil] = change
        }
        for (name, old) in value.attributes.sorted(by: { $0.key < $1.key }) where new.attributes[name] != old {
            if old.flags.contains(.sealed) { replaced.append((orders[name] ?? 0, Earlier(name, old))) }
        }
        for (name, field) in new.attributes where value.attributes[name] != field { orders[name] = change }
        value = new
        keep(earlier + replaced, kept)
    }

    mutating func keep(_ all: [(order: Int, Earlier)], _ kept: Int) {
        let sorted = all.enumerated().sorted { left, right in
            let names = (left.element.1.attribute, right.element.1.attribute)
            if left.element.order != right.element.order { return left.element.order < right.element.order }
            return (names.0 == nil ? 0 : 1, names.0 ?? "") < (names.1 == nil ? 0 : 1, names.1 ?? "")
        }
        earlier = Self.newest(sorted.map(\.element), kept)
    }
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
    /// The number of the last change.
    private var changes = 0
    /// The number of the last one that was committed.
    private var committed = 0
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
        changes += 1
        guard var item = model[key] else {
            let value = ModelItem.Value(secret: secret(), attributes: fields())
            try transaction.add(key, secret: Secret(bytes: value.secret), attributes: Self.attributes(value.attributes))
            var new = ModelItem(value: value, accessibility: .whenUnlocked)
            new.orders = Dictionary(value.attributes.keys.map { ($0, changes) }, uniquingKeysWith: { $1 })
            new.orders[nil] = changes
            model[key] = new
            return
        }
        switch pick(12) {
        case 0...2:
            let (secret, set, replaceAll) = (secret(), fields(), pick(3) == 0)
            var new = ModelItem.Value(secret: secret, attributes: replaceAll ? [:] : item.value.attributes)
            new.attributes.merge(set) { $1 }
            let change = AttributeChanges(set: Self.attributes(set), replaceAll: replaceAll)
            try transaction.set(key, secret: Secret(bytes: secret), attributes: change)
            item.become(new, kept, change: changes)
        case 3...5:
            let (set, remove) = (fields(), "a\(pick(4))")
            var new = item.value
            new.attributes[remove] = nil
            new.attributes.merge(set) { $1 }
            try transaction.update(key, attributes: AttributeChanges(set: Self.attributes(set), remove: [remove]))
            item.become(new, kept, change: changes)
        case 6:
            item.accessibility = [.whenUnlocked, .afterFirstUnlock, .always][pick(3)]
            try transaction.update(key, accessibility: item.accessibility)
            item.keep(item.earlier, kept)
        case 7:
            let target = try anyKey()
            guard model[target] == nil else { return }
            try transaction.move(key, to: target)
            if key != target { item.keep(item.earlier, kept) }
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
            let earlier = item.listed(kept)[index]
            var new = item.value
            if let name = earlier.attribute {
                new.attributes[name] = earlier.field
            } else {
                new.secret = earlier.field.value
            }
            item.become(new, kept, change: changes)
        case 10:
            let values = try transaction.earlierValues(of: key)
            guard !values.isEmpty else { return }
            let index = pick(values.count)
            let all = pick(4) == 0
            _ = try transaction.forgetEarlierValues(of: key, all ? nil : [values[index]])
            let listed = item.listed(kept)
            let gone = all ? listed : [listed[index]]
            item.keep(item.earlier.filter { one in !gone.contains { $0.isSame(as: one.1) } }, kept)
        default:
            var values: [ModelItem.Value] = []
            for _ in 0..<pick(3) { values.append(ModelItem.Value(secret: secret(), attributes: fields())) }
            let new = values.map {
                NewEarlierValue(
                    secret: Secret(bytes: $0.secret), attributes: Self.attributes($0.attributes), replaced: 2)
            }
            let added = try transaction.addEarlierValues(new, to: key)
            #expect(added == min(kept, values.count))
            guard added > 0 else { return }
            var all = item.earlier
            for value in values.suffix(kept) {
                changes += 1
                all.append((changes, ModelItem.Earlier(secretOf: value)))
                for (name, field) in value.attributes where field.flags.contains(.sealed) {
                    all.append((changes, ModelItem.Earlier(name, field)))
                }
            }
            changes += 1
            for field in Set(all.suffix(from: item.earlier.count).map(\.1.attribute)) {
                // What the item got earlier in the same transaction is newer.
                if let order = item.orders[field], order > committed { item.orders[field] = changes }
            }
            item.keep(all, kept)
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
            committed = changes
            let (open, count) = (try vault.begin(), pick(5))
            for _ in 0..<count { try within(open) }
            try open.rollBack()
            model = before
            return
        default:
            committed = changes
            let (open, count) = (try vault.begin(), 1 + pick(3))
            for _ in 0..<count { try within(open) }
            try open.commit()
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
            var earlier: [ModelItem.Earlier] = []
            for value in try reader.earlierValues(of: item) {
                let field = ModelItem.Field(flags: value.flags, value: try reader.secret(of: value).array)
                var was =
                    value.attribute.map { ModelItem.Earlier($0, field) }
                    ?? ModelItem.Earlier(secretOf: .init(secret: field.value, attributes: [:]))
                for attribute in value.attributes.all {
                    let bytes = try reader.attribute(attribute.name, of: value)?.array
                    was.attributes[attribute.name] = .init(flags: attribute.flags, value: bytes ?? [])
                }
                earlier.append(was)
            }
            #expect(earlier == model[item.key]?.listed(kept), "\(what): earlier values of \(item.key)")
            found[item.key] = one
        }
        #expect(found.keys.sorted() == model.keys.sorted(), "\(what)")
        for (key, item) in model {
            #expect(
                found[key]?.value == item.value && found[key]?.accessibility == item.accessibility, "\(what): \(key)")
        }
        let report = try reader.verify()
        #expect(report.isSound, "\(what): \(report.problems)")
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
