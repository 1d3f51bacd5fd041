/// What an item keeps besides what it shows: values, and the siblings that changes left it in (section 5.3).
package struct Past: Equatable, Sendable {
    /// The properties of a value.
    package struct Flags: OptionSet, Hashable, Sendable {
        package let rawValue: UInt8

        package init(rawValue: UInt8) { self.rawValue = rawValue }

        /// Nobody who saw the value has replaced it.
        package static let open = Flags(rawValue: 1)
        /// The value is kept as an earlier one.
        package static let earlier = Flags(rawValue: 2)
        /// The value is the one in the item's entry.
        package static let shown = Flags(rawValue: 4)
    }

    /// The access group, the accessibility and the device of an item: one field.
    package struct Place: Hashable, Sendable {
        package var group: UInt64
        package var accessibility: UInt8
        /// The device; zero unless the accessibility is one of those of one device.
        package var device: Bytes16

        package init(group: UInt64, accessibility: UInt8, device: Bytes16) {
            self.group = group
            self.accessibility = accessibility
            self.device = device
        }
    }

    /// The bytes of a value, or the record that has them.
    package enum Content: Equatable, Sendable {
        /// The item's entry has the value.
        case shown
        /// The record that has the secret, and the plain attributes of its time.
        case secret(RecordRef, [PageAttribute])
        /// The flags and the value of a short plain attribute.
        case attribute(AttributeFlags, [UInt8])
        /// The flags of another attribute, and the record that has it: of form 0 (flag 10) or of form 1 (flag 20).
        case attributeInRecord(AttributeFlags, RecordRef)
        /// An item key, without an item id.
        case key([UInt8])
        case place(Place)
    }

    /// A value of one field.
    package struct Value: Equatable, Sendable {
        package var kind: FieldKind
        /// The name of the attribute in UTF-8; empty for other kinds.
        package var name: [UInt8]
        package var dot: StoredDot
        package var flags: Flags
        /// The time at which it was first replaced; 0 if it was not.
        package var replaced: Int64
        package var content: Content

        package init(
            kind: FieldKind, name: [UInt8] = [], dot: StoredDot, flags: Flags, replaced: Int64 = 0, content: Content
        ) {
            self.kind = kind
            self.name = name
            self.dot = dot
            self.flags = flags
            self.replaced = replaced
            self.content = content
        }

        /// The records that the value refers to.
        package var records: [RecordRef] {
            switch content {
            case .secret(let own, let attributes): [own] + attributes.compactMap(\.record)
            case .attributeInRecord(_, let record): [record]
            case .shown, .attribute, .key, .place: []
            }
        }

        /// Returns whether a frame lists this value before the other.
        package static func precedes(_ left: Value, _ right: Value) -> Bool {
            if left.kind != right.kind { return left.kind.rawValue < right.kind.rawValue }
            let order = ByteOrder.compare(left.name.span, 0..<left.name.count, right.name.span, 0..<right.name.count)
            return order == 0 ? StoredDot.precedes(left.dot, right.dot) : order < 0
        }
    }

    /// The item as one change left it.
    package struct Sibling: Equatable, Sendable {
        /// The change.
        package var dot: StoredDot
        package var key: StoredDot?
        package var place: StoredDot?
        package var secret: StoredDot?
        /// The dots of the attributes in `names`; nil where the sibling lacks the attribute.
        package var attributes: [StoredDot?]
        /// The indices of its earlier values, in ascending order.
        package var earlier: [Int]

        package init(
            dot: StoredDot, key: StoredDot?, place: StoredDot?, secret: StoredDot?, attributes: [StoredDot?],
            earlier: [Int]
        ) {
            self.dot = dot
            self.key = key
            self.place = place
            self.secret = secret
            self.attributes = attributes
            self.earlier = earlier
        }

        fileprivate var fields: [StoredDot?] { [key, place, secret] + attributes }
    }

    package var item: Bytes16
    /// The values, in strictly ascending order of kind, name and dot.
    package var values: [Value]
    /// The names of the siblings' attributes in UTF-8, in ascending order; empty if `siblings` is.
    package var names: [[UInt8]]
    /// The siblings, in strictly ascending order of dot; empty if there is one, and all that it shows is open.
    package var siblings: [Sibling]

    package init(item: Bytes16, values: [Value], names: [[UInt8]] = [], siblings: [Sibling] = []) {
        self.item = item
        self.values = values
        self.names = names
        self.siblings = siblings
    }

    /// Reads a body. The entry and the vector show whether it belongs to the item.
    package init(_ bytes: Span<UInt8>, at offset: UInt64) throws(FormatError) {
        var cursor = Cursor(bytes, at: offset, else: .structureInvalid)
        item = try cursor.bytes16(bytes)
        var dots = try PastDots(bytes, &cursor)
        values = try Past.values(bytes, &cursor, &dots)
        (names, siblings) = try Past.siblings(bytes, &cursor, &dots, values: values.count)
        guard !siblings.isEmpty || !values.isEmpty else { throw cursor.error("a past frame is empty") }
        guard !siblings.isEmpty || !values.contains(where: { $0.flags.contains(.shown) }) else {
            throw cursor.error("a past frame without siblings lists a value that the item shows")
        }
        guard dots.areAllUsed else { throw cursor.error("a past frame lists a dot that nothing has") }
        try cursor.finishSteppedBody(bytes, "a past frame")
    }

    /// Encodes the body with padding.
    package func encode() throws(FormatError) -> [UInt8] {
        guard values.count <= Format.Limit.pastValues, siblings.count <= Format.Limit.siblings else {
            throw FormatError(.limitExceeded, "an item has \(values.count) values to keep", at: 0)
        }
        let dots = PastDots(values.map(\.dot) + siblings.flatMap { [$0.dot] + $0.fields.compactMap { $0 } })
        var out: [UInt8] = []
        out.append(item)
        dots.encode(into: &out)
        out.append(varint: UInt64(values.count))
        for value in values { value.encode(into: &out, dots) }
        encodeSiblings(into: &out, dots)
        let frame = Padding.steppedFrame(out.count)
        guard frame <= Format.Limit.pastFrame else {
            throw FormatError(.limitExceeded, "what an item keeps needs a frame of \(frame) bytes", at: 0)
        }
        out.padSteppedBody()
        return out
    }
}

/// The dots of a past frame, to which its values and siblings refer by position.
private struct PastDots {
    let all: [StoredDot]
    private var isUsed: [Bool] = []
    private var positions: [StoredDot: Int] = [:]

    private static let dotSize = 8 + 1

    init(_ bytes: Span<UInt8>, _ cursor: inout Cursor) throws(FormatError) {
        let most = min(Format.Limit.pastDots, cursor.remaining / PastDots.dotSize)
        let count = try cursor.count(bytes, most: most, "dots of a past frame")
        var all: [StoredDot] = []
        all.reserveCapacity(count)
        for _ in 0..<count {
            let dot = try StoredDot(bytes, &cursor)
            if let last = all.last, !StoredDot.precedes(last, dot) {
                throw cursor.error("the dots of a past frame are out of order")
            }
            all.append(dot)
        }
        self.all = all
        isUsed = Array(repeating: false, count: count)
    }

    init(_ dots: [StoredDot]) {
        all = Set(dots).sorted(by: StoredDot.precedes)
        for (index, dot) in all.enumerated() { positions[dot] = index }
    }

    var areAllUsed: Bool { isUsed.allSatisfy { $0 } }

    /// Reads a dot by its position.
    mutating func dot(_ bytes: Span<UInt8>, _ cursor: inout Cursor) throws(FormatError) -> StoredDot {
        try dot(try cursor.count(bytes, most: Format.Limit.pastDots, "a dot's position"), cursor)
    }

    /// Reads the dot of a field of a sibling, or nil if the sibling lacks the field.
    mutating func field(_ bytes: Span<UInt8>, _ cursor: inout Cursor) throws(FormatError) -> StoredDot? {
        let number = try cursor.count(bytes, most: Format.Limit.pastDots, "a dot's position")
        return number == 0 ? nil : try dot(number - 1, cursor)
    }

    private mutating func dot(_ index: Int, _ cursor: Cursor) throws(FormatError) -> StoredDot {
        guard index < all.count else { throw cursor.error("a past frame lacks a dot that it refers to") }
        isUsed[index] = true
        return all[index]
    }

    func encode(into out: inout [UInt8]) {
        out.append(varint: UInt64(all.count))
        for dot in all { dot.encode(into: &out) }
    }

    func position(_ dot: StoredDot) -> UInt64 { UInt64(positions[dot] ?? all.count) }
}

extension Past {
    fileprivate static func values(
        _ bytes: Span<UInt8>, _ cursor: inout Cursor, _ dots: inout PastDots
    ) throws(FormatError) -> [Value] {
        let count = try cursor.count(bytes, most: Format.Limit.pastValues, "values of a past frame")
        var all: [Value] = []
        for _ in 0..<count {
            let value = try Value(bytes, &cursor, &dots)
            if let last = all.last, !Value.precedes(last, value) {
                throw cursor.error("the values of a past frame are out of order")
            }
            all.append(value)
        }
        return all
    }

    fileprivate static func siblings(
        _ bytes: Span<UInt8>, _ cursor: inout Cursor, _ dots: inout PastDots, values: Int
    ) throws(FormatError) -> ([[UInt8]], [Sibling]) {
        let count = try cursor.count(bytes, most: Format.Limit.siblings, "siblings")
        guard count > 0 else { return ([], []) }
        let names = try names(bytes, &cursor)
        var all: [Sibling] = []
        for _ in 0..<count {
            let sibling = try Sibling(bytes, &cursor, &dots, names: names.count, values: values)
            if let last = all.last, !StoredDot.precedes(last.dot, sibling.dot) {
                throw cursor.error("siblings are out of order")
            }
            all.append(sibling)
        }
        for index in names.indices where all.allSatisfy({ $0.attributes[index] == nil }) {
            throw cursor.error("a past frame names an attribute that no sibling has")
        }
        return (names, all)
    }

    private static func names(_ bytes: Span<UInt8>, _ cursor: inout Cursor) throws(FormatError) -> [[UInt8]] {
        let most = min(Format.Limit.pastValues, cursor.remaining / 2)
        let count = try cursor.count(bytes, most: most, "attributes of siblings")
        var last: Range<Int>?
        var all: [[UInt8]] = []
        all.reserveCapacity(count)
        for _ in 0..<count {
            let name = try attributeName(bytes, &cursor, after: last)
            try cursor.checkText(bytes, name)
            last = name
            all.append(cursor.copy(bytes, name))
        }
        return all
    }

    fileprivate func encodeSiblings(into out: inout [UInt8], _ dots: PastDots) {
        out.append(varint: UInt64(siblings.count))
        guard !siblings.isEmpty else { return }
        out.append(varint: UInt64(names.count))
        for name in names { out.append(name: name) }
        for sibling in siblings {
            out.append(varint: dots.position(sibling.dot))
            for field in sibling.fields { out.append(varint: field.map { dots.position($0) + 1 } ?? 0) }
            var bitmap = [UInt8](repeating: 0, count: (values.count + 7) / 8)
            for index in sibling.earlier { bitmap[index / 8] |= 1 << UInt8(index % 8) }
            out.append(contentsOf: bitmap)
        }
    }
}

extension Past.Sibling {
    fileprivate init(
        _ bytes: Span<UInt8>, _ cursor: inout Cursor, _ dots: inout PastDots, names: Int, values: Int
    ) throws(FormatError) {
        dot = try dots.dot(bytes, &cursor)
        key = try dots.field(bytes, &cursor)
        place = try dots.field(bytes, &cursor)
        secret = try dots.field(bytes, &cursor)
        guard key != nil, place != nil else { throw cursor.error("a sibling has no key or no place") }
        attributes = []
        attributes.reserveCapacity(min(names, cursor.remaining))
        for _ in 0..<names { attributes.append(try dots.field(bytes, &cursor)) }
        earlier = []
        let bitmap = try cursor.slice((values + 7) / 8, "a bitmap of values")
        for (index, at) in bitmap.enumerated() where bytes[at] != 0 {
            for bit in 0..<8 where bytes[at] & 1 << UInt8(bit) != 0 {
                guard 8 * index + bit < values else { throw cursor.error("a bitmap names a value that is not there") }
                earlier.append(8 * index + bit)
            }
        }
    }
}

extension Past.Value {
    fileprivate init(_ bytes: Span<UInt8>, _ cursor: inout Cursor, _ dots: inout PastDots) throws(FormatError) {
        dot = try dots.dot(bytes, &cursor)
        guard let kind = FieldKind(rawValue: try cursor.u8(bytes)) else {
            throw cursor.error("a value has an unknown kind")
        }
        self.kind = kind
        flags = Past.Flags(rawValue: try cursor.u8(bytes))
        guard flags.isSubset(of: [.open, .earlier, .shown]) else { throw cursor.error("a value has unknown flags") }
        name = kind == .attribute ? try Past.Value.name(bytes, &cursor) : []
        guard !flags.contains(.shown) else {
            (replaced, content) = (0, .shown)
            return
        }
        replaced = try cursor.zigzag(bytes)
        guard Format.Limit.time.contains(replaced), replaced == 0 || !flags.contains(.open) else {
            throw cursor.error("the time at which a value was replaced is out of range")
        }
        content =
            switch kind {
            case .secret: try Past.Value.secret(bytes, &cursor)
            case .attribute: try Past.Value.attribute(bytes, &cursor)
            case .key: try Past.Value.key(bytes, &cursor)
            case .place: .place(try Past.Place(bytes, &cursor))
            }
    }

    private static func name(_ bytes: Span<UInt8>, _ cursor: inout Cursor) throws(FormatError) -> [UInt8] {
        let name = try attributeName(bytes, &cursor, after: nil)
        try cursor.checkText(bytes, name)
        return cursor.copy(bytes, name)
    }

    private static func secret(_ bytes: Span<UInt8>, _ cursor: inout Cursor) throws(FormatError) -> Past.Content {
        let record = try RecordRef(bytes, &cursor)
        let attributes = try PageAttributes.decode(bytes, &cursor)
        guard !attributes.contains(where: { $0.flags.contains(.sealed) }) else {
            throw cursor.error("a secret is followed by a sealed attribute")
        }
        return .secret(record, attributes)
    }

    private static func attribute(_ bytes: Span<UInt8>, _ cursor: inout Cursor) throws(FormatError) -> Past.Content {
        let flags = AttributeFlags(rawValue: try cursor.u8(bytes))
        guard flags.isPossible else { throw cursor.error("an attribute has unknown flags") }
        guard flags.isDisjoint(with: [.inItemRecord, .inOwnRecord]) else {
            return .attributeInRecord(flags, try RecordRef(bytes, &cursor))
        }
        guard !flags.contains(.sealed) else { throw cursor.error("a past frame contains a sealed attribute") }
        let size = try cursor.count(bytes, most: Format.Limit.attributeInPage, "an attribute's value")
        return .attribute(flags, cursor.copy(bytes, try cursor.slice(size, "an attribute's value")))
    }

    private static func key(_ bytes: Span<UInt8>, _ cursor: inout Cursor) throws(FormatError) -> Past.Content {
        let size = try cursor.count(bytes, most: Format.Limit.itemKey, "an item key")
        return .key(cursor.copy(bytes, try cursor.slice(size, "an item key")))
    }

    fileprivate func encode(into out: inout [UInt8], _ dots: PastDots) {
        out.append(varint: dots.position(dot))
        out.append(kind.rawValue)
        out.append(flags.rawValue)
        if kind == .attribute { out.append(name: name) }
        guard !flags.contains(.shown) else { return }
        out.append(zigzag: replaced)
        switch content {
        case .shown: break
        case .secret(let record, let attributes):
            record.encode(into: &out)
            PageAttributes.encode(attributes, into: &out)
        case .attribute(let flags, let value):
            out.append(flags.rawValue)
            out.append(varint: UInt64(value.count))
            out.append(contentsOf: value)
        case .attributeInRecord(let flags, let record):
            out.append(flags.rawValue)
            record.encode(into: &out)
        case .key(let key):
            out.append(varint: UInt64(key.count))
            out.append(contentsOf: key)
        case .place(let place): place.encode(into: &out)
        }
    }
}

extension Past.Place {
    fileprivate init(_ bytes: Span<UInt8>, _ cursor: inout Cursor) throws(FormatError) {
        group = try cursor.number(bytes, "a group's number")
        accessibility = try cursor.u8(bytes)
        device = try cursor.bytes16(bytes)
        guard Keyring.accessibilities.contains(accessibility),
            Keyring.isDeviceOnly(accessibility) == (device != .zero)
        else { throw cursor.error("a place has an accessibility that is unknown or does not match its device") }
    }

    fileprivate func encode(into out: inout [UInt8]) {
        out.append(u64: group)
        out.append(accessibility)
        out.append(device)
    }
}

extension [UInt8] {
    /// Appends the length and the bytes of an attribute's name.
    fileprivate mutating func append(name: [UInt8]) {
        append(UInt8(name.count))
        append(contentsOf: name)
    }
}
