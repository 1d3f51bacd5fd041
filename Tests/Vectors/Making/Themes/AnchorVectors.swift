internal import TestSupport
internal import VaultBytes

/// Anchors: what a reader remembers, and what it says of a state (section 7.2).
extension Collection {
    mutating func addAnchors(_ bases: Bases) throws {
        folder = "anchors"
        try addAnchorsOfOneKey(bases)
        try addForkedAnchors(bases)
        try addForeignAnchors(bases)
        try addScopedAnchors(bases)
        try addAnchorsOfDamaged(bases)
        try addRotatedAnchors(bases)
        try addLeadingHandOvers()
        try addHandOverSignatures()
        try addHandOverVectors(bases)
        try addHandOverLimits(bases)
        try addOwners(bases)
    }

    mutating func anchor(
        _ name: String, _ spec: String, _ base: Base, _ comment: String, _ anchor: ReadRequest.Anchor,
        expect: Verdict = .success, is verdict: String, request: ReadRequest? = nil,
        edit: ((inout Forge) throws -> Void)? = nil
    ) throws {
        var request = request ?? base.request
        request.anchor = anchor
        if let edit {
            try forged("anchor-\(name)", spec, expect, base, comment, request: request, edit)
        } else {
            try vault("anchor-\(name)", spec, expect, base, comment, request: request)
        }
        try checkAnchor(name, verdict)
    }

    /// Compares the dump of the vector that was made last with a verdict; an empty one stands for none.
    private func checkAnchor(_ name: String, _ verdict: String) throws {
        guard let last = vectors.last else { return }
        let line = last.reading.dump.first { $0.hasPrefix("anchor ") } ?? ""
        guard line == (verdict.isEmpty ? "" : "anchor " + verdict) else {
            throw ForgeError("anchor-\(name): \(verdict) was stated, \(line) was read")
        }
    }

    private mutating func addAnchorsOfOneKey(_ bases: Bases) throws {
        let (grown, siblings, restarted) = (bases.grown, bases.causal.siblings, bases.causal.restarted)
        let states = bases.grownStates
        let newest = states[states.count - 1]
        try anchor("same", "R-7.6", grown, "The state is the one that is remembered.", newest, is: "same")
        try anchor(
            "same-chain-other-rows", "R-7.6", grown,
            "The state's chain value is remembered, with a row that the state lacks: the chain value counts.",
            newest.with(row: 99, newest.vector.clock), is: "same")
        let merged = try siblings.forge().remembered()
        try anchor(
            "same-rows", "R-7.6", siblings, "Equal rows are remembered in another order, and another chain value.",
            merged.reversed.changed, is: "same")
        try anchor(
            "same-below-floor", "R-7.6", restarted,
            "A row of another id is remembered, with the revision of the floor, besides the state's rows.",
            try restarted.forge().remembered().below().changed, is: "same")
        for (index, state) in states.dropLast().enumerated() {
            try anchor(
                "descends-\(index + 1)", "R-7.6", grown, "Generation \(index + 1) is remembered.", state, is: "descends"
            )
        }
        try anchor(
            "descends-1-row", "R-7.6", grown, "A row that is less by 1 than the state's is remembered.",
            newest.changed.with(row: newest.vector.rows[0].id, newest.vector.rows[0].revision - 1), is: "descends")
        try anchor(
            "descends-new-id", "R-7.6", siblings, "The state has the row of one id more.",
            merged.changed.without(CausalBases.third), is: "descends")
        let many = Base(file: try Self.manyRows("100 rows", 100, own: 100))
        let rows = try many.forge().remembered()
        try anchor(
            "descends-many", "R-7.6", many, "100 rows are remembered, of which the last is less.",
            rows.changed.with(row: rows.vector.rows[99].id, rows.vector.rows[99].revision - 1), is: "descends")
        try addDescendingAnchors(bases)
        try anchor(
            "older", "R-7.6", bases.grownBefore, "A later generation is remembered than the file has.", newest,
            is: "older")
        try anchor(
            "older-1-row", "R-7.6", grown, "A row that is greater by 1 than the state's is remembered.",
            newest.changed.with(row: newest.vector.rows[0].id, newest.vector.clock + 1), is: "older")
        try anchor(
            "older-missing-id", "R-7.6", grown, "The row of one more id is remembered.",
            newest.changed.with(row: 99, 1),
            is: "older")
        try anchor(
            "floor-of-anchor", "R-7.6", grown, "A floor is remembered that is not less than the state's row.",
            newest.changed.above(), is: "older")
        try anchor(
            "incomplete", "R-7.2, R-7.6", grown,
            "The newest generation is remembered and incomplete: the state that is served is older.", newest,
            expect: .successTailIncomplete, is: "older"
        ) {
            $0.onBody(try $0.last(.commit)) { body, _ in body.flip(264) }
        }
    }

    /// States with merges and compactions between them.
    private mutating func addDescendingAnchors(_ bases: Bases) throws {
        var draft = try CausalBases.changedDraft("compacted")
        let before = draft.remembered
        try draft.compact()
        try anchor(
            "same-compacted", "R-7.6", Base(file: draft.file), "A state is remembered that only a compaction follows.",
            before, is: "same")
        draft.change(to: CausalBases.second)
        try draft.set(CausalBases.b, "second of b")
        try draft.commit()
        try anchor(
            "descends-compacted", "R-7.6", Base(file: draft.file),
            "A state is remembered that a compaction and a change follow.", before, is: "descends")
        let merged = try bases.causal.siblings.forge().remembered()
        for (name, id) in [("merged", CausalBases.third), ("merged-theirs", CausalBases.second)] {
            try anchor(
                "descends-\(name)", "R-7.6", bases.causal.siblings,
                "One of the two states that were merged is remembered.",
                merged.changed.without(id), is: "descends")
        }
    }

    private mutating func addForkedAnchors(_ bases: Bases) throws {
        let siblings = bases.causal.siblings
        let merged = try siblings.forge().remembered()
        let rows = merged.vector.rows
        try anchor(
            "forked-2-rows", "R-7.6", siblings,
            "Of two rows, one is greater in the state, the other is remembered greater.",
            merged.changed.with(row: rows[0].id, rows[0].revision + 1).with(row: rows[2].id, rows[2].revision - 1),
            is: "forked")
        try anchor(
            "forked-row-1-behind", "R-7.6", siblings,
            "A row that is greater by 1 is remembered, and the state has the row of one id more.",
            merged.changed.with(row: rows[0].id, rows[0].revision + 1).without(CausalBases.third), is: "forked")
        try anchor(
            "forked-other-ids", "R-7.6", bases.grown, "A row of another id is remembered, and not the state's.",
            bases.grownStates[0].with(rows: [Vector.Row(99, 1)]), is: "forked")
        try anchor(
            "same-no-rows", "R-7.6", bases.grown, "The state's chain value is remembered without rows.",
            bases.grownStates[4].with(rows: []), is: "same")
        try anchor(
            "descends-no-rows", "R-7.6", bases.grown, "Another chain value is remembered, without rows.",
            bases.grownStates[0].with(rows: []), is: "descends")
    }

    private mutating func addForeignAnchors(_ bases: Bases) throws {
        let newest = bases.grownStates[bases.grownStates.count - 1]
        let stranger = Bytes32([0x99].times(32)) ?? .zero
        func foreign(_ anchor: ReadRequest.Anchor) -> ReadRequest.Anchor {
            ReadRequest.Anchor(owner: stranger, chain: anchor.chain, vector: anchor.vector)
        }
        try anchor(
            "foreign-same", "R-7.6", bases.grown,
            "The state is the one that is remembered, and the owners' public key is another one.", foreign(newest),
            is: "foreign")
        try anchor(
            "foreign-older", "R-7.6", bases.grownBefore, "A later generation under another public key is remembered.",
            foreign(newest), is: "foreign")
        try anchor(
            "foreign-forked", "R-7.6", bases.grown, "Another state under another public key is remembered.",
            foreign(newest.with(rows: [Vector.Row(99, 1)])), is: "foreign")
        try anchor(
            "foreign", "R-7.6", bases.rotated,
            "A state under another public key is remembered, which no hand-over is from.",
            foreign(bases.beforeRotation), is: "foreign")
        try anchor(
            "foreign-other-vault", "R-7.6", bases.other, "A state of another vault, with its owners' public key.",
            newest,
            is: "foreign")
    }

    private mutating func addScopedAnchors(_ bases: Bases) throws {
        let request = ReadRequest.raw(Base.scopedKey)
        var draft = try CausalBases.grantedDraft("scoped anchors")
        let before = draft.remembered
        try draft.set(DraftKey.generic("one", "ann", group: "one"), "second")
        try draft.commit()
        let (base, newest) = (Base(file: draft.file), draft.remembered)
        let row = newest.vector.rows[0]
        let cases: [(String, String, ReadRequest.Anchor)] = [
            ("same", "The state is remembered", newest), ("descends", "The state before is remembered", before),
            ("older", "A later state is remembered", newest.changed.with(row: row.id, row.revision + 1)),
            ("forked", "Another state is remembered", newest.changed.with(rows: [Vector.Row(99, 1)])),
        ]
        for (name, comment, state) in cases {
            try anchor(
                "scoped-\(name)", "R-7.6", base, comment + ", by a scoped slot's reader.", state, is: name,
                request: request)
        }
        let stranger = ReadRequest.Anchor(
            owner: Bytes32([0x99].times(32)) ?? .zero, chain: newest.chain, vector: newest.vector)
        try anchor(
            "scoped-foreign", "R-7.6", base, "Another public key is remembered, by a scoped slot's reader.", stranger,
            is: "foreign", request: request)
        let ids = draft.header.slots.map(\.id)
        let groups = draft.ring.slots.first { $0.id == ids[1] }?.grants.map(\.group) ?? []
        let names = draft.ring.groups.filter { groups.contains($0.number) }.map(\.name)
        try draft.rotate { draft in
            try draft.addSlot(.rawKey(Base.key), name: "main", id: ids[0])
            let numbers = draft.ring.groups.filter { names.contains($0.name) }.map(\.number)
            try draft.addSlot(.rawKey(Base.scopedKey), name: "first", granting: numbers, id: ids[1])
        }
        try anchor(
            "scoped-rotated", "R-7.6, R-7.8", Base(file: draft.file),
            "The state before a rotation is remembered, by a scoped slot's reader.", newest, is: "descends",
            request: request)
    }

    private mutating func addAnchorsOfDamaged(_ bases: Bases) throws {
        let (three, state) = (bases.causal.three, try bases.causal.three.forge().remembered())
        let chain = try three.chain(of: { $0.onReferenced(try $0.vector(of: .state)) { $0.flip(60) } })
        try anchor(
            "vector-damaged-same-chain", "R-5.37, R-7.6", three,
            "The state is the one that is remembered, and its vector is damaged: only what needs it fails.",
            state.chained(chain), expect: .authenticationFailed, is: "same"
        ) { $0.onReferenced(try $0.vector(of: .state)) { $0.flip(60) } }
        try anchor(
            "vector-damaged-other-chain", "R-5.37, R-7.6", three,
            "Another chain value is remembered, and the vector is damaged: there is no verdict.", state.changed,
            expect: .authenticationFailed, is: ""
        ) { $0.onReferenced(try $0.vector(of: .state)) { $0.flip(60) } }
        try anchor(
            "vector-malformed-other-chain", "R-5.37, R-7.6", three,
            "Another chain value is remembered, and the vector is malformed: there is no verdict.", state.changed,
            expect: .structureInvalid, is: ""
        ) { try $0.onRawVector(.state) { $0.further[0].id = 0 } }
    }
}

extension Base {
    /// The chain value of the newest state once it was altered.
    fileprivate func chain(of edit: (inout Forge) throws -> Void) throws -> Bytes32 {
        var forge = try forge()
        try edit(&forge)
        let altered = try Base(file: try forge.assemble()).forge()
        return Bindings.chain(altered.keys.vault, altered[try altered.last(.commit)].body)
    }
}

extension Forge {
    /// The state of the newest commit as it was.
    func remembered() throws -> ReadRequest.Anchor {
        let last = try last(.commit)
        let commit = try commit(last)
        let body = try vectorBody(of: .state)
        let frame = try VectorFrame(body.span, at: 0)
        var base: VectorFrame?
        if frame.base != nil {
            let body = try vectorBody(of: .base)
            base = try VectorFrame(body.span, at: 0)
        }
        var vector = try frame.vector(on: base, floor: commit.floor, at: 0)
        if let own = commit.own { vector.include(own.id, own.revision) }
        return ReadRequest.Anchor(
            owner: keys.publicKey, chain: Bindings.chain(keys.vault, self[last].body), vector: vector)
    }
}

extension ReadRequest.Anchor {
    /// The same with another chain value.
    var changed: ReadRequest.Anchor {
        var chain = chain.bytes
        chain.flip(31)
        return chained(Bytes32(chain) ?? .zero)
    }

    func chained(_ chain: Bytes32) -> ReadRequest.Anchor {
        ReadRequest.Anchor(owner: owner, chain: chain, vector: vector)
    }

    func with(rows: [Vector.Row], floor: UInt64? = nil) -> ReadRequest.Anchor {
        ReadRequest.Anchor(
            owner: owner, chain: chain, vector: Vector(floor: floor ?? vector.floor, rows: rows) ?? vector)
    }

    /// The same with another row of an id.
    func with(row id: ReplicaID, _ revision: UInt64) -> ReadRequest.Anchor {
        let row = Vector.Row(id, revision)
        guard vector.position(of: id) != nil else { return with(rows: vector.rows + [row]) }
        return with(rows: vector.rows.map { $0.id == id ? row : $0 })
    }

    func without(_ id: ReplicaID) -> ReadRequest.Anchor { with(rows: vector.rows.filter { $0.id != id }) }

    var reversed: ReadRequest.Anchor { with(rows: vector.rows.reversed()) }

    /// The same with the row of another id, at the floor.
    func below() -> ReadRequest.Anchor { with(rows: vector.rows + [Vector.Row(99, vector.floor)]) }

    /// The same with a floor that includes the state's row, and the row of another id.
    func above() -> ReadRequest.Anchor { with(rows: [Vector.Row(99, vector.clock + 1)], floor: vector.clock) }
}
