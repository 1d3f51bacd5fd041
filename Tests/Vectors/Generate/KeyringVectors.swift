import VaultBytes
import VaultFmt
import VaultForge

/// Keyrings: groups, compartments and devices (section 5.3).
extension Collection {
    mutating func addKeyrings(_ bases: Bases) throws {
        try addKeyringSeals(bases)
        try addKeyringBodies(bases)
        try addWrappedKeys(bases)
        try addKeyringLimits(bases)
    }

    private mutating func addKeyringSeals(_ bases: Bases) throws {
        try forged(
            "keyring-tag", "R-1.6", .authenticationFailed, bases.one, "The keyring's tag is wrong; the commit names what stands there."
        ) { $0.onSealed(try $0.last(.keyring)) { $0.flip(255) } }
        try forged(
            "keyring-hash", "R-2.3", .authenticationFailed, bases.one,
            "The keyring is not the one that the commit names; the digest is right."
        ) { $0.onReferenced(try $0.last(.keyring)) { $0.flip(50) } }
        for (name, comment, edit) in [
            ("other-offset", "It was sealed for another offset.", { $0.x[1] ^= 1 }),
            ("other-vault", "It was sealed for another vault.", { $0.vault[15] ^= 1 }),
            ("other-label", "It was sealed as a page.", { $0.label = "vaultfmt-1 page" }),
            ("reader-key", "It was sealed under another key.", { $0.key[31] ^= 1 }),
        ] as [(String, String, (inout SealRecipe) -> Void)] {
            try forged("keyring-sealed-\(name)", "R-4.1", .authenticationFailed, bases.one, comment) {
                $0.onRecipe(try $0.last(.keyring)) { recipe, _ in edit(&recipe) }
            }
        }
        try forged(
            "keyring-replayed", "R-2.3", .authenticationFailed, bases.scoped,
            "In place of the keyring stands one of another vault, as long; the digest is right."
        ) { forge in
            let other = try bases.one.forge()
            let id = try other.last(.keyring)
            let start = Int(other[id].origin ?? 0)
            forge.onReferenced(try forge.last(.keyring)) { $0.put(Array(bases.one.file[start..<start + 256]), at: 0) }
        }
        try forged("keyring-is-page", "R-2.3", .structureInvalid, bases.one, "The commit names the page as its keyring.") {
            let page = try $0.root()
            $0.onCommit(try $0.last(.commit)) { commit, layout in commit.keyring = try layout.ref(page) }
        }
    }

    private mutating func addKeyringBodies(_ bases: Bases) throws {
        // The keyring of `scoped`: groups ci and web, a compartment each; that of `device`: one group, two compartments.
        let rings: [(String, String, Base, String, (inout Keyring) throws -> Void)] = [
            (
                "group-0", "R-5.8", bases.one, "A group with the number 0.",
                {
                    $0.groups = [$0.groups[0].with(number: 0)]; $0.compartments = []
                }
            ),
            ("group-next", "R-5.8", bases.one, "A group whose number is the next one.", { $0.nextGroup = $0.groups[0].number }),
            ("groups-order", "R-5.8", bases.scoped, "Groups in descending order.", { $0.groups.reverse() }),
            (
                "groups-twice", "R-5.8", bases.scoped, "Two groups with one number.",
                { $0.groups[1] = $0.groups[1].with(number: $0.groups[0].number) }
            ),
            (
                "group-names", "R-5.8", bases.scoped, "Two groups with one name.",
                { $0.groups[1] = $0.groups[1].with(name: $0.groups[0].name) }
            ),
            (
                "compartment-0", "R-5.8", bases.one, "A compartment with the number 0.",
                { $0.compartments = [$0.compartments[0].with(number: 0)] }
            ),
            (
                "compartment-next", "R-5.8", bases.one, "A compartment whose number is the next one.",
                { $0.nextCompartment = $0.compartments[0].number }
            ),
            ("compartments-order", "R-5.8", bases.scoped, "Compartments in descending order.", { $0.compartments.reverse() }),
            (
                "compartments-twice", "R-5.8", bases.scoped, "Two compartments with one number.",
                { $0.compartments[1] = $0.compartments[1].with(number: $0.compartments[0].number) }
            ),
            (
                "compartments-same", "R-5.8", bases.scoped, "Two compartments for the same group and accessibility.",
                { $0.compartments[1] = $0.compartments[1].with(group: $0.compartments[0].group) }
            ),
            (
                "compartment-group", "R-5.8", bases.one, "A compartment of a group that does not exist.",
                { $0.compartments = [$0.compartments[0].with(group: 99)] }
            ),
            ("accessibility-0", "R-5.8", bases.one, "Accessibility 0.", { $0.compartments = [$0.compartments[0].with(accessibility: 0)] }),
            ("accessibility-8", "R-5.8", bases.one, "Accessibility 8.", { $0.compartments = [$0.compartments[0].with(accessibility: 8)] }),
            (
                "device-missing", "R-5.8", bases.one, "Accessibility 5, this device only, without a device.",
                { $0.compartments = [$0.compartments[0].with(accessibility: 5)] }
            ),
            (
                "device-too-much", "R-5.8", bases.device, "Accessibility 1 with a device.",
                { ring in
                    ring.compartments = ring.compartments.map { $0.isDeviceBound ? $0.with(accessibility: 1) : $0 }
                }
            ),
            ("devices-twice", "R-5.8", bases.device, "A device that stands twice.", { $0.devices.append($0.devices[0]) }),
            ("device-zero", "R-5.8", bases.device, "A device whose id is zero.", { $0.devices.append(.zero) }),
            ("next-0", "R-5.8", bases.empty, "The next compartment's number is 0.", { $0.nextCompartment = 0 }),
            ("next-group-0", "R-5.8", bases.empty, "The next group's number is 0.", { $0.nextGroup = 0 }),
        ]
        for (name, spec, base, comment, edit) in rings {
            try forged("keyring-\(name)", spec, .structureInvalid, base, comment) { $0.onKeyring(try $0.last(.keyring), edit) }
        }
        let bodies: [(String, String, Verdict, String, (inout [UInt8]) -> Void)] = [
            ("padding", "R-1.2", .structureInvalid, "A byte of its padding is 1.", { $0[$0.count - 1] = 1 }),
            ("longer", "R-5.17", .structureInvalid, "256 bytes of padding too much.", { $0 += [0].times(256) }),
            (
                "varint-long", "R-1.1", .structureInvalid, "The number of devices is written with a byte too much.",
                {
                    $0.replaceSubrange(8..<9, with: [0x80, 0]); $0.removeLast()
                }
            ),
            ("devices-past-end", "R-2.2", .structureInvalid, "More devices than it has room for.", { $0[8] = 100 }),
            (
                "devices-1025", "R-8.1", .limitExceeded, "1025 devices.",
                {
                    $0.replaceSubrange(8..<9, with: [0x81, 8]); $0.removeLast()
                }
            ),
            (
                "groups-1025", "R-8.1", .limitExceeded, "1025 groups.",
                {
                    $0.replaceSubrange(9..<10, with: [0x81, 8]); $0.removeLast()
                }
            ),
            (
                "compartments-8193", "R-8.1", .limitExceeded, "8193 compartments.",
                {
                    $0.replaceSubrange(10..<11, with: [0x81, 0x40]); $0.removeLast()
                }
            ),
            ("extensions-17", "R-8.1", .limitExceeded, "17 extensions.", { $0[11] = 17 }),
            ("extension-flags", "R-1.2", .structureInvalid, "An extension with a reserved flag.", { $0.put([1, 2, 1, 97, 0, 0], at: 11) }),
            ("extension-nameless", "R-8.1", .structureInvalid, "An extension without a name.", { $0.put([1, 0, 0, 0, 0], at: 11) }),
            (
                "extension-name-65", "R-8.1", .limitExceeded, "An extension's name of 65 bytes.",
                { $0.put([1, 0, 65] + [97].times(65), at: 11) }
            ),
            (
                "extension-name-space", "R-3.15", .structureInvalid, "An extension with a space in its name.",
                { $0.put([1, 0, 1, 32, 0, 0], at: 11) }
            ),
            (
                "extension-value-4097", "R-8.1", .limitExceeded, "An extension's value of 4097 bytes.",
                { $0.put([1, 0, 1, 97, 1, 16], at: 11) }
            ),
        ]
        for (name, spec, expect, comment, edit) in bodies {
            try forged("keyring-\(name)", spec, expect, bases.empty, comment) {
                $0.onBody(try $0.last(.keyring)) { body, _ in edit(&body) }
            }
        }
        let note = Extension(name: "example.org/note", isCritical: false, value: [1, 2, 3])
        let extensions: [(String, String, Verdict, String, [Extension])] = [
            ("extension", "R-3.10, R-3.11", .success, "An unknown extension in the keyring that is not critical.", [note]),
            (
                "extension-critical", "R-3.10", .unsupportedCritical, "An unknown critical extension in the keyring.",
                [Extension(name: "example.org/note", isCritical: true, value: [])]
            ),
            (
                "extension-order", "R-3.15", .structureInvalid, "Two extensions out of order.",
                [note, Extension(name: "a", isCritical: false, value: [])]
            ),
            ("extension-twice", "R-3.15", .structureInvalid, "One extension twice.", [note, note]),
        ]
        for (name, spec, expect, comment, list) in extensions {
            try forged("keyring-\(name)", spec, expect, bases.one, comment) { $0.onKeyring(try $0.last(.keyring)) { $0.extensions = list } }
        }
        try forged("keyring-group-name-utf8", "R-1.4", .structureInvalid, bases.scoped, "A group's name is not UTF-8.") {
            $0.onBody(try $0.last(.keyring)) { body, _ in
                guard let at = body.firstRange(of: Array("web".utf8))?.lowerBound else { throw ForgeError("no group web") }
                body[at] = 0xFF
            }
        }
    }

    // MARK: wrapped keys

    private mutating func addWrappedKeys(_ bases: Bases) throws {
        let cases: [(String, String, String, (inout Keyring, ForgeKeys) throws -> Void)] = [
            (
                "group-key-tag", "R-1.6", "A group's key does not open: its secrets do not, the others do.",
                { ring, _ in ring.groups[0].wrapped.flip(71) }
            ),
            (
                "group-key-number", "R-4.1", "A group's key was wrapped for another number.",
                { ring, keys in
                    let other = ring.groups[0].with(number: 9)
                    ring.groups[0].wrapped = Plain.seal(
                        keys.groups[1] ?? [], key: keys.keyring, nonce: [1].times(24), bound: Bound.group(keys.vault, other))
                }
            ),
            (
                "group-key-name", "R-4.1", "A group's key was wrapped for another name.",
                { ring, keys in
                    let other = ring.groups[0].with(name: "web")
                    ring.groups[0].wrapped = Plain.seal(
                        keys.groups[1] ?? [], key: keys.keyring, nonce: [1].times(24), bound: Bound.group(keys.vault, other))
                }
            ),
            (
                "group-keys-swapped", "R-4.1", "Two groups' wrapped keys stand in each other's place.",
                { ring, _ in
                    (ring.groups[0].wrapped, ring.groups[1].wrapped) = (ring.groups[1].wrapped, ring.groups[0].wrapped)
                }
            ),
            ("compartment-key-tag", "R-1.6", "A compartment's key does not open.", { ring, _ in ring.compartments[0].wrapped.flip(71) }),
            (
                "compartment-keys-swapped", "R-4.1", "Two compartments' wrapped keys stand in each other's place.",
                { ring, _ in
                    (ring.compartments[0].wrapped, ring.compartments[1].wrapped) = (
                        ring.compartments[1].wrapped, ring.compartments[0].wrapped
                    )
                }
            ),
            (
                "compartment-key-accessibility", "R-4.1",
                "A compartment's key was wrapped for another accessibility: the holder of the group key cannot loosen it alone.",
                { ring, _ in
                    ring.compartments[0] = ring.compartments[0].with(accessibility: 3)
                }
            ),
            (
                "compartment-key-group", "R-4.1", "A compartment's key was wrapped for another group, under the right key.",
                { ring, keys in
                    let other = ring.compartments[0].with(group: 2)
                    ring.compartments[0].wrapped = Plain.seal(
                        keys.compartments[1] ?? [], key: keys.groups[1] ?? [], nonce: [1].times(24),
                        bound: Bound.compartment(keys.vault, other))
                }
            ),
            (
                "compartment-key-fields", "R-4.1", "Number and group stand in each other's place in a compartment's associated data.",
                { ring, keys in
                    let info = ring.compartments[1]
                    var bound = Bound.label("vaultfmt-1 compartment", keys.vault)
                    bound.append(u32: info.group + 5)
                    bound.append(u32: info.number)
                    bound.append(info.accessibility)
                    bound += [0].times(16)
                    ring.compartments[1].wrapped = Plain.seal(
                        keys.compartments[info.number] ?? [], key: keys.groups[info.group] ?? [], nonce: [1].times(24), bound: bound)
                }
            ),
            (
                "compartment-key-other", "R-1.6", "A compartment's key is another one: the records do not open.",
                { ring, keys in
                    let info = ring.compartments[0]
                    ring.compartments[0].wrapped = Plain.seal(
                        [7].times(32), key: keys.groups[info.group] ?? [], nonce: [1].times(24), bound: Bound.compartment(keys.vault, info))
                }
            ),
        ]
        for (name, spec, comment, edit) in cases {
            try forged("keyring-\(name)", spec, .authenticationFailed, bases.scoped, comment) { forge in
                let keys = forge.keys
                forge.onKeyring(try forge.last(.keyring)) { try edit(&$0, keys) }
            }
        }
        try addDevices(bases)
    }

    private mutating func addDevices(_ bases: Bases) throws {
        var request = CheckRequest.raw(Base.key)
        request.device = (Base.device.bytes, [9].times(32))
        try vault("device-wrong-secret", "R-5.8", .deviceBound, bases.device, "The device's id with another secret.", request: request)
        request.device = ([9].times(16), Base.deviceSecret)
        try vault("device-wrong-id", "R-5.8", .deviceBound, bases.device, "The device's secret with another id.", request: request)
        try device("device-inner-tag", .deviceBound, bases, "The inner layer's tag is wrong: as with another secret.") { $0.flip(71) }
        try forged("device-outer-tag", "R-1.6", .authenticationFailed, bases.device, "The outer layer's tag is wrong.") {
            $0.onKeyring(try $0.last(.keyring)) { ring in
                for index in ring.compartments.indices where ring.compartments[index].isDeviceBound {
                    ring.compartments[index].wrapped.flip(111)
                }
            }
        }
        try forged(
            "device-outer-tag-absent", "R-1.6", .authenticationFailed, bases.device,
            "The same, seen without the device: the outer layer is opened all the same.", request: .raw(Base.key)
        ) {
            $0.onKeyring(try $0.last(.keyring)) { ring in
                for index in ring.compartments.indices where ring.compartments[index].isDeviceBound {
                    ring.compartments[index].wrapped.flip(111)
                }
            }
        }
        for accessibility in [4, 6, 7] as [UInt8] {
            let base = try Workshop.make("device \(accessibility)", device: true) { vault, _ in
                try vault.add(
                    try .genericPassword(service: "s"), secret: Secret(text: "here only"),
                    accessibility: Accessibility(rawValue: accessibility) ?? .always)
                _ = try vault.compact()
            }
            try vault("device-accessibility-\(accessibility)", "R-5.8", .success, base, "Accessibility \(accessibility), on its device.")
            try vault(
                "device-accessibility-\(accessibility)-absent", "R-5.8", .deviceBound, base,
                "Accessibility \(accessibility), without its device.", request: .raw(Base.key))
        }
        for accessibility in [2, 3] as [UInt8] {
            let base = try Workshop.make("accessibility \(accessibility)") { vault, _ in
                try vault.add(
                    try .genericPassword(service: "s"), secret: Secret(text: "s3cret"),
                    accessibility: Accessibility(rawValue: accessibility) ?? .always)
                _ = try vault.compact()
            }
            try vault("feature-accessibility-\(accessibility)", "R-5.8", .success, base, "Accessibility \(accessibility).")
        }
    }

    /// The inner layer of the device-bound compartment, altered, under a right outer one.
    private mutating func device(
        _ name: String, _ expect: Verdict, _ bases: Bases, _ comment: String, _ edit: @escaping (inout [UInt8]) -> Void
    ) throws {
        try forged(name, "R-5.8", expect, bases.device, comment) { forge in
            let keys = forge.keys
            forge.onKeyring(try forge.last(.keyring)) { ring in
                for index in ring.compartments.indices where ring.compartments[index].isDeviceBound {
                    let info = ring.compartments[index]
                    guard let key = keys.compartments[info.number], let groupKey = keys.groups[info.group] else {
                        throw ForgeError("no key")
                    }
                    let deviceKey = Plain.mac(Base.deviceSecret, "vaultfmt-1 device", keys.vault.bytes)
                    var inner = Plain.seal(key, key: deviceKey, nonce: [2].times(24), bound: Bound.deviceCompartment(keys.vault, info))
                    edit(&inner)
                    ring.compartments[index].wrapped = Plain.seal(
                        inner, key: groupKey, nonce: [3].times(24), bound: Bound.compartment(keys.vault, info))
                }
            }
        }
    }

    private mutating func addKeyringLimits(_ bases: Bases) throws {
        try forged("keyring-1024-devices", "R-8.1", .success, bases.empty, "1024 devices, the most.") {
            $0.onKeyring(try $0.last(.keyring)) { ring in ring.devices = (1...1024).map { Bytes16(high: 7, low: $0) } }
            $0.onCommit(try $0.last(.commit)) { commit, _ in commit.wasSyncedFirst = true }
        }
        for (count, expect) in [(4096, Verdict.success), (4097, .limitExceeded)] {
            try forged("keyring-group-name-\(count)", "R-8.1", expect, bases.empty, "A group's name of \(count) bytes.") { forge in
                let keyringKey = forge.keys.keyring
                let vault = forge.keys.vault
                forge.onKeyring(try forge.last(.keyring)) { ring in
                    var group = Keyring.Group(number: 1, name: String(repeating: "g", count: count), wrapped: [])
                    group.wrapped = Plain.seal([1].times(32), key: keyringKey, nonce: [1].times(24), bound: Bound.group(vault, group))
                    ring.groups = [group]
                    ring.nextGroup = 2
                }
            }
        }
    }
}

extension Keyring.Group {
    fileprivate func with(number: UInt32? = nil, name: String? = nil) -> Keyring.Group {
        Keyring.Group(number: number ?? self.number, name: name ?? self.name, wrapped: wrapped)
    }
}

extension Keyring.Compartment {
    fileprivate func with(number: UInt32? = nil, group: UInt32? = nil, accessibility: UInt8? = nil) -> Keyring.Compartment {
        Keyring.Compartment(
            number: number ?? self.number, group: group ?? self.group, accessibility: accessibility ?? self.accessibility, device: device,
            wrapped: wrapped)
    }
}
