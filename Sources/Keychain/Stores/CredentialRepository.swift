public import KeychainAccess
public import Logging

/// Credentials by type: a program names its types once, in an enum, and stores a text for each.
///
/// ```swift
/// enum Credential: String, CaseIterable { case pin, token, currentUser }
/// let credentials = CredentialRepository<Credential>(service: "com.example.app")
/// credentials.storeCredential("1234", type: .pin)
/// ```
///
/// Calls tell whether they did it; the reason goes to the logger, without a secret, and is in `Keychain.lastFailure`.
public struct CredentialRepository<Credential>: Sendable
where Credential: CaseIterable & RawRepresentable & Sendable, Credential.RawValue == String {
    private let keychain: Keychain
    private let logger: Logger?

    /// Keeps them as generic passwords of a service.
    public init(service: String, logger: Logger? = nil) {
        self.init(keychain: Keychain(service: service), logger: logger)
    }

    /// Keeps them in a `Keychain`, with its access group, accessibility and so on.
    public init(keychain: Keychain, logger: Logger? = nil) {
        self.keychain = keychain
        self.logger = logger
    }

    /// Stores a credential in place of the one of this type. False if it cannot be stored.
    @discardableResult
    public func storeCredential(_ string: String, type: Credential) -> Bool {
        logging("store", type) { try keychain.set(string, key: type.rawValue) } != nil
    }

    /// The credential of a type; nil if there is none, or it cannot be read.
    public func getCredential(_ type: Credential) -> String? {
        logging("get", type) { try keychain.get(type.rawValue) } ?? nil
    }

    /// Removes the credential of a type; true also if there was none. False if it cannot be removed.
    @discardableResult
    public func delete(_ type: Credential) -> Bool {
        logging("delete", type) { try keychain.remove(type.rawValue) } != nil
    }

    /// Removes the credentials of all types, and nothing else of the service. False if one of them cannot be removed.
    @discardableResult
    public func deleteAll() -> Bool { Credential.allCases.reduce(true) { isDone, type in delete(type) && isDone } }

    /// Nil if it failed.
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
