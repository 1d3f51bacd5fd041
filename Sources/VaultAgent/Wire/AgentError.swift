/// Why a key, a message or an agent cannot be used, in one line without a line end that holds no secret.
package struct AgentError: Error, Equatable, Sendable {
    package enum Code: Sendable {
        /// Bytes that are not what they should be.
        case malformed
        /// A key or a request of a kind that this version does not know.
        case unsupported
        /// A request that the rules for its key or its connection forbid.
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
