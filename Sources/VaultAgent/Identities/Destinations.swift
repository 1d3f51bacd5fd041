/// A host on the way to which, or from which, a key may be used (PROTOCOL.agent in OpenSSH's sources).
struct DestinationHop: Hashable, Sendable {
    struct HostKey: Hashable, Sendable {
        let key: PublicKey
        /// Whether the key is that of an authority which certifies the host's key.
        let isAuthority: Bool
    }

    /// The name that certificates must have.
    let hostname: String
    /// A pattern for the user; nil if any user will do.
    let user: String?
    /// The keys that can be checked; a hop without any matches no host.
    let keys: [HostKey]

    /// Reads a hop; nil for the machine on which the agent runs.
    static func read(_ bytes: UnsafeRawBufferPointer) throws(AgentError) -> DestinationHop? {
        var reader = WireReader(bytes)
        let (user, hostname) = (try reader.text(), try reader.text())
        guard try reader.string().isEmpty else {
            throw AgentError(.unsupported, "a destination has a property that is not known")
        }
        guard hostname.isEmpty == reader.isAtEnd else { throw .malformed }
        // Decided before keys are left out: a hop whose keys cannot be checked is not this machine.
        guard !hostname.isEmpty else {
            guard user.isEmpty else { throw .malformed }
            return nil
        }
        return DestinationHop(hostname: hostname, user: user.isEmpty ? nil : user, keys: try keys(&reader))
    }

    /// Reads the keys of a host, without those of types that are not supported: `ssh-add -h` sends all that it knows.
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

    /// Returns whether a host that has proven this key is the one meant.
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

/// A step that a key may take: from one host to another.
struct Destination: Hashable, Sendable {
    /// Nil for the machine on which the agent runs.
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
            throw AgentError(.unsupported, "a destination has a property that is not known")
        }
        try reader.end()
        let origin = try DestinationHop.read(from)
        guard origin?.user == nil, let target = try DestinationHop.read(to) else { throw .malformed }
        return Destination(from: origin, to: target)
    }

    /// Returns whether the step is from one host to another, each nil if it does not matter.
    ///
    /// - `source`: The key of the host where the step begins; nil for the machine on which the agent runs.
    /// - `target`: The key of the host where it ends; nil if any will do.
    /// - `user`: The user there; nil if any will do.
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
