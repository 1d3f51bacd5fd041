internal import CVaultShim
internal import Glibc

/// A question to a person that an attached service has.
package struct AttachedQuestion: Sendable, Equatable {
    /// The service's number of it.
    package let number: UInt64
    /// It begins with a fixed word.
    package let text: String
    /// Whether it asks for the vault's passphrase: the answer is yes when the vault is open.
    package let opensVault: Bool

    package init(number: UInt64, text: String, opensVault: Bool = false) {
        (self.number, self.text, self.opensVault) = (number, text, opensVault)
    }
}

/// Another service in the process and the thread of the agent, such as the Secret Service.
package protocol AttachedService: AnyObject {
    /// What to wait for, as for poll(2); nil if for nothing.
    var wait: (descriptor: Int32, events: Int16)? { get }
    /// When to serve at the latest, in milliseconds of the agent's clock; nil if nothing expires.
    var nextEnd: UInt64? { get }
    /// Serves what there is, without waiting for any client, and for a bounded time. It is called before each wait.
    func serve(now: UInt64)
    /// Whether clients are served, in words for `agent status`.
    var state: String { get }
    /// Returns what has been done for whom since the last call, for `agent status`.
    func takeEvents() -> [(action: String, peer: AgentPeer)]

    /// Takes the next question to put to a person.
    func nextQuestion(now: UInt64) -> AttachedQuestion?
    /// Returns whether somebody still waits for the answer to a question.
    func isAwaited(_ question: UInt64) -> Bool
    /// Takes a person's answer.
    func take(_ answer: PersonAnswer, to question: UInt64, now: UInt64)

    /// Ends its connections. It is called before the agent's sockets are gone: whoever sees that may start another
    /// agent.
    func end()
}

extension AgentPeer {
    /// The name of a process's program, as the process states it: for people, and never to decide anything.
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
