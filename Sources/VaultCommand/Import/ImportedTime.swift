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

    /// A number of milliseconds since 1970, as Firefox writes it.
    static func milliseconds(number text: String) -> Int64? { Int64(text) }
}
