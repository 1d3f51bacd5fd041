internal import VaultBytes

/// Alters bytes as fuzzers do: flips, numbers at which limits lie, cuts, insertions and copied parts.
package enum ByteMutation {
    /// Alters bytes once, which may then be at most so many.
    package static func mutate(_ bytes: inout [UInt8], most: Int, _ choices: inout SeededChoices) {
        guard !bytes.isEmpty else {
            bytes = choices.bytes(min(most, 1 + choices.below(16)))
            return
        }
        let at = choices.below(bytes.count)
        let count = 1 + choices.below(min(bytes.count - at, choices.chance(4) ? 512 : 16))
        switch choices.below(12) {
        case 0, 1, 2: bytes[at] ^= 1 << UInt8(choices.below(8))
        case 3: bytes[at] = UInt8(choices.below(256))
        case 4: bytes[at] &+= choices.chance(2) ? 1 : 255
        case 5, 6: setNumber(&bytes, &choices)
        case 7: bytes.replaceSubrange(at..<at + count, with: repeatElement(0, count: count))
        case 8: bytes.removeSubrange(at..<at + count)
        case 9:
            bytes.insert(
                contentsOf: choices.chance(2) ? [UInt8](repeating: 0, count: count) : choices.bytes(count), at: at)
        case 10:
            let source = bytes
            copyPart(from: source, into: &bytes, &choices)
        default: truncate(&bytes, &choices)
        }
        if bytes.count > most { bytes.removeLast(bytes.count - most) }
    }

    /// Cuts the end off: anywhere, or where a commit may begin.
    private static func truncate(_ bytes: inout [UInt8], _ choices: inout SeededChoices) {
        let kept = choices.below(bytes.count)
        let step = Int(Format.commitAlignment)
        bytes.removeLast(bytes.count - (choices.chance(2) ? kept : kept / step * step))
    }

    /// The beginning of some bytes and the end of others, which keep their place or are appended.
    package static func splice(_ first: [UInt8], _ second: [UInt8], _ choices: inout SeededChoices) -> [UInt8] {
        let alignment = choices.chance(4) ? 1 : Int(Format.commitAlignment)
        let end = choices.below(first.count + 1) / alignment * alignment
        let start = choices.chance(2) ? end : choices.below(second.count + 1) / alignment * alignment
        return Array(first[..<end]) + second.dropFirst(start)
    }

    /// Writes one of the numbers at which limits and overflows lie, as a fixed number or a varint.
    static func setNumber(_ body: inout [UInt8], _ choices: inout SeededChoices) {
        guard body.count >= 9 else { return }
        let near = UInt64(choices.below(3)) &- 1
        let value =
            choices.pick([
                0, 1, 63, 64, 127, 128, 255, 256, 4096, 8192, 16_384, 65_535, 65_536, 1 << 20, 1 << 24, 1 << 31,
                1 << 32, 1 << 48, 1 << 62,
                .max >> 1,
            ]) &+ near
        var bytes: [UInt8] = []
        switch choices.below(4) {
        case 0: bytes = withUnsafeBytes(of: value.littleEndian) { Array($0) }
        case 1: bytes = withUnsafeBytes(of: UInt32(truncatingIfNeeded: value).littleEndian) { Array($0) }
        case 2: bytes = [UInt8(truncatingIfNeeded: value)]
        default: bytes.append(varint: value & (.max >> 1))
        }
        let at = choices.chance(3) ? choices.below(min(64, body.count)) : choices.below(body.count)
        let end = min(at + bytes.count, body.count)
        body.replaceSubrange(at..<(choices.chance(4) ? at : end), with: bytes)
    }

    static func copyPart(from source: [UInt8], into target: inout [UInt8], _ choices: inout SeededChoices) {
        guard !source.isEmpty, !target.isEmpty else { return }
        let from = choices.below(source.count)
        let count = min(1 + choices.below(64), source.count - from)
        let at = choices.below(target.count)
        let end = choices.chance(2) ? at : min(at + count, target.count)
        target.replaceSubrange(at..<end, with: source[from..<from + count])
    }
}
