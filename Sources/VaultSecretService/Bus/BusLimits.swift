/// The bounds on what a client may send, and on what is kept for it.
package enum BusLimits {
    /// The bytes of a secret, and of its encrypted form.
    package static let secret = 1 << 20
    package static let encryptedSecret = secret + 16
    /// The bytes of all secrets in an answer.
    static let secretsAtOnce = 4 << 20
    /// The values in a call, counting those within others; the bytes of all of its text; the depth of its containers. A
    /// secret counts as one value, and not as text.
    package static let values = 4096
    package static let text = 262_144
    package static let depth = 8

    /// An item's lookup attributes, and the bytes of a name and of a value.
    static let attributes = 48
    static let attributeName = 240
    static let attributeValue = 4096
    /// The bytes of a label, of a content type, of a collection's name and of an alias.
    static let label = 1024
    static let contentType = 255
    static let collectionName = 255
    static let alias = 64

    /// Sessions of a client, and of all: some clients open one for each item, and close none.
    static let clientSessions = 4096
    static let sessions = 16_384
    /// Prompts and waiting calls of a client, and of all.
    static let clientPrompts = 16
    static let prompts = 256
    /// The items that a prompt asks a person about, and those in one question.
    static let promptItems = 20
    static let questionItems = 5
    /// Prompts that keep a secret until a person has answered: of a process, and of all.
    static let processSecrets = 2
    static let waitingSecrets = 8
    package static let clients = 512
    static let aliases = 32
    /// The items whose change of `Locked` is signalled, and the events that are kept until they are taken.
    static let lockSignals = 512
    static let events = 100
    /// Failures of the bus in a row after which its connection counts as broken.
    static let busFailures = 16
    /// The bytes that wait to be sent to the bus.
    static let unsent = 8 << 20
    /// About the bytes of a message without its values.
    static let overhead = 256
    /// For how many milliseconds calls are served before other clients of the agent.
    static let roundTime: UInt64 = 50
}

/// The bounds on what is listed.
package struct ListingLimits: Sendable {
    /// Items that are shown, and with how many of them clients can store no more.
    var items = 16_384
    var itemsToStore = 8192
    /// Collections that are shown, and those without items that a client can make.
    var collections = 256
    var emptyCollections = 32

    package init() {}
}
