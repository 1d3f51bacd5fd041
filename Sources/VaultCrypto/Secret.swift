internal import CSodium

/// Bytes that must not stay behind: held in locked, guarded memory, and wiped when the value goes.
///
/// A secret can be moved, not copied, unless `copy()` says so. It has no description, and is compared in constant time.
/// At most 2^31 bytes. Where the system has no memory left for it, `init(allocating:)` and `init(allocatingCopyOf:)`
/// throw; the others, made for what is small, end the program.
public struct Secret: ~Copyable, Sendable {
    private let piece: SecretMemory.Piece
    /// Where they start in the piece.
    private var first = 0
    /// How many bytes it has.
    public private(set) var count: Int

    private var start: UnsafeMutableRawPointer { piece.start + first }

    /// Makes a secret of `count` zero bytes.
    public init(count: Int) {
        precondition(count >= 0, "a secret has a size")
        guard let piece = SecretMemory.shared.allocate(count) ?? SecretMemory.shared.allocateFromReserve(count) else {
            preconditionFailure("out of memory for secrets")
        }
        self.piece = piece
        self.count = count
    }

    /// Makes a secret of `count` zero bytes, or throws `outOfMemory`: for what a file or a caller has the size of.
    package init(ifPossible count: Int) throws(CryptoError) {
        precondition(count >= 0, "a secret has a size")
        guard let piece = SecretMemory.shared.allocate(count) else { throw .outOfMemory }
        self.piece = piece
        self.count = count
    }

    /// Copies bytes; what they were copied from is the caller's to wipe.
    public init(copying bytes: UnsafeRawBufferPointer) {
        self.init(count: bytes.count)
        fill(from: bytes)
    }

    package mutating func fill(from bytes: UnsafeRawBufferPointer) {
        precondition(bytes.count <= count, "a secret has room for what it is filled with")
        if let source = bytes.baseAddress { start.copyMemory(from: source, byteCount: bytes.count) }
    }

    /// Copies bytes that are no secret by themselves.
    package init(bytes: [UInt8]) {
        self.init(count: bytes.count)
        bytes.withUnsafeBytes { if let source = $0.baseAddress { start.copyMemory(from: source, byteCount: $0.count) } }
    }

    /// Copies the UTF-8 bytes of a string. The string itself is ordinary memory and stays what it is: use this where
    /// the secret has come as a `String` anyway.
    public init(text: String) {
        self.init(count: text.utf8.count)
        for (index, byte) in text.utf8.enumerated() { start.storeBytes(of: byte, toByteOffset: index, as: UInt8.self) }
    }

    /// Makes a secret of `count` bytes from the system's random source.
    public static func random(count: Int) -> Secret {
        let secret = Secret(count: count)
        randombytes_buf(secret.start, count)
        return secret
    }

    deinit { SecretMemory.shared.free(piece) }

    /// Lends the bytes; they must not be kept beyond the call.
    @inline(__always)
    public borrowing func withUnsafeBytes<R: ~Copyable, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R)
        throws(E) -> R
    {
        try body(UnsafeRawBufferPointer(start: start, count: count))
    }

    /// Lends the bytes for writing; they must not be kept beyond the call.
    @inline(__always)
    public mutating func withUnsafeMutableBytes<R: ~Copyable, E: Error>(
        _ body: (UnsafeMutableRawBufferPointer) throws(E) -> R
    ) throws(E) -> R {
        try body(UnsafeMutableRawBufferPointer(start: start, count: count))
    }

    /// Lends the bytes as a span.
    @inline(__always)
    package borrowing func withSpan<R: ~Copyable, E: Error>(_ body: (Span<UInt8>) throws(E) -> R) throws(E) -> R {
        let bytes = UnsafeBufferPointer(start: start.assumingMemoryBound(to: UInt8.self), count: count)
        return try body(Span(_unsafeElements: bytes))
    }

    /// A second secret with the same bytes.
    public borrowing func copy() -> Secret { prefix(count) }

    /// A second secret with the first `length` bytes, at most as many as there are.
    public borrowing func prefix(_ length: Int) -> Secret { slice(0..<min(length, count)) }

    /// A second secret with a part of the bytes.
    package borrowing func slice(_ range: Range<Int>) -> Secret {
        precondition(range.lowerBound >= 0 && range.upperBound <= count, "a part lies within the whole")
        return Secret(copying: UnsafeRawBufferPointer(start: start + range.lowerBound, count: range.count))
    }

    /// Drops all but a part of the bytes, without a second allocation; what is dropped is wiped.
    package mutating func narrow(to range: Range<Int>) {
        precondition(range.lowerBound >= 0 && range.upperBound <= count, "a part lies within the whole")
        sodium_memzero(start, range.lowerBound)
        sodium_memzero(start + range.upperBound, count - range.upperBound)
        first += range.lowerBound
        count = range.count
    }

    /// Whether both have the same bytes, in a time that depends on their lengths only.
    public borrowing func equals(_ other: borrowing Secret) -> Bool {
        count == other.count && sodium_memcmp(start, other.start, count) == 0
    }

    /// Whether all secrets so far are in memory that the system cannot swap out; false where the limit on locked memory
    /// is too low.
    public static var isMemoryLocked: Bool { SecretMemory.shared.isLocked }
}
