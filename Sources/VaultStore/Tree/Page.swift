internal import Synchronization
package import VaultBytes

/// A page that was authenticated and is well-formed.
package final class Page: Sendable {
    package let bytes: [UInt8]
    package let layout: PageLayout
    package let offset: UInt64
    /// The offset of the first object in the file; the page must not refer to anything before it.
    package let bodyStart: UInt64
    /// A number that is unique in this process.
    private let number = Page.numbers.wrappingAdd(1, ordering: .relaxed).newValue
    /// The place in the tree for which the page's keys were last checked; 0 if they were never checked.
    private let checkedPlace = Atomic<UInt64>(0)

    private static let numbers = Atomic<UInt64>(0)

    init(bytes: [UInt8], layout: PageLayout, offset: UInt64, bodyStart: UInt64) {
        self.bodyStart = bodyStart
        self.bytes = bytes
        self.layout = layout
        self.offset = offset
    }

    package var count: Int { layout.entries.count }

    /// Identifies the place of a child within this page.
    func place(_ index: Int) -> UInt64 { number << 16 | UInt64(index) }

    /// Returns whether the keys of this page were checked when it was last reached at this place.
    func isChecked(at place: UInt64) -> Bool { checkedPlace.load(ordering: .relaxed) == place }

    /// Records that the page's keys were checked for this place.
    func noteChecked(at place: UInt64) { checkedPlace.store(place, ordering: .relaxed) }

    package func key(_ index: Int) -> [UInt8] {
        let bytes = bytes
        return ByteCopy.of(bytes.span, layout.prefix, layout.entries[index].rest)
    }

    /// The prefix that all keys share.
    package var prefix: [UInt8] {
        let bytes = bytes
        return ByteCopy.of(bytes.span, layout.prefix)
    }

    /// Builds the key of an entry in an array that already starts with the prefix; anything after the prefix is
    /// replaced.
    package func key(_ index: Int, after prefix: inout [UInt8]) {
        let bytes = bytes
        prefix.removeLast(prefix.count - layout.prefix.count)
        prefix.append(bytes.span.extracting(layout.entries[index].rest))
    }

    /// Returns whether an entry of a leaf is a forgotten value, that is, its key starts with 7E.
    package func isForgotten(_ index: Int) -> Bool {
        let first = layout.prefix.isEmpty ? layout.entries[index].rest : layout.prefix
        return !first.isEmpty && bytes[first.lowerBound] == Format.forgottenTag
    }

    /// Returns whether an entry's key equals a range of other bytes.
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

    /// Returns the reference to a child, after checking that it may be followed.
    package func child(_ index: Int) throws(VaultError) -> ObjectRef {
        let bytes = bytes
        return try decoding { () throws(FormatError) in
            let ref = try layout.child(index, bytes.span)
            try ref.check(.page, from: bodyStart, before: offset)
            return ref
        }
    }

    /// Checks that a reference in an entry of this page may be followed.
    package func check(_ ref: ObjectRef, _ type: FrameType) throws(VaultError) {
        try decoding { () throws(FormatError) in try ref.check(type, from: bodyStart, before: offset) }
    }

    /// Returns a cursor over an entry's value.
    package func cursor(_ index: Int) -> Cursor {
        let bytes = bytes
        return Cursor(over: layout.entries[index].value, of: Cursor(bytes.span, at: offset, else: .structureInvalid))
    }

    /// Returns a copy of the page with a different value in one entry, to be stored at `offset`.
    func replacing(_ index: Int, with value: [UInt8], at offset: UInt64) -> Page {
        let bytes = bytes
        let (body, layout) = layout.replacing(index, with: value, in: bytes.span)
        return Page(bytes: body, layout: layout, offset: offset, bodyStart: bodyStart)
    }

    /// Compares an entry's key with the key of an entry of another page: the result is negative, zero or positive.
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

    /// Compares the key of entry `index` with `key`: the result is negative, zero or positive.
    package func compareKey(_ index: Int, _ key: [UInt8]) -> Int {
        let bytes = bytes
        return layout.compareKey(index, key.span, bytes.span)
    }
}
