/// Collects the entries of one page in order, and predicts its length.
package struct PageBuilder {
    package let level: UInt8
    private var keys: [[UInt8]] = []
    private var values: [[UInt8]] = []
    private var contentSize = 0
    private var prefix = 0

    package init(level: UInt8) { self.level = level }

    package var count: Int { keys.count }
    package var isEmpty: Bool { keys.isEmpty }
    package var firstKey: [UInt8]? { keys.first }
    package var lastKey: [UInt8]? { keys.last }
    package var entries: [(key: [UInt8], value: [UInt8])] { Array(zip(keys, values)).map { (key: $0.0, value: $0.1) } }

    /// The frame length with the current entries.
    package var frameLength: Int { frameLength(keys: keys.count, content: contentSize, prefix: prefix) }

    /// Returns the frame length after adding one more entry.
    package func frameLength(adding key: [UInt8], _ value: [UInt8]) -> Int {
        frameLength(keys: keys.count + 1, content: contentSize + size(of: key, value), prefix: sharedPrefix(with: key))
    }

    /// Returns whether this entry belongs on the page; if not, a writer starts another page (section 5.2).
    package func accepts(_ key: [UInt8], _ value: [UInt8]) -> Bool {
        guard keys.count >= (level == 0 ? 1 : Format.leastChildren) else { return true }
        return keys.count < Format.Limit.pageEntries && frameLength(adding: key, value) <= Format.pageTarget
    }

    /// Computes the frame length. The result is exact if all keys are shorter than 128 bytes; otherwise, it may be a
    /// few bytes too large.
    private func frameLength(keys count: Int, content: Int, prefix: Int) -> Int {
        let keyed = level == 0 ? count : max(count - 1, 0)
        let head = 1 + VarintSize.of(keyed) + VarintSize.of(prefix) + (keyed > 0 ? prefix : 0)
        return Padding.steppedFrame(head + content - keyed * prefix)
    }

    private func size(of key: [UInt8], _ value: [UInt8]) -> Int {
        if level == 0 { return VarintSize.of(key.count) + key.count + VarintSize.of(value.count) + value.count }
        return (keys.isEmpty ? 0 : VarintSize.of(key.count) + key.count) + value.count
    }

    private func sharedPrefix(with key: [UInt8]) -> Int {
        let firstKeyed = level == 0 ? 0 : 1
        if keys.count < firstKeyed { return 0 }
        if keys.count == firstKeyed { return key.count }
        return min(prefix, ByteOrder.commonPrefix(keys[firstKeyed], key))
    }

    /// Appends an entry; keys must be in ascending order. In an inner page, the first child's key is not written.
    package mutating func append(_ key: [UInt8], _ value: [UInt8]) {
        let isSeparator = level == 0 || !keys.isEmpty
        prefix = isSeparator ? sharedPrefix(with: key) : 0
        contentSize += size(of: key, value)
        keys.append(key)
        values.append(value)
    }

    package mutating func removeAll() { self = PageBuilder(level: level) }

    /// Encodes the body with padding.
    package func encode() -> [UInt8] {
        var out: [UInt8] = []
        out.reserveCapacity(Format.pageTarget)
        let keyed = level == 0 ? keys[...] : keys.dropFirst()
        out.append(level)
        out.append(varint: UInt64(keyed.count))
        out.append(varint: UInt64(prefix))
        if let first = keyed.first { out.append(contentsOf: first[..<prefix]) }
        if level > 0 { out.append(contentsOf: values[0]) }
        for (index, key) in zip(keyed.indices, keyed) {
            out.append(varint: UInt64(key.count - prefix))
            out.append(contentsOf: key[prefix...])
            if level == 0 { out.append(varint: UInt64(values[index].count)) }
            out.append(contentsOf: values[index])
        }
        out.append(zeros: Padding.steppedFrame(out.count) - Format.sealOverhead - out.count)
        return out
    }

    /// Encodes a child reference as the value of an entry in an inner page.
    package static func child(_ ref: ObjectRef) -> [UInt8] {
        var out: [UInt8] = []
        out.reserveCapacity(44)
        ref.encode(into: &out)
        return out
    }
}
