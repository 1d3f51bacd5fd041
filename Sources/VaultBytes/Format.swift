/// Every magic, tag, size and limit of format 1, under the names of the specification (sections 2, 3, 5 and 8).
package enum Format {
    package static let version: UInt16 = 1
    /// `89 56 41 55 4C 54 0D 0A`, read as a little-endian number.
    package static let magic: UInt64 = 0x0A0D_544C_5541_5689

    package static let idSize = 16
    package static let hashSize = 32
    package static let keySize = 32
    package static let nonceSize = 24
    package static let tagSize = 16

    // Section 3: header and slots.
    package static let headerStep = 4096
    package static let headerFixedSize = 68
    package static let headerMACSize = 64
    package static let slotClearSize = 80
    package static let slotPayloadStart = 108
    package static let slotNameArea = 64
    package static let slotOwnerPlainSize = slotNameArea + keySize
    package static let slotOwnerSize = nonceSize + slotOwnerPlainSize + tagSize
    package static let scopedPayloadStep = 256
    package static let groupGrantSize = 4 + keySize

    // Section 2 and 5: frames.
    package static let frameHeadSize = 8
    package static let bodyStart = frameHeadSize + nonceSize
    package static let sealOverhead = bodyStart + tagSize
    package static let locatorSize = 28
    package static let recordOverhead = sealOverhead + locatorSize
    package static let pageStep = 256
    package static let pageTarget = 2048
    /// So many children an inner page takes however long their separators are: with fewer, long keys would make a tree without end.
    package static let leastChildren = 4
    package static let commitSize = 448
    package static let commitBodySize = 336
    package static let commitMACStart = 384
    package static let commitAlignment = 64
    package static let smallCommit = 32 * 1024

    package static let tombstoneTag: UInt8 = 0x7E
    /// 180 days in milliseconds: how long a tombstone is kept at least (section 6.4).
    package static let tombstoneLifetime: UInt64 = 180 * 86_400_000

    /// Section 8 of the specification.
    package enum Limit {
        package static let fileSize: UInt64 = 1 << 48
        package static let headerSize = 65_536
        /// Zeros after the newest commit.
        package static let reserve: UInt64 = 262_144
        package static let slots = 16
        package static let slotName = 63
        package static let grantedGroups = 32
        package static let extensions = 16
        package static let extensionName = 64
        package static let extensionValue = 4096
        package static let recordFrame = 20 << 20
        package static let secret = 16 << 20
        package static let attributes = 64
        package static let attributeBytes = 1 << 20
        package static let attributeName = 255
        package static let attributeInPage = 256
        package static let itemKey = 8192
        package static let field = 4096
        package static let pageFrame = 65_536
        package static let pageEntries = 4096
        package static let level: UInt8 = 15
        package static let keyringFrame = 4 << 20
        package static let devices = 1024
        package static let groups = 1024
        package static let compartments = 8192
        package static let historyFrame = 4096
        package static let links = 126
        /// Milliseconds since 1970: what a zigzag varint holds.
        package static let time: ClosedRange<Int64> = -(1 << 62)...(1 << 62 - 1)
        package static let generation: UInt64 = 1 << 63 - 1
        package static let passphrase = 65_536
        package static let keyFile = 64 << 20
    }
}
