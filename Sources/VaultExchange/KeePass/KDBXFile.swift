import CInterchange
import Glibc
import VaultFmt
import VaultLocal

/// An opened KDBX file: its decrypted but still compressed contents, which can be read any number of times.
struct KDBXFile: ~Copyable {
    let header: KDBXHeader
    /// The decrypted contents; in version 3, without the stream start.
    private let contents: SecretBuffer
    /// The maximum total size of all attachments, which are held in memory.
    let mostAttached: Int
    /// The maximum number of entries.
    let mostEntries: Int
    /// The number of bytes after the block that ends the contents of version 4; nothing authenticates them.
    let trailing: Int

    /// Creates a file from contents that are already decrypted. `mostAttached` is the maximum size of all attachments
    /// together; by default, this limit is derived from the size of the contents, as the maximum number of entries is.
    init(header: KDBXHeader, contents: consuming SecretBuffer, mostAttached: Int? = nil, trailing: Int = 0) {
        self.header = header
        self.trailing = trailing
        self.mostAttached = mostAttached ?? KDBX.Limit.attached(contents.count)
        mostEntries = KDBX.Limit.entries(contents.count, mostAttached ?? 0)
        self.contents = contents
    }

    /// Decrypts a file; throws `noAccess` if the key is wrong.
    static func open(
        _ file: [UInt8], key: borrowing KDBXKey, limits: ReaderLimits, mostRounds: UInt64 = KDBX.Limit.rounds,
        mostAttached: Int? = nil
    ) throws -> KDBXFile {
        let header = try KDBXHeader(file)
        if header.isCompressed { try ForeignLibrary.zlib.load() }
        try ForeignLibrary.expat.load()
        let keys = try key.keys(for: header, limits: limits, mostRounds: mostRounds)
        // Loading libraries and deriving the key have used some of the memory that was free when the file was read.
        try SourceMemory.require(SourceMemory.base + SourceMemory.times * file.count, for: "the source")
        var trailing = 0
        let contents = try header.major == 3 ? version3(file, header, keys) : version4(file, header, keys, &trailing)
        return KDBXFile(header: header, contents: contents, mostAttached: mostAttached, trailing: trailing)
    }

    private static let wrongKey = ExchangeError(
        .noAccess,
        "the passphrase or the key file does not open this KDBX file", .checkFactors)

    private static func decipher(_ header: KDBXHeader, _ keys: borrowing KDBXKeys) throws
        -> ForeignCipher
    {
        let cipher =
            switch header.cipher {
            case .aes256: INTERCHANGE_AES256_CBC
            case .twofish: INTERCHANGE_TWOFISH_CBC
            case .chacha20: INTERCHANGE_CHACHA20
            }
        return try header.iv.span.withUnsafeBytes { iv in
            try ForeignCipher(cipher, key: keys.encryption, iv: iv)
        }
    }

    /// Decrypts in place, and returns the number of bytes without the padding, or nil if the padding is wrong.
    private static func decrypt(
        _ bytes: inout Secret, _ header: KDBXHeader, _ keys: borrowing KDBXKeys
    ) throws -> Int? {
        guard !header.cipher.hasBlocks || (bytes.count > 0 && bytes.count.isMultiple(of: 16)) else { return nil }
        let cipher = try decipher(header, keys)
        try bytes.withUnsafeMutableBytes { bytes in try cipher.decrypt(bytes) }
        guard header.cipher.hasBlocks else { return bytes.count }
        return bytes.withUnsafeBytes { bytes in
            guard let padding = bytes.last, (1...16).contains(padding),
                bytes.suffix(Int(padding)).allSatisfy({ $0 == padding })
            else { return nil }
            return bytes.count - Int(padding)
        }
    }

    // MARK: version 4

    private static func version4(
        _ file: [UInt8], _ header: KDBXHeader, _ keys: borrowing KDBXKeys, _ trailing: inout Int
    ) throws -> SecretBuffer {
        var reader = ByteReader(file, at: header.bytes.count)
        let digest = try reader.bytes(32)
        let isWhole = header.bytes.span.withUnsafeBytes { ForeignHash.sha256($0).equals(Secret(bytes: digest)) }
        guard isWhole else {
            throw ExchangeError.damaged("byte \(header.bytes.count)", "the header's checksum does not match")
        }
        guard keys.mac(header: header.bytes).equals(Secret(bytes: try reader.bytes(32))) else { throw wrongKey }
        var all = try wiped(file.count - reader.position)
        let (used, end) = try file.span.withUnsafeBytes { file in
            try all.withUnsafeMutableBytes { all in
                try blocks(file, from: header.bytes.count + 64, keys, into: all)
            }
        }
        trailing = file.count - end
        all = all.prefix(used)
        guard let count = try decrypt(&all, header, keys) else {
            throw ExchangeError.damaged(
                "byte \(header.bytes.count + 64)", "the decrypted contents have incorrect padding")
        }
        return buffer(all, 0..<count)
    }

    /// Copies the blocks that authenticate, and returns their total number of bytes and the end of the last one.
    private static func blocks(
        _ file: UnsafeRawBufferPointer, from start: Int, _ keys: borrowing KDBXKeys,
        into all: UnsafeMutableRawBufferPointer
    ) throws -> (used: Int, end: Int) {
        var at = start
        var used = 0
        var number: UInt64 = 0
        while true {
            guard file.count - at >= 36 else {
                throw ExchangeError.damaged("byte \(at)", "the file is truncated here")
            }
            let mac = Secret(copying: UnsafeRawBufferPointer(rebasing: file[at..<at + 32]))
            let size = Int(Array(file[at + 32..<at + 36]).littleEndian)
            guard size <= file.count - at - 36 else {
                throw ExchangeError.damaged("byte \(at)", "the file is truncated within the block that starts here")
            }
            let block = UnsafeRawBufferPointer(rebasing: file[at + 36..<at + 36 + size])
            let front = number.littleEndianBytes + UInt32(size).littleEndianBytes
            guard front.span.withUnsafeBytes({ keys.mac(block: number, $0, block) }).equals(mac) else {
                throw ExchangeError.damaged(
                    "byte \(at)", "the block that starts here does not authenticate: the file is damaged")
            }
            at += 36 + size
            guard size > 0 else { break }
            UnsafeMutableRawBufferPointer(rebasing: all[used...]).copyMemory(from: block)
            used += size
            number += 1
        }
        return (used, at)
    }

    // MARK: version 3

    private static func version3(
        _ file: [UInt8], _ header: KDBXHeader, _ keys: borrowing KDBXKeys
    ) throws -> SecretBuffer {
        let start = header.bytes.count
        guard file.count > start, !header.cipher.hasBlocks || (file.count - start).isMultiple(of: 16) else {
            throw ExchangeError.damaged("byte \(file.count)", "the file is truncated here")
        }
        var all = try wiped(file.count - start)
        all.withUnsafeMutableBytes { all in
            file.span.withUnsafeBytes { all.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[start...])) }
        }
        // A wrong key is first detected here: usually by the padding, otherwise by the stream start.
        guard let count = try decrypt(&all, header, keys), count >= 32,
            all.prefix(32).equals(Secret(bytes: header.streamStart))
        else { throw wrongKey }
        var out = SecretBuffer(capacity: count)
        try all.withUnsafeBytes { bytes in
            try hashedBlocks(UnsafeRawBufferPointer(rebasing: bytes[32..<count]), at: start + 32, &out)
        }
        return out
    }

    private static func hashedBlocks(
        _ bytes: UnsafeRawBufferPointer, at start: Int, _ out: inout SecretBuffer
    ) throws {
        var at = 0
        var number: UInt64 = 0
        while true {
            guard bytes.count - at >= 40, Array(bytes[at..<at + 4]).littleEndian == number else {
                throw ExchangeError.damaged("byte \(start + at)", "the file is truncated or damaged here")
            }
            let hash = Secret(copying: UnsafeRawBufferPointer(rebasing: bytes[at + 4..<at + 36]))
            let size = Int(Array(bytes[at + 36..<at + 40]).littleEndian)
            guard size <= bytes.count - at - 40 else {
                throw ExchangeError.damaged(
                    "byte \(start + at)", "the file is truncated within the block that starts here")
            }
            guard size > 0 else { return }
            let block = UnsafeRawBufferPointer(rebasing: bytes[at + 40..<at + 40 + size])
            guard ForeignHash.sha256(block).equals(hash) else {
                throw ExchangeError.damaged("byte \(start + at)", "the block that starts here does not match its hash")
            }
            out.append(block)
            at += 40 + size
            number += 1
        }
    }

    // MARK: contents

    /// Passes the decompressed contents to `body` in pieces: the inner header and the XML in version 4, only the XML in
    /// version 3.
    borrowing func unpacked(_ body: (UnsafeRawBufferPointer) throws -> Void) throws {
        let isCompressed = header.isCompressed
        try contents.withUnsafeBytes { packed in
            guard isCompressed else { return try body(packed) }
            let limit = min(
                max(KDBX.Limit.unpackedAtLeast, packed.count * KDBX.Limit.unpackedTimes), KDBX.Limit.unpackedAtMost)
            var inflater = try Inflater()
            var total = 0
            try inflater.unpack(packed, "the contents") { chunk in
                total += chunk.count
                guard total <= limit else {
                    throw ExchangeError(
                        .overLimit, "the contents decompress to more than the maximum of \(limit >> 20) MiB")
                }
                try body(chunk)
            }
            guard inflater.isAtEnd else {
                throw ExchangeError.damaged("the contents", "the compressed data is truncated")
            }
        }
    }

    private static func wiped(_ count: Int) throws -> Secret {
        guard count >= 0, count <= KDBX.Limit.file else {
            throw ExchangeError.damaged("byte 0", "the file is truncated")
        }
        return Secret(count: count)
    }

    private static func buffer(_ secret: borrowing Secret, _ range: Range<Int>) -> SecretBuffer {
        var buffer = SecretBuffer(capacity: range.count)
        secret.withUnsafeBytes { buffer.append(UnsafeRawBufferPointer(rebasing: $0[range])) }
        return buffer
    }
}

/// The stream cipher for protected values, which are encrypted in the order in which they occur in the XML.
struct InnerStream: ~Copyable {
    private let cipher: ForeignCipher

    /// `number`: KDBX's number for the cipher: 2 is Salsa20, 3 is ChaCha20.
    init(_ number: UInt32, key: borrowing Secret) throws {
        switch number {
        case 2:
            let iv: [UInt8] = [0xE8, 0x30, 0x09, 0x4B, 0x97, 0x20, 0x5D, 0x2A]
            cipher = try Self.made(INTERCHANGE_SALSA20, ForeignHash.sha256(key), iv)
        case 3:
            let hash = ForeignHash.sha512(key)
            let iv = hash.withUnsafeBytes { Array($0[32..<44]) }
            cipher = try Self.made(INTERCHANGE_CHACHA20, hash.prefix(32), iv)
        default: throw ExchangeError(.unavailable, "this file's inner stream is neither Salsa20 nor ChaCha20")
        }
    }

    private static func made(
        _ cipher: interchange_cipher, _ key: borrowing Secret, _ iv: [UInt8]
    ) throws -> ForeignCipher {
        try iv.span.withUnsafeBytes { iv in try ForeignCipher(cipher, key: key, iv: iv) }
    }

    /// Encrypts or decrypts the next value, in place.
    borrowing func apply(_ value: inout Secret) throws {
        try value.withUnsafeMutableBytes { bytes in try cipher.encrypt(bytes) }
    }
}

/// The memory used by a file's contents, with a single limit: compressed contents could expand to gigabytes.
final class KDBXMemory {
    /// The memory of a value in addition to its bytes.
    static let head = 256

    private let most: Int
    private var total = 0

    init(most: Int) { self.most = most }

    /// Adds to the total, or throws `overLimit`.
    func take(_ count: Int) throws {
        guard count <= most - total else {
            throw ExchangeError(
                .overLimit,
                "the attachments and one entry together are larger than \(most >> 20) MiB",
                .allowMemory)
        }
        total += count
    }

    /// Subtracts memory that has been released.
    func release(_ count: Int) { total -= count }
}

/// Limits the parts that entries can repeat: any number of entries can have the same attachment or refer to the same
/// field.
struct KDBXRepeats {
    private let most: Int
    private var total = 0

    /// `attached`: the maximum total size of all attachments, each counted once.
    init(attached: Int) { most = 2 * min(attached, 1 << 60) }

    /// Counts the repeatable parts of an entry; an attachment that the entry's earlier states have under the same name
    /// is stored once.
    mutating func take(_ entry: KDBXEntry) throws {
        var seen: [String: Set<KDBXBinaries.Place>] = [:]
        for (name, place) in ([entry] + entry.history).flatMap(\.binaries)
        where seen[name, default: []].insert(place).inserted {
            try take(place.count)
        }
        // During conversion, each state of an entry has its own copy of the attachments; a vault keeps only a few
        // states.
        for state in entry.history.dropLast(Self.usualStates) {
            for (_, place) in state.binaries { try take(place.count) }
        }
        try take(entry.folder.reduce(0) { $0 + $1.utf8.count })
        for state in [entry] + entry.history { try take(state.customIcon.utf8.count) }
    }

    /// The number of earlier states of an entry that programs do not normally exceed.
    private static let usualStates = 16

    /// Counts bytes, or throws `overLimit`.
    mutating func take(_ count: Int) throws {
        guard count <= most - total else {
            throw ExchangeError(
                .overLimit,
                "the attachments, references and folders of all entries would take more than \(most >> 20) MiB, because many entries have the same ones",
                .allowMemory)
        }
        total += count
    }
}

/// The attachments of a file, stored in a few large pieces of memory that is wiped after use.
final class KDBXBinaries {
    /// The position of an attachment.
    struct Place: Hashable {
        fileprivate let piece: Int
        fileprivate let range: Range<Int>
        var count: Int { range.count }
    }

    private final class Piece {
        var buffer = SecretBuffer(capacity: 65_536)
    }

    private static let pieceSize = 4 << 20
    private var pieces: [Piece] = []
    private var start = 0
    /// The memory used by the attachments and by the entries in memory.
    let memory: KDBXMemory

    /// Makes an empty store for attachments and entries of at most `most` bytes in total.
    init(most: Int) { memory = KDBXMemory(most: most) }

    /// Begins an attachment.
    func begin() {
        if (pieces.last?.buffer.count ?? Self.pieceSize) >= Self.pieceSize { pieces.append(Piece()) }
        start = pieces.last?.buffer.count ?? 0
    }

    /// Appends to the current attachment.
    func append(_ bytes: UnsafeRawBufferPointer) throws {
        try memory.take(bytes.count)
        pieces.last?.buffer.append(bytes)
    }

    /// Ends the current attachment.
    func end() -> Place { Place(piece: pieces.count - 1, range: start..<(pieces.last?.buffer.count ?? start)) }

    /// Returns a copy of an attachment.
    func secret(_ place: Place) -> Secret {
        pieces[place.piece].buffer.withUnsafeBytes {
            Secret(copying: UnsafeRawBufferPointer(rebasing: $0[place.range]))
        }
    }
}

/// The inner header of version 4: fields before the XML.
struct InnerHeaderReader: ~Copyable {
    let binaries: KDBXBinaries
    private(set) var list: [KDBXBinaries.Place] = []
    private(set) var stream: UInt32 = 0
    private(set) var key = Secret(count: 0)
    private(set) var isComplete = false

    private var front: [UInt8] = []
    private var left = 0
    private var skipsFlags = false
    private var value = SecretBuffer(capacity: 128)
    private var position = 0

    init(_ binaries: KDBXBinaries) { self.binaries = binaries }

    /// Consumes the bytes that belong to the header, and returns the rest.
    mutating func take(_ bytes: UnsafeRawBufferPointer) throws -> UnsafeRawBufferPointer {
        var rest = bytes
        while !isComplete, !rest.isEmpty || (front.count == 5 && left == 0) {
            if front.count < 5 {
                front.append(rest[0])
                rest = UnsafeRawBufferPointer(rebasing: rest[1...])
                position += 1
                if front.count == 5 { try begin() }
            }
            guard front.count == 5 else { continue }
            let piece = UnsafeRawBufferPointer(rebasing: rest[..<min(left, rest.count)])
            rest = UnsafeRawBufferPointer(rebasing: rest[piece.count...])
            left -= piece.count
            position += piece.count
            try append(piece)
            if left == 0 { try end() }
        }
        return rest
    }

    private mutating func begin() throws {
        left = Int(Array(front[1...]).littleEndian)
        value.removeAll()
        if front[0] == KDBX.InnerField.binary {
            try binaries.memory.take(KDBXMemory.head)
            binaries.begin()
            skipsFlags = true
        } else if left > KDBX.Limit.headerField {
            throw ExchangeError.damaged(
                "byte \(position) of the contents", "a field of the inner header has \(left) bytes")
        }
    }

    private mutating func append(_ piece: UnsafeRawBufferPointer) throws {
        guard front[0] == KDBX.InnerField.binary else { return value.append(piece) }
        // The first byte is a flag that tells KeePass whether to protect the attachment in memory.
        let isFirst = skipsFlags && !piece.isEmpty
        try binaries.append(UnsafeRawBufferPointer(rebasing: piece[(isFirst ? 1 : 0)...]))
        if isFirst { skipsFlags = false }
    }

    private mutating func end() throws {
        switch front[0] {
        case KDBX.InnerField.end: isComplete = true
        case KDBX.InnerField.stream:
            stream = UInt32(truncatingIfNeeded: value.withUnsafeBytes { Array($0) }.littleEndian)
        case KDBX.InnerField.key: key = value.secret()
        case KDBX.InnerField.binary: list.append(binaries.end())
        default: break
        }
        front = []
    }
}
