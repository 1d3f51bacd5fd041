/// Where an object is, and what it is: offset, length and hash of the whole frame (section 2).
///
/// A reference that was decoded may state any offset and length below 2^63; `check` says whether it may be followed.
package struct ObjectRef: Hashable, Sendable {
    package let offset: UInt64
    package let length: Int
    package let hash: Bytes32

    package init(offset: UInt64, length: Int, hash: Bytes32) {
        self.offset = offset
        self.length = length
        self.hash = hash
    }

    /// One past its last byte. Both parts are below 2^63.
    package var end: UInt64 { offset + UInt64(length) }

    /// Reads a narrow reference: varint offset, varint length, hash.
    @inline(__always)
    package init(_ bytes: Span<UInt8>, _ cursor: inout Cursor) throws(FormatError) {
        offset = try cursor.varint(bytes)
        length = Int(try cursor.varint(bytes))
        hash = try cursor.bytes32(bytes)
    }

    /// Appends a narrow reference.
    package func encode(into out: inout [UInt8]) {
        out.append(varint: offset)
        out.append(varint: UInt64(length))
        out.append(hash)
    }

    /// Whether a frame of `type` that starts at `referrer` or later may be referred to like this (the first checks of
    ///
    ///
    /// - Parameters:
    ///   - bodyStart: Where the first object of the file starts (2L).
    ///   - referrer: Where the frame that refers to it starts.
    package func check(_ type: FrameType, from bodyStart: UInt64, before referrer: UInt64) throws(FormatError) {
        guard type.isPossible(length) else {
            throw FormatError(.structureInvalid, "a reference to a \(type.name) of \(length) bytes", at: referrer)
        }
        guard offset >= bodyStart, offset <= referrer, referrer - offset >= UInt64(length) else {
            throw FormatError(
                .structureInvalid, "a reference to a \(type.name) that does not end before it", at: referrer)
        }
    }
}

/// Where a record is, and what it is bound to besides the id of its item (section 5.1).
package struct RecordRef: Hashable, Sendable {
    package var record: ObjectRef
    package var revision: UInt64
    package var compartment: UInt64

    package init(record: ObjectRef, revision: UInt64, compartment: UInt64) {
        self.record = record
        self.revision = revision
        self.compartment = compartment
    }
}
