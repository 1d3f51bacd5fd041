import Testing
import VaultBytes

@testable import VaultFmt

@Suite("The rules for one item do what the model does")
struct ModelCaseTests {
    private let cases: ModelCases

    init() throws { cases = try #require(ModelCases.all, "cases.json is missing or has another form") }

    @Test("what an item shows, what is left to settle, and its earlier values (M-9 to M-15)")
    func views() {
        #expect(cases.views.count > 100)
        for one in cases.views {
            var item = CaseReader(one.values).item(one.item)
            item.forget(CaseReader.names(one.forgotten))
            let view = item.view(limit: one.limit, item.classOfCase)
            #expect(view.shown.fields == CaseReader.fields(one.shown), "\(one.name)")
            #expect(Set(view.marks) == CaseReader.names(one.marks), "\(one.name)")
            #expect(view.kept == CaseReader.names(one.kept), "\(one.name)")
            #expect(Set(view.earlier) == CaseReader.names(one.earlier), "\(one.name)")
            #expect(view.earlier == view.earlier.sorted() && view.marks == view.marks.sorted())
        }
    }

    @Test("a merge keeps what both sides have and what the other side has not seen, whichever is ours (M-19, M-20)")
    func merges() {
        #expect(cases.merges.count > 100)
        for one in cases.merges {
            let (ours, theirs) = (Half(one.ours, and: one.theirs), Half(one.theirs, and: one.ours))
            let wanted = one.result.map { CaseReader().item($0) }
            for (left, right) in [(ours, theirs), (theirs, ours)] {
                let result = ItemState.merged(
                    left.item, right.item, hasLeft: left.hasCertainly, hasRight: right.hasCertainly)
                #expect(result == wanted, "\(one.name)")
            }
        }
    }

    /// One side of a merge.
    private struct Half {
        let item: ItemState?
        private let vector: Vector
        private let split: Set<UInt64>

        init(_ side: ModelCases.Side, and other: ModelCases.Side) {
            item = side.item.map { CaseReader().item($0) }
            let rows = side.vector.rows.map { Vector.Row(UInt64($0) ?? 0, $1) }
            vector = Vector(floor: side.vector.floor, rows: rows) ?? Vector()
            split = Set(side.split + other.split)
        }

        func hasCertainly(_ dot: Dot) -> Bool { vector.hasSeen(dot) && !split.contains(dot.replica) }
    }

    @Test("a change leaves one sibling, and forgets every dot of equal bytes (M-3 to M-7)")
    func changes() {
        #expect(cases.changes.count > 100)
        for one in cases.changes {
            var item = CaseReader(one.values).item(one.item)
            item.forget(CaseReader.names(one.forgotten))
            let view = item.view(limit: one.limit, item.classOfCase)
            var edit = ItemEdit()
            // The model has no such times.
            (edit.created, edit.modified) = (0, 0)
            for (field, text) in one.write { edit.written[CaseReader.field(field)] = CaseReader.value(field, text) }
            edit.settled = Set(one.settle.map(CaseReader.field))
            edit.dropped = Set(one.absent.map(CaseReader.field))
            edit.forgotten = CaseReader.names(one.forget)
            let result = item.changed(
                edit, dot: CaseReader.dot(one.dot), time: 7, view, limit: one.limit, item.classOfCase)
            #expect(result.state == CaseReader().item(one.result), "\(one.name)")
            #expect(result.forgotten == CaseReader.names(one.newlyForgotten), "\(one.name)")
            let open = result.state.open
            for (name, value) in result.state.values where !open.contains(name) && !value.isForgotten {
                #expect(result.state.shown().shows(name) || value.replaced == 7, "\(one.name)")
            }
        }
    }

    @Test("values of a branch under an old key come in under new dots and change nothing that is shown (M-27, M-29)")
    func takings() {
        #expect(cases.takings.count > 40)
        for one in cases.takings {
            let reader = CaseReader(one.values)
            let forgotten = CaseReader.names(one.forgotten)
            var (ours, theirs) = (one.ours.map(reader.item), reader.item(one.theirs))
            ours?.forget(forgotten)
            let known = Set(one.known.map(CaseReader.dot))
            var dots = one.dots.map(CaseReader.dot)[...]
            let branch = theirs.view(limit: one.limit, theirs.classOfCase)
            let view = ours.map { ($0, $0.view(limit: one.limit, $0.classOfCase)) }
            let taken = ItemState.taking(
                theirs, branch, into: view, forgotten: forgotten, isKnown: known.contains
            ) { dots.popFirst() ?? Dot(revision: 1, replica: 0) }
            let all = CaseReader(one.values.merging(one.newValues) { $0.merging($1) { $1 } })
            let wanted = one.result.map(all.item)
            #expect(taken?.state.siblings.keys == wanted?.siblings.keys, "\(one.name)")
            #expect(Self.texts(taken?.state) == Self.texts(wanted), "\(one.name)")
            #expect(dots.isEmpty || taken == nil, "\(one.name)")
            if let (state, view) = view, let taken {
                #expect(taken.state.shown().fields == view.shown.fields, "\(one.name)")
                #expect(state.open.isSubset(of: taken.state.open), "\(one.name)")
            }
        }
    }

    /// What an item holds, by bytes: the model numbers the dots of values that are taken in one change in another order.
    private static func texts(_ item: ItemState?) -> [[FieldName: Set<ValueClass>]] {
        guard let item else { return [] }
        let earlier = item.siblings.values.reduce(into: Set()) { $0.formUnion($1.earlier) }
        let shown = Set(item.siblings.values.flatMap { $0.fields.map { ValueName($0, $1) } })
        return [item.open, earlier, shown].map { names in
            Dictionary(grouping: names, by: \.field).mapValues { Set($0.map(item.classOfCase)) }
        }
    }

    @Test("of items with one key, the one with the least id has it plain (M-17)")
    func names() {
        #expect(!cases.names.isEmpty)
        for one in cases.names {
            var items: [Bytes16: [String]] = [:]
            for (id, item) in one.items { items[Self.id(id)] = [item.key, item.group] }
            #expect(Twins.plain(items) == Set(one.plain.map(Self.id)), "\(one.name)")
        }
    }

    private static func id(_ text: String) -> Bytes16 { Bytes16(high: 0, low: UInt64(text) ?? 0) }
}
