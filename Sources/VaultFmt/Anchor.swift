package import VaultBytes

/// A state of a vault to be remembered: who keeps one notices later if the file was put back or split (specification, section 7.2).
public struct Anchor: Hashable, Sendable, LosslessStringConvertible {
    /// How the current state stands to an anchor.
    public enum Verdict: Sendable, Hashable {
        /// It is that state.
        case same
        /// It came from that state.
        case descends
        /// It is older than that state: the file was put back.
        case older
        /// It has another past.
        case forked
        /// The file no longer holds what would tell.
        case unprovable
    }

    /// The vault.
    public let vault: VaultID
    /// The number of commits up to that state.
    public let generation: UInt64
    /// The chain value, 32 bytes.
    public let chain: [UInt8]

    package let value: Bytes32

    package init(vault: VaultID, generation: UInt64, chain: Bytes32) {
        self.vault = vault
        self.generation = generation
        self.chain = chain.bytes
        value = chain
    }

    /// Reads `vault id:generation:chain value`, in hexadecimal, decimal and hexadecimal; nil for anything else.
    public init?(_ description: String) {
        let parts = description.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 3, let vault = VaultID(hex: String(parts[0])), let generation = UInt64(parts[1]), generation >= 1,
            "\(generation)" == parts[1],
            let bytes = Hex.decode(parts[2]), let chain = Bytes32(bytes)
        else { return nil }
        self.init(vault: vault, generation: generation, chain: chain)
    }

    /// `vault id:generation:chain value`.
    public var description: String { "\(vault):\(generation):\(Hex.encode(chain))" }
}
