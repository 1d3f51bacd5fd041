import Glibc
import VaultFmt
import VaultLocal

/// Decrypts OpenSSH's private keys with `ssh-keygen`: its key derivation, bcrypt_pbkdf, is in no library that could be
/// used. The encrypted file, and then the decrypted one, are in memory-backed storage while it runs.
struct OpenSSHOpener {
    /// The source, as messages name it.
    let name: String
    let access: SourceAccess

    /// Refuses a key whose derivation takes more than is allowed.
    func check(rounds: UInt32, _ place: String) throws {
        guard rounds <= access.mostBcryptRounds else {
            throw CommandFailure(
                .overLimit,
                "\(place): the key asks for more key derivation than allowed: rounds \(rounds), "
                    + "limit \(access.mostBcryptRounds)")
        }
    }

    /// A block of an encrypted key, as it is without encryption.
    func decrypted(_ block: borrowing Secret, _ place: String) throws -> SecretBuffer {
        guard let program = Subprocess.find("ssh-keygen") else {
            throw CommandFailure(
                .unavailable,
                "\(place): 'ssh-keygen', which decrypts OpenSSH keys, is missing; install Debian's openssh-client")
        }
        guard let passphrase = try access.passphrase(for: name) else {
            throw CommandFailure(.usage, "an OpenSSH key opens with a passphrase; give --source-passphrase-file")
        }
        MemoryFolder.sweepAndTell()
        // Ctrl-C ends ssh-keygen too; what it leaves is wiped before this process ends.
        let signals = try HeldSignals()
        let folder = try MemoryFolder(instead: "decrypt a copy of the key first, with 'ssh-keygen -p -f FILE'")
        let found: SecretBuffer
        do {
            found = try run(program, folder, block, passphrase, place)
        } catch {
            folder.wipeAndTell()
            _ = consume signals
            throw error
        }
        folder.wipeAndTell()
        _ = consume signals
        return found
    }

    private func run(
        _ program: String, _ folder: borrowing MemoryFolder, _ block: borrowing Secret, _ passphrase: borrowing Secret,
        _ place: String
    ) throws -> SecretBuffer {
        try NewFile.create(folder.file, what: "file in memory", block)
        // ssh-keygen asks through a program, which gets its standard input: the passphrase.
        let answers = folder.path + "/vaultfmt-askpass"
        guard symlink("/proc/\(getpid())/exe", answers) == 0 else {
            throw CommandFailure(system: errno, "cannot make \(TerminalText.quoted(answers))")
        }
        let settings = [
            "SSH_ASKPASS": answers, "SSH_ASKPASS_REQUIRE": "force", "DISPLAY": ":", "VAULTFMT_ASKPASS": "-",
        ]
        let code = try Subprocess.feed(
            program, ["-q", "-p", "-N", "", "-f", folder.file], passphrase, settings: settings)
        guard code == 0 else {
            throw CommandFailure(
                .noAccess,
                "\(place): the passphrase does not open this OpenSSH key, or it is damaged; "
                    + "check --source-passphrase-file")
        }
        let text = try Descriptor.readFile(folder.file, what: "file in memory", limit: PEMBlocks.longest)
        var buffer = SecretBuffer(capacity: text.count)
        buffer.append(text)
        return buffer
    }
}
