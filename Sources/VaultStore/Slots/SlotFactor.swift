package import VaultBytes
public import VaultCrypto

/// A provider of one kind of external key. It makes 32 secret bytes for a new slot, and later recovers the same bytes
/// (section 3.1, *External keys*).
///
/// A vault calls a factor only if the caller passed it, and only for slots that name its provider. A file alone cannot
/// cause a provider to be called.
public protocol SlotFactor: Sendable {
    /// The provider's name in slots: 1 to 64 bytes of ASCII 33 to 126. Names without a dot are reserved for the
    /// specification.
    var provider: String { get }

    /// Makes a key for a new slot, or throws if that is impossible.
    func wrap(for slot: SlotPlace) throws(VaultError) -> WrappedKey

    /// Makes a new key for the slot that `ownersData` belongs to, without access to an identity, or returns nil if that
    /// is impossible.
    ///
    /// Called by a rotation, which drops the slot if the result is nil.
    func rewrap(ownersData: [UInt8], for slot: SlotPlace) throws(VaultError) -> WrappedKey?

    /// Finds the keys of slots. A provider may add any number of candidates for each slot; the first 16 are tried. It
    /// adds none for a slot that it cannot open.
    func unwrap(_ slots: [ExternalSlot], into candidates: inout KeyCandidates) throws(VaultError)
}

/// The slot for which a key is made. A provider can bind the key to it.
public struct SlotPlace: Sendable, Hashable {
    /// The vault's id, 16 bytes.
    public let vault: [UInt8]
    /// The slot's id, 16 bytes. A rotation does not change it.
    public let slot: [UInt8]

    package init(vault: Bytes16, slot: Bytes16) {
        self.vault = vault.bytes
        self.slot = slot.bytes
    }
}

/// The key that a provider made for a slot.
public struct WrappedKey: ~Copyable, Sendable {
    /// The data from which the provider finds the key, at most 16,384 bytes. It is not encrypted.
    public let parameters: [UInt8]
    /// The data for `rewrap`, at most 16,384 bytes. Only owners can read it.
    public let ownersData: [UInt8]
    /// The key, 32 bytes.
    public let key: Secret

    /// Creates the result of a provider's `wrap`.
    public init(parameters: [UInt8], ownersData: [UInt8], key: consuming Secret) {
        self.parameters = parameters
        self.ownersData = ownersData
        self.key = key
    }
}

/// The parts of a slot that are visible to its provider.
public struct ExternalSlot: Sendable, Equatable {
    /// The vault's id, 16 bytes.
    public let vault: [UInt8]
    /// The slot's id, 16 bytes.
    public let id: [UInt8]
    /// The parameters that the provider stored.
    public let parameters: [UInt8]
}

/// The keys that a provider found for several slots.
public struct KeyCandidates: ~Copyable {
    private(set) var keys: [[SecretBox]]

    init(slots: Int) { keys = Array(repeating: [], count: slots) }

    /// Adds a candidate for the slot at `index`; candidates beyond the sixteenth are ignored.
    ///
    /// - Parameters:
    ///   - key: The key, 32 bytes.
    ///   - index: The slot's index in the array that was passed to the factor.
    /// - Throws: `invalidArgument` if the key has another length or the slot is unknown.
    public mutating func add(_ key: consuming Secret, for index: Int) throws(VaultError) {
        guard key.count == Format.keySize else {
            throw VaultError(.invalidArgument, "a provider returned a key of \(key.count) bytes, not \(Format.keySize)")
        }
        guard keys.indices.contains(index) else {
            throw VaultError(.invalidArgument, "a provider returned a key for a slot that was not passed to it")
        }
        guard keys[index].count < Format.Limit.candidates else { return }
        keys[index].append(SecretBox(key))
    }
}
