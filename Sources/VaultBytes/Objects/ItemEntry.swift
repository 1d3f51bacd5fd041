/// An item's value in a leaf, without its attributes (section 6.3).
package struct ItemEntry: Equatable, Sendable {
    /// The item's record; its offset, length and hash are zero if the item has neither a secret nor attributes in its
    /// record.
    package var record: ObjectRef
    package var id: Bytes16
    /// The dot of the item's greatest sibling, and of every field that is not in `further`.
    package var dot: StoredDot
    package var recordRevision: UInt64
    package var compartment: UInt64
    package var created: Int64
    package var modified: Int64
    /// True if the item has open values that the entry does not show.
    package var hasConflicts: Bool
    /// True if the item shows no secret; the field of the secret then has no dot.
    package var lacksSecret: Bool
    /// The frame with the item's values that the entry does not show, such as earlier ones.
    package var past: ObjectRef?
    /// The dots that differ from the entry's own dot, each with its fields; empty for an item that has never changed.
    package var further: [FieldDots]

    package init(
        record: ObjectRef, id: Bytes16, dot: StoredDot, recordRevision: UInt64, compartment: UInt64, created: Int64,
        modified: Int64, hasConflicts: Bool = false, lacksSecret: Bool = false, past: ObjectRef? = nil,
        further: [FieldDots] = []
    ) {
        self.record = record
        self.id = id
        self.dot = dot
        self.recordRevision = recordRevision
        self.compartment = compartment
        self.created = created
        self.modified = modified
        self.hasConflicts = hasConflicts
        self.lacksSecret = lacksSecret
        self.past = past
        self.further = further
    }

    /// The item's own record.
    package var own: RecordRef {
        get { RecordRef(record: record, revision: recordRevision, compartment: compartment) }
        set { (record, recordRevision, compartment) = (newValue.record, newValue.revision, newValue.compartment) }
    }

    private static let furtherFlag: UInt8 = 0x01
    private static let conflictFlag: UInt8 = 0x02
    private static let pastFlag: UInt8 = 0x04
    private static let noSecretFlag: UInt8 = 0x08

    /// Reads an entry up to its attributes; `finish` reads the part after them. References are checked when they are
    /// followed.
    package init(_ bytes: Span<UInt8>, _ cursor: inout Cursor) throws(FormatError) {
        record = try ObjectRef(bytes, &cursor)
        id = try cursor.bytes16(bytes)
        dot = try StoredDot(bytes, &cursor)
        recordRevision = try cursor.u64(bytes)
        compartment = try cursor.u64(bytes)
        let sinceLeast = try cursor.zigzag(bytes)
        modified = try cursor.time(try cursor.zigzag(bytes), after: dot)
        let flags = try cursor.u8(bytes)
        guard flags <= 0x0F else { throw cursor.error("an item has unknown flags") }
        hasConflicts = flags & Self.conflictFlag != 0
        lacksSecret = flags & Self.noSecretFlag != 0
        past = flags & Self.pastFlag != 0 ? try ObjectRef(bytes, &cursor) : nil
        guard past != nil || !hasConflicts else { throw cursor.error("an item without a past has conflicts") }
        guard record.isZero ? lacksSecret && recordRevision == 0 : recordRevision > 0 else {
            throw cursor.error("an item lacks a record, or a record's revision is out of range")
        }
        // The creation time is stored relative to the least dot, which may be one of the dots read later.
        let hasFurther = flags & Self.furtherFlag != 0
        created = hasFurther ? sinceLeast : try cursor.time(sinceLeast, after: dot)
        further = hasFurther ? FieldDots.toBeRead : []
    }

    /// True if the item has a record.
    package var hasRecord: Bool { !record.isZero }

    /// Reads the part after the attributes, and checks that no bytes follow this part.
    @inline(__always)
    package mutating func finish(
        _ bytes: Span<UInt8>, _ cursor: inout Cursor, attributes: Int
    ) throws(FormatError) {
        if !further.isEmpty {
            further = try FieldDots.list(bytes, &cursor, dot, attributes: attributes)
            created = try cursor.time(created, after: least)
            guard !lacksSecret || !further.contains(where: { $0.fields.contains(FieldSet.secret) }) else {
                throw cursor.error("an item without a secret has a dot for it")
            }
        }
        try cursor.finish()
    }

    /// The least dot in the entry.
    package var least: StoredDot { further.last.map { StoredDot($0.revision(dot), $0.position) } ?? dot }

    /// Appends the part before the attributes.
    package func encode(into out: inout [UInt8]) {
        record.encode(into: &out)
        out.append(id)
        dot.encode(into: &out)
        out.append(u64: recordRevision)
        out.append(u64: compartment)
        out.append(zigzag: created - least.time)
        out.append(zigzag: modified - dot.time)
        out.append(
            (further.isEmpty ? 0 : Self.furtherFlag) | (hasConflicts ? Self.conflictFlag : 0)
                | (past == nil ? 0 : Self.pastFlag) | (lacksSecret ? Self.noSecretFlag : 0))
        past?.encode(into: &out)
    }

    /// Appends the part after the attributes.
    package func encodeEnd(into out: inout [UInt8], attributes: Int) {
        if !further.isEmpty { FieldDots.encode(further, into: &out, attributes: attributes) }
    }

    // MARK: fields

    /// Returns the dot of the shown value of a field.
    package func dot(of field: Int) -> StoredDot {
        for dots in further where dots.fields.contains(field) { return StoredDot(dots.revision(dot), dots.position) }
        return dot
    }
}

/// A dot, and the fields of an item that have this dot.
package struct FieldDots: Hashable, Sendable {
    /// The difference between the entry's revision and this dot's revision.
    package let difference: UInt64
    package let position: Int
    package let fields: FieldSet

    package init(difference: UInt64, position: Int, fields: FieldSet) {
        self.difference = difference
        self.position = position
        self.fields = fields
    }

    /// Returns the revision of this dot; decoding has checked that the revision is positive.
    package func revision(_ entry: StoredDot) -> UInt64 { entry.revision - min(difference, entry.revision) }

    /// A placeholder for dots that the entry's flags announce and that have not been read yet.
    fileprivate static let toBeRead = [FieldDots(difference: 0, position: 0, fields: FieldSet())]

    fileprivate static func list(
        _ bytes: Span<UInt8>, _ cursor: inout Cursor, _ entry: StoredDot, attributes: Int
    ) throws(FormatError) -> [FieldDots] {
        let count = Int(try cursor.u8(bytes))
        guard (1...Format.Limit.fieldDots).contains(count) else { throw cursor.error("an item has \(count) more dots") }
        var all: [FieldDots] = []
        all.reserveCapacity(count)
        var taken = FieldSet()
        var last = (difference: UInt64(0), position: -1)
        for _ in 0..<count {
            let difference = try cursor.varint(bytes)
            let position = try cursor.count(bytes, most: Format.Limit.rows, "a replica's position")
            guard difference < entry.revision else { throw cursor.error("a field's revision is out of range") }
            guard (difference, position) > last, difference > 0 || position != entry.position else {
                throw cursor.error("an item's dots are out of order")
            }
            last = (difference, position)
            let fields = try FieldSet(bytes, &cursor, count: FieldSet.firstAttribute + attributes)
            guard !fields.isEmpty, fields.isDisjoint(with: taken) else {
                throw cursor.error("a field has two dots, or a dot has no field")
            }
            taken.formUnion(fields)
            all.append(FieldDots(difference: difference, position: position, fields: fields))
        }
        return all
    }

    fileprivate static func encode(_ all: [FieldDots], into out: inout [UInt8], attributes: Int) {
        out.append(UInt8(all.count))
        for one in all {
            out.append(varint: one.difference)
            out.append(varint: UInt64(one.position))
            one.fields.encode(into: &out, count: FieldSet.firstAttribute + attributes)
        }
    }

    /// Returns whether an entry lists this dot before the other.
    package static func precedes(_ left: FieldDots, _ right: FieldDots) -> Bool {
        (left.difference, left.position) < (right.difference, right.position)
    }
}

/// A set of an item's fields. They are ordered: the key, the place, the secret, then the attributes as in the entry.
package struct FieldSet: Hashable, Sendable {
    package static let key = 0
    package static let place = 1
    package static let secret = 2
    package static let firstAttribute = 3

    private var low: UInt64 = 0
    private var high: UInt8 = 0

    package init() {}

    package init(_ fields: some Sequence<Int>) { for field in fields { insert(field) } }

    package var isEmpty: Bool { low == 0 && high == 0 }

    package func contains(_ field: Int) -> Bool {
        field < 64 ? low & 1 << UInt64(field) != 0 : high & 1 << UInt8(field - 64) != 0
    }

    package mutating func insert(_ field: Int) {
        if field < 64 { low |= 1 << UInt64(field) } else { high |= 1 << UInt8(field - 64) }
    }

    package func isDisjoint(with other: FieldSet) -> Bool { low & other.low == 0 && high & other.high == 0 }

    package mutating func formUnion(_ other: FieldSet) {
        low |= other.low
        high |= other.high
    }

    /// Reads a bitmap of `count` fields, at most 67, padded to bytes.
    fileprivate init(_ bytes: Span<UInt8>, _ cursor: inout Cursor, count: Int) throws(FormatError) {
        let range = try cursor.slice((count + 7) / 8, "a bitmap of fields")
        for (index, at) in range.enumerated() {
            if index < 8 { low |= UInt64(bytes[at]) << UInt64(8 * index) } else { high = bytes[at] }
        }
        let isPossible = count < 64 ? high == 0 && low >> UInt64(count) == 0 : high >> UInt8(count - 64) == 0
        guard isPossible else { throw cursor.error("a bitmap names a field that the item lacks") }
    }

    fileprivate func encode(into out: inout [UInt8], count: Int) {
        for index in 0..<(count + 7) / 8 {
            out.append(index < 8 ? UInt8(truncatingIfNeeded: low >> UInt64(8 * index)) : high)
        }
    }
}

extension Cursor {
    /// Returns a time, given its difference from a dot's time. Neither number has more than 62 bits.
    @inline(__always)
    func time(_ difference: Int64, after dot: StoredDot) throws(FormatError) -> Int64 {
        let time = difference + dot.time
        guard time >= -(1 << 61), time < 1 << 61 else { throw error("a time is out of range") }
        return time
    }
}
