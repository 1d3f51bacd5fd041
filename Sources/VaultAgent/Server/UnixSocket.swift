internal import CVaultShim
internal import Glibc
internal import VaultLocal

/// Sockets in the file system.
enum UnixSocket {
    /// Calls `body` with the socket address for a path. Throws `system` if the path is too long.
    static func withAddress<R>(
        _ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> R
    ) throws(AgentError) -> R {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(path.utf8)
        guard bytes.count < MemoryLayout.size(ofValue: address.sun_path), !bytes.contains(0) else {
            throw AgentError(.system, "the socket's path is too long: \(TerminalText.path(path))")
        }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }

    static func make() throws(AgentError) -> Int32 {
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else {
            throw AgentError(.system, "cannot create a socket: \(SystemText.error(errno))")
        }
        return descriptor
    }

    /// Makes a descriptor non-blocking, and keeps child processes from inheriting it.
    static func prepare(_ descriptor: Int32) {
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
    }

    /// Returns the user and the process at the other end of a connection; nil if the system does not report them.
    static func peer(of descriptor: Int32) -> (user: uid_t, process: pid_t)? {
        // `struct ucred`: the process, the user and the group.
        var credentials: (pid_t, uid_t, gid_t) = (0, 0, 0)
        var size = socklen_t(MemoryLayout.size(ofValue: credentials))
        guard getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &credentials, &size) == 0, size == 12 else { return nil }
        return (credentials.1, credentials.0)
    }

    /// Returns the process that is listening at a path; nil if there is none, or if it is in another namespace.
    static func owner(of path: String) -> pid_t? {
        do throws(AgentError) {
            let descriptor = try make()
            defer { close(descriptor) }
            prepare(descriptor)
            guard try withAddress(path, { connect(descriptor, $0, $1) }) == 0 else { return nil }
            return peer(of: descriptor).flatMap { $0.process > 0 ? $0.process : nil }
        } catch { return nil }
    }

    /// Returns the path of a listening stream socket; nil if the descriptor is anything other than such a socket in the
    /// file system.
    static func listeningPath(_ descriptor: Int32) -> String? {
        var isListening: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        guard getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &isListening, &size) == 0, isListening == 1 else {
            return nil
        }
        var type: Int32 = 0
        size = socklen_t(MemoryLayout<Int32>.size)
        guard getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &size) == 0, type == Int32(SOCK_STREAM.rawValue) else {
            return nil
        }
        var address = sockaddr_un()
        var length = socklen_t(MemoryLayout<sockaddr_un>.size)
        let result = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
        }
        guard result == 0, address.sun_family == sa_family_t(AF_UNIX) else { return nil }
        return withUnsafeBytes(of: address.sun_path) { path in
            // An abstract name begins with a zero byte, and is not in any folder that could be checked.
            guard path.first != 0 else { return nil }
            return String(decoding: path.prefix { $0 != 0 }, as: UTF8.self)
        }
    }
}

/// A listening socket. If this process created the socket, closing it also removes it.
final class ListeningSocket {
    let descriptor: Int32
    /// The path to remove; nil for a socket from systemd.
    let path: String?
    /// Identifies the file, so that another process's socket is not removed.
    private let file: (device: UInt64, number: UInt64)?
    private var isOver = false

    private static let backlog: Int32 = 64

    /// Creates a socket at a path in a checked folder, replacing any socket on which no process is listening.
    ///
    /// Throws `busy` if another process is listening there.
    init(at path: String) throws(AgentError) {
        try Self.removeStale(path)
        let descriptor = try UnixSocket.make()
        UnixSocket.prepare(descriptor)
        let before = umask(0o177)
        let result = try UnixSocket.withAddress(path) { bind(descriptor, $0, $1) }
        let number = errno
        umask(before)
        guard result == 0, listen(descriptor, Self.backlog) == 0 else {
            let number = result == 0 ? errno : number
            close(descriptor)
            throw AgentError(
                .system, "cannot create the socket \(TerminalText.path(path)): \(SystemText.error(number))")
        }
        self.descriptor = descriptor
        self.path = path
        file = Self.identity(path)
    }

    /// Takes over a socket created by systemd.
    private init(activated descriptor: Int32) {
        UnixSocket.prepare(descriptor)
        self.descriptor = descriptor
        path = nil
        file = nil
    }

    deinit { end() }

    /// Removes the socket, and then closes it: a client that finds the socket is either answered or told that nobody is
    /// listening.
    func end() {
        guard !isOver else { return }
        isOver = true
        if let path, let file, let now = Self.identity(path), now == file { unlink(path) }
        close(descriptor)
    }

    /// True if systemd has passed sockets to this process (sd_listen_fds(3)).
    static var isActivated: Bool {
        Environment.value("LISTEN_PID") == String(getpid()) && Environment.value("LISTEN_FDS") != nil
    }

    /// Returns the socket passed by systemd; nil if there is none.
    ///
    /// Throws `system` if systemd passed anything other than the socket at this path, or if other users can access the
    /// socket.
    static func activated(at path: String) throws(AgentError) -> ListeningSocket? {
        guard isActivated else { return nil }
        guard Environment.value("LISTEN_FDS") == "1" else { throw notPassed(path) }
        try checkPassed(3, path)
        // Child processes must not mistake the socket for theirs.
        for name in ["LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES", "LISTEN_PIDFDID"] { unsetenv(name) }
        return ListeningSocket(activated: 3)
    }

    /// Throws `system` unless the descriptor is the socket at this path and only this user can access that socket.
    static func checkPassed(_ descriptor: Int32, _ path: String) throws(AgentError) {
        guard let passed = UnixSocket.listeningPath(descriptor), let found = identity(passed),
            let expected = identity(path), found == expected
        else { throw notPassed(path) }
        var status = vault_status()
        guard vault_status_of(path, false, &status) == 0, status.owner == geteuid(), status.mode & 0o077 == 0 else {
            throw AgentError(
                .system,
                "others can use the socket \(TerminalText.path(path)); set SocketMode=0600 in the socket's unit")
        }
    }

    private static func notPassed(_ path: String) -> AgentError {
        AgentError(
            .system, "systemd must pass exactly one socket, \(TerminalText.path(path)); see the unit's ListenStream")
    }

    private static func removeStale(_ path: String) throws(AgentError) {
        var status = vault_status()
        guard vault_status_of(path, false, &status) == 0 else { return }
        guard status.mode & S_IFMT == S_IFSOCK else {
            throw AgentError(.system, "\(TerminalText.path(path)) is not a socket; remove it")
        }
        let descriptor = try UnixSocket.make()
        defer { close(descriptor) }
        UnixSocket.prepare(descriptor)
        let result = try UnixSocket.withAddress(path) { connect(descriptor, $0, $1) }
        guard result != 0, errno == ECONNREFUSED else {
            throw AgentError(.busy, "another agent uses \(TerminalText.path(path)); stop it first")
        }
        unlink(path)
    }

    private static func identity(_ path: String) -> (device: UInt64, number: UInt64)? {
        var status = vault_status()
        guard vault_status_of(path, false, &status) == 0 else { return nil }
        return (status.device, status.number)
    }
}
