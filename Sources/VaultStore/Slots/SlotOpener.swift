package import VaultBytes
package import VaultCrypto

/// The result of opening a slot.
package struct OpenedSlot: ~Copyable {
    package let id: Bytes16
    package var keys: VaultKeys
    /// The key that opens the slot without the factors, used after the file has been replaced.
    package var wrappingKey: Secret
    /// The group keys that a scoped slot grants, by group number; empty for a full slot, which does not need them.
    package var grants: Grants
}

/// Group keys by number.
package struct Grants: ~Copyable, Sendable {
    /// The group numbers, in ascending order.
    package private(set) var numbers: [UInt64] = []
    private var keys: Secret

    package init() { keys = Secret(count: 0) }

    /// `keys`: 32 bytes for each number, in the same order as `numbers`.
    package init(numbers: [UInt64], keys: consuming Secret) {
        self.numbers = numbers
        self.keys = keys
    }

    package borrowing func key(_ number: UInt64) -> Secret? {
        guard let index = numbers.firstIndex(of: number) else { return nil }
        return keys.slice(index * 32..<index * 32 + 32)
    }
}

/// Tries factors on a header's slots, and checks the header with the keys of the slot that opens.
package enum SlotOpener {
    /// Opens the first slot that requires exactly these factors, and checks the header MAC.
    ///
    /// `external`: the provider of the external key, if the factors include one.
    package static func open(
        _ header: Header, _ bytes: [UInt8], _ factors: borrowing FactorKeys, _ limits: ReaderLimits,
        external: (any SlotFactor)? = nil, checkingHeader: Bool = true
    ) throws(VaultError) -> OpenedSlot {
        var spent: UInt64 = 0
        let found = try find(header, header.slots, factors, limits, external, &spent)
        return try open(found.slot, header, bytes, wrappingKey: found.key.wrappingKey(), checkingHeader: checkingHeader)
    }

    /// Returns the id of the first slot, other than the excluded one, whose commitment matches these factors. The slot
    /// is not opened. Throws `noSlotOpens` or `kdfLimit`.
    package static func slot(
        in header: Header, besides other: Bytes16?, _ factors: borrowing FactorKeys, _ limits: ReaderLimits,
        external: (any SlotFactor)? = nil
    ) throws(VaultError) -> Bytes16 {
        var spent: UInt64 = 0
        return try find(header, header.slots.filter { $0.id != other }, factors, limits, external, &spent).slot.id
    }

    /// Returns the first of the given slots whose commitment matches these factors, with its wrapping key. The slot is
    /// not opened. Throws `noSlotOpens` or `kdfLimit`.
    ///
    /// `spent`: the cost of all key derivations so far; this function adds its own.
    package static func match(
        _ slots: [Slot], of header: Header, _ factors: borrowing FactorKeys, _ limits: ReaderLimits,
        external: (any SlotFactor)?, spent: inout UInt64
    ) throws(VaultError) -> (slot: Slot, wrappingKey: SecretBox) {
        let found = try find(header, slots, factors, limits, external, &spent)
        return (found.slot, SecretBox(found.key.wrappingKey()))
    }

    private struct Found: ~Copyable {
        let slot: Slot
        let key: SlotKey
    }

    /// A slot to try, and the external keys to try with it, if the slot requires one.
    private struct Attempt {
        let slot: Slot
        let stretch: SlotParameters.Stretch?
        let candidates: [SecretBox]
    }

    /// Returns the first slot whose commitment matches.
    private static func find(
        _ header: Header, _ slots: [Slot], _ factors: borrowing FactorKeys, _ limits: ReaderLimits,
        _ external: (any SlotFactor)?, _ spent: inout UInt64
    ) throws(VaultError) -> Found {
        let attempts = try attempts(header.id, slots, factors.kinds, external)
        for attempt in attempts { if let stretch = attempt.stretch { try limits.check(stretch.cost) } }
        for attempt in attempts {
            if let stretch = attempt.stretch { try limits.spend(stretch.cost, &spent) }
            if let key = try key(attempt, header.id, factors) { return Found(slot: attempt.slot, key: key) }
        }
        var error = VaultError(.noSlotOpens, refusal(header, factors.kinds, tried: !attempts.isEmpty))
        error.triedSlot = !attempts.isEmpty
        throw error
    }

    /// Returns the known slots with exactly these factors, in the order of the header. A slot with an external key is
    /// included only if there is a candidate for it.
    private static func attempts(
        _ vault: Bytes16, _ slots: [Slot], _ factors: SlotFactors, _ external: (any SlotFactor)?
    ) throws(VaultError) -> [Attempt] {
        let fitting = slots.filter { !$0.isOpaque && $0.factors == factors }
        guard factors.contains(.externalKey) else {
            return fitting.map { Attempt(slot: $0, stretch: $0.known?.stretch, candidates: []) }
        }
        guard let external else { return [] }
        let own = fitting.filter { $0.known?.provider?.name == external.provider }
        guard !own.isEmpty else { return [] }
        var candidates = KeyCandidates(slots: own.count)
        let asked = own.map {
            ExternalSlot(vault: vault.bytes, id: $0.id.bytes, parameters: $0.known?.provider?.parameters ?? [])
        }
        try external.unwrap(asked, into: &candidates)
        return zip(own, candidates.keys).filter { !$1.isEmpty }
            .map { Attempt(slot: $0, stretch: $0.known?.stretch, candidates: $1) }
    }

    /// Returns the slot's key if its commitment matches. The passphrase is stretched only once, for any number of
    /// candidates.
    private static func key(
        _ attempt: Attempt, _ vault: Bytes16, _ factors: borrowing FactorKeys
    ) throws(VaultError) -> SlotKey? {
        let stretched = try SlotSeal.stretched(attempt.stretch, factors)
        guard !attempt.candidates.isEmpty else {
            return matching(attempt.slot, vault, stretched: stretched, key: factors.key)
        }
        for candidate in attempt.candidates {
            if let key = matching(attempt.slot, vault, stretched: stretched, key: candidate.secret.copy()) {
                return key
            }
        }
        return nil
    }

    private static func matching(
        _ slot: Slot, _ vault: Bytes16, stretched: borrowing Secret?, key: borrowing Secret?
    ) -> SlotKey? {
        let key = SlotKey(stretched: stretched, key: key, vault: vault, derivedOver: slot.derivedOver)
        guard key.commitment() == slot.commitment else { return nil }
        return key
    }

    /// Opens a slot with its wrapping key, and checks the header with the keys that the slot contains.
    package static func open(
        _ slot: Slot, _ header: Header, _ bytes: [UInt8], wrappingKey: consuming Secret, checkingHeader: Bool = true
    ) throws(VaultError) -> OpenedSlot {
        let opened = try open(slot, header, wrappingKey: wrappingKey)
        if checkingHeader { try HeaderSeal.check(bytes, opened.keys) }
        return opened
    }

    /// Opens a slot with its wrapping key, without checking the header.
    package static func open(_ slot: Slot, _ header: Header, wrappingKey: consuming Secret) throws(VaultError)
        -> OpenedSlot
    {
        let payload = try payload(slot, header.id, wrappingKey)
        guard slot.kind == .scoped else {
            return OpenedSlot(
                id: slot.id, keys: VaultKeys(vaultKey: payload, epoch: header.epoch), wrappingKey: wrappingKey,
                grants: Grants())
        }
        let scoped = try ScopedPayload(payload)
        let keys = VaultKeys(index: scoped.index.copy(), ownersPublicKey: scoped.ownersPublicKey)
        return OpenedSlot(id: slot.id, keys: keys, wrappingKey: wrappingKey, grants: scoped.takeGrants())
    }

    /// Opens a scoped slot with its wrapping key, and returns the group keys that the slot grants.
    package static func grants(_ slot: Slot, _ vault: Bytes16, wrappingKey: borrowing Secret) throws(VaultError)
        -> Grants
    {
        try ScopedPayload(try payload(slot, vault, wrappingKey)).takeGrants()
    }

    private static func payload(_ slot: Slot, _ vault: Bytes16, _ wrappingKey: borrowing Secret) throws(VaultError)
        -> Secret
    {
        try opening("a slot") { () throws(CryptoError) in
            try AEAD.unwrap(slot.payload, SlotSeal.payloadData(slot, vault), key: wrappingKey)
        }
    }

    private static func refusal(_ header: Header, _ kinds: SlotFactors, tried: Bool) -> String {
        if tried {
            guard kinds.contains(.passphrase) else { return "no slot opens with this key" }
            let isKeyFile = !kinds.isDisjoint(with: [.generatedKeyFile, .otherKeyFile])
            return "wrong passphrase" + (kinds == .passphrase ? "" : isKeyFile ? " or key file" : " or key")
        }
        return "no slot of this vault accepts these factors; the vault has slots for: "
            + Set(header.slots.map { $0.isOpaque ? "factors of another version" : FactorNames.describe($0.factors) })
            .sorted()
            .joined(separator: "; ")
    }
}

/// The opened payload of a scoped slot.
private struct ScopedPayload: ~Copyable {
    let index: Secret
    let ownersPublicKey: Bytes32
    private let grants: Grants

    init(_ payload: consuming Secret) throws(VaultError) {
        let (layout, publicKey) = try payload.withSpan { (bytes) throws(VaultError) in
            try decoding { () throws(FormatError) in
                var cursor = Cursor(
                    over: ScopedPayloadLayout.ownerPublicKey, of: Cursor(bytes, at: 0, else: .structureInvalid))
                return (try ScopedPayloadLayout(bytes), try cursor.bytes32(bytes))
            }
        }
        index = payload.slice(ScopedPayloadLayout.indexKey)
        ownersPublicKey = publicKey
        var keys = Secret(count: layout.groups.count * Format.keySize)
        keys.withUnsafeMutableBytes { out in
            payload.withUnsafeBytes { payload in
                for index in layout.groups.indices {
                    let at = ScopedPayloadLayout.grant(index) + 8
                    UnsafeMutableRawBufferPointer(rebasing: out[(index * 32)...])
                        .copyMemory(from: UnsafeRawBufferPointer(rebasing: payload[at..<at + 32]))
                }
            }
        }
        grants = Grants(numbers: layout.groups, keys: keys)
    }

    consuming func takeGrants() -> Grants { grants }
}

/// Describes a slot's factors in words.
package enum FactorNames {
    package static func describe(_ factors: SlotFactors) -> String {
        var names: [String] = []
        if factors.contains(.passphrase) { names.append("passphrase") }
        if factors.contains(.generatedKeyFile) { names.append("generated key file") }
        if factors.contains(.otherKeyFile) { names.append("key file") }
        if factors.contains(.rawKey) { names.append("raw key") }
        if factors.contains(.externalKey) { names.append("external key") }
        return names.joined(separator: " and ")
    }
}
