internal import VaultBytes
internal import VaultStore

/// A slot to be made.
struct NewSlot: ~Copyable {
    let factors: Factors
    let cost: SlotParameters.Cost?
    var name: String
    /// That of the slot which it takes the place of; nil for a random one.
    var id: Bytes16?
    /// The external key, if the factors have one.
    let external: ExternalKey?

    /// Asks the provider for a key, if there is one.
    init(_ factors: consuming Factors, cost: SlotParameters.Cost?, name: String) throws(VaultError) {
        let provider = factors.provider
        let external = try provider.map { (provider) throws(VaultError) in
            ExternalKey(provider: provider.provider, wrapped: try provider.wrap())
        }
        self.init(factors, cost: cost, name: name, id: nil, external: external)
    }

    init(
        _ factors: consuming Factors, cost: SlotParameters.Cost?, name: String, id: Bytes16?,
        external: consuming ExternalKey?
    ) {
        self.factors = factors
        self.cost = cost
        self.name = name
        self.id = id
        self.external = external
    }
}

/// Makes slots: for a new vault, a new or changed slot, and a rotation.
enum SlotMaking {
    static let ownersOnly = VaultError(.notPermitted, "only an owner can change who opens a vault")

    static func checkName(_ name: String) throws(VaultError) {
        guard name.utf8.count <= Format.Limit.slotName else {
            throw VaultError(
                .limitExceeded, "a slot's name has at most \(Format.Limit.slotName) bytes, not \(name.utf8.count)")
        }
    }

    /// A full slot, and its wrapping key.
    static func fullSlot(
        _ keys: borrowing VaultKeys, _ new: borrowing NewSlot, vault: Bytes16, revision: UInt64, device: Bytes16,
        _ random: Randomness
    ) throws(VaultError) -> (Slot, SecretBox) {
        try keys.asOwner(else: ownersOnly) { (owner) throws(VaultError) in
            try make(SlotPayload(vaultKey: owner.vault), new, vault, owner, revision, device, random)
        }
    }

    static func scopedSlot(
        _ keys: borrowing VaultKeys, grants: borrowing Grants, _ new: borrowing NewSlot, vault: Bytes16,
        revision: UInt64,
        device: Bytes16, _ random: Randomness
    ) throws(VaultError) -> (Slot, SecretBox) {
        try keys.asOwner(else: ownersOnly) { (owner) throws(VaultError) in
            try make(SlotPayload(keys, grants: grants), new, vault, owner, revision, device, random)
        }
    }

    private static func make(
        _ payload: borrowing SlotPayload, _ new: borrowing NewSlot, _ vault: Bytes16, _ owner: borrowing OwnerKeys,
        _ revision: UInt64,
        _ device: Bytes16, _ random: Randomness
    ) throws(VaultError) -> (Slot, SecretBox) {
        let part = OwnerPart(name: new.name, revision: revision, device: device)
        let made = try SlotSeal.make(
            payload, new.factors.keys, cost: new.cost, owner: part, id: new.id, external: new.external, vault: vault,
            keys: owner, random)
        return (made.slot, made.wrappingKey)
    }
}
