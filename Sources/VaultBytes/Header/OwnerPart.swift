/// What a slot's owner part says, but for the wrapping key: for owners (section 3.1).
package struct OwnerPart: Equatable, Sendable {
    /// At most 63 bytes.
    package var name: String
    /// When the slot was made, or its name, grants or factors last changed.
    package var revision: UInt64
    /// The device that made this revision, or zero.
    package var device: Bytes16
    /// What a rotation needs to make the slot again, such as recipients; at most 16,384 bytes.
    package var providerData: [UInt8]

    package init(name: String, revision: UInt64, device: Bytes16, providerData: [UInt8] = []) {
        self.name = name
        self.revision = revision
        self.device = device
        self.providerData = providerData
    }

    package static let wrappingKey = Format.slotNameArea..<Format.slotNameArea + Format.keySize

    /// The plaintext's length for provider's data of `count` bytes.
    package static func plainSize(providerData count: Int) -> Int {
        (Format.ownerPartFixedSize + count + Format.ownerPartStep - 1) / Format.ownerPartStep * Format.ownerPartStep
    }

    /// The length of nonce and sealed owner part.
    package static func size(providerData count: Int) -> Int {
        Format.nonceSize + plainSize(providerData: count) + Format.tagSize
    }

    /// Reads the plaintext; the wrapping key stays where it is, and is zero in kinds that do not depend on the
    /// epoch.
    package init(_ bytes: Span<UInt8>, _ kind: Slot.Kind) throws(FormatError) {
        var cursor = Cursor(bytes, at: 0, else: .structureInvalid)
        let length = Int(try cursor.u8(bytes))
        guard length <= Format.Limit.slotName else { throw cursor.error("a slot's name of \(length) bytes") }
        name = try cursor.text(bytes, try cursor.slice(length, "a slot's name"))
        try cursor.padding(bytes, to: Format.slotNameArea)
        if kind.dependsOnEpoch {
            _ = try cursor.slice(Format.keySize, "a slot's wrapping key")
        } else {
            try cursor.reserved(bytes, Format.keySize)
        }
        revision = try cursor.number(bytes, "a slot's revision")
        device = try cursor.bytes16(bytes)
        let size = Int(try cursor.u16(bytes))
        guard size <= Format.Limit.providerData else { throw cursor.error("a provider's data of \(size) bytes") }
        providerData = cursor.copy(bytes, try cursor.slice(size, "a provider's data"))
        guard bytes.count == OwnerPart.plainSize(providerData: size) else {
            throw cursor.error("an owner part is longer than it needs to be")
        }
        try cursor.padding(bytes, to: bytes.count)
    }

    /// The plaintext, with zeros in the place of the wrapping key.
    package func encode() -> [UInt8] {
        var out: [UInt8] = [UInt8(name.utf8.count)]
        out.append(contentsOf: name.utf8)
        out.append(zeros: OwnerPart.wrappingKey.upperBound - out.count)
        out.append(u64: revision)
        out.append(device)
        out.append(u16: UInt16(providerData.count))
        out.append(contentsOf: providerData)
        out.append(zeros: OwnerPart.plainSize(providerData: providerData.count) - out.count)
        return out
    }
}

/// Where the parts of a scoped slot's opened payload are (section 3.1). The bytes are a secret and stay in wiped
/// memory.
package struct ScopedPayloadLayout: Sendable {
    package static let indexKey = 0..<32
    package static let ownerPublicKey = 32..<64
    private static let firstGrant = 72

    /// Group numbers, in ascending order.
    package let groups: [UInt64]

    /// Checks and the padding.
    package init(_ bytes: Span<UInt8>) throws(FormatError) {
        var cursor = Cursor(bytes, at: 0, else: .structureInvalid)
        _ = try cursor.slice(64, "the keys of a scoped slot")
        let count = Int(try cursor.u8(bytes))
        guard count <= Format.Limit.grantedGroups else { throw cursor.error("\(count) groups in a slot") }
        try cursor.reserved(bytes, 7)
        var all: [UInt64] = []
        for _ in 0..<count {
            let number = try cursor.number(bytes, "a group's number")
            guard number > (all.last ?? 0) else { throw cursor.error("a slot's groups are out of order") }
            all.append(number)
            _ = try cursor.slice(Format.keySize, "a group key")
        }
        groups = all
        try cursor.padding(bytes, to: bytes.count)
        try cursor.finish()
    }

    /// Where grant `index` has its number; the group key is the 32 bytes behind it.
    package static func grant(_ index: Int) -> Int { firstGrant + index * Format.groupGrantSize }
}
