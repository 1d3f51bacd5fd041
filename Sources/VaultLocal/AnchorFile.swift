internal import VaultBytes
internal import VaultCrypto
internal import VaultFmt
internal import VaultStore

/// The contents of a file with the remembered state of a vault at one path: the anchor, and the changes that the user
/// dropped there.
///
/// A checksum detects damage: otherwise, a damaged row would make an intact vault look forked.
enum AnchorFile {
    /// The maximum length in bytes; this is enough for the maximum number of rows and as many dropped changes.
    static let longest = 1 << 24
    private static let magic: [UInt8] = Array("vfmtANC1".utf8)
    private static let rowSize = 16
    private static let droppedSize = 24

    static func encode(_ state: RememberedState) -> [UInt8] {
        let point = state.point
        var out = magic
        out.append(state.vault.bytes)
        out.append(point.ownersPublicKey)
        out.append(point.chain)
        out.append(u64: point.generation)
        out.append(u64: point.vector.floor)
        out.append(u32: UInt32(state.path.utf8.count))
        out += Array(state.path.utf8)
        out.append(u32: UInt32(point.vector.rows.count))
        for row in point.vector.rows { row.encode(into: &out) }
        out.append(u32: UInt32(state.dropped.count))
        for one in state.dropped { for number in [one.id, one.taken, one.dropped] { out.append(u64: number) } }
        out.append(checksum(out))
        return out
    }

    private static func checksum(_ bytes: [UInt8]) -> Bytes32 { bytes.withUnsafeBytes { Blake2b.hash($0) } }

    /// Reads the contents of a file; returns nil if they are damaged.
    static func decode(_ bytes: [UInt8]) -> RememberedState? {
        let body = bytes.count - Format.hashSize
        guard body >= magic.count, Array(bytes.prefix(magic.count)) == magic,
            Bytes32(Array(bytes[body...])) == checksum(Array(bytes[..<body]))
        else { return nil }
        let span = bytes.span
        var cursor = Cursor(over: magic.count..<body, of: Cursor(span, at: 0, else: .structureInvalid))
        do throws(FormatError) { return try decode(span, &cursor) } catch { return nil }
    }

    private static func decode(_ bytes: Span<UInt8>, _ cursor: inout Cursor) throws(FormatError) -> RememberedState? {
        let vault = VaultID(try cursor.bytes16(bytes))
        let (owners, chain) = (try cursor.bytes32(bytes), try cursor.bytes32(bytes))
        let (generation, floor) = (try cursor.u64(bytes), try cursor.u64(bytes))
        let path = try cursor.text(bytes, try cursor.slice(Int(try cursor.u32(bytes)), "a path"))
        var rows: [Vector.Row] = []
        for _ in 0..<(try count(bytes, &cursor, rowSize)) { rows.append(try row(bytes, &cursor)) }
        var dropped: [DroppedChanges] = []
        for _ in 0..<(try count(bytes, &cursor, droppedSize)) {
            dropped.append(
                DroppedChanges(
                    id: try cursor.u64(bytes), taken: try cursor.u64(bytes), dropped: try cursor.u64(bytes)))
        }
        guard cursor.isAtEnd, let vector = Vector(floor: floor, rows: rows) else { return nil }
        return RememberedState(
            vault: vault,
            point: AnchorPoint(ownersPublicKey: owners, generation: generation, chain: chain, vector: vector),
            path: path, dropped: dropped)
    }

    private static func count(
        _ bytes: Span<UInt8>, _ cursor: inout Cursor, _ size: Int
    ) throws(FormatError) -> Int {
        let count = Int(try cursor.u32(bytes))
        guard count <= cursor.remaining / size else { throw cursor.error("a list extends past the end") }
        return count
    }

    private static func row(_ bytes: Span<UInt8>, _ cursor: inout Cursor) throws(FormatError) -> Vector.Row {
        let (id, value) = (try cursor.u64(bytes), try cursor.u64(bytes))
        return Vector.Row(id, value & ~(1 << 63), isSplit: value >> 63 == 1)
    }
}
