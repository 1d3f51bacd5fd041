internal import TestSupport
internal import VaultBytes

/// Owner MACs and signatures of commits (R-5.18 to R-5.20).
extension Collection {
    mutating func addProofs(_ bases: Bases) throws {
        folder = "commits"
        try addOwnerMACs(bases)
        try addSignatures(bases)
        try addOddSignatures(bases)
        try addOddPublicKeys(bases)
    }

    private static let scopedView = ReadRequest.raw(Base.scopedKey)

    private mutating func proof(
        _ name: String, _ spec: String, _ expect: Verdict, _ base: Base, _ comment: String, request: ReadRequest? = nil,
        _ edit: @escaping (inout [UInt8], [UInt8]) throws -> Void
    ) throws {
        try forged(name, spec, expect, base, comment, request: request) { $0.onProof(try $0.last(.commit), edit) }
    }

    private mutating func addOwnerMACs(_ bases: Bases) throws {
        for (name, at) in [("first", 0), ("last", 31)] {
            try proof(
                "owner-mac-\(name)", "R-1.7, R-5.18", .authenticationFailed, bases.one,
                "The \(name) byte of the owner MAC is wrong."
            ) {
                proof, _ in proof.flip(at)
            }
        }
        try proof("owner-mac-zero", "R-5.18", .authenticationFailed, bases.one, "The owner MAC is zeros.") { proof, _ in
            proof.put([0].times(32), at: 0)
        }
        try proof(
            "owner-mac-newest", "R-5.18, R-7.1", .authenticationFailed, bases.grown,
            "The newest commit's owner MAC is wrong: no reason to go back."
        ) {
            proof, _ in proof.flip(9)
        }
        try proof(
            "owner-mac-seen-by-scoped", "R-5.18", .success, bases.scoped,
            "A wrong owner MAC and a valid signature, seen by a scoped slot.",
            request: Self.scopedView
        ) {
            proof, _ in proof.flip(9)
        }
        try forged(
            "owner-mac-earlier", "R-5.18", .success, bases.grown,
            "An earlier commit's owner MAC is wrong: nothing asks for it."
        ) {
            $0.onProof(try $0.first(.commit)) { proof, _ in proof.flip(9) }
        }
        let labels = [
            ("unlabelled", "vaultfmt-1 commit", "under another label"),
            ("header-label", "vaultfmt-1 header", "under the header's label"),
        ]
        for (name, label, what) in labels {
            try forged(
                "owner-mac-\(name)", "R-5.18", .authenticationFailed, bases.one, "The owner MAC was made \(what)."
            ) { forge in
                let key = forge.keys.owner
                forge.onProof(try forge.last(.commit)) { proof, chain in proof.put(Plain.mac(key, label, chain), at: 0)
                }
            }
        }
        try forged(
            "owner-mac-by-scoped-holder", "R-5.18", .authenticationFailed, bases.scoped,
            "The owner MAC was made under the index key."
        ) { forge in
            let key = forge.keys.index
            forge.onProof(try forge.last(.commit)) { proof, chain in
                proof.put(Plain.mac(key, "vaultfmt-1 commit owner", chain), at: 0)
            }
        }
        try forged(
            "owner-mac-over-core", "R-5.18", .authenticationFailed, bases.one,
            "The owner MAC covers the core's first bytes, and not the chain value."
        ) { forge in
            let (key, core) = (forge.keys.owner, forge[try forge.last(.commit)].body)
            forge.onProof(try forge.last(.commit)) { proof, _ in
                proof.put(Plain.mac(key, "vaultfmt-1 commit owner", core), at: 0)
            }
        }
        try proof(
            "owner-mac-in-place-of-signature", "R-5.18", .authenticationFailed, bases.scoped,
            "MAC and signature are in each other's place.",
            request: Self.scopedView
        ) { proof, _ in proof = Array(proof[32...]) + proof[..<32] }
    }

    private mutating func addSignatures(_ bases: Bases) throws {
        let scoped = bases.scoped
        for (name, at) in [("r-first", 32), ("r-last", 63), ("s-first", 64), ("s-middle", 80), ("s-last", 95)] {
            try proof(
                "signature-\(name)", "R-5.18, R-5.20", .authenticationFailed, scoped,
                "A byte of the signature is wrong (\(name)), seen by a scoped slot.",
                request: Self.scopedView
            ) { proof, _ in proof.flip(at) }
        }
        try proof(
            "signature-absent", "R-5.18, R-5.19", .authenticationFailed, scoped,
            "There is no signature, seen by a scoped slot.",
            request: Self.scopedView
        ) {
            proof, _ in proof.put([0].times(64), at: 32)
        }
        try proof(
            "signature-absent-seen-by-owner", "R-5.18, R-5.19", .success, scoped,
            "There is no signature, seen by an owner: the MAC is what counts."
        ) {
            proof, _ in proof.put([0].times(64), at: 32)
        }
        try proof("signature-wrong-seen-by-owner", "R-5.18", .success, scoped, "A wrong signature, seen by an owner.") {
            proof, _ in
            proof.flip(40)
        }
        try proof(
            "signature-without-need", "R-5.19", .success, bases.one,
            "A signature that nobody needs: only verification minds."
        ) {
            proof, _ in
            proof.put([0x5A].times(64), at: 32)
        }
        let messages: [(String, String, (Bytes16, [UInt8]) -> [UInt8])] = [
            ("unlabelled", "signs the chain value without a label", { $1 }),
            ("hand-over-label", "has a hand-over's label", { Plain.label("vaultfmt-1 hand-over") + $1 }),
            ("with-vault", "signs the vault's id too", { Bindings.label("vaultfmt-1 commit", $0) + $1 }),
            ("prehashed", "signs a hash of the message", { Plain.hash(Bindings.commit($1)).bytes }),
        ]
        for (name, what, message) in messages {
            try forged(
                "signature-\(name)", "R-5.18", .authenticationFailed, scoped,
                "The signature \(what), seen by a scoped slot.",
                request: Self.scopedView
            ) { forge in
                let (seed, vault) = (forge.keys.signingSeed, forge.keys.vault)
                forge.onProof(try forge.last(.commit)) { proof, chain in
                    proof.put(Plain.sign(message(vault, chain), seed: seed), at: 32)
                }
            }
        }
        try forged(
            "signature-by-stranger", "R-5.18", .authenticationFailed, scoped,
            "The signature is of another key, seen by a scoped slot.",
            request: Self.scopedView
        ) { forge in
            forge.onProof(try forge.last(.commit)) { proof, chain in
                proof.put(Plain.sign(Bindings.commit(chain), seed: [0x66].times(32)), at: 32)
            }
        }
        try forged(
            "signature-of-earlier", "R-5.18", .authenticationFailed, bases.scopedGrown,
            "The newest commit has the signature of the one before.", request: Self.scopedView
        ) { forge in
            let (vault, seed) = (forge.keys.vault, forge.keys.signingSeed)
            let first = try forge.first(.commit)
            let core = forge[first].body
            forge.onProof(try forge.last(.commit)) { proof, _ in
                proof.put(Plain.sign(Bindings.commit(Bindings.chain(vault, core).bytes), seed: seed), at: 32)
            }
        }
        try forged(
            "signature-earlier-absent", "R-5.18", .success, bases.scopedGrown,
            "An earlier commit is not signed: nothing asks for it.",
            request: Self.scopedView
        ) {
            $0[try $0.first(.commit)].isSigned = false
        }
    }

    // MARK: signatures that implementations disagree about

    /// A signature that is made from arithmetic: its message, the owners' secret scalar and public key are given.
    private mutating func odd(
        _ name: String, _ bases: Bases, _ comment: String,
        _ make: @escaping (_ message: [UInt8], _ a: [UInt8], _ owners: [UInt8]) throws -> [UInt8]
    ) throws {
        for isOwner in [false, true] {
            try forged(
                "signature-\(name)\(isOwner ? "-seen-by-owner" : "")", "R-5.20",
                isOwner ? .success : .authenticationFailed, bases.scoped,
                comment + (isOwner ? " An owner does not check it." : ""), request: isOwner ? nil : Self.scopedView
            ) { forge in
                let (a, owners) = (Ed25519.scalar(forge.keys.signingSeed), forge.keys.publicKey.bytes)
                forge.onProof(try forge.last(.commit)) { proof, chain in
                    proof.put(try make(Bindings.commit(chain), a, owners), at: 32)
                }
            }
        }
    }

    private mutating func addOddSignatures(_ bases: Bases) throws {
        try odd("s-not-reduced", bases, "A signature whose S is greater by the group's order.") { message, a, owners in
            let r = Ed25519.small(1)
            return Ed25519.unreduced(Ed25519.signature(message, point: Ed25519.base(r), r: r, a: a, publicKey: owners))
        }
        try odd("s-high-bits", bases, "A signature whose S has its three highest bits set.") { message, a, owners in
            let r = Ed25519.small(1)
            var out = Ed25519.signature(message, point: Ed25519.base(r), r: r, a: a, publicKey: owners)
            out[63] |= 0xE0
            return out
        }
        for (name, point, what) in [
            ("r-identity", Ed25519.identity, "the identity, with which the equation holds"),
            (
                "r-identity-not-canonical", Ed25519.identityNonCanonical,
                "the identity in an encoding that is not canonical"
            ),
            ("r-identity-negative", Ed25519.identityNegative, "the identity with the sign of a negative x"),
        ] {
            try odd(name, bases, "A signature whose R is \(what).") { message, a, owners in
                Ed25519.signature(message, point: point, r: Ed25519.zero, a: a, publicKey: owners)
            }
        }
        for (name, point) in [
            ("r-order-2", Ed25519.order2), ("r-order-4", Ed25519.order4), ("r-order-8", Ed25519.order8),
        ] {
            try odd(
                name, bases,
                "A signature whose R has small order, with which only the equation with the cofactor holds."
            ) {
                message, a, owners in
                Ed25519.signature(message, point: point, r: Ed25519.zero, a: a, publicKey: owners)
            }
        }
        for (name, point) in [("r-mixed-2", Ed25519.order2), ("r-mixed-8", Ed25519.order8)] {
            try odd(
                name, bases, "A signature whose R has a part of small order: only the equation with the cofactor holds."
            ) {
                message, a, owners in
                let r = Ed25519.small(2)
                let sum = try Ed25519.sum(Ed25519.base(r), point)
                return Ed25519.signature(message, point: sum, r: r, a: a, publicKey: owners)
            }
        }
        try forged(
            "signature-other-nonce", "R-5.20", .success, bases.scoped,
            "A valid signature that was made with another nonce than RFC 8032's.", request: Self.scopedView
        ) { forge in
            let (a, owners) = (Ed25519.scalar(forge.keys.signingSeed), forge.keys.publicKey.bytes)
            forge.onProof(try forge.last(.commit)) { proof, chain in
                let r = Ed25519.small(3)
                proof.put(
                    Ed25519.signature(Bindings.commit(chain), point: Ed25519.base(r), r: r, a: a, publicKey: owners),
                    at: 32)
            }
        }
    }

    /// The scoped slot says another public key, under which somebody made a signature.
    private mutating func addOddPublicKeys(_ bases: Bases) throws {
        func stranger(
            _ name: String, _ expect: Verdict, _ comment: String, key: [UInt8], a: [UInt8], multipleOf8: Bool? = nil
        ) throws {
            try forged("public-key-\(name)", "R-5.20", expect, bases.scoped, comment, request: Self.scopedView) {
                forge in
                try forge.remakeScoped { $0.payload.put(key, at: 32) }
                forge.onProof(try forge.last(.commit)) { proof, chain in
                    let message = Bindings.commit(chain)
                    for number in 1..<1000 as Range<UInt64> {
                        let r = Ed25519.small(number)
                        let point = Ed25519.base(r)
                        let rest = Ed25519.challenge(message, point: point, publicKey: key)[0] & 7
                        if let multipleOf8, (rest == 0) != multipleOf8 { continue }
                        proof.put(Ed25519.signature(message, point: point, r: r, a: a, publicKey: key), at: 32)
                        return
                    }
                    throw ForgeError("no challenge of this kind")
                }
            }
        }
        let zero = Ed25519.zero
        try stranger(
            "other", .success, "The scoped slot states another public key, and the commit is signed under that.",
            key: Ed25519.base(Ed25519.small(9)), a: Ed25519.small(9))
        try stranger(
            "identity", .authenticationFailed, "The public key is the identity: every message has a signature.",
            key: Ed25519.identity,
            a: zero)
        try stranger(
            "order-2", .authenticationFailed, "The public key has order 2.", key: Ed25519.order2, a: zero,
            multipleOf8: true)
        try stranger(
            "order-4", .authenticationFailed, "The public key has order 4.", key: Ed25519.order4, a: zero,
            multipleOf8: true)
        try stranger(
            "order-8", .authenticationFailed, "The public key has order 8.", key: Ed25519.order8, a: zero,
            multipleOf8: true)
        try stranger(
            "identity-not-canonical", .authenticationFailed,
            "The public key is the identity in an encoding that is not canonical.",
            key: Ed25519.identityNonCanonical, a: zero)
        try stranger(
            "identity-negative", .authenticationFailed, "The public key is the identity with the sign of a negative x.",
            key: Ed25519.identityNegative, a: zero)
        let mixed = try Ed25519.sum(Ed25519.base(Ed25519.small(9)), Ed25519.order8)
        try stranger(
            "mixed-holds", .success,
            "The public key has a part of small order, and is not of small order: the equation without the cofactor holds.",
            key: mixed, a: Ed25519.small(9), multipleOf8: true)
        try stranger(
            "mixed-cofactor-only", .authenticationFailed,
            "The same public key with a signature for which only the equation with the cofactor holds.",
            key: mixed, a: Ed25519.small(9), multipleOf8: false)
        try forged(
            "public-key-no-point", "R-5.20", .authenticationFailed, bases.scoped,
            "The public key is not a point of the curve.",
            request: Self.scopedView
        ) {
            try $0.remakeScoped { $0.payload.put([2] + [0].times(31), at: 32) }
        }
        try forged(
            "public-key-zero-signature-zero", "R-5.20", .authenticationFailed, bases.scoped,
            "The public key is zeros, and so is the signature.", request: Self.scopedView
        ) {
            try $0.remakeScoped { $0.payload.put([0].times(32), at: 32) }
            $0.onProof(try $0.last(.commit)) { proof, _ in proof.put([0].times(64), at: 32) }
        }
    }
}
