package import VaultBytes

/// The values that the fields of an item show. They depend on the siblings, the open values and the forgotten values,
/// but not on a vector, so the order of merges does not matter (specification, section 6.4).
package struct ShownItem: Equatable, Sendable {
    /// The dot of the value that each field shows; the key and the place are always present.
    package let fields: [FieldName: Dot]
    /// The sibling whose record is the item's record, if the shown place has a device (M-13).
    package let wholeSibling: Dot?

    package func shows(_ name: ValueName) -> Bool { fields[name.field] == name.dot }
}

/// The values that an item shows, those that are left to settle, and its earlier values.
package struct ItemView: Equatable, Sendable {
    package let shown: ShownItem
    /// The values that are left to settle, in ascending order (M-14).
    package let marks: [ValueName]
    /// The earlier values that a change keeps, including equal values under different dots.
    package let kept: Set<ValueName>
    /// The earlier values to list, in ascending order, with equal ones listed once (M-15).
    package let earlier: [ValueName]
}

extension ItemState {
    /// Returns the value that each field shows (M-9 to M-13).
    package func shown() -> ShownItem {
        let forgotten = forgotten
        if siblings.count == 1, forgotten.isEmpty, let (dot, sibling) = siblings.first {
            // A single sibling is shown completely.
            return ShownItem(fields: sibling.fields, wholeSibling: isBound(sibling) ? dot : nil)
        }
        return Showing(self, forgotten).shown()
    }

    func isBound(_ sibling: Sibling) -> Bool { place(of: sibling)?.isDeviceBound ?? false }

    /// Returns the values that the item shows, its values to settle, and its earlier values.
    ///
    /// `limit`: the maximum number of different earlier values that each field keeps.
    /// `classOf`: classifies a value by its bytes; called only for values that must be compared.
    package func view<Failure: Error>(
        limit: Int, _ classOf: (ValueName) throws(Failure) -> ValueClass
    ) throws(Failure) -> ItemView {
        let (shown, forgotten) = (shown(), forgotten)
        var classes = ValueClasses()
        var marks: [ValueName] = []
        for name in open.sorted() where !shown.shows(name) && !forgotten.contains(name) {
            if let now = shown.fields[name.field] {
                let same = try classes.find(ValueName(name.field, now), classOf)
                if try classes.find(name, classOf) == same { continue }
            }
            marks.append(name)
        }
        let pool = overwritten.filter { !shown.shows($0) && !open.contains($0) && !forgotten.contains($0) }
        let kept = try classes.newest(pool, limit, classOf)
        let listed = try listed(kept, marks, shown, &classes, classOf)
        return ItemView(shown: shown, marks: marks, kept: kept, earlier: listed)
    }

    /// The earlier values of all siblings, and every protected value that a sibling holds.
    private var overwritten: Set<ValueName> {
        var all: Set<ValueName> = []
        for sibling in siblings.values {
            all.formUnion(sibling.earlier)
            for (field, dot) in sibling.fields where values[ValueName(field, dot)]?.isProtected ?? false {
                all.insert(ValueName(field, dot))
            }
        }
        return all
    }

    /// Removes values that are shown or left to settle and, of equal values, all but the newest.
    private func listed<Failure: Error>(
        _ kept: Set<ValueName>, _ marks: [ValueName], _ shown: ShownItem, _ classes: inout ValueClasses,
        _ classOf: (ValueName) throws(Failure) -> ValueClass
    ) throws(Failure) -> [ValueName] {
        var known: [FieldName: Set<ValueClass>] = [:]
        for field in Set(kept.map(\.field)) {
            let others = marks.filter { $0.field == field } + (shown.fields[field].map { [ValueName(field, $0)] } ?? [])
            for name in others { known[field, default: []].insert(try classes.find(name, classOf)) }
        }
        var listed: [ValueName] = []
        for name in kept.sorted(by: >) {
            guard known[name.field, default: []].insert(try classes.find(name, classOf)).inserted else { continue }
            listed.append(name)
        }
        return listed.reversed()
    }
}

/// Chooses which values to show for an item that has several siblings or forgotten values.
private struct Showing {
    private let item: ItemState
    private let forgotten: Set<ValueName>
    private let siblings: [(dot: Dot, sibling: Sibling)]

    init(_ item: ItemState, _ forgotten: Set<ValueName>) {
        self.item = item
        self.forgotten = forgotten
        siblings = item.siblings.map { ($0, $1) }
    }

    func shown() -> ShownItem {
        var fields: [FieldName: Dot] = [:]
        let secret = best(.secret, siblings.compactMap { known(.secret, $0.sibling) })
        fields[.secret] = secret
        let holders = siblings.filter { $0.sibling.fields[.secret] == secret }
        let around = holders.isEmpty ? siblings : holders
        fields[.place] = best(.place, around.compactMap { $0.sibling.fields[.place] })
        fields[.key] = best(.key, siblings.compactMap { $0.sibling.fields[.key] })
        let place = fields[.place].flatMap { item.values[ValueName(.place, $0)]?.place }
        var whole: Dot?
        if place?.isDeviceBound ?? false {
            whole = around.filter { $0.sibling.fields[.place] == fields[.place] }.map(\.dot).max()
        }
        var count = 0
        // If there are too many attributes, those with the smallest names are shown.
        for field in attributes().sorted() where count < Format.Limit.attributes {
            guard let dot = attribute(field, place, whole) else { continue }
            fields[field] = dot
            count += 1
        }
        return ShownItem(fields: fields, wholeSibling: whole)
    }

    private func attributes() -> Set<FieldName> {
        var names: Set<FieldName> = []
        for (_, sibling) in siblings {
            for case .attribute(let name) in sibling.fields.keys { names.insert(.attribute(name)) }
        }
        return names
    }

    /// The greatest open dot or, if no dot is open, the greatest dot.
    private func best(_ field: FieldName, _ dots: [Dot]) -> Dot? {
        dots.filter { item.open.contains(ValueName(field, $0)) }.max() ?? dots.max()
    }

    /// The dot of a sibling's value, unless the value is absent or forgotten.
    private func known(_ field: FieldName, _ sibling: Sibling) -> Dot? {
        sibling.fields[field].flatMap { forgotten.contains(ValueName(field, $0)) ? nil : $0 }
    }

    private func attribute(_ field: FieldName, _ place: Place?, _ whole: Dot?) -> Dot? {
        if let whole, let dot = item.siblings[whole].flatMap({ known(field, $0) }), isInRecord(field, dot) {
            return dot
        }
        var dots: [Dot] = []
        for (_, sibling) in siblings {
            guard let dot = known(field, sibling), let value = item.values[ValueName(field, dot)] else { continue }
            let there = item.place(of: sibling)
            if whole != nil {
                // Only a program on that device can combine two records.
                guard !value.isInRecord else { continue }
            } else {
                // A value in a record of another place cannot be shown: its readers may differ.
                guard there == place || !value.isInRecord else { continue }
            }
            dots.append(dot)
        }
        let open = dots.filter { item.open.contains(ValueName(field, $0)) }
        if let shown = open.max() { return shown }
        return siblings.allSatisfy { $0.sibling.fields[field] != nil } ? dots.max() : nil
    }

    private func isInRecord(_ field: FieldName, _ dot: Dot) -> Bool {
        item.values[ValueName(field, dot)]?.isInRecord ?? false
    }
}
