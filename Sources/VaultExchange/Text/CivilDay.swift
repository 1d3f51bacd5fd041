/// Days of the proleptic Gregorian calendar.
enum CivilDay {
    /// Returns the number of a day, counted from 1970-01-01; nil if the date does not exist.
    static func number(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64? {
        guard (0...9999).contains(year), (1...12).contains(month), (1...31).contains(day) else { return nil }
        let number = unchecked(year, month, day)
        let next = month == 12 ? unchecked(year + 1, 1, 1) : unchecked(year, month + 1, 1)
        return number < next ? number : nil
    }

    /// Returns the number of the day in a text of the form "2024-01-31"; nil if the text is not a date.
    static func number(_ text: Substring) -> Int64? {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.map(\.utf8.count) == [4, 2, 2],
            parts.allSatisfy({ $0.utf8.allSatisfy { (0x30...0x39).contains($0) } })
        else { return nil }
        let numbers = parts.compactMap { Int64($0) }
        return numbers.count == 3 ? number(numbers[0], numbers[1], numbers[2]) : nil
    }

    /// Years begin in March, so that a leap day is the last day of a year.
    private static func unchecked(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
        let shifted = month <= 2 ? year - 1 : year
        let era = (shifted >= 0 ? shifted : shifted - 399) / 400
        let ofEra = shifted - era * 400
        let ofYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        return era * 146_097 + ofEra * 365 + ofEra / 4 - ofEra / 100 + ofYear - 719_468
    }
}
