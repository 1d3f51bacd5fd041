package import VaultBytes

/// An immutable version of an item, identified by the dot of the change that made it (specification, section 6.4).
package struct Sibling: Hashable, Sendable {
    /// The dot of each field's value; the key and the place are always present.
    package var fields: [FieldName: Dot]
    package var earlier: Set<ValueName>
    /// The times of creation and last change, in milliseconds since 1970.
    package var created: Int64
    package var modified: Int64

    package init(
        _ fields: [FieldName: Dot], earlier: Set<ValueName> = [], created: Int64 = 0, modified: Int64 = 0
    ) {
        self.fields = fields
        self.earlier = earlier
        self.created = created
        self.modified = modified
    }
}

/// All data about one item in a state of a vault: nearly always one sibling whose values are all open.
package struct ItemState: Sendable {
    /// The siblings, by the dots of the changes that made them; at least one.
    package var siblings: [Dot: Sibling]
    /// The values that no later change has replaced.
    package var open: Set<ValueName>
    /// All values of the item by name; forgotten values have no bytes.
    package var values: [ValueName: HeldValue]

    package init(siblings: [Dot: Sibling], open: Set<ValueName>, values: [ValueName: HeldValue]) {
        self.siblings = siblings
        self.open = open
        self.values = values
    }

    /// Creates an item with a single sibling whose values are all open.
    package init(_ dot: Dot, _ sibling: Sibling, _ values: [ValueName: HeldValue]) {
        siblings = [dot: sibling]
        open = Set(sibling.fields.map { ValueName($0, $1) })
        self.values = values
    }

    /// The earliest creation time of all siblings.
    package var created: Int64 { siblings.values.map(\.created).min() ?? 0 }

    /// The latest change time of all siblings.
    package var modified: Int64 { siblings.values.map(\.modified).max() ?? 0 }

    /// The dot of the newest change.
    package var newest: Dot { siblings.keys.max() ?? Dot(revision: 0, replica: 0) }

    /// The names of all values of the item, including forgotten ones.
    package var held: Set<ValueName> {
        var all = open
        for sibling in siblings.values {
            for (field, dot) in sibling.fields { all.insert(ValueName(field, dot)) }
            all.formUnion(sibling.earlier)
        }
        return all
    }

    /// The forgotten values that are open or still referenced by a sibling.
    package var forgotten: Set<ValueName> { Set(values.filter(\.value.isForgotten).keys) }

    /// Forgets values, here or in another copy of the vault. Siblings still contain the dots of forgotten fields.
    package mutating func forget(_ names: Set<ValueName>) {
        for dot in siblings.keys { siblings[dot]?.earlier.subtract(names) }
        let held = held
        for name in names where values[name] != nil {
            guard held.contains(name) else {
                values[name] = nil
                continue
            }
            var flags = AttributeFlags()
            if case .attribute(let known, _) = values[name]?.content { flags = known }
            if case .forgotten(let known) = values[name]?.content { flags = known }
            values[name] = HeldValue(.forgotten(flags))
        }
    }

    /// The place of a sibling.
    func place(of sibling: Sibling) -> Place? {
        sibling.fields[.place].flatMap { values[ValueName(.place, $0)]?.place }
    }
}

extension ItemState: Equatable {
    /// Compares the data that matters to a merge, which does not include the storage location of values.
    package static func == (left: ItemState, right: ItemState) -> Bool {
        left.siblings == right.siblings && left.open == right.open
    }
}
