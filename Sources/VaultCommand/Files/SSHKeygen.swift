import Glibc
import VaultFmt
import VaultLocal

/// Decrypts OpenSSH private keys with `ssh-keygen`, because no usable library implements their key derivation,
/// bcrypt_pbkdf. While it runs, the encrypted and then the decrypted file are kept in memory-backed storage.
enum SSHKeygen {
    /// Returns a key file with its encryption removed, or nil if the passphrase does not open it or it is damaged.
    static func decrypted(
        _ key: borrowing Secret, _ passphrase: borrowing Secret, limit: Int, _ place: String
    ) throws -> Secret? {
        guard let program = Subprocess.find("ssh-keygen") else {
            throw CommandFailure(
                .unavailable,
                "\(place): 'ssh-keygen', which decrypts OpenSSH keys, is missing; install Debian's openssh-client")
        }
        MemoryFolder.sweepAndTell()
        // Ctrl-C also ends ssh-keygen; its files are wiped before this process exits.
        let signals = try HeldSignals()
        let folder = try MemoryFolder(instead: "decrypt a copy of the key first, with 'ssh-keygen -p -f FILE'")
        let found: Secret?
        do {
            found = try run(program, folder, key, passphrase, limit)
        } catch {
            folder.wipeAndTell()
            _ = consume signals
            throw error
        }
        folder.wipeAndTell()
        _ = consume signals
        return found
    }

    private static func run(
        _ program: String, _ folder: borrowing MemoryFolder, _ key: borrowing Secret, _ passphrase: borrowing Secret,
        _ limit: Int
    ) throws -> Secret? {
        try NewFile.create(folder.file, what: "file in memory", key)
        // ssh-keygen prompts through another program, which inherits its standard input and reads the passphrase from
        // there.
        let answers = folder.path + "/vaultfmt-askpass"
        guard let own = OwnProgram.path else {
            throw CommandFailure(.unavailable, "the path of this program, which answers ssh-keygen, is not known")
        }
        guard symlink(own, answers) == 0 else {
            throw CommandFailure(system: errno, "cannot create \(TerminalText.path(answers))")
        }
        let settings = [
            "SSH_ASKPASS": answers, "SSH_ASKPASS_REQUIRE": "force", "DISPLAY": ":", "VAULTFMT_ASKPASS": "-",
        ]
        let code = try Subprocess.feed(
            program, ["-q", "-p", "-N", "", "-f", folder.file], passphrase, settings: settings)
        guard code == 0 else { return nil }
        return try Descriptor.readFile(folder.file, what: "file in memory", limit: limit)
    }
}
