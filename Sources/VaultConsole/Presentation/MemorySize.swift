import ArgumentParser

/// An amount of memory: a number of MiB, or a number with a unit (`512KiB`, `64MiB`, `1GiB`).
package struct MemorySize: ExpressibleByArgument {
    /// The amount in KiB.
    package let kibibytes: UInt32

    package init?(argument: String) {
        let digits = argument.prefix { $0.isASCII && $0.isNumber }
        let unit = argument.dropFirst(digits.count).lowercased()
        let factors: [String: UInt32] = [
            "": 1024, "k": 1, "kib": 1, "m": 1024, "mib": 1024, "g": 1 << 20, "gib": 1 << 20,
        ]
        guard let number = UInt32(digits), let factor = factors[unit] else { return nil }
        let (product, overflow) = number.multipliedReportingOverflow(by: factor)
        guard !overflow else { return nil }
        kibibytes = product
    }

    /// Returns text such as "64 MiB".
    static func text(kibibytes: UInt32) -> String { text(bytes: UInt64(kibibytes) << 10) }

    /// Returns text such as "1.5 MiB".
    package static func text(bytes: UInt64) -> String {
        guard bytes >= 1024 else { return "\(bytes) B" }
        var value = Double(bytes) / 1024
        var unit = "KiB"
        for larger in ["MiB", "GiB", "TiB"] where value >= 1024 {
            value /= 1024
            unit = larger
        }
        let tenths = Int((value * 10).rounded())
        return tenths.isMultiple(of: 10) ? "\(tenths / 10) \(unit)" : "\(tenths / 10).\(tenths % 10) \(unit)"
    }
}
