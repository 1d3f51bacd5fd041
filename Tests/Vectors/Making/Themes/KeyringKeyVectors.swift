internal import TestSupport
internal import VaultBytes

/// The keys that a keyring wraps, and how much it holds (sections 3.5, 3.6 and 5.4).
extension Collection {
    // MARK: wrapped keys

    mutating func addWrappedKeys(_ bases: Bases) throws {
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
            "owners-key-other", bases.kept,
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

    mutating func addDeviceKeys(_ bases: Bases) throws {
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
        let earlier = try Bases.base("device past", device: true) { draft in
            draft.ring.keeping.count = 3
            try draft.add(Bases.ann, Array("first".utf8), accessibility: 5, device: Base.device)
            try draft.commit()
            try draft.set(Bases.ann, Array("second".utf8))
            try draft.commit()
        }
        try vault(
            "device-past", "R-6.10", .success, earlier,
            "An item of a device and an earlier value under group 0 and that device.")
        try vault(
            "device-past-absent", "R-6.10", .deviceBound, earlier, "The same without the device.",
            request: .raw(Base.key))
    }

    // MARK: limits

    mutating func addKeyringLimits(_ bases: Bases) throws {
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
