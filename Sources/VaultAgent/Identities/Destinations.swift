/// A host to or from which a key may be used (PROTOCOL.agent in OpenSSH's sources).
struct DestinationHop: Hashable, Sendable {
    struct HostKey: Hashable, Sendable {
        let key: PublicKey
        /// True if this is the key of a certificate authority for the host.
        let isAuthority: Bool
    }

    /// The host name that certificates must contain.
    let hostname: String
    /// A pattern for the user name; nil matches any user.
    let user: String?
    /// The host keys whose types the agent supports; a hop without any such key matches no host.
    let keys: [HostKey]

    /// Reads a hop; returns nil for the machine that the agent runs on.
    static func read(_ bytes: UnsafeRawBufferPointer) throws(AgentError) -> DestinationHop? {
        var reader = WireReader(bytes)
        let (user, hostname) = (try reader.text(), try reader.text())
        guard try reader.string().isEmpty else {
            throw AgentError(.unsupported, "a destination has an unknown property")
        }
        guard hostname.isEmpty == reader.isAtEnd else { throw .malformed }
        // This is decided before unsupported keys are skipped: a hop left without keys must not be mistaken for this
        // machine.
        guard !hostname.isEmpty else {
            guard user.isEmpty else { throw .malformed }
            return nil
        }
        return DestinationHop(hostname: hostname, user: user.isEmpty ? nil : user, keys: try keys(&reader))
    }

    /// Reads a host's keys, skipping unsupported types: `ssh-add -h` sends every key that it knows for the host.
    private static func keys(_ reader: inout WireReader) throws(AgentError) -> [HostKey] {
        var keys: [HostKey] = []
        var count = 0
        while !reader.isAtEnd {
            guard count < AgentMessage.mostHostKeys else { throw .malformed }
            count += 1
            let (blob, isAuthority) = (try reader.bytes(), try reader.boolean())
            do throws(AgentError) {
                keys.append(HostKey(key: try PublicKey(blob: blob), isAuthority: isAuthority))
            } catch {
                guard error.code == .unsupported else { throw error }
            }
        }
        return keys
    }

    /// Returns whether this hop matches a host that has proven possession of the given key.
    func matches(_ presented: PresentedKey, at time: UInt64) -> Bool {
        keys.contains { expected in
            switch presented {
            case .plain(let key): !expected.isAuthority && expected.key == key
            case .certified(let certificate):
                expected.isAuthority && expected.key.blob == certificate.authority
                    && certificate.isValid(forHost: hostname, at: time)
            }
        }
    }
}

/// A hop from one host to another, for which a key may be used.
struct Destination: Hashable, Sendable {
    /// The host where the hop starts; nil for the machine that the agent runs on.
    let from: DestinationHop?
    let to: DestinationHop

    /// Reads the destinations in a constraint.
    static func readAll(_ bytes: UnsafeRawBufferPointer) throws(AgentError) -> [Destination] {
        var reader = WireReader(bytes)
        var all: [Destination] = []
        while !reader.isAtEnd {
            guard all.count < AgentMessage.mostDestinations else { throw .malformed }
            all.append(try read(try reader.string()))
        }
        return all
    }

    private static func read(_ bytes: UnsafeRawBufferPointer) throws(AgentError) -> Destination {
        var reader = WireReader(bytes)
        let (from, to) = (try reader.string(), try reader.string())
        guard try reader.string().isEmpty else {
            throw AgentError(.unsupported, "a destination has an unknown property")
        }
        try reader.end()
        let origin = try DestinationHop.read(from)
        guard origin?.user == nil, let target = try DestinationHop.read(to) else { throw .malformed }
        return Destination(from: origin, to: target)
    }

    /// Returns whether this destination permits a hop between two hosts.
    ///
    /// - `source`: The key of the host where the hop starts; nil for the machine that the agent runs on.
    /// - `target`: The key of the host where the hop ends; nil matches any host.
    /// - `user`: The user name on that host; nil matches any user.
    func permits(from source: PresentedKey?, to target: PresentedKey?, user: String?, at time: UInt64) -> Bool {
        if let source {
            guard let from, from.matches(source, at: time) else { return false }
        } else if from != nil {
            return false
        }
        if let target, !to.matches(target, at: time) { return false }
        if let user, let pattern = to.user, !Wildcard.matches(user, pattern: pattern) { return false }
        return true
    }
}
