import VaultAgent
import VaultConsole
import VaultFmt
import VaultLocal

/// The user's running agent.
enum RunningAgent {
    /// The number of seconds to wait for a reply; these requests do not wait for a person or anything else.
    private static let patience = 5

    /// Connects to the agent's control socket; returns nil if no agent is running.
    static func connect() throws -> AgentClient? {
        let folder: SocketFolder
        do throws(AgentError) { folder = try SocketFolder() } catch { return nil }
        guard try UserFiles.exists(folder.controlSocket) else { return nil }
        // Do not connect to another user's agent.
        try folder.check()
        do throws(AgentError) { return try AgentClient(folder.controlSocket, patience: patience) } catch {
            guard error.code == .unavailable else { throw error }
            return nil
        }
    }

    /// Connects to the agent's control socket; throws an error if no agent is running.
    static func required() throws -> AgentClient {
        guard let client = try connect() else {
            throw CommandFailure(.unavailable, "no agent is running; start one with 'vaultfmt agent'")
        }
        return client
    }

    /// Locks the agent's vault if it is the one at a path. A nil path, or one that cannot be resolved, means any vault.
    /// - Returns: Whether the agent's vault was open.
    static func lock(_ path: String?) throws -> Bool {
        guard let client = try connect() else { return false }
        return try client.lockVault(at: path.flatMap(Places.resolved))
    }
}
