/// The changes that a state includes: for each id, all changes up to a certain revision (section 1).
package struct Vector: Equatable, Sendable {
    /// The greatest revision under one id that the state includes.
    package struct Row: Hashable, Sendable {
        package let id: ReplicaID
        package var revision: UInt64
        /// True if two writers used the id; its revision is then unreliable.
        package var isSplit: Bool

        package init(_ id: ReplicaID, _ revision: UInt64, isSplit: Bool = false) {
            self.id = id
            self.revision = revision
            self.isSplit = isSplit
        }
    }

    /// The revision up to which the state includes all changes, under any id; 0 until a rotation restarts the vector.
    package let floor: UInt64
    /// The rows, in the order of their positions.
    package private(set) var rows: [Row]
    /// The index of each id's row; empty while a linear search is fast enough.
    private var places: [ReplicaID: Int] = [:]

    /// The maximum number of rows for which a linear search is as fast as a table.
    private static let searched = 16

    package init(floor: UInt64 = 0) {
        self.floor = floor
        rows = []
    }

    /// Returns nil if two rows have the same id or if a row's id is 0.
    package init?(floor: UInt64, rows: [Row]) {
        self.floor = floor
        self.rows = rows
        guard !rows.contains(where: { $0.id == 0 }) else { return nil }
        if rows.count <= Self.searched {
            for index in rows.indices where rows[..<index].contains(where: { $0.id == rows[index].id }) { return nil }
        } else {
            tabulate()
            guard places.count == rows.count else { return nil }
        }
    }

    package static func == (left: Vector, right: Vector) -> Bool {
        left.floor == right.floor && left.rows == right.rows
    }

    /// The maximum of the floor and all revisions.
    package var clock: UInt64 { rows.reduce(floor) { max($0, $1.revision) } }

    // MARK: rows by id

    private func index(of id: ReplicaID) -> Int? {
        places.isEmpty ? rows.firstIndex { $0.id == id } : places[id]
    }

    /// Returns the 1-based position of an id's row, or nil if the id has no row.
    package func position(of id: ReplicaID) -> Int? { index(of: id).map { $0 + 1 } }

    /// Returns an id's row, or nil if the id has none.
    package func row(of id: ReplicaID) -> Row? { index(of: id).map { rows[$0] } }

    package func isSplit(_ id: ReplicaID) -> Bool { row(of: id)?.isSplit ?? false }

    /// Returns whether the state includes the change.
    package func hasSeen(_ dot: Dot) -> Bool {
        dot.revision <= floor || dot.revision <= row(of: dot.replica)?.revision ?? 0
    }

    /// Returns whether the state includes every row of another vector. Vectors under the same key have the same floor.
    package func hasSeen(all other: Vector) -> Bool {
        other.rows.allSatisfy { hasSeen(Dot(revision: $0.revision, replica: $0.id)) }
    }

    // MARK: changes

    /// Raises an id's row to the given revision, or appends a row if the id has none.
    package mutating func include(_ id: ReplicaID, _ revision: UInt64) {
        guard let index = index(of: id) else { return add(Row(id, revision)) }
        rows[index].revision = max(rows[index].revision, revision)
    }

    /// Records that two writers used an id. An id without a row has no changes in this state and need not be marked.
    package mutating func split(_ id: ReplicaID) {
        if let index = index(of: id) { rows[index].isSplit = true }
    }

    /// Includes every change of another vector. The positions of existing rows do not change.
    package mutating func join(_ other: Vector) {
        for row in other.rows {
            include(row.id, row.revision)
            if row.isSplit { split(row.id) }
        }
    }

    private mutating func add(_ row: Row) {
        rows.append(row)
        if !places.isEmpty { places[row.id] = rows.count - 1 } else if rows.count > Self.searched { tabulate() }
    }

    private mutating func tabulate() {
        places.reserveCapacity(rows.count)
        for (index, row) in rows.enumerated() { places[row.id] = index }
    }

    // MARK: dots

    /// Returns the dot that a frame stores, or nil if the vector does not include the dot at this position.
    package func dot(_ stored: StoredDot) -> Dot? {
        guard stored.position > 0 else {
            return stored.revision <= floor && stored.revision > 0 ? Dot(revision: stored.revision, replica: 0) : nil
        }
        guard stored.position <= rows.count else { return nil }
        let row = rows[stored.position - 1]
        return stored.revision > floor && stored.revision <= row.revision
            ? Dot(revision: stored.revision, replica: row.id) : nil
    }

    /// Returns the stored form of a dot in frames of this state, or nil if the state does not include the dot.
    package func stored(_ dot: Dot) -> StoredDot? {
        guard dot.replica != 0 else { return dot.revision <= floor ? StoredDot(dot.revision, 0) : nil }
        guard let index = index(of: dot.replica), dot.revision <= rows[index].revision, dot.revision > floor else {
            return nil
        }
        return StoredDot(dot.revision, index + 1)
    }
}
