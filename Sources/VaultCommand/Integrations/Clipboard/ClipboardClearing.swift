import ArgumentParser
import CVaultShim
import Crypto
import Glibc
import VaultConsole
import VaultExchange
import VaultFmt

/// Clears a secret from the clipboard. A separate process of this program, which has only a salted hash of the secret,
/// waits for the delay to pass.
enum ClipboardClearing {
    static let command = "__clear-clipboard"
    /// The salt, followed by the SHA-256 hash.
    static let digestLength = 16 + SHA256.byteCount
    /// The maximum number of bytes that are read back from a clipboard: the maximum size of a secret, plus one byte to
    /// detect longer contents.
    static let longestContents = 16 << 20 + 1

    /// Starts the process and does not wait for it.
    static func start(_ board: ClipboardTool, _ secret: borrowing Secret, after seconds: Int) throws {
        let salt = Secret.random(count: digestLength - SHA256.byteCount)
        let digest = digest(salt, secret)
        let pipe = try Pipe()
        let terminal = board == .terminal ? vault_open("/dev/tty", O_WRONLY | O_NOCTTY, 0) : -1
        defer { if terminal >= 0 { close(terminal) } }
        _ = try Subprocess.start(
            "/proc/self/exe", [command, board.rawValue, String(seconds)], input: pipe.reading,
            output: terminal >= 0 ? terminal : nil)
        pipe.closeReading()
        let failure = digest.withUnsafeBytes { pipe.write($0) }
        guard failure == 0 else {
            throw CommandFailure(
                .io, "the clipboard will not be cleared: \(Descriptor.message(failure)); clear it yourself")
        }
    }

    /// Returns the salt and the salted hash.
    static func digest(_ salt: borrowing Secret, _ secret: borrowing Secret) -> Secret {
        var hash = SHA256()
        salt.withUnsafeBytes { hash.update(bufferPointer: $0) }
        secret.withUnsafeBytes { hash.update(bufferPointer: $0) }
        var digest = SecretBuffer(capacity: digestLength)
        digest.append(salt)
        hash.finalize().withUnsafeBytes { digest.append($0) }
        return digest.secret()
    }

    /// Returns whether the clipboard may still hold the secret that the digest was made from. If the clipboard cannot
    /// be read, it is assumed to hold the secret.
    static func mayBeUnchanged(_ board: ClipboardTool, _ digest: borrowing Secret) -> Bool {
        guard board.canRead else { return true }
        let read: Secret?
        do { read = try board.contents(limit: longestContents) } catch { return true }
        guard let contents = read else { return true }
        return Self.digest(digest.prefix(digestLength - SHA256.byteCount), contents).equals(digest)
    }
}

/// The process that waits and clears the clipboard. It is internal, so it is not listed in the help.
struct ClearClipboard: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: ClipboardClearing.command,
        abstract: "Clear the clipboard after a delay if its contents match a hash on standard input.",
        shouldDisplay: false)

    @Argument var board: ClipboardTool
    @Argument var seconds: UInt32

    func run() throws {
        // Its own session lets it outlive the terminal. The call fails only if the process already leads a session.
        setsid()
        let digest = try Descriptor.readAll(STDIN_FILENO, name: "the hash", limit: ClipboardClearing.digestLength)
        guard digest.count == ClipboardClearing.digestLength else {
            throw CommandFailure(.usage, "no hash is given on standard input")
        }
        var left = seconds
        while left > 0 { left = sleep(left) }
        if ClipboardClearing.mayBeUnchanged(board, digest) { try board.clear() }
    }
}

extension ClipboardTool: ExpressibleByArgument {}
