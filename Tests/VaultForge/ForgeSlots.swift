package import VaultBytes
package import VaultCrypto
internal import VaultStore

extension FactorKeys {
    /// 32 raw bytes.
    package static func forged(rawKey: [UInt8]) -> FactorKeys {
        FactorKeys(passphrase: nil, key: Secret(bytes: rawKey), fileHash: nil, kinds: Slot.rawKey)
    }

    /// A passphrase as it is: neither checked nor normalised. With a key file too, if one is given, which counts by its hash.
    package static func forged(passphrase: [UInt8]?, otherKeyFile: [UInt8]? = nil) -> FactorKeys {
        let kinds = (passphrase == nil ? 0 : Slot.passphrase) | (otherKeyFile == nil ? 0 : Slot.otherKeyFile)
        var hash: Secret?
        if let otherKeyFile { hash = FactorKeys.hash(ofKeyFile: Secret(bytes: otherKeyFile)) }
        var phrase: Secret?
        if let passphrase { phrase = Secret(bytes: passphrase) }
        return FactorKeys(passphrase: phrase, key: nil, fileHash: hash, kinds: kinds)
    }

    /// The key of a generated key file, with a passphrase if one is given.
    package static func forged(generatedKey: [UInt8], passphrase: [UInt8]? = nil) -> FactorKeys {
        var phrase: Secret?
        if let passphrase { phrase = Secret(bytes: passphrase) }
        let kinds = Slot.generatedKeyFile | (passphrase == nil ? 0 : Slot.passphrase)
        return FactorKeys(passphrase: phrase, key: Secret(bytes: generatedKey), fileHash: nil, kinds: kinds)
    }
}

/// What goes into a slot's two sealed parts; every input can be changed.
package struct SlotRecipe {
    /// With its clear parameters and commitment as they are to be.
    package var slot: Slot
    package var wrappingKey: [UInt8]
    package var payload: [UInt8]
    package var payloadNonce: [UInt8]
    package var payloadBound: [UInt8]
    package var owner: [UInt8]
    package var ownerKey: [UInt8]
    package var ownerNonce: [UInt8]
    package var ownerBound: [UInt8]

    fileprivate func sealed() -> Slot {
        var made = slot
        made.payload = Plain.seal(payload, key: wrappingKey, nonce: payloadNonce, bound: payloadBound)
        made.owner = Plain.seal(owner, key: ownerKey, nonce: ownerNonce, bound: ownerBound)
        return made
    }
}

extension Forge {
    /// Makes a slot of these clear parameters. Without a payload it is a full one's: the vault key.
    package func slot(
        _ clear: Slot, _ factors: borrowing FactorKeys, payload: [UInt8]? = nil, name: [UInt8] = [], nonce: [UInt8],
        edit: (inout SlotRecipe) throws -> Void = { _ in }
    ) throws -> Slot {
        var slot = clear
        let key = try SlotSeal.key(slot, keys.vault, factors)
        slot.commitment = Bytes32(words: key.commitment())
        let wrapping = key.wrappingKey().plain
        var owner = [UInt8(name.count)] + name
        owner.append(zeros: Format.slotNameArea - owner.count)
        owner += slot.kind == .scoped ? wrapping : [UInt8](repeating: 0, count: Format.keySize)
        var recipe = SlotRecipe(
            slot: slot, wrappingKey: wrapping, payload: payload ?? keys.vaultKey, payloadNonce: nonce,
            payloadBound: Bound.slot(keys.vault, slot), owner: owner, ownerKey: keys.slotOwner, ownerNonce: nonce,
            ownerBound: Bound.slotOwner(keys.vault, slot))
        try edit(&recipe)
        return recipe.sealed()
    }

    /// What a scoped slot that grants these groups holds, padded.
    package func scopedPayload(_ groups: [UInt32]) throws -> [UInt8] {
        var out = keys.index + keys.reader + [UInt8(groups.count)]
        for number in groups {
            guard let key = keys.groups[number] else { throw ForgeError("no group \(number)") }
            out.append(u32: number)
            out += key
        }
        out.append(zeros: ScopedPayload.size(groups: min(groups.count, Format.Limit.grantedGroups)) - out.count)
        return out
    }
}
