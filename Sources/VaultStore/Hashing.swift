package import VaultBytes
internal import VaultCrypto

extension Bytes32 {
    /// `H(bytes)`.
    package init(hashing bytes: UnsafeRawBufferPointer) { self.init(words: Blake2b.hash(bytes)) }

    package init(hashing bytes: [UInt8]) { self = bytes.withUnsafeBytes { Bytes32(hashing: $0) } }
}

/// Links and chain values (section 7.2).
package enum Chain {
    package static func link(_ commitBody: [UInt8]) -> Bytes32 {
        var hash = Blake2b()
        hash.update("vaultfmt-1 link")
        hash.update(commitBody)
        return Bytes32(words: hash.finish())
    }

    package static func value(vault: Bytes16, generation: UInt64, previous: Bytes32, link: Bytes32) -> Bytes32 {
        var hash = Blake2b()
        hash.update("vaultfmt-1 chain")
        hash.update(vault.bytes)
        hash.update(generation)
        hash.update(previous.words)
        hash.update(link.words)
        return Bytes32(words: hash.finish())
    }
}
