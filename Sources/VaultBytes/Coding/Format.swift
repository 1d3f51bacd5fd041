/// Every magic number, tag, size and limit of format 1, with the names used in the specification (sections 2, 3, 5 and
/// 11).
package enum Format {
    package static let version: UInt16 = 1
    /// `89 56 41 55 4C 54 0D 0A`, read as a little-endian number.
    package static let magic: UInt64 = 0x0A0D_544C_5541_5689

    package static let idSize = 16
    package static let hashSize = 32
    package static let keySize = 32
    package static let nonceSize = 24
    package static let tagSize = 16
    package static let signatureSize = 64

    // Section 3: header and slots.
    package static let headerStep = 4096
    /// The size of the header hash and header MAC, at the end of the header.
    package static let headerProofSize = 64
    /// The number of bytes in a slot before its parameters.
    package static let slotParametersStart = 32
    package static let fullPayload = nonceSize + keySize + tagSize
    package static let scopedPayload = nonceSize + scopedPayloadPlain + tagSize
    package static let scopedPayloadPlain = 72 + Limit.grantedGroups * groupGrantSize
    package static let groupGrantSize = 8 + keySize
    package static let slotNameArea = 64
    /// The offset of the provider's data in an owner part.
    package static let ownerPartFixedSize = 122
    package static let ownerPartStep = 128

    // Sections 2 and 5: frames.
    package static let frameHeadSize = 8
    package static let bodyStart = frameHeadSize + nonceSize
    package static let sealOverhead = bodyStart + tagSize
    package static let locatorSize = 32
    package static let recordOverhead = sealOverhead + locatorSize
    package static let pageStep = 256
    package static let pageTarget = 2048
    /// The number of children that an inner page always accepts, regardless of the length of their separators. Without
    /// this minimum, long keys could make a tree of unlimited height.
    package static let leastChildren = 4
    package static let commitSize = 512
    package static let commitAlignment: UInt64 = 512
    package static let commitCoreSize = 368
    package static let commitBodySize = commitCoreSize + hashSize + signatureSize
    /// The maximum size, including padding, of a commit that is written and synced in one step.
    package static let smallCommit: UInt64 = 32 * 1024
    /// The maximum number of bytes that a writer appends before a commit to a file that is changed in place.
    package static let mostAppended: UInt64 = 1 << 28
    /// The distance from the end of the file within which a reader looks for the newest commit (section 7.1, step 5).
    package static let searchBound: UInt64 = mostAppended + 1024
    package static let searchedHeads = 64

    /// The first byte of a forgotten value's key (section 6.5).
    package static let forgottenTag: UInt8 = 0x7E
    /// The number of revisions after which a writer takes a new id (section 7.5).
    package static let revisionsOfID = 4096
    /// The exclusive upper bound of the random part of a new revision.
    package static let revisionSpread: UInt64 = 32_768
    /// The maximum number of an item's equal earlier values that are kept under different dots (section 6.4).
    package static let equalValues = 8
    /// The offset of the byte that a writer locks (section 7.4).
    package static let lockOffset: UInt64 = 1 << 48

    /// The limits in section 11 of the specification.
    package enum Limit {
        package static let fileSize: UInt64 = 1 << 48
        package static let headerSize = 1 << 20
        /// The maximum number of zero bytes after the newest commit.
        package static let reserve: UInt64 = 262_144
        package static let slots = 64
        package static let slotSize = 65_536
        package static let slotParameters = 17_408
        package static let ownerPart = 168...17_408
        package static let opaquePayload = 16
        package static let slotName = 63
        package static let grantedGroups = 32
        package static let providerName = 64
        package static let providerParameters = 16_384
        package static let providerData = 16_384
        package static let candidates = 16
        package static let extensions = 16
        package static let extensionName = 64
        package static let extensionValue = 4096
        package static let recordFrame = 20 << 20
        package static let secret = 16 << 20
        package static let attributes = 64
        package static let attributeName = 255
        package static let attributeInPage = 256
        package static let attributeInItemRecord = 4096
        package static let attributeValue = 16 << 20
        package static let itemKey = 8176
        /// The maximum length of an item's key in a page, excluding an item id after it.
        package static let pageKey = 8192
        package static let field = 4096
        package static let fieldsOfReservedClass = 16
        package static let pageFrame = 65_536
        package static let pageEntries = 4096
        package static let level: UInt8 = 15
        /// The maximum number of dots in an entry, not counting its own.
        package static let fieldDots = 67
        package static let pastFrame = 2 << 20
        package static let pastDots = 4352
        package static let pastValues = 4096
        package static let siblings = 256
        /// The maximum number of earlier values that a vault can be set to keep per item.
        package static let earlierValues = 50
        package static let keyringFrame = 4 << 20
        package static let groups = 1024
        package static let compartments = 8192
        package static let handOvers = 16
        package static let vectorFrame = 4 << 20
        /// The maximum number of rows that a vector frame stores itself if it has a base.
        package static let rowsOnBase = 64
        /// The maximum number of rows of a vector.
        package static let rows = 262_000
        /// The range of times, in milliseconds since 1970. The difference between any such time and the time of a
        /// revision fits in a zigzag varint.
        package static let time: ClosedRange<Int64> = -(1 << 61)...(1 << 61 - 1)
        /// The maximum value of a generation, revision, clock, group number or compartment number.
        package static let number: UInt64 = 1 << 63 - 1
        package static let passphrase = 65_536
        package static let keyFile = 64 << 20
    }
}

/// Every label of format 1. A label names the purpose of a key derivation or a seal.
package enum Label {
    package static let header: StaticString = "vaultfmt-1 header"
    package static let keyFile: StaticString = "vaultfmt-1 key file"
    package static let keyFileCheck: StaticString = "vaultfmt-1 key file check"
    package static let stretch: StaticString = "vaultfmt-1 stretch"
    package static let slotKey: StaticString = "vaultfmt-1 slot key"
    package static let slotCommitment: StaticString = "vaultfmt-1 slot commitment"
    package static let slotWrap: StaticString = "vaultfmt-1 slot wrap"
    package static let slot: StaticString = "vaultfmt-1 slot"
    package static let slotOwner: StaticString = "vaultfmt-1 slot owner"
    package static let index: StaticString = "vaultfmt-1 index"
    package static let locator: StaticString = "vaultfmt-1 locator"
    package static let locatorMask: StaticString = "vaultfmt-1 locator mask"
    package static let owner: StaticString = "vaultfmt-1 owner"
    package static let signing: StaticString = "vaultfmt-1 signing"
    package static let keyringKey: StaticString = "vaultfmt-1 keyring"
    package static let earlier: StaticString = "vaultfmt-1 earlier"
    package static let device: StaticString = "vaultfmt-1 device"
    package static let group: StaticString = "vaultfmt-1 group"
    package static let compartment: StaticString = "vaultfmt-1 compartment"
    package static let age: StaticString = "vaultfmt-1 age"
    package static let deviceCompartment: StaticString = "vaultfmt-1 device compartment"
    package static let record: StaticString = "vaultfmt-1 record"
    package static let page: StaticString = "vaultfmt-1 page"
    package static let past: StaticString = "vaultfmt-1 past"
    package static let keyring: StaticString = "vaultfmt-1 keyring"
    package static let vector: StaticString = "vaultfmt-1 vector"
    package static let commit: StaticString = "vaultfmt-1 commit"
    package static let digest: StaticString = "vaultfmt-1 digest"
    package static let chain: StaticString = "vaultfmt-1 chain"
    package static let commitOwner: StaticString = "vaultfmt-1 commit owner"
    package static let handOver: StaticString = "vaultfmt-1 hand-over"
}
