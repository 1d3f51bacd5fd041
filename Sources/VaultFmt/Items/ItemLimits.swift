internal import VaultBytes
internal import VaultStore

/// The limits that every item keeps to, whoever makes it.
enum ItemLimits {
    /// Checks what every item must keep to.
    static func check(
        secretBytes: Int, _ attributes: Attributes, replacing old: Attributes = Attributes(), created: Int64?,
        modified: Int64?
    ) throws(VaultError) {
        guard secretBytes <= Format.Limit.secret else {
            throw VaultError(.limitExceeded, "a secret has at most \(Format.Limit.secret) bytes, not \(secretBytes)")
        }
        try attributes.check(replacing: old)
        for date in [created, modified] { try check(date: date ?? 0) }
    }

    static func check(date: Int64) throws(VaultError) {
        guard Format.Limit.time.contains(date) else {
            throw VaultError(.invalidArgument, "a date is more than 2^62 milliseconds from 1970")
        }
    }

    static func check(keptVersions count: Int) throws(VaultError) {
        guard (0...Format.Limit.versions).contains(count) else {
            throw VaultError(.limitExceeded, "an item keeps 0 to \(Format.Limit.versions) earlier values, not \(count)")
        }
    }

    static let noDevice = VaultError(.deviceBound, "an item for this device only needs the device's secret")
    static let groupTooLong = VaultError(
        .limitExceeded, "an access group's name has at most \(Format.Limit.field) bytes")
}
