internal import CVaultShim
internal import Glibc
internal import VaultLocal

/// The service manager that started this process and is waiting to be told that the process is ready, as systemd does
/// for units with `Type=notify` (sd_notify(3)).
package struct ServiceManager: Sendable {
    private let socket: String

    /// Finds the service manager; returns nil if there is none. The variable is removed, so that child processes do not
    /// find it.
    package init?() {
        guard let name = Environment.nonEmpty("NOTIFY_SOCKET") else { return nil }
        socket = name
        unsetenv("NOTIFY_SOCKET")
    }

    /// Reports that clients can be served. Throws `system` if that fails, because the manager would otherwise kill this
    /// process after a while for no apparent reason. The variable may also be a leftover from a different service.
    package func tellReady() throws(AgentError) {
        let result = vault_notify(socket, "READY=1")
        guard result == 0 else {
            throw AgentError(
                .system, "cannot tell the service manager that the agent is ready: \(SystemText.error(-result))")
        }
    }

    /// Reports that this process is about to exit. It does not matter whether the manager receives this.
    package func tellStopping() { _ = vault_notify(socket, "STOPPING=1") }
}
