package import VaultBytes
internal import VaultCrypto

/// Factors as plain bytes, neither checked nor normalised.
package struct ForgeFactors: Sendable {
    package var passphrase: [UInt8]?
    /// The content of a key file that is not a generated one.
    package var otherKeyFile: [UInt8]?
    /// A generated, raw or external key.
    package var key: [UInt8]?
    package var kinds: SlotFactors

    private init(_ kinds: SlotFactors, passphrase: [UInt8]? = nil, otherKeyFile: [UInt8]? = nil, key: [UInt8]? = nil) {
        self.kinds = passphrase == nil ? kinds : kinds.union(.passphrase)
        self.passphrase = passphrase
        self.otherKeyFile = otherKeyFile
        self.key = key
    }

    package static func rawKey(_ key: [UInt8]) -> ForgeFactors { ForgeFactors(.rawKey, key: key) }
    package static func passphrase(_ text: [UInt8]) -> ForgeFactors { ForgeFactors([], passphrase: text) }
    package static func generatedKey(_ key: [UInt8], passphrase: [UInt8]? = nil) -> ForgeFactors {
        ForgeFactors(.generatedKeyFile, passphrase: passphrase, key: key)
    }
    package static func otherKeyFile(_ content: [UInt8], passphrase: [UInt8]? = nil) -> ForgeFactors {
        ForgeFactors(.otherKeyFile, passphrase: passphrase, otherKeyFile: content)
    }
    package static func externalKey(_ key: [UInt8], passphrase: [UInt8]? = nil) -> ForgeFactors {
        ForgeFactors(.externalKey, passphrase: passphrase, key: key)
    }

    /// The slot key (section 3.1).
    package func slotKey(_ slot: Slot, _ vault: Bytes16) throws -> [UInt8] {
        var material: [UInt8] = []
        if let stretch = slot.known?.stretch { material += try stretched(stretch, slot.factors) }
        material += key ?? []
        return Plain.mac(material, "vaultfmt-1 slot key", vault.bytes + slot.derivedOver)
    }

    private func stretched(_ stretch: SlotParameters.Stretch, _ factors: SlotFactors) throws -> [UInt8] {
        var input = Plain.label("vaultfmt-1 stretch") + [factors.rawValue]
        input.append(u32: UInt32(passphrase?.count ?? 0))
        input += passphrase ?? []
        if let otherKeyFile { input += Plain.hash(Plain.label("vaultfmt-1 key file") + otherKeyFile).bytes }
        let cost = stretch.cost
        return try Argon2.stretch(
            Secret(bytes: Plain.hash(input).bytes), salt: stretch.salt.bytes, memoryKiB: cost.memoryKiB,
            passes: cost.passes,
            lanes: cost.lanes
        ).plain
    }

    package static func commitment(_ slotKey: [UInt8]) -> [UInt8] {
        Plain.mac(slotKey, "vaultfmt-1 slot commitment", [])
    }
    package static func wrappingKey(_ slotKey: [UInt8]) -> [UInt8] { Plain.mac(slotKey, "vaultfmt-1 slot wrap", []) }
}

/// What goes into a slot's two sealed parts; every input can be changed.
package struct SlotRecipe {
    /// With its clear parameters and commitment as they are to be.
    package var slot: Slot
    package var wrappingKey: [UInt8]
    package var payload: [UInt8]
    package var payloadNonce: [UInt8]
    package var payloadBound: [UInt8]
    /// The owner part's plaintext.
    package var owner: [UInt8]
    package var ownerKey: [UInt8]
    package var ownerNonce: [UInt8]
    /// Nil for what the specification says.
    package var ownerBound: [UInt8]?

    fileprivate func sealed(_ vault: Bytes16) -> Slot {
        var made = slot
        made.payload = Plain.seal(payload, key: wrappingKey, nonce: payloadNonce, bound: payloadBound)
        made.owner = Plain.seal(
            owner, key: ownerKey, nonce: ownerNonce, bound: ownerBound ?? Bindings.slotOwner(vault, made))
        return made
    }
}

extension ForgeKeys {
    /// Seals a slot of these clear parameters. Without a payload it is a full one's: the vault key.
    ///
    /// - `clear`: Its owner part has the length that the part will have, and its payload that of the kind.
    /// - `nonce`: Of the payload; the owner part's is the same in reverse.
    package func slot(
        _ clear: Slot, _ factors: ForgeFactors, payload: [UInt8]? = nil, part: OwnerPart, nonce: [UInt8],
        edit: (inout SlotRecipe) throws -> Void = { _ in }
    ) throws -> Slot {
        var slot = clear
        let key = try factors.slotKey(slot, vault)
        slot.commitment = Bytes32(ForgeFactors.commitment(key)) ?? .zero
        let wrapping = ForgeFactors.wrappingKey(key)
        var owner = part.encode()
        if slot.kind.dependsOnEpoch { owner.replaceSubrange(OwnerPart.wrappingKey, with: wrapping) }
        var recipe = SlotRecipe(
            slot: slot, wrappingKey: wrapping, payload: payload ?? vaultKey, payloadNonce: nonce,
            payloadBound: Bindings.slot(vault, slot), owner: owner, ownerKey: slotOwner, ownerNonce: nonce.reversed())
        try edit(&recipe)
        return recipe.sealed(vault)
    }

    /// What a scoped slot that grants these groups holds, padded.
    package func scopedPayload(_ granted: [UInt64]) throws -> [UInt8] {
        var out = index + publicKey.bytes + [UInt8(granted.count)]
        out.append(zeros: 7)
        for number in granted {
            guard let key = groups[number] else { throw ForgeError("no group \(number)") }
            out.append(u64: number)
            out += key
        }
        out.append(zeros: Format.scopedPayloadPlain - out.count)
        return out
    }
}
