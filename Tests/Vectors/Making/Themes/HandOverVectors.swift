internal import TestSupport
internal import VaultBytes

/// Anchors under keys that were replaced, and the hand-overs that lead from them (section 7.3).
extension Collection {
    mutating func addRotatedAnchors(_ bases: Bases) throws {
        let (restarted, state) = (bases.causal.restarted, bases.causal.beforeRestart)
        try anchor(
            "rotated", "R-7.6, R-7.8", restarted, "The state before a rotation is remembered.", state, is: "descends")
        try anchor(
            "rotated-fewer", "R-7.6", restarted, "Fewer rows are remembered than a rotation handed over.",
            state.changed.without(CausalBases.third), is: "descends")
        let row = state.vector.rows[1]
        try anchor(
            "rotated-1-row-more", "R-7.6", restarted,
            "A row is remembered that is greater by 1 than what a rotation handed over.",
            state.changed.with(row: row.id, row.revision + 1), is: "forked")
        try anchor(
            "rotated-new-id", "R-7.6", restarted, "A row is remembered that a rotation did not hand over.",
            state.changed.with(row: 99, row.revision), is: "forked")
        try anchor(
            "rotated-without-restart", "R-7.6", bases.rotated, "The state before a rotation that kept the vector.",
            bases.beforeRotation, is: "descends")
        try anchor(
            "foreign-hand-over-from-other", "R-7.8", restarted,
            "Another key is remembered than the one that a hand-over is from.",
            ReadRequest.Anchor(
                owner: Bytes32([0x98].times(32)) ?? .zero, chain: state.chain, vector: state.vector),
            is: "foreign")
    }

    /// A draft that was rotated, its keys before, and what was remembered then.
    private struct Rotated {
        var draft: Draft
        /// Of each state that was handed over, oldest first.
        var keys: [ForgeKeys] = []
        var states: [ReadRequest.Anchor] = []

        init(_ seed: String) throws { draft = try CausalBases.siblingsDraft(seed) }

        mutating func rotate(restarts: Bool = false) throws {
            keys.append(draft.keys)
            states.append(draft.remembered)
            let slot = draft.header.slots[0].id
            try draft.rotate(restarts: restarts) { try $0.addSlot(.rawKey(Base.key), name: "main", id: slot) }
        }

        mutating func change() throws {
            try draft.set(CausalBases.c, "later of c")
            try draft.commit()
        }

        /// Writes what was added to the hand-overs.
        mutating func base() throws -> Base {
            try draft.compact()
            return Base(file: draft.file)
        }

        /// A hand-over that one of the replaced keys signs, to any key.
        func handOver(_ index: Int, to next: Bytes32, _ vector: Vector) -> DraftHandOver {
            let message = Bindings.handOver(draft.keys.vault, vector, next: next)
            return DraftHandOver(
                publicKey: keys[index].publicKey, next: next, vector: vector,
                signature: Plain.sign(message, seed: keys[index].signingSeed))
        }
    }

    mutating func addLeadingHandOvers() throws {
        var two = try Rotated("two hand-overs")
        let more = two.draft.remembered.with(row: CausalBases.third, two.draft.vector.clock + 7)
        try two.rotate()
        let (state, next) = (two.states[0], two.draft.keys.publicKey)
        let other = Vector(floor: 0, rows: [more.vector.rows[2]]) ?? Vector()
        two.draft.handedOver.append(two.handOver(0, to: next, other))
        try anchor(
            "rotated-two-hand-overs", "R-7.6", try two.base(),
            "Of the remembered rows, one hand-over of the key covers some, and another one the others.", more,
            is: "descends")
        var below = try Rotated("below floor")
        try below.rotate(restarts: true)
        try below.change()
        try below.rotate()
        try anchor(
            "rotated-below-floor", "R-7.8", try below.base(),
            "A row of another id is remembered, at the floor of what was handed over.", below.states[1].below(),
            is: "descends")
        var twice = try Rotated("twice")
        try twice.rotate()
        try twice.change()
        try twice.rotate()
        let base = try twice.base()
        try anchor(
            "rotated-twice", "R-7.8", base, "Two rotations: the state before the first one is remembered.",
            twice.states[0], is: "descends")
        try anchor(
            "rotated-twice-second", "R-7.8", base, "Two rotations: the state before the second one is remembered.",
            twice.states[1], is: "descends")
        try anchor(
            "rotated-second-covers", "R-7.6", base,
            "Two rotations: a row under the first key is remembered that only the second hand-over covers.",
            ReadRequest.Anchor(
                owner: twice.states[0].owner, chain: state.chain, vector: twice.states[1].vector), is: "forked")
        try addBranches()
    }

    private mutating func addBranches() throws {
        let elsewhere = Bytes32([0x97].times(32)) ?? .zero
        let least = Vector(floor: 0, rows: [Vector.Row(CausalBases.first, 1)]) ?? Vector()
        var side = try Rotated("side branch")
        try side.rotate()
        side.draft.handedOver = [
            side.handOver(0, to: elsewhere, least), side.handOver(0, to: side.draft.keys.publicKey, least),
        ]
        try anchor(
            "rotated-side-branch", "R-7.6", try side.base(),
            "Of two hand-overs of the key, one leads elsewhere, the other to the state; none covers the rows.",
            side.states[0], is: "forked")
        var covering = try Rotated("covering elsewhere")
        try covering.rotate()
        covering.draft.handedOver = [
            covering.handOver(0, to: elsewhere, covering.states[0].vector),
            covering.handOver(0, to: covering.draft.keys.publicKey, least),
        ]
        try anchor(
            "rotated-covering-does-not-lead", "R-7.6", try covering.base(),
            "The hand-over that covers the rows leads elsewhere, and the one that leads to the state does not cover them.",
            covering.states[0], is: "forked")
        var cycle = try Rotated("cycle")
        try cycle.rotate()
        try cycle.rotate()
        cycle.draft.handedOver.append(cycle.handOver(1, to: cycle.keys[0].publicKey, least))
        try anchor(
            "hand-over-cycle", "R-7.8", try cycle.base(),
            "Hand-overs lead from the key to the next, back, and to the state.",
            cycle.states[0], is: "descends")
        var foreign = try Rotated("foreign")
        try foreign.rotate()
        foreign.draft.handedOver = [foreign.handOver(0, to: elsewhere, foreign.states[0].vector)]
        try anchor(
            "foreign-hand-over-elsewhere", "R-7.8", try foreign.base(),
            "The only hand-over of the key leads elsewhere.",
            foreign.states[0], is: "foreign")
    }

    // MARK: signatures

    /// Changes the only hand-over.
    private mutating func signed(
        _ name: String, _ spec: String, _ comment: String, _ rotated: Rotated, is verdict: String = "foreign",
        _ edit: (inout DraftHandOver, ForgeKeys, Bytes16) throws -> Void
    ) throws {
        var rotated = rotated
        try edit(&rotated.draft.handedOver[0], rotated.keys[0], rotated.draft.keys.vault)
        try anchor("hand-over-\(name)", spec, try rotated.base(), comment, rotated.states[0], is: verdict)
    }

    mutating func addHandOverSignatures() throws {
        var plain = try Rotated("signatures")
        try plain.rotate()
        try signed("signature", "R-7.8", "A hand-over's signature is wrong.", plain) { one, _, _ in
            one.signature.flip(40)
        }
        try signed("signature-zero", "R-5.20, R-7.8", "A hand-over's signature is zeros.", plain) { one, _, _ in
            one.signature = [0].times(64)
        }
        try signed(
            "signature-not-reduced", "R-5.20, R-7.8",
            "The S of a hand-over's signature is greater by the group's order.",
            plain
        ) { one, _, _ in one.signature = Ed25519.unreduced(one.signature) }
        let messages: [(String, String, (DraftHandOver, Bytes16) -> [UInt8])] = [
            (
                "other-vault", "another vault",
                { one, _ in Bindings.handOver(Bytes16(high: 1, low: 2), one.vector, next: one.next) }
            ),
            (
                "other-next", "another next key",
                { one, vault in Bindings.handOver(vault, one.vector, next: Bytes32([0x96].times(32)) ?? .zero) }
            ),
            (
                "other-floor", "another floor",
                { one, vault in
                    Bindings.handOver(vault, Vector(floor: 1, rows: one.vector.rows) ?? one.vector, next: one.next)
                }
            ),
            (
                "other-rows", "other rows",
                { one, vault in
                    Bindings.handOver(
                        vault, Vector(floor: 0, rows: Array(one.vector.rows.dropLast())) ?? one.vector, next: one.next)
                }
            ),
            (
                "other-label", "the label of a commit",
                { one, vault in
                    Plain.label("vaultfmt-1 commit")
                        + Bindings.handOver(vault, one.vector, next: one.next).dropFirst(20)
                }
            ),
        ]
        for (name, what, message) in messages {
            try signed("signed-\(name)", "R-7.8", "A hand-over's signature is over \(what).", plain) {
                one, keys, vault in
                one.signature = Plain.sign(message(one, vault), seed: keys.signingSeed)
            }
        }
        try signed("signed-by-stranger", "R-7.8", "A hand-over is signed by another key.", plain) { one, _, vault in
            one.signature = Plain.sign(Bindings.handOver(vault, one.vector, next: one.next), seed: [0x66].times(32))
        }
        try addSignedRows()
    }

    /// How the rows are written that a hand-over signs.
    private mutating func addSignedRows() throws {
        var turned = try Rotated("signed rows")
        // The least id has the last row.
        turned.draft.change(to: 5)
        try turned.change()
        try turned.rotate()
        func message(_ one: DraftHandOver, _ vault: Bytes16, isSorted: Bool, split: Bool) -> [UInt8] {
            var rows: [UInt8] = []
            for row in isSorted ? one.vector.rows.sorted(by: { $0.id < $1.id }) : one.vector.rows {
                rows.append(u64: row.id)
                rows.append(u64: row.revision | (split && row.isSplit ? 1 << 63 : 0))
            }
            var out = Bindings.label("vaultfmt-1 hand-over", vault) + Plain.hash(rows).bytes
            out.append(u64: one.vector.floor)
            return out + one.next.bytes
        }
        for isSorted in [false, true] {
            try signed(
                isSorted ? "signed-rows-by-id" : "signed-rows-by-position", "R-7.8",
                "A hand-over's signature is over rows in the order of their \(isSorted ? "ids" : "positions").", turned,
                is: isSorted ? "descends" : "foreign"
            ) { one, keys, vault in
                one.signature = Plain.sign(message(one, vault, isSorted: isSorted, split: true), seed: keys.signingSeed)
            }
        }
        var split = try Rotated("signed split")
        split.draft.vector.split(CausalBases.second)
        try split.rotate()
        for hasBit in [false, true] {
            try signed(
                hasBit ? "split" : "signed-without-split", "R-7.8",
                "A hand-over of a split id; its signature is over the revision with\(hasBit ? "" : "out") bit 63.",
                split,
                is: hasBit ? "descends" : "foreign"
            ) { one, keys, vault in
                one.signature = Plain.sign(message(one, vault, isSorted: true, split: hasBit), seed: keys.signingSeed)
            }
        }
    }

    // MARK: vectors of hand-overs

    mutating func addHandOverVectors(_ bases: Bases) throws {
        let (restarted, state) = (bases.causal.restarted, bases.causal.beforeRestart)
        let damages: [(String, Verdict, String, (inout Forge) throws -> Void)] = [
            (
                "damaged", .authenticationFailed, "is damaged",
                { $0.onReferenced(try $0.vector(of: .handOver)) { $0.flip(60) } }
            ),
            (
                "tag", .authenticationFailed, "has a wrong tag",
                { $0.onSealed(try $0.vector(of: .handOver)) { $0.flip($0.count - 1) } }
            ),
            (
                "id-0", .structureInvalid, "has a row for the id 0",
                { try $0.onRawVector(.handOver) { $0.further[0].id = 0 } }
            ),
            (
                "row-at-floor", .structureInvalid, "has a row at its floor",
                { try $0.onRawVector(.handOver) { $0.further[0].revision = 0 } }
            ),
        ]
        for (name, expect, what, edit) in damages {
            try anchor(
                "hand-over-vector-\(name)", "R-7.6", restarted,
                "The vector of the hand-over that the verdict depends on \(what).", state, expect: expect, is: "",
                edit: edit)
        }
        try anchor(
            "hand-over-vector-damaged-same-key", "R-7.6", restarted,
            "The vector of a hand-over is damaged, and a state under the state's key is remembered.",
            try restarted.forge().remembered().changed, is: "same", edit: damages[0].3)
        try anchor(
            "hand-over-vector-damaged-foreign", "R-7.6", restarted,
            "The vector of a hand-over is damaged that is not of the remembered key: it does not matter.",
            ReadRequest.Anchor(
                owner: Bytes32([0x95].times(32)) ?? .zero, chain: state.chain, vector: state.vector), is: "foreign",
            edit: damages[0].3)
        try anchor(
            "hand-over-vector-damaged-no-rows", "R-7.6", restarted,
            "The vector of a hand-over is damaged, and no rows are remembered: without it, nothing leads to the state.",
            state.with(rows: []), expect: .authenticationFailed, is: "", edit: damages[0].3)
    }

    mutating func addHandOverLimits(_ bases: Bases) throws {
        let restarted = bases.causal.restarted
        for (count, expect) in [(16, Verdict.success), (17, .structureInvalid)] {
            try forged(
                "hand-overs-\(count)", "R-11.1", expect, restarted, "\(count) hand-overs, of which one is valid."
            ) { forge in
                forge.onBody(try forge.last(.keyring)) { body, layout in
                    var ring = try Keyring(body.span, at: layout.offset)
                    let one = ring.handOvers[0]
                    ring.handOvers += (1..<UInt8(count)).map { one.with(signature: [$0].times(64)) }
                    ring.handOvers.sort(by: HandOver.precedes)
                    body = RawKeyring.encode(ring)
                }
            }
        }
    }
}
