/// A reference to an object: offset, length and hash of the whole frame (section 2).
///
/// A decoded reference may contain any offset and length below 2^63; `check` determines whether the reference may be
/// followed.
package struct ObjectRef: Hashable, Sendable {
    package let offset: UInt64
    package let length: Int
    package let hash: Bytes32

    package init(offset: UInt64, length: Int, hash: Bytes32) {
        self.offset = offset
        self.length = length
        self.hash = hash
    }

    /// The reference in an item without a record.
    package static let zero = ObjectRef(offset: 0, length: 0, hash: .zero)

    package var isZero: Bool { offset == 0 && length == 0 && hash == .zero }

    /// The offset after the object's last byte. Offset and length are both below 2^63.
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

    /// Returns the encoded length of a narrow reference. Both numbers are below 2^63.
    package static func size(offset: UInt64, length: Int) -> Int {
        VarintSize.of(Int(clamping: offset)) + VarintSize.of(length) + Format.hashSize
    }

    /// Checks that a frame starting at `referrer` or later may contain this reference to a frame of `type` (the first
    /// checks of ).
    ///
    /// `bodyStart`: the offset of the file's first object (2L).
    /// `referrer`: the offset of the frame that contains the reference.
    package func check(_ type: FrameType, from bodyStart: UInt64, before referrer: UInt64) throws(FormatError) {
        guard type.isPossible(length) else {
            throw FormatError(
                .structureInvalid,
                "a reference to a \(type.name) of \(length) bytes has an invalid length",
                at: referrer)
        }
        guard offset >= bodyStart, offset <= referrer, referrer - offset >= UInt64(length) else {
            throw FormatError(
                .structureInvalid, "there is a reference to a \(type.name) that does not end before it", at: referrer)
        }
    }
}

/// A reference to a record, with the values that the record is bound to in addition to its item's id (section 5.1).
package struct RecordRef: Hashable, Sendable {
    package var record: ObjectRef
    package var revision: UInt64
    package var compartment: UInt64

    package init(record: ObjectRef, revision: UInt64, compartment: UInt64) {
        self.record = record
        self.revision = revision
        self.compartment = compartment
    }

    /// Reads a narrow reference, a record revision and a compartment.
    @inline(__always)
    package init(_ bytes: Span<UInt8>, _ cursor: inout Cursor) throws(FormatError) {
        record = try ObjectRef(bytes, &cursor)
        revision = try cursor.number(bytes, "a record's revision")
        compartment = try cursor.number(bytes, "a compartment's number")
    }

    package func encode(into out: inout [UInt8]) {
        record.encode(into: &out)
        out.append(u64: revision)
        out.append(u64: compartment)
    }
}
