/// Encodes and decodes one value in a past; the contents depend on its kind.
extension Past.Value {
    init(_ bytes: Span<UInt8>, _ cursor: inout Cursor, _ dots: inout PastDots) throws(FormatError) {
        dot = try dots.dot(bytes, &cursor)
        guard let kind = FieldKind(rawValue: try cursor.u8(bytes)) else {
            throw cursor.error("a value has an unknown kind")
        }
        self.kind = kind
        flags = Past.Flags(rawValue: try cursor.u8(bytes))
        guard flags.isSubset(of: [.open, .earlier, .shown, .forgotten]) else {
            throw cursor.error("a value has unknown flags")
        }
        (attribute, name) = kind == .attribute ? try Past.Value.attributeHead(bytes, &cursor) : ([], [])
        guard flags.isDisjoint(with: [.shown, .forgotten]) else {
            (replaced, content) = (0, .absent)
            return
        }
        replaced = try cursor.zigzag(bytes)
        guard Format.Limit.time.contains(replaced), replaced == 0 || !flags.contains(.open) else {
            throw cursor.error("the time at which a value was replaced is out of range")
        }
        content =
            switch kind {
            case .secret: try Past.Value.secret(bytes, &cursor)
            case .attribute: try Past.Value.attribute(bytes, &cursor, attribute)
            case .key: try Past.Value.key(bytes, &cursor)
            case .place: .place(try Past.Place(bytes, &cursor))
            }
    }

    private static func attributeHead(
        _ bytes: Span<UInt8>, _ cursor: inout Cursor
    ) throws(FormatError) -> (AttributeFlags, [UInt8]) {
        let flags = AttributeFlags(rawValue: try cursor.u8(bytes))
        guard flags.isPossible, flags != flags.meaning || !flags.contains(.sealed) else {
            throw cursor.error("an attribute has unknown flags, or is sealed but has no record")
        }
        let name = try readAttributeName(bytes, &cursor, after: nil)
        try cursor.checkText(bytes, name)
        return (flags, cursor.copy(bytes, name))
    }

    private static func secret(_ bytes: Span<UInt8>, _ cursor: inout Cursor) throws(FormatError) -> Past.Content {
        let record = try RecordRef(bytes, &cursor)
        let attributes = try PageAttributes.decode(bytes, &cursor)
        guard !attributes.contains(where: { $0.flags.contains(.sealed) }) else {
            throw cursor.error("a secret is followed by a sealed attribute")
        }
        return .secret(record, attributes)
    }

    private static func attribute(
        _ bytes: Span<UInt8>, _ cursor: inout Cursor, _ flags: AttributeFlags
    ) throws(FormatError) -> Past.Content {
        guard flags == flags.meaning else { return .attributeInRecord(try RecordRef(bytes, &cursor)) }
        let size = try cursor.count(bytes, most: Format.Limit.attributeInPage, "an attribute's value")
        return .attribute(cursor.copy(bytes, try cursor.slice(size, "an attribute's value")))
    }

    private static func key(_ bytes: Span<UInt8>, _ cursor: inout Cursor) throws(FormatError) -> Past.Content {
        let size = try cursor.count(bytes, most: Format.Limit.itemKey, "an item key")
        guard size >= 4 else { throw cursor.error("an item key has only \(size) bytes") }
        return .key(cursor.copy(bytes, try cursor.slice(size, "an item key")))
    }

    func encode(into out: inout [UInt8], _ dots: PastDots) {
        out.append(varint: dots.index(dot))
        out.append(kind.rawValue)
        out.append(flags.rawValue)
        if kind == .attribute {
            out.append(attribute.rawValue)
            out.append(UInt8(name.count))
            out.append(contentsOf: name)
        }
        guard flags.isDisjoint(with: [.shown, .forgotten]) else { return }
        out.append(zigzag: replaced)
        switch content {
        case .absent: break
        case .secret(let record, let attributes):
            record.encode(into: &out)
            PageAttributes.encode(attributes, into: &out)
        case .attribute(let bytes), .key(let bytes):
            out.append(varint: UInt64(bytes.count))
            out.append(contentsOf: bytes)
        case .attributeInRecord(let record): record.encode(into: &out)
        case .place(let place): place.encode(into: &out)
        }
    }
}

extension Past.Place {
    fileprivate init(_ bytes: Span<UInt8>, _ cursor: inout Cursor) throws(FormatError) {
        let name = try cursor.slice(
            try cursor.count(bytes, most: Format.Limit.field, "a group's name"), "a group's name")
        try cursor.checkText(bytes, name)
        group = cursor.copy(bytes, name)
        accessibility = try cursor.u8(bytes)
        device = try cursor.bytes16(bytes)
        guard Keyring.accessibilities.contains(accessibility),
            Keyring.isDeviceOnly(accessibility) == (device != .zero)
        else { throw cursor.error("a place has an accessibility that is unknown or does not match its device") }
    }

    fileprivate func encode(into out: inout [UInt8]) {
        out.append(varint: UInt64(group.count))
        out.append(contentsOf: group)
        out.append(accessibility)
        out.append(device)
    }
}

extension Past.Sibling {
    init(
        _ bytes: Span<UInt8>, _ cursor: inout Cursor, _ dots: inout PastDots, values: Int
    ) throws(FormatError) {
        dot = try dots.dot(bytes, &cursor)
        created = try cursor.time(try cursor.zigzag(bytes), after: dot)
        modified = try cursor.time(try cursor.zigzag(bytes), after: dot)
        fields = try Past.Sibling.bitmap(bytes, &cursor, values)
        earlier = try Past.Sibling.bitmap(bytes, &cursor, values)
    }

    /// Reads a bitmap of values and returns their indices.
    private static func bitmap(
        _ bytes: Span<UInt8>, _ cursor: inout Cursor, _ count: Int
    ) throws(FormatError) -> [Int] {
        var all: [Int] = []
        for (index, at) in try cursor.slice((count + 7) / 8, "a bitmap of values").enumerated() where bytes[at] != 0 {
            for bit in 0..<8 where bytes[at] & 1 << UInt8(bit) != 0 { all.append(8 * index + bit) }
        }
        guard all.last ?? 0 < count else { throw cursor.error("a bitmap names a value that does not exist") }
        return all
    }

    func encode(into out: inout [UInt8], _ dots: PastDots, values: Int) {
        out.append(varint: dots.index(dot))
        out.append(zigzag: created - dot.time)
        out.append(zigzag: modified - dot.time)
        for indices in [fields, earlier] {
            var bitmap = [UInt8](repeating: 0, count: (values + 7) / 8)
            for index in indices { bitmap[index / 8] |= 1 << UInt8(index % 8) }
            out.append(contentsOf: bitmap)
        }
    }
}
