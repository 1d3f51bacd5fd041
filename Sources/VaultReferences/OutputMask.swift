import VaultConsole
import VaultExchange
import VaultFmt

/// The values to mask in a program's output, and their replacement.
final class MaskedValues: Sendable {
    fileprivate let values: [SharedSecret]
    fileprivate let longest: Int
    /// For each byte, true if a value can begin with that byte.
    fileprivate let firsts: [Bool]
    /// A byte that does not occur in any value, so that a mask and the bytes around it never form a value.
    fileprivate let mark: UInt8

    /// The number of marks written for a value, whatever its length.
    private static let width = 8
    /// In a secret of several lines, lines shorter than this are not masked individually, because such text is common.
    private static let shortestLine = 8
    /// Candidates for the mask character, in order of preference.
    private static let marks =
        Array("*#+=~-._:;,!?%@^|/&$<>()[]{}".utf8) + Array(0x30...0x39) + Array(0x41...0x5A)
        + Array(0x61...0x7A) + [0x20]

    /// Masks each secret in several forms: as the program received it, without trailing newlines, with terminal line
    /// endings, and line by line.
    init(_ secrets: [SharedSecret]) throws {
        values = secrets.flatMap { Self.forms(of: $0.secret) }.filter { $0.count > 0 }
        longest = values.map(\.count).max() ?? 0
        var firsts = [Bool](repeating: false, count: 256)
        var used = [Bool](repeating: false, count: 256)
        for value in values {
            value.withBytes { bytes in
                if let first = bytes.first { firsts[Int(first)] = true }
                for byte in bytes { used[Int(byte)] = true }
            }
        }
        self.firsts = firsts
        guard let mark = Self.marks.first(where: { !used[Int($0)] }) else {
            throw CommandFailure(
                .unavailable, "the secrets contain every character that could mask them; pass fewer at once")
        }
        self.mark = mark
    }

    private static func forms(of secret: borrowing Secret) -> [SharedSecret] {
        secret.withUnsafeBytes { bytes in
            var forms = [SharedSecret(Secret(copying: bytes))]
            let end = bytes.lastIndex { $0 != 0x0A && $0 != 0x0D }.map { $0 + 1 } ?? 0
            if end < bytes.count { forms.append(SharedSecret(Secret(copying: bytes[..<end]))) }
            guard bytes[..<end].contains(0x0A) else { return forms }
            var carriage = SecretBuffer(capacity: bytes.count + 64)
            for byte in bytes[..<end] {
                if byte == 0x0A { carriage.append(0x0D) }
                carriage.append(byte)
            }
            forms.append(SharedSecret(carriage.secret()))
            for line in bytes[..<end].split(whereSeparator: { $0 == 0x0A || $0 == 0x0D })
            where line.count >= shortestLine {
                forms.append(SharedSecret(Secret(copying: line)))
            }
            return forms
        }
    }

    /// Returns the length of the longest value at the start of the bytes, or 0 if there is none.
    fileprivate func match(_ bytes: UnsafeRawBufferPointer) -> Int {
        values.reduce(0) { longest, value in
            guard value.count > longest, value.count <= bytes.count else { return longest }
            return value.withBytes { $0.elementsEqual(bytes[..<value.count]) } ? value.count : longest
        }
    }

    /// Returns whether the bytes are the beginning of a value, but not a complete value.
    fileprivate func canContinue(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard bytes.count < longest else { return false }
        return values.contains { value in
            value.count > bytes.count && value.withBytes { $0[..<bytes.count].elementsEqual(bytes) }
        }
    }

    fileprivate func writeMask(_ out: inout SecretBuffer) {
        for _ in 0..<Self.width { out.append(mark) }
    }
}

/// Replaces values in a stream of bytes, regardless of how the stream is divided: a possible beginning of a value is
/// held back until more is known. Overlapping values are masked completely.
struct OutputMask: ~Copyable {
    private let values: MaskedValues
    private var held = SecretBuffer()
    /// The number of bytes held back that belong to a value already found.
    private var covered = 0
    private var isInMask = false

    init(_ values: MaskedValues) { self.values = values }

    /// Processes the next bytes, and appends the output that may be shown.
    mutating func feed(_ bytes: UnsafeRawBufferPointer, into out: inout SecretBuffer) {
        held.append(bytes)
        advance(into: &out, isEnd: false)
    }

    /// Appends the remaining output, at the end of the stream.
    mutating func finish(into out: inout SecretBuffer) { advance(into: &out, isEnd: true) }

    private mutating func advance(into out: inout SecretBuffer, isEnd: Bool) {
        let (values, count) = (values, held.count)
        var (at, end, isInMask) = (0, covered, isInMask)
        held.withUnsafeBytes { bytes in
            while at < count {
                if at >= end, !values.firsts[Int(bytes[at])] {
                    // Most output takes this path.
                    let start = at
                    while at < count, !values.firsts[Int(bytes[at])] { at += 1 }
                    out.append(UnsafeRawBufferPointer(rebasing: bytes[start..<at]))
                    isInMask = false
                    continue
                }
                let rest = UnsafeRawBufferPointer(rebasing: bytes[at...])
                if !isEnd, values.canContinue(rest) { break }
                end = max(end, at + values.match(rest))
                if at >= end {
                    out.append(bytes[at])
                } else if !isInMask {
                    values.writeMask(&out)
                }
                isInMask = at < end
                at += 1
            }
        }
        covered = max(end - at, 0)
        self.isInMask = isInMask
        let rest = held.withUnsafeBytes { Secret(copying: UnsafeRawBufferPointer(rebasing: $0[at...])) }
        held.removeAll()
        held.append(rest)
    }
}
