internal import VaultFmt
internal import VaultLocal

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

/// The newest events. The agent and the attached service have a list each, so that a desktop program that reads its
/// passwords again and again does not crowd out who has signed, nor the other way round.
struct AgentActivity {
    /// How a request came.
    enum Way: CaseIterable {
        case agent
        /// By the attached service.
        case attached
    }

    private typealias Numbered = (number: UInt64, event: AgentEvent)

    private var lists: [Way: [Numbered]] = [:]
    private var last: UInt64 = 0

    /// How many events each list has. All of them, with texts of the greatest length, are told in one message.
    static let most = 100
    static let longestProgram = 64
    static let longestAction = 512

    /// The events of all lists, the newest last.
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
    /// Whether its request came, or may have come, from another host.
    var isForwarded = false

    package init(process: UInt32, program: String) {
        self.process = process
        self.program = program
    }
}

extension AgentPeer {
    /// The question for the passphrase of a vault, because this process needs something of it. A path is shortened, or
    /// left out, until the question can be shown whole: otherwise nobody could open the vault.
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
