package import VaultBytes
package import VaultCrypto

/// An opened commit. So far, it has been authenticated only with the index key.
package struct OpenedCommit: Sendable {
    package let core: [UInt8]
    package let mac: Bytes32
    package let signature: [UInt8]
    package let chain: Bytes32
}

/// Opens and seals commits (section 5.6). It holds its own keys; without owner keys, it can check signatures but cannot
/// seal.
package final class CommitCodec: Sendable {
    private let index: Secret
    private let owner: Secret?
    private let signingSeed: Secret?
    /// The key that verifies signatures. An owner checks MACs, and derives this key only when signatures are to be
    /// checked as well.
    private let statedPublicKey: Bytes32?
    /// True if new commits are signed.
    private let isSigning: Bool
    private let sealing: Sealing
    private let vault: Bytes16

    /// `isSigning`: true if the header of new commits has a slot other than known full slots.
    package init(_ keys: borrowing VaultKeys, sealing: Sealing, vault: Bytes16, isSigning: Bool) {
        index = keys.index.copy()
        switch keys.owner {
        case .some(let owner):
            self.owner = owner.mac.copy()
            signingSeed = owner.vault.derive(Label.signing)
            statedPublicKey = nil
        case .none:
            owner = nil
            signingSeed = nil
            statedPublicKey = keys.ownersPublicKey()
        }
        self.isSigning = isSigning
        self.sealing = sealing
        self.vault = vault
    }

    private init(checkingAs codec: CommitCodec, publicKey: Bytes32) {
        index = codec.index.copy()
        owner = codec.owner.copied()
        signingSeed = nil
        statedPublicKey = publicKey
        isSigning = false
        sealing = codec.sealing
        vault = codec.vault
    }

    /// Returns a codec for a locked vault, which checks the same proofs but cannot create any. It keeps the key for
    /// owner MACs, which does not decrypt anything.
    func checkingOnly(publicKey: Bytes32) -> CommitCodec { CommitCodec(checkingAs: self, publicKey: publicKey) }

    /// Returns the parts of a frame if the frame is a commit that opens at this offset; its proof is not checked yet.
    package func open(_ frame: [UInt8], at offset: UInt64) -> OpenedCommit? {
        guard frame.count == Format.commitSize else { return nil }
        var isOpen = false
        let body = [UInt8](unsafeUninitializedCapacity: Format.commitBodySize) { buffer, count in
            let out = UnsafeMutableRawBufferPointer(start: buffer.baseAddress, count: Format.commitBodySize)
            frame.withUnsafeBytes { frame in
                do throws(CryptoError) {
                    try sealing.open(frame, as: .commit, at: offset, key: index, into: out)
                    isOpen = true
                } catch { isOpen = false }
            }
            count = isOpen ? Format.commitBodySize : 0
        }
        guard isOpen, let mac = Bytes32(Array(body[Format.commitCoreSize..<Format.commitCoreSize + Format.hashSize]))
        else { return nil }
        let chain = body.withUnsafeBytes { bytes in
            CommitProof.chain(vault: vault, core: UnsafeRawBufferPointer(rebasing: bytes[..<Format.commitCoreSize]))
        }
        return OpenedCommit(
            core: Array(body[..<Format.commitCoreSize]), mac: mac,
            signature: Array(body[(Format.commitCoreSize + Format.hashSize)...]),
            chain: chain)
    }

    /// Checks the MAC for an owner, or the signature for anyone else.
    package func checkProof(_ commit: OpenedCommit, at offset: UInt64) throws(VaultError) {
        let isProven =
            switch owner {
            case .some(let owner): commit.mac == CommitProof.mac(commit.chain, key: owner)
            case .none: CommitProof.isSigned(commit.chain, commit.signature, under: statedPublicKey ?? .zero)
            }
        guard isProven else {
            throw VaultError(
                .tampered, "a commit was not made by an owner of this vault: the file was deliberately modified",
                at: offset)
        }
    }

    /// Returns whether the signature is valid under the owners' public key, for verification.
    package func isSigned(_ commit: OpenedCommit) -> Bool {
        CommitProof.isSigned(commit.chain, commit.signature, under: publicKey)
    }

    private var publicKey: Bytes32 {
        switch signingSeed.copied() {
        case .some(let seed): SigningKey(seed: seed).publicKey
        case .none: statedPublicKey ?? .zero
        }
    }

    /// Seals a commit in a whole frame, and returns the frame with the new state, including the chain value. Requires
    /// the owner keys.
    package func seal(_ commit: Commit) -> (frame: [UInt8], state: CommittedState) {
        var body = commit.encode()
        let chain = body.withUnsafeBytes { CommitProof.chain(vault: vault, core: $0) }
        body.append(contentsOf: proof(chain))
        var frame = [UInt8](repeating: 0, count: Format.commitSize)
        frame.withUnsafeMutableBytes { frame in
            body.withUnsafeBytes {
                sealing.seal($0, as: .commit, at: commit.offset, head: FrameHead.commit, key: index, into: frame)
            }
        }
        return (frame, CommittedState(commit: commit, chain: chain))
    }

    /// Returns owner MAC ‖ signature.
    private func proof(_ chain: Bytes32) -> [UInt8] {
        var out: [UInt8] = []
        switch owner {
        case .some(let owner): out.append(CommitProof.mac(chain, key: owner))
        case .none: preconditionFailure("only owners can make commits")
        }
        if isSigning, let seed = signingSeed.copied() {
            out.append(contentsOf: CommitProof.sign(chain, SigningKey(seed: seed)))
        } else {
            out.append(zeros: Format.signatureSize)
        }
        return out
    }
}

/// A committed state: its commit and its chain value.
package struct CommittedState: Sendable, Equatable {
    package let commit: Commit
    package let chain: Bytes32

    package init(commit: Commit, chain: Bytes32) {
        self.commit = commit
        self.chain = chain
    }
}

extension CommittedState {
    /// The reference to this state that the next commit contains.
    package var asPredecessor: Commit.Predecessor { Commit.Predecessor(generation: commit.generation, chain: chain) }

    /// A successor without changes; the caller completes and seals it.
    package var successor: Commit {
        var next = commit
        next.generation += 1
        next.predecessor = asPredecessor
        return next
    }
}
