import VaultAgent
import VaultConsole
import VaultFmt
import VaultLocal

/// This user's running agent.
enum RunningAgent {
    /// For how many seconds it may leave a request unanswered: it asks nobody, and waits for nothing.
    private static let patience = 5

    /// Connects to its control socket; returns nil if there is none.
    static func connect() throws -> AgentClient? {
        let folder: SocketFolder
        do throws(AgentError) { folder = try SocketFolder() } catch { return nil }
        guard try UserFiles.exists(folder.controlSocket) else { return nil }
        // Another user's agent must not be asked.
        try folder.check()
        do throws(AgentError) { return try AgentClient(folder.controlSocket, patience: patience) } catch {
            guard error.code == .unavailable else { throw error }
            return nil
        }
    }

    /// Connects to its control socket; fails if there is none.
    static func required() throws -> AgentClient {
        guard let client = try connect() else {
            throw CommandFailure(.unavailable, "no agent is running; start one with 'vaultfmt agent'")
        }
        return client
    }

    /// Locks the vault of the agent, if it is the one at a path, or whichever it is if there is no path, or if nobody can
    /// tell where that leads.
    /// - Returns: Whether the agent had it open.
    static func lock(_ path: String?) throws -> Bool {
        guard let client = try connect() else { return false }
        return try client.lockVault(at: path.flatMap(Places.resolved))
    }
}
