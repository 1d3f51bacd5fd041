/// The dots of the changes that made or changed a slot and its grants (section 5.4).
package struct SlotDots: Equatable, Sendable {
    /// The grant of one group.
    package struct Grant: Hashable, Sendable {
        /// The group's number.
        package let group: UInt64
        package let dot: StoredDot

        package init(group: UInt64, dot: StoredDot) {
            self.group = group
            self.dot = dot
        }
    }

    package let id: Bytes16
    /// The change that made the slot; a merge uses this dot to decide whether the slot is kept.
    package var made: StoredDot
    /// The last change to the slot's name, factors or provider data.
    package var changed: StoredDot
    /// The grants of a scoped slot, in ascending order of group.
    package var grants: [Grant]

    package init(id: Bytes16, made: StoredDot, changed: StoredDot, grants: [Grant] = []) {
        self.id = id
        self.made = made
        self.changed = changed
        self.grants = grants
    }

    package init(_ bytes: Span<UInt8>, _ cursor: inout Cursor) throws(FormatError) {
        id = try cursor.bytes16(bytes)
        made = try StoredDot(bytes, &cursor)
        changed = try StoredDot(bytes, &cursor)
        guard changed == made || changed.revision > made.revision else {
            throw cursor.error("a slot was changed before it was created")
        }
        grants = []
        for _ in 0..<(try cursor.count(bytes, most: Format.Limit.grantedGroups, "grants of a slot")) {
            let group = try cursor.number(bytes, "a group's number")
            guard group > grants.last?.group ?? 0 else { throw cursor.error("a slot's grants are out of order") }
            grants.append(Grant(group: group, dot: try StoredDot(bytes, &cursor)))
        }
    }

    package func encode(into out: inout [UInt8]) {
        out.append(id)
        made.encode(into: &out)
        changed.encode(into: &out)
        out.append(varint: UInt64(grants.count))
        for grant in grants {
            out.append(u64: grant.group)
            grant.dot.encode(into: &out)
        }
    }
}
