/// The types of objects, identified by the first four bytes of their frames (section 2).
package enum FrameType: UInt32, CaseIterable, Sendable {
    case record = 0x4345_5276
    case page = 0x4741_5076
    case past = 0x5453_5076
    case keyring = 0x5945_4B76
    case vector = 0x4345_5676
    case commit = 0x544D_4376
    /// Reserved for values stored in several frames.
    case chunk = 0x4B48_4376

    /// The name of the type, for use in messages.
    package var name: String {
        switch self {
        case .record: "record"
        case .page: "page"
        case .past: "past"
        case .keyring: "keyring"
        case .vector: "vector"
        case .commit: "commit"
        case .chunk: "frame of a reserved type"
        }
    }

    /// The frame lengths that this type may have (section 11).
    private var lengths: ClosedRange<Int> {
        switch self {
        case .record, .chunk: Format.recordOverhead + 128...Format.Limit.recordFrame
        case .page: Format.pageStep...Format.Limit.pageFrame
        case .past: Format.pageStep...Format.Limit.pastFrame
        case .keyring: Format.pageStep...Format.Limit.keyringFrame
        case .vector: Format.pageStep...Format.Limit.vectorFrame
        case .commit: Format.commitSize...Format.commitSize
        }
    }

    /// Returns whether a frame of this type may have this length (section 2, R-2.2).
    package func isPossible(_ length: Int) -> Bool {
        guard lengths.contains(length) else { return false }
        switch self {
        case .page, .past, .keyring, .vector: return length % Format.pageStep == 0
        case .record, .chunk, .commit: return true
        }
    }
}

/// The cleartext start of a frame: its type and its total length.
package struct FrameHead: Equatable, Sendable {
    package let type: FrameType
    /// The length of the whole frame.
    package let length: Int

    package init(_ type: FrameType, length: Int) {
        self.type = type
        self.length = length
    }

    /// Reads the first eight bytes of a frame and checks the length against its type.
    package init(_ bytes: Span<UInt8>, at offset: UInt64) throws(FormatError) {
        var cursor = Cursor(bytes, at: offset, else: .structureInvalid)
        guard let type = FrameType(rawValue: try cursor.u32(bytes)) else {
            throw FormatError(.structureInvalid, "no frame starts here", at: offset)
        }
        let length = try cursor.u32(bytes)
        guard length <= UInt32(Int32.max), type.isPossible(Int(length)) else {
            throw FormatError(.structureInvalid, "a \(type.name) of \(length) bytes", at: offset)
        }
        self.type = type
        self.length = Int(length)
    }

    package var encoded: UInt64 { UInt64(type.rawValue) | UInt64(UInt32(length)) << 32 }

    /// The first eight bytes of every commit, as a number.
    package static let commit = FrameHead(.commit, length: Format.commitSize).encoded
}
