package import VaultBytes

/// The proofs of a header: an unkeyed hash, and a MAC under the index key (section 3).
package enum HeaderProof {
    /// Returns the header hash of a header's bytes up to L−64.
    package static func hash(_ bytes: UnsafeRawBufferPointer) -> Bytes32 {
        var hash = Blake2b()
        hash.update(Label.header)
        hash.update(bytes)
        return hash.finish()
    }

    package static func mac(_ hash: Bytes32, index: borrowing Secret) -> Bytes32 { index.mac(Label.header, hash) }
}

/// The proofs of a commit: an owner's MAC, and a signature for readers that do not have the owner keys (section 5.6).
package enum CommitProof {
    /// Returns the chain value of a core.
    package static func chain(vault: Bytes16, core: UnsafeRawBufferPointer) -> Bytes32 {
        var hash = Blake2b()
        hash.update(Label.chain)
        hash.update(vault)
        hash.update(core)
        return hash.finish()
    }

    /// `key`: `OwnerKeys.mac`.
    package static func mac(_ chain: Bytes32, key: borrowing Secret) -> Bytes32 { key.mac(Label.commitOwner, chain) }

    package static func sign(_ chain: Bytes32, _ key: borrowing SigningKey) -> [UInt8] { key.sign(message(chain)) }

    package static func isSigned(_ chain: Bytes32, _ signature: [UInt8], under publicKey: Bytes32) -> Bool {
        Signature.isValid(signature, of: message(chain), under: publicKey)
    }

    private static func message(_ chain: Bytes32) -> [UInt8] { Bound.bytes(Label.commit, chain.bytes) }
}

extension HandOver {
    /// Signs a statement that `next` succeeds `key` after the state with this vector, which is in the frame `stored`.
    package static func make(
        _ key: borrowing SigningKey, vault: Bytes16, vector: Vector, stored: ObjectRef, next: Bytes32
    ) -> HandOver {
        let message = message(vault: vault, vector: vector, next: next)
        return HandOver(
            publicKey: key.publicKey, next: next, vector: stored, floor: vector.floor, signature: key.sign(message))
    }

    /// Returns whether the replaced key signed this hand-over. `vector` is the vector read from the hand-over's frame,
    /// with its floor.
    package func isValid(vault: Bytes16, vector: Vector) -> Bool {
        let message = HandOver.message(vault: vault, vector: vector, next: next)
        return vector.floor == floor && Signature.isValid(signature, of: message, under: publicKey)
    }

    private static func message(vault: Bytes16, vector: Vector, next: Bytes32) -> [UInt8] {
        var out = Bound.bytes(Label.handOver, vault.bytes)
        out.append(vector.digest)
        out.append(u64: vector.floor)
        out.append(next)
        return out
    }
}

extension Vector {
    /// The hash of the rows in ascending order of id, independent of their positions.
    package var digest: Bytes32 {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(rows.count * 16)
        for row in rows.sorted(by: { $0.id < $1.id }) { row.encode(into: &bytes) }
        return bytes.withUnsafeBytes { Blake2b.hash($0) }
    }
}

/// Encodes a label followed by bytes, for uses other than key derivation.
package enum Bound {
    /// Returns `str8 label ‖ bytes`.
    package static func bytes(_ label: StaticString, _ bytes: [UInt8]) -> [UInt8] {
        var out: [UInt8] = [UInt8(label.utf8CodeUnitCount)]
        out.reserveCapacity(1 + label.utf8CodeUnitCount + bytes.count)
        out.append(contentsOf: UnsafeBufferPointer(start: label.utf8Start, count: label.utf8CodeUnitCount))
        out.append(contentsOf: bytes)
        return out
    }
}
