internal import Glibc
internal import VaultAgent

/// A connection to logind, for as long as it lasts.
final class LoginLink {
    private let bus: SystemBus
    private(set) var watch: SessionWatch
    /// The questions that have not been answered, by the numbers of their calls.
    private var asked: [UInt64: SessionWatch.Question] = [:]
    /// A descriptor that delays sleep while it is open; nil if sleep is not delayed.
    private var delay: Int32?

    /// The maximum number of questions without an answer. The system bus allows each connection 128 calls that are
    /// waiting for a reply, and refuses any more.
    private static let mostAsked = 64

    /// - `session`: The id of the session in which the agent was started.
    /// - Throws: `unavailable`.
    init(session: String?) throws(AgentError) {
        bus = try SystemBus()
        watch = SessionWatch(user: geteuid(), session: session)
        try ask()
    }

    deinit { endDelay() }

    var wait: (descriptor: Int32, events: Int16) { bus.wait }

    /// True if the system waits for this process before it goes to sleep.
    var delaysSleep: Bool { delay != nil }

    /// Waits until no event that locks the vault can be missed, and until it is known whether sleep can be delayed.
    /// Throws `unavailable` if that takes longer than the given number of milliseconds.
    func waitUntilWatching(_ longest: UInt64) throws(AgentError) {
        let end = AgentClock.now() + longest
        while !watch.isWatching || asked.values.contains(.delay) {
            let now = AgentClock.now()
            guard now < end else { throw AgentError(.unavailable, "systemd-logind does not answer") }
            guard try !serveNext() else { continue }
            let (descriptor, events) = wait
            var polled = pollfd(fd: descriptor, events: events, revents: 0)
            _ = poll(&polled, 1, Int32(clamping: end - now))
        }
    }

    /// Processes the next message; returns false if there is none. Throws `unavailable` if logind can no longer be
    /// followed.
    func serveNext() throws(AgentError) -> Bool {
        switch bus.next() {
        case .nothing: return false
        case .other: return true
        case .end: throw AgentError(.unavailable, "the system bus has closed the connection")
        case .message(let message):
            if watch.believes(message.sender) { try take(message) }
            return true
        }
    }

    /// Returns why the vault must be locked, and forgets the reason; nil if it need not be.
    func takeReason() -> String? { watch.takeReason() }

    /// Lets the machine sleep if it is about to; call this after the vault has been locked.
    func letSleep() { if watch.isAboutToSleep { endDelay() } }

    private func endDelay() {
        if let delay { close(delay) }
        delay = nil
    }

    // MARK: messages

    private func take(_ message: BusMessage) throws(AgentError) {
        if let number = message.repliedCall {
            guard let question = asked.removeValue(forKey: number) else { return }
            if question == .delay {
                endDelay()
                delay = message.isError ? nil : message.takeDescriptor()
            }
            var values: [BusValue]?
            if !message.isError, question != .delay { values = try self.values(of: message) }
            watch.answer(question, values)
        } else if message.kind == .signal {
            let signal = SessionWatch.Signal(
                path: message.path, interface: message.interface, member: message.member,
                values: try values(of: message))
            watch.take(signal)
        }
        try ask()
    }

    private func values(of message: BusMessage) throws(AgentError) -> [BusValue] {
        do throws(BusError) { return try message.values(most: SessionWatch.mostValues) } catch {
            throw AgentError(.unavailable, "a message from systemd-logind cannot be read: \(error.message)")
        }
    }

    private func ask() throws(AgentError) {
        if let failure = watch.failure { throw AgentError(.unavailable, failure) }
        for question in watch.takeQuestions(atMost: Self.mostAsked - asked.count) {
            let (method, arguments) = Self.call(question)
            guard let number = bus.call(method, arguments) else {
                throw AgentError(.unavailable, "the system bus cannot be used")
            }
            asked[number] = question
        }
    }

    /// Returns the method call that asks a question.
    private static func call(_ question: SessionWatch.Question) -> (BusMethod, [String]) {
        func bus(_ member: String) -> BusMethod {
            BusMethod(
                owner: SystemBus.daemon, path: "/org/freedesktop/DBus", interface: SystemBus.daemon, member: member)
        }
        func logind(_ member: String) -> BusMethod {
            BusMethod(
                owner: SessionWatch.logind, path: SessionWatch.object, interface: SessionWatch.manager, member: member)
        }
        return switch question {
        case .signals(let rule): (bus("AddMatch"), [rule])
        case .owner: (bus("GetNameOwner"), [SessionWatch.logind])
        case .sessions: (logind("ListSessions"), [])
        case .session(let path):
            (
                BusMethod(
                    owner: SessionWatch.logind, path: path, interface: SessionWatch.properties, member: "GetAll"),
                [SessionWatch.session]
            )
        case .delay: (logind("Inhibit"), ["sleep", "vaultfmt", "The vault is being locked", "delay"])
        }
    }
}
