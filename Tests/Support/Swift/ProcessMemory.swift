internal import CTestSupport
internal import Glibc

/// Something that must not be in a process's memory.
package struct Needle: Sendable {
    package let name: String
    package let bytes: [UInt8]

    package init(_ name: String, _ bytes: [UInt8]) {
        self.name = name
        self.bytes = bytes
    }

    package init(_ name: String, _ text: String) { self.init(name, Array(text.utf8)) }
}

/// The memory of another process, all of it that can be read.
package struct ProcessMemory {
    private let pid: Int32

    package init(pid: Int32) { self.pid = pid }

    private struct Region {
        let range: Range<UInt64>
        let name: String
    }

    private static let pieceSize = 1 << 20

    /// The needles found, each with the number of places and the name of the region of the first one.
    package func find(_ needles: [Needle]) throws -> [String: (count: Int, place: String)] {
        let memory = open("/proc/\(pid)/mem", O_RDONLY | O_CLOEXEC)
        guard memory >= 0 else { throw Unreadable("cannot read the memory of \(pid): error \(errno)") }
        defer { close(memory) }
        var found: [String: (count: Int, place: String)] = [:]
        let overlap = UInt64(needles.map(\.bytes.count).max() ?? 0)
        var piece = [UInt8](repeating: 0, count: Self.pieceSize)
        var readBytes = 0
        for region in try regions() {
            var start = region.range.lowerBound
            while start < region.range.upperBound {
                let wanted = Int(min(UInt64(Self.pieceSize), region.range.upperBound - start))
                let count = piece.withUnsafeMutableBytes { pread(memory, $0.baseAddress, wanted, off_t(start)) }
                guard count > 0 else { break }
                readBytes += count
                for needle in needles {
                    let hits = Self.count(needle.bytes, in: piece, count)
                    guard hits > 0 else { continue }
                    let known = found[needle.name]
                    found[needle.name] = ((known?.count ?? 0) + hits, known?.place ?? region.name)
                }
                // A needle that lies across two pieces is whole in the next one.
                guard start + UInt64(count) < region.range.upperBound, UInt64(count) > overlap else { break }
                start += UInt64(count) - overlap
            }
        }
        guard readBytes > 1 << 20 else { throw Unreadable("only \(readBytes) bytes of \(pid) could be read") }
        return found
    }

    private func regions() throws -> [Region] {
        try ProcFile.lines("/proc/\(pid)/maps").compactMap { line in
            let words = line.split(separator: " ", omittingEmptySubsequences: true)
            guard let addresses = words.first?.split(separator: "-"), addresses.count == 2,
                let low = UInt64(addresses[0], radix: 16),
                let high = UInt64(addresses[1], radix: 16)
            else { return nil }
            let name = words.count > 5 ? String(words[5]) : "anonymous"
            return ["[vvar]", "[vsyscall]", "[vvar_vclock]"].contains(name)
                ? nil : Region(range: low..<high, name: name)
        }
    }

    private static func count(_ needle: [UInt8], in piece: [UInt8], _ size: Int) -> Int {
        piece.withUnsafeBytes { piece in
            var hits = 0
            var from = 0
            while from < size, let start = piece.baseAddress {
                let hit = test_find(start + from, size - from, needle, needle.count)
                guard hit >= 0 else { break }
                hits += 1
                from += hit + 1
            }
            return hits
        }
    }
}

/// A file of the kernel's about a process.
enum ProcFile {
    static func lines(_ path: String) throws -> [Substring] {
        guard let file = fopen(path, "re") else { throw Unreadable("cannot read \(path): error \(errno)") }
        defer { fclose(file) }
        var all: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 65_536)
        while case let count = fread(&piece, 1, piece.count, file), count > 0 { all += piece[..<count] }
        return String(decoding: all, as: UTF8.self).split(separator: "\n")
    }
}

/// A process cannot be looked into.
package struct Unreadable: Error, CustomStringConvertible {
    package let description: String

    init(_ description: String) { self.description = description }
}
