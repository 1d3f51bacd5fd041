internal import VaultBytes
internal import VaultCrypto

/// The digest (section 5.6) of frames that were written just now, read back from the file in their order and hashed on
/// two threads.
enum RegionDigest {
    private static let pieceSize = 1 << 20
    private static let leastDivided = 64

    static func of(_ file: any FileHandle, _ region: Range<UInt64>) throws(VaultError) -> Bytes32 {
        var digest = Blake2b()
        digest.update(Label.digest)
        let helper = SecondThread()
        var position = region.lowerBound
        while position < region.upperBound {
            var piece = try file.bytes(Int(min(UInt64(pieceSize), region.upperBound - position)), at: position)
            var frames = try wholeFrames(piece, at: position)
            if frames.isEmpty {
                let length = try head(piece, 0, at: position).length
                guard UInt64(length) <= region.upperBound - position else { throw cutOff(position) }
                piece = try file.bytes(length, at: position)
                frames = [0..<length]
            }
            for hash in hashes(piece, frames, helper) { digest.update(hash) }
            position += UInt64(frames[frames.count - 1].upperBound)
        }
        return digest.finish()
    }

    private static func wholeFrames(_ piece: [UInt8], at offset: UInt64) throws(VaultError) -> [Range<Int>] {
        var frames: [Range<Int>] = []
        var start = 0
        while piece.count - start >= Format.frameHeadSize {
            let length = try head(piece, start, at: offset).length
            guard length <= piece.count - start else { break }
            frames.append(start..<start + length)
            start += length
        }
        return frames
    }

    private static func head(_ piece: [UInt8], _ start: Int, at offset: UInt64) throws(VaultError) -> FrameHead {
        guard piece.count - start >= Format.frameHeadSize else { throw cutOff(offset + UInt64(start)) }
        return try decoding { () throws(FormatError) in
            try FrameHead(piece.span.extracting(start..<start + Format.frameHeadSize), at: offset + UInt64(start))
        }
    }

    private static func cutOff(_ offset: UInt64) -> VaultError {
        VaultError(.structureInvalid, "the file ends within an object", at: offset)
    }

    private static func hashes(_ piece: [UInt8], _ frames: [Range<Int>], _ helper: SecondThread) -> [Bytes32] {
        guard frames.count >= leastDivided else { return hash(piece, frames[...]) }
        let middle = frames.count / 2
        let (first, second) = helper.both({ hash(piece, frames[..<middle]) }, { hash(piece, frames[middle...]) })
        return first + second
    }

    private static func hash(_ piece: [UInt8], _ frames: ArraySlice<Range<Int>>) -> [Bytes32] {
        piece.withUnsafeBytes { piece in frames.map { Bytes32(hashing: UnsafeRawBufferPointer(rebasing: piece[$0])) } }
    }
}
