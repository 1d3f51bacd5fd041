import VaultFmt
import VaultLocal

/// Decrypts the OpenSSH private keys of a source.
struct OpenSSHOpener {
    /// The source's name in messages.
    let name: String
    let access: SourceAccess

    /// Throws an error if the key derivation costs more than is allowed.
    func check(rounds: UInt32, _ place: String) throws {
        guard rounds <= access.limits.bcryptRounds else {
            throw ExchangeError(
                .overLimit,
                "\(place): the key requires more key derivation than allowed: rounds \(rounds), "
                    + "limit \(access.limits.bcryptRounds)", .allowRounds)
        }
    }

    /// Returns the decrypted form of a block with an encrypted key.
    func decrypted(_ block: borrowing Secret, _ place: String) throws -> SecretBuffer {
        let text = try access.factors.withPassphrase(for: name) { passphrase throws -> Secret in
            guard let passphrase = passphrase?.copy() else {
                throw ExchangeError(.invalidArgument, "this OpenSSH key needs a passphrase", .givePassphrase)
            }
            if let text = try access.factors.decryptedOpenSSH(block, passphrase, limit: PEMBlocks.longest, place) {
                return text
            }
            throw ExchangeError(
                .noAccess,
                "\(place): the passphrase does not open this OpenSSH key, or the key is damaged", .checkPassphrase)
        }
        var buffer = SecretBuffer(capacity: text.count)
        buffer.append(text)
        return buffer
    }
}
