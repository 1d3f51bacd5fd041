/// The rules for a past, by itself and in combination with the item's entry.
extension Past {
    /// Checks the flags of the values.
    func checkFlags(_ cursor: Cursor) throws(FormatError) {
        for value in values {
            let kinds = value.flags.intersection([.earlier, .shown, .forgotten]).rawValue
            guard kinds.nonzeroBitCount <= 1 else { throw cursor.error("a value has conflicting flags") }
            guard value.isProtected || value.flags.isDisjoint(with: [.earlier, .forgotten]) else {
                throw cursor.error("an unprotected value is marked as earlier or forgotten")
            }
            let isOfSibling = siblings.isEmpty ? value.flags.contains(.shown) : value.flags.contains(.earlier)
            let isKept = !siblings.isEmpty || !value.flags.isDisjoint(with: [.open, .earlier])
            guard !isOfSibling, isKept else { throw cursor.error("a value's flags do not match the siblings") }
        }
    }

    /// Checks the siblings.
    func checkSiblings(_ cursor: Cursor) throws(FormatError) {
        guard !siblings.isEmpty else { return }
        var isHeld = values.map { $0.flags.contains(.open) }
        for sibling in siblings {
            try check(sibling, cursor)
            for index in sibling.fields + sibling.earlier { isHeld[index] = true }
        }
        guard isHeld.allSatisfy({ $0 }) else {
            throw cursor.error("an item's past has a value that no sibling refers to")
        }
    }

    private func check(_ sibling: Sibling, _ cursor: Cursor) throws(FormatError) {
        let kinds = sibling.fields.map { values[$0].kind }
        guard kinds.count(where: { $0 == .key }) == 1, kinds.count(where: { $0 == .place }) == 1 else {
            throw cursor.error("a sibling does not have exactly one key and one place")
        }
        // Values of the same field are adjacent.
        for (index, next) in zip(sibling.fields, sibling.fields.dropFirst())
        where values[index].isOfSameField(as: values[next]) {
            throw cursor.error("a sibling has two values of one field")
        }
        let fields = Set(sibling.fields)
        for index in sibling.earlier {
            guard values[index].isProtected, !values[index].flags.contains(.forgotten), !fields.contains(index) else {
                throw cursor.error("a sibling has an invalid earlier value")
            }
        }
    }

    /// Checks that the past belongs to an item with this entry and these attributes.
    package func check(_ entry: ItemEntry, _ attributes: [PageAttribute], at offset: UInt64) throws(FormatError) {
        func refuse(_ what: String) -> FormatError { FormatError(.structureInvalid, what, at: offset) }
        guard item == entry.id else { throw refuse("an item's entry refers to the past of another item") }
        let shown = Past.shown(entry, attributes)
        let known = Dictionary(shown.map { (Name($0), $0) }, uniquingKeysWith: { first, _ in first })
        var found = 0
        for value in values {
            guard let same = known[Name(value)] else {
                guard !value.flags.contains(.shown) else {
                    throw refuse("an item's past shows a field that the item's entry lacks")
                }
                continue
            }
            guard value.flags.contains(.shown), value.attribute == same.attribute else {
                throw refuse("a shown value in an item's past does not match the item's entry")
            }
            found += 1
        }
        guard let greatest = siblings.last else { return }
        guard found == shown.count else { throw refuse("an item's past lacks a field of the item's entry") }
        guard greatest.dot == entry.dot, siblings.map(\.created).min() == entry.created,
            siblings.map(\.modified).max() == entry.modified
        else { throw refuse("the siblings in an item's past do not match the item's entry") }
        guard !isPlain(greatest) else { throw refuse("an item's past lists an unnecessary sibling") }
    }

    /// Returns whether this is the item's only sibling and has exactly the entry's fields, all of which are open.
    private func isPlain(_ sibling: Sibling) -> Bool {
        siblings.count == 1 && sibling.fields == values.indices.filter { values[$0].flags.contains(.shown) }
            && sibling.fields.allSatisfy { values[$0].flags.contains(.open) }
    }

    /// Returns the fields of an entry as values with flag 04.
    private static func shown(_ entry: ItemEntry, _ attributes: [PageAttribute]) -> [Value] {
        var all = [
            Value(kind: .key, dot: entry.dot(of: FieldSet.key), flags: .shown),
            Value(kind: .place, dot: entry.dot(of: FieldSet.place), flags: .shown),
        ]
        if !entry.lacksSecret { all.append(Value(kind: .secret, dot: entry.dot(of: FieldSet.secret), flags: .shown)) }
        for (index, attribute) in attributes.enumerated() {
            all.append(
                Value(
                    kind: .attribute, name: Array(attribute.name.utf8), attribute: attribute.flags,
                    dot: entry.dot(of: FieldSet.firstAttribute + index), flags: .shown))
        }
        return all
    }

    /// A value's field and dot.
    private struct Name: Hashable {
        let kind: FieldKind
        let name: [UInt8]
        let dot: StoredDot

        init(_ value: Value) { (kind, name, dot) = (value.kind, value.name, value.dot) }
    }
}
