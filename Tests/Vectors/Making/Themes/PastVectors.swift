internal import TestSupport
internal import VaultBytes

/// What an item has and does not show: frames, dots, values (section 5.3).
extension Collection {
    mutating func addPasts(_ bases: Bases) throws {
        folder = "pasts"
        try addWholePasts(bases)
        try addPastFrames(bases)
        try addPastBodies(bases)
        try addPastDots(bases)
        try addPastFlags(bases)
        try addPastContents(bases)
        try addPastSiblings(bases)
        try addPastFields(bases)
        try addPastRecords(bases)
        try addPastCompartments(bases)
        try addPastLimits(bases)
    }

    private mutating func addWholePasts(_ bases: Bases) throws {
        let causal = bases.causal
        try vault("past", "R-5.26, R-5.28", .success, causal.changed, "Earlier values, and no siblings.")
        try vault("past-siblings", "R-5.29", .success, causal.siblings, "Two items with two siblings each.")
        try vault(
            "past-forgotten", "R-5.29, R-6.19", .success, causal.forgotten, "A sibling's field is forgotten.")
        try vault(
            "past-below-floor", "R-1.10, R-5.29", .success, causal.restarted,
            "Siblings after a rotation that restarted the vector.")
        var scoped = try CausalBases.siblingsDraft("scoped siblings")
        try scoped.addSlot(
            .rawKey(Base.scopedKey), name: "reader", granting: scoped.ring.groups.map(\.number))
        try scoped.compact()
        let seen = Base(file: scoped.file)
        let request = ReadRequest.raw(Base.scopedKey)
        try vault(
            "past-scoped", "R-6.13", .success, seen, "A scoped slot's reader sees that there is something to settle.",
            request: request)
        try vault("past-scoped-seen-by-owner", "R-6.13", .success, seen, "The same vault, seen by the owner.")
        try forged(
            "past-scoped-damaged", "R-6.13", .success, seen,
            "A past is damaged, and a scoped slot's reader does not read it.", request: request
        ) { $0.onReferenced(try $0.past()) { $0.flip(100) } }
        try forged(
            "past-scoped-in-header", "R-6.13", .success, seen,
            "A past is in the header, and a scoped slot's reader does not follow the reference.", request: request
        ) {
            $0.onItem(try $0.root()) { item, _ in
                item.entry.past = ObjectRef(offset: 512, length: 256, hash: .zero)
            }
        }
    }

    // MARK: frames

    private mutating func addPastFrames(_ bases: Bases) throws {
        let base = bases.causal.changed
        try forged(
            "past-tag", "R-1.6", .authenticationFailed, base,
            "The frame's tag is wrong: what the item keeps cannot be listed, and nothing else fails."
        ) { $0.onSealed(try $0.past()) { $0.flip($0.count - 1) } }
        try forged("past-bytes", "R-2.3", .authenticationFailed, base, "A bit of the frame is another one.") {
            $0.onReferenced(try $0.past()) { $0.flip(90) }
        }
        for (name, comment, edit) in [
            ("other-offset", "It was sealed for another offset.", { $0.x[1] ^= 1 }),
            ("other-vault", "It was sealed for another vault.", { $0.vault[15] ^= 1 }),
            ("other-label", "It was sealed as a page.", { $0.label = "vaultfmt-1 page" }),
            ("other-key", "It was sealed under another key.", { $0.key[31] ^= 1 }),
        ] as [(String, String, (inout SealRecipe) -> Void)] {
            try forged("past-sealed-\(name)", "R-4.1", .authenticationFailed, base, comment) {
                $0.onRecipe(try $0.past()) { recipe, _ in edit(&recipe) }
            }
        }
        try forged(
            "past-sealed-under-index-key", "R-4.1", .authenticationFailed, base, "It was sealed under the index key."
        ) { forge in
            let key = forge.keys.index
            forge.onRecipe(try forge.past()) { recipe, _ in recipe.key = key }
        }
        try forged(
            "past-type", "R-2.3", .structureInvalid, base, "Its frame says that it is a page, and was sealed so."
        ) {
            $0.onRecipe(try $0.past()) { recipe, _ in
                recipe.head.put(Array("vPAG".utf8), at: 0)
                recipe.clearHead = recipe.head
            }
        }
        try addPastReferences(base)
        let keyring = try base.forge().last(.keyring)
        try forged("past-is-keyring", "R-2.3", .structureInvalid, base, "The frame is the keyring.") { forge in
            forge.onItem(try forge.root()) { item, layout in item.entry.past = try layout.ref(keyring) }
        }
        let two = try Bases.base("two pasts") { draft in
            draft.ring.keeping.count = 3
            try draft.add(Bases.ann, "first")
            try draft.add(Bases.bob, "second")
            try draft.commit()
            try draft.set(Bases.ann, "third")
            try draft.set(Bases.bob, "fourth")
            try draft.commit()
        }
        try forged("past-of-other-item", "R-5.26", .structureInvalid, two, "The frame is another item's.") { forge in
            let frame = try forge.past()
            forge.onItem(try forge.root(), 1) { item, layout in item.entry.past = try layout.ref(frame) }
        }
    }

    private mutating func addPastReferences(_ base: Base) throws {
        func reference(
            _ name: String, _ spec: String, _ expect: Verdict, _ comment: String,
            _ edit: @escaping (ObjectRef, ForgeLayout) -> ObjectRef
        ) throws {
            try forged("past-\(name)", spec, expect, base, comment) {
                $0.onItem(try $0.root()) { item, layout in item.entry.past = item.entry.past.map { edit($0, layout) } }
            }
        }
        try reference("in-header", "R-2.3", .structureInvalid, "The frame is in the header.") { ref, _ in
            ObjectRef(offset: 512, length: ref.length, hash: ref.hash)
        }
        try reference("is-page", "R-2.3", .structureInvalid, "The frame is the page that refers to it.") {
            ref, layout in
            ObjectRef(offset: layout.offset, length: ref.length, hash: ref.hash)
        }
        try reference("beyond-page", "R-2.3", .structureInvalid, "The frame ends a byte after the page begins.") {
            ref, layout in
            ObjectRef(offset: layout.offset + 1 - UInt64(ref.length), length: ref.length, hash: ref.hash)
        }
        try reference("offset-2-62", "R-2.2", .structureInvalid, "The frame is at 2^62.") { ref, _ in
            ObjectRef(offset: 1 << 62, length: ref.length, hash: ref.hash)
        }
        for length in [0, 255, 300, 2 << 20 + 256] {
            try reference("length-\(length)", "R-2.2, R-11.1", .structureInvalid, "The frame has \(length) bytes.") {
                ref, _ in ObjectRef(offset: ref.offset, length: length, hash: ref.hash)
            }
        }
        try reference("hash", "R-2.3", .authenticationFailed, "The frame's hash is another one.") { ref, _ in
            ObjectRef(offset: ref.offset, length: ref.length, hash: .zero)
        }
    }

    private mutating func addPastBodies(_ bases: Bases) throws {
        let bodies: [(String, String, String, (inout [UInt8]) -> Void)] = [
            ("item-id", "R-5.26", "The item's id in it is another one.", { $0.flip(0) }),
            ("dots-0", "R-5.27", "It counts no dots, and has two.", { $0[16] = 0 }),
            ("dots-count-more", "R-5.27", "It counts a dot more than it has.", { $0[16] += 1 }),
            (
                "dots-count-long", "R-1.1", "The number of dots is written with a byte too many.",
                { $0.exchange(16, 1, [$0[16] | 0x80, 0]) }
            ),
            ("dots-4353-counted", "R-2.2, R-11.1", "It counts 4353 dots.", { $0.exchange(16, 1, [0x81, 0x22]) }),
            (
                "position-long", "R-1.1", "A position is written with a byte too many.",
                { $0.exchange(25, 1, [0x81, 0]) }
            ),
            ("values-0", "R-11.1", "It counts no values, and has three.", { $0[35] = 0 }),
            ("values-count-more", "R-1.3", "It counts a value more than it has.", { $0[35] += 1 }),
            ("values-4097-counted", "R-2.2, R-11.1", "It counts 4097 values.", { $0.exchange(35, 1, [0x81, 0x20]) }),
            ("kind-4", "R-5.27", "A value of kind 4.", { $0[37] = 4 }),
            ("kind-255", "R-5.27", "A value of kind 255.", { $0[37] = 255 }),
            ("padding", "R-1.2", "A byte of its padding is 1.", { $0[$0.count - 1] = 1 }),
            ("longer", "R-5.11", "256 bytes of padding too many.", { $0 += [0].times(256) }),
        ]
        for (name, spec, comment, edit) in bodies {
            try forged("past-\(name)", spec, .structureInvalid, bases.causal.changed, comment) {
                $0.onBody(try $0.past()) { body, _ in edit(&body) }
            }
        }
    }

    /// Changes the first item's past.
    mutating func past(
        _ name: String, _ spec: String, _ expect: Verdict, _ base: Base, _ comment: String, of index: Int = 0,
        isOpen: Bool = false, _ edit: @escaping (inout NamedPast) throws -> Void = { _ in },
        raw: @escaping (inout RawPast) throws -> Void = { _ in }
    ) throws {
        try forged("past-\(name)", spec, expect, base, comment) { forge in
            try forge.onNamedPast(of: index, { past, _ in try edit(&past) }, raw: raw)
            guard isOpen else { return }
            forge.onItem(try forge.root(), index) { item, _ in item.entry.hasConflicts = true }
        }
    }

    // MARK: dots

    private mutating func addPastDots(_ bases: Bases) throws {
        let (changed, siblings) = (bases.causal.changed, bases.causal.siblings)
        try past(
            "dot-unused", "R-5.27", .structureInvalid, changed, "A dot that neither a value nor a sibling has.",
            raw: {
                $0.dots.append(StoredDot($0.dots[1].revision + 1, 1))
            })
        try past(
            "dots-order", "R-5.27", .structureInvalid, changed, "Dots in descending order.",
            raw: {
                $0.dots.reverse()
                for index in $0.values.indices { $0.values[index].index = 1 - $0.values[index].index }
            })
        try past(
            "dots-twice", "R-5.27", .structureInvalid, changed, "One dot twice.",
            raw: {
                $0.dots.insert($0.dots[0], at: 1)
                for index in $0.values.indices where $0.values[index].kind == 1 || $0.values[index].index == 1 {
                    $0.values[index].index += 1
                }
            })
        try past(
            "index-beyond", "R-5.27", .structureInvalid, changed, "A value's dot is not in the list.",
            raw: {
                $0.values[2].index = 2
            })
        try past(
            "index-2-62", "R-5.27", .structureInvalid, changed, "The index of a value's dot is 2^62.",
            raw: {
                $0.values[2].index = 1 << 62
            })
        try past(
            "sibling-index-beyond", "R-5.27", .structureInvalid, siblings, "A sibling's dot is not in the list.",
            raw: {
                $0.siblings[1].index = UInt64($0.dots.count)
            })
        for isAscending in [true, false] {
            // Two dots of one revision, which all ids have seen.
            let row = try Self.row(CausalBases.first, siblings)
            try past(
                "dots-position-order\(isAscending ? "" : "-descending")", "R-5.27",
                isAscending ? .success : .structureInvalid, siblings,
                "Dots of one revision in \(isAscending ? "ascending" : "descending") order of position.", isOpen: true
            ) { past in
                for position in [2, 3] {
                    past.values.append(
                        Past.Value(
                            kind: .attribute, name: Array("tags".utf8), dot: StoredDot(row, position), flags: .open,
                            content: .attribute([UInt8(position)])))
                }
            } raw: { raw in
                guard !isAscending, let first = raw.dots.firstIndex(of: StoredDot(row, 2)) else { return }
                raw.dots.swapAt(first, first + 1)
            }
        }
        try addPossiblePastDots(bases)
        try addPastOrders(bases)
    }

    /// What the commit and the vector say of a past's dots.
    private mutating func addPossiblePastDots(_ bases: Bases) throws {
        let (changed, siblings, restarted) = (bases.causal.changed, bases.causal.siblings, bases.causal.restarted)
        func moved(_ dot: StoredDot) -> (inout NamedPast) throws -> Void {
            { past in
                past.values.append(
                    Past.Value(
                        kind: .attribute, name: Array("tags".utf8), dot: dot, flags: .open, content: .attribute([1])))
            }
        }
        let clock = try changed.clock()
        let cases: [(String, String, Verdict, String, Base, StoredDot)] = [
            (
                "position-0", "R-1.10", .structureInvalid, "has position 0, and the floor is 0", changed,
                StoredDot(clock, 0)
            ),
            (
                "position-beyond-rows", "R-6.7", .structureInvalid, "has position 2, and the vector has one row",
                changed,
                StoredDot(clock, 2)
            ),
            ("future", "R-6.8", .structureInvalid, "is greater by 1 than the clock", changed, StoredDot(clock + 1, 1)),
            ("clock", "R-6.8", .success, "is the clock", changed, StoredDot(clock, 1)),
            (
                "not-seen", "R-6.7", .structureInvalid, "is greater by 1 than its row, and less than the clock",
                siblings,
                StoredDot(try Self.row(CausalBases.third, siblings) + 1, 3)
            ),
            (
                "of-row", "R-6.7", .success, "is its row", siblings,
                StoredDot(try Self.row(CausalBases.third, siblings), 3)
            ),
            (
                "below-floor-position-1", "R-1.10", .structureInvalid, "is below the floor and has position 1",
                restarted, StoredDot(7, 1)
            ),
            (
                "below-floor-position-0", "R-1.10", .success, "is below the floor and has position 0", restarted,
                StoredDot(7, 0)
            ),
            ("revision-2-63", "R-6.8", .structureInvalid, "has the revision 2^63", changed, StoredDot(1 << 63, 1)),
            ("revision-0", "R-6.8", .structureInvalid, "has the revision 0", changed, StoredDot(0, 1)),
        ]
        for (name, spec, expect, what, base, dot) in cases {
            try past("dot-\(name)", spec, expect, base, "A value's dot \(what).", isOpen: true, moved(dot))
        }
        let row = try Self.row(CausalBases.first, siblings)
        try past(
            "dot-of-sibling-not-seen", "R-6.7", .structureInvalid, siblings,
            "A sibling's dot is greater by 1 than its row, and less than the clock."
        ) { past in
            var more = past.siblings[0]
            more.dot = StoredDot(row + 1, 1)
            past.siblings.append(more)
        }
    }

    /// The order of values.
    private mutating func addPastOrders(_ bases: Bases) throws {
        let (changed, siblings) = (bases.causal.changed, bases.causal.siblings)
        func swapped(_ name: String, _ base: Base, _ comment: String, _ choose: @escaping (RawPast) -> (Int, Int))
            throws
        {
            try past(
                "values-\(name)", "R-5.27", .structureInvalid, base, comment,
                raw: { raw in
                    let (first, second) = choose(raw)
                    raw.values.swapAt(first, second)
                    // Bitmaps follow their values.
                    for index in raw.siblings.indices {
                        raw.siblings[index].fields.swapBits(first, second)
                        raw.siblings[index].earlier.swapBits(first, second)
                    }
                })
        }
        try swapped("kind-order", changed, "An attribute before a secret.") { _ in (1, 2) }
        try swapped("dot-order", changed, "Two secrets in descending order of their dots.") { _ in (0, 1) }
        try swapped("name-order", siblings, "Two attributes in descending order of their names.") { raw in
            let first = raw.values.firstIndex { $0.kind == 1 } ?? 0
            return (first, first + 1)
        }
        try past(
            "values-twice", "R-5.27", .structureInvalid, changed, "One value twice.",
            raw: {
                $0.values.insert($0.values[0], at: 0)
            })
    }

    // MARK: flags

    private mutating func addPastFlags(_ bases: Bases) throws {
        let (changed, siblings) = (bases.causal.changed, bases.causal.siblings)
        func flags(
            _ name: String, _ spec: String, _ comment: String, _ value: UInt8, at index: Int = 0, of base: Base? = nil,
            without: Bool = false
        ) throws {
            try past(
                "flags-\(name)", spec, .structureInvalid, base ?? changed, comment,
                raw: {
                    $0.values[index].flags = value
                    if without { $0.values[index].rest = [] }
                })
        }
        try flags("0", "R-5.28", "A value without flags, where no sibling is listed.", 0)
        try flags("16", "R-1.2", "Flag 10, which is reserved.", 0x12)
        try flags("128", "R-1.2", "Flag 80, which is reserved.", 0x82)
        try flags("02-04", "R-5.28", "Flags 02 and 04.", 6, without: true)
        try flags("02-08", "R-5.28", "Flags 02 and 08.", 10, without: true)
        try flags("04-08", "R-5.28", "Flags 04 and 08, and 01.", 13, without: true)
        try flags("08-closed", "R-5.28", "Flag 08 alone, where no sibling is listed.", 8, without: true)
        try past(
            "shown-without-siblings", "R-5.28", .structureInvalid, changed, "Flag 04, where no sibling is listed.",
            raw: {
                $0.values[0].flags = 5
                $0.values[0].rest = []
            })
        try past(
            "open-and-earlier", "R-5.28", .success, changed, "A secret that is open and an earlier value.", isOpen: true
        ) {
            $0.values[0].flags = [.open, .earlier]
            $0.values[0].replaced = 0
        }
        try past(
            "open-forgotten", "R-5.28, R-6.19", .structureInvalid, changed,
            "An open secret is forgotten, and not listed.", isOpen: true
        ) {
            $0.values[0].flags = [.open, .forgotten]
        }
        let dot = try changed.forge().readPast().values[1].dot
        let others: [(String, String, Past.Value)] = [
            (
                "plain", "a plain attribute",
                Past.Value(kind: .attribute, name: Array("tags".utf8), dot: dot, flags: [], content: .attribute([1]))
            ),
            ("key", "a key", Past.Value(kind: .key, dot: dot, flags: [], content: .key(CausalBases.c))),
            (
                "place", "a place",
                Past.Value(
                    kind: .place, dot: dot, flags: [],
                    content: .place(.init(group: [], accessibility: 2, device: .zero)))
            ),
        ]
        for (name, what, value) in others {
            for (word, flags, expect, spec) in [
                ("earlier", .earlier, .structureInvalid, "R-5.28"),
                ("forgotten", [.forgotten, .open], .structureInvalid, "R-5.28"),
                ("open", .open, .success, "R-5.28, R-5.30"),
            ] as [(String, Past.Flags, Verdict, String)] {
                try past(
                    "\(word)-\(name)", spec, expect, changed, "The value of \(what) is \(word).",
                    isOpen: expect == .success
                ) { past in
                    var value = value
                    value.flags = flags
                    past.values.append(value)
                }
            }
        }
        try past(
            "value-of-entry", "R-5.28", .structureInvalid, changed,
            "An earlier secret has the dot of the one in the entry."
        ) { past in past.values[1].dot = try Self.shownSecret(changed) }
        try past(
            "earlier-flag-with-siblings", "R-5.29", .structureInvalid, siblings,
            "A secret is an earlier value of no sibling, where some are listed."
        ) { past in past.values[try past.index(.secret)].flags = .earlier }
    }

    /// The dot of the secret of the first item.
    static func shownSecret(_ base: Base) throws -> StoredDot {
        let entries = try PageEntry.all(try base.forge().rootBody(), at: 0)
        guard let item = ForgedItem(entries[0].value) else { throw ForgeError("no item") }
        return item.entry.dot(of: FieldSet.secret)
    }

    // MARK: limits

    private mutating func addPastLimits(_ bases: Bases) throws {
        func many(_ count: Int, limit: Int) throws -> Base {
            try Bases.base("many earlier \(count) \(limit)") { draft in
                draft.ring.keeping.count = limit
                try draft.add(Bases.ann, "0")
                for index in 1...count { try draft.set(Bases.ann, "\(index)") }
                try draft.commit()
            }
        }
        try vault("past-50-secrets", "R-5.28, R-11.1", .success, try many(50, limit: 50), "50 earlier secrets.")
        try vault("past-1-secret", "R-5.28", .success, try many(1, limit: 50), "One earlier secret.")
        try vault(
            "past-oldest-gone", "R-6.26", .success, try many(4, limit: 2),
            "Four changes and a setting of 2: the oldest values are gone.")
        try vault("past-none", "R-6.26", .success, try many(1, limit: 0), "A change and a setting of 0: no past.")
        for (count, expect) in [(4096, Verdict.success), (4097, .structureInvalid)] {
            try forged(
                "past-values-\(count)", "R-11.1", expect, bases.causal.changed,
                "\(count) earlier values of one attribute, in one record."
            ) { forge in
                try forge.onNamedPast({ past, _ in
                    let notes = past.values[try past.index(.attribute, "notes")]
                    past.values = (1...UInt64(count)).map { revision in
                        var value = notes
                        value.dot = StoredDot(revision, 1)
                        return value
                    }
                })
                // More than 32 KiB were appended.
                forge.onBody(try forge.last(.commit)) { body, _ in body[80] = 1 }
            }
        }
    }
}

extension NamedPast {
    /// What lists an item with a single sibling and no attributes.
    static func of(_ entry: ItemEntry) -> NamedPast {
        let dots = [FieldSet.key, FieldSet.place, FieldSet.secret].map { entry.dot(of: $0) }
        let values = zip([FieldKind.key, .place, .secret], dots).map {
            Past.Value(kind: $0, dot: $1, flags: [.shown, .open])
        }
        let sibling = DraftSibling(
            dot: entry.dot, created: entry.created, modified: entry.modified, fields: values.map(\.draftName))
        return NamedPast(item: entry.id, values: values, siblings: [sibling])
    }
}

extension [UInt8] {
    fileprivate mutating func swapBits(_ first: Int, _ second: Int) {
        func bit(_ index: Int) -> UInt8 { self[index / 8] >> UInt8(index % 8) & 1 }
        guard bit(first) != bit(second) else { return }
        for index in [first, second] { self[index / 8] ^= 1 << UInt8(index % 8) }
    }
}
