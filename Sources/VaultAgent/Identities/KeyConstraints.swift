/// The constraints of a key that was added at run time.
struct KeyConstraints: Hashable, Sendable {
    /// The lifetime in seconds; nil if the key is kept until it is removed.
    var lifetime: UInt32?
    /// True if a person must agree to each signature.
    var needsConfirmation = false
    /// Where the key may be used; nil if it may be used anywhere.
    var destinations: [Destination]?

    /// Reads the constraints that follow a key. Throws `unsupported` for an unknown constraint, because ignoring it
    /// would allow more than the client intended.
    static func read(_ reader: inout WireReader) throws(AgentError) -> KeyConstraints {
        var constraints = KeyConstraints()
        while !reader.isAtEnd {
            switch try reader.byte() {
            case AgentMessage.constrainLifetime:
                guard constraints.lifetime == nil else { throw .malformed }
                let seconds = try reader.number()
                guard seconds > 0 else { throw .malformed }
                constraints.lifetime = seconds
            case AgentMessage.constrainConfirm:
                guard !constraints.needsConfirmation else { throw .malformed }
                constraints.needsConfirmation = true
            case AgentMessage.constrainExtension:
                guard try reader.text(limit: 256) == AgentMessage.restrictDestination else {
                    throw AgentError(.unsupported, "the key has an unknown constraint")
                }
                guard constraints.destinations == nil else { throw .malformed }
                constraints.destinations = try Destination.readAll(try reader.string())
            default: throw AgentError(.unsupported, "the key has an unknown constraint")
            }
        }
        return constraints
    }
}
