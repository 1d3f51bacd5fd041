internal import TestSupport
internal import VaultBytes

/// Slots that vectors add.
enum Slots {
    static let cheap = SlotParameters.Cost(memoryKiB: 8, passes: 1, lanes: 1)

    static func stretch(_ cost: SlotParameters.Cost = cheap, _ number: UInt64 = 1) -> SlotParameters.Stretch {
        SlotParameters.Stretch(cost: cost, salt: Bytes32([0x5A, UInt8(number)].times(16)) ?? .zero)
    }

    static func parameters(
        _ factors: SlotFactors, _ cost: SlotParameters.Cost = cheap, number: UInt64 = 1,
        provider: SlotParameters.Provider? = nil
    ) -> SlotParameters {
        SlotParameters(stretch: factors.isStretched ? stretch(cost, number) : nil, provider: provider)
    }

    static func clear(
        _ number: UInt64, _ factors: ForgeFactors, kind: Slot.Kind = .full, _ known: SlotParameters? = nil,
        data: Int = 0
    ) -> Slot {
        Slot(
            id: Bytes16(high: 0x510_7000, low: number), kind: kind, factors: factors.kinds,
            known ?? parameters(factors.kinds, number: number), ownerPart: OwnerPart.size(providerData: data))
    }

    /// The id of the scoped slot that `remakeScoped` makes.
    static let scoped = Bytes16(high: 0x510_7000, low: 2)

    static func nonce(_ number: UInt64) -> [UInt8] { [0xA0, UInt8(number)].times(12) }

    static func part(_ name: String = "", data: [UInt8] = []) -> OwnerPart {
        OwnerPart(name: name, providerData: data)
    }
}

extension Forge {
    /// Adds a full slot.
    mutating func addSlot(
        _ number: UInt64, _ factors: ForgeFactors, _ known: SlotParameters? = nil, name: String = "",
        data: [UInt8] = [],
        edit: (inout SlotRecipe) throws -> Void = { _ in }
    ) throws {
        header.slots.append(
            try keys.slot(
                Slots.clear(number, factors, known, data: data.count), factors, part: Slots.part(name, data: data),
                nonce: Slots.nonce(number), edit: edit))
    }

    /// Adds an opaque slot: whatever its kind and factors, its owner part is right.
    mutating func addOpaque(
        _ number: UInt64, kind: UInt8 = 1, factors: UInt8 = 0x20, parameters: [UInt8] = [1, 2, 3], payload: Int? = nil,
        name: String = "opaque"
    ) throws {
        let kind = Slot.Kind(rawValue: kind)
        var slot = Slot(
            id: Bytes16(high: 0x0AC, low: number), kind: kind, factors: SlotFactors(rawValue: factors),
            SlotParameters(stretch: nil),
            ownerPart: OwnerPart.size(providerData: 0))
        let size = kind == .full ? 48 : kind == .scoped ? 1368 : 16
        slot.parameters = parameters
        slot.commitment = Bytes32([0xC0].times(32)) ?? .zero
        slot.payload = [0xD0].times(24 + (payload ?? size))
        if kind == .scoped {
            let wrapping = [0xE0].times(32)
            slot.payload = Plain.seal(
                try keys.scopedPayload(keys.groups.keys.sorted()), key: wrapping, nonce: Slots.nonce(number),
                bound: Bindings.slot(keys.vault, slot))
            grants[slot.id] = keys.groups.keys.sorted()
        }
        var owner = Slots.part(name).encode()
        if kind.dependsOnEpoch { owner.replaceSubrange(OwnerPart.wrappingKey, with: [0xE0].times(32)) }
        slot.owner = Plain.seal(
            owner, key: keys.slotOwner, nonce: Slots.nonce(number + 100), bound: Bindings.slotOwner(keys.vault, slot))
        // Read back, so that nobody takes it for a known one.
        header.slots.append(try slot.reread())
    }
}

extension Slot {
    fileprivate func reread() throws -> Slot {
        var bytes: [UInt8] = []
        encode(into: &bytes)
        var cursor = Cursor(bytes.span, at: 0, else: .headerInvalid)
        return try Slot(bytes.span, &cursor)
    }
}

/// The layout of slots, known and opaque (section 3.1).
extension Collection {
    mutating func addSlotLayouts(_ bases: Bases) throws {
        folder = "slots"
        try addSlotFields(bases)
        try addOpaqueSlots(bases)
        try addParameters(bases)
        try addManySlots(bases)
    }

    private mutating func slotField(
        _ name: String, _ spec: String, _ bases: Bases, _ comment: String,
        _ edit: @escaping (inout [UInt8]) throws -> Void
    ) throws {
        try forged(name, spec, .headerInvalid, bases.one, comment) { $0.editHeader.append(edit) }
    }

    private mutating func addSlotFields(_ bases: Bases) throws {
        for length in [0, 1, 4, 271, 303, 305, 65_537, 0xFFFF_FFFF] as [UInt32] {
            try slotField(
                "slot-length-\(length)", "R-1.3, R-2.2, R-3.2", bases,
                "A slot says that it has \(length) bytes, and has 304."
            ) {
                $0.put(u32: length, at: 68)
            }
        }
        try slotField("slot-reserved-22", "R-1.2", bases, "A reserved byte of a slot is 1.") { $0[68 + 22] = 1 }
        try slotField("slot-reserved-23", "R-1.2", bases, "The other reserved byte of a slot is 1.") { $0[68 + 23] = 1 }
        for count in [1, 241, 17_409, 0xFFFF_FFFF] as [UInt32] {
            try slotField(
                "slot-parameters-\(count)", "R-1.3, R-3.2", bases,
                "A slot says that it has parameters of \(count) bytes, and has none."
            ) {
                $0.put(u32: count, at: 68 + 24)
            }
        }
        for count in [0, 40, 167, 169, 17_409, 0xFFFF_FFFF] as [UInt32] {
            try slotField(
                "slot-owner-part-\(count)", "R-1.3, R-11.1", bases,
                "A slot says that its owner part has \(count) bytes; it has 168."
            ) {
                $0.put(u32: count, at: 68 + 28)
            }
        }
        try slotField(
            "slot-payload-47", "R-3.7", bases,
            "A full slot with a payload of 47 bytes, in a slot that is as much shorter."
        ) {
            $0.put(u32: 303, at: 68)
            $0.remove(at: 68 + 100)
            $0.insert(0, at: 4031)
        }
        try slotField("slot-payload-49", "R-3.7", bases, "A full slot with a payload of 49 bytes.") {
            $0.put(u32: 305, at: 68)
            $0.insert(0, at: 68 + 100)
            $0.remove(at: 4031)
        }
        try slotField("slot-full-with-1368", "R-3.7", bases, "A full slot with a scoped slot's payload.") {
            $0.put(u32: 304 + 1320, at: 68)
            $0.insert(contentsOf: [7].times(1320), at: 68 + 100)
            $0.removeLast(1320)
        }
        try slotField(
            "slot-scoped-with-48", "R-3.7", bases,
            "A full slot that calls itself scoped: its payload is too short for that."
        ) {
            $0[68 + 20] = 0x82
        }
        try forged(
            "slot-last-past-header", "R-2.2, R-3.2", .headerInvalid, bases.one, "A slot that reaches into hash and MAC."
        ) { forge in
            forge.editHeader.append { bytes in
                bytes[64] = 2
                var slot = Array(bytes[68..<372])
                slot[4] ^= 1
                slot.put(u32: 3700, at: 0)
                slot.put(u32: 3396, at: 24)
                bytes.put(slot, at: 372)
            }
        }
        try forged(
            "slot-id-zero", "R-3.8", .success, bases.one, "A slot whose id is zeros: it is an id like any other."
        ) { forge in
            var slot = Slots.clear(1, .rawKey(Base.key))
            slot.id = .zero
            forge.header.slots[0] = try forge.keys.slot(
                slot, .rawKey(Base.key), part: Slots.part("main"), nonce: Slots.nonce(1))
        }
    }

    // MARK: opaque slots

    private mutating func addOpaqueSlots(_ bases: Bases) throws {
        for kind in [0, 2, 3, 0x80, 0x81, 0x83, 0xFF] as [UInt8] {
            try opaque("slot-kind-\(kind)", bases, "A slot of the unknown kind \(kind), for a raw key.") {
                try $0.addOpaque(1, kind: kind, factors: 8, parameters: [])
            }
        }
        for factors in [0, 6, 7, 9, 10, 12, 18, 20, 24, 32, 64, 128, 255] as [UInt8] {
            try opaque("slot-factors-\(factors)", bases, "A full slot with the unknown factors \(factors).") {
                try $0.addOpaque(1, factors: factors)
            }
        }
        try opaque(
            "slot-opaque-scoped", bases, "A scoped slot with unknown factors: an owner sees what it grants.",
            bases.scoped
        ) {
            try $0.addOpaque(1, kind: 0x82, factors: 0x40)
        }
        try forged(
            "slot-opaque-scoped-seen-by-scoped", "R-3.7", .success, bases.scoped,
            "The same, seen by another scoped slot.",
            request: .raw(Base.scopedKey)
        ) { try $0.addOpaque(1, kind: 0x82, factors: 0x40) }
        try opaque("slot-opaque-long", bases, "An opaque slot with parameters of 17,408 bytes and a payload of 3000.") {
            forge in
            forge.header.length = 24_576
            try forge.addOpaque(1, kind: 5, parameters: [9].times(17_408), payload: 3000)
        }
        try opaque("slot-opaque-longest", bases, "An opaque slot of 65,536 bytes, the most.") { forge in
            forge.header.length = 73_728
            try forge.addOpaque(1, kind: 5, parameters: [], payload: 65_536 - 64 - 24 - 168)
        }
        for (name, kind, factors, payload, comment) in [
            ("kind-1-payload-47", 1, 0x20, 47, "An opaque slot of kind 1 whose payload is a byte too short."),
            ("kind-1-payload-64", 1, 0x20, 64, "An opaque slot of kind 1 whose payload is too long."),
            ("payload-15", 3, 8, 15, "An opaque slot of another kind with a payload of 15 bytes."),
            ("payload-0", 3, 8, 0, "An opaque slot of another kind without a payload."),
        ] as [(String, UInt8, UInt8, Int, String)] {
            try forged("slot-opaque-\(name)", "R-3.7", .headerInvalid, bases.one, comment) { forge in
                forge.editHeader.append { bytes in
                    bytes[64] = 2
                    bytes.put(Self.opaqueBytes(kind, factors, payload: payload), at: 372)
                }
            }
        }
        // As long as the least slot, and right but for one part.
        for (name, spec, parameters, payload, owner, comment) in [
            ("payload-15-of-272", "R-3.7", 1, 15, 168, "An opaque slot of 272 bytes with a payload of 15 bytes."),
            ("owner-part-40", "R-11.1", 128, 16, 40, "An opaque slot of 272 bytes with an owner part of 40 bytes."),
            ("owner-part-17448", "R-11.1", 0, 16, 17_448, "An opaque slot with an owner part of 17,448 bytes."),
        ] as [(String, String, Int, Int, Int, String)] {
            try forged("slot-opaque-\(name)", spec, .headerInvalid, bases.one, comment) { forge in
                forge.header.length = owner > 4096 ? 24_576 : 4096
                forge.editHeader.append { bytes in
                    bytes[64] = 2
                    bytes.put(Self.opaqueBytes(3, 8, payload: payload, parameters: parameters, owner: owner), at: 372)
                }
            }
        }
        try forged(
            "slot-opaque-scoped-payload", "R-3.7", .headerInvalid, bases.one,
            "An opaque slot of kind 82 with a payload of 1367 bytes."
        ) {
            $0.editHeader.append { bytes in
                bytes[64] = 2
                bytes.put(Self.opaqueBytes(0x82, 0x20, payload: 1367), at: 372)
            }
        }
        try forged("slot-opaque-too-long", "R-11.1", .headerInvalid, bases.one, "An opaque slot of 65,537 bytes.") {
            $0.header.length = 73_728
            $0.editHeader.append { bytes in
                bytes[64] = 2
                bytes.put(Self.opaqueBytes(5, 0x20, payload: 65_537 - 64 - 24 - 168), at: 372)
            }
        }
        try forged(
            "slot-opaque-parameters-17409", "R-11.1", .headerInvalid, bases.one,
            "An opaque slot with parameters of 17,409 bytes."
        ) {
            $0.header.length = 24_576
            $0.editHeader.append { bytes in
                bytes[64] = 2
                bytes.put(Self.opaqueBytes(5, 0x20, payload: 16, parameters: 17_409), at: 372)
            }
        }
        // The two lengths alone are possible, and the slot has no room for both.
        for (name, parameters, owner) in [("parameters", 17_408, 168), ("owner", 0, 17_408), ("both", 17_408, 17_408)] {
            try forged(
                "slot-opaque-272-with-long-\(name)", "R-2.2, R-3.7", .headerInvalid, bases.one,
                "An opaque slot of 272 bytes that says it has parameters of \(parameters) bytes and an owner part of \(owner)."
            ) {
                $0.header.length = 65_536
                $0.editHeader.append { bytes in
                    bytes[64] = 2
                    var slot = Self.opaqueBytes(5, 0x20, payload: 16)
                    slot.put(u32: UInt32(parameters), at: 24)
                    slot.put(u32: UInt32(owner), at: 28)
                    bytes.put(slot, at: 372)
                }
            }
        }
        try forged(
            "slot-opaque-reserved", "R-1.2, R-3.7", .headerInvalid, bases.one, "A reserved byte of an opaque slot is 1."
        ) {
            $0.editHeader.append { bytes in
                bytes[64] = 2
                var slot = Self.opaqueBytes(5, 0x20, payload: 16)
                slot[22] = 1
                bytes.put(slot, at: 372)
            }
        }
        try forged(
            "slot-opaque-same-id", "R-3.8", .headerInvalid, bases.one, "An opaque slot has the id of a known one."
        ) {
            $0.editHeader.append { bytes in
                bytes[64] = 2
                var slot = Self.opaqueBytes(5, 0x20, payload: 16)
                slot.put(Array(bytes[72..<88]), at: 4)
                bytes.put(slot, at: 372)
            }
        }
        try forged(
            "slot-opaque-owner-part", "R-3.15", .authenticationFailed, bases.one,
            "The owner part of an opaque slot does not open."
        ) { forge in
            try forge.addOpaque(1)
            forge.header.slots[1].owner.flip(60)
        }
        try forged(
            "slot-opaque-only", "R-3.7, R-3.10", .noSlotOpens, bases.one,
            "A slot whose commitment fits, but of an unknown kind: it is not tried.",
            request: .raw([0x77].times(32))
        ) { forge in
            let factors = ForgeFactors.rawKey([0x77].times(32))
            var clear = Slots.clear(1, factors, kind: Slot.Kind(rawValue: 3))
            // The slot key covers the slot's length.
            clear.payload = [0].times(Format.fullPayload)
            let slot = try forge.keys.slot(
                clear, factors, payload: forge.keys.vaultKey, part: Slots.part(), nonce: Slots.nonce(1))
            guard ForgeFactors.commitment(try factors.slotKey(slot, forge.keys.vault)) == slot.commitment.bytes else {
                throw ForgeError("the commitment does not fit")
            }
            forge.header.slots.append(slot)
        }
    }

    private mutating func opaque(
        _ name: String, _ bases: Bases, _ comment: String, _ base: Base? = nil, _ edit: (inout Forge) throws -> Void
    ) throws {
        try forged(name, "R-3.7, R-3.16, R-5.19", .success, base ?? bases.one, comment, edit)
    }

    /// An opaque slot's bytes, not sealed by anybody.
    static func opaqueBytes(_ kind: UInt8, _ factors: UInt8, payload: Int, parameters: Int = 0, owner: Int = 168)
        -> [UInt8]
    {
        var out: [UInt8] = []
        out.append(u32: UInt32(64 + parameters + 24 + payload + owner))
        out += [0xB0].times(16) + [kind, factors, 0, 0]
        out.append(u32: UInt32(parameters))
        out.append(u32: UInt32(owner))
        return out + [0xB1].times(parameters + 32 + 24 + payload + owner)
    }

    // MARK: parameters

    private mutating func addParameters(_ bases: Bases) throws {
        let provider = SlotParameters.Provider(name: "tests.example.org", parameters: [1, 2, 3])
        let external = ForgeFactors.externalKey([0x33].times(32))
        let named: (SlotParameters.Provider) -> SlotParameters = { SlotParameters(stretch: nil, provider: $0) }
        for (name, comment, chosen) in [
            ("provider-name-1", "A provider's name of one byte.", SlotParameters.Provider(name: "p", parameters: [])),
            (
                "provider-name-64", "A provider's name of 64 bytes.",
                .init(name: String(repeating: "p", count: 64), parameters: [1])
            ),
            (
                "provider-name-ascii", "A provider's name of the least and the greatest bytes.",
                .init(name: "!~", parameters: [1])
            ),
        ] {
            var request = ReadRequest()
            request.external = .init(chosen.name, [(nil, [0x33].times(32))])
            try forged("slot-\(name)", "R-11.1", .success, bases.one, comment, request: request) {
                try $0.addSlot(1, external, named(chosen))
            }
        }
        var request = ReadRequest()
        request.external = .init("tests.example.org", [(nil, [0x33].times(32))])
        try forged(
            "slot-provider-parameters-16384", "R-11.1", .success, bases.one, "A provider's parameters of 16,384 bytes.",
            request: request
        ) {
            try $0.addSlot(1, external, named(.init(name: "tests.example.org", parameters: [4].times(16_384))))
        }
        let long = SlotParameters.Provider(name: String(repeating: "p", count: 65), parameters: [1])
        request.external = .init(long.name, [(nil, [0x33].times(32))])
        try forged(
            "slot-provider-name-65-bytes", "R-11.1", .headerInvalid, bases.one,
            "A provider's name of 65 bytes, in parameters as long.",
            request: request
        ) { try $0.addSlot(1, external, named(long)) }
        try forged("slot-provider-name-empty", "R-3.2, R-11.1", .headerInvalid, bases.one, "A provider without a name.")
        {
            try $0.addSlot(1, external, named(.init(name: "", parameters: [1])))
        }
        // What is malformed is put in place of right parameters of the same length.
        let plain = named(provider)
        let odd: [(String, String, (inout [UInt8]) -> Void)] = [
            ("name-0", "A provider without a name.", { $0[0] = 0 }),
            ("name-65", "A provider's name of 65 bytes.", { $0[0] = 65 }),
            ("name-space", "A provider's name with a space.", { $0[3] = 32 }),
            ("name-127", "A provider's name with a byte 127.", { $0[3] = 127 }),
            ("name-200", "A provider's name with a byte beyond ASCII.", { $0[3] = 200 }),
            ("name-past-end", "A provider's name that reaches past the parameters.", { $0[0] = 40 }),
            ("parameters-4", "A provider's parameters reach past the slot's.", { $0[18] = 4 }),
            ("parameters-2", "A byte of the slot's parameters is left over.", { $0[18] = 2 }),
            ("parameters-65535", "A provider's parameters of 65,535 bytes.", { $0.put(u16: 0xFFFF, at: 18) }),
        ]
        for (name, comment, edit) in odd {
            try forged("slot-provider-\(name)", "R-1.3, R-3.2", .headerInvalid, bases.one, comment) { forge in
                try forge.addSlot(1, external, plain)
                edit(&forge.header.slots[1].parameters)
            }
        }
        try forged(
            "slot-provider-parameters-16385", "R-11.1", .headerInvalid, bases.one,
            "A provider's parameters of 16,385 bytes."
        ) {
            forge in
            try forge.addSlot(1, external, named(.init(name: "tests.example.org", parameters: [4].times(16_384))))
            forge.header.slots[1].parameters.append(4)
            forge.header.slots[1].parameters.put(u16: 16_385, at: 18)
            forge.header.length = 24_576
        }
        for (name, comment, edit) in [
            ("short", "A passphrase's parameters lack the last byte of the salt.", { $0.removeLast() }),
            ("long", "A passphrase's parameters have a byte too many.", { $0.append(0) }),
            ("none", "A slot for a passphrase without parameters.", { $0 = [] }),
        ] as [(String, String, (inout [UInt8]) -> Void)] {
            try forged("slot-stretch-\(name)", "R-1.3, R-3.2", .headerInvalid, bases.one, comment) { forge in
                try forge.addSlot(1, .passphrase(Array("words".utf8)))
                edit(&forge.header.slots[1].parameters)
            }
        }
        try forged(
            "slot-raw-key-parameters", "R-1.3, R-3.2", .headerInvalid, bases.one,
            "A slot for a raw key with parameters."
        ) {
            $0.header.slots[0].parameters = [8, 0, 0, 0]
        }
        try forged(
            "slot-salt-zero", "R-3.9", .success, bases.one, "A salt of zeros: it is a salt like any other.",
            request: .words("words")
        ) {
            let stretch = SlotParameters.Stretch(cost: Slots.cheap, salt: .zero)
            try $0.addSlot(1, .passphrase(Array("words".utf8)), SlotParameters(stretch: stretch))
        }
    }

    // MARK: many

    private mutating func addManySlots(_ bases: Bases) throws {
        func fill(_ forge: inout Forge, _ count: Int) throws {
            for index in 1..<count { try forge.addSlot(UInt64(index), .rawKey([UInt8(index)].times(32))) }
        }
        try forged("slots-17", "R-3.2, R-11.1", .success, bases.one, "17 slots.") { try fill(&$0, 17) }
        try forged(
            "slots-64-last", "R-3.10, R-11.1", .success, bases.one, "64 slots, the most; the last one's key is given.",
            request: .raw([63].times(32))
        ) { try fill(&$0, 64) }
        try forged(
            "slots-64-none", "R-3.10", .noSlotOpens, bases.one, "64 slots, and another key.",
            request: .raw([64].times(32))
        ) {
            try fill(&$0, 64)
        }
        try forged("slots-65", "R-11.1", .headerInvalid, bases.one, "65 slots, all of them well-formed.") { forge in
            try fill(&forge, 64)
            forge.header.length = 20_480
            forge.editHeader.append { bytes in
                bytes[64] = 65
                var slot = Array(bytes[68..<372])
                slot.flip(5)
                bytes.put(slot, at: 68 + 64 * 304)
            }
        }
        try forged(
            "slots-63-opaque", "R-3.7, R-11.1", .success, bases.one, "63 opaque slots, and one that opens behind them."
        ) { forge in
            let main = forge.header.slots.removeFirst()
            for index in 1..<64 { try forge.addOpaque(UInt64(index), kind: UInt8(index % 5 + 3)) }
            forge.header.slots.append(main)
        }
        try forged("slots-64-opaque", "R-3.7", .noSlotOpens, bases.one, "64 opaque slots, and none that is known.") {
            forge in
            forge.header.slots = []
            for index in 1..<65 { try forge.addOpaque(UInt64(index)) }
        }
        try forged(
            "slots-10-stretched", "R-3.10, R-3.11", .success, bases.one,
            "Ten slots for passphrases; the last one's is given.",
            request: .words("words 10")
        ) {
            for index in 1..<11 { try $0.addSlot(UInt64(index), .passphrase(Array("words \(index)".utf8))) }
        }
    }
}

extension ReadRequest {
    static func words(_ text: String) -> ReadRequest {
        var request = ReadRequest()
        request.passphrase = Array(text.utf8)
        return request
    }
}
