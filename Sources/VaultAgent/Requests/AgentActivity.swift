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

/// The state of an agent.
package struct AgentStatus: Sendable, Equatable {
    package let vault: String
    /// The reason why the vault is locked; empty if it is open.
    package let locked: String
    /// Whether a client has locked the agent with a password.
    package let isClientLocked: Bool
    /// For how many seconds the vault stays open; nil if that is not limited.
    package let remaining: UInt64?
    /// How many keys of the vault are offered, and how many were added.
    package let offered: UInt32
    package let added: UInt32
    /// What cannot be offered; the last line may be the number of those that are not named.
    package let omitted: [String]
    /// The newest last.
    package let events: [AgentEvent]

    private static let mostTexts = 512
    /// How much is told of what cannot be offered. Authors of items determine it, and the state must fit in a message.
    private static let mostOmitted = 64
    private static let longestOmitted = 512

    func encode(into out: inout [UInt8]) {
        out.append(text: vault)
        out.append(text: locked)
        out.append(isClientLocked ? 1 : 0)
        out.append(number64: remaining ?? .max)
        out.append(number: offered)
        out.append(number: added)
        out.append(number: UInt32(clamping: omitted.count))
        for text in omitted { out.append(text: text) }
        out.append(number: UInt32(clamping: events.count))
        for event in events {
            out.append(number64: event.time)
            out.append(number: event.process)
            out.append(text: event.program)
            out.append(text: event.action)
        }
    }

    init(
        vault: String, locked: String, isClientLocked: Bool, remaining: UInt64?, offered: UInt32, added: UInt32,
        omitted: [String], events: [AgentEvent]
    ) {
        self.vault = vault
        self.locked = KeyComment.shown(locked)
        self.isClientLocked = isClientLocked
        self.remaining = remaining
        self.offered = offered
        self.added = added
        self.omitted = Self.shown(omitted)
        self.events = events
    }

    private static func shown(_ omitted: [String]) -> [String] {
        let texts = omitted.prefix(mostOmitted).map { KeyComment.shown($0, limit: longestOmitted) }
        let more = omitted.count - texts.count
        return more == 0 ? texts : texts + ["and \(more) more"]
    }

    init(_ reader: inout WireReader) throws(AgentError) {
        vault = try reader.text()
        locked = try reader.text()
        isClientLocked = try reader.boolean()
        let end = try reader.number64()
        remaining = end == .max ? nil : end
        offered = try reader.number()
        added = try reader.number()
        var texts: [String] = []
        for _ in 0..<(try Self.count(&reader)) { texts.append(try reader.text()) }
        omitted = texts
        var all: [AgentEvent] = []
        for _ in 0..<(try Self.count(&reader)) {
            let (time, process) = (try reader.number64(), try reader.number())
            let (program, action) = (try reader.text(), try reader.text())
            all.append(AgentEvent(time: time, process: process, program: program, action: action))
        }
        events = all
        try reader.end()
    }

    private static func count(_ reader: inout WireReader) throws(AgentError) -> UInt32 {
        let count = try reader.number()
        guard count <= mostTexts else { throw .malformed }
        return count
    }
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
                action: KeyComment.shown(action)))
    }
}

/// The process at the other end of a connection.
package struct AgentPeer: Sendable, Hashable {
    let process: UInt32
    let program: String

    package init(process: UInt32, program: String) {
        self.process = process
        self.program = program
    }
}
