import Testing
import VaultBytes

@Suite("A frame's head")
struct FrameTests {
    private func bytes(_ type: UInt32, _ length: UInt32) -> [UInt8] { u32(type) + u32(length) }

    @Test("is one of five ASCII tags and a length", arguments: zip(FrameType.allCases, ["vREC", "vPAG", "vKEY", "vHIS", "vCMT"]))
    func tags(type: FrameType, tag: String) throws {
        let bytes = Array(tag.utf8) + u32(UInt32(type.lengths.lowerBound))
        let head = try FrameHead(bytes.span, at: 64)
        #expect(head == FrameHead(type, length: type.lengths.lowerBound))
        #expect(u64(head.encoded) == bytes)
    }

    @Test("has a length between its type's least and greatest (R-2.2)", arguments: FrameType.allCases)
    func lengths(type: FrameType) throws {
        let limits = type.lengths
        for length in [limits.lowerBound, limits.upperBound] {
            #expect(try FrameHead(bytes(type.rawValue, UInt32(length)).span, at: 0).length == length)
        }
        let bad = [0, 1, UInt32(limits.lowerBound) - 1, UInt32(limits.upperBound) + 1, 1 << 31, .max]
        for length in bad {
            refuses(.limitExceeded, "of \(length) bytes") { () throws(FormatError) in
                _ = try FrameHead(bytes(type.rawValue, length).span, at: 0)
            }
        }
    }

    @Test("with another tag is no object")
    func unknown() {
        for type in [0, 1, FrameType.record.rawValue ^ 0x20, .max] {
            refuses(.structureInvalid, "no object") { () throws(FormatError) in _ = try FrameHead(bytes(type, 256).span, at: 0) }
        }
        for length in 0..<8 {
            let short = Array(bytes(FrameType.page.rawValue, 256)[..<length])
            refuses(.structureInvalid, "past the end") { () throws(FormatError) in _ = try FrameHead(short.span, at: 0) }
        }
    }

    @Test("allows the limits of the specification's section 8")
    func limits() {
        #expect(FrameType.record.lengths == 204...20 << 20)
        #expect(FrameType.page.lengths == 256...65_536)
        #expect(FrameType.keyring.lengths == 256...4 << 20)
        #expect(FrameType.commit.lengths == 448...448)
    }
}

@Suite("Padding")
struct PaddingTests {
    @Test(
        "of records follows the specification's table",
        arguments: [
            (0, 128), (1, 128), (128, 128), (129, 256), (256, 256), (257, 512), (512, 512), (513, 1024), (1024, 1024), (1025, 1088),
            (1088, 1088),
            (1089, 1152), (2047, 2048), (2048, 2048), (2049, 2176), (10_000, 10_240), (65_536, 65_536), (65_537, 67_584),
            (1_000_000, 1_015_808),
            (16 << 20, 16 << 20), ((16 << 20) + 1, 17_301_504),
        ])
    func table(length: Int, padded: Int) { #expect(Padding.record(length) == padded) }

    @Test("never shrinks, never wastes more than an eighth beyond 1024 bytes, and grows with the length")
    func bounds() {
        var last = 0
        for length in Array(0...70_000) + Array(stride(from: 70_001, through: 18 << 20, by: 4093)) {
            let padded = Padding.record(length)
            #expect(padded >= length && padded >= last && Padding.record(padded) == padded)
            if length > 1024 { #expect((padded - length) * 8 <= length) }
            last = padded
        }
    }

    @Test("of index objects brings the frame to the next multiple of 256")
    func stepped() {
        for length in 0...2000 {
            let frame = Padding.steppedFrame(length)
            #expect(frame % 256 == 0 && frame - 48 >= length && frame - 48 - length < 256)
        }
    }
}
