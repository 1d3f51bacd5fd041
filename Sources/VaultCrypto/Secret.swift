internal import CSodium

/// Bytes that must not remain in memory: held in locked, guarded memory, and wiped when the value is destroyed.
///
/// A secret can be moved but not copied, except with `copy()`. It has no description, and is compared in constant time.
/// Its size is at most 2^31 bytes. If the system does not have enough memory, `init(allocating:)` and
/// `init(allocatingCopyOf:)` throw; the other initializers, which are intended for small secrets, terminate the
/// program.
public struct Secret: ~Copyable, Sendable {
    private let piece: SecretMemory.Piece
    /// The offset of the bytes in the piece.
    private var first = 0
    /// The number of bytes.
    public private(set) var count: Int

    private var start: UnsafeMutableRawPointer { piece.start + first }

    /// Creates a secret of `count` zero bytes.
    public init(count: Int) {
        precondition(count >= 0, "the size of a secret must not be negative")
        guard let piece = SecretMemory.shared.allocate(count) ?? SecretMemory.shared.allocateFromReserve(count) else {
            preconditionFailure("out of memory for secrets")
        }
        self.piece = piece
        self.count = count
    }

    /// Creates a secret of `count` zero bytes, or throws `outOfMemory`. Use this for sizes that are determined by a
    /// file or a caller.
    package init(ifPossible count: Int) throws(CryptoError) {
        precondition(count >= 0, "the size of a secret must not be negative")
        guard let piece = SecretMemory.shared.allocate(count) else { throw .outOfMemory }
        self.piece = piece
        self.count = count
    }

    /// Copies bytes; the caller is responsible for wiping the original.
    public init(copying bytes: UnsafeRawBufferPointer) {
        self.init(count: bytes.count)
        fill(from: bytes)
    }

    package mutating func fill(from bytes: UnsafeRawBufferPointer) {
        precondition(bytes.count <= count, "the bytes must fit in the secret")
        if let source = bytes.baseAddress { start.copyMemory(from: source, byteCount: bytes.count) }
    }

    /// Copies bytes that are not themselves secret.
    package init(bytes: [UInt8]) {
        self.init(count: bytes.count)
        bytes.withUnsafeBytes { if let source = $0.baseAddress { start.copyMemory(from: source, byteCount: $0.count) } }
    }

    /// Copies the UTF-8 bytes of a string. The string itself is in ordinary memory and is not wiped: use this only if
    /// the secret is already a `String`.
    public init(text: String) {
        self.init(count: text.utf8.count)
        for (index, byte) in text.utf8.enumerated() { start.storeBytes(of: byte, toByteOffset: index, as: UInt8.self) }
    }

    /// Creates a secret of `count` bytes from the system's random number generator.
    public static func random(count: Int) -> Secret {
        let secret = Secret(count: count)
        randombytes_buf(secret.start, count)
        return secret
    }

    deinit { SecretMemory.shared.free(piece) }

    /// Passes the bytes to a function. The pointer is valid only during the call.
    @inline(__always)
    public borrowing func withUnsafeBytes<R: ~Copyable, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R)
        throws(E) -> R
    {
        try body(UnsafeRawBufferPointer(start: start, count: count))
    }

    /// Passes the bytes to a function for writing. The pointer is valid only during the call.
    @inline(__always)
    public mutating func withUnsafeMutableBytes<R: ~Copyable, E: Error>(
        _ body: (UnsafeMutableRawBufferPointer) throws(E) -> R
    ) throws(E) -> R {
        try body(UnsafeMutableRawBufferPointer(start: start, count: count))
    }

    /// Passes the bytes to a function as a span.
    @inline(__always)
    package borrowing func withSpan<R: ~Copyable, E: Error>(_ body: (Span<UInt8>) throws(E) -> R) throws(E) -> R {
        let bytes = UnsafeBufferPointer(start: start.assumingMemoryBound(to: UInt8.self), count: count)
        return try body(Span(_unsafeElements: bytes))
    }

    /// Returns a second secret with the same bytes.
    public borrowing func copy() -> Secret { prefix(count) }

    /// Returns a second secret with the first `length` bytes, or all bytes if there are fewer.
    public borrowing func prefix(_ length: Int) -> Secret { slice(0..<min(length, count)) }

    /// Returns a second secret with some of the bytes.
    package borrowing func slice(_ range: Range<Int>) -> Secret {
        precondition(range.lowerBound >= 0 && range.upperBound <= count, "the range must lie within the secret")
        return Secret(copying: UnsafeRawBufferPointer(start: start + range.lowerBound, count: range.count))
    }

    /// Narrows the secret to a range of its bytes in place; the other bytes are wiped.
    package mutating func narrow(to range: Range<Int>) {
        precondition(range.lowerBound >= 0 && range.upperBound <= count, "the range must lie within the secret")
        sodium_memzero(start, range.lowerBound)
        sodium_memzero(start + range.upperBound, count - range.upperBound)
        first += range.lowerBound
        count = range.count
    }

    /// Returns whether both secrets have the same bytes, in a time that depends only on their lengths.
    public borrowing func equals(_ other: borrowing Secret) -> Bool {
        count == other.count && sodium_memcmp(start, other.start, count) == 0
    }

    /// True if all secrets so far have been kept in memory that cannot be swapped out; false if the limit on locked
    /// memory is too low.
    public static var isMemoryLocked: Bool { SecretMemory.shared.isLocked }
}
