import VaultFmt
import VaultLocal

/// The header of a KDBX file: everything needed to decrypt the rest, except the key.
struct KDBXHeader {
    let major: UInt16
    let minor: UInt16
    let cipher: KDBXCipher
    let isCompressed: Bool
    let masterSeed: [UInt8]
    let iv: [UInt8]
    let kdf: KDBXKDF
    /// In version 3 only: the inner stream and its key, and the first bytes of the decrypted contents.
    let innerStream: UInt32
    let innerKey: [UInt8]
    let streamStart: [UInt8]
    /// The header's bytes, exactly as in the file.
    let bytes: [UInt8]

    /// Reads the header at the start of a file.
    init(_ file: [UInt8]) throws {
        guard file.starts(with: KDBX.signature) else {
            guard !file.starts(with: KDBX.signatureOfKeePass1) else {
                throw ExchangeError(
                    .unavailable, "this is a KeePass 1 database; open it in KeePassXC or KeePass 2, and save it")
            }
            throw ExchangeError.damaged("byte 0", "this is not a KDBX file")
        }
        var reader = ByteReader(file, at: KDBX.signature.count)
        minor = UInt16(try reader.number(2))
        major = UInt16(try reader.number(2))
        guard major >= 3 else {
            throw ExchangeError(
                .unavailable,
                "this is KDBX \(major).\(minor), but only 3.1, 4.0 and 4.1 can be read; open the file with a current KeePass "
                    + "or KeePassXC, and save it again")
        }
        guard major == 3 || (major == 4 && minor <= 1) else {
            throw ExchangeError(
                .unavailable,
                "this is KDBX \(major).\(minor), but only 3.1, 4.0 and 4.1 can be read; a newer vaultfmt is needed"
            )
        }
        var fields: [UInt8: [UInt8]] = [:]
        while true {
            let at = reader.position
            let id = UInt8(try reader.number(1))
            let size = Int(try reader.number(major == 3 ? 2 : 4))
            guard size <= KDBX.Limit.headerField else {
                throw ExchangeError.damaged("byte \(at)", "field \(id) of the header has \(size) bytes")
            }
            let value = try reader.bytes(size)
            if id == KDBX.HeaderField.end { break }
            guard fields.updateValue(value, forKey: id) == nil else {
                throw ExchangeError.damaged("byte \(at)", "field \(id) of the header occurs twice")
            }
        }
        bytes = Array(file[..<reader.position])
        func field(_ id: UInt8, _ what: String, size: Int? = nil) throws -> [UInt8] {
            guard let value = fields[id] else { throw ExchangeError.damaged("byte 12", "the header has no \(what)") }
            guard size == nil || value.count == size else {
                throw ExchangeError.damaged(
                    "byte 12", "the header's \(what) has \(value.count) bytes, not \(size ?? 0)")
            }
            return value
        }
        guard let cipher = KDBXCipher(try field(KDBX.HeaderField.cipher, "cipher", size: 16)) else {
            throw ExchangeError(.unavailable, "this file's cipher is not AES-256, Twofish or ChaCha20")
        }
        self.cipher = cipher
        let compression = try field(KDBX.HeaderField.compression, "compression", size: 4)
        guard compression[0] <= 1, compression[1...].allSatisfy({ $0 == 0 }) else {
            throw ExchangeError(.unavailable, "this file uses an unknown compression method")
        }
        isCompressed = compression[0] == 1
        masterSeed = try field(KDBX.HeaderField.masterSeed, "master seed", size: 32)
        iv = try field(KDBX.HeaderField.iv, "initialisation vector", size: cipher.ivSize)
        if major == 3 {
            kdf = .aes(
                seed: try field(KDBX.HeaderField.transformSeed, "transform seed", size: 32),
                rounds: try field(KDBX.HeaderField.transformRounds, "number of rounds", size: 8).littleEndian)
            innerStream = UInt32(
                truncatingIfNeeded: try field(KDBX.HeaderField.innerStream, "inner stream", size: 4).littleEndian)
            innerKey = try field(KDBX.HeaderField.innerKey, "inner key")
            streamStart = try field(KDBX.HeaderField.streamStart, "stream start", size: 32)
        } else {
            kdf = try KDBXKDF(try field(KDBX.HeaderField.kdf, "key derivation"))
            (innerStream, innerKey, streamStart) = (0, [], [])
        }
    }

    /// Creates a header of version 4.1 with new random seeds.
    init(cipher: KDBXCipher, kdf: KDBXKDF, isCompressed: Bool = true) {
        (major, minor) = (4, 1)
        self.cipher = cipher
        self.kdf = kdf
        self.isCompressed = isCompressed
        masterSeed = .random(32)
        iv = .random(cipher.ivSize)
        (innerStream, innerKey, streamStart) = (0, [], [])
        var bytes = KDBX.signature + minor.littleEndianBytes + major.littleEndianBytes
        func append(_ id: UInt8, _ value: [UInt8]) {
            bytes += [id] + UInt32(value.count).littleEndianBytes + value
        }
        append(KDBX.HeaderField.cipher, cipher.id)
        append(KDBX.HeaderField.compression, UInt32(isCompressed ? 1 : 0).littleEndianBytes)
        append(KDBX.HeaderField.masterSeed, masterSeed)
        append(KDBX.HeaderField.iv, iv)
        append(KDBX.HeaderField.kdf, kdf.encoded)
        append(KDBX.HeaderField.end, [0x0D, 0x0A, 0x0D, 0x0A])
        self.bytes = bytes
    }
}

/// A key derivation function with its parameters.
enum KDBXKDF {
    case aes(seed: [UInt8], rounds: UInt64)
    case argon2(KDBXArgon2)

    /// Reads a variant dictionary.
    init(_ encoded: [UInt8]) throws {
        let values = try Self.dictionary(encoded)
        func number(_ name: String) throws -> UInt64 {
            guard let value = values[name], value.count == 4 || value.count == 8 else { throw Self.missing(name) }
            return value.littleEndian
        }
        func bytes(_ name: String) throws -> [UInt8] {
            guard let value = values[name] else { throw Self.missing(name) }
            return value
        }
        switch try bytes("$UUID") {
        case KDBX.ID.aesKDF, KDBX.ID.aesKDF4:
            let seed = try bytes("S")
            guard seed.count == 32 else { throw Self.missing("S") }
            self = .aes(seed: seed, rounds: try number("R"))
        case let id where id == KDBX.ID.argon2d || id == KDBX.ID.argon2id:
            self = .argon2(
                KDBXArgon2(
                    isID: id == KDBX.ID.argon2id, version: try number("V"), passes: try number("I"),
                    memoryBytes: try number("M"), lanes: try number("P"), salt: try bytes("S"),
                    secret: values["K"] ?? [], associated: values["A"] ?? []))
        default:
            throw ExchangeError(.unavailable, "this file's key derivation is not AES-KDF, Argon2d or Argon2id")
        }
    }

    private static func missing(_ name: String) -> ExchangeError {
        .damaged("byte 12", "the header's key derivation parameters lack a valid '\(name)'")
    }

    private static func dictionary(_ encoded: [UInt8]) throws -> [String: [UInt8]] {
        var reader = ByteReader(encoded, at: 0, in: "the header's key derivation")
        guard try reader.number(2) >> 8 == 1 else { throw missing("version") }
        var values: [String: [UInt8]] = [:]
        while true {
            let type = UInt8(try reader.number(1))
            guard type != KDBX.Variant.end else { return values }
            let name = try reader.bytes(Int(try reader.number(4)))
            values[String(decoding: name, as: UTF8.self)] = try reader.bytes(Int(try reader.number(4)))
        }
    }

    /// The encoded form in a header.
    var encoded: [UInt8] {
        var out = UInt16(0x0100).littleEndianBytes
        func append(_ type: UInt8, _ name: String, _ value: [UInt8]) {
            out += [type] + UInt32(name.utf8.count).littleEndianBytes + Array(name.utf8)
            out += UInt32(value.count).littleEndianBytes + value
        }
        switch self {
        case .aes(let seed, let rounds):
            append(KDBX.Variant.bytes, "$UUID", KDBX.ID.aesKDF)
            append(KDBX.Variant.uint64, "R", rounds.littleEndianBytes)
            append(KDBX.Variant.bytes, "S", seed)
        case .argon2(let argon2):
            append(KDBX.Variant.bytes, "$UUID", argon2.isID ? KDBX.ID.argon2id : KDBX.ID.argon2d)
            append(KDBX.Variant.bytes, "S", argon2.salt)
            append(KDBX.Variant.uint32, "P", UInt32(clamping: argon2.lanes).littleEndianBytes)
            append(KDBX.Variant.uint64, "M", argon2.memoryBytes.littleEndianBytes)
            append(KDBX.Variant.uint64, "I", argon2.passes.littleEndianBytes)
            append(KDBX.Variant.uint32, "V", UInt32(clamping: argon2.version).littleEndianBytes)
        }
        return out + [KDBX.Variant.end]
    }
}

/// The parameters of Argon2d and Argon2id.
struct KDBXArgon2 {
    let isID: Bool
    /// The version: 0x10 or 0x13.
    let version: UInt64
    let passes: UInt64
    let memoryBytes: UInt64
    let lanes: UInt64
    let salt: [UInt8]
    var secret: [UInt8] = []
    var associated: [UInt8] = []
}

/// A cursor that reads numbers and bytes from an array of bytes.
struct ByteReader {
    private let all: [UInt8]
    private let place: String?
    private(set) var position: Int

    /// `place`: The place to name in errors instead of the byte offset.
    init(_ bytes: [UInt8], at position: Int, in place: String? = nil) {
        all = bytes
        self.position = position
        self.place = place
    }

    var remaining: Int { all.count - position }

    mutating func bytes(_ count: Int) throws -> [UInt8] {
        guard count >= 0, count <= remaining else {
            throw ExchangeError.damaged(place ?? "byte \(position)", "the file is truncated, or damaged here")
        }
        defer { position += count }
        return Array(all[position..<position + count])
    }

    /// Reads a little-endian number of up to 8 bytes.
    mutating func number(_ size: Int) throws -> UInt64 { try bytes(size).littleEndian }
}

extension [UInt8] {
    /// The little-endian value of at most 8 bytes.
    var littleEndian: UInt64 { prefix(8).reversed().reduce(0) { $0 << 8 | UInt64($1) } }

    /// Returns random bytes that are not secret.
    static func random(_ count: Int) -> [UInt8] { Secret.random(count: count).withUnsafeBytes { Array($0) } }
}

extension FixedWidthInteger {
    var littleEndianBytes: [UInt8] {
        (0..<Self.bitWidth / 8).map { UInt8(truncatingIfNeeded: self >> Self($0 * 8)) }
    }
}
