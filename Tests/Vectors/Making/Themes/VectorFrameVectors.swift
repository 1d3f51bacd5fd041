internal import TestSupport
internal import VaultBytes

/// Vectors: frames, rows, bases, and the row of the commit's own id (section 5.5).
extension Collection {
    mutating func addVectorFrames(_ bases: Bases) throws {
        folder = "vector"
        try addWholeVectors(bases)
        try addVectorSeals(bases)
        try addRows(bases)
        try addVectorBases(bases)
        try addChangedRows(bases)
        try addOwnRows(bases)
        try addManyRows()
    }

    private mutating func addWholeVectors(_ bases: Bases) throws {
        let causal = bases.causal
        try vault(
            "vector-1-row", "R-5.33, R-5.35", .success, causal.three, "A vector of one row, in a frame of form 0.")
        try vault(
            "vector-with-base", "R-5.34, R-5.36", .success, causal.based,
            "A frame of form 1, with a changed and a further row on a base of 20 rows.")
        try vault(
            "vector-no-own", "R-5.35, R-5.38", .success, causal.siblings,
            "A merge's commit has no own id: the rows are the frame's.")
        try vector("split", "R-5.33", .success, causal.siblings, "An id that two writers have used.") {
            $0.further[1].revision |= RawVector.split
        }
        try vector(
            "split-own-seen-by-scoped", "R-5.35", .structureInvalid, causal.granted,
            "The own id is split, seen by a scoped slot.", request: .raw(Base.scopedKey)
        ) { $0.further[0].revision |= RawVector.split }
        try vault(
            "vector-seen-by-scoped", "R-5.33", .success, causal.granted, "A scoped slot's reader reads the vector too.",
            request: .raw(Base.scopedKey))
        try vector(
            "row-0-seen-by-scoped", "R-5.33", .structureInvalid, causal.granted,
            "A row of revision 0, seen by a scoped slot.", request: .raw(Base.scopedKey)
        ) { $0.further[0].revision = 0 }
        var earlier = try CausalBases.basedDraft("base of earlier")
        for id in [CausalBases.second, CausalBases.third] {
            earlier.change(to: id)
            try earlier.set(CausalBases.c, "later of c")
            try earlier.commit()
        }
        try vault(
            "vector-base-of-earlier", "R-5.34, R-5.36", .success, Base(file: earlier.file),
            "The base was appended four commits before, and several frames refer to it.")
    }

    /// Changes the frame that the newest commit refers to, its base, or that of a hand-over.
    private mutating func vector(
        _ name: String, _ spec: String, _ expect: Verdict, _ base: Base, _ comment: String,
        of use: Forge.VectorUse = .state, request: ReadRequest? = nil,
        _ edit: @escaping (inout RawVector) throws -> Void
    ) throws {
        try forged("vector-\(name)", spec, expect, base, comment, request: request) {
            try $0.onRawVector(use, edit)
        }
    }

    // MARK: seals

    private mutating func addVectorSeals(_ bases: Bases) throws {
        let one = bases.one
        try forged("vector-tag", "R-1.6, R-5.37", .authenticationFailed, one, "The vector's tag is wrong.") {
            $0.onSealed(try $0.vector(of: .state)) { $0.flip($0.count - 1) }
        }
        try forged("vector-hash", "R-2.3, R-5.37", .authenticationFailed, one, "A bit of the vector is another one.") {
            $0.onReferenced(try $0.vector(of: .state)) { $0.flip(60) }
        }
        for (name, comment, edit) in [
            ("other-offset", "It was sealed for another offset.", { $0.x[1] ^= 1 }),
            ("other-vault", "It was sealed for another vault.", { $0.vault[15] ^= 1 }),
            ("other-label", "It was sealed as a page.", { $0.label = "vaultfmt-1 page" }),
            ("other-key", "It was sealed under another key.", { $0.key[31] ^= 1 }),
            ("without-head", "It was sealed without the frame's first bytes.", { $0.head = [] }),
        ] as [(String, String, (inout SealRecipe) -> Void)] {
            try forged("vector-sealed-\(name)", "R-4.1, R-5.37", .authenticationFailed, one, comment) {
                $0.onRecipe(try $0.vector(of: .state)) { recipe, _ in edit(&recipe) }
            }
        }
        try forged(
            "vector-sealed-past-key", "R-4.1", .authenticationFailed, one, "It was sealed under the past key."
        ) { forge in
            let key = forge.keys.past
            forge.onRecipe(try forge.vector(of: .state)) { recipe, _ in recipe.key = key }
        }
        try forged(
            "vector-type", "R-2.3", .structureInvalid, one, "Its frame says that it is a keyring, and was sealed so."
        ) {
            $0.onRecipe(try $0.vector(of: .state)) { recipe, _ in
                recipe.head.put(Array("vKEY".utf8), at: 0)
                recipe.clearHead = recipe.head
            }
        }
        try forged(
            "vector-length-in-frame", "R-2.3", .structureInvalid, one, "Its frame says another length than the commit."
        ) {
            $0.onRecipe(try $0.vector(of: .state)) { recipe, _ in
                recipe.head.put(u32: 512, at: 4)
                recipe.clearHead = recipe.head
            }
        }
        try forged(
            "vector-is-keyring", "R-2.3", .structureInvalid, one, "The commit names the keyring as its vector."
        ) { forge in
            let keyring = try forge.last(.keyring)
            forge.onCommit(try forge.last(.commit)) { commit, layout in commit.vector = try layout.ref(keyring) }
        }
        for length in [300, 4_194_560] {
            try forged(
                "vector-length-\(length)", "R-2.2, R-11.1", .structureInvalid, one,
                "The commit says that its vector has \(length) bytes."
            ) {
                $0.onBody(try $0.last(.commit)) { body, _ in body.put(u32: UInt32(length), at: 192) }
            }
        }
        let bodies: [(String, String, String, (inout [UInt8]) -> Void)] = [
            ("padding", "R-1.2", "A byte of its padding is 1.", { $0[$0.count - 1] = 1 }),
            ("padding-first", "R-1.2", "The first byte of its padding is 1.", { $0[18] = 1 }),
            ("longer", "R-5.11", "256 bytes of padding too many.", { $0 += [0].times(256) }),
            (
                "count-long", "R-1.1", "The number of its rows is written with a byte too many.",
                { $0.exchange(1, 1, [0x81, 0]) }
            ),
            ("count-more", "R-5.33", "It counts two rows and has one, and zeros.", { $0[1] = 2 }),
            ("count-fewer", "R-1.2, R-5.33", "It counts no rows and has one.", { $0[1] = 0 }),
            ("past-end", "R-2.2", "It counts more rows than it has room for.", { $0[1] = 20 }),
            (
                "262001-counted", "R-2.2, R-11.1", "It counts 262,001 rows.",
                { $0.exchange(1, 1, [0xF1, 0xFE, 0x0F]) }
            ),
            ("2-62", "R-2.2, R-11.1", "It counts 2^62 rows.", { $0.exchange(1, 1, [0x80].times(8) + [0x40]) }),
            ("bytes", "R-1.3", "A byte follows its last row, which is not zero.", { $0[18] = 0xFF }),
            ("form-2", "R-5.34", "The form 2.", { $0[0] = 2 }),
            ("form-255", "R-5.34", "The form 255.", { $0[0] = 255 }),
        ]
        for (name, spec, comment, edit) in bodies {
            try forged("vector-\(name)", spec, .structureInvalid, one, comment) {
                $0.onBody(try $0.vector(of: .state)) { body, _ in edit(&body) }
            }
        }
    }

    // MARK: rows

    private mutating func addRows(_ bases: Bases) throws {
        let (three, siblings, restarted) = (bases.causal.three, bases.causal.siblings, bases.causal.restarted)
        try vector("0-rows", "R-5.33", .structureInvalid, siblings, "A frame of form 0 without rows.") {
            $0.further = []
        }
        try vector("id-0", "R-5.33", .structureInvalid, siblings, "A row for the id 0.") { $0.further[2].id = 0 }
        try vector("id-twice", "R-5.33", .structureInvalid, siblings, "Two rows for one id.") {
            $0.further.append($0.further[0])
        }
        try vector(
            "id-twice-in-base", "R-5.33", .structureInvalid, bases.causal.based, "A further row for an id of the base."
        ) {
            $0.further.append((CausalBases.second, 1 << 62))
        }
        let forge = try restarted.forge()
        let floor = try forge.commit(try forge.last(.commit)).floor
        for (name, revision, what) in [("at", floor, "the floor"), ("below", floor - 1, "less than the floor")] {
            try vector(
                "row-\(name)-floor", "R-5.33", .structureInvalid, restarted, "A row's revision is \(what)."
            ) { $0.further.append((CausalBases.first, revision)) }
        }
        try vector("row-0", "R-5.33", .structureInvalid, siblings, "A row's revision is 0.") {
            $0.further.append((CausalBases.fourth, 0))
        }
        try vector("row-0-split", "R-5.33", .structureInvalid, siblings, "A row of revision 0 that is split.") {
            $0.further.append((CausalBases.fourth, RawVector.split))
        }
        try vector("row-1", "R-5.33", .success, siblings, "A row's revision is 1.") {
            $0.further.append((CausalBases.fourth, 1))
        }
        try vector("split-own", "R-5.35", .structureInvalid, three, "The row of the own id is split.") {
            $0.further[0].revision |= RawVector.split
        }
    }

    // MARK: bases

    private mutating func addVectorBases(_ bases: Bases) throws {
        let based = bases.causal.based
        func reference(
            _ name: String, _ spec: String, _ expect: Verdict, _ comment: String,
            _ edit: @escaping (ObjectRef, ForgeLayout) throws -> ObjectRef
        ) throws {
            try forged("vector-base-\(name)", spec, expect, based, comment) { forge in
                forge.onBody(try forge.vector(of: .state)) { body, layout in
                    var raw = try RawVector(body, at: layout.offset)
                    raw.base = try raw.base.map { try edit($0, layout) }
                    body = raw.encoded()
                }
            }
        }
        let forge = try based.forge()
        let (keyring, page) = (try forge.last(.keyring), try forge.first(.page))
        try reference("is-keyring", "R-2.3", .structureInvalid, "The base is the keyring.") { _, layout in
            try layout.ref(keyring)
        }
        try reference("is-page", "R-2.3", .structureInvalid, "The base is a page.") { _, layout in
            try layout.ref(page)
        }
        try reference("itself", "R-2.3", .structureInvalid, "The base is the frame itself.") { ref, layout in
            ObjectRef(offset: layout.offset, length: 256, hash: ref.hash)
        }
        try reference("after", "R-2.3", .structureInvalid, "The base ends a byte after the frame begins.") {
            ref, layout in
            ObjectRef(offset: layout.offset + 1 - UInt64(ref.length), length: ref.length, hash: ref.hash)
        }
        try reference("in-header", "R-2.3", .structureInvalid, "The base is in the header.") { ref, _ in
            ObjectRef(offset: 512, length: ref.length, hash: ref.hash)
        }
        try reference("length-300", "R-2.2", .structureInvalid, "The base has 300 bytes.") { ref, _ in
            ObjectRef(offset: ref.offset, length: 300, hash: ref.hash)
        }
        try reference("offset-2-62", "R-2.2", .structureInvalid, "The base is at 2^62.") { ref, _ in
            ObjectRef(offset: 1 << 62, length: ref.length, hash: ref.hash)
        }
        try reference("hash", "R-2.3", .authenticationFailed, "The base's hash is another one.") { ref, _ in
            ObjectRef(offset: ref.offset, length: ref.length, hash: .zero)
        }
        try forged("vector-base-tag", "R-1.6, R-2.3", .authenticationFailed, based, "The base's tag is wrong.") {
            $0.onSealed(try $0.vector(of: .base)) { $0.flip($0.count - 1) }
        }
        try forged("vector-base-bytes", "R-2.3", .authenticationFailed, based, "A bit of the base is another one.") {
            $0.onReferenced(try $0.vector(of: .base)) { $0.flip(60) }
        }
        var twice = try CausalBases.basedDraft("base with base")
        twice.change(to: CausalBases.second)
        try twice.set(CausalBases.c, "later of c")
        try twice.commit()
        try forged(
            "vector-base-with-base", "R-5.34", .structureInvalid, Base(file: twice.file), "The base has a base itself."
        ) { forge in
            let vectors = forge.all(.vector)
            let before = vectors[vectors.count - 2]
            let last = try forge.vector(of: .state)
            forge.onBody(last) { body, layout in
                var raw = try RawVector(body, at: layout.offset)
                // What is right for a base of 21 rows.
                (raw.base, raw.further) = (try layout.ref(before), [])
                body = raw.encoded()
            }
        }
        try vector("base-0-rows", "R-5.33, R-5.34", .structureInvalid, based, "The base has no rows.", of: .base) {
            $0.further = []
        }
    }

    // MARK: changed rows

    private mutating func addChangedRows(_ bases: Bases) throws {
        let based = bases.causal.based
        let clock = try based.clock()
        func changed(
            _ name: String, _ expect: Verdict, _ comment: String, spec: String = "R-5.34",
            _ edit: @escaping (inout RawVector, [Vector.Row]) throws -> Void
        ) throws {
            let rows = try based.forge().baseRows()
            try vector("changed-\(name)", spec, expect, based, comment) { try edit(&$0, rows) }
        }
        try changed("position-0", .structureInvalid, "A changed row has position 0.") { raw, _ in
            raw.changes[0].position = 0
        }
        try changed("beyond", .structureInvalid, "A changed row has position 21, and the base has 20 rows.") { raw, _ in
            raw.changes.append((21, clock))
        }
        try changed("position-2-62", .structureInvalid, "A changed row has position 2^62.", spec: "R-5.34, R-11.1") {
            raw, _ in raw.changes.append((1 << 62, clock))
        }
        try changed("order", .structureInvalid, "Changed rows in descending order.") { raw, rows in
            raw.changes.append((1, rows[0].revision + 1))
        }
        try changed("ascending", .success, "Two changed rows in ascending order.") { raw, rows in
            raw.changes.insert((1, rows[0].revision + 1), at: 0)
        }
        try changed("twice", .structureInvalid, "One row is changed twice.") { raw, _ in
            raw.changes.append((raw.changes[0].position, raw.changes[0].revision + 1))
        }
        try changed("less", .structureInvalid, "A changed row's revision is less than the base's.") { raw, rows in
            raw.changes.insert((1, rows[0].revision - 1), at: 0)
        }
        try changed("equal", .structureInvalid, "A changed row is the base's.") { raw, rows in
            raw.changes.insert((1, rows[0].revision), at: 0)
        }
        try changed("split-set", .success, "A changed row is split, and has the base's revision.") { raw, rows in
            raw.changes.insert((1, rows[0].revision | RawVector.split), at: 0)
        }
        try forged(
            "vector-changed-split-cleared", "R-5.34", .structureInvalid, based,
            "A row that is split in the base is greater, and not split."
        ) { forge in
            try forge.onRawVector(.base) { $0.further[0].revision |= RawVector.split }
            let rows = try forge.baseRows()
            try forge.onRawVector(.state) { $0.changes.insert((1, rows[0].revision + 1), at: 0) }
        }
        try changed("form-1-0-rows", .structureInvalid, "Neither changed nor further rows.") { raw, _ in
            (raw.changes, raw.further) = ([], [])
        }
        try addRowsOnBase()
    }

    /// How many rows a frame with a base has.
    private mutating func addRowsOnBase() throws {
        for (further, expect) in [(34, Verdict.success), (35, .structureInvalid)] {
            var draft = try Draft("rows on a base \(further)", key: Base.key, replica: CausalBases.first)
            try draft.add(CausalBases.a, "first of a")
            for number in 1..<UInt64(40) { draft.vector.include(number, 1) }
            draft.isChange = false
            try draft.commit()
            (draft.isChange, draft.hasBase) = (true, true)
            for number in 1...UInt64(30) { draft.vector.include(number, 2) }
            for number in 0..<UInt64(further - 1) { draft.vector.include(100 + number, 1) }
            draft.change(to: CausalBases.second)
            try draft.set(CausalBases.a, "second of a")
            // A frame of 65 rows is not encoded otherwise.
            if further == 35 {
                let last = draft.vector.rows.count - 2
                draft.vector =
                    Vector(floor: 0, rows: draft.vector.rows.enumerated().filter { $0.offset != last }.map(\.element))
                    ?? draft.vector
            }
            try draft.commit()
            let base = Base(file: draft.file)
            if expect == .success {
                try vault(
                    "vector-form-1-64-rows", "R-5.34, R-11.1", expect, base, "30 changed and 34 further rows.")
            } else {
                try vector("form-1-65-rows", "R-5.34, R-11.1", expect, base, "30 changed and 35 further rows.") {
                    $0.further.append((999, 1))
                }
            }
        }
    }

    // MARK: the own id

    private mutating func addOwnRows(_ bases: Bases) throws {
        let (three, siblings, based) = (bases.causal.three, bases.causal.siblings, bases.causal.based)
        try vector("own-missing", "R-5.35", .structureInvalid, three, "The own id has no row.") {
            $0.further[0].id = CausalBases.second
        }
        try vector(
            "own-greater", "R-5.35", .structureInvalid, three,
            "The own id's row in the frame is greater than the own revision."
        ) { $0.further[0].revision += 1 }
        try vector(
            "own-less", "R-5.35", .success, three, "The own id's row in the frame is less than the own revision."
        ) {
            $0.further[0].revision -= 1
        }
        try vault("vector-own-equal", "R-5.35", .success, three, "The own id's row in the frame is the own revision.")
        for (name, more, what) in [("less", -1, "less"), ("more", 1, "greater")] as [(String, Int, String)] {
            try forged(
                "vector-clock-\(name)", "R-5.35", .structureInvalid, siblings,
                "The clock is \(what) by 1 than the greatest row."
            ) { forge in
                // Nothing of the state has the dot of that row.
                try forge.onLeastItem()
                forge.onBody(try forge.last(.commit)) { body, _ in
                    body[64] = UInt8(truncatingIfNeeded: Int(body[64]) + more)
                }
            }
        }
        try vector(
            "clock-other-row", "R-5.35", .structureInvalid, based,
            "The own revision is the clock, and another row is greater."
        ) { $0.changes[0].revision += 1000 }
    }

    // MARK: many

    private mutating func addManyRows() throws {
        for (count, name, expect) in [
            (262_000, "vector-262000-rows", .success), (262_001, "vector-base-and-further-262001", .structureInvalid),
        ] as [(UInt64, String, Verdict)] {
            var draft = try Draft(name, key: Base.key, replica: CausalBases.first)
            try draft.add(CausalBases.a, "first of a")
            for number in 1..<UInt64(262_000) { draft.vector.include(number, 1) }
            draft.isChange = count > 262_000
            try draft.commit()
            if count > 262_000 {
                draft.hasBase = true
                draft.change(to: CausalBases.second)
                try draft.set(CausalBases.a, "second of a")
                try draft.commit()
            }
            try vault(
                name, "R-5.33, R-11.1", expect, Base(file: draft.file),
                count == 262_000
                    ? "A vector of 262,000 rows, the most: a frame of 4 MiB."
                    : "A vector of 262,000 rows, and a frame with one more on it.")
        }
    }
}

/// A vector frame's bytes, whatever it has: put together from section 5.5.
struct RawVector {
    static let split: UInt64 = 1 << 63

    var base: ObjectRef?
    /// With bit 63.
    var changes: [(position: UInt64, revision: UInt64)]
    var further: [(id: UInt64, revision: UInt64)]

    init(_ body: [UInt8], at offset: UInt64) throws {
        let frame = try VectorFrame(body.span, at: offset)
        base = frame.base
        changes = frame.changes.map { (UInt64($0.position), $0.revision | ($0.isSplit ? Self.split : 0)) }
        further = frame.further.map { ($0.id, $0.revision | ($0.isSplit ? Self.split : 0)) }
    }

    func encoded() -> [UInt8] {
        var out: [UInt8] = [base == nil ? 0 : 1]
        if let base {
            base.encode(into: &out)
            out.append(varint: UInt64(changes.count))
            for change in changes {
                out.append(varint: change.position)
                out.append(u64: change.revision)
            }
        }
        out.append(varint: UInt64(further.count))
        for row in further {
            out.append(u64: row.id)
            out.append(u64: row.revision)
        }
        out.padSteppedBody()
        return out
    }
}

extension Forge {
    /// Changes a vector frame, which can then be malformed.
    mutating func onRawVector(_ use: VectorUse, _ edit: @escaping (inout RawVector) throws -> Void) throws {
        onBody(try vector(of: use)) { body, layout in
            var raw = try RawVector(body, at: layout.offset)
            try edit(&raw)
            body = raw.encoded()
        }
    }

    /// The rows of the base of the newest vector.
    fileprivate func baseRows() throws -> [Vector.Row] {
        let body = try vectorBody(of: .base)
        return try VectorFrame(body.span, at: 0).further
    }

    /// Lets the second item have no dot and no record of the newest change.
    fileprivate mutating func onLeastItem() throws {
        onEntries(try root()) { entries, _ in entries.remove(at: 1) }
        onCommit(try last(.commit)) { commit, _ in
            commit.items -= 1
            commit.pasts -= 1
        }
    }
}
