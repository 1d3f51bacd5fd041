import Glibc
import VaultAge
import VaultArguments
import VaultConsole
import VaultFmt
import VaultLocal
import VaultReferences

/// The place where an age identity is stored: a vault and an item in it. A plugin identity contains this place, but no
/// secret.
struct StoredIdentity {
    /// The name of the plugin in age.
    static let plugin = "vaultfmt"

    /// The absolute path of the vault.
    let path: String
    /// The reference to the item: `vaultfmt:SERVICE/ACCOUNT`.
    let reference: String
    /// The path recorded in the identity. If it is empty, each user's default vault is used.
    private let storedPath: String

    /// - `vault`: The path given by the user.
    init(vault: String, reference: String) throws {
        _ = try Reference(reference)
        self.reference = reference
        path = try Self.absolute(vault)
        storedPath = try path == ThisMachine.current().places.standardVault ? "" : path
    }

    /// Parses the data of a plugin identity: the vault's path, a zero byte, and the reference.
    init(_ data: borrowing Secret) throws {
        // Neither the path nor the reference is secret.
        let parts = data.withUnsafeBytes { data in
            data.split(separator: 0, omittingEmptySubsequences: false).map { Array($0) }
        }
        guard parts.count == 2, let path = String(validating: parts[0], as: UTF8.self),
            let reference = String(validating: parts[1], as: UTF8.self), path.isEmpty || path.hasPrefix("/")
        else {
            throw CommandFailure(
                .damaged, "the identity does not name a vault and an item; create it again with 'vaultfmt age-plugin'")
        }
        _ = try Reference(reference)
        self.reference = reference
        self.path = try path.isEmpty ? ThisMachine.current().places.standardVault : path
        storedPath = path
    }

    /// The plugin identity that is written to the identity file.
    var identity: PluginIdentity {
        PluginIdentity(name: Self.plugin, data: Secret(text: "\(storedPath)\0\(reference)"))
    }

    /// Returns the identities in the item's secret: age identities, or an OpenSSH key.
    func identities(in vault: Vault) throws -> [any NativeIdentity] {
        let secret = try Reference(reference).value(in: vault)
        let place = TerminalText.quoted(reference)
        let file: IdentityFile
        do throws(AgeError) { file = try IdentityFile.read(secret) } catch {
            throw CommandFailure(.unavailable, "\(place) does not hold an age identity: \(error.detail)")
        }
        switch file {
        case .openSSH(let identity): return [identity]
        case .identities(let all):
            return try all.map { identity in
                guard case .native(let identity) = identity else {
                    throw CommandFailure(
                        .unavailable,
                        "\(place) holds a plugin identity; give it to age directly, because it does not need a vault")
                }
                return identity
            }
        case .encrypted, .encryptedOpenSSH:
            throw CommandFailure(
                .unavailable, "\(place) holds an encrypted key; store the decrypted key, because the vault encrypts it")
        }
    }

    private static func absolute(_ path: String) throws -> String {
        if path.hasPrefix("/") { return path }
        guard let resolved = realpath(path, nil) else {
            throw CommandFailure(system: errno, "cannot find the vault \(TerminalText.path(path))")
        }
        defer { free(resolved) }
        return String(cString: resolved)
    }
}
