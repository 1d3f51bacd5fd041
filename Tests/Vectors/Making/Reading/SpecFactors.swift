internal import TestSupport
internal import VaultBytes
internal import VaultCrypto

/// The factors that are given, and the slot that they open (section 3.1).
struct SpecFactors {
    private var given: ForgeFactors
    private let external: ReadRequest.External?
    private let ageIdentity: AgeIdentity?
    private let memory: UInt64
    private let passes: UInt64
    private let lanes: UInt64
    private let total: UInt64

    /// Refuses what no slot of format 1 can have.
    init(_ request: ReadRequest) throws(Refusal) {
        external = request.external
        ageIdentity = AgeIdentity.all.first { $0.text == request.ageIdentity }
        guard (ageIdentity == nil) == (request.ageIdentity == nil) else { throw Refusal(.noSlotOpens) }
        memory = request.limits[.memory] ?? 2 << 20
        passes = request.limits[.passes] ?? 16
        lanes = request.limits[.lanes] ?? 16
        total = request.limits[.total] ?? 1 << 24
        var kinds: SlotFactors = []
        var phrase: [UInt8]?
        var generated: [UInt8]?
        var other: [UInt8]?
        if let passphrase = request.passphrase {
            kinds.insert(.passphrase)
            phrase = try SpecFactors.crypto { () throws(CryptoError) in
                try Passphrase.normalised(Secret(bytes: passphrase)).plain
            }
        }
        if let file = request.keyFile {
            try Refusal.unless((1...Format.Limit.keyFile).contains(file.count), .noSlotOpens)
            if KeyFileFormat.isGenerated(Secret(bytes: file)) {
                kinds.insert(.generatedKeyFile)
                generated = try SpecFactors.crypto { () throws(CryptoError) in
                    try KeyFileFormat.decode(Secret(bytes: file)).plain
                }
            } else {
                kinds.insert(.otherKeyFile)
                other = file
            }
        }
        if let raw = request.rawKey {
            try Refusal.unless(raw.count == 32, .noSlotOpens)
            kinds.insert(.rawKey)
            generated = raw
        }
        if external != nil || ageIdentity != nil { kinds.insert(.externalKey) }
        try Refusal.unless(kinds.isKnown, .noSlotOpens)
        given = .rawKey([])
        given.kinds = kinds
        given.passphrase = phrase
        given.otherKeyFile = other
        given.key = generated
    }

    private static func crypto<T>(_ body: () throws(CryptoError) -> T) throws(Refusal) -> T {
        do throws(CryptoError) { return try body() } catch { throw Refusal(.noSlotOpens) }
    }

    /// the slot, and its payload's plaintext.
    func open(_ header: Header) throws(Refusal) -> (Slot, [UInt8]) {
        let tried = header.slots.filter { slot in
            slot.known != nil && slot.factors == given.kinds && candidates(slot, header.id)?.isEmpty != true
        }
        for cost in tried.compactMap({ $0.known?.stretch?.cost }) {
            let isWithin =
                UInt64(cost.memoryKiB) <= memory && UInt64(cost.passes) <= passes && UInt64(cost.lanes) <= lanes
            try Refusal.unless(isWithin, .kdfLimit)
        }
        var sum: UInt64 = 0
        for slot in tried {
            if let cost = slot.known?.stretch?.cost {
                let (added, overflow) = sum.addingReportingOverflow(UInt64(cost.memoryKiB) * UInt64(cost.passes))
                try Refusal.unless(!overflow && added <= total, .kdfLimit)
                sum = added
            }
            for candidate in candidates(slot, header.id)?.map(Optional.some) ?? [given.key] {
                guard let key = try slotKey(slot, header.id, candidate) else { continue }
                let bound = Bindings.slot(header.id, slot)
                guard let payload = Plain.open(slot.payload, key: ForgeFactors.wrappingKey(key), bound: bound) else {
                    throw Refusal(.authenticationFailed)
                }
                return (slot, payload)
            }
        }
        throw Refusal(.noSlotOpens)
    }

    /// The external keys to try for a slot; nil if no provider is asked.
    private func candidates(_ slot: Slot, _ vault: Bytes16) -> [[UInt8]]? {
        let provider = slot.known?.provider
        if let external {
            let keys = provider?.name == external.provider ? external.keys(for: slot.id) : []
            return Array(keys.prefix(Format.Limit.candidates))
        }
        guard let ageIdentity else { return nil }
        guard let provider, provider.name == "age" else { return [] }
        let fileKeys = (AgeStanza.all(provider.parameters) ?? []).compactMap { ageIdentity.open($0) }
        return fileKeys.prefix(Format.Limit.candidates).map { AgeStanza.externalKey($0, vault, slot.id) }
    }

    /// The slot key of these factors, if the slot commits to it.
    private func slotKey(_ slot: Slot, _ vault: Bytes16, _ candidate: [UInt8]?) throws(Refusal) -> [UInt8]? {
        var factors = given
        factors.key = candidate
        let key: [UInt8]
        do { key = try factors.slotKey(slot, vault) } catch { throw Refusal(.kdfLimit) }
        return ForgeFactors.commitment(key) == slot.commitment.bytes ? key : nil
    }
}
