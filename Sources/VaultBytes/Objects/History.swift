/// A state that a vault has passed through, either in this file or on a branch that was merged.
package struct Ancestor: Hashable, Sendable {
    package let generation: UInt64
    package let clock: UInt64
    package let chain: Bytes32

    package init(generation: UInt64, clock: UInt64, chain: Bytes32) {
        self.generation = generation
        self.clock = clock
        self.chain = chain
    }

    /// Returns whether the history of a commit of this generation may contain the ancestor. A walk over
    /// commits makes fewer checks.
    package func isPossible(before generation: UInt64) -> Bool {
        self.generation >= 1 && self.generation < generation && clock >= 1 && clock <= Format.Limit.number
    }
}

/// The states before the first commit in the file, and those of merged branches (section 5.5).
package struct History: Equatable, Sendable {
    /// A number greater than the generation of every ancestor that is missing from both the history and the file.
    package var floor: UInt64
    /// The ancestors, in the order in which they became ancestors.
    package var ancestors: [Ancestor]
    /// The number of ancestors, at the end of the list, that were added by the first commit that named this history.
    package var newest: Int

    package init(floor: UInt64, ancestors: [Ancestor], newest: Int) {
        self.floor = floor
        self.ancestors = ancestors
        self.newest = newest
    }

    /// Reads a body; `generation` is the generation of the commit that names it (R-5.16, first part).
    package init(_ bytes: Span<UInt8>, at offset: UInt64, of generation: UInt64) throws(FormatError) {
        var cursor = Cursor(bytes, at: offset, else: .structureInvalid)
        floor = try cursor.number(bytes, "a history's floor")
        let count = try cursor.u32(bytes)
        guard count <= UInt32(Format.Limit.ancestors) else { throw cursor.error("a history has \(count) ancestors") }
        let newest = try cursor.u32(bytes)
        guard newest <= count else { throw cursor.error("a history has more new ancestors than ancestors") }
        self.newest = Int(newest)
        var all: [Ancestor] = []
        all.reserveCapacity(Int(count))
        for _ in 0..<count {
            let ancestor = Ancestor(
                generation: try cursor.u64(bytes), clock: try cursor.number(bytes, "an ancestor's clock"),
                chain: try cursor.bytes32(bytes))
            guard ancestor.generation >= 1, ancestor.generation < generation else {
                throw cursor.error("an ancestor's generation is out of range")
            }
            all.append(ancestor)
        }
        ancestors = all
        try cursor.finishSteppedBody(bytes, "a history")
    }

    /// Encodes the body with padding. At most 1364 ancestors are allowed.
    package func encode() -> [UInt8] {
        var out: [UInt8] = []
        out.append(u64: floor)
        out.append(u32: UInt32(ancestors.count))
        out.append(u32: UInt32(newest))
        for ancestor in ancestors {
            out.append(u64: ancestor.generation)
            out.append(u64: ancestor.clock)
            out.append(ancestor.chain)
        }
        out.padSteppedBody()
        return out
    }
}
