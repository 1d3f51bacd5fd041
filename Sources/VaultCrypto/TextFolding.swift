internal import CUtf8proc
import Glibc

/// Compares text as appropriate for a search: ignoring case, accents and variants of letters.
package enum TextFolding {
    /// Returns the form of the text used for comparison: "Café" and "CAFE" both become "cafe", "Straße" becomes
    /// "strasse".
    package static func folded(_ text: String) -> String {
        // Most names are ASCII.
        if text.utf8.allSatisfy({ $0 < 0x80 }) { return text.lowercased() }
        let options = [
            UTF8PROC_STABLE, UTF8PROC_DECOMPOSE, UTF8PROC_COMPAT, UTF8PROC_CASEFOLD, UTF8PROC_STRIPMARK,
        ].reduce(UInt32(0)) { $0 | UInt32($1.rawValue) }
        var text = text
        return text.withUTF8 { utf8 in
            var folded: UnsafeMutablePointer<UInt8>?
            let count = utf8proc_map(utf8.baseAddress, utf8.count, &folded, utf8proc_option_t(rawValue: options))
            defer { free(folded) }
            // The only possible failure is a lack of memory: valid UTF-8 can always be folded.
            guard count >= 0, let folded else { return String(decoding: utf8, as: UTF8.self) }
            return String(decoding: UnsafeBufferPointer(start: folded, count: count), as: UTF8.self)
        }
    }
}
