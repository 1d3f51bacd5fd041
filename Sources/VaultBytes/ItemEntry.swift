/// An item's value in a leaf (section 6.3), but for its attributes.
package struct ItemEntry: Equatable, Sendable {
    package var record: ObjectRef
    package var id: Bytes16
    package var revision: UInt64
    /// 0, or the 1-based position in the keyring's devices.
    package var device: Int
    package var recordRevision: UInt64
    package var compartment: UInt32
    package var created: Int64
    package var modified: Int64

    package init(
        record: ObjectRef, id: Bytes16, revision: UInt64, device: Int, recordRevision: UInt64, compartment: UInt32, created: Int64,
        modified: Int64
    ) {
        self.record = record
        self.id = id
        self.revision = revision
        self.device = device
        self.recordRevision = recordRevision
        self.compartment = compartment
        self.created = created
        self.modified = modified
    }

    /// Reads up to the attributes, at which the cursor then is.
    package init(_ bytes: Span<UInt8>, _ cursor: inout Cursor, page: UInt64) throws(FormatError) {
        let offset = try cursor.varint(bytes)
        let length = try cursor.count(bytes, most: Format.Limit.recordFrame, "a record")
        guard FrameType.record.lengths.contains(length), offset >= UInt64(Format.headerStep), offset <= page,
            page - offset >= UInt64(length)
        else {
            throw cursor.error("a record that does not end before the page that names it")
        }
        record = ObjectRef(offset: offset, length: length, hash: try cursor.bytes32(bytes))
        id = try cursor.bytes16(bytes)
        revision = try cursor.u64(bytes)
        device = try cursor.count(bytes, most: Format.Limit.devices, "a device's number")
        recordRevision = try cursor.u64(bytes)
        let number = try cursor.varint(bytes)
        guard let compartment = UInt32(exactly: number) else { throw cursor.error("a compartment's number is out of range") }
        self.compartment = compartment
        created = try cursor.zigzag(bytes)
        modified = try cursor.zigzag(bytes)
    }

    /// Only what a reader of one item needs first: where its record is. For walks that look at nothing else.
    package func encode(into out: inout [UInt8]) {
        out.append(varint: record.offset)
        out.append(varint: UInt64(record.length))
        out.append(record.hash)
        out.append(id)
        out.append(u64: revision)
        out.append(varint: UInt64(device))
        out.append(u64: recordRevision)
        out.append(varint: UInt64(compartment))
        out.append(zigzag: created)
        out.append(zigzag: modified)
    }
}

/// A removed item (section 6.4).
package struct TombstoneEntry: Equatable, Sendable {
    package let revision: UInt64
    package let device: Int

    package init(revision: UInt64, device: Int) {
        self.revision = revision
        self.device = device
    }

    package init(_ bytes: Span<UInt8>, _ cursor: inout Cursor) throws(FormatError) {
        revision = try cursor.u64(bytes)
        device = try cursor.count(bytes, most: Format.Limit.devices, "a device's number")
        try cursor.finish()
    }

    package func encode() -> [UInt8] {
        var out: [UInt8] = []
        out.append(u64: revision)
        out.append(varint: UInt64(device))
        return out
    }

    package static func key(_ id: Bytes16) -> [UInt8] { [Format.tombstoneTag] + id.bytes }
}
