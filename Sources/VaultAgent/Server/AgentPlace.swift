internal import Glibc

/// The place where an agent serves its clients: a folder, which no other agent can use while this object exists, and
/// the socket passed by systemd, if any. Both are checked before anyone is asked for a passphrase.
package final class AgentPlace {
    let folder: SocketFolder
    let activated: ListeningSocket?
    private var lock: Int32

    /// - Throws: `busy` if another agent uses the folder, `system` if the folder or the passed socket cannot be used.
    package init(_ folder: SocketFolder) throws(AgentError) {
        let lock = try folder.prepare()
        do throws(AgentError) { activated = try ListeningSocket.activated(at: folder.agentSocket) } catch {
            close(lock)
            throw error
        }
        self.folder = folder
        self.lock = lock
    }

    deinit { release() }

    /// Allows other agents to use the folder.
    func release() {
        if lock >= 0 { close(lock) }
        lock = -1
    }

    /// True if systemd has passed sockets to this process.
    package static var isActivated: Bool { ListeningSocket.isActivated }
}
