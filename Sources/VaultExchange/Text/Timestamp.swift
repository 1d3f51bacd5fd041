import Glibc

/// Items' times: in milliseconds since 1970 in the vault, and in RFC 3339 form, in UTC, outside it.
package enum Timestamp {
    /// The number of milliseconds in a day.
    package static let day: Int64 = 86_400_000
    /// The times that text can express: the years 0 to 9999.
    package static let range: ClosedRange<Int64> = -62_167_219_200_000...253_402_300_799_999

    /// Returns text such as "2026-01-31T23:59:59.123Z"; years outside 0 to 9999 are clamped, because the file may
    /// contain any number.
    package static func text(_ milliseconds: Int64) -> String {
        let (calendar, rest) = split(milliseconds)
        return date(calendar) + "T" + two(calendar.tm_hour) + ":" + two(calendar.tm_min) + ":" + two(calendar.tm_sec)
            + "."
            + padded(Int32(rest), 3) + "Z"
    }

    /// Returns text such as "2026-01-31 23:59", in UTC, for tables.
    package static func short(_ milliseconds: Int64) -> String {
        let (calendar, _) = split(milliseconds)
        return date(calendar) + " " + two(calendar.tm_hour) + ":" + two(calendar.tm_min)
    }

    private static func split(_ milliseconds: Int64) -> (tm, Int64) {
        let clamped = min(max(milliseconds, range.lowerBound), range.upperBound)
        let rest = ((clamped % 1000) + 1000) % 1000
        var seconds = time_t((clamped - rest) / 1000)
        var calendar = tm()
        gmtime_r(&seconds, &calendar)
        return (calendar, rest)
    }

    private static func date(_ calendar: tm) -> String {
        padded(calendar.tm_year + 1900, 4) + "-" + two(calendar.tm_mon + 1) + "-" + two(calendar.tm_mday)
    }

    private static func two(_ value: Int32) -> String { padded(value, 2) }

    private static func padded(_ value: Int32, _ digits: Int) -> String {
        let text = String(value)
        return String(repeating: "0", count: max(0, digits - text.count)) + text
    }
}
