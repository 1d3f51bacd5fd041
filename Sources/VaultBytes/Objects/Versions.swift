/// The earlier values of one item (section 5.3).
package struct Versions: Equatable, Sendable {
    /// One earlier value.
    package struct Version: Equatable, Sendable {
        /// The item's revision while this value was current.
        package var revision: UInt64
        package var device: Int
        /// The time at which the value was replaced.
        package var replaced: Int64
        package var modified: Int64
        package var record: ObjectRef
        package var recordRevision: UInt64
        package var compartment: UInt64
        package var attributes: [PageAttribute]

        package init(
            revision: UInt64, device: Int, replaced: Int64, modified: Int64, record: ObjectRef, recordRevision: UInt64,
            compartment: UInt64, attributes: [PageAttribute]
        ) {
            self.revision = revision
            self.device = device
            self.replaced = replaced
            self.modified = modified
            self.record = record
            self.recordRevision = recordRevision
            self.compartment = compartment
            self.attributes = attributes
        }

        /// The record of the value's secret.
        package var own: RecordRef {
            get { RecordRef(record: record, revision: recordRevision, compartment: compartment) }
            set { (record, recordRevision, compartment) = (newValue.record, newValue.revision, newValue.compartment) }
        }

        /// The records of the value's large attributes.
        package var largeRecords: [RecordRef] { attributes.compactMap(\.record) }

        /// Orders versions by revision, then by device.
        package static func precedes(_ left: Version, _ right: Version) -> Bool {
            (left.revision, left.device) < (right.revision, right.device)
        }
    }

    package var item: Bytes16
    /// The versions, 1 to 50, in strictly ascending order.
    package var versions: [Version]

    package init(item: Bytes16, versions: [Version]) {
        self.item = item
        self.versions = versions
    }

    /// Reads a body. This checks as much of as the frame alone allows; `check` does the rest.
    package init(_ bytes: Span<UInt8>, at offset: UInt64) throws(FormatError) {
        var cursor = Cursor(bytes, at: offset, else: .structureInvalid)
        item = try cursor.bytes16(bytes)
        let count = Int(try cursor.u8(bytes))
        guard (1...Format.Limit.versions).contains(count) else {
            throw cursor.error("a versions frame has \(count) earlier values")
        }
        var all: [Version] = []
        for _ in 0..<count {
            let version = try Version(bytes, &cursor)
            if let last = all.last, !Version.precedes(last, version) {
                throw cursor.error("earlier values are out of order")
            }
            all.append(version)
        }
        versions = all
        try cursor.finishSteppedBody(bytes, "a versions frame")
    }

    /// Checks that the frame is the one that `entry` refers to.
    package func check(_ entry: ItemEntry, at offset: UInt64) throws(FormatError) {
        guard item == entry.id, versions.count == entry.versions?.count else {
            throw FormatError(.structureInvalid, "a versions frame belongs to another item", at: offset)
        }
        for version in versions {
            let isEarlier =
                version.revision < entry.revision
                || version.revision == entry.revision && version.device != entry.device
            guard isEarlier else {
                throw FormatError(.structureInvalid, "an earlier value is not earlier than the current one", at: offset)
            }
        }
    }

    /// Encodes the body with padding.
    package func encode() throws(FormatError) -> [UInt8] {
        var out: [UInt8] = []
        out.append(item)
        out.append(UInt8(versions.count))
        for version in versions { version.encode(into: &out) }
        let frame = Padding.steppedFrame(out.count)
        guard frame <= Format.Limit.versionsFrame else {
            throw FormatError(.limitExceeded, "the earlier values of an item need a frame of \(frame) bytes", at: 0)
        }
        out.padSteppedBody()
        return out
    }
}

extension Versions.Version {
    fileprivate init(_ bytes: Span<UInt8>, _ cursor: inout Cursor) throws(FormatError) {
        revision = try cursor.u64(bytes)
        device = try cursor.count(bytes, most: Format.Limit.devices, "a device's number")
        replaced = try cursor.zigzag(bytes)
        modified = try cursor.zigzag(bytes)
        record = try ObjectRef(bytes, &cursor)
        recordRevision = try cursor.u64(bytes)
        compartment = try cursor.u64(bytes)
        attributes = try PageAttributes.decode(bytes, &cursor)
    }

    fileprivate func encode(into out: inout [UInt8]) {
        out.append(u64: revision)
        out.append(varint: UInt64(device))
        out.append(zigzag: replaced)
        out.append(zigzag: modified)
        record.encode(into: &out)
        out.append(u64: recordRevision)
        out.append(u64: compartment)
        PageAttributes.encode(attributes, into: &out)
    }
}
