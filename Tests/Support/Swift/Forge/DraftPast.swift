package import VaultBytes

/// A hand-over of a draft.
package struct DraftHandOver {
    package var publicKey: Bytes32
    package var next: Bytes32
    package var vector: Vector
    package var signature: [UInt8]
    /// Where its vector is; nil if it is to be written.
    package var stored: ObjectRef?

    package init(publicKey: Bytes32, next: Bytes32, vector: Vector, signature: [UInt8]) {
        self.publicKey = publicKey
        self.next = next
        self.vector = vector
        self.signature = signature
    }

    var listed: HandOver? {
        stored.map {
            HandOver(publicKey: publicKey, next: next, vector: $0, floor: vector.floor, signature: signature)
        }
    }
}

/// The vector that the last commit refers to.
struct DraftVector {
    var ref: ObjectRef
    var base: (ref: ObjectRef, rows: [Vector.Row])?
    /// What the frame has.
    var vector: Vector
}

/// The name of a value of an item.
package struct DraftName: Hashable, Sendable {
    package var kind: FieldKind
    /// The name of an attribute.
    package var name: String
    package var dot: StoredDot

    package init(_ kind: FieldKind, _ dot: StoredDot, name: String = "") {
        self.kind = kind
        self.name = name
        self.dot = dot
    }

    init(_ value: Past.Value) {
        self.init(value.kind, value.dot, name: String(decoding: value.name, as: UTF8.self))
    }
}

/// The item as one change left it.
package struct DraftSibling {
    package var dot: StoredDot
    package var created: Int64
    package var modified: Int64
    package var fields: [DraftName]
    package var earlier: [DraftName]

    package init(dot: StoredDot, created: Int64, modified: Int64, fields: [DraftName], earlier: [DraftName] = []) {
        self.dot = dot
        self.created = created
        self.modified = modified
        self.fields = fields
        self.earlier = earlier
    }
}

/// What an item's past says of its siblings.
package struct DraftListing {
    /// None if the item has one, whose fields are those of the entry, and all of them are open.
    package var siblings: [DraftSibling] = []
    /// Of what is shown, the values that are not open; of what is not shown, those that are.
    package var turned: Set<DraftName> = []
    /// Values that are in no record: keys, places, attributes in the frame, and forgotten ones.
    package var values: [Past.Value] = []

    package init() {}

    package var isEmpty: Bool { siblings.isEmpty && turned.isEmpty && values.isEmpty }
}

extension DraftItem {
    /// What the item has and does not show. Nil if there is nothing.
    func past() throws -> Past? {
        guard !versions.isEmpty || !listing.isEmpty else { return nil }
        var values = try versions.flatMap { try kept($0) } + listing.values
        if !listing.siblings.isEmpty { values += shown }
        values.sort(by: Past.Value.precedes)
        for index in values.indices {
            var flags = values[index].flags.subtracting([.open, .earlier])
            let isTurned = listing.turned.contains(DraftName(values[index]))
            if flags.contains(.shown) != isTurned { flags.insert(.open) }
            if listing.siblings.isEmpty, !flags.contains(.open) { flags.insert(.earlier) }
            if flags.contains(.open) { values[index].replaced = 0 }
            values[index].flags = flags
        }
        let places = Dictionary(
            values.enumerated().map { (DraftName($1), $0) }, uniquingKeysWith: { first, _ in first })
        func indices(_ names: [DraftName]) throws -> [Int] {
            try names.map { name in
                guard let place = places[name] else { throw ForgeError("a sibling's value is not there: \(name)") }
                return place
            }.sorted()
        }
        let siblings = try listing.siblings.map { one in
            Past.Sibling(
                dot: one.dot, created: one.created, modified: one.modified, fields: try indices(one.fields),
                earlier: try indices(one.earlier))
        }
        return Past(
            item: id, values: values, siblings: siblings.sorted { StoredDot.precedes($0.dot, $1.dot) })
    }

    /// The fields of the entry, by name.
    package var fields: [DraftName] {
        var all = [DraftName(.key, value.keyDot), DraftName(.place, value.placeDot)]
        if value.hasSecret { all.append(DraftName(.secret, value.secretDot)) }
        return all + value.attributes.map { DraftName(.attribute, $0.dot ?? value.dot, name: $0.name) }
    }

    /// The earlier secrets and sealed attributes, by name.
    package var earlier: [DraftName] {
        versions.flatMap { version in
            let secret = version.hasSecret ? [DraftName(.secret, version.secretDot)] : []
            let sealed = version.attributes.filter { $0.flags & 1 != 0 }
            return secret + sealed.map { DraftName(.attribute, $0.dot ?? version.dot, name: $0.name) }
        }
    }

    private var shown: [Past.Value] {
        fields.map { field in
            let flags = value.attributes.first { $0.name == field.name }?.flags ?? 0
            return Past.Value(
                kind: field.kind, name: Array(field.name.utf8), attribute: AttributeFlags(rawValue: flags),
                dot: field.dot, flags: .shown)
        }
    }

    private func kept(_ version: DraftValue) throws -> [Past.Value] {
        var values: [Past.Value] = []
        if version.hasSecret {
            guard let own = version.own else { throw ForgeError("a secret that is not shown has no record") }
            let attributes = try version.attributes.filter { $0.flags & 1 == 0 }.map { try $0.inPage(live: value) }
            values.append(
                Past.Value(
                    kind: .secret, dot: version.secretDot, flags: [], replaced: version.replaced,
                    content: .secret(own, attributes)))
        }
        for attribute in version.attributes where attribute.flags & 1 != 0 {
            guard let own = try attribute.inPage(live: value).record ?? version.own else {
                throw ForgeError("an attribute that is not shown has no record")
            }
            values.append(
                Past.Value(
                    kind: .attribute, name: Array(attribute.name.utf8),
                    attribute: AttributeFlags(rawValue: attribute.flags), dot: attribute.dot ?? version.dot, flags: [],
                    replaced: version.replaced, content: .attributeInRecord(own)))
        }
        return values
    }
}

// MARK: dots

extension SlotDots {
    /// Changes each of its dots.
    mutating func mapDots(_ change: (inout StoredDot) -> Void) {
        change(&made)
        change(&changed)
        grants = grants.map { grant in
            var dot = grant.dot
            change(&dot)
            return Grant(group: grant.group, dot: dot)
        }
    }
}

extension DraftItem {
    /// Changes each of its dots.
    mutating func mapDots(_ change: (inout StoredDot) -> Void) {
        for place in places { self[place].mapDots(change) }
        listing.mapDots(change)
    }
}

extension DraftValue {
    fileprivate mutating func mapDots(_ change: (inout StoredDot) -> Void) {
        for path in [\DraftValue.dot, \.keyDot, \.placeDot, \.secretDot] { change(&self[keyPath: path]) }
        for index in attributes.indices {
            var dot = attributes[index].dot ?? self.dot
            change(&dot)
            attributes[index].dot = dot
        }
    }
}

extension DraftListing {
    fileprivate mutating func mapDots(_ change: (inout StoredDot) -> Void) {
        func changed(_ names: [DraftName]) -> [DraftName] {
            names.map { name in
                var name = name
                change(&name.dot)
                return name
            }
        }
        for index in siblings.indices {
            change(&siblings[index].dot)
            siblings[index].fields = changed(siblings[index].fields)
            siblings[index].earlier = changed(siblings[index].earlier)
        }
        turned = Set(changed(Array(turned)))
        for index in values.indices { change(&values[index].dot) }
    }
}
