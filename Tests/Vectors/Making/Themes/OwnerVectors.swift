internal import TestSupport
internal import VaultBytes

/// The owners' public key that a caller insists on (section 7.2).
extension Collection {
    mutating func addOwners(_ bases: Bases) throws {
        let owner = bases.grownStates[0].owner.bytes
        var request = ReadRequest.raw(Base.key)
        request.owner = owner
        try vault(
            "owner-right", "R-7.6", .success, bases.grown,
            "The caller insists on the owners' public key, and it is this one.",
            request: request)
        try vault(
            "owner-other-vault", "R-7.6", .foreign, bases.other, "The caller insists on another owners' public key.",
            request: request)
        request.owner = owner.enumerated().map { $0.offset == 31 ? $0.element ^ 1 : $0.element }
        try vault(
            "owner-other", "R-7.6", .foreign, bases.grown,
            "The caller insists on a public key that differs in one bit.", request: request)
        request.owner = bases.beforeRotation.owner.bytes
        try vault(
            "owner-before-rotation", "R-7.6, R-7.8", .foreign, bases.rotated,
            "The caller insists on the public key before a rotation: no hand-over counts.", request: request)
        try forged(
            "owner-and-header-mac", "R-3.3", .authenticationFailed, bases.grown,
            "The caller insists on another public key, and the header's MAC is wrong.", request: request
        ) {
            $0.editHeaderSealed.append { $0.flip($0.count - 1) }
        }
        try forged(
            "owner-and-commit", "R-7.6", .foreign, bases.grown,
            "The caller insists on another public key, and the newest commit's owner MAC is wrong.", request: request
        ) {
            $0.onProof(try $0.last(.commit)) { proof, _ in proof.flip(0) }
        }
        var scoped = ReadRequest.raw(Base.scopedKey)
        scoped.owner = try bases.scoped.forge().keys.publicKey.bytes
        try vault(
            "owner-scoped", "R-7.6", .success, bases.scoped, "The same with a scoped slot, and the right public key.",
            request: scoped)
        scoped.owner = owner
        try vault(
            "owner-scoped-other", "R-7.6", .foreign, bases.scoped,
            "The same with a scoped slot, and another public key.", request: scoped)
        let key = Ed25519.base(Ed25519.small(9))
        scoped.owner = try bases.scoped.forge().keys.publicKey.bytes
        try forged(
            "owner-stranger-signs", "R-5.18, R-7.6", .foreign, bases.scoped,
            "A stranger put their public key into the scoped slot and signed: only the caller's knowledge shows it.",
            request: scoped
        ) { forge in
            try forge.remakeScoped { $0.payload.put(key, at: 32) }
            forge.onProof(try forge.last(.commit)) { proof, chain in
                let r = Ed25519.small(4)
                let message = Bindings.commit(chain)
                proof.put(
                    Ed25519.signature(message, point: Ed25519.base(r), r: r, a: Ed25519.small(9), publicKey: key),
                    at: 32)
            }
        }
    }
}
