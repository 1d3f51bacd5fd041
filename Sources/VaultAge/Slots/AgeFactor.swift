internal import VaultBytes
internal import VaultCrypto
public import VaultStore

/// The provider `age` (specification, section 9.3): age identities open its slots, and creating a slot requires only
/// recipients.
///
/// Pass a factor to `Factors(external:)`: with recipients to create a slot, or with identities to open one. A rotation
/// needs neither: it recreates each slot for the recipients that the slot stores for owners.
public final class AgeFactor: SlotFactor {
    /// The provider's name in slots.
    public static let name = "age"

    /// Converts a decoded recipient to one that can wrap file keys; the caller supplies the conversion for plugins.
    /// Throws `unsupportedRecipient` or `noPlugin`.
    public typealias Resolver = @Sendable (RecipientText) throws(AgeError) -> any Recipient

    private let recipients: [any Recipient]
    private let mixesLabels: Bool
    private let identities: [any Identity]
    private let resolver: Resolver
    private let lastFailure = Guarded<AgeError?>(nil)

    /// Creates a factor that creates and opens slots.
    ///
    /// - Parameters:
    ///   - recipients: The recipients of a new slot, each of which can open it. They must fit into 16,384 bytes, which
    ///     is enough for eight post-quantum recipients.
    ///   - mixesLabels: Whether recipients with different labels may share a slot, such as a post-quantum and a
    ///     classical one. The slot is then only as strong as its weakest recipient.
    ///   - identities: The identities that open slots, tried in this order.
    ///   - resolver: Converts the texts that are stored for owners to recipients during a rotation.
    public init(
        recipients: [any Recipient] = [], mixesLabels: Bool = false, identities: [any Identity] = [],
        resolver: @escaping Resolver = AgeFactor.native
    ) {
        self.recipients = recipients
        self.mixesLabels = mixesLabels
        self.identities = identities
        self.resolver = resolver
    }

    /// Resolves recipients that do not need another program, and throws `unsupportedRecipient` for plugins.
    public static let native: Resolver = { (text) throws(AgeError) in
        guard case .native(let recipient) = text else {
            throw AgeError(.unsupportedRecipient, "a plugin's recipient can be used only with that plugin")
        }
        return recipient
    }

    /// The provider's name.
    public var provider: String { Self.name }

    /// The reason why the last call failed, if an identity or a recipient was the cause. The vault's own error does not
    /// distinguish between a missing plugin and a missing touch.
    public var failure: AgeError? { lastFailure.withLock { $0 } }

    /// Creates a key for a new slot that each of the recipients can open.
    public func wrap(for slot: SlotPlace) throws(VaultError) -> WrappedKey {
        try noting { () throws(AgeError) in try wrapped(recipients, for: slot, mixesLabels: mixesLabels) }
    }

    /// Creates another key for the same recipients. Their labels were compared when the slot was created.
    public func rewrap(ownersData: [UInt8], for slot: SlotPlace) throws(VaultError) -> WrappedKey? {
        try noting { () throws(AgeError) in
            var same: [any Recipient] = []
            for text in try OwnersRecipients.decode(ownersData) { same.append(try resolver(text)) }
            return try wrapped(same, for: slot, mixesLabels: true)
        }
    }

    private func wrapped(
        _ recipients: [any Recipient], for slot: SlotPlace, mixesLabels: Bool
    ) throws(AgeError) -> WrappedKey {
        guard !recipients.isEmpty else { throw AgeError(.invalidRecipient, "a slot needs at least one recipient") }
        let fileKey = FileKey.random()
        var stanzas: [Stanza] = []
        var labels: Set<String>?
        for recipient in recipients {
            let made = try recipient.wrap(fileKey)
            guard mixesLabels || labels == nil || labels == made.labels else { throw Self.incompatible }
            labels = made.labels
            stanzas += made.stanzas
        }
        guard stanzas.count <= AgeLimit.stanzas else {
            throw AgeError(.tooLarge, "a slot can have at most \(AgeLimit.stanzas) recipients; add a second slot")
        }
        let parameters = Stanza.encode(stanzas)
        let data = OwnersRecipients.encode(recipients.map(\.text))
        guard parameters.count <= Format.Limit.providerParameters, data.count <= Format.Limit.providerData else {
            throw AgeError(.tooLarge, "these recipients do not fit into one slot; add a second slot")
        }
        return WrappedKey(
            parameters: parameters, ownersData: data, key: Self.externalKey(fileKey, slot.vault, slot.slot))
    }

    private static var incompatible: AgeError {
        AgeError(
            .incompatibleRecipients,
            "a slot cannot mix post-quantum and other recipients, or recipients to which plugins assign different labels, because it would be "
                + "only as strong as the weakest of them; add a separate slot for each kind, or allow mixing explicitly"
        )
    }

    /// Finds the keys of slots by trying the identities in order. Once an identity has found a key, the others are not
    /// tried, which avoids a second touch.
    public func unwrap(_ slots: [ExternalSlot], into candidates: inout KeyCandidates) throws(VaultError) {
        var found = FoundFileKeys(headers: slots.count)
        try noting { () throws(AgeError) in
            let headers = slots.map { Self.stanzas($0.parameters) }
            for identity in identities {
                try identity.unwrap(headers, into: &found)
                if slots.indices.contains(where: { found.count(for: $0) > 0 }) { return }
            }
        }
        for (index, slot) in slots.enumerated() {
            for position in 0..<found.count(for: index) {
                let key = Self.externalKey(found.key(position, for: index), slot.vault, slot.id)
                try candidates.add(key, for: index)
            }
        }
    }

    /// A slot with malformed parameters does not open, but it does not prevent other slots from opening.
    private static func stanzas(_ parameters: [UInt8]) -> [Stanza] {
        do throws(AgeError) { return try Stanza.decode(parameters) } catch { return [] }
    }

    /// Returns the external key: 32 bytes from which the slot key is derived.
    private static func externalKey(_ fileKey: borrowing FileKey, _ vault: [UInt8], _ slot: [UInt8]) -> Secret {
        fileKey.secret.derive(Label.age, vault + slot)
    }

    private func noting<R: ~Copyable>(_ body: () throws(AgeError) -> R) throws(VaultError) -> R {
        lastFailure.withLock { $0 = nil }
        do throws(AgeError) { return try body() } catch {
            lastFailure.withLock { $0 = error }
            throw VaultError(error.vaultCode, error.detail)
        }
    }
}

extension AgeError {
    /// Returns the vault's error code for a failure: an invalid argument or an external failure.
    var vaultCode: VaultError.Code {
        switch code {
        case .tooLarge: .limitExceeded
        case .malformedStanza, .invalidRecipient, .unsupportedRecipient, .invalidIdentity, .unsupportedIdentity,
            .incompatibleRecipients, .wrongPassphrase, .passphraseNeeded:
            .invalidArgument
        case .excessiveWork: .kdfLimit
        case .outOfMemory: .outOfMemory
        case .noPlugin, .pluginFailed, .cancelled, .timedOut, .noDevice: .io
        }
    }
}
