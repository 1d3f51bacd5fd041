/// The part of an item that is not shown: its other values, and the siblings that concurrent changes created (section
/// 5.3).
package struct Past: Equatable, Sendable {
    /// The properties of a value.
    package struct Flags: OptionSet, Hashable, Sendable {
        package let rawValue: UInt8

        package init(rawValue: UInt8) { self.rawValue = rawValue }

        /// No later change has replaced the value.
        package static let open = Flags(rawValue: 0x01)
        /// The value is an earlier value of the item's only sibling; used only if siblings are not listed.
        package static let earlier = Flags(rawValue: 0x02)
        /// The value is stored in the item's entry.
        package static let shown = Flags(rawValue: 0x04)
        /// The value was forgotten and is not stored anywhere.
        package static let forgotten = Flags(rawValue: 0x08)
    }

    /// An item's access group, accessibility and device, which together form one field.
    package struct Place: Equatable, Sendable {
        /// The name of the group, in UTF-8.
        package var group: [UInt8]
        package var accessibility: UInt8
        /// The device; zero unless the accessibility is limited to a single device.
        package var device: Bytes16

        package init(group: [UInt8], accessibility: UInt8, device: Bytes16) {
            self.group = group
            self.accessibility = accessibility
            self.device = device
        }
    }

    /// The bytes of a value, or the record that contains them.
    package enum Content: Equatable, Sendable {
        /// The value is stored in the item's entry, or was forgotten.
        case absent
        /// The record that contains the secret, and the unsealed attributes that the item had at that time.
        case secret(RecordRef, [PageAttribute])
        /// An attribute value that may be stored in a page.
        case attribute([UInt8])
        /// The record that contains an attribute; it has form 0 (flag 10) or form 1 (flag 20).
        case attributeInRecord(RecordRef)
        /// An item key whose group is empty.
        case key([UInt8])
        case place(Place)
    }

    /// A value of one field.
    package struct Value: Equatable, Sendable {
        package var kind: FieldKind
        /// The name of the attribute in UTF-8; empty for other kinds.
        package var name: [UInt8]
        /// The flags of the attribute; empty for other kinds.
        package var attribute: AttributeFlags
        package var dot: StoredDot
        package var flags: Flags
        /// The time at which the value was replaced; 0 if the value is open or the time is unknown.
        package var replaced: Int64
        package var content: Content

        package init(
            kind: FieldKind, name: [UInt8] = [], attribute: AttributeFlags = [], dot: StoredDot, flags: Flags,
            replaced: Int64 = 0, content: Content = .absent
        ) {
            self.kind = kind
            self.name = name
            self.attribute = attribute
            self.dot = dot
            self.flags = flags
            self.replaced = replaced
            self.content = content
        }

        /// True if the value is a secret or a sealed attribute.
        package var isProtected: Bool { kind == .secret || attribute.contains(.sealed) }

        /// The records that the value refers to.
        package var records: [RecordRef] { itemRecords + largeRecords }

        /// The item's record that contains the value, if there is one.
        package var itemRecords: [RecordRef] {
            switch content {
            case .secret(let own, _): [own]
            case .attributeInRecord(let record): attribute.contains(.inOwnRecord) ? [] : [record]
            case .absent, .attribute, .key, .place: []
            }
        }

        /// The attribute records that contain the value.
        package var largeRecords: [RecordRef] {
            switch content {
            case .secret(_, let attributes): attributes.compactMap(\.record)
            case .attributeInRecord(let record): attribute.contains(.inOwnRecord) ? [record] : []
            case .absent, .attribute, .key, .place: []
            }
        }

        /// Returns whether a past lists this value before the other.
        package static func precedes(_ left: Value, _ right: Value) -> Bool {
            if left.kind != right.kind { return left.kind.rawValue < right.kind.rawValue }
            let order = compareNames(left, right)
            return order == 0 ? StoredDot.precedes(left.dot, right.dot) : order < 0
        }

        /// Returns whether both are values of the same field.
        package func isOfSameField(as other: Value) -> Bool { kind == other.kind && name == other.name }

        private static func compareNames(_ left: Value, _ right: Value) -> Int {
            ByteOrder.compare(left.name.span, 0..<left.name.count, right.name.span, 0..<right.name.count)
        }
    }

    /// The version of an item that one change produced.
    package struct Sibling: Equatable, Sendable {
        /// The change.
        package var dot: StoredDot
        package var created: Int64
        package var modified: Int64
        /// The indices of its fields' values, in ascending order.
        package var fields: [Int]
        /// The indices of its earlier values, in ascending order.
        package var earlier: [Int]

        package init(dot: StoredDot, created: Int64, modified: Int64, fields: [Int], earlier: [Int]) {
            self.dot = dot
            self.created = created
            self.modified = modified
            self.fields = fields
            self.earlier = earlier
        }
    }

    package var item: Bytes16
    /// The values, in strictly ascending order of kind, name and dot.
    package var values: [Value]
    /// The siblings, in strictly ascending order of dot; empty if the only sibling has exactly the entry's fields and
    /// all of them are open.
    package var siblings: [Sibling]

    package init(item: Bytes16, values: [Value], siblings: [Sibling] = []) {
        self.item = item
        self.values = values
        self.siblings = siblings
    }

    /// Reads a body, and performs the checks that need only the body. `check` compares the past with
    /// the item's entry.
    package init(_ bytes: Span<UInt8>, at offset: UInt64) throws(FormatError) {
        var cursor = Cursor(bytes, at: offset, else: .structureInvalid)
        item = try cursor.bytes16(bytes)
        var dots = try PastDots(bytes, &cursor)
        values = try Past.values(bytes, &cursor, &dots)
        siblings = try Past.siblings(bytes, &cursor, &dots, values: values.count)
        guard dots.areAllUsed else { throw cursor.error("an item's past lists an unused dot") }
        try checkFlags(cursor)
        try checkSiblings(cursor)
        try cursor.finishSteppedBody(bytes, "an item's past")
    }

    /// All dots in the past.
    package var dots: [StoredDot] { values.map(\.dot) + siblings.map(\.dot) }

    /// Encodes the body with padding.
    package func encode() throws(FormatError) -> [UInt8] {
        guard values.count <= Format.Limit.pastValues, siblings.count <= Format.Limit.siblings else {
            throw FormatError(
                .limitExceeded, "an item has \(values.count) values and \(siblings.count) siblings to keep", at: 0)
        }
        var out = encodeWithoutPadding()
        let frame = Padding.steppedFrame(out.count)
        guard frame <= Format.Limit.pastFrame else {
            throw FormatError(.limitExceeded, "an item's past needs a frame of \(frame) bytes", at: 0)
        }
        out.padSteppedBody()
        return out
    }

    /// The length of the body without padding.
    package var unpaddedSize: Int { encodeWithoutPadding().count }

    private func encodeWithoutPadding() -> [UInt8] {
        let dots = PastDots(self.dots)
        var out: [UInt8] = []
        out.append(item)
        dots.encode(into: &out)
        out.append(varint: UInt64(values.count))
        for value in values { value.encode(into: &out, dots) }
        out.append(varint: UInt64(siblings.count))
        for sibling in siblings { sibling.encode(into: &out, dots, values: values.count) }
        return out
    }
}

/// The dots of a past, to which its values and siblings refer by index.
struct PastDots {
    private let all: [StoredDot]
    private var isUsed: [Bool] = []
    private var indices: [StoredDot: Int] = [:]

    private static let dotSize = 8 + 1

    init(_ bytes: Span<UInt8>, _ cursor: inout Cursor) throws(FormatError) {
        let most = min(Format.Limit.pastDots, cursor.remaining / PastDots.dotSize)
        let count = try cursor.count(bytes, most: most, "dots of an item's past")
        var all: [StoredDot] = []
        all.reserveCapacity(count)
        for _ in 0..<count {
            let dot = try StoredDot(bytes, &cursor)
            if let last = all.last, !StoredDot.precedes(last, dot) {
                throw cursor.error("the dots of an item's past are out of order")
            }
            all.append(dot)
        }
        self.all = all
        isUsed = Array(repeating: false, count: count)
    }

    init(_ dots: [StoredDot]) {
        all = Set(dots).sorted(by: StoredDot.precedes)
        for (index, dot) in all.enumerated() { indices[dot] = index }
    }

    var areAllUsed: Bool { isUsed.allSatisfy { $0 } }

    /// Reads a dot by its index.
    mutating func dot(_ bytes: Span<UInt8>, _ cursor: inout Cursor) throws(FormatError) -> StoredDot {
        let index = try cursor.count(bytes, most: Format.Limit.pastDots, "a dot's index")
        guard index < all.count else { throw cursor.error("an item's past lacks a dot that it refers to") }
        isUsed[index] = true
        return all[index]
    }

    func encode(into out: inout [UInt8]) {
        out.append(varint: UInt64(all.count))
        for dot in all { dot.encode(into: &out) }
    }

    /// Returns the index of a dot of the past.
    func index(_ dot: StoredDot) -> UInt64 { UInt64(indices[dot] ?? all.count) }
}

extension Past {
    private static func values(
        _ bytes: Span<UInt8>, _ cursor: inout Cursor, _ dots: inout PastDots
    ) throws(FormatError) -> [Value] {
        let count = try cursor.count(bytes, most: Format.Limit.pastValues, "values of an item's past")
        guard count > 0 else { throw cursor.error("an item's past has no values") }
        var all: [Value] = []
        for _ in 0..<count {
            let value = try Value(bytes, &cursor, &dots)
            if let last = all.last, !Value.precedes(last, value) {
                throw cursor.error("the values of an item's past are out of order")
            }
            all.append(value)
        }
        return all
    }

    private static func siblings(
        _ bytes: Span<UInt8>, _ cursor: inout Cursor, _ dots: inout PastDots, values: Int
    ) throws(FormatError) -> [Sibling] {
        var all: [Sibling] = []
        for _ in 0..<(try cursor.count(bytes, most: Format.Limit.siblings, "siblings")) {
            let sibling = try Sibling(bytes, &cursor, &dots, values: values)
            if let last = all.last, !StoredDot.precedes(last.dot, sibling.dot) {
                throw cursor.error("siblings are out of order")
            }
            all.append(sibling)
        }
        return all
    }
}
