package import VaultBytes

/// A state of a vault that a program can remember, in order to detect that the file was rolled back, forked, or
/// replaced by someone else (specification, section 7.2).
public struct Anchor: Hashable, Sendable, LosslessStringConvertible {
    /// How the current state relates to an anchor. The cases are checked in this order.
    public enum Verdict: Sendable, Hashable {
        /// The current state has a different owners' key, to which no hand-over leads: someone else made it.
        case foreign
        /// The current state is the anchor's own state.
        case same
        /// The current state is older than the anchor's state: the file was rolled back.
        case older
        /// The current state is a descendant of the anchor's state.
        case descends
        /// The file no longer contains enough information to decide.
        case unprovable
        /// The current state has a different history.
        case forked
    }

    /// The vault.
    public let vault: VaultID
    /// The state's generation, which is at least 1 and greater than that of every state before it.
    public let generation: UInt64
    /// The chain value, 32 bytes.
    public let chain: [UInt8]
    /// The public key of the vault's owners.
    public let owners: OwnersPublicKey

    package let value: Bytes32

    package init(vault: VaultID, generation: UInt64, chain: Bytes32, owners: OwnersPublicKey) {
        self.vault = vault
        self.generation = generation
        self.chain = chain.bytes
        self.owners = owners
        value = chain
    }

    /// Parses `VAULT:GENERATION:CHAIN:OWNERS`, as written by `description`; returns nil for anything else.
    public init?(_ description: String) {
        let parts = description.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 4, let vault = VaultID(hex: String(parts[0])), let generation = UInt64(parts[1]),
            generation >= 1,
            "\(generation)" == parts[1], let chain = Hex.decode(parts[2]).flatMap({ Bytes32($0) }),
            let owners = OwnersPublicKey(String(parts[3]))
        else { return nil }
        self.init(vault: vault, generation: generation, chain: chain, owners: owners)
    }

    /// `VAULT:GENERATION:CHAIN:OWNERS`: the vault's id, 32 hexadecimal digits; the generation, decimal; the chain value
    /// and the owners' public key, 64 hexadecimal digits each. This form will not change.
    public var description: String { "\(vault):\(generation):\(Hex.encode(chain)):\(owners)" }
}

/// The public key of a vault's owners. It is the same for all slots, and changes with a rotation (specification,
/// section 3.4).
///
/// It is not secret. A program that knows it can refuse a vault made by someone else without having seen the vault
/// before.
public struct OwnersPublicKey: Hashable, Sendable, LosslessStringConvertible {
    package let value: Bytes32

    package init(_ value: Bytes32) { self.value = value }

    /// Makes a key from its 32 bytes; returns nil for any other length.
    public init?(bytes: [UInt8]) {
        guard let value = Bytes32(bytes) else { return nil }
        self.value = value
    }

    /// Parses 64 hexadecimal digits; returns nil for anything else.
    public init?(_ description: String) {
        guard let bytes = Hex.decode(description) else { return nil }
        self.init(bytes: bytes)
    }

    /// The 32 bytes of the key.
    public var bytes: [UInt8] { value.bytes }

    /// The key as 64 lower-case hexadecimal digits.
    public var description: String { Hex.encode(value.bytes) }
}
