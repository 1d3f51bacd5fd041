import TestSupport
import Testing
import VaultBytes

typealias Numbers = TestSupport.Numbers

extension Numbers {
    /// From 1 to 2^63 − 1, as generations, revisions and clocks are.
    mutating func number() -> UInt64 { next() >> 1 | 1 }

    mutating func bytes(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8.random(in: 0...255, using: &self) } }

    mutating func id() -> Bytes16 { Bytes16(high: next(), low: next()) }

    mutating func hash() -> Bytes32 { Bytes32(words: (next(), next(), next(), next())) }
}

/// Expects a refusal with this code, for the reason that has this phrase.
func refuses(
    _ code: FormatError.Code, _ phrase: String, sourceLocation: SourceLocation = #_sourceLocation,
    _ body: () throws(FormatError) -> Void
) {
    do throws(FormatError) {
        try body()
        Issue.record("accepted, where \"\(phrase)\" should be refused", sourceLocation: sourceLocation)
    } catch {
        #expect(error.code == code, "\(error.what)", sourceLocation: sourceLocation)
        #expect(
            error.what.contains(phrase), "refused for another reason: \(error.what)", sourceLocation: sourceLocation)
    }
}

/// A part of the bytes replaced.
func patched(_ bytes: [UInt8], _ at: Int, _ new: [UInt8]) -> [UInt8] {
    var out = bytes
    out.replaceSubrange(at..<at + new.count, with: new)
    return out
}

func u16(_ value: UInt16) -> [UInt8] {
    var out: [UInt8] = []
    out.append(u16: value)
    return out
}

func u32(_ value: UInt32) -> [UInt8] {
    var out: [UInt8] = []
    out.append(u32: value)
    return out
}

func u64(_ value: UInt64) -> [UInt8] {
    var out: [UInt8] = []
    out.append(u64: value)
    return out
}

func varint(_ value: UInt64) -> [UInt8] {
    var out: [UInt8] = []
    out.append(varint: value)
    return out
}

/// One encoding of everything: whatever changed bytes are still accepted must be what encoding their meaning gives.
/// Each byte is changed in `changes` ways.
func hasOneEncoding(
    _ bytes: [UInt8], seed: UInt64, changes: Int = 3, sourceLocation: SourceLocation = #_sourceLocation,
    _ recoded: ([UInt8]) throws(FormatError) -> [UInt8]
) {
    var numbers = Numbers(seed)
    var accepted = 0
    var wrong: [Int] = []
    for index in bytes.indices {
        for change in [UInt8.random(in: 1...255, using: &numbers), 1, 0x80].prefix(changes) {
            let changed = patched(bytes, index, [bytes[index] ^ change])
            do throws(FormatError) {
                accepted += 1
                if try recoded(changed) != changed { wrong.append(index) }
            } catch { accepted -= 1 }
        }
    }
    #expect(wrong.isEmpty, "these bytes can be changed without another meaning", sourceLocation: sourceLocation)
    #expect(accepted > 0, "no change was accepted: the test tells nothing", sourceLocation: sourceLocation)
}

/// Every part of the bytes that is too short must be refused.
func refusesTruncations(
    _ bytes: [UInt8], sourceLocation: SourceLocation = #_sourceLocation, _ read: ([UInt8]) throws(FormatError) -> Void
) {
    var accepted: [Int] = []
    for length in bytes.indices {
        do throws(FormatError) {
            try read(Array(bytes[..<length]))
            accepted.append(length)
        } catch {}
    }
    #expect(accepted.isEmpty, "accepted when cut to these lengths, of \(bytes.count)", sourceLocation: sourceLocation)
}

extension PageLayout {
    /// An entry's whole key.
    func key(_ index: Int, _ bytes: Span<UInt8>) -> [UInt8] {
        var out: [UInt8] = []
        for at in prefix { out.append(bytes[at]) }
        for at in entries[index].rest { out.append(bytes[at]) }
        return out
    }
}
