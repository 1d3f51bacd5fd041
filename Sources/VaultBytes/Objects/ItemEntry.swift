/// The value of an item in a leaf, without its attributes (section 6.3).
package struct ItemEntry: Equatable, Sendable {
    /// The earlier values, stored in a frame of their own.
    package struct Versions: Hashable, Sendable {
        /// The number of earlier values, 1 to 50.
        package var count: Int
        package var frame: ObjectRef

        package init(count: Int, frame: ObjectRef) {
            self.count = count
            self.frame = frame
        }
    }

    package var record: ObjectRef
    package var id: Bytes16
    package var revision: UInt64
    /// The 1-based position among the keyring's devices, or 0.
    package var device: Int
    package var recordRevision: UInt64
    package var compartment: UInt64
    package var created: Int64
    package var modified: Int64
    package var versions: Versions?

    package init(
        record: ObjectRef, id: Bytes16, revision: UInt64, device: Int, recordRevision: UInt64, compartment: UInt64,
        created: Int64,
        modified: Int64, versions: Versions? = nil
    ) {
        self.record = record
        self.id = id
        self.revision = revision
        self.device = device
        self.recordRevision = recordRevision
        self.compartment = compartment
        self.created = created
        self.modified = modified
        self.versions = versions
    }

    /// The item's own record.
    package var own: RecordRef {
        get { RecordRef(record: record, revision: recordRevision, compartment: compartment) }
        set { (record, recordRevision, compartment) = (newValue.record, newValue.revision, newValue.compartment) }
    }

    /// Reads an entry up to its attributes. References are checked when they are followed.
    package init(_ bytes: Span<UInt8>, _ cursor: inout Cursor) throws(FormatError) {
        record = try ObjectRef(bytes, &cursor)
        id = try cursor.bytes16(bytes)
        revision = try cursor.u64(bytes)
        device = try cursor.count(bytes, most: Format.Limit.devices, "a device's number")
        recordRevision = try cursor.u64(bytes)
        compartment = try cursor.u64(bytes)
        created = try cursor.zigzag(bytes)
        modified = try cursor.zigzag(bytes)
        let count = Int(try cursor.u8(bytes))
        guard count <= Format.Limit.versions else {
            throw cursor.error("an item has \(count) earlier values, more than allowed")
        }
        versions = count == 0 ? nil : Versions(count: count, frame: try ObjectRef(bytes, &cursor))
    }

    package func encode(into out: inout [UInt8]) {
        record.encode(into: &out)
        out.append(id)
        out.append(u64: revision)
        out.append(varint: UInt64(device))
        out.append(u64: recordRevision)
        out.append(u64: compartment)
        out.append(zigzag: created)
        out.append(zigzag: modified)
        out.append(UInt8(versions?.count ?? 0))
        versions?.frame.encode(into: &out)
    }
}

/// The record of an item that was removed (section 6.5).
package struct TombstoneEntry: Equatable, Sendable {
    /// The revision of the removal.
    package let revision: UInt64
    package let device: Int
    /// The last revision of the item, less than the revision of the removal.
    package let lastRevision: UInt64
    package let lastDevice: Int

    package init(revision: UInt64, device: Int, lastRevision: UInt64, lastDevice: Int) {
        self.revision = revision
        self.device = device
        self.lastRevision = lastRevision
        self.lastDevice = lastDevice
    }

    /// Reads a value, which must end where the cursor does.
    package init(_ bytes: Span<UInt8>, _ cursor: inout Cursor) throws(FormatError) {
        revision = try cursor.u64(bytes)
        device = try cursor.count(bytes, most: Format.Limit.devices, "a device's number")
        lastRevision = try cursor.u64(bytes)
        lastDevice = try cursor.count(bytes, most: Format.Limit.devices, "a device's number")
        guard lastRevision < revision else { throw cursor.error("a tombstone is not later than its item") }
        try cursor.finish()
    }

    package func encode() -> [UInt8] {
        var out: [UInt8] = []
        out.append(u64: revision)
        out.append(varint: UInt64(device))
        out.append(u64: lastRevision)
        out.append(varint: UInt64(lastDevice))
        return out
    }

    package static func key(_ id: Bytes16) -> [UInt8] { [Format.tombstoneTag] + id.bytes }
}
