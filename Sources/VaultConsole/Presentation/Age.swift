import ArgumentParser
import VaultExchange

/// A duration in days, weeks, months or years: `90d`, `26w`, `6m`, `2y`.
package struct Age: ExpressibleByArgument {
    /// The duration in milliseconds.
    package let milliseconds: Int64

    /// The number of milliseconds in a day.
    package static let day = Timestamp.day

    package init(days: Int64) { milliseconds = days * Self.day }

    package init?(argument: String) {
        let units: [Character: Int64] = ["d": 1, "w": 7, "m": 30, "y": 365]
        guard let last = argument.last, let days = units[last], let number = UInt16(argument.dropLast()), number > 0
        else { return nil }
        self.init(days: Int64(number) * days)
    }

    package var defaultValueDescription: String { "\(milliseconds / Self.day)d" }
}
