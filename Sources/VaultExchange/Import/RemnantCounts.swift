package import VaultFmt

/// The number of old records and old values that a transaction leaves behind.
package struct RemnantCounts {
    /// The old records of items.
    package private(set) var records = 0
    /// The old values of attributes that were sealed.
    package private(set) var values = 0
    /// The attribute, if there is exactly one old value and no old record.
    package private(set) var attribute: String?

    package init() {}

    package init(_ remnants: [Remnant]) {
        values = remnants.count { $0.attribute != nil }
        records = remnants.count - values
        if remnants.count == 1 { attribute = remnants[0].attribute }
    }
}
