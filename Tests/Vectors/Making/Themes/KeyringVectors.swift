internal import TestSupport
internal import VaultBytes

/// Keyrings: groups, compartments, the setting of earlier values, extensions (section 5.4).
extension Collection {
    mutating func addKeyrings(_ bases: Bases) throws {
        folder = "keyrings"
        try addKeyringFrames(bases)
        try addKeyringRules(bases)
        try addSettings(bases)
        try addKeyringDots(bases)
        try addKeyringSlots(bases)
        try addKeyringGrants(bases)
        try addKeyringHandOvers(bases)
        try addKeyringBodies(bases)
        try addKeyringExtensions(bases)
        try addCriticalAndMore(bases)
        try addWrappedKeys(bases)
        try addDeviceKeys(bases)
        try addKeyringLimits(bases)
    }

    private mutating func addKeyringFrames(_ bases: Bases) throws {
        let one = bases.one
        try forged("keyring-tag", "R-1.6", .authenticationFailed, one, "The keyring's tag is wrong.") {
            $0.onSealed(try $0.last(.keyring)) { $0.flip(255) }
        }
        try forged("keyring-bytes", "R-2.3", .authenticationFailed, one, "A bit of the keyring is another one.") {
            $0.onReferenced(try $0.last(.keyring)) { $0.flip(50) }
        }
        for (name, comment, edit) in [
            ("other-offset", "It was sealed for another offset.", { $0.x[1] ^= 1 }),
            ("other-vault", "It was sealed for another vault.", { $0.vault[15] ^= 1 }),
            ("other-label", "It was sealed as a page.", { $0.label = "vaultfmt-1 page" }),
            ("other-key", "It was sealed under another key.", { $0.key[31] ^= 1 }),
            ("without-head", "It was sealed without the frame's first bytes.", { $0.head = [] }),
        ] as [(String, String, (inout SealRecipe) -> Void)] {
            try forged("keyring-sealed-\(name)", "R-4.1", .authenticationFailed, one, comment) {
                $0.onRecipe(try $0.last(.keyring)) { recipe, _ in edit(&recipe) }
            }
        }
        for type in ["vPAG", "vVEC", "vKEX"] {
            try forged(
                "keyring-type-\(type)", "R-2.3", .structureInvalid, one,
                "Its frame says that it is of the type \(type), and was sealed so."
            ) {
                $0.onRecipe(try $0.last(.keyring)) { recipe, _ in
                    recipe.head.put(Array(type.utf8), at: 0)
                    recipe.clearHead = recipe.head
                }
            }
        }
        try forged(
            "keyring-length-in-frame", "R-2.3", .structureInvalid, one, "Its frame says another length than the commit."
        ) {
            $0.onRecipe(try $0.last(.keyring)) { recipe, _ in
                recipe.head.put(u32: 1024, at: 4)
                recipe.clearHead = recipe.head
            }
        }
        try forged("keyring-is-page", "R-2.3", .structureInvalid, one, "The commit names the page as its keyring.") {
            forge in
            let page = try forge.root()
            forge.onCommit(try forge.last(.commit)) { commit, layout in commit.keyring = try layout.ref(page) }
        }
        try forged(
            "keyring-replayed", "R-2.3", .authenticationFailed, one,
            "In place of the keyring is one of another vault, which is as long."
        ) { forge in
            let other = try bases.grown.forge()
            let id = try other.last(.keyring)
            let start = Int(other[id].origin ?? 0)
            let bytes = Array(bases.grown.file[start..<start + other[id].body.count + 48])
            forge.onReferenced(try forge.last(.keyring)) { $0 = bytes }
        }
        try forged(
            "keyring-of-earlier", "R-6.6", .structureInvalid, try Self.twoRings(),
            "The newest commit names the keyring of before: the compartment of its item is not in it."
        ) { forge in
            let old = try forge.first(.keyring)
            forge.onCommit(try forge.last(.commit)) { commit, layout in commit.keyring = try layout.ref(old) }
        }
    }

    private static func twoRings() throws -> Base {
        try Bases.base("two rings") { draft in
            try draft.add(Bases.ann, "s3cret"); try draft.commit()
        }
    }

    mutating func ring(
        _ name: String, _ spec: String, _ expect: Verdict, _ base: Base, _ comment: String, request: ReadRequest? = nil,
        _ edit: @escaping (inout Keyring) throws -> Void
    ) throws {
        try forged("keyring-\(name)", spec, expect, base, comment, request: request) { forge in
            forge.onBody(try forge.last(.keyring)) { body, layout in
                var ring = try Keyring(body.span, at: layout.offset)
                try edit(&ring)
                body = RawKeyring.encode(ring)
            }
        }
    }

    // MARK: rules

    private mutating func addKeyringRules(_ bases: Bases) throws {
        let (one, scoped, device) = (bases.one, bases.scoped, bases.device)
        try ring("group-0", "R-5.14", .structureInvalid, one, "A group with the number 0.") {
            $0.groups = [$0.groups[0].with(number: 0)]
            $0.compartments = []
        }
        try ring("group-2-63", "R-5.14, R-11.1", .structureInvalid, one, "A group with the number 2^63.") {
            $0.groups.append($0.groups[0].with(number: 1 << 63, name: "x"))
        }
        try ring(
            "group-greatest", "R-5.14, R-11.1", .success, one, "A group with the number 2^63 - 1; nothing is in it."
        ) {
            $0.groups.append($0.groups[0].with(number: 1 << 63 - 1, name: "x"))
        }
        try ring("group-1", "R-5.14, R-11.1", .success, one, "A group with the number 1; nothing is in it.") {
            $0.groups.insert($0.groups[0].with(number: 1, name: "x"), at: 0)
        }
        try ring("groups-order", "R-5.14", .structureInvalid, scoped, "Groups in descending order.") {
            $0.groups.reverse()
        }
        try ring("groups-twice", "R-5.14", .structureInvalid, scoped, "Two groups with one number.") {
            $0.groups[1] = $0.groups[1].with(number: $0.groups[0].number)
        }
        try ring("group-names", "R-5.14", .structureInvalid, scoped, "Two groups with one name.") {
            $0.groups[1] = $0.groups[1].with(name: $0.groups[0].name)
        }
        try ring(
            "group-names-apart", "R-5.14", .structureInvalid,
            try Bases.base("three groups") { draft in
                for name in ["a", "b", "c"] { _ = draft.addGroup(name) }
                try draft.commit()
            }, "The first and the last of three groups have one name."
        ) { $0.groups[2] = $0.groups[2].with(name: $0.groups[0].name) }
        try ring(
            "group-names-normal-forms", "R-5.14", .success, one,
            "Two groups whose names only normalising would make equal."
        ) {
            $0.groups.append($0.groups[0].with(number: 1 << 63 - 2, name: "K\u{E4}se"))
            $0.groups.append($0.groups[0].with(number: 1 << 63 - 1, name: "Ka\u{308}se"))
        }
        try ring("group-gone", "R-5.14", .structureInvalid, one, "The group of a compartment is gone.") {
            $0.groups = []
        }
        try ring("compartment-0", "R-5.14", .structureInvalid, one, "A compartment with the number 0.") {
            $0.compartments = [$0.compartments[0].with(number: 0)]
        }
        try ring("compartment-2-63", "R-5.14, R-11.1", .structureInvalid, one, "A compartment with the number 2^63.") {
            $0.compartments.append($0.compartments[0].with(number: 1 << 63))
        }
        try ring(
            "compartment-greatest", "R-5.14, R-11.1", .success, one,
            "A compartment with the number 2^63 - 1; nothing is in it."
        ) {
            $0.compartments.append($0.compartments[0].with(number: 1 << 63 - 1))
        }
        try ring("compartments-order", "R-5.14", .structureInvalid, scoped, "Compartments in descending order.") {
            $0.compartments.reverse()
        }
        try ring("compartments-twice", "R-5.14", .structureInvalid, scoped, "Two compartments with one number.") {
            $0.compartments[1] = $0.compartments[1].with(number: $0.compartments[0].number)
        }
        try ring("compartment-group", "R-5.14", .structureInvalid, one, "A compartment of a group that does not exist.")
        {
            $0.compartments = [$0.compartments[0].with(group: $0.groups[0].number + 1)]
        }
        for value in [0, 8, 255] as [UInt8] {
            try ring("accessibility-\(value)", "R-5.14", .structureInvalid, one, "Accessibility \(value).") {
                $0.compartments = [$0.compartments[0].with(accessibility: value)]
            }
        }
        try ring(
            "accessibility-8-with-device", "R-5.14", .structureInvalid, device,
            "Accessibility 8, with the device that those above 3 have."
        ) { ring in
            ring.compartments = ring.compartments.map { $0.isDeviceBound ? $0.with(accessibility: 8) : $0 }
        }
        for value in [4, 5, 6, 7] as [UInt8] {
            try ring(
                "device-missing-\(value)", "R-5.14", .structureInvalid, one,
                "Accessibility \(value), this device only, without a device."
            ) {
                $0.compartments = [$0.compartments[0].with(accessibility: value)]
            }
        }
        for value in [1, 2, 3] as [UInt8] {
            try ring(
                "device-too-many-\(value)", "R-5.14", .structureInvalid, device, "Accessibility \(value) with a device."
            ) { ring in
                ring.compartments = ring.compartments.map { $0.isDeviceBound ? $0.with(accessibility: value) : $0 }
            }
        }
        for value in [2, 3] as [UInt8] {
            try ring(
                "owners-accessibility-\(value)", "R-5.14", .structureInvalid, bases.kept,
                "A compartment of group 0 with accessibility \(value)."
            ) { ring in
                ring.compartments = ring.compartments.map { $0.group == 0 ? $0.with(accessibility: value) : $0 }
            }
        }
        for value in [4, 6, 7] as [UInt8] {
            try ring(
                "owners-accessibility-\(value)", "R-5.14", .structureInvalid, bases.device,
                "A compartment of group 0 with accessibility \(value) and a device."
            ) { ring in
                ring.compartments = ring.compartments.map {
                    $0.isDeviceBound ? $0.with(group: 0, accessibility: value) : $0
                }
            }
        }
        try ring(
            "owners-device", "R-5.14", .success, bases.device,
            "A compartment of group 0 with accessibility 5 and a device; nothing is in it."
        ) { ring in
            guard let bound = ring.compartments.first(where: \.isDeviceBound) else { return }
            ring.compartments.append(bound.with(number: 1 << 63 - 1, group: 0))
        }
    }

    // MARK: the setting

    private mutating func addSettings(_ bases: Bases) throws {
        let one = bases.one
        for (name, count, expect) in [
            ("50", 50, .success), ("51", 51, .structureInvalid), ("255", 255, .structureInvalid),
        ]
            as [(String, Int, Verdict)]
        {
            try ring("keep-\(name)", "R-11.1", expect, one, "A setting of \(count) earlier values.") {
                $0.keeping.count = count
            }
        }
        try ring(
            "keep-fewer", "R-6.22, R-6.27", .success, bases.kept,
            "A setting of 1 earlier value, and an item that has three: a reader accepts that."
        ) { $0.keeping.count = 1 }
        try vault(
            "keyring-setting-of-creation", "R-6.7", .success, bases.causal.three,
            "The setting of earlier values is that of the vault's creation.")
        var draft = try CausalBases.threeDraft("another setting")
        draft.limit(to: 3)
        try draft.commit()
        try vault(
            "keyring-setting-changed", "R-6.7", .success, Base(file: draft.file),
            "The setting of earlier values was changed: it has a later dot.")
    }

    // MARK: bodies

    private mutating func addKeyringBodies(_ bases: Bases) throws {
        // The keyring of `empty`: two dots, no groups (19), no compartments (20), a slot (21 to 56), no hand-overs (57)
        // and no extensions (58).
        let bodies: [(String, String, Verdict, String, (inout [UInt8]) -> Void)] = [
            ("padding", "R-1.2", .structureInvalid, "A byte of its padding is 1.", { $0[$0.count - 1] = 1 }),
            ("padding-first", "R-1.2", .structureInvalid, "The first byte of its padding is 1.", { $0[59] = 1 }),
            ("longer", "R-5.11", .structureInvalid, "256 bytes of padding too many.", { $0 += [0].times(256) }),
            (
                "varint-long", "R-1.1", .structureInvalid, "The number of groups is written with a byte too many.",
                { $0.exchange(19, 1, [0x80, 0]) }
            ),
            (
                "varint-10-bytes-wrapping", "R-1.1", .structureInvalid,
                "The number of groups is a varint of ten bytes, 0 in its lower 64 bits.",
                { $0.exchange(19, 1, [0x80].times(9) + [2]) }
            ),
            (
                "groups-2-62", "R-2.2, R-11.1", .structureInvalid, "It counts 2^62 groups.",
                { $0.exchange(19, 1, [0x80].times(8) + [0x40]) }
            ),
            (
                "groups-1025-counted", "R-2.2, R-11.1", .structureInvalid, "It counts 1025 groups.",
                { $0.exchange(19, 1, [0x81, 8]) }
            ),
            (
                "groups-past-end", "R-2.2", .structureInvalid, "It counts two groups that it has no room for.",
                { $0[19] = 2 }
            ),
            (
                "compartments-8193-counted", "R-2.2, R-11.1", .structureInvalid, "It counts 8193 compartments.",
                { $0.exchange(20, 1, [0x81, 0x40]) }
            ),
            (
                "compartments-past-end", "R-2.2", .structureInvalid, "It counts three compartments, and has none.",
                { $0[20] = 3 }
            ),
            (
                "slots-65-counted", "R-5.31, R-11.1", .structureInvalid, "It counts 65 slots.", { $0[21] = 65 }
            ),
            (
                "slots-past-end", "R-2.2", .structureInvalid, "It counts ten slots, and has one, and zeros.",
                { $0[21] = 10 }
            ),
            (
                "slots-2-62", "R-2.2, R-11.1", .structureInvalid, "It counts 2^62 slots.",
                { $0.exchange(21, 1, [0x80].times(8) + [0x40]) }
            ),
            (
                "grants-33-counted", "R-5.31, R-11.1", .structureInvalid, "It counts 33 grants of a slot.",
                { $0[56] = 33 }
            ),
            (
                "hand-overs-past-end", "R-2.2", .structureInvalid, "It counts two hand-overs, and has zeros.",
                { $0[57] = 2 }
            ),
            ("hand-overs-17-counted", "R-2.2, R-11.1", .structureInvalid, "It counts 17 hand-overs.", { $0[57] = 17 }),
            (
                "hand-over-zero", "R-5.32", .structureInvalid, "A hand-over of zeros: its two keys are one.",
                { $0[57] = 1 }
            ),
            (
                "extensions-past-end", "R-2.2", .structureInvalid, "It counts an extension, and has zeros.",
                { $0[58] = 1 }
            ),
        ]
        for (name, spec, expect, comment, edit) in bodies {
            try forged("keyring-\(name)", spec, expect, bases.empty, comment) {
                $0.onBody(try $0.last(.keyring)) { body, _ in edit(&body) }
            }
        }
        try forged("keyring-group-name-utf8", "R-1.4", .structureInvalid, bases.scoped, "A group's name is not UTF-8.")
        {
            $0.onBody(try $0.last(.keyring)) { body, _ in body[20 + 8 + 1] = 0xFF }
        }
        try forged(
            "keyring-group-name-surrogate", "R-1.4", .structureInvalid, bases.one,
            "A group's name is an encoded surrogate."
        ) {
            $0.onBody(try $0.last(.keyring)) { body, _ in
                body[28] = 3
                body.exchange(29, 0, [0xED, 0xA0, 0x80])
            }
        }
        try forged(
            "keyring-group-name-length-long", "R-1.1", .structureInvalid, bases.one,
            "The length of a group's name is written with a byte too many."
        ) {
            $0.onBody(try $0.last(.keyring)) { body, _ in body.exchange(28, 1, [0x80, 0]) }
        }
    }

    private mutating func addKeyringExtensions(_ bases: Bases) throws {
        let plain = Extension(name: "example.org/note", isCritical: false, value: [1, 2, 3])
        func extended(_ name: String, _ spec: String, _ expect: Verdict, _ comment: String, _ all: [Extension]) throws {
            try ring(name, spec, expect, bases.one, comment) { $0.extensions = all }
        }
        try extended(
            "extension", "R-3.23, R-3.25", .success, "An unknown extension in the keyring that is not critical.",
            [plain])
        try extended(
            "extension-read-only", "R-3.24, R-5.4", .success,
            "An unknown extension with flag 2: it keeps writers away, not readers.",
            [Extension(name: "a", isCritical: false, isReadOnly: true, value: [])])
        try extended(
            "extension-critical", "R-3.23", .unsupportedCritical, "An unknown critical extension in the keyring.",
            [Extension(name: "a", isCritical: true, value: [])])
        try extended(
            "extension-critical-second", "R-3.23", .unsupportedCritical, "A critical extension after one that is not.",
            [plain, Extension(name: "example.org/other", isCritical: true, value: [])])
        try extended(
            "extension-order", "R-3.22", .structureInvalid, "Extensions out of order.",
            [plain, Extension(name: "example.org/a", isCritical: false, value: [])])
        try extended("extension-twice", "R-3.22", .structureInvalid, "One extension twice.", [plain, plain])
        try extended(
            "extension-most", "R-11.1", .success, "16 extensions, one with a value of 4096 bytes.",
            (0..<16).map {
                Extension(
                    name: "a\(UnicodeScalar(UInt8(97 + $0)))", isCritical: false, value: $0 == 3 ? [7].times(4096) : [])
            })
        try extended(
            "extensions-17", "R-11.1", .structureInvalid, "17 extensions.",
            (0..<17).map { Extension(name: "a\(UnicodeScalar(UInt8(97 + $0)))", isCritical: false, value: []) })
        try extended(
            "extension-value-4097", "R-11.1", .structureInvalid, "An extension's value of 4097 bytes.",
            [Extension(name: "a", isCritical: false, value: [7].times(4097))])
        try extended(
            "extension-name-64", "R-11.1", .success, "An extension's name of 64 bytes.",
            [Extension(name: String(repeating: "n", count: 64), isCritical: false, value: [])])
        try extended(
            "extension-name-65", "R-11.1", .structureInvalid, "An extension's name of 65 bytes.",
            [Extension(name: String(repeating: "n", count: 65), isCritical: false, value: [])])
        try extended(
            "extension-name-empty", "R-11.1", .structureInvalid, "An extension without a name.",
            [Extension(name: "", isCritical: false, value: [])])
        try extended(
            "extension-name-space", "R-3.22", .structureInvalid, "An extension's name with a space.",
            [Extension(name: "a b", isCritical: false, value: [])])
        try forged("keyring-extension-flags", "R-1.2", .structureInvalid, bases.empty, "An extension with flag 4.") {
            $0.onBody(try $0.last(.keyring)) { body, _ in body.put([1, 4, 1, 97, 0, 0], at: 58) }
        }
        try forged(
            "keyring-extension-critical-malformed", "R-3.23, R-5.14", .structureInvalid, bases.empty,
            "A critical extension, and padding that is not zero: the keyring is wrong first."
        ) {
            $0.onBody(try $0.last(.keyring)) { body, _ in
                body.put([1, 1, 1, 97, 0, 0], at: 58)
                body[200] = 1
            }
        }
    }

    /// A critical extension is told after what the keyring alone shows, and before what header and commit show.
    private mutating func addCriticalAndMore(_ bases: Bases) throws {
        let (one, scoped, rotated) = (bases.one, bases.scoped, bases.causal.restarted)
        let clock = max(try one.clock(), try scoped.clock())
        let cases: [(String, String, Verdict, Base, String, (inout Keyring) -> Void)] = [
            (
                "setting-2-63", "R-5.14, R-11.1", .structureInvalid, one, "a setting with revision 2^63",
                { $0.keeping.dot.revision = 1 << 63 }
            ),
            ("slots-order", "R-5.31", .structureInvalid, scoped, "slots out of order", { $0.slots.reverse() }),
            (
                "hand-overs-order", "R-5.32", .structureInvalid, rotated, "hand-overs out of order",
                { $0.handOvers.insert($0.handOvers[0].with(next: Bytes32([0xFF].times(32)) ?? .zero), at: 0) }
            ),
            (
                "slot-missing", "R-5.31", .unsupportedCritical, scoped, "no slot that the header has",
                { $0.slots.removeLast() }
            ),
            (
                "setting-future", "R-6.8", .unsupportedCritical, one, "a setting with a revision beyond the clock",
                { $0.keeping.dot.revision = clock + 1000 }
            ),
            (
                "setting-position-0", "R-1.10", .unsupportedCritical, one, "a setting whose dot has position 0",
                { $0.keeping.dot.position = 0 }
            ),
            (
                "grant-future", "R-6.8", .unsupportedCritical, scoped, "a grant with a revision beyond the clock",
                { ring in
                    for index in ring.slots.indices {
                        ring.slots[index].grants = ring.slots[index].grants.map {
                            .init(group: $0.group, dot: StoredDot(clock + 1000, 1))
                        }
                    }
                }
            ),
        ]
        for (name, spec, expect, base, what, edit) in cases {
            try ring(
                "extension-critical-and-\(name)", "R-3.23, \(spec)", expect, base,
                "A critical extension in the keyring, and \(what)."
            ) { ring in
                ring.extensions = [Extension(name: "a", isCritical: true, value: [])]
                edit(&ring)
            }
        }
    }
}
