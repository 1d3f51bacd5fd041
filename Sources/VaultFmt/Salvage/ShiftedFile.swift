internal import VaultBytes
internal import VaultStore

/// A damaged file as it was before bytes were inserted or removed in front of its first object: a header and its copy,
/// then the objects at their former offsets, for which pages, keyrings and commits are sealed. It is only read.
final class ShiftedFile: FileHandle {
    private let file: any FileHandle
    /// The header, twice.
    private let front: [UInt8]
    /// The numbers of bytes that are missing or were inserted; one of the two numbers is 0.
    private let removed: UInt64
    let inserted: UInt64

    private init(_ file: any FileHandle, _ front: [UInt8], removed: UInt64, inserted: UInt64) {
        self.file = file
        self.front = front
        self.removed = removed
        self.inserted = inserted
    }

    /// The largest number of inserted bytes: the length of the longest header together with its copy. At most as many
    /// bytes can have been removed as there are in front of the first object.
    static let most = 2 * UInt64(Format.Limit.headerSize)
    private static let mostHeads = 16

    /// Describes the difference, such as "7 bytes are missing".
    var difference: String { removed > 0 ? "\(removed) bytes are missing" : "\(inserted) bytes were inserted" }

    /// Returns the file as it was, if one of its first commits opens at an offset other than its own and has an owner's
    /// proof. Nothing else is authenticated.
    static func find(
        _ file: any FileHandle, _ found: SalvageHeader, _ codec: CommitCodec
    ) throws(VaultError) -> ShiftedFile? {
        let start = found.header.bodyStart
        let size = try file.size()
        for place in try heads(file, size) {
            let frame = try file.bytes(Format.commitSize, at: place)
            // A commit at its own offset shows that nothing in front of it has moved.
            guard codec.open(frame, at: place) == nil else { return nil }
            let least = Padding.commitOffset(max(start, place - min(place, most)))
            for offset in stride(from: least, through: place + start, by: Int(Format.commitAlignment)) {
                guard let opened = codec.open(frame, at: offset), isProven(opened, codec, at: offset) else { continue }
                return ShiftedFile(
                    file, found.bytes + found.bytes, removed: offset - min(offset, place),
                    inserted: place - min(offset, place))
            }
        }
        return nil
    }

    private static func isProven(_ opened: OpenedCommit, _ codec: CommitCodec, at offset: UInt64) -> Bool {
        do throws(VaultError) {
            try codec.checkProof(opened, at: offset)
            return true
        } catch { return false }
    }

    /// Returns the offsets of the first heads of commits.
    private static func heads(_ file: any FileHandle, _ size: UInt64) throws(VaultError) -> [UInt64] {
        var places: [UInt64] = []
        var base: UInt64 = 0
        while base < size, size - base >= UInt64(Format.commitSize), places.count < mostHeads {
            let bytes = try file.bytes(Int(min(size - base, 1 << 20)), at: base)
            places += indices(of: FrameHead.commit, in: bytes).map { base + UInt64($0) }
            base += UInt64(bytes.count - 7)
        }
        return places.prefix(mostHeads).filter { size - $0 >= UInt64(Format.commitSize) }
    }

    /// Returns all indices at which the bytes contain a little-endian number.
    static func indices(of number: UInt64, in bytes: [UInt8]) -> [Int] {
        let first = UInt8(truncatingIfNeeded: number)
        return bytes.withUnsafeBytes { bytes in
            var found: [Int] = []
            var index = 0
            while index + 8 <= bytes.count {
                if bytes[index] == first,
                    UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)) == number
                {
                    found.append(index)
                }
                index += 1
            }
            return found
        }
    }

    // MARK: reading

    func size() throws(VaultError) -> UInt64 {
        let size = try file.size()
        return max(UInt64(front.count), size - min(size, inserted) + removed)
    }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(VaultError) {
        var rest = buffer
        var position = offset
        if position < UInt64(front.count), !buffer.isEmpty {
            let start = Int(position)
            let count = min(buffer.count, front.count - start)
            front.withUnsafeBytes { bytes in
                buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[start..<start + count]))
            }
            rest = UnsafeMutableRawBufferPointer(rebasing: buffer[count...])
            position += UInt64(count)
        }
        guard !rest.isEmpty else { return }
        let (place, isTooLarge) = (position - removed).addingReportingOverflow(inserted)
        guard !isTooLarge else { throw VaultError(.structureInvalid, "an offset is too large", at: offset) }
        try file.read(into: rest, at: place)
    }

    func identity() throws(VaultError) -> FileIdentity { try file.identity() }
    func isLockedByAnother() throws(VaultError) -> Bool { try file.isLockedByAnother() }
    func lockHolder() -> String? { file.lockHolder() }

    // MARK: writing

    private static let onlyRead = VaultError(.readOnly, "a damaged file is only read")

    func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(VaultError) { throw Self.onlyRead }
    func sync() throws(VaultError) { throw Self.onlyRead }
    func truncate(to size: UInt64) throws(VaultError) { throw Self.onlyRead }
    func lock() throws(VaultError) -> Bool { throw Self.onlyRead }
    func unlock() {}
    func copy(from other: any FileHandle, _ range: Range<UInt64>) throws(VaultError) { throw Self.onlyRead }
    func adopt(attributesOf other: any FileHandle) throws(VaultError) { throw Self.onlyRead }
}
