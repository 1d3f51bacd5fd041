internal import VaultFmt
internal import VaultLocal

/// A request that a client made. Events are kept in memory and contain names only.
package struct AgentEvent: Sendable, Equatable {
    /// The time, in seconds since 1970.
    package let time: UInt64
    /// The process id of the client.
    package let process: UInt32
    /// The name of the client's program, as the process reports it.
    package let program: String
    /// A description of what was done.
    package let action: String
}

/// The newest events. The agent and the attached service have separate lists, so that a desktop program that reads its
/// passwords again and again does not push out the signatures, or the other way round.
struct AgentActivity {
    /// How a request reached the agent.
    enum Way: CaseIterable {
        case agent
        /// Through the attached service.
        case attached
    }

    private typealias Numbered = (number: UInt64, event: AgentEvent)

    private var lists: [Way: [Numbered]] = [:]
    private var last: UInt64 = 0

    /// The maximum number of events in each list. The events of all lists fit in one message, even if all their texts
    /// have the maximum length.
    static let most = 100
    static let longestProgram = 64
    static let longestAction = 512

    /// The events of all lists, oldest first.
    var events: [AgentEvent] { lists.values.joined().sorted { $0.number < $1.number }.map(\.event) }

    mutating func note(_ action: String, by peer: AgentPeer, way: Way = .agent) {
        let origin = peer.isForwarded ? ", for another host" : ""
        let event = AgentEvent(
            time: AgentClock.calendarTime(), process: peer.process,
            program: KeyComment.shown(peer.program, limit: Self.longestProgram),
            action: KeyComment.shown(action, limit: Self.longestAction - origin.utf8.count) + origin)
        last += 1
        var list = lists[way] ?? []
        if list.count == Self.most { list.removeFirst() }
        list.append((last, event))
        lists[way] = list
    }
}

/// The process at the other end of a connection.
package struct AgentPeer: Sendable, Hashable {
    let process: UInt32
    let program: String
    /// True if the process's request came, or may have come, from another host.
    var isForwarded = false

    package init(process: UInt32, program: String) {
        self.process = process
        self.program = program
    }
}

extension AgentPeer {
    /// Returns the question that asks for a vault's passphrase on behalf of this process. If the question would be too
    /// long to be shown, the vault's path is shortened or left out; otherwise, nobody could open the vault.
    package func passphraseQuestion(vault path: String) -> String {
        let way = isForwarded ? ", for another host" : ""
        let process = "\(TerminalText.quoted(program)) (process \(self.process))"
        for limit in [200, 100, 50] {
            let question = "Unlock the vault \(TerminalText.quoted(path, limit: limit)) for \(process)\(way)?"
            if QuestionText.fits(question) { return question }
        }
        return "Unlock the vault, whose path is too long to be shown, for \(process)\(way)?"
    }
}
