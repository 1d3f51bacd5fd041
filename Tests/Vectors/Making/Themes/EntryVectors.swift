internal import TestSupport
internal import VaultBytes

/// Dots and flags of entries (sections 1 and 6.3).
extension Collection {
    mutating func addEntryDots(_ bases: Bases) throws {
        try addDots(bases)
        try addFurtherDots(bases)
        try addFurtherBitmaps(bases)
    }

    /// The row of an id in the newest state.
    static func row(_ id: ReplicaID, _ base: Base) throws -> UInt64 {
        let forge = try base.forge()
        let commit = try forge.commit(try forge.last(.commit))
        let frame = try VectorFrame(forge[try forge.vector(of: .state)].body.span, at: 0)
        guard let row = frame.further.first(where: { $0.id == id }) else { throw ForgeError("no such row") }
        return commit.own?.id == id ? commit.own?.revision ?? 0 : row.revision
    }

    private mutating func dot(
        _ name: String, _ spec: String, _ expect: Verdict, _ base: Base, _ comment: String, at index: Int = 2,
        _ edit: @escaping (inout StoredDot) -> Void
    ) throws {
        try forged("dot-\(name)", spec, expect, base, comment) {
            $0.onItem(try $0.root(), index) { item, _ in edit(&item.entry.dot) }
        }
    }

    private mutating func addDots(_ bases: Bases) throws {
        let (three, restarted, siblings) = (bases.causal.three, bases.causal.restarted, bases.causal.siblings)
        let floor = try Self.row(CausalBases.rotating, restarted)
        let forge = try restarted.forge()
        let stated = try forge.commit(try forge.last(.commit)).floor
        try dot("position-0", "R-1.10", .structureInvalid, three, "An entry's dot has position 0, and the floor is 0.")
        {
            $0.position = 0
        }
        try dot(
            "position-1-below-floor", "R-1.10", .structureInvalid, restarted,
            "An entry's dot has a revision below the floor and position 1."
        ) { $0.position = 1 }
        try dot(
            "at-floor", "R-1.10", .success, restarted, "An entry's dot has the revision of the floor and position 0."
        ) {
            $0.revision = stated
        }
        try dot(
            "floor-plus-1", "R-1.10", .success, restarted,
            "An entry's dot has the revision after the floor, and position 1."
        ) { $0 = StoredDot(stated + 1, 1) }
        try dot(
            "floor-plus-1-position-0", "R-1.10", .structureInvalid, restarted,
            "An entry's dot has the revision after the floor, and position 0."
        ) { $0.revision = stated + 1 }
        try dot(
            "position-beyond-rows", "R-6.7", .structureInvalid, three,
            "An entry's dot has position 2, and the vector has one row."
        ) { $0.position = 2 }
        let row = try Self.row(CausalBases.third, siblings)
        try dot(
            "not-seen", "R-6.7", .structureInvalid, siblings,
            "An entry's dot is greater by 1 than the row of its id, and less than the clock."
        ) { $0 = StoredDot(row + 1, 3) }
        try dot("of-row", "R-6.7", .success, siblings, "An entry's dot is the row of its id.") {
            $0 = StoredDot(row, 3)
        }
        let clock = try three.clock()
        try dot("future", "R-6.8", .structureInvalid, three, "An entry's dot is greater by 1 than the clock.") {
            $0.revision = clock + 1
        }
        try dot("clock", "R-6.8", .success, three, "An entry's dot is the clock.", at: 1) { $0.revision = clock }
        try dot("future-of-rotation", "R-6.8", .structureInvalid, restarted, "The same after a rotation.") {
            $0 = StoredDot(floor + 1, 1)
        }
        for (name, expect, revision, what) in [
            ("0", .structureInvalid, 0, "0"), ("1", .success, 1, "1"), ("2-63", .structureInvalid, 1 << 63, "2^63"),
        ] as [(String, Verdict, UInt64, String)] {
            try dot("revision-\(name)", "R-6.8", expect, three, "An entry's dot has the revision \(what).") {
                $0.revision = revision
            }
        }
        try forged(
            "dot-position-varint-long", "R-1.1", .structureInvalid, bases.one,
            "The position of an entry's dot is written with a byte too many."
        ) {
            $0.onEntries(try $0.root()) { entries, _ in entries[0].value.replaceSubrange(60..<61, with: [0x81, 0]) }
        }
        try forged(
            "dot-position-2-62", "R-6.7", .structureInvalid, bases.one, "The position of an entry's dot is 2^62."
        ) {
            $0.onEntries(try $0.root()) { entries, _ in
                entries[0].value.replaceSubrange(60..<61, with: [0x80].times(8) + [0x40])
            }
        }
        try vault(
            "dot-position-2-byte", "R-1.10", .success, Base(file: try Self.manyRows("200 rows", 200, own: 150)),
            "200 rows, and an item whose dot has position 150.")
    }

    /// A vault with many rows, whose item was changed by one of the ids.
    static func manyRows(_ seed: String, _ count: UInt64, own: UInt64) throws -> [UInt8] {
        var draft = try Draft(seed, key: Base.key, replica: CausalBases.first)
        draft.ring.keeping.count = 1
        try draft.add(CausalBases.a, "first of a")
        try draft.commit()
        let base = draft.clock
        for number in 2...count { draft.vector.include(0x7700_0000_0000_0000 + number, base + number) }
        draft.clock += count + 1
        draft.change(to: 0x7700_0000_0000_0000 + own)
        try draft.set(CausalBases.a, "second of a")
        try draft.commit()
        return draft.file
    }

    // MARK: further dots

    private mutating func further(
        _ name: String, _ spec: String, _ expect: Verdict, _ base: Base, _ comment: String, at index: Int = 0,
        _ edit: @escaping (inout ItemEntry) throws -> Void
    ) throws {
        try forged("entry-further-\(name)", spec, expect, base, comment) {
            $0.onItem(try $0.root(), index) { item, _ in try edit(&item.entry) }
        }
    }

    private mutating func addFurtherDots(_ bases: Bases) throws {
        let (changed, siblings, grown) = (bases.causal.changed, bases.causal.siblings, bases.grown)
        try vault(
            "entry-further-1", "R-6.16", .success, grown, "An item whose secret was changed: one further dot.")
        let most = Base(file: try Self.everyDot("every dot"))
        try vault(
            "entry-further-67", "R-6.16, R-11.1", .success, most,
            "An item with 64 attributes, each field under a dot of its own, and none under the entry's.")
        try furtherCount("68", "R-11.1", most, "An item that counts 68 further dots.") { $0 = 68 }
        try furtherCount("more", "R-2.2", grown, "An item counts a further dot more than it has.") { $0 += 1 }
        try furtherCount("fewer", "R-1.3", changed, "An item counts a further dot less than it has.") { $0 -= 1 }
        try forged("entry-further-0", "R-6.16", .structureInvalid, bases.one, "Flag 01, and the number 0.") {
            $0.onEntries(try $0.root()) { entries, _ in
                entries[0].value[try Self.flags(entries[0].value)] |= 1
                entries[0].value.append(0)
            }
        }
        try further("order", "R-6.16", .structureInvalid, changed, "Further dots in descending order.") {
            $0.further.reverse()
        }
        try further("twice", "R-6.16", .structureInvalid, changed, "A further dot twice, with other fields.") {
            let last = $0.further.removeLast()
            for field in [FieldSet.key, FieldSet.place] {
                $0.further.append(
                    FieldDots(difference: last.difference, position: last.position, fields: FieldSet([field])))
            }
        }
        // Two ids at one revision.
        let revision = try Self.row(CausalBases.first, siblings)
        func two(_ positions: (Int, Int)) -> (inout ItemEntry) -> Void {
            { entry in
                entry.dot = StoredDot(revision + 1, 2)
                entry.further = [
                    FieldDots(difference: 1, position: positions.0, fields: FieldSet([FieldSet.key])),
                    FieldDots(difference: 1, position: positions.1, fields: FieldSet([FieldSet.place])),
                ]
            }
        }
        try further(
            "one-revision", "R-6.16", .success, siblings,
            "Further dots of one revision, in ascending order of position.",
            at: 2, two((1, 3)))
        try further(
            "position-order", "R-6.16", .structureInvalid, siblings,
            "Further dots of one revision, in descending order of position.", at: 2, two((3, 1)))
        try further(
            "same-revision", "R-6.16", .success, siblings,
            "A further dot of the entry's revision, and another position.",
            at: 2
        ) {
            $0.dot = StoredDot(revision, 3)
            $0.further = [FieldDots(difference: 0, position: 1, fields: FieldSet([FieldSet.key]))]
        }
        try further("is-entry", "R-6.16", .structureInvalid, changed, "A further dot that is the entry's.") {
            let fields = $0.further[0].fields
            $0.further[0] = FieldDots(difference: 0, position: $0.dot.position, fields: fields)
        }
        for (name, more) in [("revision", 0), ("revision-more", 1)] as [(String, UInt64)] {
            try further(
                "difference-\(name)", "R-6.16", .structureInvalid, changed,
                more == 0
                    ? "A further dot's difference is the entry's revision." : "A further dot's difference is greater."
            ) {
                let last = $0.further.removeLast()
                $0.further.append(
                    FieldDots(difference: $0.dot.revision + more, position: last.position, fields: last.fields))
            }
        }
        try addPossibleFurtherDots(bases)
    }

    /// What the commit and the vector say of a further dot.
    private mutating func addPossibleFurtherDots(_ bases: Bases) throws {
        let (changed, siblings) = (bases.causal.changed, bases.causal.siblings)
        func moved(_ position: Int) -> (inout ItemEntry) -> Void {
            { entry in
                let last = entry.further.removeLast()
                entry.further.append(FieldDots(difference: last.difference, position: position, fields: last.fields))
            }
        }
        try further(
            "position-0", "R-1.10", .structureInvalid, changed, "A further dot has position 0, and the floor is 0.",
            moved(0))
        try further(
            "position-beyond-rows", "R-6.7", .structureInvalid, changed,
            "A further dot has position 2, and the vector has one row.", moved(2))
        let (row, clock) = (try Self.row(CausalBases.third, siblings), try siblings.clock())
        for (name, expect, more) in [("not-seen", .structureInvalid, 1), ("of-row", .success, 0)]
            as [(String, Verdict, UInt64)]
        {
            try further(
                name, "R-6.7", expect, siblings,
                more == 1
                    ? "A further dot is greater by 1 than its row, and less than the clock."
                    : "A further dot is its row.", at: 2
            ) {
                $0.dot = StoredDot(clock, 2)
                $0.further = [
                    FieldDots(difference: clock - row - more, position: 3, fields: FieldSet([FieldSet.secret]))
                ]
            }
        }
        let restarted = try bases.causal.restarted.clock()
        try further(
            "below-floor", "R-1.10", .success, bases.causal.restarted,
            "A further dot below the floor, in an entry whose dot is the rotation's.", at: 2
        ) {
            let old = $0.dot
            $0.dot = StoredDot(restarted, 1)
            $0.further = [
                FieldDots(difference: $0.dot.revision - old.revision, position: 0, fields: FieldSet([FieldSet.key]))
            ]
        }
    }

    private static func everyDot(_ seed: String) throws -> [UInt8] {
        var draft = try Draft(seed, key: Base.key, replica: CausalBases.first)
        let names = (0..<64).map { ($0 < 10 ? "name0" : "name") + "\($0)" }
        try draft.add(CausalBases.a, Array("s3cret".utf8), names.map { DraftAttribute($0, "v") })
        var value = draft.items[0].value
        (value.keyDot, value.placeDot, value.secretDot) = (draft.dot(), draft.dot(), draft.dot())
        for index in value.attributes.indices { value.attributes[index].dot = draft.dot() }
        value.dot = draft.dot()
        draft.items[0].value = value
        try draft.commit()
        return draft.file
    }

    private mutating func addFurtherBitmaps(_ bases: Bases) throws {
        let changed = bases.causal.changed
        func fields(_ edit: @escaping (inout [FieldSet]) -> Void) -> (inout ItemEntry) -> Void {
            { entry in
                var all = entry.further.map(\.fields)
                edit(&all)
                entry.further = zip(entry.further, all).map {
                    FieldDots(difference: $0.difference, position: $0.position, fields: $1)
                }
            }
        }
        try further(
            "bitmap-empty", "R-6.16", .structureInvalid, changed, "A further dot of no field.",
            fields { $0[0] = FieldSet() })
        try further(
            "bitmap-overlap", "R-6.16", .structureInvalid, changed, "A field under two further dots.",
            fields { $0[0].insert(FieldSet.key) })
        try further(
            "bitmap-reserved", "R-1.2", .structureInvalid, changed, "A bit for a field that the item does not have.",
            fields { $0[0].insert(7) })
        let six = try Bases.base("six attributes") { draft in
            let names = ["a", "b", "c", "d", "e", "f"]
            try draft.add(Bases.ann, Array("s3cret".utf8), names.map { DraftAttribute($0, "v") })
            try draft.commit()
            try draft.set(Bases.ann, "s3cret", names.map { DraftAttribute($0, $0 == "f" ? "w" : "v") })
            try draft.commit()
        }
        try vault(
            "entry-further-bitmap-2-bytes", "R-6.16", .success, six,
            "An item with six attributes, of which the last was changed: a bitmap of two bytes.")
        try further(
            "bitmap-2-bytes-reserved", "R-1.2", .structureInvalid, six,
            "A reserved bit in the second byte of a bitmap.",
            fields { $0[0].insert(9) })
        try forged(
            "entry-further-secret-absent", "R-6.16", .structureInvalid, bases.attributes,
            "An item without a secret has a dot for it."
        ) { forge in
            try forge.onRecord(try forge.recordOfFirstItem()) { $0.secret = [] }
            forge.onItem(try forge.root()) { item, _ in
                item.entry.lacksSecret = true
                item.entry.further = [FieldDots(difference: 1, position: 1, fields: FieldSet([FieldSet.secret]))]
            }
        }
        try forged(
            "entry-further-before-attributes", "R-1.3", .structureInvalid, bases.grown,
            "The field dots precede the attributes."
        ) {
            $0.onEntries(try $0.root()) { entries, _ in
                guard let item = ForgedItem(entries[0].value) else { throw ForgeError("no item") }
                var out: [UInt8] = []
                item.entry.encode(into: &out)
                item.entry.encodeEnd(into: &out, attributes: item.attributes.count)
                PageAttributes.encode(item.attributes, into: &out)
                entries[0].value = out
            }
        }
        for (name, spec) in [("created", "R-6.18"), ("modified", "R-6.18")] {
            try forged(
                "entry-\(name)-relative", spec, .success, changed,
                "An item with two further dots, \(name) in 1999 as an import says."
            ) {
                $0.onItem(try $0.root()) { item, _ in
                    if name == "created" {
                        item.entry.created = 915_148_800_000
                    } else {
                        item.entry.modified = 915_148_800_000
                    }
                }
            }
        }
    }

    private mutating func furtherCount(
        _ name: String, _ spec: String, _ base: Base, _ comment: String, _ edit: @escaping (inout UInt8) -> Void
    ) throws {
        try forged("entry-further-\(name)", spec, .structureInvalid, base, comment) {
            $0.onEntries(try $0.root()) { entries, _ in
                guard let item = ForgedItem(entries[0].value) else { throw ForgeError("no item") }
                var front: [UInt8] = []
                item.entry.encode(into: &front)
                PageAttributes.encode(item.attributes, into: &front)
                edit(&entries[0].value[front.count])
            }
        }
    }

    /// Where the flags of an entry are.
    static func flags(_ value: [UInt8]) throws -> Int {
        // Two times follow the compartment, if the position is written in one byte.
        var (at, rest) = (77, 2)
        while rest > 0 {
            guard at < value.count else { throw ForgeError("no flags") }
            if value[at] < 0x80 { rest -= 1 }
            at += 1
        }
        return at
    }

    // MARK: flags

    mutating func addEntryFlags(_ bases: Bases) throws {
        for flag in [16, 128] as [UInt8] {
            try value("flags-\(flag)", "R-1.2", .structureInvalid, bases, "Flag \(flag), which is reserved.") { value in
                do { value[try Self.flags(value)] |= flag } catch { value = [] }
            }
        }
        try entry(
            "flag-02-without-past", "R-6.17", .structureInvalid, bases.one,
            "Something is to settle, and there is no past."
        ) { item, _ in item.entry.hasConflicts = true }
        for (name, expect, secret) in [("flag-08", .success, []), ("flag-08-with-secret", .structureInvalid, [7])]
            as [(String, Verdict, [UInt8])]
        {
            try forged(
                "entry-\(name)", "R-6.17", expect, bases.attributes,
                "An item without a secret, with attributes in its record; the secret in the record has \(secret.count) bytes."
            ) { forge in
                try forge.onRecord(try forge.recordOfFirstItem()) { $0.secret = secret }
                forge.onItem(try forge.root()) { item, _ in item.entry.lacksSecret = true }
            }
        }
        func none(_ entry: inout ItemEntry) {
            (entry.lacksSecret, entry.record, entry.recordRevision) = (true, .zero, 0)
        }
        try entry(
            "flag-08-no-record", "R-6.17", .success, bases.one, "An item without a secret, and without a record."
        ) { item, _ in none(&item.entry) }
        try entry(
            "flag-08-no-record-revision", "R-6.17", .structureInvalid, bases.one,
            "An item without a record has the record revision 1."
        ) { item, _ in
            none(&item.entry)
            item.entry.recordRevision = 1
        }
        try entry(
            "flag-08-no-record-hash", "R-6.17", .structureInvalid, bases.one,
            "An item without a record has the hash of one."
        ) { item, _ in
            none(&item.entry)
            item.entry.record = ObjectRef(offset: 0, length: 0, hash: Bytes32([1].times(32)) ?? .zero)
        }
        try forged(
            "entry-flag-08-record-not-needed", "R-6.17", .structureInvalid, bases.one,
            "An item without a secret, and without an attribute in its record, has a record."
        ) { forge in
            try forge.onRecord(try forge.recordOfFirstItem()) { $0.secret = [] }
            forge.onItem(try forge.root()) { item, _ in item.entry.lacksSecret = true }
        }
        try entry(
            "no-record-without-flag", "R-6.17", .structureInvalid, bases.one, "An item with a secret has no record."
        ) { item, _ in
            none(&item.entry)
            item.entry.lacksSecret = false
        }
        try addEntryRecords(bases)
    }

    /// What a record can hold besides what its entry lists.
    private mutating func addEntryRecords(_ bases: Bases) throws {
        func item(_ seed: String, _ edit: (inout DraftItem) -> Void = { _ in }) throws -> Base {
            try Bases.base(seed, device: true) { draft in
                let otp = DraftAttribute("otp", "otpauth://totp/x", flags: 1)
                try draft.add(Bases.ann, Array("bound".utf8), [otp], accessibility: 5, device: Base.device)
                edit(&draft.items[0])
                try draft.commit()
            }
        }
        let absent = try item("bound without record") {
            ($0.value.hasSecret, $0.value.attributes) = (false, [])
        }
        try vault(
            "entry-flag-08-device", "R-6.5, R-6.17", .success, absent,
            "An item of another device without a secret and without a record.", request: .raw(Base.key))
        let bound = try item("bound with record")
        try entry(
            "flag-08-device-record", "R-6.5, R-6.17", .success, bound,
            "An item of a device without a secret; its record has one that nobody could take out."
        ) { item, _ in item.entry.lacksSecret = true }
        try entry(
            "record-attribute-more-device", "R-6.5", .success, bound,
            "A record of a device has an attribute that the entry lacks."
        ) { item, _ in item.attributes = [] }
        try entry(
            "record-attribute-more", "R-6.5", .structureInvalid, bases.attributes,
            "A record without a device has an attribute that the entry lacks."
        ) { item, _ in item.attributes.removeAll { $0.name == "otp" } }
        try entry(
            "record-attribute-fewer-device", "R-6.5", .structureInvalid, bound,
            "A record of a device lacks an attribute that the entry lists."
        ) { item, _ in
            item.attributes.append(PageAttribute(name: "pin", flags: [.sealed, .inItemRecord], value: .inItemRecord))
        }
    }
}

extension Forge {
    /// The record of the first item in the root page.
    func recordOfFirstItem() throws -> ForgedObject.ID {
        guard let item = ForgedItem(try PageEntry.all(self[try root()].body, at: 0)[0].value) else {
            throw ForgeError("no item")
        }
        return try object(at: item.entry.record.offset)
    }
}
