/// Access groups, compartments and their wrapped keys, and the data about slots and owners that a merge needs (section
/// 5.4).
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

    /// The number of earlier values that each item keeps, and the change that set this number.
    package struct Keeping: Equatable, Sendable {
        /// The number of values, 0 to 50.
        package var count: Int
        /// The change that made the setting.
        package var dot: StoredDot

        package init(count: Int, dot: StoredDot) {
            self.count = count
            self.dot = dot
        }
    }

    package static let accessibilities: ClosedRange<UInt8> = 1...7
    package static func isDeviceOnly(_ accessibility: UInt8) -> Bool { accessibility >= 4 }
    /// The owners' group, which is neither listed nor granted.
    package static let ownersGroup: UInt64 = 0

    package static let wrappedKeySize = Format.nonceSize + Format.keySize + Format.tagSize
    package static let deviceWrappedKeySize = wrappedKeySize + Format.nonceSize + Format.tagSize

    package var keeping: Keeping
    /// The dot of the rotation that made the vault key, or of the vault's creation.
    package var vaultKey: StoredDot
    /// The groups, in ascending order of number.
    package var groups: [Group] = []
    /// The compartments, in ascending order of number.
    package var compartments: [Compartment] = []
    /// The slots of the header, in ascending order of id.
    package var slots: [SlotDots] = []
    /// The hand-overs, in ascending order of their bytes.
    package var handOvers: [HandOver] = []
    package var extensions: [Extension] = []

    package init(keeping: Keeping, vaultKey: StoredDot) {
        self.keeping = keeping
        self.vaultKey = vaultKey
    }

    /// Reads a body and performs all checks that need only the keyring; the last of these refuses unknown
    /// critical extensions. Checks against the header and the vector are performed later.
    package init(_ bytes: Span<UInt8>, at offset: UInt64) throws(FormatError) {
        var cursor = Cursor(bytes, at: offset, else: .structureInvalid)
        keeping = try Keyring.keeping(bytes, &cursor)
        vaultKey = try StoredDot(bytes, &cursor)
        try readGroups(bytes, &cursor)
        try readCompartments(bytes, &cursor)
        try readSlots(bytes, &cursor)
        try readHandOvers(bytes, &cursor)
        let count = try cursor.count(bytes, most: Format.Limit.extensions, "extensions")
        extensions = try Extension.list(bytes, &cursor, count: count)
        try cursor.finishSteppedBody(bytes, "a keyring")
        try Extension.refuseUnknownCritical(extensions, at: offset)
    }

    private static func keeping(_ bytes: Span<UInt8>, _ cursor: inout Cursor) throws(FormatError) -> Keeping {
        let count = Int(try cursor.u8(bytes))
        guard count <= Format.Limit.earlierValues else {
            throw cursor.error("the number of earlier values to keep is out of range: \(count)")
        }
        return Keeping(count: count, dot: try StoredDot(bytes, &cursor))
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

    private mutating func readSlots(_ bytes: Span<UInt8>, _ cursor: inout Cursor) throws(FormatError) {
        let known = Set(groups.map(\.number))
        let count = try cursor.count(bytes, most: Format.Limit.slots, "slots")
        guard count > 0 else { throw cursor.error("a keyring has no slots") }
        for _ in 0..<count {
            let slot = try SlotDots(bytes, &cursor)
            if let last = slots.last, last.id >= slot.id { throw cursor.error("slots are out of order") }
            guard slot.grants.allSatisfy({ known.contains($0.group) }) else {
                throw cursor.error("a slot is granted a group that does not exist")
            }
            slots.append(slot)
        }
    }

    private mutating func readHandOvers(_ bytes: Span<UInt8>, _ cursor: inout Cursor) throws(FormatError) {
        for _ in 0..<(try cursor.count(bytes, most: Format.Limit.handOvers, "hand-overs")) {
            let one = try HandOver(bytes, &cursor)
            if let last = handOvers.last, !HandOver.precedes(last, one) {
                throw cursor.error("hand-overs are out of order")
            }
            handOvers.append(one)
        }
    }

    /// All dots in the keyring.
    package var dots: [StoredDot] {
        [keeping.dot, vaultKey] + slots.flatMap { [$0.made, $0.changed] + $0.grants.map(\.dot) }
    }

    /// Encodes the body with padding.
    package func encode() throws(FormatError) -> [UInt8] {
        var out: [UInt8] = [UInt8(keeping.count)]
        keeping.dot.encode(into: &out)
        vaultKey.encode(into: &out)
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
        out.append(varint: UInt64(slots.count))
        for slot in slots { slot.encode(into: &out) }
        out.append(varint: UInt64(handOvers.count))
        for one in handOvers { one.encode(into: &out) }
        out.append(varint: UInt64(extensions.count))
        for one in extensions { one.encode(into: &out) }
        let frame = Padding.steppedFrame(out.count)
        guard frame <= Format.Limit.keyringFrame else {
            throw FormatError(.limitExceeded, "groups and compartments need a keyring of \(frame) bytes", at: 0)
        }
        out.padSteppedBody()
        return out
    }
}
