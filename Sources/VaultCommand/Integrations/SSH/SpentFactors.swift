import CVaultShim
import Glibc
import VaultLocal

/// The factors that an agent has no use for when the vault is open, and which it would have for as long as it runs: the
/// passphrases in its environment, and the descriptors that it has inherited.
struct SpentFactors {
    /// The descriptors, with the files that they are: the numbers of those that are read and closed go to other files.
    private let inherited: [(descriptor: Int32, file: vault_status)]

    /// Notes the descriptors before anything is read from them.
    init(descriptors: [Int32]) {
        inherited = descriptors.compactMap { descriptor in
            Self.status(descriptor).map { (descriptor, $0) }
        }
    }

    /// Wipes the passphrases, and closes the descriptors that are still open, but for the standard ones.
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
