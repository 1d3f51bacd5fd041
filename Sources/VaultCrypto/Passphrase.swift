internal import CUtf8proc
internal import VaultBytes

/// Normalizes passphrases to the NFC of Unicode 13.0 without leaving copies in memory (section 3.1, R-3.18).
///
/// The tables of utf8proc depend on its version. The NFC of code points that Unicode 13.0 assigns is the same in every
/// later version, so each run of assigned code points is normalized, and the code points between runs are copied
/// unchanged.
package enum Passphrase {
    package static func normalised(_ text: borrowing Secret) throws(CryptoError) -> Secret {
        guard (1...Format.Limit.passphrase).contains(text.count) else { throw .passphraseLength }
        if text.withUnsafeBytes({ bytes in bytes.allSatisfy { $0 < 0x80 } }) { return text.copy() }
        guard text.withUnsafeBytes({ isUTF8($0) }) else { throw .passphraseNotUTF8 }
        return try encoded(try composed(text))
    }

    /// Throws if a passphrase for a new slot, in NFC, contains a code point that Unicode 13.0 does not assign.
    package static func checkNew(_ text: borrowing Secret) throws(CryptoError) {
        let areAssigned = text.withUnsafeBytes { bytes in
            var position = 0
            while position < bytes.count {
                let (point, length) = codePoint(bytes, at: position)
                guard length > 0, isAssigned(point) else { return false }
                position += length
            }
            return true
        }
        guard areAssigned else { throw .passphraseUnassigned }
    }

    /// Returns the composed code points, four bytes each, followed by one unused element, because encoding writes a
    /// terminator.
    private static func composed(_ text: borrowing Secret) throws(CryptoError) -> Secret {
        // A character decomposes to at most 4 code points in NFD (Unicode's stability policy), and occupies at least
        // one byte.
        var points = try Secret(ifPossible: (text.count * 4 + 1) * 4)
        let used = points.withUnsafeMutableBytes { out in
            text.withUnsafeBytes { compose($0, into: out.bindMemory(to: utf8proc_int32_t.self)) }
        }
        guard let used else { throw .passphraseNotUTF8 }
        points.narrow(to: 0..<(used + 1) * 4)
        return points
    }

    /// Returns the number of code points written, or nil for text that utf8proc refuses.
    private static func compose(
        _ text: UnsafeRawBufferPointer, into points: UnsafeMutableBufferPointer<utf8proc_int32_t>
    ) -> Int? {
        let options = utf8proc_option_t(rawValue: UTF8PROC_STABLE.rawValue | UTF8PROC_COMPOSE.rawValue)
        var position = 0
        var used = 0
        while position < text.count {
            let (run, next) = run(text, from: position)
            let place = points.baseAddress.map { $0 + used }
            let start = text.baseAddress.map { ($0 + position).assumingMemoryBound(to: UInt8.self) }
            let decomposed = utf8proc_decompose(start, run, place, points.count - 1 - used, options)
            guard decomposed >= 0, decomposed <= points.count - 1 - used else { return nil }
            used += utf8proc_normalize_utf32(place, decomposed, options)
            position += run
            guard let next else { continue }
            points[used] = next.point
            used += 1
            position += next.length
        }
        return used
    }

    /// Returns the number of bytes from `start` that encode assigned code points, and the unassigned code point after
    /// this run, if any.
    private static func run(_ text: UnsafeRawBufferPointer, from start: Int) -> (
        bytes: Int, next: (point: utf8proc_int32_t, length: Int)?
    ) {
        var position = start
        while position < text.count {
            let (point, length) = codePoint(text, at: position)
            guard length > 0, isAssigned(point) else { return (position - start, (point, max(1, length))) }
            position += length
        }
        return (position - start, nil)
    }

    private static func codePoint(_ text: UnsafeRawBufferPointer, at position: Int) -> (
        point: utf8proc_int32_t, length: Int
    ) {
        var point: utf8proc_int32_t = 0
        let start = text.baseAddress.map { ($0 + position).assumingMemoryBound(to: UInt8.self) }
        let length = utf8proc_iterate(start, text.count - position, &point)
        return (point, length)
    }

    /// Returns whether Unicode 13.0 assigns a code point, that is, its Age property is at most 13.0.
    private static func isAssigned(_ point: utf8proc_int32_t) -> Bool {
        guard let scalar = UInt32(exactly: point).flatMap(Unicode.Scalar.init) else { return false }
        guard let age = scalar.properties.age else { return false }
        return age.major <= 13
    }

    private static func encoded(_ composed: consuming Secret) throws(CryptoError) -> Secret {
        var points = composed
        let length = points.count / 4 - 1
        let bytes = points.withUnsafeMutableBytes { out in
            utf8proc_reencode(out.baseAddress?.assumingMemoryBound(to: utf8proc_int32_t.self), length, UTF8PROC_STABLE)
        }
        guard bytes > 0 else { throw .passphraseNotUTF8 }
        return points.prefix(bytes)
    }

    private static func isUTF8(_ bytes: UnsafeRawBufferPointer) -> Bool {
        do {
            _ = try UTF8Span(validating: Span(_unsafeElements: bytes.assumingMemoryBound(to: UInt8.self)))
            return true
        } catch {
            return false
        }
    }
}
