internal import VaultBytes
public import VaultCrypto

/// A kind of external key: makes 32 secret bytes for a new slot, and finds the same bytes again (section 3.1, *External
/// keys*).
///
/// A vault calls it with slots of its own provider only, and never because a file names it: the user gave it.
public protocol SlotFactor: Sendable {
    /// The provider that slots name: ASCII 33 to 126, 1 to 64 bytes. Names without a dot are reserved for the
    /// specification.
    var provider: String { get }

    /// Makes a key for a new slot. Throws whatever keeps it from doing so.
    func wrap() throws(VaultError) -> WrappedKey

    /// Makes another key for the slot that `ownersData` was made with, without anybody's identity, or returns nil where
    /// that cannot be done.
    ///
    /// A rotation calls it, and drops a slot for which it returns nil.
    func rewrap(ownersData: [UInt8]) throws(VaultError) -> WrappedKey?

    /// Finds the keys of slots: for each any number of candidates, of which the first 16 count. A slot that it cannot
    /// open gets none.
    func unwrap(_ slots: [ExternalSlot], into candidates: inout KeyCandidates) throws(VaultError)
}

/// What a provider has made for a slot.
public struct WrappedKey: ~Copyable, Sendable {
    /// At most 16,384 bytes: what the provider finds the key from. Anybody can read them.
    public let parameters: [UInt8]
    /// At most 16,384 bytes: what `rewrap` needs. Owners can read them.
    public let ownersData: [UInt8]
    /// 32 bytes.
    public let key: Secret

    /// Puts together what a provider has made.
    public init(parameters: [UInt8], ownersData: [UInt8], key: consuming Secret) {
        self.parameters = parameters
        self.ownersData = ownersData
        self.key = key
    }
}

/// A slot as its provider sees it.
public struct ExternalSlot: Sendable, Equatable {
    /// 16 bytes.
    public let id: [UInt8]
    /// What the provider stored.
    public let parameters: [UInt8]
}

/// The keys that a provider has found for several slots.
public struct KeyCandidates: ~Copyable {
    private(set) var keys: [[SecretBox]]

    init(slots: Int) { keys = Array(repeating: [], count: slots) }

    /// Adds a candidate for the slot at `index` of those that were asked for; one beyond the sixteenth is ignored.
    ///
    /// - Parameter key: 32 bytes.
    public mutating func add(_ key: consuming Secret, for index: Int) throws(VaultError) {
        guard key.count == Format.keySize else {
            throw VaultError(.invalidArgument, "a provider returned a key of \(key.count) bytes, not \(Format.keySize)")
        }
        guard keys.indices.contains(index) else {
            throw VaultError(.invalidArgument, "a provider named a slot that it was not given")
        }
        guard keys[index].count < Format.Limit.candidates else { return }
        keys[index].append(SecretBox(key))
    }
}
