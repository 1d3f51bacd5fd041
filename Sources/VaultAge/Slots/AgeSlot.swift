internal import VaultCrypto
public import VaultFmt

/// The contents of a slot of the provider `age`: its stanza types, which everyone can see, and its recipients, which
/// only owners can see.
public struct AgeSlot: Sendable {
    /// The types of the slot's stanzas, in order, which show the kinds of its recipients. Empty if its parameters are
    /// malformed.
    public let stanzaTypes: [String]
    /// The recipients for which the slot was created, in order; nil unless an owner opened the vault.
    public let recipients: [RecipientText]?

    /// Returns nil for a slot of another provider. Throws `invalidRecipient` if the data stored for owners is
    /// malformed.
    public init?(_ slot: SlotInfo) throws(AgeError) {
        guard slot.provider == AgeFactor.name, let parameters = slot.providerParameters else { return nil }
        do throws(AgeError) { stanzaTypes = try Stanza.decode(parameters).map(\.type) } catch { stanzaTypes = [] }
        recipients = try slot.providerData.map(OwnersRecipients.decode)
    }

    /// True if the slot is safe from quantum computers because they can open none of its stanzas; nil if that depends
    /// on a plugin and no other stanza is classical.
    public var isPostQuantum: Bool? {
        if stanzaTypes.contains(where: Self.classical.contains) { return false }
        return !stanzaTypes.isEmpty && stanzaTypes.allSatisfy(Self.postQuantum.contains) ? true : nil
    }

    /// The stanza types of C2SP age.md, age's SSH keys and well-known plugins that are based on elliptic curves or RSA.
    private static let classical: Set = [
        X25519Recipient.type, SSHEd25519Recipient.type, "ssh-rsa", "p256tag", "piv-p256",
    ]
    private static let postQuantum: Set = [HybridRecipient.type, "mlkem768p256tag"]
}

/// The data that an age slot stores for owners: its recipients, one per line.
enum OwnersRecipients {
    static func encode(_ recipients: [String]) -> [UInt8] { recipients.flatMap { Array("\($0)\n".utf8) } }

    static func decode(_ bytes: [UInt8]) throws(AgeError) -> [RecipientText] {
        var lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        guard lines.popLast()?.isEmpty == true, (1...AgeLimit.stanzas).contains(lines.count) else {
            throw AgeError(.invalidRecipient, "the data that the slot stores for owners is not a list of recipients")
        }
        var all: [RecipientText] = []
        for line in lines { all.append(try RecipientText(String(decoding: line, as: UTF8.self))) }
        return all
    }
}
