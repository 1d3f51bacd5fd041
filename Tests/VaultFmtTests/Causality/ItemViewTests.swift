import Testing
import VaultBytes

@testable import VaultFmt

/// What the model has no fields for: attributes of both kinds under one name, and values in records.
@Suite("What an item shows, of attributes in pages and in records")
struct ItemViewTests {
    private static let anywhere = Place(group: [], accessibility: 1, device: .zero)
    private static let bound = Place(group: [], accessibility: 5, device: Bytes16(high: 1, low: 1))
    private static let other = Place(group: [65], accessibility: 1, device: .zero)

    private func dot(_ revision: UInt64) -> Dot { Dot(revision: revision, replica: 7) }

    private enum Kind { case page, long, sealed, large }

    private func value(_ kind: Kind, _ number: UInt64) -> HeldValue {
        let record = RecordRef(
            record: ObjectRef(offset: number, length: 256, hash: .zero), revision: number, compartment: 1)
        return switch kind {
        case .page: HeldValue(.attribute(flags: [], .inPage([UInt8(number)])))
        case .long: HeldValue(.attribute(flags: [.inItemRecord], .inRecord(record)))
        case .sealed: HeldValue(.attribute(flags: [.sealed, .inItemRecord], .inRecord(record)))
        case .large: HeldValue(.attribute(flags: [.inOwnRecord], .inRecord(record)))
        }
    }

    /// An item of siblings, each with a place, attributes and secret of its own; all is open.
    private func item(_ siblings: [(place: Place, attributes: [String: Kind])], secret: Int? = nil) -> ItemState {
        var state = ItemState(siblings: [:], open: [], values: [:])
        for (index, one) in siblings.enumerated() {
            let number = UInt64(index + 1)
            var values: [FieldName: HeldValue] = [.key: HeldValue(.key([1])), .place: HeldValue(.place(one.place))]
            let record = RecordRef(
                record: ObjectRef(offset: number, length: 256, hash: .zero), revision: number, compartment: 1)
            values[.secret] = HeldValue(.secret(record, attributes: []))
            for (name, kind) in one.attributes { values[.attribute(name)] = value(kind, number) }
            var fields = values.mapValues { _ in dot(number) }
            if let secret { fields[.secret] = dot(UInt64(secret + 1)) }
            for (field, value) in values { state.values[ValueName(field, dot(number))] = value }
            state.siblings[dot(number)] = Sibling(fields)
        }
        state.open = state.held
        return state
    }

    private func shown(_ state: ItemState, _ name: String) -> UInt64? {
        state.shown().fields[.attribute(name)]?.revision
    }

    @Test("a sealed value is shown only in the place where it was set; one of the same name in a page everywhere")
    func sealed() {
        let two = item([(Self.anywhere, ["a": .sealed]), (Self.other, ["a": .sealed])])
        #expect(shown(two, "a") == 2)
        #expect(shown(item([(Self.anywhere, ["a": .sealed]), (Self.other, ["a": .sealed])], secret: 0), "a") == 2)
        #expect(shown(item([(Self.anywhere, ["a": .sealed]), (Self.other, [:])]), "a") == nil)
        #expect(shown(item([(Self.anywhere, ["a": .page]), (Self.other, [:])]), "a") == 1)
        #expect(shown(item([(Self.anywhere, ["a": .page]), (Self.other, ["a": .sealed])]), "a") == 2)
        #expect(shown(item([(Self.anywhere, ["a": .sealed]), (Self.other, ["a": .page])]), "a") == 2)
    }

    @Test("a long plain value is in a record, which readers of its place can read, so it is shown only there")
    func long() {
        for kind in [Kind.long, .large] {
            #expect(shown(item([(Self.anywhere, ["a": kind]), (Self.other, [:])]), "a") == nil)
            #expect(shown(item([(Self.anywhere, ["a": kind]), (Self.anywhere, [:])]), "a") == 1)
            #expect(shown(item([(Self.bound, ["a": kind]), (Self.other, [:])]), "a") == nil)
            #expect(shown(item([(Self.bound, ["a": kind]), (Self.other, ["a": .page])]), "a") == 2)
            #expect(shown(item([(Self.other, ["a": kind]), (Self.bound, [:])]), "a") == nil)
        }
        #expect(shown(item([(Self.bound, ["a": .page]), (Self.other, [:])]), "a") == 1)
    }

    @Test("an item bound to a device shows recorded values of one sibling, and values in pages of all (M-13)")
    func device() {
        let state = item([
            (Self.other, ["a": .page, "b": .page, "c": .sealed]), (Self.bound, ["a": .sealed, "b": .long, "d": .page]),
        ])
        #expect(state.shown().wholeSibling == dot(2))
        #expect(["a", "b", "c", "d"].map { shown(state, $0) } == [2, 2, nil, 2])
        // What is in the record is shown even if a page has something newer.
        let older = item([(Self.bound, ["a": .sealed]), (Self.bound, ["a": .page])], secret: 0)
        #expect(older.shown().wholeSibling == dot(2) && shown(older, "a") == 2)
        var forgotten = state
        forgotten.forget([ValueName(.attribute("a"), dot(2))])
        #expect(shown(forgotten, "a") == 1, "the record's value is forgotten")
    }

    @Test("at most 64 attributes are shown: those with the least names")
    func most() {
        let names = (0..<80).map { "n\(100 + $0)" }
        let half = { (part: ArraySlice<String>) in
            Dictionary(part.map { ($0, Kind.page) }, uniquingKeysWith: { $1 })
        }
        let state = item([(Self.anywhere, half(names[20...])), (Self.anywhere, half(names[..<60]))])
        let found = state.shown().fields.keys.compactMap { field -> String? in
            if case .attribute(let name) = field { String(decoding: name, as: UTF8.self) } else { nil }
        }
        #expect(found.sorted() == Array(names[..<64]))
    }

    @Test("of two copies of a value the one that was replaced later is kept, and a forgotten one has no bytes")
    func copies() throws {
        let label = PageAttribute(name: "label", flags: [], value: .inPage([66]))
        var (left, right) = (item([(Self.anywhere, [:])]), item([(Self.anywhere, [:])]))
        let name = ValueName(.secret, dot(1))
        let earlier = ValueName(.secret, dot(9))
        for (index, state) in [left, right].enumerated() {
            var state = state
            state.siblings[dot(1)]?.earlier = [earlier]
            state.values[earlier] = value(.sealed, UInt64(index + 3))
            state.values[earlier]?.content = .secret(
                RecordRef(record: .zero, revision: UInt64(index), compartment: 1), attributes: index == 0 ? [] : [label]
            )
            state.values[earlier]?.replaced = 5
            if index == 0 { left = state } else { right = state }
        }
        for (one, two) in [(left, right), (right, left)] {
            let merged = try #require(ItemState.merged(one, two, hasLeft: { _ in true }, hasRight: { _ in true }))
            guard case .secret(_, let attributes) = merged.values[earlier]?.content else {
                Issue.record("no secret")
                return
            }
            #expect(attributes == [label] && merged.values[name] != nil)
        }
        right.values[earlier]?.replaced = 4
        let merged = try #require(ItemState.merged(left, right, hasLeft: { _ in true }, hasRight: { _ in true }))
        #expect(merged.values[earlier]?.replaced == 5)
        var forgot = right
        forgot.forget([earlier, name])
        #expect(forgot.values[earlier] == nil && forgot.values[name]?.isForgotten == true)
        let both = try #require(ItemState.merged(left, forgot, hasLeft: { _ in true }, hasRight: { _ in true }))
        #expect(both.values[name]?.isForgotten == true && both.shown().fields[.secret] == nil)
    }

    @Test("the attributes of a secret's time are those of the greatest sibling that has it, without sealed ones")
    func attributesOfTime() {
        var state = item(
            [(Self.anywhere, ["a": .page, "s": .sealed]), (Self.anywhere, ["b": .page, "l": .large])], secret: 0)
        state.setAttributesOfTime()
        guard case .secret(_, let attributes) = state.values[ValueName(.secret, dot(1))]?.content else {
            Issue.record("no secret")
            return
        }
        #expect(attributes.map(\.name) == ["b", "l"])
        state.values[ValueName(.secret, dot(1))]?.replaced = 9
        state.siblings[dot(2)] = nil
        state.setAttributesOfTime()
        guard case .secret(_, let kept) = state.values[ValueName(.secret, dot(1))]?.content else { return }
        #expect(kept.map(\.name) == ["b", "l"], "what a change recorded stays")
    }
}
