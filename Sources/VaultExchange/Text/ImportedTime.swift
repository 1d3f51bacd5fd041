import FoundationEssentials

/// Parses times written by other programs into the vault's milliseconds since 1970.
package enum ImportedTime {
    /// Parses a date such as 2026-12-31, which means the end of that day in UTC, or a time in RFC 3339 form.
    package static func milliseconds(dayOrTime text: String) -> Int64? {
        milliseconds(rfc3339: text.utf8.count == 10 ? text + "T23:59:59Z" : text)
    }

    /// Parses a time such as "2026-01-31T23:59:59.123Z", with or without a fraction, with any offset.
    package static func milliseconds(rfc3339 text: String) -> Int64? {
        // Foundation parses February 30 as March 1, and uses the Julian calendar before October 1582, which shifts the
        // times that some programs use for "never". Therefore, Foundation parses only the time of day.
        guard let day = CivilDay.number(text.prefix(10)) else { return nil }
        let timeOfDay = "1970-01-01\(text.dropFirst(10))"
        let whole = Date.ISO8601FormatStyle()
        for style in [
            whole.year().month().day().time(includingFractionalSeconds: true).timeZone(separator: .colon), whole,
        ] {
            do {
                let time = Int64(exactly: (try style.parse(timeOfDay).timeIntervalSince1970 * 1000).rounded())
                return time.map { $0 + day * Timestamp.day }
            } catch {
                continue
            }
        }
        return nil
    }

    /// Parses a number counted from 1970: milliseconds, as in Firefox, or seconds, as in Proton Pass.
    package static func milliseconds(number text: String) -> Int64? {
        guard let number = Int64(text) else { return nil }
        // Interpreted as seconds, this is the year 5138; interpreted as milliseconds, it is March 1973.
        return (0..<100_000_000_000).contains(number) ? number * 1000 : number
    }
}
