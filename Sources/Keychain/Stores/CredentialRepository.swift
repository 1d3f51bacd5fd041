public import KeychainAccess
public import Logging

/// Credentials by type: a program defines its types once, in an enum, and stores a string for each.
///
/// ```swift
/// enum Credential: String, CaseIterable { case pin, token, currentUser }
/// let credentials = CredentialRepository<Credential>(service: "com.example.app")
/// credentials.storeCredential("1234", type: .pin)
/// ```
///
/// Calls return whether they succeeded. The reason for a failure is logged, without any secret, and is available as
/// `Keychain.lastFailure`.
public struct CredentialRepository<Credential>: Sendable
where Credential: CaseIterable & RawRepresentable & Sendable, Credential.RawValue == String {
    private let keychain: Keychain
    private let logger: Logger?

    /// Creates a repository that stores credentials as generic passwords of a service.
    public init(service: String, logger: Logger? = nil) {
        self.init(keychain: Keychain(service: service), logger: logger)
    }

    /// Creates a repository that stores credentials in a `Keychain`, with its access group, accessibility and other
    /// settings.
    public init(keychain: Keychain, logger: Logger? = nil) {
        self.keychain = keychain
        self.logger = logger
    }

    /// Stores a credential, replacing any existing one of this type. Returns false if it cannot be stored.
    @discardableResult
    public func storeCredential(_ string: String, type: Credential) -> Bool {
        logging("store", type) { try keychain.set(string, key: type.rawValue) } != nil
    }

    /// Returns the credential of the given type, or nil if it does not exist or cannot be read.
    public func getCredential(_ type: Credential) -> String? {
        logging("get", type) { try keychain.get(type.rawValue) } ?? nil
    }

    /// Removes the credential of the given type. Returns true even if there was no such credential, and false if it
    /// cannot be removed.
    @discardableResult
    public func delete(_ type: Credential) -> Bool {
        logging("delete", type) { try keychain.remove(type.rawValue) } != nil
    }

    /// Removes the credentials of all types, but nothing else that belongs to the service. Returns false if one of them
    /// cannot be removed.
    @discardableResult
    public func deleteAll() -> Bool { Credential.allCases.reduce(true) { isDone, type in delete(type) && isDone } }

    /// Runs an action; returns nil if it fails.
    private func logging<R>(_ action: StaticString, _ type: Credential, _ body: () throws -> R) -> R? {
        do {
            let result = try body()
            logger?.debug("credential", metadata: ["action": "\(action)", "type": "\(type.rawValue)"])
            return result
        } catch {
            let reason = Keychain.lastFailure ?? "\(error)"
            logger?.error(
                "credential failed",
                metadata: ["action": "\(action)", "type": "\(type.rawValue)", "reason": "\(reason)"])
            return nil
        }
    }
}
