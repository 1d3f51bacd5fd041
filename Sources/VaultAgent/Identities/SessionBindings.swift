internal import VaultFmt

/// The SSH sessions to which a connection to the agent is bound: the path along which a request came.
///
/// ssh binds each connection to the session for which ssh authenticates, and a forwarded connection to the session over
/// which it is forwarded (`session-bind@openssh.com`). The host proves its key by signing the session's identifier.
///
/// ssh continues even if a binding fails, and accepts hosts whose keys this agent cannot check. Later requests may then
/// come from any host, and that host may bind the connection as if it were local. Therefore, after a failure, the
/// connection is treated as forwarded along an unknown path.
struct SessionBindings: Sendable {
    struct Session: Sendable {
        let host: PresentedKey
        let identifier: [UInt8]
        let isForwarding: Bool
    }

    private(set) var sessions: [Session] = []
    /// True if a binding has failed, so that the path is unknown.
    private var isBroken = false

    /// True if requests come, or may come, from another host.
    var isForwarded: Bool { isBroken || sessions.contains { $0.isForwarding } }

    /// Binds the connection to a session. Throws if the host has not proven its key, or if the session cannot follow
    /// the earlier ones.
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
                throw AgentError(.refused, "the connection is already bound to a session for authentication")
            }
            guard session.identifier == identifier else { continue }
            guard session.host == host else {
                throw AgentError(.refused, "the session already belongs to another host")
            }
            return
        }
        guard sessions.count < AgentMessage.mostSessions else {
            throw AgentError(.refused, "the connection is bound to too many sessions")
        }
        sessions.append(Session(host: host, identifier: identifier, isForwarding: isForwarding))
    }

    /// Returns whether this connection may see or use a key.
    ///
    /// - `user`: The user to authenticate as; nil if the key is only listed.
    func permits(_ destinations: [Destination]?, user: String?, at time: UInt64) -> Bool {
        guard let destinations else { return true }
        guard !isBroken else { return false }
        guard let last = sessions.last else { return true }
        var source: PresentedKey?
        for (index, session) in sessions.enumerated() {
            let isLast = index == sessions.count - 1
            // The last session is the one to authenticate; all others lead to it.
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
        // Do not list a key that may be used to reach the host but not to go on from there.
        return destinations.contains { $0.permits(from: last.host, to: nil, user: nil, at: time) }
    }

    /// Checks that the data to be signed with a key that is bound to destinations is an authentication request for the
    /// session to which this connection was last bound.
    func check(_ request: AuthenticationRequest, _ destinations: [Destination], at time: UInt64) throws(AgentError) {
        guard let last = sessions.last else {
            throw AgentError(.refused, "the key is bound to destinations, but the connection is not bound to a session")
        }
        guard permits(destinations, user: request.user, at: time) else {
            throw AgentError(.refused, "the key must not be used for this destination")
        }
        guard request.session == last.identifier else {
            throw AgentError(.refused, "the signature is not for the session that the connection is bound to")
        }
        if let host = request.hostKey {
            guard host == last.host.blob else {
                throw AgentError(.refused, "the signature is not for the host that the connection is bound to")
            }
        } else if sessions.count > 1 {
            throw AgentError(.refused, "the signature for a forwarded connection does not name the host")
        }
    }
}

/// The data that a client signs to authenticate (RFC 4252, section 7; PROTOCOL in OpenSSH's sources).
struct AuthenticationRequest {
    let session: [UInt8]
    let user: String
    /// The host's key, present only in OpenSSH's variant of the method.
    let hostKey: [UInt8]?

    private static let userAuthRequest: UInt8 = 50

    /// Parses data to be signed with a key or certificate. Throws `refused` if it is not an authentication request.
    init(_ data: UnsafeRawBufferPointer, for identity: [UInt8]) throws(AgentError) {
        do throws(AgentError) { self = try Self.read(data, for: identity) } catch {
            throw AgentError(.refused, "the key is bound to destinations, so it may sign only authentication requests")
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

    /// Returns whether a signature algorithm belongs to an identity's key.
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
