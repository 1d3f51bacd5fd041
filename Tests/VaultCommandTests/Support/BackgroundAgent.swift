import Foundation
import Testing

/// An agent in the background, and what its clients find in the environment.
final class BackgroundAgent {
    let sandbox: Sandbox
    private var pid: pid_t = 0

    convenience init(_ sandbox: Sandbox, _ options: String...) throws { try self.init(sandbox, options: options) }

    init(_ sandbox: Sandbox, options: [String]) throws {
        self.sandbox = sandbox
        sandbox.environment["XDG_RUNTIME_DIR"] = sandbox.folder
        let run = try sandbox.ok(["agent", "--daemon"] + options)
        for line in run.lines {
            let parts = line.split(separator: ";")[0].split(separator: "=", maxSplits: 1)
            let value = parts[1].trimmingCharacters(in: ["'"])
            sandbox.environment[String(parts[0])] = value
            if parts[0] == "SSH_AGENT_PID" { pid = pid_t(value) ?? 0 }
        }
    }

    var socket: String { sandbox.path("vaultfmt/agent.sock") }

    /// What `agent status` says of the vault.
    func state() throws -> String { try sandbox.ok("agent", "status").output }

    /// Ends the agent, and waits until its socket is gone.
    func end(_ signal: Int32 = SIGTERM) throws {
        kill(pid, signal)
        try Patience.untilEnd(of: pid)
        pid = 0
        #expect(access(socket, F_OK) != 0)
    }

    deinit { if pid > 0 { kill(pid, SIGKILL) } }
}
