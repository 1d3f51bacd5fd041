import TestSupport
import Testing
import VaultBytes
import VaultCrypto
import VaultStore

@testable import VaultFmt

/// Copies of one vault on machines of their own.
struct Copies {
    let memory = InMemory()
    let ours: Vault
    var theirs: Vault

    /// A vault with these items, and a copy of it; time goes on before each of them is used.
    init(
        kept: Int = 3, device: consuming Device? = nil, _ prepare: (Vault) throws -> Void = { _ in }
    ) throws {
        ours = try memory.create("ours", kept: kept, device: device)
        try prepare(ours)
        try memory.copy("ours", to: "theirs")
        theirs = try memory.open("theirs")
        tick()
    }

    func tick(_ milliseconds: Int64 = 500) { memory.files.setClock(memory.files.now() + milliseconds) }

    /// A further copy.
    func fork(_ name: String, to other: String) throws -> Vault {
        try memory.copy(name, to: other)
        return try memory.open(other)
    }

    /// Merges both ways, and expects the same of both; the result is that of ours.
    @discardableResult
    func mergeBothWays(sourceLocation: SourceLocation = #_sourceLocation) throws -> MergeReport {
        let (before, other) = (try memory.bytes("ours"), try memory.bytes("theirs"))
        memory.files.put("ours-2", before)
        memory.files.put("theirs-2", other)
        let (second, its) = (try memory.open("ours-2"), try memory.open("theirs-2"))
        let report = try ours.merge(theirs)
        #expect(report.outcome == .merged, sourceLocation: sourceLocation)
        #expect(try its.merge(second).outcome == .merged, sourceLocation: sourceLocation)
        try expectSound(ours, sourceLocation: sourceLocation)
        try expectSound(its, sourceLocation: sourceLocation)
        #expect(try ours.merged() == its.merged(), sourceLocation: sourceLocation)
        #expect(try memory.bytes("theirs") == other, "theirs was changed", sourceLocation: sourceLocation)
        #expect(try ours.merge(theirs).outcome == .ours, sourceLocation: sourceLocation)
        return report
    }
}

/// What a merge has to make equal on all machines.
struct MergedContents: Equatable {
    struct Value: Equatable {
        var key: ItemKey
        var secret: [UInt8]?
        var attributes: [String: [UInt8]]
        var flags: [String: UInt8]
        var accessibility: Accessibility?
        var device: DeviceID?
        var stamp: [UInt64: DeviceID?]
        var modified: Int64
        var created: Int64
    }

    struct Item: Equatable {
        var value: Value
        var earlier: [Value]
    }

    var items: [ItemID: Item] = [:]
    var tombstones: Set<String> = []
    var slots: [SlotID: String] = [:]
    var removedSlots: [Bytes16] = []
    var kept = 0
    var groups: Set<String> = []
}

extension Vault {
    func merged() throws -> MergedContents {
        var out = MergedContents()
        var cursor = try items()
        while let item = try cursor.next() { out.items[item.id] = try merged(item) }
        for slot in try slots() { out.slots[slot.id] = "\(slot.name ?? "") \(slot.groups ?? []) \(slot.factors)" }
        try withCore { (core) throws(VaultError) in
            out.removedSlots = core.store.keyring.removedSlots.map(\.id)
            out.kept = core.store.keyring.keeping.count
            out.groups = Set(core.store.keyring.groups.map(\.name))
            let branch = Branch(core)
            var leaves = branch.tree.leaves(isCaching: false)
            while let leaf = try leaves.next(1).first {
                let page = try core.store.pages.load(leaf)
                for index in 0..<page.count {
                    guard case .tombstone(let id, let tombstone) = try branch.read(page, index) else { continue }
                    out.tombstones.insert("\(id) \(tombstone)")
                }
            }
        }
        return out
    }

    private func merged(_ item: Item) throws -> MergedContents.Item {
        let secret = try readable { () throws(VaultError) in try open(item).secret.array }
        var values: [String: [UInt8]] = [:]
        var flags: [String: UInt8] = [:]
        for attribute in item.attributes.all where secret != nil {
            values[attribute.name] = try self.attribute(attribute.name, of: item)?.array
            flags[attribute.name] = attribute.flags.rawValue
        }
        let device = try withCore { (core) throws(VaultError) in core.view.device(item.entry.device) }
        var held = MergedContents.Item(
            value: .init(
                key: item.key, secret: secret, attributes: values, flags: flags, accessibility: item.accessibility,
                device: item.device, stamp: [item.revision: device], modified: item.modified, created: item.created),
            earlier: [])
        for earlier in try earlierValues(of: item) {
            let secret = try readable { () throws(VaultError) in try open(earlier).secret.array }
            let key = try readable { () throws(VaultError) in try open(earlier).key }
            held.earlier.append(
                .init(
                    key: key ?? item.key, secret: secret, attributes: [:], flags: [:], accessibility: nil, device: nil,
                    stamp: [earlier.revision: earlier.device], modified: earlier.modified, created: 0))
        }
        return held
    }

    /// Nil for what belongs to another device.
    private func readable<R>(_ read: () throws(VaultError) -> R) throws(VaultError) -> R? {
        do throws(VaultError) { return try read() } catch {
            guard error.code == .deviceBound else { throw error }
            return nil
        }
    }

    /// Secrets as texts, by key.
    func secrets() throws -> [ItemKey: String] {
        try dump().mapValues { String(decoding: $0.secret, as: UTF8.self) }
    }

    func earlierSecrets(of key: ItemKey) throws -> [String] {
        try earlierValues(of: key).map { String(decoding: try secret(of: $0).array, as: UTF8.self) }
    }

    /// The fields of an item that are to settle, with their values.
    func toSettle(_ key: ItemKey) throws -> [ConflictField: String] {
        var out: [ConflictField: String] = [:]
        for value in try conflict(in: key)?.values ?? [] {
            out[value.field] = String(decoding: value.value.array, as: UTF8.self)
        }
        return out
    }
}
