/// The random number under which a machine makes its changes during one run (section 7.5). It is never 0, except in
/// dots that a restart of the vector left below the floor.
package typealias ReplicaID = UInt64

/// Identifies one change by its revision and the id under which it was made (section 1). Dots are compared by
/// revision, then by id.
package struct Dot: Hashable, Comparable, Sendable {
    package let revision: UInt64
    package let replica: ReplicaID

    package init(revision: UInt64, replica: ReplicaID) {
        self.revision = revision
        self.replica = replica
    }

    package static func < (left: Dot, right: Dot) -> Bool {
        left.revision == right.revision ? left.replica < right.replica : left.revision < right.revision
    }

    /// The time of the change in milliseconds since 1970.
    package var time: Int64 { Revision.time(revision) }
}

/// A dot in the form that a page, keyring or past frame stores: the position in the state's vector represents the id.
package struct StoredDot: Hashable, Sendable {
    package var revision: UInt64
    /// The 1-based position of the id among the vector's rows, or 0 for a dot at or below the floor.
    package var position: Int

    package init(_ revision: UInt64, _ position: Int) {
        self.revision = revision
        self.position = position
    }

    /// Reads a dot. Whether the dot is possible can be decided only with the vector.
    @inline(__always)
    package init(_ bytes: Span<UInt8>, _ cursor: inout Cursor) throws(FormatError) {
        revision = try cursor.u64(bytes)
        guard revision >= 1, revision <= Format.Limit.number else { throw cursor.error("a revision is out of range") }
        position = try cursor.count(bytes, most: Format.Limit.rows, "a replica's position")
    }

    package func encode(into out: inout [UInt8]) {
        out.append(u64: revision)
        out.append(varint: UInt64(position))
    }

    /// Returns whether a state with this clock and floor may contain the dot. A full check also needs
    /// the vector.
    package func isPossible(clock: UInt64, floor: UInt64) -> Bool {
        revision <= clock && (position == 0) == (revision <= floor)
    }

    /// Returns the order in which a frame lists dots: by revision, then by position.
    package static func precedes(_ left: StoredDot, _ right: StoredDot) -> Bool {
        (left.revision, left.position) < (right.revision, right.position)
    }

    /// The time of the change in milliseconds since 1970.
    package var time: Int64 { Revision.time(revision) }
}

/// Revisions: milliseconds since 1970 in the upper 48 bits, and a counter in the lower 16.
package enum Revision {
    /// Returns the time of a revision in milliseconds since 1970.
    package static func time(_ revision: UInt64) -> Int64 { Int64(revision >> 16) }

    /// Returns the first revision of the given millisecond, or nil if there is none.
    package static func first(ofMillisecond time: UInt64) -> UInt64? {
        time <= Format.Limit.number >> 16 ? time << 16 : nil
    }
}
