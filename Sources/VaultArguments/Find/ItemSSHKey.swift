package import VaultAgent
import VaultConsole
import VaultExchange
package import VaultFmt

/// The SSH key in an item's secret.
package enum ItemSSHKey {
    /// Reads the key. Throws `CommandFailure`, which names the item, if the secret is of no use as a key: if it contains
    /// none, or one that is encrypted, damaged or of an unsupported type.
    package static func read(_ secret: borrowing Secret, of key: ItemKey) throws -> PrivateKey {
        do throws(AgentError) { return try StoredKey.read(secret) } catch { throw failure(error, key) }
    }

    /// Returns the failure for an error of `StoredKey`. Access to the vault, and the vault itself, are in order.
    static func failure(_ error: AgentError, _ key: ItemKey) -> CommandFailure {
        CommandFailure(.unavailable, "\(ItemText.summary(key)): \(error.message)")
    }
}
