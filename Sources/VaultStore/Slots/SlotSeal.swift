package import VaultBytes
package import VaultCrypto

/// The unsealed contents of a slot.
package struct SlotPayload: ~Copyable {
    package let kind: Slot.Kind
    let plain: Secret

    package init(vaultKey: borrowing Secret) {
        kind = .full
        plain = vaultKey.copy()
    }

    /// Creates the payload of a scoped slot, with at most 32 groups.
    package init(_ keys: borrowing VaultKeys, grants: borrowing Grants) {
        kind = .scoped
        let numbers = grants.numbers
        let publicKey = keys.ownersPublicKey()
        var plain = Secret(count: Format.scopedPayloadPlain)
        plain.withUnsafeMutableBytes { out in
            Self.copy(keys.index, into: out, at: ScopedPayloadLayout.indexKey.lowerBound)
            withUnsafeBytes(of: publicKey.words) {
                UnsafeMutableRawBufferPointer(rebasing: out[ScopedPayloadLayout.ownerPublicKey]).copyMemory(from: $0)
            }
            out[64] = UInt8(numbers.count)
            for (position, number) in numbers.enumerated() {
                let at = ScopedPayloadLayout.grant(position)
                out.storeBytes(of: number.littleEndian, toByteOffset: at, as: UInt64.self)
                if let key = grants.key(number) { Self.copy(key, into: out, at: at + 8) }
            }
        }
        self.plain = plain
    }

    private static func copy(_ secret: borrowing Secret, into out: UnsafeMutableRawBufferPointer, at offset: Int) {
        secret.withUnsafeBytes {
            UnsafeMutableRawBufferPointer(rebasing: out[offset..<offset + $0.count]).copyMemory(from: $0)
        }
    }
}

/// Creates slots.
package enum SlotSeal {
    /// Creates a slot for these factors and returns it with its wrapping key.
    ///
    /// `id`: the id of the slot to be replaced; nil for a new id.
    /// `external`: the provider's name and its key, if the factors include an external key. The owners' data is stored
    /// in the owner part.
    package static func make(
        _ payload: borrowing SlotPayload, _ factors: borrowing FactorKeys, cost: SlotParameters.Cost?,
        owner part: OwnerPart,
        id: Bytes16? = nil, external: borrowing ExternalKey? = nil, vault: Bytes16, keys: borrowing OwnerKeys,
        _ random: Randomness
    ) throws(VaultError) -> (slot: Slot, wrappingKey: SecretBox) {
        var part = part
        let (provider, externalKey, data) = try parts(external)
        if let data { part.providerData = data }
        let stretch =
            factors.kinds.isStretched ? cost.map { SlotParameters.Stretch(cost: $0, salt: random.bytes32()) } : nil
        var slot = Slot(
            id: id ?? random.bytes16(), kind: payload.kind, factors: factors.kinds,
            SlotParameters(stretch: stretch, provider: provider),
            ownerPart: OwnerPart.size(providerData: part.providerData.count))
        let stretched = try stretched(stretch, factors)
        let wrapping: Secret
        if let externalKey {
            let key = SlotKey(
                stretched: stretched, key: externalKey.secret.copy(), vault: vault, derivedOver: slot.derivedOver)
            slot.commitment = key.commitment()
            wrapping = key.wrappingKey()
        } else {
            let key = SlotKey(stretched: stretched, key: factors.key, vault: vault, derivedOver: slot.derivedOver)
            slot.commitment = key.commitment()
            wrapping = key.wrappingKey()
        }
        seal(payload, into: &slot, wrappingKey: wrapping, vault: vault, random)
        sealOwner(part, wrappingKey: wrapping, into: &slot, vault: vault, keys: keys, random)
        return (slot, SecretBox(wrapping))
    }

    private static func parts(
        _ external: borrowing ExternalKey?
    ) throws(VaultError) -> (SlotParameters.Provider?, SecretBox?, data: [UInt8]?) {
        switch external {
        case .none: return (nil, nil, nil)
        case .some(let external):
            guard SlotParameters.Provider.isName(external.provider) else {
                throw VaultError(.invalidArgument, "a provider's name must have 1 to 64 printable ASCII characters")
            }
            guard external.wrapped.parameters.count <= Format.Limit.providerParameters,
                external.wrapped.ownersData.count <= Format.Limit.providerData
            else {
                throw VaultError(
                    .limitExceeded, "a provider's parameters and data must not exceed 16,384 bytes each")
            }
            guard external.wrapped.key.count == Format.keySize else {
                throw VaultError(.invalidArgument, "a provider returned a key that is not 32 bytes long")
            }
            let provider = SlotParameters.Provider(name: external.provider, parameters: external.wrapped.parameters)
            return (provider, SecretBox(external.wrapped.key.copy()), external.wrapped.ownersData)
        }
    }

    /// Seals the contents of a slot under its wrapping key.
    package static func seal(
        _ payload: borrowing SlotPayload, into slot: inout Slot, wrappingKey: borrowing Secret, vault: Bytes16,
        _ random: Randomness
    ) {
        slot.payload = AEAD.wrap(payload.plain, payloadData(slot, vault), key: wrappingKey, random)
    }

    /// Seals the owner part of a slot. The associated data covers the payload, so the payload must be sealed first; the
    /// length of the provider's data must not change.
    package static func sealOwner(
        _ part: OwnerPart, wrappingKey: borrowing Secret, into slot: inout Slot, vault: Bytes16,
        keys: borrowing OwnerKeys,
        _ random: Randomness
    ) {
        var plain = Secret(bytes: part.encode())
        if slot.kind.dependsOnEpoch {
            plain.withUnsafeMutableBytes { out in
                wrappingKey.withUnsafeBytes {
                    UnsafeMutableRawBufferPointer(rebasing: out[OwnerPart.wrappingKey]).copyMemory(from: $0)
                }
            }
        }
        precondition(
            slot.owner.count == plain.count + Format.nonceSize + Format.tagSize,
            "the length of an owner part must not change")
        slot.owner = AEAD.wrap(plain, ownerData(slot, vault), key: keys.slotOwner, random)
    }

    /// Opens the owner part of a slot, which contains the wrapping key, or zeros for a kind of slot that does not
    /// depend on the epoch.
    package static func openOwner(
        _ slot: Slot, vault: Bytes16, keys: borrowing OwnerKeys
    ) throws(VaultError) -> (part: OwnerPart, wrappingKey: SecretBox) {
        let plain = try opening("the owner part of a slot") { () throws(CryptoError) in
            try AEAD.unwrap(slot.owner, ownerData(slot, vault), key: keys.slotOwner)
        }
        let part = try plain.withSpan { (bytes) throws(VaultError) in
            try decoding { () throws(FormatError) in try OwnerPart(bytes, slot.kind) }
        }
        return (part, SecretBox(plain.slice(OwnerPart.wrappingKey)))
    }

    static func payloadData(_ slot: Slot, _ vault: Bytes16) -> [UInt8] {
        Bound.bytes(Label.slot, vault.bytes + slot.clear)
    }

    private static func ownerData(_ slot: Slot, _ vault: Bytes16) -> [UInt8] {
        Bound.bytes(Label.slotOwner, vault.bytes + slot.beforeOwner)
    }

    /// Returns the output of Argon2id for the factors that are stretched, or nil if none are.
    static func stretched(_ stretch: SlotParameters.Stretch?, _ factors: borrowing FactorKeys) throws(VaultError)
        -> Secret?
    {
        guard let stretch else { return nil }
        return try opening("a slot") { () throws(CryptoError) in
            try Argon2.stretch(
                factors.stretchInput(), salt: stretch.salt.bytes, memoryKiB: stretch.cost.memoryKiB,
                passes: stretch.cost.passes, lanes: stretch.cost.lanes)
        }
    }
}

/// An external key for a new slot, with its provider.
package struct ExternalKey: ~Copyable, Sendable {
    package let provider: String
    package let wrapped: WrappedKey

    package init(provider: String, wrapped: consuming WrappedKey) {
        self.provider = provider
        self.wrapped = wrapped
    }
}

extension Randomness {
    package func bytes16() -> Bytes16 {
        var out: (UInt64, UInt64) = (0, 0)
        withUnsafeMutableBytes(of: &out) { fill($0) }
        return Bytes16(high: out.0.bigEndian, low: out.1.bigEndian)
    }

    package func bytes32() -> Bytes32 {
        var out = Bytes32.zero
        withUnsafeMutableBytes(of: &out.words) { fill($0) }
        return out
    }

    /// Returns an unused number from 1 to 2^63 − 1.
    package func number(besides used: Set<UInt64>) -> UInt64 {
        while true {
            var value: UInt64 = 0
            withUnsafeMutableBytes(of: &value) { fill($0) }
            value = UInt64(littleEndian: value) >> 1
            if value != 0, !used.contains(value) { return value }
        }
    }
}

/// The hash and MAC of a header.
package enum HeaderSeal {
    /// Returns the header hash stored in a header, if it is correct.
    package static func checkHash(_ bytes: [UInt8]) throws(VaultError) -> Bytes32 {
        let stated = try decoding { () throws(FormatError) in try Header.proof(bytes.span) }.hash
        guard hash(bytes) == stated else { throw VaultError(.headerInvalid, "the header is damaged", at: 0) }
        return stated
    }

    /// Checks the header MAC.
    package static func check(_ bytes: [UInt8], _ keys: borrowing VaultKeys) throws(VaultError) {
        let stated = try decoding { () throws(FormatError) in try Header.proof(bytes.span) }
        guard HeaderProof.mac(stated.hash, index: keys.index) == stated.mac else {
            throw VaultError(.authenticationFailed, "the header cannot be authenticated: it was altered", at: 0)
        }
    }

    /// Computes the hash and MAC of a header, and returns the whole header with its hash.
    package static func seal(_ header: inout Header, _ keys: borrowing VaultKeys) throws(VaultError) -> (
        bytes: [UInt8], hash: Bytes32
    ) {
        var bytes = try decoding { () throws(FormatError) in try header.encodeWithoutProof() }
        let hash = bytes.withUnsafeBytes { HeaderProof.hash($0) }
        bytes.append(hash)
        bytes.append(HeaderProof.mac(hash, index: keys.index))
        return (bytes, hash)
    }

    private static func hash(_ bytes: [UInt8]) -> Bytes32 {
        bytes.withUnsafeBytes {
            HeaderProof.hash(UnsafeRawBufferPointer(rebasing: $0[..<(bytes.count - Format.headerProofSize)]))
        }
    }
}
