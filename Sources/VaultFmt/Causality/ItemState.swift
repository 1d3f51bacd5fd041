package import VaultBytes

/// An item as one change left it, named by the change's dot and never altered (specification, section 8.1).
package struct Sibling: Hashable, Sendable {
    /// The dot of the value of each field that it has: always a key and a place.
    package var fields: [FieldName: Dot]
    package var earlier: Set<ValueName>
    /// When the item was created and last changed, in milliseconds since 1970.
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

/// Everything that a state of a vault holds of one item: nearly always one sibling, all of whose values are open.
package struct ItemState: Sendable {
    /// The siblings, by the dots of the changes that made them; at least one.
    package var siblings: [Dot: Sibling]
    /// The values that nobody who saw them has replaced.
    package var open: Set<ValueName>
    /// The values of all names that the item holds; forgotten ones without their bytes.
    package var values: [ValueName: HeldValue]

    package init(siblings: [Dot: Sibling], open: Set<ValueName>, values: [ValueName: HeldValue]) {
        self.siblings = siblings
        self.open = open
        self.values = values
    }

    /// The item as a single change leaves it, all of whose values are open.
    package init(_ dot: Dot, _ sibling: Sibling, _ values: [ValueName: HeldValue]) {
        siblings = [dot: sibling]
        open = Set(sibling.fields.map { ValueName($0, $1) })
        self.values = values
    }

    /// When the item was created: what the oldest sibling says.
    package var created: Int64 { siblings.values.map(\.created).min() ?? 0 }

    /// When the item was last changed: what the newest sibling says.
    package var modified: Int64 { siblings.values.map(\.modified).max() ?? 0 }

    /// The dot of the newest change.
    package var newest: Dot { siblings.keys.max() ?? Dot(revision: 0, replica: 0) }

    /// The names of all values that the item holds, forgotten ones included.
    package var held: Set<ValueName> {
        var all = open
        for sibling in siblings.values {
            for (field, dot) in sibling.fields { all.insert(ValueName(field, dot)) }
            all.formUnion(sibling.earlier)
        }
        return all
    }

    /// The values that are forgotten and still named by a sibling, or open.
    package var forgotten: Set<ValueName> { Set(values.filter(\.value.isForgotten).keys) }

    /// Forgets values, here or in another copy of the vault. A sibling keeps the dots of its fields.
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
    /// Compares what merging compares; where a value is stored does not count.
    package static func == (left: ItemState, right: ItemState) -> Bool {
        left.siblings == right.siblings && left.open == right.open
    }
}
