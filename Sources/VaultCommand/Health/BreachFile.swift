import Glibc
import VaultBytes
import VaultConsole
import VaultFmt
import VaultLocal

/// A downloaded list of leaked passwords: sorted lines `HASH:COUNT` with SHA-1 hashes in hexadecimal, as published by
/// haveibeenpwned.com. The list is searched in place; in a 40 GB file, a search reads about forty lines.
final class BreachFile {
    private let descriptor: Int32
    private let size: Int64
    private let path: String
    /// The maximum length of a line, which has 40 digits, a colon, a number and a line ending.
    private static let longestLine = 128

    init(_ path: String) throws {
        descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw CommandFailure(system: errno, "cannot open the list \(TerminalText.path(path))")
        }
        self.path = path
        size = Int64(lseek(descriptor, 0, SEEK_END))
        guard size > 0 else { throw damaged("it is empty, or not a regular file") }
        try requireOrder()
    }

    deinit { close(descriptor) }

    /// Returns how often the password with this hash was leaked, or nil if the hash is not in the list.
    func count(of hash: UnsafeRawBufferPointer) throws -> UInt64? {
        var (low, high) = (Int64(0), size)
        while low < high {
            let line = try line(at: low + (high - low) / 2)
            let order = line.compare(to: hash)
            if order == 0 { return line.count }
            if order < 0 { low = line.end } else { high = line.start }
        }
        return nil
    }

    /// The number of lines that are compared to see whether the list is sorted.
    private static let probes: Int64 = 1024

    /// Throws an error for files of any other kind, and for lists that are not sorted by hash, in which a search would
    /// miss passwords. If a list has up to about a thousand lines, every line is checked; otherwise, about a thousand
    /// evenly spaced lines are checked.
    private func requireOrder() throws {
        var (offset, last): (Int64, [UInt8]) = (0, [])
        while offset < size {
            let line = try line(at: offset)
            guard !line.hash.lexicographicallyPrecedes(last) else { throw damaged("its lines are not sorted") }
            last = line.hash
            offset = max(line.end, offset + size / Self.probes)
        }
    }

    private struct Line {
        let start: Int64
        /// The position after the line's ending.
        let end: Int64
        let hash: [UInt8]
        let count: UInt64

        /// Returns a negative number, zero or a positive number if this line's hash is less than, equal to or greater
        /// than the wanted hash.
        func compare(to wanted: UnsafeRawBufferPointer) -> Int {
            for (one, other) in zip(hash, wanted) where one != other { return one < other ? -1 : 1 }
            return 0
        }
    }

    /// Returns the line that contains the byte at the given offset.
    private func line(at offset: Int64) throws -> Line {
        let from = max(0, offset - Int64(Self.longestLine))
        var bytes = [UInt8](repeating: 0, count: 2 * Self.longestLine)
        let read = pread(descriptor, &bytes, bytes.count, off_t(from))
        guard read > 0 else {
            throw CommandFailure(system: read < 0 ? errno : EIO, "cannot read \(TerminalText.path(path))")
        }
        let (before, here) = (bytes[..<Int(offset - from)], bytes[Int(offset - from)..<read])
        let start = before.lastIndex(of: 0x0A).map { $0 + 1 } ?? 0
        guard start > 0 || from == 0 else { throw damaged("a line is too long") }
        let end = here.firstIndex(of: 0x0A).map { $0 + 1 } ?? read
        guard end < read || bytes[end - 1] == 0x0A || from + Int64(end) == size else {
            throw damaged("a line is too long")
        }
        let words =
            String(decoding: bytes[start..<end], as: UTF8.self)
            .split(whereSeparator: \.isWhitespace).first?.split(separator: ":", maxSplits: 1) ?? []
        guard let digits = words.first, digits.utf8.count == 40, let hash = Hex.decode(digits.lowercased()) else {
            throw damaged("a line is not HASH:COUNT with a SHA-1 hash")
        }
        return Line(
            start: from + Int64(start), end: from + Int64(end), hash: hash,
            count: words.count > 1 ? UInt64(words[1]) ?? 1 : 1)
    }

    private func damaged(_ what: String) -> CommandFailure {
        CommandFailure(
            .damaged,
            "\(TerminalText.path(path)) is not a sorted list of SHA-1 hashes: \(what); download the list that is ordered by hash"
        )
    }
}
