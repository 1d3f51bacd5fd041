package import VaultBytes
internal import VaultCrypto

extension Bytes32 {
    /// `H(bytes)`.
    package init(hashing bytes: UnsafeRawBufferPointer) { self = Blake2b.hash(bytes) }

    package init(hashing bytes: [UInt8]) { self = bytes.withUnsafeBytes { Bytes32(hashing: $0) } }
}
