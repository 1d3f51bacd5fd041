/// The contents of a slot's owner part without the wrapping key. Only owners can read them (section 3.1).
package struct OwnerPart: Equatable, Sendable {
    /// The slot's name, at most 63 bytes.
    package var name: String
    /// The data that a rotation needs to recreate the slot, such as recipients; at most 16,384 bytes.
    package var providerData: [UInt8]

    package init(name: String, providerData: [UInt8] = []) {
        self.name = name
        self.providerData = providerData
    }

    package static let wrappingKey = Format.slotNameArea..<Format.slotNameArea + Format.keySize

    /// The number of reserved bytes after the wrapping key.
    private static let reserved = 24

    /// Returns the length of the plaintext for `count` bytes of provider data.
    package static func plainSize(providerData count: Int) -> Int {
        (Format.ownerPartFixedSize + count + Format.ownerPartStep - 1) / Format.ownerPartStep * Format.ownerPartStep
    }

    /// Returns the combined length of the nonce and the sealed owner part.
    package static func size(providerData count: Int) -> Int {
        Format.nonceSize + plainSize(providerData: count) + Format.tagSize
    }

    /// Reads the plaintext. The wrapping key is not copied; it is zero for kinds that do not depend on the
    /// epoch.
    package init(_ bytes: Span<UInt8>, _ kind: Slot.Kind) throws(FormatError) {
        var cursor = Cursor(bytes, at: 0, else: .structureInvalid)
        let length = Int(try cursor.u8(bytes))
        guard length <= Format.Limit.slotName else { throw cursor.error("a slot's name has \(length) bytes") }
        name = try cursor.text(bytes, try cursor.slice(length, "a slot's name"))
        try cursor.padding(bytes, to: Format.slotNameArea)
        if kind.dependsOnEpoch {
            _ = try cursor.slice(Format.keySize, "a slot's wrapping key")
        } else {
            try cursor.reserved(bytes, Format.keySize)
        }
        try cursor.reserved(bytes, OwnerPart.reserved)
        let size = Int(try cursor.u16(bytes))
        guard size <= Format.Limit.providerData else { throw cursor.error("a provider's data has \(size) bytes") }
        providerData = cursor.copy(bytes, try cursor.slice(size, "a provider's data"))
        guard bytes.count == OwnerPart.plainSize(providerData: size) else {
            throw cursor.error("an owner part is longer than necessary")
        }
        try cursor.padding(bytes, to: bytes.count)
    }

    /// Encodes the plaintext, with zeros in place of the wrapping key.
    package func encode() -> [UInt8] {
        var out: [UInt8] = [UInt8(name.utf8.count)]
        out.append(contentsOf: name.utf8)
        out.append(zeros: OwnerPart.wrappingKey.upperBound - out.count)
        out.append(zeros: OwnerPart.reserved)
        out.append(u16: UInt16(providerData.count))
        out.append(contentsOf: providerData)
        out.append(zeros: OwnerPart.plainSize(providerData: providerData.count) - out.count)
        return out
    }
}

/// The layout of a scoped slot's opened payload (section 3.1). The bytes are secret and are kept in memory that is
/// wiped after use.
package struct ScopedPayloadLayout: Sendable {
    package static let indexKey = 0..<32
    package static let ownerPublicKey = 32..<64
    private static let firstGrant = 72

    /// The group numbers, in ascending order.
    package let groups: [UInt64]

    /// Checks and the padding.
    package init(_ bytes: Span<UInt8>) throws(FormatError) {
        var cursor = Cursor(bytes, at: 0, else: .structureInvalid)
        _ = try cursor.slice(64, "the keys of a scoped slot")
        let count = Int(try cursor.u8(bytes))
        guard count <= Format.Limit.grantedGroups else { throw cursor.error("a slot grants \(count) groups") }
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

    /// Returns the position of the group number in grant `index`; the group key (32 bytes) follows the number.
    package static func grant(_ index: Int) -> Int { firstGrant + index * Format.groupGrantSize }
}
