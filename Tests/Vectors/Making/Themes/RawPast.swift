internal import TestSupport
internal import VaultBytes

/// A past whose siblings name their values, which can be changed without regard to their order.
struct NamedPast {
    var item: Bytes16
    var values: [Past.Value]
    var siblings: [DraftSibling]

    init(item: Bytes16, values: [Past.Value], siblings: [DraftSibling] = []) {
        self.item = item
        self.values = values
        self.siblings = siblings
    }

    init(_ past: Past) {
        item = past.item
        values = past.values
        siblings = past.siblings.map { one in
            DraftSibling(
                dot: one.dot, created: one.created, modified: one.modified,
                fields: one.fields.map { past.values[$0].draftName },
                earlier: one.earlier.map { past.values[$0].draftName })
        }
    }

    var past: Past {
        get throws {
            let sorted = values.sorted(by: Past.Value.precedes)
            func indices(_ names: [DraftName]) throws -> [Int] {
                try names.map { name in
                    guard let index = sorted.firstIndex(where: { $0.draftName == name }) else {
                        throw ForgeError("no such value: \(name)")
                    }
                    return index
                }.sorted()
            }
            return Past(
                item: item, values: sorted,
                siblings: try siblings.sorted { StoredDot.precedes($0.dot, $1.dot) }.map { one in
                    Past.Sibling(
                        dot: one.dot, created: one.created, modified: one.modified, fields: try indices(one.fields),
                        earlier: try indices(one.earlier))
                })
        }
    }

    /// The index of the first value of a kind, and of a name.
    func index(_ kind: FieldKind, _ name: String = "", where isMeant: (Past.Value) -> Bool = { _ in true }) throws
        -> Int
    {
        let found = values.firstIndex { $0.kind == kind && $0.name == Array(name.utf8) && isMeant($0) }
        guard let found else { throw ForgeError("no such value") }
        return found
    }

    /// Adds a value that a sibling has as a field.
    mutating func add(_ value: Past.Value, toFieldsOf sibling: Int) {
        values.append(value)
        siblings[sibling].fields.append(value.draftName)
    }
}

extension Past.Value {
    var draftName: DraftName { DraftName(kind, dot, name: String(decoding: name, as: UTF8.self)) }
}

/// A past's bytes, whatever it has: put together from section 5.3.
struct RawPast {
    struct Value {
        var index: UInt64
        var kind: UInt8
        var flags: UInt8
        /// Everything that follows the flags.
        var rest: [UInt8]
    }

    struct Sibling {
        var index: UInt64
        var created: Int64
        var modified: Int64
        var fields: [UInt8]
        var earlier: [UInt8]
    }

    var item: Bytes16
    var dots: [StoredDot]
    var values: [Value]
    var siblings: [Sibling]

    init(_ past: Past) {
        item = past.item
        let dots = Set(past.dots).sorted(by: StoredDot.precedes)
        self.dots = dots
        func index(_ dot: StoredDot) -> UInt64 { UInt64(dots.firstIndex(of: dot) ?? dots.count) }
        values = past.values.map { value in
            Value(
                index: index(value.dot), kind: value.kind.rawValue, flags: value.flags.rawValue,
                rest: RawPast.rest(value))
        }
        siblings = past.siblings.map { one in
            func bitmap(_ all: [Int]) -> [UInt8] {
                var out = [UInt8](repeating: 0, count: (past.values.count + 7) / 8)
                for one in all { out[one / 8] |= 1 << UInt8(one % 8) }
                return out
            }
            return Sibling(
                index: index(one.dot), created: one.created - one.dot.time, modified: one.modified - one.dot.time,
                fields: bitmap(one.fields), earlier: bitmap(one.earlier))
        }
    }

    private static func rest(_ value: Past.Value) -> [UInt8] {
        var out: [UInt8] = []
        if value.kind == .attribute { out += [value.attribute.rawValue, UInt8(value.name.count)] + value.name }
        guard value.flags.isDisjoint(with: [.shown, .forgotten]) else { return out }
        out.append(zigzag: value.replaced)
        switch value.content {
        case .absent: break
        case .secret(let own, let attributes):
            own.encode(into: &out)
            PageAttributes.encode(attributes, into: &out)
        case .attributeInRecord(let own): own.encode(into: &out)
        case .attribute(let bytes), .key(let bytes):
            out.append(varint: UInt64(bytes.count))
            out += bytes
        case .place(let place):
            out.append(varint: UInt64(place.group.count))
            out += place.group + [place.accessibility] + place.device.bytes
        }
        return out
    }

    func encoded() -> [UInt8] {
        var out = item.bytes
        out.append(varint: UInt64(dots.count))
        for dot in dots { dot.encode(into: &out) }
        out.append(varint: UInt64(values.count))
        for value in values {
            out.append(varint: value.index)
            out += [value.kind, value.flags] + value.rest
        }
        out.append(varint: UInt64(siblings.count))
        for one in siblings {
            out.append(varint: one.index)
            out.append(zigzag: one.created)
            out.append(zigzag: one.modified)
            out += one.fields + one.earlier
        }
        out.padSteppedBody()
        return out
    }
}

extension Forge {
    /// The root's body as it was.
    func rootBody() throws -> [UInt8] { self[try root()].body }

    /// The past of an item in the root page.
    func past(of index: Int = 0) throws -> ForgedObject.ID {
        let entries = try PageEntry.all(try rootBody(), at: 0)
        guard let ref = ForgedItem(entries[index].value)?.entry.past else { throw ForgeError("no past") }
        return try object(at: ref.offset)
    }

    /// A past as it was.
    func readPast(of index: Int = 0) throws -> Past {
        let body = self[try past(of: index)].body
        return try Past(body.span, at: 0)
    }

    /// The record of a value in a past.
    func record(of value: Past.Value) throws -> ForgedObject.ID {
        guard let first = value.records.first else { throw ForgeError("a value without a record") }
        return try object(at: first.record.offset)
    }

    /// Changes a past, which can then be malformed.
    mutating func onNamedPast(
        of index: Int = 0, _ edit: @escaping (inout NamedPast, ForgeLayout) throws -> Void,
        raw: @escaping (inout RawPast) throws -> Void = { _ in }
    ) throws {
        onBody(try past(of: index)) { body, layout in
            let old = try Past(body.span, at: layout.offset)
            var named = NamedPast(old)
            try edit(&named, layout)
            var bytes = RawPast(try named.past)
            try raw(&bytes)
            body = bytes.encoded()
        }
    }

    /// Gives an item in the root page a past that it does not have.
    mutating func addPast(to index: Int, _ make: (ItemEntry) throws -> NamedPast) throws {
        let entries = try PageEntry.all(try rootBody(), at: 0)
        guard let item = ForgedItem(entries[index].value) else { throw ForgeError("no item") }
        let body = RawPast(try make(item.entry).past).encoded()
        let root = try root()
        let id = insert(.past, before: root, nonce: [0xFA].times(24)) { _ in body }
        onItem(root, index) { item, layout in item.entry.past = try layout.ref(id) }
        onCommit(try last(.commit)) { commit, layout in
            commit.pasts += 1
            commit.liveBytes += UInt64(try layout.ref(id).length)
        }
    }
}
