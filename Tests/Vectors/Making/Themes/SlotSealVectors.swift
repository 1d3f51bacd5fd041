internal import TestSupport
internal import VaultBytes

/// What slots seal: payloads, owner parts, grants (R-3.13 to R-3.15).
extension Collection {
    mutating func addSlotSeals(_ bases: Bases) throws {
        folder = "slots"
        try addPayloads(bases)
        try addOwnerParts(bases)
        try addGrants(bases)
        try addGrantedVaults(bases)
    }

    private mutating func sealed(
        _ name: String, _ spec: String, _ expect: Verdict, _ bases: Bases, _ comment: String,
        _ edit: (inout SlotRecipe) throws -> Void
    ) throws {
        try forged(name, spec, expect, bases.one, comment) { forge in
            forge.header.slots[0] = try forge.keys.slot(
                Slots.clear(1, .rawKey(Base.key)), .rawKey(Base.key), part: Slots.part("main"), nonce: Slots.nonce(1),
                edit: edit)
        }
    }

    private mutating func addPayloads(_ bases: Bases) throws {
        let one = bases.one
        for (name, at) in [("first", 0), ("last", 31)] {
            try forged(
                "slot-commitment-\(name)", "R-3.13", .noSlotOpens, one,
                "The \(name) byte of the commitment is another one: nothing goes on to the payload."
            ) { forge in
                var bytes = forge.header.slots[0].commitment.bytes
                bytes.flip(at)
                forge.header.slots[0].commitment = Bytes32(bytes) ?? .zero
            }
        }
        try forged(
            "slot-payload-tag", "R-1.6, R-3.13", .authenticationFailed, one,
            "The commitment fits; the payload's tag is wrong."
        ) {
            $0.header.slots[0].payload.flip(71)
        }
        try forged(
            "slot-payload-nonce", "R-3.13", .authenticationFailed, one,
            "The commitment fits; the payload's nonce is another one."
        ) {
            $0.header.slots[0].payload.flip(0)
        }
        try forged(
            "slot-payload-text", "R-3.13", .authenticationFailed, one,
            "The commitment fits; a bit of the sealed payload is another one."
        ) {
            $0.header.slots[0].payload.flip(30)
        }
        try forged(
            "slot-id-changed", "R-3.13", .noSlotOpens, one, "A slot's id is another one: its key is derived from it."
        ) {
            $0.header.slots[0].id = Bytes16(high: 1, low: 2)
        }
        try forged(
            "slot-from-other-vault", "R-3.13", .noSlotOpens, one, "A slot of another vault, for the same raw key."
        ) {
            $0.header.slots[0] = try bases.other.forge().header.slots[0]
        }
        try forged(
            "slot-other-factors-same-id", "R-5.31", .success, one,
            "A slot whose factors were changed: its id stays, and the dot of its contents is a later one.",
            request: .raw([0x66].times(32))
        ) { forge in
            let (id, factors) = (forge.header.slots[0].id, ForgeFactors.rawKey([0x66].times(32)))
            let clear = Slot(
                id: id, kind: .full, factors: factors.kinds, Slots.parameters(factors.kinds),
                ownerPart: OwnerPart.size(providerData: 0))
            forge.header.slots[0] = try forge.keys.slot(clear, factors, part: Slots.part("main"), nonce: Slots.nonce(1))
            forge.onKeyring(try forge.last(.keyring)) { $0.slots[0].changed.revision += 1 }
        }
        let spec = "R-3.13, R-4.1"
        try sealed(
            "slot-payload-other-vault", spec, .authenticationFailed, bases,
            "The payload is bound to another vault's id."
        ) {
            $0.payloadBound[20] ^= 1
        }
        try sealed(
            "slot-payload-other-slot", spec, .authenticationFailed, bases, "The payload is bound to another slot's id."
        ) {
            $0.payloadBound[38] ^= 1
        }
        try sealed(
            "slot-payload-other-label", spec, .authenticationFailed, bases,
            "The payload is bound to the owner part's label."
        ) {
            $0.payloadBound = Plain.label("vaultfmt-1 slot owner") + $0.payloadBound.dropFirst(16)
        }
        try sealed(
            "slot-payload-without-commitment", spec, .authenticationFailed, bases,
            "The payload is bound to the slot without its commitment."
        ) { $0.payloadBound.removeLast(32) }
        try sealed(
            "slot-payload-by-slot-key", spec, .authenticationFailed, bases,
            "The payload is sealed under another key than the wrapping key."
        ) {
            $0.wrappingKey[0] ^= 1
        }
        try sealed(
            "slot-payload-wrong-vault-key", "R-3.3", .authenticationFailed, bases,
            "A slot that holds another vault key: the header's MAC is not its."
        ) { $0.payload[0] ^= 1 }
        try forged(
            "slot-key-without-vault", "R-3.13", .noSlotOpens, one,
            "A slot whose key was derived without the vault's id."
        ) { forge in
            var slot = Slots.clear(1, .rawKey(Base.key))
            let key = Plain.mac(Base.key, "vaultfmt-1 slot key", slot.derivedOver)
            slot.commitment = Bytes32(ForgeFactors.commitment(key)) ?? .zero
            slot.payload = Plain.seal(
                forge.keys.vaultKey, key: ForgeFactors.wrappingKey(key), nonce: Slots.nonce(1),
                bound: Bindings.slot(forge.keys.vault, slot)
            )
            forge.header.slots[0] = try forge.resealedOwner(slot)
        }
    }

    // MARK: owner parts

    private mutating func addOwnerParts(_ bases: Bases) throws {
        let cases: [(String, String, Verdict, String, (inout SlotRecipe) -> Void)] = [
            ("name-63", "R-11.1", .success, "A name of 63 bytes.", { $0.owner.put([63] + [0x6E].times(63), at: 0) }),
            ("name-empty", "R-3.15", .success, "No name.", { $0.owner.put([0].times(64), at: 0) }),
            (
                "name-leading-feff", "R-1.4", .success, "A name that starts with U+FEFF.",
                { $0.owner.put([4, 0xEF, 0xBB, 0xBF, 0x61], at: 0) }
            ),
            (
                "name-64", "R-11.1", .structureInvalid, "A name of 64 bytes.",
                { $0.owner.put([64] + [0x6E].times(63), at: 0) }
            ),
            (
                "name-64-and-all-later", "R-11.1", .structureInvalid,
                "A name of 64 bytes, with everything after it a byte later, as a name of any length would put it.",
                {
                    $0.owner = [64] + [0x6E].times(64) + [0].times(63)
                }
            ),
            ("name-255", "R-2.2, R-11.1", .structureInvalid, "A name of 255 bytes.", { $0.owner[0] = 255 }),
            ("name-padding", "R-1.2", .structureInvalid, "A byte after the name is not zero.", { $0.owner[63] = 1 }),
            (
                "name-padding-first", "R-1.2", .structureInvalid, "The first byte after the name is not zero.",
                { $0.owner[5] = 1 }
            ),
            (
                "name-invalid-utf8", "R-1.4", .structureInvalid, "A name that is not UTF-8.",
                { $0.owner.put([1, 0xFF], at: 0) }
            ),
            (
                "name-overlong-utf8", "R-1.4", .structureInvalid, "A name with an overlong encoding.",
                { $0.owner.put([2, 0xC1, 0xA1, 0, 0], at: 0) }
            ),
            (
                "wrapping-key", "R-3.15", .structureInvalid, "A wrapping key in the owner part of a full slot.",
                { $0.owner[64] = 1 }
            ),
            (
                "wrapping-key-last", "R-3.15", .structureInvalid,
                "The last byte where a wrapping key would be is not zero.",
                { $0.owner[95] = 1 }
            ),
            (
                "reserved-96", "R-1.2", .structureInvalid, "The first of the 24 reserved bytes is 1.",
                { $0.owner[96] = 1 }
            ),
            (
                "reserved-119", "R-1.2", .structureInvalid, "The last of the 24 reserved bytes is 1.",
                { $0.owner[119] = 1 }
            ),
            (
                "data-past-end", "R-2.2", .structureInvalid, "Provider's data that reach past the end.",
                { $0.owner.put(u16: 7, at: 120) }
            ),
            (
                "data-16385", "R-11.1", .structureInvalid, "Provider's data of 16,385 bytes.",
                { $0.owner.put(u16: 16_385, at: 120) }
            ),
            (
                "data-6", "R-3.15", .success, "Provider's data of six bytes, which leave no padding.",
                { $0.owner.put([6, 0, 1, 2, 3, 4, 5, 6], at: 120) }
            ),
            ("padding", "R-1.2", .structureInvalid, "A byte of the padding is 1.", { $0.owner[127] = 1 }),
            ("tag", "R-1.6, R-3.15", .authenticationFailed, "It is sealed under another key.", { $0.ownerKey[0] ^= 1 }),
            (
                "by-wrapping-key", "R-3.15", .authenticationFailed, "It is sealed under the wrapping key.",
                { $0.ownerKey = $0.wrappingKey }
            ),
        ]
        for (name, spec, expect, comment, edit) in cases {
            try sealed(
                "owner-part-\(name)", spec, expect, bases,
                "Owner part: " + comment.prefix(1).lowercased() + comment.dropFirst()
            ) {
                edit(&$0)
            }
        }
        for (name, at) in [("vault", 25), ("slot-id", 43), ("payload", 150)] {
            try forged(
                "owner-part-other-\(name)", "R-3.15, R-4.1", .authenticationFailed, bases.one,
                "Owner part: it is bound to another \(name)."
            ) { forge in
                let vault = forge.keys.vault
                forge.header.slots[0] = try forge.keys.slot(
                    Slots.clear(1, .rawKey(Base.key)), .rawKey(Base.key), part: Slots.part("main"),
                    nonce: Slots.nonce(1)
                ) { recipe in
                    var made = recipe.slot
                    made.payload = Plain.seal(
                        recipe.payload, key: recipe.wrappingKey, nonce: recipe.payloadNonce, bound: recipe.payloadBound)
                    var bound = Bindings.slotOwner(vault, made)
                    bound.flip(at)
                    recipe.ownerBound = bound
                }
            }
        }
        for (name, size, expect) in [
            ("16384", 16_384, Verdict.success), ("7", 7, .success), ("16385", 16_385, .structureInvalid),
        ] {
            try forged(
                "owner-part-data-\(name)-bytes", "R-11.1", expect, bases.one,
                "Owner part: provider's data of \(size) bytes."
            ) {
                try $0.addSlot(1, .rawKey([5].times(32)), data: [0xDA].times(size))
            }
        }
        try forged(
            "owner-part-longer", "R-3.15", .structureInvalid, bases.one, "Owner part: 128 bytes of padding too many."
        ) { forge in
            var clear = Slots.clear(1, .rawKey([5].times(32)))
            clear.owner = [0].times(168 + 128)
            forge.header.slots.append(
                try forge.keys.slot(clear, .rawKey([5].times(32)), part: Slots.part(), nonce: Slots.nonce(1)) {
                    $0.owner += [0].times(128)
                }
            )
        }
        try forged(
            "owner-part-129-bytes", "R-3.15", .structureInvalid, bases.one, "Owner part: its plaintext has 129 bytes."
        ) { forge in
            var clear = Slots.clear(1, .rawKey([5].times(32)))
            clear.owner = [0].times(169)
            forge.header.slots.append(
                try forge.keys.slot(clear, .rawKey([5].times(32)), part: Slots.part(), nonce: Slots.nonce(1)) {
                    $0.owner.append(0)
                })
        }
        try forged(
            "owner-part-seen-by-scoped", "R-3.15", .success, bases.scoped,
            "An owner part that does not open, seen by a scoped slot: it reads none.",
            request: .raw(Base.scopedKey)
        ) { $0.header.slots[0].owner.flip(50) }
        try forged(
            "owner-part-swapped", "R-3.15", .authenticationFailed, bases.one,
            "Two slots' owner parts are in each other's place."
        ) { forge in
            try forge.addSlot(1, .rawKey([5].times(32)), name: "second")
            (forge.header.slots[0].owner, forge.header.slots[1].owner) = (
                forge.header.slots[1].owner, forge.header.slots[0].owner
            )
        }
        try forged(
            "owner-part-scoped-wrapping-key", "R-3.15", .authenticationFailed, bases.scoped,
            "Owner part: the wrapping key in it is not the one of the scoped slot's payload."
        ) { try $0.remakeScoped { recipe in recipe.owner[70] ^= 1 } }
    }

    // MARK: grants

    private static func swapped(_ payload: inout [UInt8]) {
        payload.put(Array(payload[112..<152]) + payload[72..<112], at: 72)
    }

    private mutating func addGrants(_ bases: Bases) throws {
        let cases: [(String, String, Verdict, String, (inout [UInt8]) -> Void)] = [
            ("order", "R-3.14", .structureInvalid, "Two groups in descending order.", Self.swapped),
            ("twice", "R-3.14", .structureInvalid, "One group twice.", { $0.put(Array($0[72..<112]), at: 112) }),
            ("number-0", "R-3.14", .structureInvalid, "A group with the number 0.", { $0.put(u64: 0, at: 72) }),
            (
                "number-2-63", "R-3.14", .structureInvalid, "A group with the number 2^63.",
                { $0.put(u64: 1 << 63, at: 112) }
            ),
            ("reserved-65", "R-1.2", .structureInvalid, "The first reserved byte is 1.", { $0[65] = 1 }),
            ("reserved-71", "R-1.2", .structureInvalid, "The last reserved byte is 1.", { $0[71] = 1 }),
            ("padding", "R-1.2", .structureInvalid, "The last byte of the padding is 1.", { $0[1351] = 1 }),
            ("padding-first", "R-1.2", .structureInvalid, "The first byte of the padding is 1.", { $0[152] = 1 }),
            ("count-33", "R-11.1", .structureInvalid, "33 groups.", { $0[64] = 33 }),
            ("count-255", "R-2.2, R-11.1", .structureInvalid, "255 groups.", { $0[64] = 255 }),
            ("count-more", "R-3.14", .structureInvalid, "It counts a third group, which is zeros.", { $0[64] = 3 }),
            (
                "count-fewer", "R-1.2", .structureInvalid,
                "It counts one of its two groups: the other one is padding that is not zero.",
                { $0[64] = 1 }
            ),
            (
                "wrong-index-key", "R-3.3", .authenticationFailed,
                "Another index key: the header's MAC is wrong under it.", { $0.flip(0) }
            ),
            (
                "wrong-public-key", "R-5.18", .authenticationFailed,
                "Another public key: the commit's signature is not valid under it.",
                { $0.flip(40) }
            ),
            (
                "wrong-index-key-and-order", "R-3.14", .structureInvalid,
                "Another index key, and groups out of order: the payload's form comes before the header's MAC.",
                {
                    $0.flip(0)
                    Self.swapped(&$0)
                }
            ),
        ]
        for (name, spec, expect, comment, edit) in cases {
            for isOwner in [false, true] where !isOwner || expect != .authenticationFailed {
                try forged(
                    "scoped-\(name)\(isOwner ? "-seen-by-owner" : "")", spec, expect, bases.scoped,
                    "Scoped slot: " + comment.prefix(1).lowercased() + comment.dropFirst()
                        + (isOwner ? " (The owner's view.)" : ""),
                    request: isOwner ? nil : .raw(Base.scopedKey)
                ) { try $0.remakeScoped { edit(&$0.payload) } }
            }
        }
        try addOtherGrants(bases)
        // R-3.15 asks an owner for the payload's form and its groups only.
        let compared = [("index", 0, "index key"), ("public", 40, "public key"), ("group", 85, "group key")]
        for (name, byte, what) in compared {
            try forged(
                "scoped-wrong-\(name)-key-seen-by-owner", "R-3.15", .success, bases.scoped,
                "Scoped slot: another \(what). An owner does not compare it with its own.",
                request: .raw(Base.key)
            ) { try $0.remakeScoped { $0.payload.flip(byte) } }
        }
        for index in [0, 1] {
            try forged(
                "scoped-wrong-group-key-\(index)", "R-3.14", .authenticationFailed, bases.scoped,
                "Scoped slot: the granted key of group \(index + 1) of two is not the group's; its secrets do not open, and nothing else fails.",
                request: .raw(Base.scopedKey)
            ) { try $0.remakeScoped { $0.payload.flip(72 + 40 * index + 20) } }
        }
        try forged(
            "scoped-payload-tag-seen-by-owner", "R-3.15", .authenticationFailed, bases.scoped,
            "A scoped slot's payload does not open under the wrapping key in its owner part."
        ) { $0.header.slots[1].payload.flip(900) }
        try forged(
            "scoped-payload-tag-not-tried", "R-3.10", .success, bases.scoped,
            "The same, seen by another scoped slot, which does not look at it.", request: .raw([0x66].times(32))
        ) { forge in
            forge.header.slots[1].payload.flip(900)
            let factors = ForgeFactors.rawKey([0x66].times(32))
            let clear = Slots.clear(6, factors, kind: .scoped)
            forge.grants[clear.id] = forge.keys.groups.keys.sorted()
            forge.header.slots.append(
                try forge.keys.slot(
                    clear, factors, payload: try forge.keys.scopedPayload(forge.keys.groups.keys.sorted()),
                    part: Slots.part("other"), nonce: Slots.nonce(6)))
        }
    }

    /// A payload with other groups than the keyring grants to the slot: the slot's holder ignores what the keyring does
    /// not have, and an owner refuses what it says otherwise.
    private mutating func addOtherGrants(_ bases: Bases) throws {
        let scoped = bases.scoped
        let next: (inout [UInt8]) -> Void = {
            $0.put(u64: ($0[112...].prefix(8).reversed().reduce(0) { $0 << 8 | UInt64($1) }) + 2, at: 112)
        }
        let cases: [(String, String, (inout [UInt8]) -> Void)] = [
            (
                "number-greatest", "A grant of a group with the number 2^63 - 1, which the keyring does not have.",
                { $0.put(u64: 1 << 63 - 1, at: 112) }
            ),
            ("unknown-group", "A grant of a group that the keyring does not have is ignored.", next),
        ]
        for (name, comment, edit) in cases {
            for isOwner in [false, true] {
                try forged(
                    "scoped-\(name)\(isOwner ? "-seen-by-owner" : "")", isOwner ? "R-3.15" : "R-3.14",
                    isOwner ? .structureInvalid : .success, scoped, "Scoped slot: " + Self.lowered(comment, isOwner),
                    request: isOwner ? nil : .raw(Base.scopedKey)
                ) { try $0.remakeScoped { edit(&$0.payload) } }
            }
        }
        let groups: [(String, Verdict, String, Int, Int)] = [
            ("none", .success, "No groups: the index only.", 0, 0),
            ("grant-more", .structureInvalid, "It holds two groups, and the keyring grants one.", 2, 1),
            ("grant-fewer", .structureInvalid, "It holds one group, and the keyring grants two.", 1, 2),
        ]
        for (name, expect, comment, held, granted) in groups {
            for isOwner in [false, true] {
                try forged(
                    "scoped-\(name)\(isOwner ? "-seen-by-owner" : "")", isOwner ? "R-3.15" : "R-3.14",
                    isOwner ? expect : .success, scoped, "Scoped slot: " + Self.lowered(comment, isOwner),
                    request: isOwner ? nil : .raw(Base.scopedKey)
                ) { forge in
                    let all = forge.keys.groups.keys.sorted()
                    let payload = try forge.keys.scopedPayload(Array(all.prefix(held)))
                    try forge.remakeScoped { $0.payload = payload }
                    forge.grants[Slots.scoped] = Array(all.prefix(granted))
                }
            }
        }
    }

    private static func lowered(_ comment: String, _ isOwner: Bool) -> String {
        comment.prefix(1).lowercased() + comment.dropFirst() + (isOwner ? " (The owner's view.)" : "")
    }

    private mutating func addGrantedVaults(_ bases: Bases) throws {
        var draft = try Draft("many groups", key: Base.key)
        for index in 0..<33 {
            try draft.add(
                DraftKey.generic("s", "", group: "g\(index)"), Array("of group \(index)".utf8), group: "g\(index)")
        }
        let granted = draft.ring.groups.map(\.number).prefix(32)
        try draft.addSlot(.rawKey(Base.scopedKey), name: "", granting: Array(granted))
        try draft.commit()
        try vault(
            "scoped-32-groups", "R-3.14, R-11.1", .success, Base(file: draft.file),
            "Scoped slot: 32 groups, the most; one secret is not granted.", request: .raw(Base.scopedKey))
        try vault(
            "scoped-32-groups-seen-by-owner", "R-11.1", .success, Base(file: draft.file),
            "Scoped slot: the same, seen by the owner.")
        var device = try Draft("scoped device", key: Base.key)
        device.keys.devices = [Base.device: Base.deviceSecret]
        try device.add(
            DraftKey.generic("a", "", group: "ci"), Array("bound".utf8), group: "ci", accessibility: 5,
            device: Base.device)
        try device.add(
            DraftKey.generic("b", "", group: "web"), Array("other".utf8), group: "web", accessibility: 5,
            device: Base.device)
        let group = device.ring.groups.first { $0.name == "ci" }?.number ?? 0
        try device.addSlot(.rawKey(Base.scopedKey), name: "builder", granting: [group])
        try device.commit()
        var request = ReadRequest.raw(Base.scopedKey)
        try vault(
            "scoped-device-absent", "R-3.14, R-5.14", .deviceBound, Base(file: device.file),
            "Scoped slot: a granted group's secret is for a device that is absent; one that is not granted is refused for that.",
            request: request)
        request.device = (Base.device.bytes, Base.deviceSecret)
        try vault(
            "scoped-device", "R-3.14, R-5.14", .success, Base(file: device.file),
            "Scoped slot: the same on that device.", request: request)
    }
}

extension Forge {
    /// Makes the scoped slot of `scoped` again, for both of its groups, and changes what goes into it.
    mutating func remakeScoped(_ edit: (inout SlotRecipe) throws -> Void) throws {
        let factors = ForgeFactors.rawKey(Base.scopedKey)
        grants[Slots.scoped] = keys.groups.keys.sorted()
        header.slots[1] = try keys.slot(
            Slots.clear(2, factors, kind: .scoped), factors, payload: try keys.scopedPayload(keys.groups.keys.sorted()),
            part: Slots.part("builder"), nonce: Slots.nonce(2), edit: edit)
    }
}
