import Foundation
import TestSupport
import Testing
import VaultBytes
import VaultCrypto
import VaultStore

@testable import VaultFmt

/// A property of all histories: copies on several machines, changed in every way and merged in pairs at random, end with
/// the same contents, and no value that was acknowledged is out of reach.
@Suite("Copies that are merged")
struct ConvergenceTests {
    /// 40 from 0 on; before a release `VAULTFMT_MERGE_SEQUENCES=20000`, in several processes from different
    /// `VAULTFMT_SEED`.
    private static var seeds: Range<UInt64> {
        func number(_ name: String) -> UInt64? { ProcessInfo.processInfo.environment[name].flatMap { UInt64($0) } }
        let first = number("VAULTFMT_SEED") ?? 0
        return first..<first + (number("VAULTFMT_MERGE_SEQUENCES") ?? 40)
    }

    @Test("converge in at most as many rounds as there are copies, and keep every value")
    func converge() throws {
        for seed in Self.seeds {
            var history = try MachineHistory(seed)
            do {
                try history.run()
                try history.converge()
                try history.check()
            } catch {
                Issue.record("seed \(seed): \(error)\n\(history.log.joined(separator: "\n"))")
                return
            }
            guard history.problems.isEmpty else {
                Issue.record("seed \(seed): \(history.problems)\n\(history.log.joined(separator: "\n"))")
                return
            }
        }
    }
}

/// Some machines with a copy each.
private struct MachineHistory {
    private struct Machine {
        let name: String
        var vault: Vault
        /// How far its clock is off.
        let skew: Int64
    }

    private let memory = InMemory()
    private var numbers: Numbers
    private var machines: [Machine] = []
    private var time: Int64 = 1_760_000_000_000
    private var next = 0
    /// Secrets that were acknowledged, with the items that had them.
    private var acknowledged: [String: ItemID] = [:]
    private var removed: Set<ItemID> = []
    private(set) var problems: [String] = []
    private(set) var log: [String] = []

    init(_ seed: UInt64) throws {
        numbers = Numbers(seed)
        let vault = try memory.create("m0", kept: 50)
        for _ in 0..<pick(1...8) {
            try add(to: vault)
        }
        machines = [Machine(name: "m0", vault: vault, skew: 0)]
        for index in 1..<pick(2...6) {
            try memory.copy("m0", to: "m\(index)")
            let skew = [0, 0, 1, -3_600_000, 86_400_000 * 400][pick(0...4)]
            machines.append(
                Machine(name: "m\(index)", vault: try memory.open("m\(index)"), skew: Int64(skew)))
        }
    }

    private mutating func pick(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &numbers) }

    private mutating func setClock(_ machine: Int) {
        time += [0, 1, 1000, 3_600_000, 86_400_000 * 20][pick(0...4)].asInt64
        memory.files.setClock(max(1, time + (machines.isEmpty ? 0 : machines[machine].skew)))
    }

    // MARK: changes

    private mutating func key() throws -> ItemKey {
        try .genericPassword(
            service: "s", account: "a\(pick(0...5))", group: ["", "", "work", "ci"][pick(0...3)])
    }

    private mutating func secret() -> String {
        next += 1
        return "secret \(next)"
    }

    private mutating func add(to vault: Vault) throws {
        let key = try key()
        guard try vault.item(key) == nil else { return }
        let secret = secret()
        var attributes: Attributes = ["label": "l\(next)"]
        if pick(0...3) == 0 { attributes["photo"] = [UInt8](repeating: UInt8(pick(0...255)), count: 5000) }
        if pick(0...3) == 0 { attributes["notes"] = Array("n\(next)".utf8) }
        try vault.add(key, secret: Secret(text: secret), attributes: attributes)
        acknowledged[secret] = try vault.item(key)?.id
    }

    private mutating func item(of vault: Vault) throws -> Item? {
        var all: [Item] = []
        var cursor = try vault.items()
        while let item = try cursor.next() { all.append(item) }
        return all.isEmpty ? nil : all[pick(0...all.count - 1)]
    }

    mutating func run() throws {
        for _ in 0..<pick(3...30) {
            let index = pick(0...machines.count - 1)
            setClock(index)
            if pick(0...3) == 0 {
                let other = pick(0...machines.count - 1)
                if other != index { try merge(index, other) }
            } else {
                try change(index)
            }
        }
    }

    private mutating func change(_ index: Int) throws {
        let vault = machines[index].vault
        let kind = pick(0...21)
        switch kind {
        case 0...3: try add(to: vault)
        case 4...13:
            guard let item = try item(of: vault) else { return }
            try change(item, vault, kind)
            log.append("  \(item.id) \(item.key.account ?? "") \(next)")
        case 14: try vault.compact()
        case 15: try vault.keepVersions(50 - pick(0...3))
        case 16: try changeSlots(vault)
        case 17: if pick(0...3) == 0 { try vault.rotate() }
        case 18:
            if let conflict = try vault.conflicts().first {
                var fields: Set<ConflictField> = []
                let kept = conflict.values.filter { $0.field == .secret && fields.insert($0.field).inserted }
                for value in conflict.values where value.field == .secret {
                    // What is given up is known to whoever settles it.
                    let text = String(decoding: value.value.array, as: UTF8.self)
                    if !kept.contains(where: { $0.lost.isSame(as: value.lost) }) { acknowledged[text] = nil }
                }
                try vault.settle(conflict.key, keeping: kept)
            }
        default: return
        }
        log.append("\(machines[index].name): change \(kind)")
    }

    private mutating func change(_ item: Item, _ vault: Vault, _ kind: Int) throws {
        switch kind {
        case 4...7:
            let secret = secret()
            try vault.set(item.key, secret: Secret(text: secret))
            acknowledged[secret] = item.id
        case 8, 9: try vault.update(item.key, attributes: setting(["label": "x\(pick(0...9))"]))
        case 10, 11:
            let key = try key()
            if try vault.item(key) == nil { try vault.move(item.key, to: key) }
        case 12:
            try vault.update(
                item.key, accessibility: [.whenUnlocked, .afterFirstUnlock, .always][pick(0...2)])
        default:
            try vault.remove(item.key)
            removed.insert(item.id)
        }
    }

    private mutating func changeSlots(_ vault: Vault) throws {
        let others = try vault.slots().filter { !$0.openedThis }
        switch pick(0...3) {
        case 0 where others.count < 4:
            next += 1
            try vault.addSlot(
                try Factors(rawKey: Secret(bytes: [UInt8](repeating: UInt8(next % 200 + 50), count: 31) + [7])),
                name: "\(next)", grantedGroups: pick(0...1) == 0 ? nil : ["", "work"], createsGroups: true)
        case 1: if let slot = others.first { try vault.removeSlot(slot.id) }
        default: if let slot = others.last { try vault.renameSlot(slot.id, to: "renamed \(pick(0...9))") }
        }
    }

    // MARK: merging

    /// Where keys were replaced on both sides, or on one while the other went on, the machine whose turn it is holds.
    private mutating func merge(_ index: Int, _ other: Int) throws {
        let (ours, theirs) = (machines[index], machines[other])
        var options = MergeOptions()
        options.takesSlots = true
        let before = [ours.vault.anchor, theirs.vault.anchor]
        let items = try ours.vault.merged().items.merging(try theirs.vault.merged().items) { first, _ in first }
        do throws(VaultError) {
            let report = try ours.vault.merge(theirs.vault, options: options)
            log.append("\(ours.name) <- \(theirs.name): \(report.outcome)")
            // A skewed clock can make a horizon remove what is new (R-8.7): it is named, and gone as if it were removed.
            for (id, item) in items where report.notes.contains(.removedUnconfirmed(item.value.key)) {
                removed.insert(id)
            }
            if [.merged, .theirs].contains(report.outcome) {
                for anchor in before {
                    let verdict = try ours.vault.verdict(on: anchor)
                    if verdict != .descends && verdict != .same { problems.append("\(verdict) after a merge") }
                }
            }
        } catch {
            guard error.code == .foreignOwner else { throw error }
            options.acceptsOldKeys = true
            let holder = error.detail.contains("merge this copy into the other") ? other : index
            let giver = holder == index ? other : index
            _ = try machines[holder].vault.merge(machines[giver].vault, options: options)
            log.append("\(machines[holder].name) <- \(machines[giver].name): adopted")
            try memory.copy(machines[holder].name, to: machines[giver].name)
            machines[giver].vault = try memory.open(machines[giver].name)
        }
        let report = try machines[index].vault.verify()
        if !report.problems.isEmpty { problems.append("\(report.problems)") }
    }

    mutating func converge() throws {
        for _ in machines {
            for index in machines.indices {
                for other in machines.indices where other != index {
                    setClock(index)
                    try merge(index, other)
                }
            }
            if Set(machines.map(\.vault.anchor)).count == 1 { return }
        }
        problems.append("no common state after \(machines.count) rounds")
    }

    // MARK: what there is in the end

    mutating func check() throws {
        guard let first = try machines.first?.vault.merged() else { return }
        for machine in machines.dropFirst() {
            if try machine.vault.merged() != first { problems.append("\(machine.name) has other contents") }
        }
        guard let vault = machines.first?.vault else { return }
        var reachable: Set<String> = []
        func add(_ bytes: [UInt8]?) { if let bytes { reachable.insert(String(decoding: bytes, as: UTF8.self)) } }
        for item in first.items.values {
            add(item.value.secret)
            for earlier in item.earlier { add(earlier.secret) }
        }
        for conflict in try vault.conflicts() { for value in conflict.values { add(value.value.array) } }
        try addAdopted(vault, add)
        for id in first.items.keys where first.tombstones.contains(where: { $0.hasPrefix("\(id.bytes) ") }) {
            problems.append("\(id) is both live and dead")
        }
        for (secret, item) in acknowledged where !removed.contains(item) && !reachable.contains(secret) {
            problems.append("\(secret) of \(item) is out of reach")
        }
    }

    /// What a branch under replaced keys had to settle comes in with its values: whoever restores one has it again.
    private func addAdopted(_ vault: Vault, _ add: ([UInt8]?) -> Void) throws {
        var cursor = try vault.items()
        while let item = try cursor.next() {
            for earlier in try vault.earlierValues(of: item) {
                guard let entries = try vault.attribute(ConflictAttribute.name, of: earlier) else { continue }
                for entry in try ConflictAttribute.decode(entries) { add(entry.value.secret.array) }
            }
        }
    }
}

extension Int {
    fileprivate var asInt64: Int64 { Int64(self) }
}
