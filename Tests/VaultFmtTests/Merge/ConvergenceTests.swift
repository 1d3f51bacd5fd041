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

    @Test("have the same contents in whatever order they are merged, and keep every value")
    func converge() throws {
        for seed in Self.seeds {
            var history = try MachineHistory(seed)
            do {
                try history.run()
                try history.mergeInAllOrders()
                try history.converge()
                try history.check()
            } catch {
                Issue.record("seed \(seed): \(error) \(history.problems)\n\(history.log.joined(separator: "\n"))")
                return
            }
            guard history.problems.isEmpty else {
                Issue.record("seed \(seed): \(history.problems)\n\(history.log.joined(separator: "\n"))")
                return
            }
        }
    }
}

/// Some machines with a copy each. The first has a device, and items that are bound to it.
private struct MachineHistory {
    private struct Machine {
        let name: String
        var vault: Vault
        /// How far its clock is off.
        let skew: Int64
    }

    private let memory: InMemory
    private let device: [UInt8]
    private var numbers: Numbers
    private var machines: [Machine] = []
    private var time: Int64 = 1_760_000_000_000
    private var next = 0
    /// Secrets that were acknowledged, with the items that had them.
    private var acknowledged: [String: ItemID] = [:]
    /// Secrets that were forgotten, which must not return.
    private var forgotten: Set<String> = []
    private var removed: Set<ItemID> = []
    private(set) var problems: [String] = []
    private(set) var log: [String] = []

    init(_ seed: UInt64) throws {
        numbers = Numbers(seed)
        memory = InMemory(seed: "merging \(seed)")
        device = numbers.bytes(48)
        let vault = try memory.create("m0", kept: 50, device: try Device(fileContents: Secret(bytes: device)))
        machines = [Machine(name: "m0", vault: vault, skew: 0)]
        for _ in 0..<pick(1...8) { try add(to: 0) }
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

    private func open(_ name: String, _ index: Int) throws -> Vault {
        guard index == 0 else { return try memory.open(name) }
        return try memory.open(name, device: try Device(fileContents: Secret(bytes: device)))
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

    private mutating func add(to index: Int) throws {
        let (vault, key) = (machines[index].vault, try key())
        guard try vault.item(key) == nil else { return }
        let secret = secret()
        var attributes: Attributes = ["label": "l\(next)"]
        if pick(0...3) == 0 { attributes["photo"] = [UInt8](repeating: UInt8(pick(0...255)), count: 5000) }
        if pick(0...3) == 0 { attributes["notes"] = Array("n\(next)".utf8) }
        if pick(0...5) == 0 { attributes["long"] = [UInt8](repeating: 0x61, count: 300) }
        let accessibility: Accessibility = index == 0 && pick(0...3) == 0 ? .whenUnlockedThisDeviceOnly : .whenUnlocked
        try vault.add(key, secret: Secret(text: secret), attributes: attributes, accessibility: accessibility)
        acknowledged[secret] = try vault.item(key)?.id
    }

    private mutating func item(of vault: Vault) throws -> Item? {
        let all = try vault.allItems()
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
        let kind = pick(0...24)
        log.append("\(machines[index].name): change \(kind)")
        switch kind {
        case 0...3: try add(to: index)
        case 4...17:
            guard let item = try item(of: vault) else { return }
            log.append("  \(item.id) \(item.key.account ?? "") \(next + 1)")
            do throws(VaultError) { try change(item, index, kind) } catch {
                // What is bound to a device is changed there only.
                guard error.code == .deviceBound || error.code == .noSecret else { throw error }
            }
        case 18: try vault.compact()
        case 19: try vault.keepVersions(50 - pick(0...3))
        case 20: try changeSlots(vault)
        case 21: if pick(0...3) == 0 { try vault.rotate() }
        case 22, 23: try settle(vault)
        default: return
        }
        let report = try vault.verify()
        if !report.problems.isEmpty { problems.append("after change \(kind): \(report.problems)") }
    }

    private mutating func change(_ item: Item, _ index: Int, _ kind: Int) throws(VaultError) {
        let vault = machines[index].vault
        switch kind {
        case 4...7:
            let secret = secret()
            try vault.set(item.key, secret: Secret(text: secret))
            acknowledged[secret] = item.id
        case 8, 9: try vault.update(item.key, attributes: setting(["label": "x\(pick(0...9))"]))
        case 10, 11:
            let key = try ItemKey.genericPassword(
                service: "s", account: "a\(pick(0...5))", group: ["", "", "work", "ci"][pick(0...3)])
            if try vault.item(key) == nil { try vault.move(item.key, to: key) }
        case 12:
            try vault.update(
                item.key, accessibility: [.whenUnlocked, .afterFirstUnlock, .always][pick(0...2)])
        case 13: try vault.update(item.key, attributes: setting(["notes": "n\(pick(0...9))"]))
        case 14: try vault.update(item.key, attributes: AttributeChanges(remove: ["label", "notes", "photo"]))
        case 15:
            for value in try vault.earlierValues(of: item.key) where value.attribute == nil {
                forgotten.insert(String(decoding: try vault.open(value).secret.array, as: UTF8.self))
            }
            try vault.forgetEarlierValues(of: item.key)
        case 16:
            guard let value = try vault.earlierValues(of: item.key).first else { return }
            try vault.restore(value, of: item.key)
        default:
            try vault.remove(item.key)
            removed.insert(item.id)
        }
    }

    private mutating func settle(_ vault: Vault) throws {
        guard let conflict = try vault.conflicts().first else { return }
        var fields: Set<ConflictField> = []
        let isChoosing = pick(0...1) == 0
        let kept = conflict.values.filter {
            isChoosing && $0.field != .key && $0.field != .place && $0.value != nil && fields.insert($0.field).inserted
        }
        do throws(VaultError) { try vault.settle(conflict.key, keeping: kept) } catch {
            guard error.code == .deviceBound else { throw error }
        }
    }

    private mutating func changeSlots(_ vault: Vault) throws {
        let others = try vault.slots().filter { !$0.openedThis }
        switch pick(0...4) {
        case 0 where others.count < 4:
            next += 1
            try vault.addSlot(
                try Factors(rawKey: Secret(bytes: [UInt8](repeating: UInt8(next % 200 + 50), count: 31) + [7])),
                name: "\(next)", grantedGroups: pick(0...1) == 0 ? nil : ["", "work"], createsGroups: true)
        case 1: if let slot = others.first { try vault.removeSlot(slot.id) }
        case 2:
            if let slot = others.first(where: { $0.groups != nil }) {
                try vault.setGrants(of: slot.id, to: [["work"], ["ci", ""], []][pick(0...2)], createsGroups: true)
            }
        default: if let slot = others.last { try vault.renameSlot(slot.id, to: "renamed \(pick(0...9))") }
        }
    }

    // MARK: merging

    /// Merges two machines' copies. Where keys were replaced on both sides, or on one while the other went on, the
    /// machine whose turn it is holds.
    private mutating func merge(_ index: Int, _ other: Int) throws {
        let (ours, theirs) = (machines[index], machines[other])
        log.append("\(ours.name) <- \(theirs.name)")
        let before = [try ours.vault.anchor, try theirs.vault.anchor]
        do throws(VaultError) {
            let report = try ours.vault.merge(theirs.vault)
            log.append("  \(report.outcome)")
            if [.merged, .theirs].contains(report.outcome) {
                for anchor in before {
                    let verdict = try ours.vault.verdict(on: anchor)
                    if verdict != .descends && verdict != .same { problems.append("\(verdict) after a merge") }
                }
            }
        } catch {
            guard error.code == .foreignOwner else { throw error }
            let isTheirs =
                error.detail.contains("merge this copy into the other")
                || error.detail == VaultError.replacedKeysLater.detail
            let holder = isTheirs ? other : index
            let giver = holder == index ? other : index
            var options = MergeOptions()
            options.acceptsOldKeys = true
            let shown = try machines[holder].vault.secretsShown()
            _ = try machines[holder].vault.merge(machines[giver].vault, options: options)
            if try machines[holder].vault.secretsShown().filter({ shown[$0.key] != nil }) != shown {
                problems.append("a branch under a replaced key changed what is shown")
            }
            log.append("\(machines[holder].name) <- \(machines[giver].name): adopted")
            let outcome = try machines[giver].vault.merge(machines[holder].vault).outcome
            if outcome != .theirs { problems.append("a branch that was taken in does not go on: \(outcome)") }
        }
        let report = try machines[index].vault.verify()
        if !report.problems.isEmpty { problems.append("after a merge: \(report.problems)") }
    }

    /// Merges copies of three machines' files in every order, unless keys were replaced.
    mutating func mergeInAllOrders() throws {
        guard machines.count >= 3, Set(machines.map(\.vault.owners)).count == 1 else { return }
        var first: MergedContents?
        for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            for index in 0..<3 { try memory.copy("m\(index)", to: "o\(index)") }
            let vaults = try (0..<3).map { try open("o\($0)", $0) }
            let (a, b, c) = (vaults[order[0]], vaults[order[1]], vaults[order[2]])
            try a.merge(b)
            try a.merge(c)
            let merged = try a.merged()
            if let first, merged != first { problems.append("another result in the order \(order)") }
            first = first ?? merged
            try b.merge(c)
            try b.merge(vaults[order[0]])
            if try b.merged() != merged { problems.append("another result after merging in pairs, \(order)") }
        }
    }

    mutating func converge() throws {
        for _ in machines {
            for index in machines.indices {
                for other in machines.indices where other != index {
                    setClock(index)
                    try merge(index, other)
                }
            }
            let contents = try machines.map { try $0.vault.merged() }
            if contents.allSatisfy({ $0 == contents[0] }), Set(machines.map(\.vault.owners)).count == 1 { return }
        }
        problems.append("no common contents after \(machines.count) rounds")
    }

    // MARK: what there is in the end

    mutating func check() throws {
        // Only the first machine can read everything.
        guard let vault = machines.first?.vault else { return }
        var reachable: Set<String> = []
        func add(_ bytes: [UInt8]?) { if let bytes { reachable.insert(String(decoding: bytes, as: UTF8.self)) } }
        for item in try vault.allItems() {
            if !item.lacksSecret { add(try vault.open(item).secret.array) }
            for earlier in try vault.earlierValues(of: item) where earlier.attribute == nil {
                add(try vault.open(earlier).secret.array)
            }
        }
        for conflict in try vault.conflicts() {
            for value in conflict.values where value.field == .secret { add(value.value?.array) }
        }
        for (secret, item) in acknowledged where !removed.contains(item) && !forgotten.contains(secret) {
            if !reachable.contains(secret) { problems.append("\(secret) of \(item) is out of reach") }
        }
        for machine in machines {
            let report = try machine.vault.verify()
            if !report.problems.isEmpty { problems.append("\(report.problems)") }
        }
    }
}

extension Vault {
    /// The secrets that items show, by id; nil for those of other devices.
    fileprivate func secretsShown() throws -> [ItemID: [UInt8]?] {
        var all: [ItemID: [UInt8]?] = [:]
        for item in try allItems() {
            do throws(VaultError) { all.updateValue(try open(item).secret.array, forKey: item.id) } catch {
                guard error.code == .deviceBound || error.code == .noSecret else { throw error }
                all.updateValue(nil, forKey: item.id)
            }
        }
        return all
    }
}

extension Int {
    fileprivate var asInt64: Int64 { Int64(self) }
}
