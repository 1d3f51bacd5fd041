internal import CVaultShim
internal import Glibc
internal import VaultLocal

/// The folder for the agent's sockets: `vaultfmt` in the user's runtime folder. No other user can enter it.
package struct SocketFolder: Sendable {
    package let path: String

    /// The socket of the agent protocol.
    package var agentSocket: String { path + "/agent.sock" }
    /// The socket of `vaultfmt agent status` and `vaultfmt lock`, which ssh never forwards.
    package var controlSocket: String { path + "/agent-control.sock" }

    /// The folder at a path. It need not exist.
    init(path: String) { self.path = path }

    /// Finds the folder, which need not exist. Throws `system` if the user has no runtime folder.
    package init() throws(AgentError) {
        let standard = "/run/user/\(geteuid())"
        guard let base = Environment.nonEmpty("XDG_RUNTIME_DIR") ?? Self.ifFolder(standard), base.hasPrefix("/") else {
            throw AgentError(
                .system,
                "there is no folder for sockets; set XDG_RUNTIME_DIR to a folder in memory that only you can access")
        }
        path = base + "/vaultfmt"
    }

    private static func ifFolder(_ path: String) -> String? {
        var status = vault_status()
        return vault_status_of(path, false, &status) == 0 && status.mode & S_IFMT == S_IFDIR ? path : nil
    }

    /// Creates the folder if it does not exist, and checks it. The returned descriptor holds the folder's lock, which
    /// only one agent can hold at a time.
    ///
    /// Throws `busy` if another agent holds the lock.
    func prepare() throws(AgentError) -> Int32 {
        try Self.check(Places.parent(of: path), isParent: true)
        if mkdir(path, 0o700) != 0, errno != EEXIST {
            throw AgentError(.system, "cannot create the folder \(TerminalText.path(path)): \(SystemText.error(errno))")
        }
        try check()
        let descriptor = vault_open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0)
        guard descriptor >= 0 else {
            throw AgentError(
                .system, "cannot use the folder \(TerminalText.path(path)): \(SystemText.error(-descriptor))")
        }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            close(descriptor)
            let process = UnixSocket.owner(of: controlSocket).map { " (process \($0))" } ?? ""
            throw AgentError(
                .busy,
                "another agent\(process) uses the folder \(TerminalText.path(path)); set SSH_AUTH_SOCK to "
                    + "\(TerminalText.path(agentSocket)) to use it, or stop it with 'vaultfmt agent stop'")
        }
        return descriptor
    }

    /// Throws `system` unless the folder belongs to this user and no other user can enter it.
    package func check() throws(AgentError) { try Self.check(path, isParent: false) }

    /// - `isParent`: Whether this is the parent of the sockets' folder. Other users may list the parent, and it is not
    ///   ours to remove or change, so the advice is to choose a different one.
    private static func check(_ path: String, isParent: Bool) throws(AgentError) {
        let elsewhere = isParent ? "set XDG_RUNTIME_DIR to a folder of your own" : nil
        var status = vault_status()
        guard vault_status_of(path, false, &status) == 0 else {
            throw AgentError(.system, "cannot use the folder \(TerminalText.path(path)): \(SystemText.error(errno))")
        }
        guard status.mode & S_IFMT == S_IFDIR else {
            throw AgentError(
                .system, "\(TerminalText.path(path)) is not a folder, but a link or a file; \(elsewhere ?? "remove it")"
            )
        }
        guard status.owner == geteuid() else {
            throw AgentError(
                .system,
                "the folder \(TerminalText.path(path)) belongs to user \(status.owner); \(elsewhere ?? "remove it")")
        }
        guard status.mode & (isParent ? 0o022 : 0o077) == 0 else {
            throw AgentError(
                .system,
                "others can \(isParent ? "change" : "enter") the folder \(TerminalText.path(path)); "
                    + (elsewhere ?? "run 'chmod 700' on it"))
        }
    }
}

/// The system's descriptions of errors.
enum SystemText {
    static func error(_ number: Int32) -> String {
        guard let text = strerror(number) else { return "error \(number)" }
        return String(cString: text)
    }
}
