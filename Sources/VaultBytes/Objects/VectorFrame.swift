/// The rows of a vector that one frame stores: all rows, or those that differ from a base frame's (section 5.5).
package struct VectorFrame: Equatable, Sendable {
    /// A row of the base that has a different revision in this frame.
    package struct Change: Hashable, Sendable {
        /// The 1-based position of the row.
        package let position: Int
        package let revision: UInt64
        package let isSplit: Bool

        package init(position: Int, revision: UInt64, isSplit: Bool) {
            self.position = position
            self.revision = revision
            self.isSplit = isSplit
        }
    }

    /// The frame that contains the other rows, which must not have a base itself; nil if this frame contains all rows.
    package var base: ObjectRef?
    /// The rows that differ from the base's, in ascending order of position.
    package var changes: [Change]
    /// The rows that follow the base's rows.
    package var further: [Vector.Row]

    package init(base: ObjectRef? = nil, changes: [Change] = [], further: [Vector.Row] = []) {
        self.base = base
        self.changes = changes
        self.further = further
    }

    /// The bit of a revision that marks a split id.
    private static let splitBit: UInt64 = 1 << 63
    private static let changeSize = 1 + 8
    private static let rowSize = 8 + 8

    /// Reads a body and performs the checks that do not need the base; `vector` performs the others.
    package init(_ bytes: Span<UInt8>, at offset: UInt64) throws(FormatError) {
        var cursor = Cursor(bytes, at: offset, else: .structureInvalid)
        let hasBase = try cursor.u8(bytes)
        guard hasBase <= 1 else { throw cursor.error("a vector has a base of an unknown kind") }
        base = hasBase == 1 ? try ObjectRef(bytes, &cursor) : nil
        changes = hasBase == 1 ? try VectorFrame.changes(bytes, &cursor) : []
        let allowed = hasBase == 1 ? Format.Limit.rowsOnBase - changes.count : Format.Limit.rows
        let most = min(allowed, cursor.remaining / VectorFrame.rowSize)
        let count = try cursor.count(bytes, most: most, "rows of a vector")
        guard count + changes.count > 0 else { throw cursor.error("a vector frame has no rows") }
        further = []
        further.reserveCapacity(count)
        for _ in 0..<count {
            let id = try cursor.u64(bytes)
            guard id != 0 else { throw cursor.error("a vector has a row without an id") }
            let (revision, isSplit) = try VectorFrame.revision(bytes, &cursor)
            further.append(Vector.Row(id, revision, isSplit: isSplit))
        }
        try cursor.finishSteppedBody(bytes, "a vector")
    }

    private static func changes(_ bytes: Span<UInt8>, _ cursor: inout Cursor) throws(FormatError) -> [Change] {
        let most = min(Format.Limit.rowsOnBase, cursor.remaining / changeSize)
        let count = try cursor.count(bytes, most: most, "changed rows of a vector")
        var all: [Change] = []
        all.reserveCapacity(count)
        for _ in 0..<count {
            let position = try cursor.count(bytes, most: Format.Limit.rows, "a row's position")
            guard position > all.last?.position ?? 0 else { throw cursor.error("changed rows are out of order") }
            let (revision, isSplit) = try self.revision(bytes, &cursor)
            all.append(Change(position: position, revision: revision, isSplit: isSplit))
        }
        return all
    }

    private static func revision(_ bytes: Span<UInt8>, _ cursor: inout Cursor) throws(FormatError) -> (UInt64, Bool) {
        let value = try cursor.u64(bytes)
        let revision = value & ~splitBit
        guard revision >= 1 else { throw cursor.error("a row's revision is out of range") }
        return (revision, value != revision)
    }

    /// Returns the vector. The caller has read the base, which must not have a base itself.
    ///
    /// `offset`: the offset of this frame, for errors.
    package func vector(on base: VectorFrame?, floor: UInt64, at offset: UInt64) throws(FormatError) -> Vector {
        let rows = try rows(on: base, at: offset)
        guard rows.count <= Format.Limit.rows, rows.allSatisfy({ $0.revision > floor }),
            let vector = Vector(floor: floor, rows: rows)
        else {
            throw FormatError(
                .structureInvalid, "a vector lists an id twice, or has a row that is not above the floor", at: offset)
        }
        return vector
    }

    private func rows(on base: VectorFrame?, at offset: UInt64) throws(FormatError) -> [Vector.Row] {
        guard let base else {
            precondition(self.base == nil, "the caller must read a vector's base")
            return further
        }
        guard base.base == nil else {
            throw FormatError(.structureInvalid, "a vector's base has a base itself", at: offset)
        }
        var rows = base.further
        for change in changes {
            guard change.position <= rows.count else {
                throw FormatError(.structureInvalid, "a vector changes a row that its base lacks", at: offset)
            }
            let old = rows[change.position - 1]
            let new = Vector.Row(old.id, change.revision, isSplit: change.isSplit)
            guard new != old, new.revision >= old.revision, new.isSplit || !old.isSplit else {
                throw FormatError(
                    .structureInvalid, "a changed row of a vector is inconsistent with its base", at: offset)
            }
            rows[change.position - 1] = new
        }
        return rows + further
    }

    /// Returns a frame that stores these rows relative to a base. These rows begin with the base's rows, whose
    /// revisions may differ.
    package init(_ rows: [Vector.Row], on base: (ref: ObjectRef, rows: [Vector.Row])? = nil) {
        guard let base else {
            self.init(further: rows)
            return
        }
        var changes: [Change] = []
        for (index, row) in rows.prefix(base.rows.count).enumerated() where row != base.rows[index] {
            changes.append(Change(position: index + 1, revision: row.revision, isSplit: row.isSplit))
        }
        self.init(base: base.ref, changes: changes, further: Array(rows.dropFirst(base.rows.count)))
    }

    /// The number of rows that the frame itself stores.
    package var ownRows: Int { changes.count + further.count }

    /// True if the number of rows is allowed.
    package var isPossible: Bool {
        (1...(base == nil ? Format.Limit.rows : Format.Limit.rowsOnBase)).contains(ownRows)
    }

    /// Encodes the body with padding.
    package func encode() throws(FormatError) -> [UInt8] {
        guard isPossible else {
            throw FormatError(.limitExceeded, "the vault has too many writer ids", at: 0)
        }
        var out: [UInt8] = []
        out.reserveCapacity(64 + changes.count * (VectorFrame.changeSize + 2) + further.count * VectorFrame.rowSize)
        out.append(base == nil ? 0 : 1)
        if let base {
            base.encode(into: &out)
            out.append(varint: UInt64(changes.count))
            for change in changes {
                out.append(varint: UInt64(change.position))
                out.append(u64: change.revision | (change.isSplit ? VectorFrame.splitBit : 0))
            }
        }
        out.append(varint: UInt64(further.count))
        for row in further { row.encode(into: &out) }
        let frame = Padding.steppedFrame(out.count)
        guard frame <= Format.Limit.vectorFrame else {
            throw FormatError(.limitExceeded, "the vault's ids need a vector of \(frame) bytes", at: 0)
        }
        out.padSteppedBody()
        return out
    }
}

extension Vector.Row {
    /// Appends the id and the revision, whose highest bit marks a split id.
    package func encode(into out: inout [UInt8]) {
        out.append(u64: id)
        out.append(u64: revision | (isSplit ? 1 << 63 : 0))
    }
}
