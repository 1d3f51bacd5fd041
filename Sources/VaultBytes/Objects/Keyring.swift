/// Devices, access groups, compartments and their wrapped keys, and the data about slots and owners that a merge needs
/// (section 5.4).
package struct Keyring: Equatable, Sendable {
    package struct Group: Equatable, Sendable {
        package let number: UInt64
        package let name: String
        /// Nonce ‖ sealed group key.
        package var wrapped: [UInt8]

        package init(number: UInt64, name: String, wrapped: [UInt8]) {
            self.number = number
            self.name = name
            self.wrapped = wrapped
        }
    }

    package struct Compartment: Equatable, Sendable {
        package let number: UInt64
        /// The access group; 0 for the owners' group.
        package let group: UInt64
        package let accessibility: UInt8
        /// The device; zero unless the compartment's items are device-only.
        package let device: Bytes16
        /// Nonce ‖ sealed compartment key, or nonce ‖ sealed (inner nonce ‖ sealed compartment key).
        package var wrapped: [UInt8]

        package init(number: UInt64, group: UInt64, accessibility: UInt8, device: Bytes16, wrapped: [UInt8]) {
            self.number = number
            self.group = group
            self.accessibility = accessibility
            self.device = device
            self.wrapped = wrapped
        }

        package var isDeviceBound: Bool { device != .zero }
    }

    /// A slot that was removed.
    package struct RemovedSlot: Equatable, Sendable {
        package let id: Bytes16
        package let revision: UInt64

        package init(id: Bytes16, revision: UInt64) {
            self.id = id
            self.revision = revision
        }
    }

    /// The setting for how many earlier values an item keeps.
    package struct Keeping: Equatable, Sendable {
        /// The number of values, 0 to 50.
        package var count: Int
        /// The revision of the last change; 0 if the setting was never changed.
        package var revision: UInt64
        /// The device that made this revision, or zero.
        package var device: Bytes16

        package init(count: Int, revision: UInt64 = 0, device: Bytes16 = .zero) {
            self.count = count
            self.revision = revision
            self.device = device
        }
    }

    package static let accessibilities: ClosedRange<UInt8> = 1...7
    package static func isDeviceOnly(_ accessibility: UInt8) -> Bool { accessibility >= 4 }
    /// The group of the owners, which is neither listed nor granted.
    package static let ownersGroup: UInt64 = 0

    package static let wrappedKeySize = Format.nonceSize + Format.keySize + Format.tagSize
    package static let deviceWrappedKeySize = wrappedKeySize + Format.nonceSize + Format.tagSize

    package var keeping = Keeping(count: 0)
    package var devices: [Bytes16] = []
    /// The groups, in ascending order of number.
    package var groups: [Group] = []
    /// The compartments, in ascending order of number.
    package var compartments: [Compartment] = []
    /// The removed slots, in ascending order of id.
    package var removedSlots: [RemovedSlot] = []
    /// The hand-overs, in the order in which they were made.
    package var handOvers: [HandOver] = []
    package var extensions: [Extension] = []

    package init() {}

    /// Reads a body and checks what the keyring alone shows, and then that it has no unknown critical extension.
    /// What takes the header and the commit to check comes later.
    package init(_ bytes: Span<UInt8>, at offset: UInt64) throws(FormatError) {
        var cursor = Cursor(bytes, at: offset, else: .structureInvalid)
        try readKeeping(bytes, &cursor)
        try readDevices(bytes, &cursor)
        try readGroups(bytes, &cursor)
        try readCompartments(bytes, &cursor)
        try readRemovedSlots(bytes, &cursor)
        for _ in 0..<(try cursor.count(bytes, most: Format.Limit.handOvers, "hand-overs")) {
            handOvers.append(try HandOver(bytes, &cursor))
        }
        let count = try cursor.count(bytes, most: Format.Limit.extensions, "extensions")
        extensions = try Extension.list(bytes, &cursor, count: count)
        try cursor.finishSteppedBody(bytes, "a keyring")
        try Extension.refuseUnknownCritical(extensions, at: offset)
    }

    private mutating func readKeeping(_ bytes: Span<UInt8>, _ cursor: inout Cursor) throws(FormatError) {
        let count = Int(try cursor.u8(bytes))
        guard count <= Format.Limit.versions else {
            throw cursor.error("the number of earlier values to keep is out of range: \(count)")
        }
        let revision = try cursor.u64(bytes)
        guard revision <= Format.Limit.number else {
            throw cursor.error("the revision of the number of earlier values is out of range")
        }
        keeping = Keeping(count: count, revision: revision, device: try cursor.bytes16(bytes))
    }

    private mutating func readDevices(_ bytes: Span<UInt8>, _ cursor: inout Cursor) throws(FormatError) {
        var seen: Set<Bytes16> = [.zero]
        for _ in 0..<(try cursor.count(bytes, most: Format.Limit.devices, "devices")) {
            let device = try cursor.bytes16(bytes)
            guard seen.insert(device).inserted else {
                throw cursor.error("a keyring lists a device twice, or lists a device whose id is zero")
            }
            devices.append(device)
        }
    }

    private mutating func readGroups(_ bytes: Span<UInt8>, _ cursor: inout Cursor) throws(FormatError) {
        var names: Set<[UInt8]> = []
        var last: UInt64 = 0
        for _ in 0..<(try cursor.count(bytes, most: Format.Limit.groups, "groups")) {
            let number = try cursor.number(bytes, "a group's number")
            guard number > last else { throw cursor.error("a group's number is out of order") }
            last = number
            let length = try cursor.count(bytes, most: Format.Limit.field, "a group's name")
            let range = try cursor.slice(length, "a group's name")
            let name = try cursor.text(bytes, range)
            guard names.insert(cursor.copy(bytes, range)).inserted else {
                throw cursor.error("two groups have the same name")
            }
            let wrapped = try cursor.slice(Keyring.wrappedKeySize, "a group's key")
            groups.append(Group(number: number, name: name, wrapped: cursor.copy(bytes, wrapped)))
        }
    }

    private mutating func readCompartments(_ bytes: Span<UInt8>, _ cursor: inout Cursor) throws(FormatError) {
        let known = Set(groups.map(\.number) + [Keyring.ownersGroup])
        var last: UInt64 = 0
        for _ in 0..<(try cursor.count(bytes, most: Format.Limit.compartments, "compartments")) {
            let number = try cursor.number(bytes, "a compartment's number")
            guard number > last else { throw cursor.error("a compartment's number is out of order") }
            last = number
            let group = try cursor.u64(bytes)
            let accessibility = try cursor.u8(bytes)
            let device = try cursor.bytes16(bytes)
            guard known.contains(group) else { throw cursor.error("a compartment's group does not exist") }
            guard Keyring.accessibilities.contains(accessibility) else {
                throw cursor.error("a compartment's accessibility is unknown")
            }
            guard Keyring.isDeviceOnly(accessibility) == (device != .zero) else {
                throw cursor.error("a compartment's device does not match its accessibility")
            }
            guard group != Keyring.ownersGroup || accessibility == 1 || accessibility == 5 else {
                throw cursor.error("an owners' compartment has an accessibility that is not allowed")
            }
            let size = device == .zero ? Keyring.wrappedKeySize : Keyring.deviceWrappedKeySize
            let wrapped = cursor.copy(bytes, try cursor.slice(size, "a compartment's key"))
            compartments.append(
                Compartment(
                    number: number, group: group, accessibility: accessibility, device: device, wrapped: wrapped))
        }
    }

    private mutating func readRemovedSlots(_ bytes: Span<UInt8>, _ cursor: inout Cursor) throws(FormatError) {
        for _ in 0..<(try cursor.count(bytes, most: Format.Limit.removedSlots, "removed slots")) {
            let id = try cursor.bytes16(bytes)
            let slot = RemovedSlot(id: id, revision: try cursor.number(bytes, "the revision of a removal"))
            if let last = removedSlots.last, last.id >= slot.id { throw cursor.error("removed slots are out of order") }
            removedSlots.append(slot)
        }
    }

    /// Encodes the body with padding.
    package func encode() throws(FormatError) -> [UInt8] {
        var out: [UInt8] = [UInt8(keeping.count)]
        out.append(u64: keeping.revision)
        out.append(keeping.device)
        out.append(varint: UInt64(devices.count))
        for device in devices { out.append(device) }
        out.append(varint: UInt64(groups.count))
        for group in groups {
            out.append(u64: group.number)
            out.append(varint: UInt64(group.name.utf8.count))
            out.append(contentsOf: group.name.utf8)
            out.append(contentsOf: group.wrapped)
        }
        out.append(varint: UInt64(compartments.count))
        for compartment in compartments {
            out.append(u64: compartment.number)
            out.append(u64: compartment.group)
            out.append(compartment.accessibility)
            out.append(compartment.device)
            out.append(contentsOf: compartment.wrapped)
        }
        out.append(varint: UInt64(removedSlots.count))
        for slot in removedSlots {
            out.append(slot.id)
            out.append(u64: slot.revision)
        }
        out.append(varint: UInt64(handOvers.count))
        for one in handOvers { one.encode(into: &out) }
        out.append(varint: UInt64(extensions.count))
        for one in extensions { one.encode(into: &out) }
        let frame = Padding.steppedFrame(out.count)
        guard frame <= Format.Limit.keyringFrame else {
            throw FormatError(
                .limitExceeded, "groups, compartments and devices need a keyring of \(frame) bytes", at: 0)
        }
        out.padSteppedBody()
        return out
    }
}

/// An owner's statement that another key succeeds the current one (section 7.3).
package struct HandOver: Equatable, Sendable {
    /// The public key of the previous owners.
    package let publicKey: Bytes32
    /// The generation of the last state under that key.
    package let generation: UInt64
    package let chain: Bytes32
    /// The signature, 64 bytes.
    package let signature: [UInt8]

    package init(publicKey: Bytes32, generation: UInt64, chain: Bytes32, signature: [UInt8]) {
        self.publicKey = publicKey
        self.generation = generation
        self.chain = chain
        self.signature = signature
    }

    package init(_ bytes: Span<UInt8>, _ cursor: inout Cursor) throws(FormatError) {
        publicKey = try cursor.bytes32(bytes)
        generation = try cursor.number(bytes, "a hand-over's generation")
        chain = try cursor.bytes32(bytes)
        signature = cursor.copy(bytes, try cursor.slice(Format.signatureSize, "a hand-over's signature"))
    }

    package func encode(into out: inout [UInt8]) {
        out.append(publicKey)
        out.append(u64: generation)
        out.append(chain)
        out.append(contentsOf: signature)
    }
}
