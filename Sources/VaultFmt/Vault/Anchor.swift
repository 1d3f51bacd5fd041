package import VaultBytes

/// A state of a vault to be remembered: whoever keeps one notices if the file was put back, split, or made by others
/// (specification, section 7.2).
public struct Anchor: Hashable, Sendable, LosslessStringConvertible {
    /// How the current state stands to an anchor, in the order in which they are decided.
    public enum Verdict: Sendable, Hashable {
        /// It is under another owners' key, and no hand-over leads there: somebody else made it.
        case foreign
        /// It is that state.
        case same
        /// It is older than that state: the file was put back.
        case older
        /// It came from that state.
        case descends
        /// The file no longer holds what would tell.
        case unprovable
        /// It has another past.
        case forked
    }

    /// The vault.
    public let vault: VaultID
    /// The state's generation: at least 1, and greater than that of every state before it.
    public let generation: UInt64
    /// The chain value, 32 bytes.
    public let chain: [UInt8]
    /// The key that signs for the vault's owners.
    public let owners: OwnersPublicKey

    package let value: Bytes32

    package init(vault: VaultID, generation: UInt64, chain: Bytes32, owners: OwnersPublicKey) {
        self.vault = vault
        self.generation = generation
        self.chain = chain.bytes
        self.owners = owners
        value = chain
    }

    /// Reads `VAULT:GENERATION:CHAIN:OWNERS`, as `description` writes it; nil for anything else.
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
    /// and the owners' public key, 64 hexadecimal digits each. This form stays as it is.
    public var description: String { "\(vault):\(generation):\(Hex.encode(chain)):\(owners)" }
}

/// The public key of a vault's owners: the same for all of its slots, and another one after a rotation (specification,
/// section 3.4).
///
/// It reveals nothing. A program that has it needs no memory to refuse a vault that somebody else made.
public struct OwnersPublicKey: Hashable, Sendable, LosslessStringConvertible {
    package let value: Bytes32

    package init(_ value: Bytes32) { self.value = value }

    /// Makes one of its 32 bytes; nil for another number of them.
    public init?(bytes: [UInt8]) {
        guard let value = Bytes32(bytes) else { return nil }
        self.value = value
    }

    /// Reads 64 hexadecimal digits; nil for anything else.
    public init?(_ description: String) {
        guard let bytes = Hex.decode(description) else { return nil }
        self.init(bytes: bytes)
    }

    /// 32 bytes.
    public var bytes: [UInt8] { value.bytes }

    /// 64 hexadecimal digits, lower-case.
    public var description: String { Hex.encode(value.bytes) }
}
