/// The numbers and limits of the agent protocol (RFC 9987 and PROTOCOL.agent in OpenSSH's sources).
package enum AgentMessage {
    // Requests.
    /// Removes all keys of version 1 of the SSH protocol. ssh-agent, which has none either, removes all keys.
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
    /// That is what RSA keys use in any case.
    static let rsaSHA256: UInt32 = 2
    static let rsaSHA512: UInt32 = 4

    /// The longest message, without its length: the same as OpenSSH's.
    package static let longest = 256 << 10
    /// The most keys that are kept or offered.
    package static let mostKeys = 256
    /// The longest comment of a key.
    static let longestComment = 1024
    /// The most sessions to which a connection is bound, and the longest identifier of one: the same as OpenSSH's.
    static let mostSessions = 16
    static let longestSession = 128
    /// The most destinations of a key, and the most host keys of a destination.
    static let mostDestinations = 1024
    static let mostHostKeys = 1024
}
