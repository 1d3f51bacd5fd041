internal import VaultFmt

/// What was asked of the agent, kept in memory: names only.
package struct AgentEvent: Sendable, Equatable {
    /// In seconds since 1970.
    package let time: UInt64
    /// The process that asked.
    package let process: UInt32
    /// The name of its program, as the process states it.
    package let program: String
    /// What was done, in words.
    package let action: String
}

/// The newest events.
struct AgentActivity {
    private(set) var events: [AgentEvent] = []
    private static let most = 100

    mutating func note(_ action: String, by peer: AgentPeer) {
        if events.count == Self.most { events.removeFirst() }
        events.append(
            AgentEvent(
                time: AgentClock.calendarTime(), process: peer.process, program: peer.program,
                action: KeyComment.shown(peer.isForwarded ? action + ", for another host" : action)))
    }
}

/// The process at the other end of a connection.
package struct AgentPeer: Sendable, Hashable {
    let process: UInt32
    let program: String
    /// Whether its request came, or may have come, from another host.
    var isForwarded = false

    package init(process: UInt32, program: String) {
        self.process = process
        self.program = program
    }
}
