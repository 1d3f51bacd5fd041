/// The reason a key, a message or an agent cannot be used. The message is a single line and contains no secrets.
package struct AgentError: Error, Equatable, Sendable {
    package enum Code: Sendable {
        /// The bytes do not have the expected form.
        case malformed
        /// The type of key or request is unknown to this version.
        case unsupported
        /// The rules for the key or the connection forbid the request.
        case refused
        /// There is no such key, or the agent is locked.
        case unavailable
        /// A socket or its folder cannot be used.
        case system
        /// Another agent uses the socket.
        case busy
    }

    package let code: Code
    package let message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    static let malformed = AgentError(.malformed, "the message is malformed")
}
