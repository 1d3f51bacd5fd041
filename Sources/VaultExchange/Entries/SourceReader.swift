import CVaultShim
import Glibc
import VaultFmt
import VaultLocal

/// The imported file or standard input, which is read in pieces that are wiped after use.
package struct SourceReader: ~Copyable {
    /// The source's name in messages.
    let name: String
    private let descriptor: Int32
    /// The size of a regular file; nil for other sources.
    private let size: Int?
    private var chunk: Secret
    private var position = 0
    private var end = 0
    private var bytesBefore: UInt64 = 0
    /// The size of a part of the source for which there is enough memory.
    private var expectedPart = 1 << 20

    /// Opens a file; `-` is standard input.
    /// - `capacity`: The number of bytes read at once, which is also the most that `withStart` can pass to its body.
    package init(_ source: String, capacity: Int = 65_536) throws {
        let opened = try Self.opened(source)
        (name, descriptor) = (opened.name, opened.descriptor)
        size = Self.size(opened.descriptor)
        chunk = Secret(count: capacity)
    }

    private static func opened(_ source: String) throws -> (name: String, descriptor: Int32) {
        let name = source == "-" ? "standard input" : TerminalText.quoted(source)
        try SourceMemory.require(SourceMemory.base, for: name)
        guard source != "-" else { return (name, STDIN_FILENO) }
        let descriptor = vault_open(source, O_RDONLY, 0)
        guard descriptor >= 0 else {
            throw ExchangeError(
                descriptor == -ENOENT ? .noSuchFile : .io,
                "cannot open \(name): \(Descriptor.message(-descriptor)); check the path")
        }
        return (name, descriptor)
    }

    private static func size(_ descriptor: Int32) -> Int? {
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        return Int(status.st_size)
    }

    /// Reads a part of a source that is already in memory.
    /// - `offset`: The position in the source at which the part starts.
    package init(_ part: borrowing SecretBuffer, at offset: UInt64) {
        name = "a part of the source"
        descriptor = -1
        size = nil
        chunk = part.secret()
        end = chunk.count
        bytesBefore = offset
    }

    deinit {
        if descriptor > STDERR_FILENO { close(descriptor) }
    }

    /// The number of bytes consumed so far.
    var offset: UInt64 { bytesBefore + UInt64(position) }

    /// Returns the next byte without consuming it, or nil at the end.
    mutating func peek() throws -> UInt8? {
        if position == end, try !refill() { return nil }
        let at = position
        return chunk.withUnsafeBytes { $0[at] }
    }

    /// Consumes and returns the next byte, or nil at the end.
    mutating func next() throws -> UInt8? {
        guard let byte = try peek() else { return nil }
        position += 1
        return byte
    }

    /// Consumes all bytes up to the next byte in `stops`, or up to the end, and appends them to `target`.
    /// - `limit`: The maximum number of bytes that the target may hold afterwards; the rest is not consumed.
    mutating func take(upTo stops: ASCIISet, into target: inout SecretBuffer, limit: Int) throws {
        while try peek() != nil {
            let from = position
            let found = chunk.withUnsafeBytes { bytes -> Int in
                let most = min(end, from + max(limit - target.count, 0))
                var to = from
                while to < most, !stops.contains(bytes[to]) { to += 1 }
                target.append(UnsafeRawBufferPointer(rebasing: bytes[from..<to]))
                return to
            }
            position = found
            if target.count > expectedPart {
                expectedPart = 2 * target.count
                try SourceMemory.require(SourceMemory.base + SourceMemory.timesDecoded * expectedPart, for: name)
            }
            guard found == end else { return }
        }
    }

    /// Passes the first bytes to `body` without consuming them: as many as there are, up to `capacity`.
    mutating func withStart<R>(_ body: (UnsafeRawBufferPointer) -> R) throws -> R {
        while position == 0, end < chunk.count, try fill() {}
        let (from, to) = (position, end)
        return chunk.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[from..<to])) }
    }

    /// Consumes the remaining bytes.
    /// - `limit`: The maximum number of bytes. An error is thrown if there are more, or if there is too little memory
    ///   to import them.
    mutating func readAll(limit: Int) throws -> SecretBuffer {
        var expected = max(size ?? 0, chunk.count)
        try requireMemory(expected, limit: limit)
        var all = SecretBuffer(capacity: expected + 1)
        while try peek() != nil {
            let (from, to) = (position, end)
            if all.count + to - from > expected {
                expected = 2 * (all.count + to - from)
                try requireMemory(expected, limit: 2 * limit)
            }
            chunk.withUnsafeBytes { all.append(UnsafeRawBufferPointer(rebasing: $0[from..<to])) }
            position = end
            guard all.count <= limit else { throw tooLarge(limit) }
        }
        return all
    }

    private func requireMemory(_ count: Int, limit: Int) throws {
        guard count <= max(limit, chunk.count) else { throw tooLarge(limit) }
        guard descriptor >= 0 else { return }
        try SourceMemory.require(SourceMemory.base + SourceMemory.times * count, for: name)
    }

    private func tooLarge(_ limit: Int) -> ExchangeError {
        ExchangeError(
            .invalidArgument, "\(name) is larger than \(limit >> 20) MiB, the maximum for this format; split it")
    }

    private mutating func refill() throws -> Bool {
        bytesBefore += UInt64(end)
        position = 0
        end = 0
        return try fill()
    }

    /// Reads once, appending to the buffer; returns false at the end.
    private mutating func fill() throws -> Bool {
        guard descriptor >= 0 else { return false }
        while true {
            let from = end
            let count = chunk.withUnsafeMutableBytes { bytes in
                read(descriptor, bytes.baseAddress?.advanced(by: from), bytes.count - from)
            }
            if count >= 0 {
                end += count
                return count > 0
            }
            guard errno == EINTR else { throw ExchangeError(.io, "cannot read \(name): \(Descriptor.message(errno))") }
        }
    }
}

/// Checks that there is enough memory for twice as many entries, each time the number of entries has doubled.
struct EntryRoom {
    private var expected = 16_384

    /// Records the number of entries. Throws an error if there is too little memory for twice as many.
    mutating func note(_ count: Int) throws {
        guard count >= expected else { return }
        try SourceMemory.require(SourceMemory.base + SourceMemory.entry * count, for: "more than \(count) entries")
        expected = 2 * count
    }
}
