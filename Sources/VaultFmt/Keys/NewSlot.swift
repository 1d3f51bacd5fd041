internal import VaultBytes
internal import VaultStore

/// The parameters of a slot to be created.
struct NewSlot: ~Copyable {
    let factors: Factors
    let cost: SlotParameters.Cost?
    var name: String
    /// A predetermined id: the id of the slot being replaced, or one already passed to a provider. Nil for a random id.
    var id: Bytes16?
    /// The external key, if the factors include one.
    let external: ExternalKey?

    /// Checks a passphrase, and requests a key from the provider, if there is one. The slot's id is chosen first,
    /// because the key may depend on it.
    init(
        _ factors: consuming Factors, cost: SlotParameters.Cost?, name: String, vault: Bytes16, _ random: Randomness
    ) throws(VaultError) {
        try factors.checkNew()
        guard let provider = factors.provider else {
            self.init(factors, cost: cost, name: name, id: nil, external: nil)
            return
        }
        let id = random.bytes16()
        let wrapped = try provider.wrap(for: SlotPlace(vault: vault, slot: id))
        let external = ExternalKey(provider: provider.provider, wrapped: wrapped)
        self.init(factors, cost: cost, name: name, id: id, external: external)
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

/// Creates slots for a new vault, for adding or changing a slot, and for a rotation.
enum SlotMaking {
    static let ownersOnly = VaultError(.notPermitted, "only an owner can change who can open a vault")

    static func checkName(_ name: String) throws(VaultError) {
        guard name.utf8.count <= Format.Limit.slotName else {
            throw VaultError(
                .limitExceeded,
                "a slot's name can be at most \(Format.Limit.slotName) bytes long, not \(name.utf8.count)")
        }
    }

    /// Makes a full slot, and returns it with its wrapping key.
    static func fullSlot(
        _ keys: borrowing VaultKeys, _ new: borrowing NewSlot, vault: Bytes16, _ random: Randomness
    ) throws(VaultError) -> (Slot, SecretBox) {
        try keys.asOwner(else: ownersOnly) { (owner) throws(VaultError) in
            try make(SlotPayload(vaultKey: owner.vault), new, vault, owner, random)
        }
    }

    static func scopedSlot(
        _ keys: borrowing VaultKeys, grants: borrowing Grants, _ new: borrowing NewSlot, vault: Bytes16,
        _ random: Randomness
    ) throws(VaultError) -> (Slot, SecretBox) {
        try keys.asOwner(else: ownersOnly) { (owner) throws(VaultError) in
            try make(SlotPayload(keys, grants: grants), new, vault, owner, random)
        }
    }

    private static func make(
        _ payload: borrowing SlotPayload, _ new: borrowing NewSlot, _ vault: Bytes16, _ owner: borrowing OwnerKeys,
        _ random: Randomness
    ) throws(VaultError) -> (Slot, SecretBox) {
        let part = OwnerPart(name: new.name)
        let made = try SlotSeal.make(
            payload, new.factors.keys, cost: new.cost, owner: part, id: new.id, external: new.external, vault: vault,
            keys: owner, random)
        return (made.slot, made.wrappingKey)
    }
}
