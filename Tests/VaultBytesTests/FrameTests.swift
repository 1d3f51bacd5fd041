import Testing
import VaultBytes

@Suite("A frame's head")
struct FrameTests {
    private func bytes(_ type: UInt32, _ length: UInt32) -> [UInt8] { u32(type) + u32(length) }

    /// The least and the greatest length of each type (section 11).
    private static let lengths: [FrameType: ClosedRange<Int>] = [
        .record: 208...20 << 20, .page: 256...65_536, .past: 256...2 << 20, .keyring: 256...4 << 20,
        .vector: 256...4 << 20, .commit: 512...512, .chunk: 208...20 << 20,
    ]

    @Test(
        "is one of seven ASCII tags and a length",
        arguments: zip(FrameType.allCases, ["vREC", "vPAG", "vPST", "vKEY", "vVEC", "vCMT", "vCHK"]))
    func tags(type: FrameType, tag: String) throws {
        let bytes = Array(tag.utf8) + u32(512)
        let head = try FrameHead(bytes.span, at: 64)
        #expect(head == FrameHead(type, length: 512))
        #expect(u64(head.encoded) == bytes)
        #expect(FrameType.allCases.count == 7)
    }

    @Test(
        "has a length between its type's least and greatest, and most types' are multiples of 256 (R-2.2)",
        arguments: FrameType.allCases)
    func lengths(type: FrameType) throws {
        let limits = try #require(Self.lengths[type])
        for length in [limits.lowerBound, limits.upperBound] {
            #expect(try FrameHead(bytes(type.rawValue, UInt32(length)).span, at: 0).length == length)
        }
        var bad = [0, 1, UInt32(limits.lowerBound) - 1, UInt32(limits.upperBound) + 1, 1 << 31, .max]
        if type == .record || type == .chunk {
            #expect(type.isPossible(209) && type.isPossible(257))
        } else {
            bad += [257, 300, 511, 513, UInt32(limits.upperBound) + 256]
        }
        for length in bad {
            refuses(.structureInvalid, "of \(length) bytes") { () throws(FormatError) in
                _ = try FrameHead(bytes(type.rawValue, length).span, at: 0)
            }
        }
        for length in [-1, Int.min, Int.max] { #expect(!type.isPossible(length)) }
    }

    @Test("with another tag is no frame")
    func unknown() {
        for type in [0, 1, FrameType.record.rawValue ^ 0x20, .max] {
            refuses(.structureInvalid, "no frame") { () throws(FormatError) in
                _ = try FrameHead(bytes(type, 256).span, at: 0)
            }
        }
        refusesTruncations(bytes(FrameType.page.rawValue, 256)) { bytes throws(FormatError) in
            _ = try FrameHead(bytes.span, at: 0)
        }
    }

    @Test("of a commit is always the same")
    func commit() { #expect(u64(FrameHead.commit) == Array("vCMT".utf8) + u32(512)) }
}

@Suite("Padding")
struct PaddingTests {
    @Test(
        "of records follows the specification's examples (section 5.1)",
        arguments: [
            (0, 128), (1, 128), (128, 128), (129, 256), (256, 256), (257, 512), (512, 512), (513, 1024), (1024, 1024),
            (1025, 1088),
            (1088, 1088),
            (1089, 1152), (2047, 2048), (2048, 2048), (2049, 2176), (10_000, 10_240), (65_536, 65_536),
            (65_537, 67_584),
            (1_000_000, 1_015_808), (5000, 5120), (100_000, 100_352),
            (16 << 20, 16 << 20), ((16 << 20) + 1, 17_301_504),
        ])
    func table(length: Int, padded: Int) { #expect(Padding.record(length) == padded) }

    @Test("never shrinks, wastes at most 6.25 % beyond 1024 bytes (section 10), and grows with the length")
    func bounds() {
        var last = 0
        for length in Array(0...70_000) + Array(stride(from: 70_001, through: 18 << 20, by: 4093)) {
            let padded = Padding.record(length)
            #expect(padded >= length && padded >= last && Padding.record(padded) == padded)
            if length > 1024 { #expect((padded - length) * 16 <= length) }
            last = padded
        }
    }

    @Test("of records accepts exactly its own results as a body's length (R-5.1)")
    func steps() {
        let steps = Set((0...9000).map(Padding.record))
        for length in -1...8000 { #expect(Padding.isStep(length) == steps.contains(length)) }
    }

    @Test("of index objects brings the frame to the next multiple of 256")
    func stepped() {
        for length in 0...2000 {
            let frame = Padding.steppedFrame(length)
            #expect(frame % 256 == 0 && frame - 48 >= length && frame - 48 - length < 256)
        }
    }
}
