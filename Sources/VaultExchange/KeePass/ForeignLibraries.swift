import CInterchange
import VaultFmt
import VaultLocal

/// A library that is needed only for other programs' files and is loaded when the first such file is read or written.
enum ForeignLibrary {
    case gcrypt, zlib, expat

    /// Loads the library; throws `unavailable` with the name of its package if the library is not installed, and `io`
    /// if it cannot be loaded.
    func load() throws {
        var reason = [CChar](repeating: 0, count: 256)
        switch interchange_load(number, &reason, reason.count) {
        case INTERCHANGE_LOADED: return
        case INTERCHANGE_FAILED:
            let words = String(decoding: reason.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            throw ExchangeError(
                .io,
                "a library that this format needs cannot be loaded: \(TerminalText.singleLine(words)); raise the limits on open files "
                    + "and memory, and try again")
        default:
            throw ExchangeError(
                .unavailable,
                "this format needs a library that is not installed; install the Debian package '\(package)'")
        }
    }

    /// The failure of a library that ran out of memory.
    static func outOfMemory(_ library: String) -> ExchangeError {
        ExchangeError(.io, "\(library) ran out of memory; free some and try again")
    }

    private var package: String { String(cString: interchange_package(number)) }

    private var number: interchange_library {
        switch self {
        case .gcrypt: INTERCHANGE_GCRYPT
        case .zlib: INTERCHANGE_ZLIB
        case .expat: INTERCHANGE_EXPAT
        }
    }
}

/// Hashes computed by libgcrypt, which must be loaded.
enum ForeignHash {
    static func sha256(_ bytes: borrowing Secret) -> Secret { bytes.withUnsafeBytes { sha256($0) } }

    static func sha256(_ bytes: UnsafeRawBufferPointer) -> Secret {
        digest(32) { interchange_sha256(bytes.baseAddress, bytes.count, $0) }
    }

    static func sha512(_ bytes: borrowing Secret) -> Secret {
        bytes.withUnsafeBytes { bytes in digest(64) { interchange_sha512(bytes.baseAddress, bytes.count, $0) } }
    }

    /// Returns the HMAC-SHA-256 of two concatenated pieces.
    static func hmac(
        key: borrowing Secret, _ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer
    ) -> Secret {
        key.withUnsafeBytes { key in
            digest(32) {
                let result = interchange_hmac_sha256(
                    key.baseAddress, key.count, first.baseAddress, first.count, second.baseAddress, second.count, $0)
                precondition(result == 0, "libgcrypt has HMAC-SHA-256")
            }
        }
    }

    private static func digest(_ count: Int, _ body: (UnsafeMutableRawPointer) -> Void) -> Secret {
        var digest = Secret(count: count)
        digest.withUnsafeMutableBytes { if let start = $0.baseAddress { body(start) } }
        return digest
    }
}

/// One of libgcrypt's ciphers, with a 32-byte key. The library must be loaded.
struct ForeignCipher: ~Copyable {
    private let handle: UnsafeMutableRawPointer

    init(_ cipher: interchange_cipher, key: borrowing Secret, iv: UnsafeRawBufferPointer) throws {
        precondition(key.count == 32, "these ciphers have a key of 32 bytes")
        var handle: UnsafeMutableRawPointer?
        let result = key.withUnsafeBytes {
            interchange_cipher_open(cipher, $0.baseAddress, iv.baseAddress, iv.count, &handle)
        }
        guard interchange_is_memory(result) == 0 else { throw ForeignLibrary.outOfMemory("libgcrypt") }
        guard result == 0, let handle else {
            throw ExchangeError(.unavailable, "libgcrypt does not support a cipher that this file uses")
        }
        self.handle = handle
    }

    deinit { interchange_cipher_close(handle) }

    /// Encrypts in place; a block cipher accepts only whole blocks.
    borrowing func encrypt(_ bytes: UnsafeMutableRawBufferPointer) throws {
        guard !bytes.isEmpty else { return }
        try check(interchange_cipher_encrypt(handle, bytes.baseAddress, bytes.count))
    }

    /// Decrypts in place; a block cipher accepts only whole blocks.
    borrowing func decrypt(_ bytes: UnsafeMutableRawBufferPointer) throws {
        guard !bytes.isEmpty else { return }
        try check(interchange_cipher_decrypt(handle, bytes.baseAddress, bytes.count))
    }

    private borrowing func check(_ result: Int32) throws {
        guard result == 0 else {
            throw ExchangeError(.unavailable, "libgcrypt cannot use a cipher that this file uses")
        }
    }
}

/// Decompresses gzip with zlib, which must be loaded.
struct Inflater: ~Copyable {
    private let stream: UnsafeMutableRawPointer
    private var chunk = Secret(count: 262_144)
    /// True if the end of the compressed data has been reached.
    private(set) var isAtEnd = false

    init() throws {
        guard let stream = interchange_inflate_open() else {
            throw ForeignLibrary.outOfMemory("zlib")
        }
        self.stream = stream
    }

    deinit { interchange_inflate_close(stream) }

    /// Decompresses a piece and passes on the output in chunks. Anything after the end is ignored.
    /// - Throws: Whatever `body` throws, and `damaged` with `place` if the data is not gzip.
    mutating func unpack(
        _ bytes: UnsafeRawBufferPointer, _ place: String,
        _ body: (UnsafeRawBufferPointer) throws -> Void
    ) throws {
        var rest = bytes
        while !isAtEnd {
            var left = rest.count
            var room = chunk.count
            let source = rest
            let stream = stream
            let flow = chunk.withUnsafeMutableBytes {
                interchange_inflate(stream, source.baseAddress, &left, $0.baseAddress, &room)
            }
            guard flow != INTERCHANGE_NO_MEMORY else { throw ForeignLibrary.outOfMemory("zlib") }
            guard flow != INTERCHANGE_BROKEN else {
                throw ExchangeError.damaged(place, "the compressed data is damaged")
            }
            isAtEnd = flow == INTERCHANGE_END
            rest = UnsafeRawBufferPointer(rebasing: rest[(rest.count - left)...])
            let written = chunk.count - room
            guard written > 0 || !rest.isEmpty else { return }
            try chunk.withUnsafeBytes { bytes in
                try body(UnsafeRawBufferPointer(rebasing: bytes[..<written]))
            }
            if rest.isEmpty, room > 0 { return }
        }
    }
}

/// Compresses to gzip with zlib, which must be loaded.
struct Deflater: ~Copyable {
    private let stream: UnsafeMutableRawPointer
    private var chunk = Secret(count: 65_536)

    init() throws {
        guard let stream = interchange_deflate_open() else {
            throw ForeignLibrary.outOfMemory("zlib")
        }
        self.stream = stream
    }

    deinit { interchange_deflate_close(stream) }

    /// Compresses a piece and passes on the output; the last piece ends the stream.
    mutating func pack(
        _ bytes: UnsafeRawBufferPointer, isLast: Bool,
        _ body: (UnsafeRawBufferPointer) throws -> Void
    ) throws {
        var rest = bytes
        while true {
            var left = rest.count
            var room = chunk.count
            let source = rest
            let stream = stream
            let flow = chunk.withUnsafeMutableBytes {
                interchange_deflate(stream, source.baseAddress, &left, isLast ? 1 : 0, $0.baseAddress, &room)
            }
            guard flow != INTERCHANGE_NO_MEMORY else { throw ForeignLibrary.outOfMemory("zlib") }
            guard flow != INTERCHANGE_BROKEN else { throw ExchangeError(.bug, "zlib cannot compress this") }
            rest = UnsafeRawBufferPointer(rebasing: rest[(rest.count - left)...])
            let written = chunk.count - room
            try chunk.withUnsafeBytes { bytes in
                try body(UnsafeRawBufferPointer(rebasing: bytes[..<written]))
            }
            if isLast ? flow == INTERCHANGE_END : rest.isEmpty && room > 0 { return }
        }
    }
}
