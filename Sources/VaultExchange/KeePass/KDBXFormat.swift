import VaultBytes

/// Constants of KeePass's format, versions 3.1, 4.0 and 4.1, as used by KeePass and KeePassXC.
enum KDBX {
    static let signature: [UInt8] = [0x03, 0xD9, 0xA2, 0x9A, 0x67, 0xFB, 0x4B, 0xB5]
    /// The signature of KeePass 1, whose files have a different structure.
    static let signatureOfKeePass1: [UInt8] = [0x03, 0xD9, 0xA2, 0x9A, 0x65, 0xFB, 0x4B, 0xB5]

    /// Fields of the header.
    enum HeaderField {
        static let end: UInt8 = 0
        static let cipher: UInt8 = 2
        static let compression: UInt8 = 3
        static let masterSeed: UInt8 = 4
        static let transformSeed: UInt8 = 5
        static let transformRounds: UInt8 = 6
        static let iv: UInt8 = 7
        static let innerKey: UInt8 = 8
        static let streamStart: UInt8 = 9
        static let innerStream: UInt8 = 10
        static let kdf: UInt8 = 11
    }

    /// Fields of the inner header of version 4.
    enum InnerField {
        static let end: UInt8 = 0
        static let stream: UInt8 = 1
        static let key: UInt8 = 2
        static let binary: UInt8 = 3
    }

    /// The types in a variant dictionary.
    enum Variant {
        static let end: UInt8 = 0
        static let uint32: UInt8 = 0x04
        static let uint64: UInt8 = 0x05
        static let bytes: UInt8 = 0x42
    }

    /// Identifiers of ciphers and key derivations.
    enum ID {
        static let aes256 = hex("31c1f2e6bf714350be5805216afc5aff")
        static let twofish = hex("ad68f29f576f4bb9a36ad47af965346c")
        static let chacha20 = hex("d6038a2b8b6f4cb5a524339a31dbb59a")
        static let aesKDF = hex("c9d9f39a628a4460bf740d08c18a4fea")
        static let aesKDF4 = hex("7c02bb8279a74ac0927d114a00648238")
        static let argon2d = hex("ef636ddf8c29444b91f7a9a403e30a0c")
        static let argon2id = hex("9e298b1956db4773b23dfc3ec6f0a1e6")

        private static func hex(_ text: String) -> [UInt8] { Hex.decode(text) ?? [] }
    }

    /// Limits on the work that a file can cause.
    enum Limit {
        /// The maximum size of a file, which is held in memory.
        static let file = 1 << 30
        /// The maximum size of a header field, in bytes.
        static let headerField = 1 << 20
        /// The limit on the decompressed contents, unless a multiple of the compressed size is larger.
        static let unpackedAtLeast = 256 << 20
        static let unpackedTimes = 64
        static let unpackedAtMost = 2 << 30
        /// The maximum total size of a file's attachments and one entry, unless the user allows more.
        /// Attachments of version 3 are compressed one by one, so a few kilobytes could expand to gigabytes.
        static func attached(_ file: Int) -> Int { (32 << 20) + 2 * min(file, Self.file) }
        /// The maximum number of entries in contents of this size. Each entry has an identifier of 16 random bytes,
        /// which cannot be compressed; only a malicious file has more entries.
        static func entries(_ contents: Int, _ allowed: Int) -> Int { 10_000 + max(contents / 16, allowed / 4096) }
        /// The maximum length of a tag or a comment, which expat holds in memory.
        static let tag = 8 << 20
        /// The maximum nesting depth of elements.
        static let depth = 256
        /// The maximum number of rounds of AES-KDF.
        static let rounds: UInt64 = 100_000_000
    }

    /// The seconds from the year 1 to 1970. Times in version 4 are counted from the year 1.
    static let secondsBefore1970: Int64 = 62_135_596_800

    /// The prefix of our keys in an entry's custom data.
    static let ownPrefix = "vaultfmt."
    /// The key under which programs keep the time of the last change of custom data.
    static let changeOfCustomData = "_LAST_MODIFIED"
}

/// The cipher used for the contents.
enum KDBXCipher: CaseIterable {
    case aes256, twofish, chacha20

    init?(_ id: [UInt8]) {
        guard let found = Self.allCases.first(where: { $0.id == id }) else { return nil }
        self = found
    }

    var id: [UInt8] {
        switch self {
        case .aes256: KDBX.ID.aes256
        case .twofish: KDBX.ID.twofish
        case .chacha20: KDBX.ID.chacha20
        }
    }

    var ivSize: Int { self == .chacha20 ? 12 : 16 }
    /// True if the contents are padded to a multiple of 16 bytes.
    var hasBlocks: Bool { self != .chacha20 }
}
