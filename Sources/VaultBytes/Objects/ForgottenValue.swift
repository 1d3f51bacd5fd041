/// The kinds of an item's fields, with the numbers that represent them in pasts and in the keys of forgotten values
/// (sections 5.3 and 6.5).
package enum FieldKind: UInt8, Sendable {
    case secret = 0
    case attribute = 1
    case key = 2
    case place = 3
}

/// A forgotten secret or attribute value, stored as the key of an entry with an empty value (section 6.5).
package struct ForgottenValue: Hashable, Sendable {
    package let dot: Dot
    package let kind: FieldKind
    /// The attribute's name in UTF-8; empty for a secret.
    package let name: [UInt8]

    package init(dot: Dot, kind: FieldKind, name: [UInt8] = []) {
        self.dot = dot
        self.kind = kind
        self.name = name
    }

    private static let dotSize = 8 + 8

    /// Reads a key in a state with this clock and floor. Whether the state includes the dot can be decided
    /// only with the vector.
    package init(
        key bytes: Span<UInt8>, clock: UInt64, floor: UInt64, at offset: UInt64
    ) throws(FormatError) {
        var cursor = Cursor(bytes, at: offset, else: .structureInvalid)
        guard try cursor.u8(bytes) == Format.forgottenTag else { throw cursor.error("not a forgotten value") }
        let revision = try cursor.u64(bytes).byteSwapped
        dot = Dot(revision: revision, replica: try cursor.u64(bytes).byteSwapped)
        guard revision >= 1, revision <= clock, (dot.replica == 0) == (revision <= floor) else {
            throw cursor.error("the dot of a forgotten value is out of range")
        }
        guard let kind = FieldKind(rawValue: try cursor.u8(bytes)), kind == .secret || kind == .attribute else {
            throw cursor.error("a forgotten value has an unknown kind")
        }
        self.kind = kind
        let rest = try cursor.slice(cursor.remaining, "an attribute's name")
        guard kind == .attribute ? (1...Format.Limit.attributeName).contains(rest.count) : rest.isEmpty else {
            throw cursor.error("the name of a forgotten value has \(rest.count) bytes")
        }
        try cursor.checkText(bytes, rest)
        name = cursor.copy(bytes, rest)
    }

    /// The key of the entry.
    package var key: [UInt8] {
        var out: [UInt8] = [Format.forgottenTag]
        out.reserveCapacity(2 + Self.dotSize + name.count)
        out.append(u64: dot.revision.byteSwapped)
        out.append(u64: dot.replica.byteSwapped)
        out.append(kind.rawValue)
        out.append(contentsOf: name)
        return out
    }
}

/// The keys of items in pages. If several items have the same key, only the one with the smallest id is listed under
/// the plain key; the others are listed under keys that end with their ids (section 5.2).
package enum PageKey {
    /// The bit in the last field's terminator that indicates that an item id follows.
    private static let idBit: UInt8 = 0x02

    /// Returns the key under which a page lists an item whose plain key is taken by another item.
    package static func second(_ key: [UInt8], _ item: Bytes16) -> [UInt8] {
        var out = key
        if let last = out.popLast() { out.append(last | idBit) }
        out.append(item)
        return out
    }

    /// Returns whether the key under which a page lists this item ends with the item's id.
    package static func isSecond(_ key: Span<UInt8>, _ item: Bytes16) -> Bool {
        let sync = key.count - Format.idSize - 1
        guard sync >= 1, key[sync] & ~1 == idBit else { return false }
        var cursor = Cursor(key, at: 0, else: .structureInvalid)
        do throws(FormatError) {
            _ = try cursor.slice(sync + 1, "a key")
            return try cursor.bytes16(key) == item
        } catch { return false }
    }

    /// Returns the item's key, given its key in a page.
    package static func itemKey(_ key: [UInt8], _ item: Bytes16) -> [UInt8] {
        guard isSecond(key.span, item) else { return key }
        var out = Array(key.dropLast(Format.idSize))
        if let last = out.popLast() { out.append(last & ~idBit) }
        return out
    }
}
