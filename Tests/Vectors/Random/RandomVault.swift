import Fuzzing
import TestSupport
import VaultBytes
import VaultCrypto
import VaultFmt
import VaultStore
import VectorMaking

/// A vault that random operations of the library made, in memory: several commits, slots that come and go, compactions,
/// rotations.
struct RandomVault {
    /// A way to open it, and where the slot is one that can be removed again, its id.
    private struct Way {
        var request: ReadRequest
        var slot: SlotID
        let isFull: Bool
    }

    private static let path = "vault"

    private var chance: Chance
    private let fileSystem: MemoryFileSystem
    private let random: Randomness
    private let place: Store.Place
    private let devices: [(id: [UInt8], secret: [UInt8])]
    private let groups: [String]
    private var clock: Int64 = 1_750_000_000_000
    private var ways: [Way] = []
    private var keys: [ItemKey] = []
    private var anchors: [ReadRequest.Anchor] = []

    /// Lives through everything.
    init(_ seed: UInt64, _ number: Int) throws {
        var chance = Chance(seed &+ UInt64(number) &* 0x1_0000_0001)
        fileSystem = MemoryFileSystem(clock: clock)
        random = .fixed("\(seed)/\(number)")
        place = Store.Place(fileSystem: fileSystem, random: random, replicas: ProcessReplicas(random: random))
        devices = [(chance.bytes(16), chance.bytes(32)), (chance.bytes(16), chance.bytes(32))]
        groups = ["", "work", chance.text(1, 5)]
        self.chance = chance
        try live()
    }

    private mutating func live() throws {
        let first = chance.factors()
        var options = CreateOptions()
        options.cost = chance.cost()
        options.allowWeak = true
        options.slotName = "first"
        options.device = try device(0)
        let vault = try Vault.create(at: Self.path, factors: try first.made(), options: options, place: place)
        guard let slot = try vault.slots().first?.id else { throw ForgeError("a vault without slots") }
        ways = [Way(request: first, slot: slot, isFull: true)]
        try go(on: vault)
        if chance.isIn(percent: 30) {
            var again = OpenOptions()
            again.writable = true
            again.device = try device(1)
            try go(on: try Vault.open(Self.path, factors: try ways[0].request.made(), options: again, place: place))
        }
    }

    private func device(_ index: Int) throws -> Device? {
        guard let id = DeviceID(hex: Hex.encode(devices[index].id)) else { throw ForgeError("a device's id") }
        return try Device(id: id, secret: Secret(bytes: devices[index].secret))
    }

    private mutating func go(on vault: Vault) throws {
        for _ in 0..<chance.one(of: [0, 1, 2, 4, 8, 16]) {
            clock += Int64(chance.one(of: [0, 1, 1000, -5000, 86_400_000, 200 * 86_400_000]))
            fileSystem.setClock(clock)
            switch chance.number(0...24) {
            case 0...8: try change(vault, chance.one(of: [1, 1, 2, 5, 20, 60]))
            case 9...10: if chance.isIn(percent: 20) { try change(vault, 400) }
            case 11: try addSlot(vault)
            case 12: try changeFactors(vault)
            case 13: try removeSlot(vault)
            case 14: try vault.renameSlot(chance.one(of: ways).slot, to: chance.text(0, 1, 4))
            case 15: try rotate(vault)
            case 16...17: try vault.compact()
            case 18...20: try meet(vault)
            case 21: try settle(vault)
            case 22: try forget(vault)
            case 23: try vault.keepVersions(chance.one(of: [0, 1, 3, 10]))
            default: try change(vault, 1)
            }
            let point = try vault.anchor.point
            anchors.append(.init(owner: point.ownersPublicKey, chain: point.chain, vector: Self.unsplit(point.vector)))
        }
    }

    /// A remembered row is not split.
    private static func unsplit(_ vector: Vector) -> Vector {
        let rows: [Vector.Row] = vector.rows.map { row in Vector.Row(row.id, row.revision) }
        return Vector(floor: vector.floor, rows: rows) ?? vector
    }

    /// A merge with a copy that another writer changed meanwhile.
    private mutating func meet(_ vault: Vault) throws {
        guard let way = ways.first(where: \.isFull), let file = fileSystem.bytes(of: Self.path) else { return }
        fileSystem.put("copy", file)
        let other = Store.Place(fileSystem: fileSystem, random: random, replicas: ProcessReplicas(random: random))
        var options = OpenOptions()
        options.writable = true
        options.device = try device(chance.number(0...1))
        let copy = try Vault.open("copy", factors: try way.request.made(), options: options, place: other)
        let known = keys
        try change(copy, chance.number(1...4))
        keys = known
        try change(vault, chance.number(1...4))
        try vault.merge(copy)
        keys = try Self.keys(of: vault)
    }

    private static func keys(of vault: Vault) throws -> [ItemKey] {
        var keys: [ItemKey] = []
        var cursor = try vault.items()
        while let item = try cursor.next() { keys.append(item.key) }
        return keys
    }

    /// Settles some of what merges left: what is shown stays, or another value takes its place.
    private mutating func settle(_ vault: Vault) throws {
        for conflict in try vault.conflicts() {
            guard chance.isIn(percent: 70) else { continue }
            var kept: [Conflict.Value] = []
            if chance.isIn(percent: 50) { kept.append(chance.one(of: conflict.values)) }
            let chosen = kept
            try Self.attempt { () throws(VaultError) in try vault.settle(conflict.key, keeping: chosen) }
        }
        keys = try Self.keys(of: vault)
    }

    /// Forgets an earlier value, or restores one, of some items.
    private mutating func forget(_ vault: Vault) throws {
        for key in keys {
            let values = try vault.earlierValues(of: key)
            guard !values.isEmpty, chance.isIn(percent: 30) else { continue }
            let value = chance.one(of: values)
            let isForgotten = chance.isIn(percent: 50)
            try Self.attempt { () throws(VaultError) in
                if isForgotten {
                    try vault.forgetEarlierValues(of: key, [value])
                } else {
                    try vault.restore(value, of: key)
                }
            }
        }
    }

    /// What another device's item refuses, or has no room for, is left as it was.
    private static func attempt(_ body: () throws(VaultError) -> Void) throws(VaultError) {
        do throws(VaultError) { try body() } catch {
            guard [.deviceBound, .duplicateItem, .limitExceeded].contains(error.code) else { throw error }
        }
    }

    /// One transaction: additions, and changes and removals of what is there.
    private mutating func change(_ vault: Vault, _ count: Int) throws {
        let transaction = try vault.transaction { [self] (transaction) throws(VaultError) -> (Chance, [ItemKey]) in
            var (chance, keys) = (chance, keys)
            do {
                for _ in 0..<count {
                    // What another device's item refuses, or has no room for, is left as it was.
                    do { try Self.step(transaction, &chance, &keys, groups) } catch let error as VaultError
                        where [.deviceBound, .limitExceeded].contains(error.code)
                    {}
                }
            } catch let error as VaultError { throw error } catch { throw VaultError(.invalidArgument, "\(error)") }
            return (chance, keys)
        }
        (chance, keys) = transaction
    }

    private static func step(
        _ transaction: Transaction, _ chance: inout Chance, _ keys: inout [ItemKey], _ groups: [String]
    ) throws {
        let secret = chance.isIn(percent: 1) ? chance.bytes(1 << 17) : chance.bytes(0, 1, 16, 64, 100, 500, 2000)
        let accessibility =
            chance.isIn(percent: 80) ? Accessibility.whenUnlocked : chance.one(of: Accessibility.allCases)
        guard !keys.isEmpty, chance.isIn(percent: 40) else {
            let key = try chance.key(group: chance.one(of: groups))
            guard try transaction.item(key) == nil else { return }
            try transaction.add(
                key, secret: Secret(bytes: secret), attributes: chance.attributes(), accessibility: accessibility,
                created: chance.time(),
                modified: chance.time())
            return keys.append(key)
        }
        let index = chance.number(0...keys.count - 1)
        switch chance.number(0...4) {
        case 0:
            _ = try transaction.set(
                keys[index], secret: Secret(bytes: secret), attributes: AttributeChanges(set: chance.attributes()))
        case 1:
            let changes = AttributeChanges(set: chance.attributes(), replaceAll: true)
            try transaction.update(keys[index], attributes: changes)
        case 2:
            let key = try chance.key(group: keys[index].group)
            guard key.itemClass == keys[index].itemClass, try transaction.item(key) == nil else { return }
            try transaction.move(keys[index], to: key)
            keys[index] = key
        default:
            _ = try transaction.remove(keys[index])
            keys.remove(at: index)
        }
    }

    private mutating func addSlot(_ vault: Vault) throws {
        guard ways.count < 4 else { return }
        let request = newFactors()
        let isFull = chance.isIn(percent: 40)
        let granted = groups.shuffled(using: &chance).prefix(chance.number(0...groups.count))
        let slot = try vault.addSlot(
            try request.made(), cost: chance.cost(), name: chance.text(0, 3),
            grantedGroups: isFull ? nil : Array(Set(granted)),
            createsGroups: true, allowWeak: true
        ).id
        ways.append(Way(request: request, slot: slot, isFull: isFull))
    }

    /// Factors that open no slot so far: others are refused.
    private mutating func newFactors() -> ReadRequest {
        while true {
            let request = chance.factors()
            let isKnown = ways.map(\.request).contains { known in
                known.passphrase == request.passphrase && known.keyFile == request.keyFile
                    && known.rawKey == request.rawKey
            }
            if !isKnown { return request }
        }
    }

    private mutating func changeFactors(_ vault: Vault) throws {
        let index = chance.number(0...ways.count - 1)
        ways[index].request = newFactors()
        try vault.changeFactors(
            of: ways[index].slot, to: try ways[index].request.made(), cost: chance.cost(), allowWeak: true)
    }

    private mutating func removeSlot(_ vault: Vault) throws {
        guard ways.count > 1 else { return }
        try vault.removeSlot(ways.removeLast().slot)
    }

    private mutating func rotate(_ vault: Vault) throws {
        var rotation = try vault.rotation()
        for way in ways { _ = try rotation.keep(try way.request.made()) }
        _ = try rotation.run()
    }

    /// Taken apart, to be altered and sealed again; nil if none of its full slots opens with a raw key alone.
    func recipe() -> Recipe? {
        guard let rawKey = ways.first(where: { $0.isFull && $0.request.rawKey != nil })?.request.rawKey else {
            return nil
        }
        let secrets = devices.compactMap { one in Bytes16(one.id).map { ($0, one.secret) } }
        return Recipe(
            taking: fileSystem.bytes(of: Self.path) ?? [], rawKey: rawKey, devices: Dictionary(secrets) { $1 })
    }

    /// As a vector: opened in one of its ways, with or without a device, an anchor, and something after its newest
    /// commit.
    mutating func vector(_ name: String, _ comment: String) throws -> (vector: ConformanceVector, dump: [String]) {
        var request = chance.one(of: ways).request
        if chance.isIn(percent: 70) { request.device = chance.one(of: devices) }
        if !anchors.isEmpty, chance.isIn(percent: 70) {
            request.anchor = chance.one(of: anchors)
            if chance.isIn(percent: 20) { request.anchor?.chain = Bytes32(chance.bytes(32)) ?? .zero }
            if chance.isIn(percent: 10) { request.anchor?.owner = Bytes32(chance.bytes(32)) ?? .zero }
        }
        var file = fileSystem.bytes(of: Self.path) ?? []
        if chance.isIn(percent: 15) {
            file += [UInt8](repeating: 0, count: chance.one(of: [1, 64, 1000, 262_144, 262_145]))
        }
        if chance.isIn(percent: 10) { file += chance.bytes(1, 63, 448, 1000) }
        let reading = try Reading(Self.path, request, fileSystem: MemoryFileSystem(Self.path, file))
        let vector = ConformanceVector(
            name: name, folder: "", spec: "R-11.1", expect: reading.verdict, request: request, comment: comment,
            file: file)
        return (vector, reading.dump)
    }
}
