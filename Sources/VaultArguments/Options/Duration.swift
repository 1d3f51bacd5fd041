import ArgumentParser

/// A time span of at most 30 days: a number and a unit.
package struct Duration: ExpressibleByArgument {
    package let seconds: UInt32

    package init(seconds: UInt32) { self.seconds = seconds }

    package init?(argument: String) {
        let units: [Character: UInt32] = ["s": 1, "m": 60, "h": 3600, "d": 86_400]
        guard let last = argument.last, let unit = units[last], let number = UInt32(argument.dropLast()), number > 0
        else { return nil }
        let (product, overflow) = number.multipliedReportingOverflow(by: unit)
        guard !overflow, product <= 30 * 86_400 else { return nil }
        seconds = product
    }

    package var defaultValueDescription: String { text }

    /// The span in the largest unit that divides it evenly.
    package var text: String {
        for (unit, size) in [("d", 86_400), ("h", 3600), ("m", 60)] as [(String, UInt32)]
        where seconds.isMultiple(of: size) {
            return "\(seconds / size)\(unit)"
        }
        return "\(seconds)s"
    }
}
