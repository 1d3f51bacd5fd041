import ArgumentParser
import VaultAgent
import VaultExchange
import VaultFmt
import VaultLocal

/// `agent status`.
struct AgentState: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show the running agent's vault and keys, and the requests of its clients.",
        discussion: """
            Also shows the agent's process and socket, and anything that cannot be offered. The agent keeps the names \
            of keys, programs and processes in memory, for the last 100 requests of SSH clients and the last 100 of \
            desktop programs. The vault is neither opened nor read. Without an agent, the command fails (exit 69).

            Examples:
              vaultfmt agent status
              vaultfmt agent status --json
            """)

    @Flag(help: "Write a JSON object.")
    var json = false

    func run() throws {
        let client = try RunningAgent.required()
        let status = try client.status()
        let socket = try SocketFolder().agentSocket
        guard json else { return try write(status, client.process, socket) }
        var writer = JSONWriter(Output.standard())
        try writer.object { writer in
            if let process = client.process { try writer.member("process", process) }
            try writer.member("socket", socket)
            try writer.members(of: status)
        }
        try writer.finish()
    }

    private func write(_ status: AgentStatus, _ process: Int32?, _ socket: String) throws {
        let output = Output.standard()
        var lines = ["vault: \(TerminalText.path(status.vault))"]
        lines.append(status.locked.isEmpty ? "open" : "locked: \(status.locked)")
        if !status.unreadable.isEmpty {
            lines.append("\(status.unreadable), since \(Self.time(status.unreadableSince))")
        }
        if let remaining = status.remaining { lines.append("locks in \(remaining) s") }
        if status.isClientLocked { lines.append("locked by 'ssh-add -x'; 'ssh-add -X' unlocks it") }
        lines.append("agent: \(process.map { "process \($0), " } ?? "")SSH_AUTH_SOCK=\(TerminalText.path(socket))")
        if !status.attached.isEmpty { lines.append("Secret Service: \(status.attached)") }
        if !status.asking.isEmpty { lines.append("asks with \(status.asking)") }
        lines.append("keys: \(status.offered) of the vault, \(status.added) added")
        lines += status.keys.map(Self.line)
        let more = Int(status.offered) + Int(status.added) - status.keys.count
        if more > 0 { lines.append("  and \(more) more") }
        if status.hidden > 0 {
            lines.append(
                "hidden: \(status.hidden) of the vault, removed by 'ssh-add'; they come back when the agent is started "
                    + "again, or has locked the vault and opens it again")
        }
        if status.listed > 0 { lines.append("listed while locked: \(status.listed) of the vault") }
        for text in status.omitted { lines.append("not offered: \(text)") }
        for text in status.warnings { lines.append("warning: \(text)") }
        for event in status.events {
            lines.append("\(Self.time(event.time))  \(event.program) (\(event.process)): \(event.action)")
        }
        for line in lines { try output.line(TerminalText.singleLine(line)) }
        try output.flush()
    }

    private static func line(_ key: AgentStatus.Key) -> String {
        var parts = ["  \(key.fingerprint) \(key.comment) (\(key.type))"]
        if key.isAdded { parts.append("added") }
        if key.hasCertificate { parts.append("with a certificate") }
        if key.needsConfirmation { parts.append("needs confirmation") }
        if key.isBound { parts.append("bound to destinations") }
        if let remaining = key.remaining { parts.append("for \(remaining) s") }
        return parts.joined(separator: ", ")
    }

    fileprivate static func time(_ seconds: UInt64) -> String {
        Timestamp.text(Int64(clamping: min(seconds, 1 << 40)) * 1000)
    }
}

extension JSONWriter {
    fileprivate mutating func members(of status: AgentStatus) throws {
        try member("vault", status.vault)
        if !status.locked.isEmpty { try member("locked", status.locked) }
        if !status.unreadable.isEmpty {
            try member("unreadable", status.unreadable)
            try member("unreadableSince", AgentState.time(status.unreadableSince))
        }
        if !status.attached.isEmpty { try member("secretService", status.attached) }
        if !status.asking.isEmpty { try member("asksWith", status.asking) }
        try member("agentLocked", status.isClientLocked)
        if let remaining = status.remaining { try member("remaining", remaining) }
        try member("offered", status.offered)
        try member("added", status.added)
        try member("hidden", status.hidden)
        try member("listedLocked", status.listed)
        try array("keys") { writer in
            for key in status.keys { try writer.object { writer in try writer.members(of: key) } }
        }
        try array("omitted") { writer in for text in status.omitted { try writer.value(text) } }
        try array("warnings") { writer in for text in status.warnings { try writer.value(text) } }
        try array("events") { writer in
            for event in status.events {
                try writer.object { writer in
                    try writer.member("time", AgentState.time(event.time))
                    try writer.member("process", event.process)
                    try writer.member("program", event.program)
                    try writer.member("action", event.action)
                }
            }
        }
    }

    private mutating func members(of key: AgentStatus.Key) throws {
        try member("name", key.comment)
        try member("type", key.type)
        try member("fingerprint", key.fingerprint)
        try member("added", key.isAdded)
        try member("certificate", key.hasCertificate)
        try member("confirm", key.needsConfirmation)
        try member("bound", key.isBound)
        if let remaining = key.remaining { try member("remaining", remaining) }
    }
}

/// `agent stop`.
struct AgentStop: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stop",
        abstract: "End the running agent.",
        discussion: """
            The keys in its memory are wiped. The command prints nothing, and returns when the agent's sockets are gone. If systemd created the socket, \
            the next request starts the agent again. Without an agent, the command fails (exit 69).

            Examples:
              vaultfmt agent stop
            """)

    func run() throws { try RunningAgent.required().stop() }
}
