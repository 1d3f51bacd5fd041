import Glibc
package import VaultFmt
import VaultLocal

/// Decrypts OpenSSH private keys with `ssh-keygen`, because no usable library implements their key derivation,
/// bcrypt_pbkdf. `ssh-keygen` rewrites the key in an in-memory file that has no path, so nothing remains if both
/// processes are killed.
package enum SSHKeygen {
    /// Returns a key file with its encryption removed, or nil if the passphrase does not open the key file or the file
    /// is damaged.
    package static func decrypted(
        _ key: borrowing Secret, _ passphrase: borrowing Secret, limit: Int, _ place: String
    ) throws -> Secret? {
        guard let program = Subprocess.find("ssh-keygen") else {
            throw CommandFailure(
                .unavailable,
                "\(place): 'ssh-keygen', which decrypts OpenSSH keys, is missing; install Debian's openssh-client")
        }
        MemoryFolder.sweepAndTell()
        // Ctrl-C also ends ssh-keygen; this process removes the folder before it exits.
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

    /// - `folder`: The folder that contains the link through which ssh-keygen finds this program. The folder holds no
    /// secret.
    private static func run(
        _ program: String, _ folder: borrowing MemoryFolder, _ key: borrowing Secret, _ passphrase: borrowing Secret,
        _ limit: Int
    ) throws -> Secret? {
        let file = try MemoryFile(key)
        // ssh-keygen prompts through another program, which inherits its standard input and reads the passphrase from
        // there.
        let answers = folder.path + "/vaultfmt-askpass"
        guard let own = OwnProgram.path else {
            throw CommandFailure(.unavailable, "the path of this program, which answers ssh-keygen, is unknown")
        }
        guard symlink(own, answers) == 0 else {
            throw CommandFailure(system: errno, "cannot create \(TerminalText.path(answers))")
        }
        let settings = [
            "SSH_ASKPASS": answers, "SSH_ASKPASS_REQUIRE": "force", "DISPLAY": ":", "VAULTFMT_ASKPASS": "-",
        ]
        let code = try Subprocess.feed(
            program, ["-q", "-p", "-N", "", "-f", MemoryFile.pathForChild], passphrase, kept: file.descriptor,
            settings: settings)
        guard code == 0 else { return nil }
        return try file.read(limit: limit)
    }
}
