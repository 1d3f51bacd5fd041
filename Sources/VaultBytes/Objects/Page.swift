/// The positions of keys and values in the body of a page that has been checked (section 5.2). The caller stores the
/// bytes.
package struct PageLayout: Sendable {
    /// One entry of a leaf (rest of the key, value) or one child of an inner page (separator before it, child
    /// reference).
    package struct Entry: Sendable {
        fileprivate private(set) var restStart: UInt16
        fileprivate private(set) var restEnd: UInt16
        fileprivate private(set) var valueStart: UInt16
        fileprivate private(set) var valueEnd: UInt16

        /// A page's body has fewer than 65,536 bytes, so nothing is truncated.
        fileprivate mutating func move(by distance: Int) {
            self = Entry(
                rest: rest.lowerBound + distance..<rest.upperBound + distance,
                value: value.lowerBound + distance..<value.upperBound + distance)
        }

        package var rest: Range<Int> { Int(restStart)..<Int(restEnd) }
        package var value: Range<Int> { Int(valueStart)..<Int(valueEnd) }
    }

    package let level: UInt8
    package let prefix: Range<Int>
    /// The entries. In an inner page, the first key is empty, because no separator precedes the first child.
    package let entries: [Entry]

    package var isLeaf: Bool { level == 0 }

    /// Checks. References are checked when they are followed.
    package init(_ bytes: Span<UInt8>, at offset: UInt64) throws(FormatError) {
        var cursor = Cursor(bytes, at: offset, else: .structureInvalid)
        level = try cursor.u8(bytes)
        guard level <= Format.Limit.level else { throw cursor.error("a page has the invalid level \(level)") }
        let count = try cursor.count(bytes, most: Format.Limit.pageEntries, "entries of a page")
        guard level > 0 || count > 0 else { throw cursor.error("a leaf has no entries") }
        let prefixLength = try cursor.count(bytes, most: Format.Limit.pageKey, "a page's prefix")
        prefix = try cursor.slice(prefixLength, "a page's prefix")
        var all: [Entry] = []
        all.reserveCapacity(min(count, bytes.count / 2) + 1)
        if level > 0 { all.append(try PageLayout.child(bytes, &cursor, rest: 0..<0)) }
        for _ in 0..<count {
            let length = try cursor.count(bytes, most: Format.Limit.pageKey - prefixLength, "a key")
            let rest = try cursor.slice(length, "a key")
            if let last = all.last, level == 0 || all.count > 1, ByteOrder.compare(bytes, last.rest, bytes, rest) >= 0 {
                throw cursor.error("a page's keys are out of order")
            }
            if level > 0 {
                all.append(try PageLayout.child(bytes, &cursor, rest: rest))
            } else {
                let size = try cursor.count(bytes, most: Format.Limit.pageFrame, "a value")
                all.append(Entry(rest: rest, value: try cursor.slice(size, "a value")))
            }
        }
        entries = all
        try checkPrefix(bytes, cursor)
        if level == 0 { try checkKinds(bytes, cursor) }
        try cursor.finishSteppedBody(bytes, "a page")
    }

    private static func child(_ bytes: Span<UInt8>, _ cursor: inout Cursor, rest: Range<Int>) throws(FormatError)
        -> Entry
    {
        let start = cursor.position
        _ = try ObjectRef(bytes, &cursor)
        return Entry(rest: rest, value: start..<cursor.position)
    }

    /// Checks that a leaf contains only items, whose keys start with 1 to 63, and forgotten values, whose keys start with
    /// 7E.
    private func checkKinds(_ bytes: Span<UInt8>, _ cursor: Cursor) throws(FormatError) {
        func isKnown(_ tag: UInt8) -> Bool { (1...63).contains(tag) || tag == Format.forgottenTag }
        if !prefix.isEmpty {
            guard isKnown(bytes[prefix.lowerBound]) else { throw cursor.error("an entry has an unknown kind") }
            return
        }
        for entry in entries {
            guard !entry.rest.isEmpty, isKnown(bytes[entry.rest.lowerBound]) else {
                throw cursor.error("an entry has an unknown kind")
            }
        }
    }

    /// Checks that the prefix is the longest one that all keys share.
    private func checkPrefix(_ bytes: Span<UInt8>, _ cursor: Cursor) throws(FormatError) {
        let keyed = isLeaf ? entries[...] : entries.dropFirst()
        guard let first = keyed.first, let last = keyed.last else {
            guard prefix.isEmpty else { throw cursor.error("a page without keys has a prefix") }
            return
        }
        let isShortest: Bool
        if keyed.count == 1 {
            isShortest = first.rest.isEmpty
        } else {
            // Because the order is strict, the rest of the last key is not empty.
            isShortest = first.rest.isEmpty || bytes[first.rest.lowerBound] != bytes[last.rest.lowerBound]
        }
        guard isShortest else {
            throw cursor.error("a page's prefix is shorter than possible")
        }
    }

    /// Returns the reference in entry `index` of an inner page.
    package func child(_ index: Int, _ bytes: Span<UInt8>) throws(FormatError) -> ObjectRef {
        var cursor = Cursor(over: entries[index].value, of: Cursor(bytes, at: 0, else: .structureInvalid))
        return try ObjectRef(bytes, &cursor)
    }

    /// The index after the last entry, where the padding starts.
    private var contentEnd: Int { entries.last.map { Int($0.valueEnd) } ?? prefix.upperBound }

    /// Returns the size that the content would have with a value of `count` bytes in entry `index`.
    private func contentSize(replacing index: Int, withBytes count: Int) -> Int {
        let old = entries[index].value.count
        let lengths = isLeaf ? VarintSize.of(count) - VarintSize.of(old) : 0
        return contentEnd + count - old + lengths
    }

    /// Returns the frame length that the page would have with a value of `count` bytes in entry `index`.
    package func frameLength(replacing index: Int, withBytes count: Int) -> Int {
        Padding.steppedFrame(contentSize(replacing: index, withBytes: count))
    }

    /// Returns the body and layout of the page with a different value in entry `index`. The caller has checked that the
    /// value fits.
    package func replacing(_ index: Int, with value: [UInt8], in bytes: Span<UInt8>) -> (
        body: [UInt8], layout: PageLayout
    ) {
        let old = entries[index].value
        let start = isLeaf ? old.lowerBound - VarintSize.of(old.count) : old.lowerBound
        let size = contentSize(replacing: index, withBytes: value.count)
        let padded = Padding.steppedFrame(size) - Format.sealOverhead
        var body: [UInt8] = []
        body.reserveCapacity(padded)
        body.append(bytes.extracting(0..<start))
        if isLeaf { body.append(varint: UInt64(value.count)) }
        body.append(contentsOf: value)
        body.append(bytes.extracting(old.upperBound..<contentEnd))
        body.append(zeros: padded - size)
        let growth = size - contentEnd
        var entries = entries
        let valueStart = old.upperBound + growth - value.count
        entries[index] = Entry(rest: entries[index].rest, value: valueStart..<old.upperBound + growth)
        if growth != 0 { for after in index + 1..<max(entries.count, index + 1) { entries[after].move(by: growth) } }
        return (body, PageLayout(level: level, prefix: prefix, entries: entries))
    }

    private init(level: UInt8, prefix: Range<Int>, entries: [Entry]) {
        self.level = level
        self.prefix = prefix
        self.entries = entries
    }

    /// In a leaf, returns the index of the first entry whose key is not less than `key`, and whether that key equals
    /// `key`.
    package func lowerBound(_ key: Span<UInt8>, _ bytes: Span<UInt8>) -> (index: Int, isEqual: Bool) {
        switch position(of: key, bytes) {
        case .before: return (0, false)
        case .after: return (entries.count, false)
        case .within(let rest):
            var low = 0
            var high = entries.count
            while low < high {
                let middle = (low + high) / 2
                let order = ByteOrder.compare(bytes, entries[middle].rest, key, rest)
                if order == 0 { return (middle, true) }
                if order < 0 { low = middle + 1 } else { high = middle }
            }
            return (low, false)
        }
    }

    /// In an inner page, returns the index of the child that may contain `key`.
    package func childIndex(for key: Span<UInt8>, _ bytes: Span<UInt8>) -> Int {
        switch position(of: key, bytes) {
        case .before: return 0
        case .after: return entries.count - 1
        case .within(let rest):
            var low = 1
            var high = entries.count
            while low < high {
                let middle = (low + high) / 2
                if ByteOrder.compare(bytes, entries[middle].rest, key, rest) <= 0 {
                    low = middle + 1
                } else {
                    high = middle
                }
            }
            return low - 1
        }
    }

    private enum Place {
        case before
        case after
        case within(Range<Int>)
    }

    /// Compares a key with the range of keys that start with the prefix.
    private func position(of key: Span<UInt8>, _ bytes: Span<UInt8>) -> Place {
        let common = min(prefix.count, key.count)
        let order = ByteOrder.compare(bytes, prefix.lowerBound..<prefix.lowerBound + common, key, 0..<common)
        if order > 0 { return .before }
        if order < 0 { return .after }
        return key.count < prefix.count ? .before : .within(prefix.count..<key.count)
    }

    /// Compares the whole key of entry `index` with the key of an entry in another page: the result is negative, zero
    /// or positive.
    package func compareKey(
        _ index: Int, _ bytes: Span<UInt8>, _ other: PageLayout, _ otherIndex: Int, _ otherBytes: Span<UInt8>
    ) -> Int {
        let rest = entries[index].rest
        let otherRest = other.entries[otherIndex].rest
        let common = min(prefix.count, other.prefix.count)
        let order = ByteOrder.compare(
            bytes, prefix.lowerBound..<prefix.lowerBound + common, otherBytes,
            other.prefix.lowerBound..<other.prefix.lowerBound + common)
        if order != 0 { return order }
        // At least one of these ranges is empty.
        let more = prefix.lowerBound + common..<prefix.upperBound
        let otherMore = other.prefix.lowerBound + common..<other.prefix.upperBound
        if otherMore.isEmpty { return ByteOrder.compare(bytes, more, rest, otherBytes, otherRest) }
        return -ByteOrder.compare(otherBytes, otherMore, otherRest, bytes, rest)
    }

    /// Compares the whole key of entry `index` with `key`: the result is negative, zero or positive.
    package func compareKey(_ index: Int, _ key: Span<UInt8>, _ bytes: Span<UInt8>) -> Int {
        switch position(of: key, bytes) {
        case .before: 1
        case .after: -1
        case .within(let rest): ByteOrder.compare(bytes, entries[index].rest, key, rest)
        }
    }
}

extension PageLayout.Entry {
    fileprivate init(rest: Range<Int>, value: Range<Int>) {
        // A page's body has fewer than 65,536 bytes.
        restStart = UInt16(truncatingIfNeeded: rest.lowerBound)
        restEnd = UInt16(truncatingIfNeeded: rest.upperBound)
        valueStart = UInt16(truncatingIfNeeded: value.lowerBound)
        valueEnd = UInt16(truncatingIfNeeded: value.upperBound)
    }
}
