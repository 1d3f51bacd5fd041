import FoundationEssentials

/// Times as other programs write them, in the vault's milliseconds since 1970.
enum ImportedTime {
    /// "2026-01-31T23:59:59.123Z", with or without a fraction, with any offset.
    static func milliseconds(rfc3339 text: String) -> Int64? {
        let whole = Date.ISO8601FormatStyle()
        for style in [
            whole.year().month().day().time(includingFractionalSeconds: true).timeZone(separator: .colon), whole,
        ] {
            do {
                return Int64(exactly: (try style.parse(text).timeIntervalSince1970 * 1000).rounded())
            } catch {
                continue
            }
        }
        return nil
    }

    /// A number since 1970: of milliseconds, as Firefox writes it, or of seconds, as Proton Pass does.
    static func milliseconds(number text: String) -> Int64? {
        guard let number = Int64(text) else { return nil }
        // As seconds, this is the year 5138; as milliseconds, March 1973.
        return (0..<100_000_000_000).contains(number) ? number * 1000 : number
    }
}
