internal import TestSupport
internal import VaultBytes

/// The dots, slots, grants and hand-overs of a keyring (R-1.10, R-5.31, R-5.32, R-6.7 and R-6.8).
extension Collection {
    /// Every place of a dot, and every way in which a dot is impossible there.
    mutating func addKeyringDots(_ bases: Bases) throws {
        let places: [(name: String, what: String, set: (inout Keyring, StoredDot) throws -> Void)] = [
            ("setting", "The setting", { ring, dot in ring.keeping.dot = dot }),
            ("key", "The vault key", { ring, dot in ring.vaultKey = dot }),
            (
                "slot-made", "A slot's making",
                { ring, dot in
                    let later = ring.slots[0].made
                    ring.slots[0].made = dot
                    // What it contains comes later, where that is possible.
                    ring.slots[0].changed = dot.revision < later.revision ? later : dot
                }
            ),
            ("slot-contents", "A slot's contents", { ring, dot in ring.slots[0].changed = dot }),
            (
                "grant", "A grant",
                { ring, dot in
                    guard let slot = ring.slots.firstIndex(where: { !$0.grants.isEmpty }) else {
                        throw ForgeError("no grant")
                    }
                    let group = ring.slots[slot].grants[0].group
                    ring.slots[slot].grants[0] = .init(group: group, dot: dot)
                }
            ),
        ]
        var draft = try CausalBases.grantedDraft("dots of a keyring")
        let row = draft.vector.clock
        draft.change(to: CausalBases.second)
        try draft.set(DraftKey.generic("one", "ann", group: "one"), "changed")
        try draft.commit()
        let (base, clock) = (Base(file: draft.file), draft.vector.clock)
        let dots: [(name: String, spec: String, expect: Verdict, what: String, dot: StoredDot)] = [
            ("position-0", "R-1.10", .structureInvalid, "has position 0, and the floor is 0", StoredDot(row, 0)),
            (
                "position-beyond-rows", "R-6.7", .structureInvalid, "has position 3, and the vector has two rows",
                StoredDot(row, 3)
            ),
            (
                "not-seen", "R-6.7", .structureInvalid, "is greater by 1 than its row, and not than the clock",
                StoredDot(row + 1, 1)
            ),
            ("future", "R-6.8", .structureInvalid, "is greater by 1 than the clock", StoredDot(clock + 1, 2)),
            ("of-row", "R-6.7", .success, "is its row", StoredDot(row, 1)),
            ("clock", "R-6.8", .success, "is the clock", StoredDot(clock, 2)),
        ]
        for place in places {
            for one in dots {
                try ring("\(place.name)-\(one.name)", one.spec, one.expect, base, "\(place.what): its dot \(one.what).")
                {
                    try place.set(&$0, one.dot)
                }
            }
            for (name, revision, what) in [("0", 0, "0"), ("2-63", 1 << 63, "2^63")] as [(String, UInt64, String)] {
                try ring(
                    "\(place.name)-revision-\(name)", "R-6.8", .structureInvalid, base,
                    "\(place.what): its dot has the revision \(what)."
                ) { ring in
                    try place.set(&ring, StoredDot(revision, 1))
                    if place.name == "slot-made" { ring.slots[0].changed = ring.slots[0].made }
                }
            }
        }
        try ring(
            "key-position-1-below-floor", "R-1.10", .structureInvalid, bases.causal.restarted,
            "The vault key: its dot is below the floor and has position 1."
        ) { $0.vaultKey.revision -= 1 }
        try ring(
            "setting-seen-by-scoped", "R-1.10", .structureInvalid, bases.scoped,
            "The setting: its dot has position 0, seen by a scoped slot.", request: .raw(Base.scopedKey)
        ) { $0.keeping.dot.position = 0 }
        try ring(
            "setting-not-seen-by-scoped", "R-6.7", .structureInvalid, bases.scoped,
            "The setting: its dot has position 2, seen by a scoped slot.", request: .raw(Base.scopedKey)
        ) { $0.keeping.dot.position = 2 }
    }

    // MARK: slots

    mutating func addKeyringSlots(_ bases: Bases) throws {
        let granted = bases.causal.granted
        let other = Bytes16(high: .max, low: 1)
        try ring("slot-missing", "R-5.31", .structureInvalid, granted, "It lacks a slot of the header.") {
            $0.slots.removeLast()
        }
        try ring(
            "slot-missing-seen-by-scoped", "R-5.31", .structureInvalid, granted,
            "It lacks a slot of the header, seen by a scoped slot.", request: .raw(Base.scopedKey)
        ) { ring in ring.slots.removeAll { $0.grants.isEmpty } }
        try ring("slot-more", "R-5.31", .structureInvalid, granted, "It has a slot that the header lacks.") {
            $0.slots.append($0.slots[0].with(id: other))
        }
        try ring("slot-other-id", "R-5.31", .structureInvalid, granted, "One of three slots has another id.") {
            $0.slots[2] = $0.slots[2].with(id: other)
        }
        try ring("slots-0", "R-5.31", .structureInvalid, bases.one, "It has no slots.") { $0.slots = [] }
        try ring("slots-order", "R-5.31", .structureInvalid, granted, "Slots in descending order.") {
            $0.slots.reverse()
        }
        try ring("slots-twice", "R-5.31", .structureInvalid, granted, "One slot twice.") {
            $0.slots.insert($0.slots[1], at: 1)
        }
        for isListed in [true, false] {
            try forged(
                "keyring-slot-opaque\(isListed ? "" : "-missing")", "R-5.31", isListed ? .success : .structureInvalid,
                granted,
                "A slot of the kind 03 is in the header\(isListed ? ", and has a grant" : ", and is not listed")."
            ) { forge in
                try forge.addOpaque(1, kind: 3)
                let id = forge.header.slots[3].id
                forge.grants[id] = [forge.keys.groups.keys.sorted()[0]]
                guard !isListed else { return }
                forge.onKeyring(try forge.last(.keyring)) { ring in ring.slots.removeAll { $0.id == id } }
            }
        }
        try forged("keyring-slots-64", "R-11.1", .success, bases.one, "64 slots, the most.") { forge in
            for index in 1..<64 as Range<UInt64> { try forge.addSlot(index, .rawKey([UInt8(index)].times(32))) }
        }
        try addSlotContents(bases)
    }

    private mutating func addSlotContents(_ bases: Bases) throws {
        let siblings = bases.causal.siblings
        try ring(
            "slot-contents-before-making", "R-5.31", .structureInvalid, siblings,
            "A slot's contents are of a change before its making."
        ) { $0.slots[0].changed.revision -= 1 }
        try ring(
            "slot-contents-equal-other-position", "R-5.31", .structureInvalid, siblings,
            "A slot's contents have the revision of its making, and another position."
        ) { $0.slots[0].changed.position = 3 }
        let clock = try siblings.clock()
        try ring(
            "slot-contents-later", "R-5.31", .success, siblings,
            "A slot's contents are of a later change under another id."
        ) { $0.slots[0].changed = StoredDot(clock, 2) }
    }

    // MARK: grants

    mutating func addKeyringGrants(_ bases: Bases) throws {
        let granted = bases.causal.granted
        func both(_ name: String, _ spec: String, _ comment: String, _ edit: @escaping (inout SlotDots) -> Void) throws
        {
            try ring(name, spec, .structureInvalid, granted, comment) { ring in
                guard let slot = ring.slots.firstIndex(where: { $0.grants.count == 2 }) else {
                    throw ForgeError("no slot with two grants")
                }
                edit(&ring.slots[slot])
            }
        }
        try ring("grant-to-full", "R-5.31", .structureInvalid, granted, "A full slot has a grant.") { ring in
            guard let grant = ring.slots.first(where: { !$0.grants.isEmpty })?.grants[0],
                let full = ring.slots.firstIndex(where: \.grants.isEmpty)
            else { throw ForgeError("no grant") }
            ring.slots[full].grants = [grant]
        }
        try both("grant-unknown-group", "R-5.31", "A grant of a group that does not exist.") {
            $0.grants[1] = .init(group: $0.grants[1].group + 1, dot: $0.grants[1].dot)
        }
        try both("grant-group-0", "R-5.31", "A grant of group 0.") {
            $0.grants[0] = .init(group: 0, dot: $0.grants[0].dot)
        }
        try both("grants-order", "R-5.31", "Grants in descending order.") { $0.grants.reverse() }
        try both("grants-twice", "R-5.31", "A group is granted twice.") { $0.grants.insert($0.grants[0], at: 0) }
        for count in [32, 33] {
            var draft = try Draft("\(count) grants", key: Base.key)
            for index in 0..<count {
                _ = draft.addGroup("g\(index)")
            }
            try draft.addSlot(
                .rawKey(Base.scopedKey), name: "", granting: draft.ring.groups.prefix(32).map(\.number))
            let rest = draft.ring.groups.dropFirst(32).map {
                SlotDots.Grant(group: $0.number, dot: draft.ring.vaultKey)
            }
            for index in draft.ring.slots.indices where !draft.ring.slots[index].grants.isEmpty {
                draft.ring.slots[index].grants += rest
            }
            try draft.commit()
            try vault(
                "keyring-grants-\(count)", "R-5.31, R-11.1", count == 32 ? .success : .structureInvalid,
                Base(file: draft.file), "\(count) grants of a slot.")
        }
    }

    // MARK: hand-overs

    mutating func addKeyringHandOvers(_ bases: Bases) throws {
        let rotated = bases.causal.restarted
        let least = Bytes32([0].times(32)) ?? .zero
        let greatest = Bytes32([0xFF].times(32)) ?? .zero
        try ring("hand-over-same-key", "R-5.32", .structureInvalid, rotated, "A hand-over from a key to itself.") {
            $0.handOvers[0] = $0.handOvers[0].with(next: $0.handOvers[0].publicKey)
        }
        try ring("hand-over-not-valid", "R-7.8", .success, rotated, "A hand-over that is not valid, and hurts nobody.")
        {
            $0.handOvers[0] = $0.handOvers[0].with(signature: [0].times(64))
        }
        func two(
            _ name: String, _ expect: Verdict, _ comment: String, _ edit: @escaping (HandOver) -> [HandOver]
        ) throws {
            try ring(name, "R-5.32", expect, rotated, comment) { $0.handOvers = edit($0.handOvers[0]) }
        }
        try two("hand-overs-order", .structureInvalid, "Two hand-overs in descending order of the first key.") {
            [$0, $0.with(publicKey: least)]
        }
        try two("hand-overs-twice", .structureInvalid, "One hand-over twice.") { [$0, $0] }
        try two("hand-overs-by-key", .success, "Two hand-overs in ascending order of the first key.") {
            [$0.with(publicKey: least), $0]
        }
        try two("hand-overs-by-next", .success, "Two hand-overs of one key, in ascending order of the next key.") {
            [$0.with(next: least), $0]
        }
        try two("hand-overs-by-next-order", .structureInvalid, "The same in descending order.") {
            [$0.with(next: greatest), $0]
        }
        try two("hand-overs-by-signature", .success, "Two hand-overs of two keys, in ascending order of signature.") {
            [$0.with(signature: [0].times(64)), $0]
        }
        try two("hand-overs-by-signature-order", .structureInvalid, "The same in descending order.") {
            [$0.with(signature: [0xFF].times(64)), $0]
        }
        for (name, floor, expect) in [
            ("2-63", 1 << 63, .structureInvalid), ("greatest", 1 << 63 - 1, .success),
        ] as [(String, UInt64, Verdict)] {
            try ring(
                "hand-over-floor-\(name)", "R-5.32, R-11.1", expect, rotated,
                "A hand-over with a floor of \(floor), and a signature that does not hold."
            ) { $0.handOvers[0] = $0.handOvers[0].with(floor: floor) }
        }
        for (name, edit) in [
            ("length-300", { ObjectRef(offset: $0.offset, length: 300, hash: $0.hash) }),
            ("offset-2-62", { ObjectRef(offset: 1 << 62, length: $0.length, hash: $0.hash) }),
            ("hash", { ObjectRef(offset: $0.offset, length: $0.length, hash: .zero) }),
        ] as [(String, (ObjectRef) -> ObjectRef)] {
            try ring(
                "hand-over-vector-\(name)", "R-2.3, R-7.6", .success, rotated,
                "A hand-over's reference to its vector is wrong: nothing needs it, and the dump says so."
            ) { $0.handOvers[0] = $0.handOvers[0].with(vector: edit($0.handOvers[0].vector)) }
        }
    }
}

extension SlotDots {
    func with(id: Bytes16) -> SlotDots { SlotDots(id: id, made: made, changed: changed, grants: grants) }
}
