/// The compartments and their wrapped keys, the access groups and the devices (section 5.3).
package struct Keyring: Equatable, Sendable {
    package struct Group: Equatable, Sendable {
        package let number: UInt32
        package let name: String
        /// Nonce ‖ sealed group key.
        package var wrapped: [UInt8]

        package init(number: UInt32, name: String, wrapped: [UInt8]) {
            self.number = number
            self.name = name
            self.wrapped = wrapped
        }
    }

    package struct Compartment: Equatable, Sendable {
        package let number: UInt32
        package let group: UInt32
        package let accessibility: UInt8
        /// Zero unless its items are for one device only.
        package let device: Bytes16
        /// Nonce ‖ sealed compartment key, or nonce ‖ sealed (inner nonce ‖ sealed compartment key).
        package var wrapped: [UInt8]

        package init(number: UInt32, group: UInt32, accessibility: UInt8, device: Bytes16, wrapped: [UInt8]) {
            self.number = number
            self.group = group
            self.accessibility = accessibility
            self.device = device
            self.wrapped = wrapped
        }

        package var isDeviceBound: Bool { device != .zero }
    }

    package static let accessibilities: ClosedRange<UInt8> = 1...7
    package static func isDeviceOnly(_ accessibility: UInt8) -> Bool { accessibility >= 4 }

    package static let wrappedKeySize = Format.nonceSize + Format.keySize + Format.tagSize
    package static let deviceWrappedKeySize = wrappedKeySize + Format.nonceSize + Format.tagSize

    package var nextCompartment: UInt32 = 1
    package var nextGroup: UInt32 = 1
    package var devices: [Bytes16] = []
    package var groups: [Group] = []
    package var compartments: [Compartment] = []
    package var extensions: [Extension] = []

    package init() {}

    /// Reads a body.
    package init(_ bytes: Span<UInt8>, at offset: UInt64) throws(FormatError) {
        var cursor = Cursor(bytes, at: offset, else: .structureInvalid)
        nextCompartment = try cursor.u32(bytes)
        nextGroup = try cursor.u32(bytes)
        guard nextCompartment >= 1, nextGroup >= 1 else { throw cursor.error("a keyring's next number is zero") }
        try readDevices(bytes, &cursor)
        try readGroups(bytes, &cursor)
        try readCompartments(bytes, &cursor)
        let count = try cursor.count(bytes, most: Format.Limit.extensions, "extensions")
        extensions = try Extension.list(bytes, &cursor, count: count)
        guard bytes.count == Padding.steppedFrame(cursor.position) - Format.sealOverhead else {
            throw cursor.error("a keyring is longer than it needs to be")
        }
        try cursor.padding(bytes, to: bytes.count)
    }

    private mutating func readDevices(_ bytes: Span<UInt8>, _ cursor: inout Cursor) throws(FormatError) {
        var seen: Set<Bytes16> = [.zero]
        for _ in 0..<(try cursor.count(bytes, most: Format.Limit.devices, "devices")) {
            let device = try cursor.bytes16(bytes)
            guard seen.insert(device).inserted else { throw cursor.error("a device stands twice in a keyring, or is zero") }
            devices.append(device)
        }
    }

    private mutating func readGroups(_ bytes: Span<UInt8>, _ cursor: inout Cursor) throws(FormatError) {
        var names: Set<String> = []
        var last: UInt32 = 0
        for _ in 0..<(try cursor.count(bytes, most: Format.Limit.groups, "groups")) {
            let number = try cursor.u32(bytes)
            guard number > last, number < nextGroup else {
                throw cursor.error("a group's number is out of order")
            }
            last = number
            let length = try cursor.count(bytes, most: Format.Limit.field, "a group's name")
            let name = try cursor.text(bytes, try cursor.take(length, "a group's name"))
            // Swift compares strings by canonical equivalence; the format by bytes.
            guard names.insert(Hex.encode(Array(name.utf8))).inserted else { throw cursor.error("two groups have one name") }
            let wrapped = try cursor.take(Keyring.wrappedKeySize, "a group's key")
            groups.append(Group(number: number, name: name, wrapped: cursor.copy(bytes, wrapped)))
        }
    }

    private mutating func readCompartments(_ bytes: Span<UInt8>, _ cursor: inout Cursor) throws(FormatError) {
        struct Place: Hashable {
            let group: UInt32
            let accessibility: UInt8
            let device: Bytes16
        }
        let known = Set(groups.map(\.number))
        var seen: Set<Place> = []
        var last: UInt32 = 0
        for _ in 0..<(try cursor.count(bytes, most: Format.Limit.compartments, "compartments")) {
            let number = try cursor.u32(bytes)
            guard number > last, number < nextCompartment else { throw cursor.error("a compartment's number is out of order") }
            last = number
            let place = Place(group: try cursor.u32(bytes), accessibility: try cursor.u8(bytes), device: try cursor.bytes16(bytes))
            guard known.contains(place.group) else { throw cursor.error("a compartment's group does not exist") }
            guard Keyring.accessibilities.contains(place.accessibility) else {
                throw cursor.error("a compartment's accessibility is unknown")
            }
            guard Keyring.isDeviceOnly(place.accessibility) == (place.device != .zero) else {
                throw cursor.error("a compartment's device does not fit its accessibility")
            }
            guard seen.insert(place).inserted else { throw cursor.error("two compartments are for the same items") }
            let size = place.device == .zero ? Keyring.wrappedKeySize : Keyring.deviceWrappedKeySize
            let wrapped = try cursor.take(size, "a compartment's key")
            compartments.append(
                Compartment(
                    number: number, group: place.group, accessibility: place.accessibility, device: place.device,
                    wrapped: cursor.copy(bytes, wrapped)))
        }
    }

    package func encode() throws(FormatError) -> [UInt8] {
        var out: [UInt8] = []
        out.append(u32: nextCompartment)
        out.append(u32: nextGroup)
        out.append(varint: UInt64(devices.count))
        for device in devices { out.append(device) }
        out.append(varint: UInt64(groups.count))
        for group in groups {
            out.append(u32: group.number)
            out.append(varint: UInt64(group.name.utf8.count))
            out.append(contentsOf: group.name.utf8)
            out.append(contentsOf: group.wrapped)
        }
        out.append(varint: UInt64(compartments.count))
        for compartment in compartments {
            out.append(u32: compartment.number)
            out.append(u32: compartment.group)
            out.append(compartment.accessibility)
            out.append(compartment.device)
            out.append(contentsOf: compartment.wrapped)
        }
        out.append(varint: UInt64(extensions.count))
        for one in extensions { one.encode(into: &out) }
        let frame = Padding.steppedFrame(out.count)
        guard frame <= Format.Limit.keyringFrame else { throw FormatError(.limitExceeded, "a keyring of \(frame) bytes", at: 0) }
        out.append(zeros: frame - Format.sealOverhead - out.count)
        return out
    }
}
