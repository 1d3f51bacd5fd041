/// The limits on what a client may send, and on what is kept for it.
package enum BusLimits {
    /// The size in bytes of a secret, and of its encrypted form, which adds a block of parameters and up to a block of
    /// padding.
    package static let secret = 1 << 20
    package static let encryptedSecret = secret + 2 * 16
    /// The total size of the secrets in one reply, in bytes.
    static let secretsAtOnce = 4 << 20
    /// The number of values in a call, including nested ones; the total size of its text in bytes; and the depth to
    /// which its containers are nested. A secret counts as one value, and not as text.
    package static let values = 4096
    package static let text = 262_144
    package static let depth = 8

    /// The number of an item's lookup attributes, and the size of a name and of a value in bytes.
    static let attributes = 48
    static let attributeName = 240
    static let attributeValue = 4096
    /// The size of a label, a content type, a collection's name and an alias, in bytes.
    static let label = 1024
    static let contentType = 255
    static let collectionName = 255
    static let alias = 64

    /// The number of sessions of one client, and of all clients together. Some clients open a session for each item and
    /// never close it.
    static let clientSessions = 4096
    static let sessions = 16_384
    /// The number of prompts and waiting calls of one client, and of all clients together.
    static let clientPrompts = 16
    static let prompts = 256
    /// The number of items that one prompt can ask a person about, and the number in a single question.
    static let promptItems = 20
    static let questionItems = 5
    /// The number of prompts that hold a secret while they wait for a person: for one process, and for all processes
    /// together.
    static let processSecrets = 2
    static let waitingSecrets = 8
    package static let clients = 512
    static let aliases = 32
    /// The number of items for which a change of `Locked` is signalled, and the number of events that are kept until
    /// they are collected.
    static let lockSignals = 512
    static let events = 100
    /// The number of consecutive bus failures after which a connection is considered broken.
    static let busFailures = 16
    /// The number of bytes that may be waiting to be sent to the bus.
    static let unsent = 8 << 20
    /// The approximate size of a message without its values, in bytes.
    static let overhead = 256
    /// How long calls are served before other clients of the agent get their turn, in milliseconds.
    static let roundTime: UInt64 = 50
}

/// The limits on what is listed.
package struct ListingLimits: Sendable {
    /// The maximum number of items shown, and the number of items at which clients can no longer store new ones.
    var items = 16_384
    var itemsToStore = 8192
    /// The number of collections that are shown, and of collections without items that a client can create.
    var collections = 256
    var emptyCollections = 32

    package init() {}
}
