internal import TestSupport
internal import VaultBytes

/// Histories, anchors and hand-overs (sections 5.5, 7.2 and 7.3).
extension Collection {
    mutating func addHistories(_ bases: Bases) throws {
        folder = "history"
        try addHistoryBodies(bases)
        try addHistoryRules(bases)
        try addAnchors(bases)
        try addAnchorsOfCompacted(bases)
        try addBrokenWalks(bases)
        try addWalks(bases)
        try addHandOvers(bases)
        try addOwners(bases)
    }

    private mutating func history(
        _ name: String, _ spec: String, _ expect: Verdict, _ bases: Bases, _ comment: String,
        _ edit: @escaping (inout [UInt8]) -> Void
    ) throws {
        try forged("history-\(name)", spec, expect, bases.one, comment) {
            $0.onBody(try $0.last(.history)) { body, _ in edit(&body) }
        }
    }

    private mutating func addHistoryBodies(_ bases: Bases) throws {
        let one = bases.one
        try history("floor-0", "R-5.16", .structureInvalid, bases, "A floor of 0.") { $0.put(u64: 0, at: 0) }
        try history("floor-greatest", "R-5.16, R-11.1", .success, bases, "A floor of 2^63 - 1, the greatest.") {
            $0.put(u64: 1 << 63 - 1, at: 0)
        }
        try history("floor-2-63", "R-5.16, R-11.1", .structureInvalid, bases, "A floor of 2^63.") {
            $0.put(u64: 1 << 63, at: 0)
        }
        try history(
            "count-more", "R-5.16", .structureInvalid, bases,
            "It counts one ancestor more than it has: that one's generation is 0."
        ) { $0[8] += 1 }
        try history(
            "count-fewer", "R-1.2", .structureInvalid, bases,
            "It counts one ancestor less than it has: the other is padding that is not zero."
        ) {
            $0[8] -= 1
            $0[12] = 0
        }
        try history("count-1365", "R-11.1", .structureInvalid, bases, "It counts 1365 ancestors.") {
            $0.put(u32: 1365, at: 8)
        }
        try history("count-2-32", "R-2.2, R-11.1", .structureInvalid, bases, "It counts 2^32 - 1 ancestors.") {
            $0.put(u32: .max, at: 8)
        }
        try history(
            "newest-all", "R-5.16", .success, bases, "All its ancestors came with the first commit that named it."
        ) {
            $0[12] = $0[8]
        }
        try history(
            "newest-more", "R-5.16", .structureInvalid, bases,
            "It says that more ancestors came with it than there are."
        ) {
            $0[12] = $0[8] + 1
        }
        try history("newest-2-32", "R-5.16", .structureInvalid, bases, "It says that 2^32 - 1 ancestors came with it.")
        {
            $0.put(u32: .max, at: 12)
        }
        try history("generation-0", "R-5.16", .structureInvalid, bases, "An ancestor of generation 0.") {
            $0.put(u64: 0, at: 16)
        }
        try history(
            "generation-0-and-predecessor", "R-5.16", .structureInvalid, bases,
            "An ancestor of generation 0 before those that it needs."
        ) {
            var ancestor: [UInt8] = []
            ancestor.append(u64: 0)
            ancestor.append(u64: 1)
            ancestor += [0x0C].times(32)
            $0[8] += 1
            $0.exchange(16, 0, ancestor)
        }
        try history("clock-0", "R-5.16, R-11.1", .structureInvalid, bases, "An ancestor with a clock of 0.") {
            $0.put(u64: 0, at: 24)
        }
        try history("clock-2-63", "R-5.16, R-11.1", .structureInvalid, bases, "An ancestor with a clock of 2^63.") {
            $0.put(u64: 1 << 63, at: 24)
        }
        try history("clock-greatest", "R-5.16, R-11.1", .success, bases, "An ancestor with a clock of 2^63 - 1.") {
            $0.put(u64: 1 << 63 - 1, at: 24)
        }
        try history("padding", "R-1.2", .structureInvalid, bases, "A byte of its padding is 1.") {
            $0[$0.count - 1] = 1
        }
        try history("longer", "R-5.11", .structureInvalid, bases, "256 bytes of padding too many.") {
            $0 += [0].times(256)
        }
        try forged("history-tag", "R-1.6", .authenticationFailed, one, "Its tag is wrong.") {
            $0.onSealed(try $0.last(.history)) { $0.flip($0.count - 1) }
        }
        try forged("history-bytes", "R-2.3", .authenticationFailed, one, "A bit of it is another one.") {
            $0.onReferenced(try $0.last(.history)) { $0.flip(60) }
        }
        try forged("history-other-offset", "R-4.1", .authenticationFailed, one, "It was sealed for another offset.") {
            $0.onRecipe(try $0.last(.history)) { recipe, _ in recipe.x[0] ^= 1 }
        }
        try forged("history-other-label", "R-4.1", .authenticationFailed, one, "It was sealed as a page.") {
            $0.onRecipe(try $0.last(.history)) { recipe, _ in recipe.label = "vaultfmt-1 page" }
        }
        try forged("history-other-vault", "R-4.1", .authenticationFailed, one, "It was sealed for another vault.") {
            $0.onRecipe(try $0.last(.history)) { recipe, _ in recipe.vault[5] ^= 1 }
        }
        try forged(
            "history-is-keyring", "R-2.3", .structureInvalid, one, "The commit names the keyring as its history."
        ) { forge in
            let keyring = try forge.last(.keyring)
            forge.onCommit(try forge.last(.commit)) { commit, layout in commit.history = try layout.ref(keyring) }
        }
        try forged(
            "history-type", "R-2.3", .structureInvalid, one, "Its frame says that it is a page, and was sealed so."
        ) {
            $0.onRecipe(try $0.last(.history)) { recipe, _ in
                recipe.head.put(Array("vPAG".utf8), at: 0)
                recipe.clearHead = recipe.head
            }
        }
        try forged(
            "history-length-in-frame", "R-2.3", .structureInvalid, one, "Its frame says another length than the commit."
        ) {
            $0.onRecipe(try $0.last(.history)) { recipe, _ in
                recipe.head.put(u32: 512, at: 4)
                recipe.clearHead = recipe.head
            }
        }
    }

    private static func ancestor(_ generation: UInt64, _ number: UInt8 = 0xA7) -> Ancestor {
        Ancestor(generation: generation, clock: 77, chain: Bytes32([number].times(32)) ?? .zero)
    }

    private mutating func addHistoryRules(_ bases: Bases) throws {
        let one = bases.one
        func edited(
            _ name: String, _ expect: Verdict, _ comment: String, spec: String = "R-5.16",
            _ edit: @escaping (inout History) -> Void
        ) throws {
            try forged("history-\(name)", spec, expect, one, comment) {
                $0.onHistory(try $0.last(.history)) { edit(&$0) }
            }
        }
        // The commit that names it has generation 2.
        try edited("ancestor-same-generation", .structureInvalid, "An ancestor has the commit's generation.") {
            $0.ancestors.insert(Self.ancestor(2), at: 0)
        }
        try edited("ancestor-later", .structureInvalid, "An ancestor has a later generation than the commit.") {
            $0.ancestors.insert(Self.ancestor(3), at: 0)
        }
        try edited("ancestor-2-63", .structureInvalid, "An ancestor of generation 2^63.") {
            $0.ancestors.append(Self.ancestor(1 << 63))
        }
        try edited("ancestors-of-one-generation", .success, "Two ancestors of one generation, of different branches.") {
            $0.ancestors.append(Self.ancestor(1))
        }
        try edited(
            "without-predecessor", .structureInvalid, "It does not contain the predecessor of the commit that names it."
        ) {
            $0.ancestors = [Self.ancestor(1)]
        }
        try edited("empty", .structureInvalid, "It has no ancestors, and the predecessor is not in the file.") {
            $0.ancestors = []
            $0.newest = 0
        }
        try edited(
            "predecessor-other-generation", .structureInvalid,
            "It has the predecessor's chain value with another generation."
        ) {
            history in
            history.ancestors = [Ancestor(generation: 7, clock: 1, chain: history.ancestors[0].chain)]
        }
        try forged(
            "history-absent", "R-5.16", .structureInvalid, one, "A predecessor that is not in the file, and no history."
        ) {
            $0.onBody(try $0.last(.commit)) { body, _ in body.put([0].times(48), at: 184) }
        }
        try forged("history-of-first", "R-5.16", .success, bases.empty, "Generation 1 with an empty history.") {
            try $0.addHistory(History(floor: 1, ancestors: [], newest: 0))
        }
        try forged(
            "history-of-first-with-ancestor", "R-5.16", .structureInvalid, bases.empty,
            "Generation 1 with an ancestor of generation 1."
        ) {
            try $0.addHistory(History(floor: 1, ancestors: [Self.ancestor(1)], newest: 0))
        }
        try forged(
            "history-with-branch", "R-5.16", .success, bases.grown,
            "A commit whose predecessors are all in the file names a history, as after a merge."
        ) {
            try $0.addHistory(History(floor: 1, ancestors: [Self.ancestor(3), Self.ancestor(4)], newest: 2))
        }
        for (count, expect) in [(1364, Verdict.success), (1000, .success)] {
            try forged(
                "history-\(count)-ancestors", "R-5.17, R-11.1", expect, one, "A history with \(count) ancestors."
            ) { forge in
                forge.onHistory(try forge.last(.history)) { history in
                    let predecessor = history.ancestors[0].chain
                    history.ancestors = (1..<UInt64(count)).map { Self.ancestor($0, UInt8($0 & 255)) }
                    history.ancestors.append(Ancestor(generation: UInt64(count), clock: 1, chain: predecessor))
                }
                forge.onBody(try forge.last(.commit)) { body, _ in
                    body.put(u64: UInt64(count), at: 8)
                    body.put(u64: UInt64(count) + 1, at: 0)
                }
            }
        }
        try forged(
            "history-seen-by-scoped", "R-5.16", .structureInvalid, bases.scoped,
            "A history without the predecessor, seen by a scoped slot.", request: .raw(Base.scopedKey)
        ) {
            $0.onHistory(try $0.last(.history)) { $0.ancestors[$0.ancestors.count - 1] = Self.ancestor(1) }
        }
    }

    // MARK: anchors

    private mutating func anchor(
        _ name: String, _ spec: String, _ base: Base, _ comment: String, _ anchor: ReadRequest.Anchor,
        expect: Verdict = .success,
        request: ReadRequest? = nil, edit: ((inout Forge) throws -> Void)? = nil
    ) throws {
        var request = request ?? base.request
        request.anchor = anchor
        guard let edit else { return try vault("anchor-\(name)", spec, expect, base, comment, request: request) }
        try forged("anchor-\(name)", spec, expect, base, comment, request: request, edit)
    }

    private static func changed(_ anchor: ReadRequest.Anchor) -> ReadRequest.Anchor {
        var chain = anchor.chain.bytes
        chain.flip(31)
        return .init(generation: anchor.generation, chain: Bytes32(chain) ?? .zero, owner: anchor.owner)
    }

    private mutating func addAnchors(_ bases: Bases) throws {
        let states = bases.grownStates
        let newest = states[states.count - 1]
        let grown = bases.grown
        try anchor("same", "R-7.6", grown, "The state is the one that is remembered.", newest)
        for (index, state) in states.dropLast().enumerated() {
            try anchor("descends-\(index + 1)", "R-7.6", grown, "Generation \(index + 1) is remembered.", state)
            try anchor(
                "forked-\(index + 1)", "R-7.6", grown,
                "A generation \(index + 1) that never was in this file is remembered.",
                Self.changed(state))
        }
        for (name, at) in [("horizon", 79), ("flags", 81), ("history", 196)] {
            try anchor(
                "behind-wrong-\(name)", "R-7.6", grown,
                "A malformed \(name) in an earlier commit, behind which a state is remembered: the walk does not check it.",
                states[0]
            ) { forge in forge.onBody(forge.all(.commit)[2]) { body, _ in body[at] = 0xFF } }
        }
        try anchor(
            "forked-newest", "R-7.6", grown, "Another state of the newest generation is remembered.",
            Self.changed(newest))
        try anchor("older", "R-7.6", bases.grownBefore, "A later generation is remembered than the file has.", newest)
        try anchor(
            "older-by-far", "R-7.6", grown, "Generation 2^63 - 1 is remembered.",
            .init(generation: 1 << 63 - 1, chain: newest.chain, owner: newest.owner))
        try anchor(
            "right-chain-other-generation", "R-7.6", grown,
            "The newest chain value is remembered with an earlier generation.",
            .init(generation: 2, chain: newest.chain, owner: newest.owner))
        try anchor(
            "past-chain-other-generation", "R-7.6", grown,
            "The chain value of generation 3 is remembered with generation 2.",
            .init(generation: 2, chain: states[2].chain, owner: newest.owner))
        try anchor(
            "other-fork", "R-7.6", bases.other, "A state of another vault, with its owners' public key.", states[1])
        let stranger = Bytes32([0x99].times(32)) ?? .zero
        try anchor(
            "foreign-same", "R-7.6", grown,
            "The state is the one that is remembered, and the owners' public key is another one.",
            .init(generation: newest.generation, chain: newest.chain, owner: stranger))
        try anchor(
            "foreign-older", "R-7.6", bases.grownBefore, "A later generation under another public key is remembered.",
            .init(generation: newest.generation, chain: newest.chain, owner: stranger))
        try anchor(
            "foreign-forked", "R-7.6", grown, "Another state under another public key is remembered.",
            .init(generation: 2, chain: stranger, owner: stranger))
        let scoped = bases.scopedGrown
        let state = try scoped.forge().newestState()
        try anchor(
            "same-scoped", "R-7.6", scoped, "A scoped slot's reader remembers this state.", state,
            request: .raw(Base.scopedKey))
        try anchor(
            "forked-scoped", "R-7.6", scoped, "A scoped slot's reader remembers another state.", Self.changed(state),
            request: .raw(Base.scopedKey))
        try anchor(
            "foreign-scoped", "R-7.6", scoped, "A scoped slot's reader remembers this state under another public key.",
            .init(generation: state.generation, chain: state.chain, owner: stranger), request: .raw(Base.scopedKey))
        try anchor(
            "step", "R-5.21, R-7.6", grown, "The newest generation is 12, and 8 is remembered, which never was.",
            .init(generation: 8, chain: stranger, owner: newest.owner)
        ) {
            $0.onBody(try $0.last(.commit)) { body, _ in body.put(u64: 12, at: 0) }
        }
        try anchor(
            "incomplete", "R-7.2, R-7.6", grown,
            "The newest generation is remembered and incomplete: the state that is served is older.",
            newest, expect: .successTailIncomplete
        ) {
            $0.onBody(try $0.last(.commit)) { body, _ in body.flip(264) }
        }
    }

    /// Where the ancestors are in a history.
    private mutating func addAnchorsOfCompacted(_ bases: Bases) throws {
        var states: [ReadRequest.Anchor] = []
        var draft = try Bases.grownDraft("compacted", &states)
        try draft.compact(floor: 3, keeping: 2)
        let compacted = draft.anchor
        try draft.add(DraftKey.generic("later", "bob"), "x")
        try draft.commit()
        let base = Base(file: draft.file)
        try anchor("compacted-in-history", "R-7.6", base, "A state that the history lists is remembered.", states[2])
        try anchor("compacted-last", "R-7.6", base, "The last state before the compaction is remembered.", states[3])
        try anchor(
            "compacted-itself", "R-7.6", base, "The compaction itself is remembered, which is in the file.", compacted)
        try anchor(
            "compacted-at-floor", "R-7.6", base, "Another state of the floor's generation is remembered.",
            Self.changed(states[2]))
        try anchor(
            "compacted-below-floor", "R-7.6", base,
            "A state is remembered whose generation is less than the floor by 1.", states[1])
        try anchor(
            "compacted-first", "R-7.6", base,
            "The first generation is remembered, and the history does not go back so far.", states[0])
        try anchor(
            "compacted-chain-other-generation", "R-7.6", base,
            "The chain value of a state that the history lists is remembered with another generation.",
            .init(generation: 3, chain: states[3].chain, owner: states[3].owner))
        try anchor(
            "compacted-older", "R-7.6", base, "A later generation is remembered.",
            .init(generation: 100, chain: compacted.chain, owner: compacted.owner))
        try anchor(
            "compacted-floor-2", "R-7.6", base,
            "A state below what the history lists, and the floor says that it would be there.",
            states[1]
        ) { $0.onHistory(try $0.last(.history)) { $0.floor = 2 } }
        try anchor(
            "compacted-in-history-below-floor", "R-7.6", base,
            "A state is remembered that the history lists although it is below its floor.", states[2]
        ) {
            $0.onHistory(try $0.last(.history)) { $0.floor = 4 }
        }
        try anchor(
            "merged-branch", "R-7.6", bases.grown, "A state of a branch that was merged is remembered.",
            .init(generation: 4, chain: Bytes32([0xA7].times(32)) ?? .zero, owner: bases.grownStates[0].owner)
        ) { try $0.addHistory(History(floor: 1, ancestors: [Self.ancestor(3), Self.ancestor(4)], newest: 2)) }
        try anchor(
            "merged-own-branch", "R-7.6", bases.grown,
            "A state of the file's own branch is remembered, and a history was merged in.",
            bases.grownStates[1]
        ) {
            try $0.addHistory(History(floor: 1, ancestors: [Self.ancestor(3), Self.ancestor(4)], newest: 2))
        }
        try anchor(
            "merged-below-floor", "R-7.6", bases.grown,
            "A state that neither the file nor the history has, below the floor.",
            Self.changed(bases.grownStates[1])
        ) {
            try $0.addHistory(History(floor: 3, ancestors: [Self.ancestor(3), Self.ancestor(4)], newest: 2))
        }
        try anchor(
            "merged-in-file-below-floor", "R-7.6", bases.grown, "A state that the file has, below the floor.",
            bases.grownStates[1]
        ) {
            try $0.addHistory(History(floor: 3, ancestors: [Self.ancestor(3), Self.ancestor(4)], newest: 2))
        }
    }

    /// The walk over predecessors meets a commit that fails.
    private mutating func addBrokenWalks(_ bases: Bases) throws {
        let states = bases.grownStates
        let grown = bases.grown
        // Five generations; the third one fails.
        try anchor(
            "broken-before-newest-forked", "R-7.6", grown,
            "Generation 4 does not open, and another generation 5 is remembered.",
            Self.changed(states[4])
        ) { forge in forge.onWritten(forge.all(.commit)[3]) { $0.flip(300) } }
        try anchor(
            "broken-before-newest-older", "R-7.6", grown, "Generation 4 does not open, and generation 6 is remembered.",
            .init(generation: 6, chain: states[4].chain, owner: states[4].owner)
        ) { forge in forge.onWritten(forge.all(.commit)[3]) { $0.flip(300) } }
        let faults: [(String, String, (inout Forge, ForgedObject.ID) -> Void)] = [
            ("tag", "does not open", { $0.onWritten($1) { $0.flip(300) } }),
            ("head", "has another head", { $0.onWritten($1) { $0.flip(1) } }),
        ]
        for (name, what, edit) in faults {
            func damaged(_ forge: inout Forge) throws { edit(&forge, forge.all(.commit)[2]) }
            try anchor(
                "broken-\(name)-after", "R-7.6", grown,
                "Generation 3 \(what), and 4 is remembered: the walk gets there first.", states[3]
            ) { try damaged(&$0) }
            try anchor(
                "broken-\(name)-forked", "R-7.6", grown,
                "Generation 3 \(what), and another generation 4 is remembered: the walk has passed it.",
                Self.changed(states[3])
            ) { try damaged(&$0) }
            try anchor(
                "broken-\(name)-forked-below-floor", "R-7.6", grown,
                "Generation 3 \(what), and another generation 4 is remembered: the walk has passed it, and it is below the floor.",
                Self.changed(states[3])
            ) {
                try $0.addHistory(History(floor: 5, ancestors: [Self.ancestor(1)], newest: 0))
                try damaged(&$0)
            }
            try anchor(
                "broken-\(name)-before", "R-7.6", grown,
                "Generation 3 \(what), and 2 is remembered: that cannot be known.", states[1],
                expect: .authenticationFailed
            ) { try damaged(&$0) }
            try anchor(
                "broken-\(name)-itself", "R-7.6", grown, "Generation 3 \(what), and is remembered.", states[2],
                expect: .authenticationFailed
            ) { try damaged(&$0) }
            try anchor(
                "broken-\(name)-in-history", "R-7.6", grown,
                "Generation 3 \(what), and a state is remembered that the history lists.",
                .init(generation: 1, chain: Self.ancestor(1).chain, owner: states[0].owner)
            ) {
                try $0.addHistory(History(floor: 1, ancestors: [Self.ancestor(1)], newest: 0))
                try damaged(&$0)
            }
        }
        try anchor(
            "past-owner-mac", "R-7.6", grown,
            "Generation 3 has a wrong owner MAC, which the walk does not check, and 2 is remembered.",
            states[1]
        ) {
            $0.onProof($0.all(.commit)[2]) { proof, _ in proof.flip(0) }
        }
        try anchor(
            "past-digest", "R-7.6", grown,
            "A bit of what generation 3 appended is another one, which the walk does not check, and 2 is remembered.",
            states[1]
        ) { forge in
            let place = forge.objects.firstIndex { $0.id == forge.all(.commit)[2] } ?? 0
            forge.onWritten(forge.objects[place - 1].id) { $0.flip(200) }
        }
        try anchor(
            "past-header", "R-5.24, R-7.6", grown, "Generation 2 states another header, and 1 is remembered.", states[0]
        ) {
            $0.onBody($0.all(.commit)[1]) { body, _ in body.flip(240) }
        }
        try anchor(
            "past-padding", "R-7.6", grown, "The padding before generation 3 is not zero, and 2 is remembered.",
            states[1]
        ) {
            $0.onPadding($0.all(.commit)[2]) { $0[$0.count - 1] = 1 }
        }
        for (name, what, place) in [
            ("reserved", "a reserved byte of its history", 196), ("clock", "the last byte of its clock", 71),
        ] {
            try anchor(
                "past-\(name)", "R-7.6", grown,
                "In generation 3 \(what) is not 0, which the walk does not check, and 2 is remembered.", states[1]
            ) {
                $0.onBody($0.all(.commit)[2]) { body, _ in body[place] = 0xFF }
            }
        }
        try anchor(
            "past-not-predecessor", "R-7.6", grown,
            "Generation 4 states another chain value than 3 has, and 2 is remembered.", states[1],
            expect: .authenticationFailed
        ) {
            $0.onBody($0.all(.commit)[3]) { body, _ in body.flip(20) }
        }
        try anchor(
            "past-other-generation", "R-7.6", grown,
            "Generation 4 states another generation than 3 has, and 1 is remembered.", states[0],
            expect: .authenticationFailed
        ) {
            $0.onBody($0.all(.commit)[3]) { body, _ in body.put(u64: 2, at: 8) }
        }
    }

    /// Where the walk looks for a predecessor: what a past commit says of its start (section 7.2).
    private mutating func addWalks(_ bases: Bases) throws {
        let states = bases.grownStates
        let grown = bases.grown
        let end = UInt64(grown.file.count)
        let third = try grown.forge()[try grown.forge().all(.commit)[2]].origin ?? 0
        for (name, start, what) in [
            ("zero", 0, "at 0"), ("in-header", 512, "in the header"), ("in-copy", 7680, "in the header's copy"),
            ("unaligned", 8193, "a byte after the header's copy"), ("own", third + 512, "where it ends itself"),
            ("last", end + 512, "512 bytes after the end of the newest commit"), ("2-62", 1 << 62, "at 2^62"),
            ("greatest", .max - 511, "at 2^64 - 512"),
        ] as [(String, UInt64, String)] {
            try anchor(
                "walk-start-\(name)", "R-7.6", grown,
                "Generation 3 says that it starts \(what), and 1 is remembered: the walk fails.", states[0],
                expect: .authenticationFailed
            ) {
                $0.onBody($0.all(.commit)[2]) { body, _ in body.put(u64: start, at: 56) }
                $0.tail = [0].times(100)
            }
        }
        try anchor(
            "walk-start-passed", "R-7.6", grown,
            "Generation 3 says that it starts at 0, and another generation 4 is remembered: the walk has passed it.",
            Self.changed(states[3])
        ) { $0.onBody($0.all(.commit)[2]) { body, _ in body.put(u64: 0, at: 56) } }
        try anchor(
            "walk-unaligned", "R-7.6", grown,
            "Generation 2 is 64 bytes after a multiple of 512 and was sealed for that, and 1 is remembered: the walk fails.",
            states[0], expect: .authenticationFailed
        ) { $0.onPadding($0.all(.commit)[1]) { $0 += [0].times(64) } }
        for (name, what, edit) in [
            ("type", "another type", { $0[3] ^= 1 }), ("length", "another length", { $0[4] ^= 1 }),
        ] as [(String, String, (inout [UInt8]) -> Void)] {
            try anchor(
                "walk-other-\(name)", "R-7.6", grown,
                "Generation 3 has \(what) in its head and was sealed so, and 1 is remembered: the walk fails.",
                states[0],
                expect: .authenticationFailed
            ) {
                $0.onRecipe($0.all(.commit)[2]) { recipe, _ in
                    edit(&recipe.head)
                    recipe.clearHead = recipe.head
                }
            }
        }
    }

    // MARK: hand-overs

    private mutating func handOver(
        _ name: String, _ base: Base, _ comment: String, _ state: ReadRequest.Anchor, spec: String = "R-7.8",
        _ edit: @escaping (inout Keyring, ForgeKeys) throws -> Void = { _, _ in }
    ) throws {
        try anchor("hand-over-\(name)", spec, base, comment, state) { forge in
            let keys = forge.keys
            forge.onKeyring(try forge.last(.keyring)) { try edit(&$0, keys) }
            forge.tail = [0].times(512)
        }
    }

    private mutating func addHandOvers(_ bases: Bases) throws {
        var draft = try Draft("hand-overs", key: Base.key)
        try draft.add(Bases.ann, "s3cret")
        try draft.commit()
        let first = draft.anchor
        try draft.add(Bases.bob, "second")
        try draft.commit()
        let second = draft.anchor
        let firstSeed = draft.keys.signingSeed
        let slot = draft.header.slots[0].id
        let slots: (inout Draft) throws -> Void = { try $0.addSlot(.rawKey(Base.key), name: "main", id: slot) }
        // A branch that goes on under the old key.
        var branch = draft
        try branch.remove(Bases.bob)
        try branch.commit()
        let leaked = branch.anchor
        try draft.rotate(slots)
        let third = draft.anchor
        let once = Base(file: draft.file)
        try draft.add(DraftKey.generic("later", "ann"), "later")
        try draft.commit()
        let fourth = draft.anchor
        let secondSeed = draft.keys.signingSeed
        var secondBranch = draft
        try draft.rotate(slots)
        let twice = Base(file: draft.file)
        // It went on under the second key.
        try secondBranch.remove(Bases.bob)
        try secondBranch.commit()

        try handOver("state", once, "The state that was handed over is remembered.", second)
        try handOver("ancestor", once, "An earlier state under the key that was handed over is remembered.", first)
        try handOver("branch", once, "A branch that went on under the old key is remembered.", leaked)
        try handOver(
            "older", once, "A state of the same generation as the present one under the old key is remembered.",
            .init(generation: third.generation, chain: third.chain, owner: first.owner))
        try handOver(
            "forked", once, "Another state of the generation that was handed over is remembered.", Self.changed(second))
        try handOver(
            "forked-before", once, "Another state of an earlier generation under the old key is remembered.",
            Self.changed(first))
        try anchor(
            "hand-over-same-generation", "R-7.8", once,
            "Another state of the generation that was handed over is remembered, and is an ancestor.",
            Self.changed(second)
        ) {
            $0.onHistory(try $0.last(.history)) { history in
                let other = Self.changed(second)
                history.ancestors.insert(Ancestor(generation: other.generation, clock: 1, chain: other.chain), at: 0)
            }
        }
        try handOver("same", once, "The present state is remembered.", third)
        try handOver("twice-first", twice, "Two rotations: a state before both is remembered.", first)
        try handOver("twice-second", twice, "Two rotations: the last state under the first key is remembered.", second)
        try handOver("twice-third", twice, "Two rotations: the first state under the second key is remembered.", third)
        try handOver("twice-fourth", twice, "Two rotations: the last state under the second key is remembered.", fourth)
        try handOver(
            "twice-mixed", twice, "Two rotations: a state under the second key is remembered with the first key.",
            .init(generation: third.generation, chain: third.chain, owner: first.owner))
        try handOver(
            "twice-mixed-back", twice, "Two rotations: a state under the first key is remembered with the second key.",
            .init(generation: second.generation, chain: second.chain, owner: third.owner))
        try handOver("absent", once, "The hand-over is gone.", second) { ring, _ in ring.handOvers = [] }
        try handOver("signature", once, "A byte of the hand-over's signature is wrong.", second) { ring, _ in
            ring.handOvers[0] = ring.handOvers[0].with { $0.flip(5) }
        }
        try handOver("signature-zero", once, "The hand-over's signature is zeros.", second) { ring, _ in
            ring.handOvers[0] = ring.handOvers[0].with { $0 = [0].times(64) }
        }
        try handOver(
            "signature-not-reduced", once, "The hand-over's signature has an S that is not reduced.", second,
            spec: "R-5.20, R-7.8"
        ) { ring, _ in
            ring.handOvers[0] = ring.handOvers[0].with { $0 = Ed25519.unreduced($0) }
        }
        let messages: [(String, String, (Bytes16, HandOver, Bytes32) -> [UInt8])] = [
            (
                "other-label", "has a commit's label",
                {
                    Bindings.label("vaultfmt-1 commit", $0)
                        + Bindings.handOver($0, generation: $1.generation, chain: $1.chain.bytes, next: $2).dropFirst(
                            36)
                }
            ),
            (
                "other-vault", "is for another vault",
                { _, one, next in
                    Bindings.handOver(.zero, generation: one.generation, chain: one.chain.bytes, next: next)
                }
            ),
            (
                "other-next", "hands over to another key",
                { vault, one, _ in
                    Bindings.handOver(vault, generation: one.generation, chain: one.chain.bytes, next: one.publicKey)
                }
            ),
            (
                "other-generation", "states another generation",
                { Bindings.handOver($0, generation: $1.generation + 1, chain: $1.chain.bytes, next: $2) }
            ),
        ]
        for (name, what, message) in messages {
            try handOver("signed-\(name)", once, "What the hand-over's signature signs \(what).", second) {
                ring, keys in
                let one = ring.handOvers[0]
                ring.handOvers[0] = one.with {
                    $0 = Plain.sign(message(keys.vault, one, keys.publicKey), seed: firstSeed)
                }
            }
        }
        try handOver("by-stranger", once, "The hand-over was made by another key.", second) { ring, keys in
            let one = ring.handOvers[0]
            let message = Bindings.handOver(
                keys.vault, generation: one.generation, chain: one.chain.bytes, next: keys.publicKey)
            ring.handOvers[0] = one.with { $0 = Plain.sign(message, seed: [0x66].times(32)) }
        }
        /// A hand-over that the first key made, of another state.
        func stated(_ ring: inout Keyring, _ keys: ForgeKeys, _ generation: UInt64, _ chain: Bytes32) {
            let message = Bindings.handOver(
                keys.vault, generation: generation, chain: chain.bytes, next: keys.publicKey)
            ring.handOvers[0] = HandOver(
                publicKey: ring.handOvers[0].publicKey, generation: generation, chain: chain,
                signature: Plain.sign(message, seed: firstSeed))
        }
        try handOver("of-branch", once, "The hand-over is of a state that is no ancestor: a branch.", first) {
            stated(&$0, $1, leaked.generation, leaked.chain)
        }
        try handOver(
            "of-earlier", once, "The hand-over is of the first state, and the second one is remembered.", second
        ) {
            stated(&$0, $1, first.generation, first.chain)
        }
        try handOver("of-earlier-itself", once, "The hand-over is of the first state, which is remembered.", first) {
            stated(&$0, $1, first.generation, first.chain)
        }
        try handOver("order", twice, "Two hand-overs are in each other's place.", second) { ring, _ in
            ring.handOvers.swapAt(0, 1)
        }
        try handOver(
            "first-gone", twice, "Of two hand-overs the first is gone, and a state under the first key is remembered.",
            second
        ) {
            ring, _ in ring.handOvers.removeFirst()
        }
        try handOver(
            "first-gone-third", twice,
            "Of two hand-overs the first is gone, and a state under the second key is remembered.", third
        ) { ring, _ in ring.handOvers.removeFirst() }
        try handOver(
            "last-gone", twice, "Of two hand-overs the last is gone: the first one's next key is another one.", second
        ) {
            ring, _ in ring.handOvers.removeLast()
        }
        try handOver(
            "last-signature", twice,
            "Of two hand-overs the second has a wrong signature, and a state under the first key is remembered.",
            second
        ) { ring, _ in
            ring.handOvers[1] = ring.handOvers[1].with { $0.flip(40) }
        }
        try handOver(
            "first-signature", twice,
            "Of two hand-overs the first has a wrong signature, and a state under the second key is remembered.",
            third
        ) { ring, _ in
            ring.handOvers[0] = ring.handOvers[0].with { $0.flip(40) }
        }
        let seconds: [(String, String, ReadRequest.Anchor)] = [
            ("third", "the first state under its key: earlier than it could be, and an ancestor", third),
            ("other", "another state of its generation", Self.changed(fourth)),
            ("branch", "a branch that went on under its key", secondBranch.anchor),
            ("first", "the state of the first hand-over: the generations do not ascend", second),
            ("before-first", "a state before that of the first hand-over: the generations descend", first),
        ]
        for (name, what, state) in seconds {
            try handOver("second-of-\(name)", twice, "Of two hand-overs the second is of \(what).", first) {
                ring, keys in
                let message = Bindings.handOver(
                    keys.vault, generation: state.generation, chain: state.chain.bytes, next: keys.publicKey)
                ring.handOvers[1] = HandOver(
                    publicKey: ring.handOvers[1].publicKey, generation: state.generation, chain: state.chain,
                    signature: Plain.sign(message, seed: secondSeed))
            }
        }
        func below(
            _ name: String, _ comment: String, _ state: ReadRequest.Anchor, floor: UInt64,
            keeping: @escaping (Ancestor) -> Bool
        )
            throws
        {
            try anchor("hand-over-\(name)", "R-7.8", twice, comment, state) { forge in
                forge.onHistory(try forge.last(.history)) { history in
                    history.ancestors = history.ancestors.filter(keeping)
                    history.newest = 0
                    history.floor = floor
                }
            }
        }
        try below(
            "below-floor", "The state that was handed over is below the floor, and is remembered.", second, floor: 3
        ) {
            $0.generation >= 3
        }
        try below(
            "anchor-below-floor", "The remembered state is below the floor, the one that was handed over is not.",
            first, floor: 2
        ) {
            $0.generation >= 2
        }
        try below(
            "forgotten", "The state that was handed over is not in the history, and not below its floor.", second,
            floor: 1
        ) {
            $0.generation >= 3
        }
        try below(
            "below-floor-foreign-branch",
            "A branch under the old key of a generation not below the floor is remembered.", leaked, floor: 3
        ) { $0.generation >= 3 }
        try forged("hand-overs-16", "R-11.1", .success, once, "16 hand-overs, the most; none of the first 15 is valid.")
        { forge in
            forge.onKeyring(try forge.last(.keyring)) { ring in
                ring.handOvers = [HandOver](repeating: ring.handOvers[0], count: 15) + ring.handOvers
            }
        }
        try forged("hand-overs-17", "R-11.1", .structureInvalid, once, "17 hand-overs.") { forge in
            forge.onBody(try forge.last(.keyring)) { body, layout in
                var ring = try Keyring(body.span, at: layout.offset)
                ring.handOvers = [HandOver](repeating: ring.handOvers[0], count: 16)
                body = Self.withOneMore(try ring.encode(), ring.handOvers[0], count: 16)
            }
        }
    }

    /// A keyring's body with one hand-over more than there may be; it ends with hand-overs and no extensions.
    private static func withOneMore(_ body: [UInt8], _ one: HandOver, count: UInt8) -> [UInt8] {
        var encoded: [UInt8] = []
        one.encode(into: &encoded)
        // Behind the hand-overs is only the number of extensions, 0.
        let end = (body.lastIndex { $0 != 0 } ?? 0) + 1
        var out = Array(body[..<end])
        let start = end - 136 * Int(count) - 1
        out[start] = count + 1
        out += encoded + [0]
        out.padSteppedBody()
        return out
    }

    // MARK: owners

    private mutating func addOwners(_ bases: Bases) throws {
        let owner = bases.grownStates[0].owner.bytes
        var request = ReadRequest.raw(Base.key)
        request.owner = owner
        try vault(
            "owner-right", "R-7.6", .success, bases.grown,
            "The caller insists on the owners' public key, and it is this one.",
            request: request)
        try vault(
            "owner-other-vault", "R-7.6", .foreign, bases.other, "The caller insists on another owners' public key.",
            request: request)
        request.owner = owner.enumerated().map { $0.offset == 31 ? $0.element ^ 1 : $0.element }
        try vault(
            "owner-other", "R-7.6", .foreign, bases.grown,
            "The caller insists on a public key that differs in one bit.", request: request)
        request.owner = bases.beforeRotation.owner.bytes
        try vault(
            "owner-before-rotation", "R-7.6, R-7.8", .foreign, bases.rotated,
            "The caller insists on the public key before a rotation: no hand-over counts.", request: request)
        try forged(
            "owner-and-header-mac", "R-3.3", .authenticationFailed, bases.grown,
            "The caller insists on another public key, and the header's MAC is wrong.", request: request
        ) {
            $0.editHeaderSealed.append { $0.flip($0.count - 1) }
        }
        try forged(
            "owner-and-commit", "R-7.6", .foreign, bases.grown,
            "The caller insists on another public key, and the newest commit's owner MAC is wrong.", request: request
        ) {
            $0.onProof(try $0.last(.commit)) { proof, _ in proof.flip(0) }
        }
        var scoped = ReadRequest.raw(Base.scopedKey)
        scoped.owner = try bases.scoped.forge().keys.publicKey.bytes
        try vault(
            "owner-scoped", "R-7.6", .success, bases.scoped, "The same with a scoped slot, and the right public key.",
            request: scoped)
        scoped.owner = owner
        try vault(
            "owner-scoped-other", "R-7.6", .foreign, bases.scoped,
            "The same with a scoped slot, and another public key.", request: scoped)
        let key = Ed25519.base(Ed25519.small(9))
        scoped.owner = try bases.scoped.forge().keys.publicKey.bytes
        try forged(
            "owner-stranger-signs", "R-5.18, R-7.6", .foreign, bases.scoped,
            "A stranger put their public key into the scoped slot and signed: only the caller's knowledge shows it.",
            request: scoped
        ) { forge in
            try forge.remakeScoped { $0.payload.put(key, at: 32) }
            forge.onProof(try forge.last(.commit)) { proof, chain in
                let r = Ed25519.small(4)
                let message = Bindings.commit(chain)
                proof.put(
                    Ed25519.signature(message, point: Ed25519.base(r), r: r, a: Ed25519.small(9), publicKey: key),
                    at: 32)
            }
        }
    }
}

extension Forge {
    /// The state of the newest commit as it was.
    func newestState() throws -> ReadRequest.Anchor {
        let last = try last(.commit)
        return .init(
            generation: try commit(last).generation, chain: Bindings.chain(keys.vault, self[last].body),
            owner: keys.publicKey)
    }

    /// Gives the newest commit a history of its own.
    mutating func addHistory(_ history: History) throws {
        let last = try last(.commit)
        let id = insert(.history, before: last, nonce: [0x41].times(24)) { _ in history.encode() }
        // Also digest and live bytes are made for it.
        onCommit(last) { commit, layout in
            let ref = try layout.ref(id)
            commit.history = ref
            commit.liveBytes += UInt64(ref.length)
        }
    }
}

extension HandOver {
    fileprivate func with(_ edit: (inout [UInt8]) -> Void) -> HandOver {
        var signature = signature
        edit(&signature)
        return HandOver(publicKey: publicKey, generation: generation, chain: chain, signature: signature)
    }
}
