internal import CVaultShim
internal import Glibc
internal import VaultLocal

/// The service manager that has started this process and waits to be told that it is ready, as systemd does for a unit of
/// `Type=notify` (sd_notify(3)).
package struct ServiceManager: Sendable {
    private let socket: String

    /// Finds the manager; nil if there is none. Programs that this one starts do not find it.
    package init?() {
        guard let name = Environment.nonEmpty("NOTIFY_SOCKET") else { return nil }
        socket = name
        unsetenv("NOTIFY_SOCKET")
    }

    /// Tells that clients are served. Throws `system` if that fails. A manager would then end this process after a while,
    /// and nobody would know why; but the name may also be left from a service that this process is not.
    package func tellReady() throws(AgentError) {
        let result = vault_notify(socket, "READY=1")
        guard result == 0 else {
            throw AgentError(
                .system, "cannot tell the service manager that the agent is ready: \(SystemText.error(-result))")
        }
    }

    /// Tells that this process ends. Whether the manager hears it makes no difference.
    package func tellStopping() { _ = vault_notify(socket, "STOPPING=1") }
}
