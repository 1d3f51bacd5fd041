import CVaultShim
import Glibc
import VaultLocal

/// Factors that the agent no longer needs once the vault is open but would otherwise keep for as long as it runs:
/// passphrases in its environment, and descriptors that it inherited.
struct SpentFactors {
    /// The descriptors, with the identities of their files, because the number of a descriptor that has been read and
    /// closed may be reused for another file.
    private let inherited: [(descriptor: Int32, file: vault_status)]

    /// Records the descriptors before anything is read from them.
    init(descriptors: [Int32]) {
        inherited = descriptors.compactMap { descriptor in
            Self.status(descriptor).map { (descriptor, $0) }
        }
    }

    /// Wipes the passphrases, and closes the descriptors that are still open, except the standard ones.
    func forget() {
        for name in ["VAULTFMT_PASSPHRASE", "VAULTFMT_NEW_PASSPHRASE"] {
            if let value = getenv(name) { explicit_bzero(value, strlen(value)) }
            unsetenv(name)
        }
        for (descriptor, file) in inherited where descriptor > STDERR_FILENO {
            guard let now = Self.status(descriptor), now.device == file.device, now.number == file.number else {
                continue
            }
            close(descriptor)
        }
    }

    private static func status(_ descriptor: Int32) -> vault_status? {
        var status = vault_status()
        return vault_status_of_open(descriptor, &status) == 0 ? status : nil
    }
}
