internal import VaultExchange
internal import VaultFmt

/// The sessions of all clients. A session is private to its client, and ends when the client leaves the bus.
struct ServiceSessions {
    /// The sessions by client name and session number.
    private var sessions: [String: [UInt64: SessionCipher]] = [:]
    private var last: UInt64 = 0

    /// Opens a session; returns the output for the client, and the session's path.
    ///
    /// - Throws: `NotSupported` for an unknown algorithm, after which clients try another one; `LimitsExceeded`;
    ///   `InvalidArgs` for an invalid public number; `Failed`.
    mutating func open(
        _ algorithm: String, _ input: BusValue, for client: BusClient
    ) throws(BusError) -> (output: BusValue, path: String) {
        guard sessions[client.name]?.count ?? 0 < BusLimits.clientSessions else {
            throw .limit("a program can have at most \(BusLimits.clientSessions) sessions")
        }
        guard sessions.values.reduce(0, { $0 + $1.count }) < BusLimits.sessions else {
            throw .limit("all programs together can have at most \(BusLimits.sessions) sessions")
        }
        switch algorithm {
        case ServiceName.plain: return (.text(""), add(.plain, client))
        case ServiceName.encrypted where KeyAgreement.isPossible():
            guard case .bytes(let theirs) = input else {
                throw .arguments("the session's input must be the client's public number")
            }
            let (ours, key) = try KeyAgreement.agree(with: theirs)
            return (.bytes(SharedSecret(Secret(copying: ours))), add(.encrypted(key), client))
        default: throw .notSupported("the algorithm is not supported")
        }
    }

    private mutating func add(_ cipher: SessionCipher, _ client: BusClient) -> String {
        last += 1
        sessions[client.name, default: [:]][last] = cipher
        return ServiceObject.session(last).path
    }

    /// Returns the cipher of a client's session. Throws `NoSession` if the client has no such session.
    func cipher(_ path: String, of client: BusClient) throws(BusError) -> SessionCipher {
        guard case .session(let number) = ServiceObject(path: path), let cipher = sessions[client.name]?[number]
        else { throw .noSession }
        return cipher
    }

    /// Returns whether a session belongs to a client.
    func has(_ number: UInt64, of client: BusClient) -> Bool { sessions[client.name]?[number] != nil }

    /// Closes a client's session. Throws `NoSession` if the client has no such session.
    mutating func close(_ number: UInt64, of client: BusClient) throws(BusError) {
        guard has(number, of: client) else { throw .noSession }
        sessions[client.name]?[number] = nil
    }

    /// Closes the sessions of a client that has left the bus.
    mutating func closeAll(of client: String) { sessions[client] = nil }
}
