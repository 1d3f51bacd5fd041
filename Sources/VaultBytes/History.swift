/// Links of the generations before the first commit in a compacted file (section 5.4).
package struct History: Equatable, Sendable {
    package let first: UInt64
    package let links: [Bytes32]

    package init(first: UInt64, links: [Bytes32]) {
        self.first = first
        self.links = links
    }

    /// One past the last generation that it has a link of.
    package var end: UInt64 { first + UInt64(links.count) }

    package init(_ bytes: Span<UInt8>, at offset: UInt64) throws(FormatError) {
        var cursor = Cursor(bytes, at: offset, else: .structureInvalid)
        first = try cursor.u64(bytes)
        let count = try cursor.u32(bytes)
        guard count >= 1 else { throw cursor.error("a history without links") }
        guard count <= UInt32(Format.Limit.links) else { throw cursor.limit("\(count) history links") }
        guard first >= 1, first <= Format.Limit.generation - UInt64(count) else {
            throw cursor.error("a history's first generation is out of range")
        }
        var all: [Bytes32] = []
        all.reserveCapacity(Int(count))
        for _ in 0..<count { all.append(try cursor.bytes32(bytes)) }
        links = all
        guard bytes.count == Padding.steppedFrame(cursor.position) - Format.sealOverhead else {
            throw cursor.error("a history is longer than it needs to be")
        }
        try cursor.padding(bytes, to: bytes.count)
    }

    package func encode() -> [UInt8] {
        var out: [UInt8] = []
        out.append(u64: first)
        out.append(u32: UInt32(links.count))
        for link in links { out.append(link) }
        out.append(zeros: Padding.steppedFrame(out.count) - Format.sealOverhead - out.count)
        return out
    }
}
