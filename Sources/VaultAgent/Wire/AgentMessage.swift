/// The numbers and limits of the agent protocol (RFC 9987 and PROTOCOL.agent in OpenSSH's sources).
package enum AgentMessage {
    // Requests.
    /// The request to remove all keys for version 1 of the SSH protocol. Like ssh-agent, this agent does not support
    /// such keys, and removes all keys in response.
    static let removeAllIdentitiesOfVersion1: UInt8 = 9
    static let requestIdentities: UInt8 = 11
    static let signRequest: UInt8 = 13
    static let addIdentity: UInt8 = 17
    static let removeIdentity: UInt8 = 18
    static let removeAllIdentities: UInt8 = 19
    static let lock: UInt8 = 22
    static let unlock: UInt8 = 23
    static let addConstrained: UInt8 = 25
    static let `extension`: UInt8 = 27

    // Replies.
    static let failure: UInt8 = 5
    static let success: UInt8 = 6
    static let identitiesAnswer: UInt8 = 12
    static let signResponse: UInt8 = 14
    static let extensionFailure: UInt8 = 28
    static let extensionResponse: UInt8 = 29

    // Constraints of an added key.
    static let constrainLifetime: UInt8 = 1
    static let constrainConfirm: UInt8 = 2
    static let constrainExtension: UInt8 = 255
    static let restrictDestination = "restrict-destination-v00@openssh.com"

    // Extensions.
    static let query = "query"
    static let sessionBind = "session-bind@openssh.com"
    /// Extensions of the control socket, which ssh never forwards.
    static let status = "status@vaultfmt"
    static let lockVault = "lock@vaultfmt"
    static let stop = "stop@vaultfmt"

    // Flags of a signature.
    /// RSA keys use this hash by default.
    static let rsaSHA256: UInt32 = 2
    static let rsaSHA512: UInt32 = 4

    /// The maximum length of a message, not counting its length field, as in OpenSSH.
    package static let longest = 256 << 10
    /// The maximum number of keys to keep or to offer.
    package static let mostKeys = 256
    /// The maximum length of a key's comment.
    static let longestComment = 1024
    /// The maximum number of sessions that a connection can be bound to, and the maximum length of a session
    /// identifier, as in OpenSSH.
    static let mostSessions = 16
    static let longestSession = 128
    /// The maximum numbers of a key's destinations, and of a destination's host keys.
    static let mostDestinations = 1024
    static let mostHostKeys = 1024
}
