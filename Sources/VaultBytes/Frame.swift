/// The five kinds of objects, by the first four bytes of their frames (section 2).
package enum FrameType: UInt32, CaseIterable, Sendable {
    case record = 0x4345_5276
    case page = 0x4741_5076
    case keyring = 0x5945_4B76
    case history = 0x5349_4876
    case commit = 0x544D_4376

    /// "vREC" and so on.
    package var name: String {
        switch self {
        case .record: "record"
        case .page: "page"
        case .keyring: "keyring"
        case .history: "history"
        case .commit: "commit"
        }
    }

    /// the frame lengths that the type may have.
    package var lengths: ClosedRange<Int> {
        switch self {
        case .record: Format.recordOverhead + 128...Format.Limit.recordFrame
        case .page: Format.pageStep...Format.Limit.pageFrame
        case .keyring: Format.pageStep...Format.Limit.keyringFrame
        case .history: Format.pageStep...Format.Limit.historyFrame
        case .commit: Format.commitSize...Format.commitSize
        }
    }
}

/// The clear start of an object: what it is and how long.
package struct FrameHead: Equatable, Sendable {
    package let type: FrameType
    /// Of the whole frame.
    package let length: Int

    package init(_ type: FrameType, length: Int) {
        self.type = type
        self.length = length
    }

    /// Reads the first eight bytes of a frame and checks the length against its type.
    package init(_ bytes: Span<UInt8>, at offset: UInt64) throws(FormatError) {
        var cursor = Cursor(bytes, at: offset, else: .structureInvalid)
        guard let type = FrameType(rawValue: try cursor.u32(bytes)) else {
            throw FormatError(.structureInvalid, "no object starts here", at: offset)
        }
        let length = try cursor.u32(bytes)
        guard length <= UInt32(Int32.max), type.lengths.contains(Int(length)) else {
            throw FormatError(.limitExceeded, "a \(type.name) of \(length) bytes", at: offset)
        }
        self.type = type
        self.length = Int(length)
    }

    package var encoded: UInt64 { UInt64(type.rawValue) | UInt64(UInt32(length)) << 32 }
}

/// Where an object is, and what it is: offset, length and hash of the whole frame.
package struct ObjectRef: Hashable, Sendable {
    package let offset: UInt64
    package let length: Int
    package let hash: Bytes32

    package init(offset: UInt64, length: Int, hash: Bytes32) {
        self.offset = offset
        self.length = length
        self.hash = hash
    }

    /// One past its last byte. Both parts were checked to be far below the greatest number when the reference was read.
    package var end: UInt64 { offset + UInt64(length) }
}
