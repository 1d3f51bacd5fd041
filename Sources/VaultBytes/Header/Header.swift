/// The file's header: ids, slots and extensions (section 3). The code that holds the keys checks the hash and the MAC.
package struct Header: Equatable, Sendable {
    package var id: Bytes16
    package var epoch: Bytes32
    package var slots: [Slot]
    package var extensions: [Extension]
    /// L, the length of the header in the file.
    package var length: Int

    package init(
        id: Bytes16, epoch: Bytes32, slots: [Slot], extensions: [Extension] = [], length: Int = Format.headerStep
    ) {
        self.id = id
        self.epoch = epoch
        self.slots = slots
        self.extensions = extensions
        self.length = length
    }

    /// The offset of the first object, after the header's copy.
    package var bodyStart: UInt64 { 2 * UInt64(length) }

    /// Reads L from the file's first 16 bytes: magic, version, reserved, length.
    package static func length(_ bytes: Span<UInt8>) throws(FormatError) -> Int {
        var cursor = Cursor(bytes, at: 0, else: .headerInvalid)
        guard bytes.count >= 16, try cursor.u64(bytes) == Format.magic else {
            throw FormatError(.notAVault, "not a vault", at: 0)
        }
        let version = try cursor.u16(bytes)
        guard version == Format.version else {
            throw FormatError(
                .unsupportedVersion, "the vault uses format \(version); this program supports format \(Format.version)",
                at: 8)
        }
        try cursor.reserved(bytes, 2)
        let length = try cursor.u32(bytes)
        guard length >= UInt32(Format.headerStep), length <= UInt32(Format.Limit.headerSize),
            length % UInt32(Format.headerStep) == 0
        else {
            throw FormatError(.headerInvalid, "the header has an invalid length: \(length) bytes", at: 12)
        }
        return Int(length)
    }

    /// Returns the header hash and header MAC at the end of a whole header.
    package static func proof(_ bytes: Span<UInt8>) throws(FormatError) -> (hash: Bytes32, mac: Bytes32) {
        let whole = Cursor(bytes, at: 0, else: .headerInvalid)
        guard bytes.count >= Format.headerStep else { throw whole.error("the header is truncated") }
        var cursor = Cursor(over: bytes.count - Format.headerProofSize..<bytes.count, of: whole)
        return (try cursor.bytes32(bytes), try cursor.bytes32(bytes))
    }

    /// Reads a whole header. The caller has checked its hash.
    package init(_ bytes: Span<UInt8>) throws(FormatError) {
        length = try Header.length(bytes)
        guard bytes.count == length else {
            throw FormatError(.headerInvalid, "the header is truncated", at: UInt64(bytes.count))
        }
        var cursor = Cursor(over: 16..<length - Format.headerProofSize, of: Cursor(bytes, at: 0, else: .headerInvalid))
        id = try cursor.bytes16(bytes)
        epoch = try cursor.bytes32(bytes)
        let slotCount = Int(try cursor.u8(bytes))
        let extensionCount = Int(try cursor.u8(bytes))
        guard (1...Format.Limit.slots).contains(slotCount) else {
            throw cursor.error("\(slotCount) slots; a header must have 1 to \(Format.Limit.slots)")
        }
        guard extensionCount <= Format.Limit.extensions else { throw cursor.error("\(extensionCount) extensions") }
        try cursor.reserved(bytes, 2)
        slots = []
        for _ in 0..<slotCount {
            let slot = try Slot(bytes, &cursor)
            guard !slots.contains(where: { $0.id == slot.id }) else { throw cursor.error("two slots have the same id") }
            slots.append(slot)
        }
        extensions = try Extension.list(bytes, &cursor, count: extensionCount)
        try cursor.padding(bytes, to: length - Format.headerProofSize)
        try Extension.refuseUnknownCritical(extensions, at: UInt64(cursor.position))
    }

    /// Encodes the header without its hash and MAC; `length` grows as needed.
    package mutating func encodeWithoutProof() throws(FormatError) -> [UInt8] {
        guard (1...Format.Limit.slots).contains(slots.count) else {
            throw FormatError(
                .limitExceeded, "a vault must have 1 to \(Format.Limit.slots) slots, not \(slots.count)", at: 0)
        }
        guard extensions.count <= Format.Limit.extensions else {
            throw FormatError(.limitExceeded, "a header can have at most \(Format.Limit.extensions) extensions", at: 0)
        }
        var out: [UInt8] = []
        out.append(u64: Format.magic)
        out.append(u16: Format.version)
        out.append(u16: 0)
        out.append(u32: 0)
        out.append(id)
        out.append(epoch)
        out.append(UInt8(slots.count))
        out.append(UInt8(extensions.count))
        out.append(u16: 0)
        for slot in slots { slot.encode(into: &out) }
        for one in extensions { one.encode(into: &out) }
        let needed =
            (out.count + Format.headerProofSize + Format.headerStep - 1) / Format.headerStep * Format.headerStep
        guard needed <= Format.Limit.headerSize else {
            throw FormatError(
                .limitExceeded, "the slots need a header of \(needed) bytes, more than \(Format.Limit.headerSize)",
                at: 0)
        }
        length = max(length, needed)
        for (index, byte) in withUnsafeBytes(of: UInt32(length).littleEndian, Array.init).enumerated() {
            out[12 + index] = byte
        }
        out.append(zeros: length - Format.headerProofSize - out.count)
        return out
    }
}

extension Header {
    /// True if commits must be signed, because someone other than an owner may be able to open the vault.
    package var isSigned: Bool { slots.contains { $0.isOpaque || $0.kind != .full } }
}
