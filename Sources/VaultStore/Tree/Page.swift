package import VaultBytes

/// A page that authenticated and is well-formed.
package final class Page: Sendable {
    package let bytes: [UInt8]
    package let layout: PageLayout
    package let offset: UInt64
    /// Where the first object of its file starts: nothing that it refers to is before that.
    package let bodyStart: UInt64

    init(bytes: [UInt8], layout: PageLayout, offset: UInt64, bodyStart: UInt64) {
        self.bodyStart = bodyStart
        self.bytes = bytes
        self.layout = layout
        self.offset = offset
    }

    package var count: Int { layout.entries.count }

    package func key(_ index: Int) -> [UInt8] {
        let bytes = bytes
        return ByteCopy.of(bytes.span, layout.prefix, layout.entries[index].rest)
    }

    /// What all keys start with.
    package var prefix: [UInt8] {
        let bytes = bytes
        return ByteCopy.of(bytes.span, layout.prefix)
    }

    /// The key of an entry in an array that starts with the prefix, and has no need of what follows it.
    package func key(_ index: Int, after prefix: inout [UInt8]) {
        let bytes = bytes
        prefix.removeLast(prefix.count - layout.prefix.count)
        prefix.append(bytes.span.extracting(layout.entries[index].rest))
    }

    /// Whether an entry of a leaf is a tombstone: its key starts with their tag.
    package func isTombstone(_ index: Int) -> Bool {
        let first = layout.prefix.isEmpty ? layout.entries[index].rest : layout.prefix
        return !first.isEmpty && bytes[first.lowerBound] == Format.tombstoneTag
    }

    /// Whether an entry's key is a part of some other bytes.
    package func hasKey(_ index: Int, _ other: Span<UInt8>, _ range: Range<Int>) -> Bool {
        let bytes = bytes
        let rest = layout.entries[index].rest
        guard range.count == layout.prefix.count + rest.count else { return false }
        let middle = range.lowerBound + layout.prefix.count
        return ByteOrder.compare(bytes.span, layout.prefix, other, range.lowerBound..<middle) == 0
            && ByteOrder.compare(bytes.span, rest, other, middle..<range.upperBound) == 0
    }

    package func value(_ index: Int) -> [UInt8] {
        let bytes = bytes
        return ByteCopy.of(bytes.span, layout.entries[index].value)
    }

    /// The reference to a child, checked to be one that may be followed.
    package func child(_ index: Int) throws(VaultError) -> ObjectRef {
        let bytes = bytes
        return try decoding { () throws(FormatError) in
            let ref = try layout.child(index, bytes.span)
            try ref.check(.page, from: bodyStart, before: offset)
            return ref
        }
    }

    /// Checks that something that an entry of this page refers to may be followed.
    package func check(_ ref: ObjectRef, _ type: FrameType) throws(VaultError) {
        try decoding { () throws(FormatError) in try ref.check(type, from: bodyStart, before: offset) }
    }

    /// A cursor over an entry's value.
    package func cursor(_ index: Int) -> Cursor {
        let bytes = bytes
        return Cursor(over: layout.entries[index].value, of: Cursor(bytes.span, at: offset, else: .structureInvalid))
    }

    /// The page with another value in one entry, as it will stand at `offset`.
    func replacing(_ index: Int, with value: [UInt8], at offset: UInt64) -> Page {
        let bytes = bytes
        let (body, layout) = layout.replacing(index, with: value, in: bytes.span)
        return Page(bytes: body, layout: layout, offset: offset, bodyStart: bodyStart)
    }

    /// Negative, zero or positive, as an entry's key stands to one of another page.
    func compareKey(_ index: Int, to other: Page, _ otherIndex: Int) -> Int {
        let bytes = bytes
        let otherBytes = other.bytes
        return layout.compareKey(index, bytes.span, other.layout, otherIndex, otherBytes.span)
    }

    package func lowerBound(_ key: [UInt8]) -> (index: Int, isEqual: Bool) {
        let bytes = bytes
        return layout.lowerBound(key.span, bytes.span)
    }

    package func childIndex(for key: [UInt8]) -> Int {
        let bytes = bytes
        return layout.childIndex(for: key.span, bytes.span)
    }

    /// Negative, zero or positive, as entry `index`'s key stands to `key`.
    package func compareKey(_ index: Int, _ key: [UInt8]) -> Int {
        let bytes = bytes
        return layout.compareKey(index, key.span, bytes.span)
    }
}
