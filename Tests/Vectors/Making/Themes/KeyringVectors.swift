internal import TestSupport
internal import VaultBytes

/// Keyrings: the setting of earlier values, devices, groups, compartments, removed slots, extensions (section 5.4).
extension Collection {
    mutating func addKeyrings(_ bases: Bases) throws {
        folder = "keyrings"
        try addKeyringFrames(bases)
        try addKeyringRules(bases)
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
        for type in ["vPAG", "vHIS", "vKEX"] {
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

    private mutating func ring(
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
            $0.groups.append($0.groups[0].with(number: 1 << 62, name: "K\u{E4}se"))
            $0.groups.append($0.groups[0].with(number: 1 << 62 + 1, name: "Ka\u{308}se"))
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
                "owners-accessibility-\(value)", "R-5.14", .structureInvalid, bases.versions,
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
        try ring("devices-twice", "R-5.14", .structureInvalid, device, "A device that is listed twice.") {
            $0.devices.append($0.devices[0])
        }
        try ring(
            "devices-twice-apart", "R-5.14", .structureInvalid, device,
            "The first and the last of three devices are one."
        ) {
            $0.devices += [Base.otherDevice, $0.devices[0]]
        }
        try ring("device-zero", "R-5.14", .structureInvalid, device, "A device whose id is zeros.") {
            $0.devices.append(.zero)
        }
        try ring("device-more", "R-5.15", .success, device, "A device that nothing refers to.") {
            $0.devices.append(Base.otherDevice)
        }
        try ring(
            "device-gone", "R-6.7", .structureInvalid, device,
            "The device that an entry refers to is gone from the list."
        ) {
            $0.devices = []
        }
        try ring("keep-50", "R-11.1", .success, one, "A setting of 50 earlier values.") {
            $0.keeping = .init(count: 50, revision: 1)
        }
        try ring("keep-51", "R-11.1", .structureInvalid, one, "A setting of 51 earlier values.") {
            $0.keeping = .init(count: 51, revision: 1)
        }
        try ring("keep-255", "R-11.1", .structureInvalid, one, "A setting of 255 earlier values.") {
            $0.keeping = .init(count: 255, revision: 1)
        }
        try ring(
            "keep-fewer", "R-6.10", .success, bases.versions,
            "A setting of 1 earlier value, and an item that has three: a reader accepts that."
        ) { $0.keeping.count = 1 }
        try ring("keep-clock", "R-6.8", .success, one, "The setting's revision is the commit's clock.") {
            $0.keeping = .init(count: 1, revision: Draft.clock + 2)
        }
        try ring(
            "keep-future", "R-6.8", .structureInvalid, one, "The setting's revision is greater than the commit's clock."
        ) {
            $0.keeping = .init(count: 1, revision: Draft.clock + 3)
        }
        try ring("keep-2-63", "R-6.8", .structureInvalid, one, "The setting's revision is 2^63.") {
            $0.keeping = .init(count: 1, revision: 1 << 63)
        }
        try ring("keep-device", "R-5.14", .success, one, "The setting was made by a device that is not listed.") {
            $0.keeping = .init(count: 1, revision: 1, device: Base.otherDevice)
        }
        try addRemovedSlots(bases)
    }

    private mutating func addRemovedSlots(_ bases: Bases) throws {
        func id(_ number: UInt64) -> Bytes16 { Bytes16(high: 0x5107, low: number) }
        let one = bases.one
        try ring("removed-slots", "R-7.18", .success, one, "Two removed slots.") {
            $0.removedSlots = [.init(id: id(1), revision: 1), .init(id: id(2), revision: Draft.clock)]
        }
        try ring("removed-slots-order", "R-5.14", .structureInvalid, one, "Removed slots in descending order.") {
            $0.removedSlots = [.init(id: id(2), revision: 1), .init(id: id(1), revision: 1)]
        }
        try ring("removed-slots-twice", "R-5.14", .structureInvalid, one, "One removed slot twice.") {
            $0.removedSlots = [.init(id: id(1), revision: 1), .init(id: id(1), revision: 2)]
        }
        let present = try one.forge().header.slots[0].id
        try ring("removed-slot-present", "R-5.14", .structureInvalid, one, "A removed slot is in the header.") {
            $0.removedSlots = [.init(id: present, revision: 1)]
        }
        try ring("removed-slot-zero", "R-5.14", .success, one, "A removed slot whose id is zeros.") {
            $0.removedSlots = [.init(id: .zero, revision: 1)]
        }
        try ring("removed-slot-revision-0", "R-6.8", .structureInvalid, one, "The removal of a slot has revision 0.") {
            $0.removedSlots = [.init(id: id(1), revision: 0)]
        }
        try ring(
            "removed-slot-clock", "R-6.8", .success, one,
            "The removal of a slot has the commit's clock as its revision."
        ) {
            $0.removedSlots = [.init(id: id(1), revision: Draft.clock + 2)]
        }
        try ring(
            "removed-slot-future", "R-6.8", .structureInvalid, one,
            "The removal of a slot has a revision greater than the commit's clock."
        ) { $0.removedSlots = [.init(id: id(1), revision: Draft.clock + 3)] }
        let many = (0..<257 as Range<UInt64>).map { Keyring.RemovedSlot(id: id($0), revision: 1) }
        try ring("removed-slots-256", "R-11.1", .success, one, "256 removed slots, the most.") {
            $0.removedSlots = Array(many.dropLast())
        }
        try ring("removed-slots-257", "R-11.1", .structureInvalid, one, "257 removed slots.") { $0.removedSlots = many }
    }

    // MARK: bodies

    private mutating func addKeyringBodies(_ bases: Bases) throws {
        // The keyring of `empty`: lists of no elements, from byte 25 on.
        let bodies: [(String, String, Verdict, String, (inout [UInt8]) -> Void)] = [
            ("padding", "R-1.2", .structureInvalid, "A byte of its padding is 1.", { $0[$0.count - 1] = 1 }),
            ("padding-first", "R-1.2", .structureInvalid, "The first byte of its padding is 1.", { $0[31] = 1 }),
            ("longer", "R-5.11", .structureInvalid, "256 bytes of padding too many.", { $0 += [0].times(256) }),
            (
                "varint-long", "R-1.1", .structureInvalid, "The number of devices is written with a byte too many.",
                { $0.exchange(25, 1, [0x80, 0]) }
            ),
            (
                "varint-10-bytes-wrapping", "R-1.1", .structureInvalid,
                "The number of devices is a varint of ten bytes, 0 in its lower 64 bits.",
                { $0.exchange(25, 1, [0x80].times(9) + [2]) }
            ),
            ("devices-past-end", "R-2.2", .structureInvalid, "More devices than it has room for.", { $0[25] = 100 }),
            (
                "devices-1025-counted", "R-2.2, R-11.1", .structureInvalid, "It counts 1025 devices.",
                { $0.exchange(25, 1, [0x81, 8]) }
            ),
            (
                "devices-2-62", "R-2.2, R-11.1", .structureInvalid, "It counts 2^62 devices.",
                { $0.exchange(25, 1, [0x80].times(8) + [0x40]) }
            ),
            (
                "groups-1025-counted", "R-2.2, R-11.1", .structureInvalid, "It counts 1025 groups.",
                { $0.exchange(26, 1, [0x81, 8]) }
            ),
            (
                "groups-past-end", "R-2.2", .structureInvalid, "It counts a group that it has no room for.",
                { $0[26] = 2 }
            ),
            (
                "compartments-8193-counted", "R-2.2, R-11.1", .structureInvalid, "It counts 8193 compartments.",
                { $0.exchange(27, 1, [0x81, 0x40]) }
            ),
            (
                "compartments-past-end", "R-2.2", .structureInvalid, "It counts three compartments, and has zeros.",
                { $0[27] = 3 }
            ),
            (
                "removed-slots-past-end", "R-2.2", .structureInvalid,
                "It counts ten removed slots, and has room for seven.", { $0[28] = 10 }
            ),
            (
                "hand-overs-past-end", "R-2.2", .structureInvalid, "It counts two hand-overs, and has room for one.",
                { $0[29] = 2 }
            ),
            ("hand-overs-17-counted", "R-2.2, R-11.1", .structureInvalid, "It counts 17 hand-overs.", { $0[29] = 17 }),
            (
                "hand-over-zero", "R-11.1", .structureInvalid, "A hand-over of zeros: its generation is 0.",
                { $0[29] = 1 }
            ),
            (
                "hand-over-2-63", "R-11.1", .structureInvalid, "A hand-over of generation 2^63.",
                {
                    $0[29] = 1; $0.put(u64: 1 << 63, at: 62)
                }
            ),
            (
                "hand-over-not-valid", "R-7.8", .success,
                "A hand-over of generation 1 and zeros: it is not valid, and hurts nobody.",
                {
                    $0[29] = 1; $0[62] = 1
                }
            ),
            (
                "extensions-past-end", "R-2.2", .structureInvalid, "It counts an extension, and has zeros.",
                { $0[30] = 1 }
            ),
        ]
        for (name, spec, expect, comment, edit) in bodies {
            try forged("keyring-\(name)", spec, expect, bases.empty, comment) {
                $0.onBody(try $0.last(.keyring)) { body, _ in edit(&body) }
            }
        }
        try forged("keyring-group-name-utf8", "R-1.4", .structureInvalid, bases.scoped, "A group's name is not UTF-8.")
        {
            $0.onBody(try $0.last(.keyring)) { body, _ in body[25 + 2 + 8 + 1] = 0xFF }
        }
        try forged(
            "keyring-group-name-surrogate", "R-1.4", .structureInvalid, bases.one,
            "A group's name is an encoded surrogate."
        ) {
            $0.onBody(try $0.last(.keyring)) { body, _ in
                body[35] = 3
                body.exchange(36, 0, [0xED, 0xA0, 0x80])
            }
        }
        try forged(
            "keyring-group-name-length-long", "R-1.1", .structureInvalid, bases.one,
            "The length of a group's name is written with a byte too many."
        ) {
            $0.onBody(try $0.last(.keyring)) { body, _ in body.exchange(35, 1, [0x80, 0]) }
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
            $0.onBody(try $0.last(.keyring)) { body, _ in body.put([1, 4, 1, 97, 0, 0], at: 30) }
        }
        try forged(
            "keyring-extension-critical-malformed", "R-3.23, R-5.14", .structureInvalid, bases.empty,
            "A critical extension, and padding that is not zero: the keyring is wrong first."
        ) {
            $0.onBody(try $0.last(.keyring)) { body, _ in
                body.put([1, 1, 1, 97, 0, 0], at: 30)
                body[200] = 1
            }
        }
    }

    /// A critical extension is told after what the keyring alone shows, and before what header and commit show.
    private mutating func addCriticalAndMore(_ bases: Bases) throws {
        let present = try bases.one.forge().header.slots[0].id
        let id = Bytes16(high: 0x5107, low: 1)
        let cases: [(String, String, Verdict, String, (inout Keyring) -> Void)] = [
            (
                "removal-revision-0", "R-5.14", .structureInvalid, "a removal with revision 0",
                { $0.removedSlots = [.init(id: id, revision: 0)] }
            ),
            (
                "removal-2-63", "R-5.14, R-11.1", .structureInvalid, "a removal with revision 2^63",
                { $0.removedSlots = [.init(id: id, revision: 1 << 63)] }
            ),
            (
                "setting-2-63", "R-5.14, R-11.1", .structureInvalid, "a setting with revision 2^63",
                { $0.keeping.revision = 1 << 63 }
            ),
            (
                "removed-slot-present", "R-5.14", .unsupportedCritical, "a removed slot that is in the header",
                { $0.removedSlots = [.init(id: present, revision: 1)] }
            ),
            (
                "removal-future", "R-6.8", .unsupportedCritical, "a removal with a revision beyond the clock",
                { $0.removedSlots = [.init(id: id, revision: Draft.clock + 1000)] }
            ),
            (
                "setting-future", "R-6.8", .unsupportedCritical, "a setting with a revision beyond the clock",
                { $0.keeping.revision = Draft.clock + 1000 }
            ),
        ]
        for (name, spec, expect, what, edit) in cases {
            try ring(
                "extension-critical-and-\(name)", "R-3.23, \(spec)", expect, bases.one,
                "A critical extension in the keyring, and \(what)."
            ) { ring in
                ring.extensions = [Extension(name: "a", isCritical: true, value: [])]
                edit(&ring)
            }
        }
    }

    // MARK: wrapped keys

    private mutating func addWrappedKeys(_ bases: Bases) throws {
        let (one, scoped) = (bases.one, bases.scoped)
        try ring(
            "group-key-tag", "R-3.14", .authenticationFailed, one,
            "A group's key does not open: its secrets do not, and nothing else."
        ) { $0.groups[0].wrapped.flip(71) }
        try ring(
            "group-key-tag-seen-by-scoped", "R-3.14", .success, scoped,
            "The groups' keys do not open: a scoped slot has its own.",
            request: .raw(Base.scopedKey)
        ) {
            for index in $0.groups.indices { $0.groups[index].wrapped.flip(71) }
        }
        try ring(
            "group-keys-swapped", "R-3.14, R-4.1", .authenticationFailed, scoped,
            "Two groups' keys are in each other's place."
        ) {
            ($0.groups[0].wrapped, $0.groups[1].wrapped) = ($0.groups[1].wrapped, $0.groups[0].wrapped)
        }
        try wrapped("group-key-number", one, "A group's key is bound to another number.") { forge, ring in
            ring.groups[0].wrapped = Plain.seal(
                forge.groups[ring.groups[0].number] ?? [], key: forge.keyring, nonce: [1].times(24),
                bound: Bindings.group(forge.vault, ring.groups[0].number ^ 2, []))
        }
        try wrapped("group-key-name", one, "A group's key is bound to another name.") { forge, ring in
            ring.groups[0].wrapped = Plain.seal(
                forge.groups[ring.groups[0].number] ?? [], key: forge.keyring, nonce: [1].times(24),
                bound: Bindings.group(forge.vault, ring.groups[0].number, [120]))
        }
        try wrapped("group-key-under-index-key", one, "A group's key is wrapped under the index key.") { forge, ring in
            ring.groups[0].wrapped = Plain.seal(
                forge.groups[ring.groups[0].number] ?? [], key: forge.index, nonce: [1].times(24),
                bound: Bindings.group(forge.vault, ring.groups[0].number, []))
        }
        try ring(
            "compartment-key-tag", "R-3.14", .authenticationFailed, one,
            "A compartment's key does not open: its secrets do not, and nothing else."
        ) { $0.compartments[0].wrapped.flip(71) }
        try ring(
            "compartment-key-tag-one-of-two", "R-3.14", .authenticationFailed, scoped,
            "One of two compartments' keys does not open: the other one's secret is released."
        ) { $0.compartments[1].wrapped.flip(71) }
        try ring(
            "compartment-keys-swapped", "R-4.1", .authenticationFailed, scoped,
            "Two compartments' keys are in each other's place."
        ) {
            ($0.compartments[0].wrapped, $0.compartments[1].wrapped) = (
                $0.compartments[1].wrapped, $0.compartments[0].wrapped
            )
        }
        let others: [(String, String, (Keyring.Compartment) -> Keyring.Compartment)] = [
            ("number", "another number", { $0.with(number: $0.number ^ 2) }),
            ("group", "another group", { $0.with(group: $0.group ^ 2) }),
            ("accessibility", "another accessibility", { $0.with(accessibility: 2) }),
            (
                "device", "a device",
                {
                    Keyring.Compartment(
                        number: $0.number, group: $0.group, accessibility: $0.accessibility, device: Base.device,
                        wrapped: [])
                }
            ),
        ]
        for (name, what, change) in others {
            try wrapped("compartment-key-\(name)", one, "A compartment's key is bound to \(what).") { keys, ring in
                let info = ring.compartments[0]
                ring.compartments[0].wrapped = Plain.seal(
                    keys.compartments[info.number] ?? [], key: keys.group(info.group) ?? [], nonce: [2].times(24),
                    bound: Bindings.compartment(keys.vault, change(info)))
            }
        }
        try wrapped(
            "compartment-key-fields", one, "A compartment's group comes before its number in its associated data."
        ) { keys, ring in
            let info = ring.compartments[0]
            var bound = Bindings.label("vaultfmt-1 compartment", keys.vault)
            bound.append(u64: info.group)
            bound.append(u64: info.number)
            bound += [info.accessibility] + [0].times(16)
            ring.compartments[0].wrapped = Plain.seal(
                keys.compartments[info.number] ?? [], key: keys.group(info.group) ?? [], nonce: [2].times(24),
                bound: bound)
        }
        try wrapped("compartment-key-other", one, "A compartment has another key than its record was sealed under.") {
            keys, ring in
            let info = ring.compartments[0]
            ring.compartments[0].wrapped = Plain.seal(
                [9].times(32), key: keys.group(info.group) ?? [], nonce: [2].times(24),
                bound: Bindings.compartment(keys.vault, info))
        }
        try wrapped(
            "owners-key-other", bases.versions,
            "A compartment of group 0 is wrapped under the keyring key: earlier values do not open."
        ) { keys, ring in
            for index in ring.compartments.indices where ring.compartments[index].group == 0 {
                let info = ring.compartments[index]
                ring.compartments[index].wrapped = Plain.seal(
                    keys.compartments[info.number] ?? [], key: keys.keyring, nonce: [2].times(24),
                    bound: Bindings.compartment(keys.vault, info))
            }
        }
    }

    /// A key that is wrapped wrongly: the secrets under it do not open.
    private mutating func wrapped(
        _ name: String, _ base: Base, _ comment: String, _ edit: @escaping (ForgeKeys, inout Keyring) -> Void
    )
        throws
    {
        try forged("keyring-\(name)", "R-3.14, R-4.1", .authenticationFailed, base, comment) { forge in
            let keys = forge.keys
            forge.onKeyring(try forge.last(.keyring)) { edit(keys, &$0) }
        }
    }

    private mutating func addDeviceKeys(_ bases: Bases) throws {
        let device = bases.device
        var request = ReadRequest.raw(Base.key)
        request.device = (Base.device.bytes, [9].times(32))
        try vault(
            "device-wrong-secret", "R-5.14", .deviceBound, device,
            "The device's secret is another one: its items are refused, and nothing is damaged.", request: request)
        request.device = (Base.otherDevice.bytes, Base.deviceSecret)
        try vault(
            "device-wrong-id", "R-5.14", .deviceBound, device, "The right secret, for another device.", request: request
        )
        func bound(
            _ name: String, _ expect: Verdict, _ comment: String, absent: Bool = false,
            _ edit: @escaping (ForgeKeys, inout Keyring.Compartment) throws -> Void
        ) throws {
            try forged(
                "device-\(name)", "R-3.14, R-5.14", expect, device, comment, request: absent ? .raw(Base.key) : nil
            ) { forge in
                let keys = forge.keys
                forge.onKeyring(try forge.last(.keyring)) { ring in
                    for index in ring.compartments.indices where ring.compartments[index].isDeviceBound {
                        try edit(keys, &ring.compartments[index])
                    }
                }
            }
        }
        try bound("outer-tag", .authenticationFailed, "The outer layer of a device's compartment does not open.") {
            $1.wrapped.flip(100)
        }
        try bound(
            "outer-tag-absent", .authenticationFailed, "The same without the device: the outer layer shows it.",
            absent: true
        ) {
            $1.wrapped.flip(100)
        }
        func inner(_ change: @escaping (ForgeKeys, Keyring.Compartment) -> [UInt8]) -> (
            ForgeKeys, inout Keyring.Compartment
        ) throws -> Void {
            { keys, info in
                info.wrapped = Plain.seal(
                    change(keys, info), key: keys.group(info.group) ?? [], nonce: [2].times(24),
                    bound: Bindings.compartment(keys.vault, info))
            }
        }
        func sealed(_ keys: ForgeKeys, _ info: Keyring.Compartment, bound: [UInt8]) -> [UInt8] {
            Plain.seal(
                keys.compartments[info.number] ?? [], key: keys.deviceKey(info.device) ?? [], nonce: [3].times(24),
                bound: bound)
        }
        try bound(
            "inner-tag", .deviceBound,
            "The inner layer does not open with the device's secret: that is said as if it were absent.",
            inner { keys, info in
                var out = sealed(keys, info, bound: Bindings.deviceCompartment(keys.vault, info))
                out.flip(70)
                return out
            })
        try bound(
            "inner-with-group", .deviceBound, "The inner layer is bound to the group, too.",
            inner { keys, info in sealed(keys, info, bound: Bindings.compartment(keys.vault, info)) })
        try bound(
            "inner-other-number", .deviceBound, "The inner layer is bound to another number.",
            inner { keys, info in
                sealed(keys, info, bound: Bindings.deviceCompartment(keys.vault, info.with(number: info.number ^ 2)))
            })
        try bound(
            "inner-other-accessibility", .deviceBound, "The inner layer is bound to another accessibility.",
            inner { keys, info in
                sealed(keys, info, bound: Bindings.deviceCompartment(keys.vault, info.with(accessibility: 6)))
            })
        try bound(
            "inner-again", .success, "The inner layer was made again: it is bound to number, accessibility and device.",
            inner { keys, info in
                sealed(keys, info, bound: Bindings.deviceCompartment(keys.vault, info))
            })
        for accessibility in [4, 6, 7] as [UInt8] {
            let base = try Bases.base("device accessibility \(accessibility)", device: true) { draft in
                try draft.add(Bases.ann, Array("bound".utf8), accessibility: accessibility, device: Base.device)
                try draft.commit()
            }
            try vault(
                "device-accessibility-\(accessibility)", "R-5.14", .success, base,
                "Accessibility \(accessibility), on its device.")
            try vault(
                "device-accessibility-\(accessibility)-absent", "R-5.14", .deviceBound, base,
                "Accessibility \(accessibility), without its device.", request: .raw(Base.key))
        }
        let earlier = try Bases.base("device versions", device: true) { draft in
            draft.ring.keeping.count = 3
            try draft.add(Bases.ann, Array("first".utf8), accessibility: 5, device: Base.device)
            try draft.commit()
            try draft.set(Bases.ann, Array("second".utf8))
            try draft.commit()
        }
        try vault(
            "device-versions", "R-6.10", .success, earlier,
            "An item of a device and an earlier value under group 0 and that device.")
        try vault(
            "device-versions-absent", "R-6.10", .deviceBound, earlier, "The same without the device.",
            request: .raw(Base.key))
    }

    // MARK: limits

    private mutating func addKeyringLimits(_ bases: Bases) throws {
        let ids = (1...1025 as ClosedRange<UInt64>).map { Bytes16(high: 0xDE7, low: $0) }
        try ring("1024-devices", "R-11.1", .success, bases.one, "1024 devices.") { $0.devices = Array(ids.dropLast()) }
        try ring("1025-devices", "R-11.1", .structureInvalid, bases.one, "1025 devices.") { $0.devices = ids }
        func groups(_ ring: Keyring, _ count: Int) -> [Keyring.Group] {
            ring.groups + (1..<UInt64(count)).map { ring.groups[0].with(number: 1 << 63 - 2000 + $0, name: "g\($0)") }
        }
        try ring("1024-groups", "R-11.1", .success, bases.one, "1024 groups.") { $0.groups = groups($0, 1024) }
        try ring("1025-groups", "R-11.1", .structureInvalid, bases.one, "1025 groups.") { $0.groups = groups($0, 1025) }
        func compartments(_ ring: Keyring, _ count: Int) -> [Keyring.Compartment] {
            ring.compartments + (1..<UInt64(count)).map { ring.compartments[0].with(number: 1 << 63 - 9000 + $0) }
        }
        try ring("8192-compartments", "R-11.1", .success, bases.one, "8192 compartments.") {
            $0.compartments = compartments($0, 8192)
        }
        try ring("8193-compartments", "R-11.1", .structureInvalid, bases.one, "8193 compartments.") {
            $0.compartments = compartments($0, 8193)
        }
        let name = String(repeating: "g", count: 4096)
        try ring("group-name-4096", "R-11.1", .success, bases.one, "A group's name of 4096 bytes.") {
            $0.groups.append($0.groups[0].with(number: 1 << 63 - 1, name: name))
        }
        try ring("group-name-4097", "R-11.1", .structureInvalid, bases.one, "A group's name of 4097 bytes.") {
            $0.groups.append($0.groups[0].with(number: 1 << 63 - 1, name: name + "g"))
        }
    }
}

/// A keyring's bytes, whatever it has: put together from section 5.4.
enum RawKeyring {
    static func encode(_ ring: Keyring) -> [UInt8] {
        var out: [UInt8] = [UInt8(ring.keeping.count)]
        out.append(u64: ring.keeping.revision)
        out += ring.keeping.device.bytes
        out.append(varint: UInt64(ring.devices.count))
        out += ring.devices.flatMap(\.bytes)
        out.append(varint: UInt64(ring.groups.count))
        for group in ring.groups {
            out.append(u64: group.number)
            out.append(varint: UInt64(group.name.utf8.count))
            out += Array(group.name.utf8) + group.wrapped
        }
        out.append(varint: UInt64(ring.compartments.count))
        for one in ring.compartments {
            out.append(u64: one.number)
            out.append(u64: one.group)
            out += [one.accessibility] + one.device.bytes + one.wrapped
        }
        out.append(varint: UInt64(ring.removedSlots.count))
        for slot in ring.removedSlots {
            out += slot.id.bytes
            out.append(u64: slot.revision)
        }
        out.append(UInt8(ring.handOvers.count))
        for one in ring.handOvers { one.encode(into: &out) }
        out.append(UInt8(ring.extensions.count))
        for one in ring.extensions { one.encode(into: &out) }
        out.padSteppedBody()
        return out
    }
}

extension Keyring.Group {
    func with(number: UInt64? = nil, name: String? = nil) -> Keyring.Group {
        Keyring.Group(number: number ?? self.number, name: name ?? self.name, wrapped: wrapped)
    }
}

extension Keyring.Compartment {
    func with(number: UInt64? = nil, group: UInt64? = nil, accessibility: UInt8? = nil) -> Keyring.Compartment {
        Keyring.Compartment(
            number: number ?? self.number, group: group ?? self.group,
            accessibility: accessibility ?? self.accessibility, device: device,
            wrapped: wrapped)
    }
}
