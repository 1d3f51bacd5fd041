public import Foundation

/// Whether a program runs for the first time, as noted in `UserDefaults`: credentials that an installation before it
/// left can be wiped then.
public struct FirstRun {
    private let defaults: UserDefaults
    private let key: String

    /// Makes one that is noted in these defaults, under this name.
    public init(defaults: UserDefaults = .standard, key: String = "hasRunBefore") {
        self.defaults = defaults
        self.key = key
    }

    /// Removes all credentials if the program has not run before, and notes that it has.
    ///
    /// False if they cannot be removed; the next run tries again then.
    @discardableResult
    public func wipe<Credential>(_ credentials: CredentialRepository<Credential>) -> Bool {
        guard !defaults.bool(forKey: key) else { return true }
        guard credentials.deleteAll() else { return false }
        defaults.set(true, forKey: key)
        return defaults.synchronize()
    }
}
