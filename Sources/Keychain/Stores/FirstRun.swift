public import Foundation

/// Detects the first run of a program, as recorded in `UserDefaults`, so that credentials left by an earlier
/// installation can be removed.
public struct FirstRun {
    private let defaults: UserDefaults
    private let key: String

    /// Creates a check that is recorded under the given name in the given defaults.
    public init(defaults: UserDefaults = .standard, key: String = "hasRunBefore") {
        self.defaults = defaults
        self.key = key
    }

    /// Removes all credentials if the program has not run before, and records that it has.
    ///
    /// Returns false if the credentials cannot be removed; the next run then tries again.
    @discardableResult
    public func wipe<Credential>(_ credentials: CredentialRepository<Credential>) -> Bool {
        guard !defaults.bool(forKey: key) else { return true }
        guard credentials.deleteAll() else { return false }
        defaults.set(true, forKey: key)
        return defaults.synchronize()
    }
}
