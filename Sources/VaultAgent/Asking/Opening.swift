internal import Glibc
package import VaultExchange
package import VaultFmt

/// A process of this program that derives the vault's key from a typed passphrase. The derivation can take several
/// seconds, during which the agent serves its other clients.
///
/// The process gets a socket as its standard input and output. It reads the passphrase, writes an answer of at most
/// ``longestAnswer`` bytes, and exits; only the command knows what the answer means.
package final class Opening {
    /// The maximum lengths in bytes of a passphrase and of the message that contains it. The message consists of the
    /// passphrase's length, in two bytes with the lower one first, and the passphrase.
    package static let longestPassphrase = PinentryDialog.longestPassphrase
    package static let longestMessage = 2 + longestPassphrase
    /// The maximum length of an answer in bytes; any further bytes are not read.
    package static let longestAnswer = 4096
    /// How long the process may take, in milliseconds.
    static let patience: UInt64 = 120_000

    private let process: Int32
    /// The agent's end of the socket; nil once the answer is complete.
    private var socket: Int32?
    private var answer = Secret(count: Opening.longestAnswer)
    private var count = 0
    private var isOver = false
    /// When to abandon the process, in milliseconds of the agent's clock.
    let end: UInt64

    /// Starts the process and sends it the passphrase.
    ///
    /// - `start`: Starts the process as the leader of a process group, with a socket as its standard input and output,
    ///   and returns the process id.
    static func start(
        _ passphrase: SharedSecret, now: UInt64, by start: (_ socket: Int32) throws(AgentError) -> Int32
    ) throws(AgentError) -> Opening {
        guard passphrase.count <= longestPassphrase else {
            throw AgentError(.unavailable, "the passphrase is longer than \(longestPassphrase) bytes")
        }
        var pair: [Int32] = [-1, -1]
        let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, kind, 0, &pair) == 0 else {
            throw AgentError(.system, "no file descriptors are left for the process that derives the vault's key")
        }
        let (own, others) = (pair[0], pair[1])
        defer { close(others) }
        let process: Int32
        do throws(AgentError) { process = try start(others) } catch {
            close(own)
            throw error
        }
        let opening = Opening(process, own, end: now + patience)
        guard opening.tell(passphrase) else {
            throw AgentError(.system, "the process that derives the vault's key did not read the passphrase")
        }
        return opening
    }

    private init(_ process: Int32, _ socket: Int32, end: UInt64) {
        (self.process, self.socket, self.end) = (process, socket, end)
        _ = fcntl(socket, F_SETFL, O_NONBLOCK)
    }

    deinit { abandon() }

    /// Sends the passphrase, and closes the socket for writing. This never waits: the message is shorter than the
    /// socket's buffer, so a short write means that the process has ended. Returns false in that case.
    private func tell(_ passphrase: SharedSecret) -> Bool {
        guard let socket else { return false }
        var message = SecretBuffer(capacity: Self.longestMessage)
        message.append(UInt8(truncatingIfNeeded: passphrase.count))
        message.append(UInt8(truncatingIfNeeded: passphrase.count >> 8))
        message.append(passphrase.secret)
        let flags = Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT)
        let sent = message.withUnsafeBytes { send(socket, $0.baseAddress, $0.count, flags) }
        return sent == message.count && shutdown(socket, Int32(SHUT_WR)) == 0
    }

    /// Returns the passphrase in a message that the process has read to its end; nil if the message is incomplete.
    package static func passphrase(in message: borrowing Secret) -> SharedSecret? {
        guard message.count >= 2 else { return nil }
        let length = message.withUnsafeBytes { Int($0[0]) | (Int($0[1]) << 8) }
        guard message.count == 2 + length else { return nil }
        return SharedSecret(message.slice(2..<message.count))
    }

    /// The descriptor to poll; nil once the answer is complete.
    var descriptor: Int32? { socket }

    /// True if the process has written its answer, or has ended without one.
    var hasAnswered: Bool { socket == nil }

    /// Reads what the process has written so far.
    func readAnswer() {
        while let socket {
            let used = count
            let got = answer.withUnsafeMutableBytes { bytes -> Int in
                let rest = UnsafeMutableRawBufferPointer(rebasing: bytes[used...])
                return read(socket, rest.baseAddress, rest.count)
            }
            if got < 0, errno == EINTR { continue }
            if got < 0, errno == EAGAIN { return }
            // An error means that the process has ended. Nothing more is read into a full buffer.
            guard got > 0 else { return closeSocket() }
            count += got
        }
    }

    /// Passes the answer so far to a function; the answer is empty if the process has ended without one.
    func withAnswer<R, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
        let used = count
        return try answer.withUnsafeBytes { (bytes) throws(E) -> R in
            try body(UnsafeRawBufferPointer(rebasing: bytes[..<used]))
        }
    }

    /// Kills the process, waits for its end, and wipes its answer.
    func abandon() {
        guard !isOver else { return }
        isOver = true
        kill(-process, SIGKILL)
        while waitpid(process, nil, 0) < 0, errno == EINTR {}
        closeSocket()
        answer = Secret(count: 0)
        count = 0
    }

    private func closeSocket() {
        if let socket { close(socket) }
        socket = nil
    }
}
