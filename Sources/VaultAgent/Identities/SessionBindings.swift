internal import VaultFmt

/// The ssh sessions to which a connection to the agent is bound: the way that a request came.
///
/// ssh binds each connection to the session for which it asks, and one that it forwards to the session over which it
/// forwards it (`session-bind@openssh.com`). The host's signature of the session's identifier proves its key.
///
/// ssh goes on when a binding fails, and accepts hosts whose keys this agent cannot check. What follows may then come
/// from any host, which may bind the connection as if it were here: after a failure, the connection counts as forwarded,
/// on a way that is not known.
struct SessionBindings: Sendable {
    struct Session: Sendable {
        let host: PresentedKey
        let identifier: [UInt8]
        let isForwarding: Bool
    }

    private(set) var sessions: [Session] = []
    /// Whether a binding has failed, so that the way is not known.
    private var isBroken = false

    /// Whether requests come, or may come, from another host.
    var isForwarded: Bool { isBroken || sessions.contains { $0.isForwarding } }

    /// Binds the connection. Throws if the host has not proven its key, or if the session cannot follow those before.
    mutating func bind(_ reader: inout WireReader) throws(AgentError) {
        do throws(AgentError) { try record(&reader) } catch {
            isBroken = true
            throw error
        }
    }

    private mutating func record(_ reader: inout WireReader) throws(AgentError) {
        let host = try PresentedKey(blob: try reader.bytes())
        let identifier = try reader.bytes(limit: AgentMessage.longestSession)
        let signature = try reader.bytes()
        let isForwarding = try reader.boolean()
        try reader.end()
        guard !identifier.isEmpty, host.key.isValid(signature, of: identifier) else {
            throw AgentError(.refused, "the host has not signed the session's identifier")
        }
        for session in sessions {
            guard session.isForwarding else {
                throw AgentError(.refused, "the connection is bound to a session for authentication already")
            }
            guard session.identifier == identifier else { continue }
            guard session.host == host else {
                throw AgentError(.refused, "the session belongs to another host already")
            }
            return
        }
        guard sessions.count < AgentMessage.mostSessions else {
            throw AgentError(.refused, "the connection is bound to too many sessions")
        }
        sessions.append(Session(host: host, identifier: identifier, isForwarding: isForwarding))
    }

    /// Returns whether a key may be shown to this connection, or used by it.
    ///
    /// - `user`: The user to authenticate as; nil if the key is only listed.
    func permits(_ destinations: [Destination]?, user: String?, at time: UInt64) -> Bool {
        guard let destinations else { return true }
        guard !isBroken else { return false }
        guard let last = sessions.last else { return true }
        var source: PresentedKey?
        for (index, session) in sessions.enumerated() {
            let isLast = index == sessions.count - 1
            // The last session is that of the signature, all others lead to it.
            guard isLast ? !(session.isForwarding && user != nil) : session.isForwarding else { return false }
            let target = isLast ? user : nil
            guard
                destinations.contains(where: {
                    $0.permits(from: source, to: session.host, user: target, at: time)
                })
            else { return false }
            source = session.host
        }
        guard last.isForwarding, user == nil else { return true }
        // Hide a key that may be used to reach the host, but not from there.
        return destinations.contains { $0.permits(from: last.host, to: nil, user: nil, at: time) }
    }

    /// Checks that what is to be signed with a key bound to destinations is a request to authenticate over the session
    /// to which this connection was bound last.
    func check(_ request: AuthenticationRequest, _ destinations: [Destination], at time: UInt64) throws(AgentError) {
        guard let last = sessions.last else {
            throw AgentError(.refused, "the key is bound to destinations, and the connection to no session")
        }
        guard permits(destinations, user: request.user, at: time) else {
            throw AgentError(.refused, "the key must not be used for this destination")
        }
        guard request.session == last.identifier else {
            throw AgentError(.refused, "the signature is for another session than the connection")
        }
        if let host = request.hostKey {
            guard host == last.host.blob else {
                throw AgentError(.refused, "the signature is for another host than the connection")
            }
        } else if sessions.count > 1 {
            throw AgentError(.refused, "the signature for a forwarded connection does not name the host")
        }
    }
}

/// What a client signs to authenticate itself (RFC 4252, section 7; PROTOCOL in OpenSSH's sources).
struct AuthenticationRequest {
    let session: [UInt8]
    let user: String
    /// The host's key, in OpenSSH's form of the method.
    let hostKey: [UInt8]?

    private static let userAuthRequest: UInt8 = 50

    /// Parses the data to be signed with a key, or a certificate. Throws `refused` if it is anything else.
    init(_ data: UnsafeRawBufferPointer, for identity: [UInt8]) throws(AgentError) {
        do throws(AgentError) { self = try Self.read(data, for: identity) } catch {
            throw AgentError(.refused, "the key is bound to destinations, and may sign only authentication requests")
        }
    }

    private init(session: [UInt8], user: String, hostKey: [UInt8]?) {
        (self.session, self.user, self.hostKey) = (session, user, hostKey)
    }

    private static func read(
        _ data: UnsafeRawBufferPointer, for identity: [UInt8]
    ) throws(AgentError) -> AuthenticationRequest {
        var reader = WireReader(data)
        let session = try reader.bytes(limit: AgentMessage.longestSession)
        guard !session.isEmpty, try reader.byte() == userAuthRequest else { throw .malformed }
        let (user, service, method) = (try reader.text(), try reader.text(limit: 64), try reader.text(limit: 64))
        guard service == "ssh-connection", try reader.boolean() else { throw .malformed }
        let algorithm = try reader.text(limit: 64)
        guard try reader.bytes() == identity, isAlgorithm(algorithm, of: identity) else { throw .malformed }
        var hostKey: [UInt8]?
        switch method {
        case "publickey": break
        case "publickey-hostbound-v00@openssh.com": hostKey = try reader.bytes()
        default: throw .malformed
        }
        try reader.end()
        return AuthenticationRequest(session: session, user: user, hostKey: hostKey)
    }

    /// Returns whether an algorithm signs with the key of an identity.
    private static func isAlgorithm(_ name: String, of identity: [UInt8]) -> Bool {
        do throws(AgentError) {
            let own = try identity.withRawBytes { (bytes) throws(AgentError) -> String in
                var reader = WireReader(bytes)
                return try reader.text(limit: 64)
            }
            let (type, isCertificate) = try KeyType.named(own)
            guard type == .rsa else { return name == own }
            let suffix = isCertificate ? "-cert-v01@openssh.com" : ""
            return ["rsa-sha2-256", "rsa-sha2-512"].contains { name == $0 + suffix }
        } catch { return false }
    }
}
