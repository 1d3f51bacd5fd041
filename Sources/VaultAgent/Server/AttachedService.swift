internal import CVaultShim
internal import Glibc

/// A question that an attached service wants to ask a person.
package struct AttachedQuestion: Sendable, Equatable {
    /// The number that the service gave the question.
    package let number: UInt64
    /// The text, which begins with a fixed word.
    package let text: String
    /// True if the question is for the vault's passphrase; the answer is yes once the vault is open.
    package let opensVault: Bool

    package init(number: UInt64, text: String, opensVault: Bool = false) {
        (self.number, self.text, self.opensVault) = (number, text, opensVault)
    }
}

/// Another service that shares the agent's process and thread, such as the Secret Service.
package protocol AttachedService: AnyObject {
    /// The descriptor and events to wait for, as for poll(2); nil if there are none.
    var wait: (descriptor: Int32, events: Int16)? { get }
    /// When to call `serve` at the latest, in milliseconds of the agent's clock; nil if nothing expires.
    var nextEnd: UInt64? { get }
    /// Serves pending requests for a bounded time, without waiting for any client. It is called before each wait.
    func serve(now: UInt64)
    /// The service's state, as shown by `agent status`.
    var state: String { get }
    /// Returns the actions since the last call, each with the client for which it was performed, for `agent status`.
    func takeEvents() -> [(action: String, peer: AgentPeer)]

    /// Returns the next question to ask a person, and forgets it.
    func nextQuestion(now: UInt64) -> AttachedQuestion?
    /// Returns whether anyone is still waiting for the answer to a question.
    func isAwaited(_ question: UInt64) -> Bool
    /// Handles a person's answer.
    func take(_ answer: PersonAnswer, to question: UInt64, now: UInt64)

    /// Closes the service's connections. This is called before the agent's sockets are removed, because a program that
    /// finds the sockets gone may start another agent.
    func end()
}

extension AgentPeer {
    /// Returns the name of a process's program, as the process reports it. The name is only for display, and no
    /// decision may depend on it.
    package static func program(of process: Int32) -> String {
        let descriptor = vault_open("/proc/\(process)/comm", O_RDONLY, 0)
        guard descriptor >= 0 else { return "?" }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = read(descriptor, &bytes, bytes.count)
        guard count > 0 else { return "?" }
        return KeyComment.shown(bytes.prefix(count).prefix { $0 != UInt8(ascii: "\n") })
    }
}
