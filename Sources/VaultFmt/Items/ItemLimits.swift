internal import VaultBytes
internal import VaultStore

/// The limits that apply to every item, regardless of how it is created.
enum ItemLimits {
    /// Checks the limits that apply to every item.
    static func check(
        secretBytes: Int, _ attributes: Attributes, replacing old: Attributes = Attributes(), created: Int64?,
        modified: Int64?
    ) throws(VaultError) {
        guard secretBytes <= Format.Limit.secret else {
            throw VaultError(
                .limitExceeded, "a secret can be at most \(Format.Limit.secret) bytes long, not \(secretBytes)")
        }
        try attributes.check(replacing: old)
        for date in [created, modified] { try check(date: date ?? 0) }
    }

    static func check(date: Int64) throws(VaultError) {
        guard Format.Limit.time.contains(date) else {
            throw VaultError(.invalidArgument, "a date is more than 2^61 milliseconds from 1970")
        }
    }

    static func check(keptVersions count: Int) throws(VaultError) {
        guard (0...Format.Limit.earlierValues).contains(count) else {
            throw VaultError(
                .limitExceeded,
                "each field of an item can keep 0 to \(Format.Limit.earlierValues) earlier values, not \(count)")
        }
    }

    static let noDevice = VaultError(.deviceBound, "a device-only item needs the device's secret")
    static let groupTooLong = VaultError(
        .limitExceeded, "an access group's name can be at most \(Format.Limit.field) bytes long")
}
