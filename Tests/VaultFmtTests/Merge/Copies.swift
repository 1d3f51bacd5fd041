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
        #expect(
            try ours.merge(its).outcome == .same, "equal merges need no further one", sourceLocation: sourceLocation)
        return report
    }
}

/// Everything that a person can see of a vault, what is left to settle included: equal for equal sets of changes.
struct MergedContents: Equatable {
    struct Value: Hashable {
        var field: FieldName
        var dot: Dot
        /// The bytes; nil if they belong to one device, whether it is this one or not.
        var bytes: [UInt8]?
        var flags: UInt8 = 0
    }

    struct Item: Equatable {
        var key: ItemKey
        var shown: Set<Value> = []
        var marks: Set<Value> = []
        var earlier: Set<Value> = []
        var accessibility: Accessibility
        var device: DeviceID?
        var times: [Int64]
    }

    struct Slot: Equatable {
        var name: String
        var groups: [String]?
        var made: Dot
        var changed: Dot
        var grants: Set<Dot>
    }

    var items: [ItemID: Item] = [:]
    var forgotten: Set<ForgottenValue> = []
    var slots: [SlotID: Slot] = [:]
    var kept = 0
    var groups: Set<String> = []
    var rows: Set<Vector.Row> = []
}

extension Vault {
    func merged() throws -> MergedContents {
        var out = MergedContents()
        var cursor = try items()
        while let item = try cursor.next() {
            out.items[item.id] = try withCore { (core) throws(VaultError) in try core.merged(item) }
        }
        let infos = try slots()
        try withCore { (core) throws(VaultError) in
            let vector = try core.vector()
            func dot(_ stored: StoredDot) -> Dot { vector.dot(stored) ?? Dot(revision: 0, replica: 0) }
            for slot in core.store.keyring.slots {
                let info = infos.first { $0.id == SlotID(slot.id) }
                out.slots[SlotID(slot.id)] = .init(
                    name: info?.name ?? "", groups: info?.groups, made: dot(slot.made), changed: dot(slot.changed),
                    grants: Set(slot.grants.map { dot($0.dot) }))
            }
            out.kept = core.store.keyring.keeping.count
            out.groups = Set(core.store.keyring.groups.map(\.name))
            out.rows = Set(vector.rows)
            try ForgottenValues.forEach(core.store.tree, core.entryCheck) { (value) throws(VaultError) in
                out.forgotten.insert(value)
            }
        }
        return out
    }

    /// Secrets as texts, by key.
    func secrets() throws -> [ItemKey: String] {
        try dump().mapValues { String(decoding: $0.secret, as: UTF8.self) }
    }

    /// The earlier secrets of an item as texts, oldest first.
    func earlierSecrets(of key: ItemKey) throws -> [String] {
        try earlierValues(of: key).filter { $0.attribute == nil }.map {
            String(decoding: try open($0).secret.array, as: UTF8.self)
        }
    }

    /// The fields of an item that are to settle, with their values: text, key or place.
    func toSettle(_ key: ItemKey) throws -> [ConflictField: Set<String>] {
        var out: [ConflictField: Set<String>] = [:]
        for value in try conflict(in: key)?.values ?? [] {
            let place = value.place.map { "\($0.group) \($0.accessibility)" } ?? " "
            var text = value.key.map { $0.account ?? "" } ?? place
            if let bytes = value.value { text = String(decoding: bytes.array, as: UTF8.self) }
            out[value.field, default: []].insert(text)
        }
        return out
    }
}

extension VaultCore {
    fileprivate func merged(_ item: Item) throws(VaultError) -> MergedContents.Item {
        let state = try state(of: item)
        let view = try view(of: item, state)
        func value(_ name: ValueName) throws(VaultError) -> MergedContents.Value {
            var out = MergedContents.Value(field: name.field, dot: name.dot)
            guard let held = state.values[name] else { return out }
            switch held.content {
            case .attribute(let flags, .inPage(let bytes)): (out.bytes, out.flags) = (bytes, flags.meaning.rawValue)
            case .key(let bytes): out.bytes = bytes
            case .place(let place): out.bytes = place.group + [place.accessibility] + place.device.bytes
            case .secret, .attribute(_, .inRecord):
                if case .attribute(let flags, _) = held.content { out.flags = flags.meaning.rawValue }
                let end = max(item.referrer, item.entry.past?.offset ?? 0)
                let isBound = held.record.flatMap { self.view.compartment($0.compartment)?.info.isDeviceBound } ?? true
                if !isBound { out.bytes = try bytes(name, held, of: item.entry.id, before: end).array }
            case .forgotten: break
            }
            return out
        }
        var out = MergedContents.Item(
            key: item.key, accessibility: item.accessibility, device: item.device,
            times: [item.created, item.modified])
        for (field, dot) in view.shown.fields { out.shown.insert(try value(ValueName(field, dot))) }
        for name in view.marks { out.marks.insert(try value(name)) }
        for name in view.earlier { out.earlier.insert(try value(name)) }
        return out
    }
}
