internal import CUtf8proc
internal import VaultBytes

/// Normalizes passphrases to NFC without leaving copies in memory (section 3.1, R-3.18).
package enum Passphrase {
    package static func normalised(_ text: borrowing Secret) throws(CryptoError) -> Secret {
        guard (1...Format.Limit.passphrase).contains(text.count) else { throw .passphraseLength }
        if text.withUnsafeBytes({ bytes in bytes.allSatisfy { $0 < 0x80 } }) { return text.copy() }
        guard text.withUnsafeBytes({ isUTF8($0) }) else { throw .passphraseNotUTF8 }
        let points = try decomposed(text)
        return try composed(points)
    }

    /// Returns the canonically decomposed code points, four bytes each, followed by one unused element, because
    /// re-encoding writes a terminator.
    private static func decomposed(_ text: borrowing Secret) throws(CryptoError) -> Secret {
        let options = utf8proc_option_t(rawValue: UTF8PROC_STABLE.rawValue | UTF8PROC_COMPOSE.rawValue)
        // A character decomposes to at most 4 code points in NFD (Unicode's stability policy), and occupies at least
        // one byte.
        var points = try Secret(ifPossible: (text.count * 4 + 1) * 4)
        let capacity = text.count * 4
        let used = points.withUnsafeMutableBytes { out in
            text.withUnsafeBytes { text in
                utf8proc_decompose(
                    text.baseAddress?.assumingMemoryBound(to: UInt8.self), text.count,
                    out.baseAddress?.assumingMemoryBound(to: utf8proc_int32_t.self), capacity, options)
            }
        }
        guard used >= 0, used <= capacity else { throw .passphraseNotUTF8 }
        return points.slice(0..<(used + 1) * 4)
    }

    private static func composed(_ decomposed: borrowing Secret) throws(CryptoError) -> Secret {
        let options = utf8proc_option_t(rawValue: UTF8PROC_STABLE.rawValue | UTF8PROC_COMPOSE.rawValue)
        var points = decomposed.copy()
        let length = points.count / 4 - 1
        let bytes = points.withUnsafeMutableBytes { out in
            utf8proc_reencode(out.baseAddress?.assumingMemoryBound(to: utf8proc_int32_t.self), length, options)
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
