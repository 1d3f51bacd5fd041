internal import VaultBytes

/// Where each record goes: in the order of the items' ids, one after the other. Eight bytes an item once it is made, and 18 while it is.
struct RecordOrder {
    private let offsets: [UInt64]
    let bytes: UInt64
    static let changed = VaultError(.structureInvalid, "the index changed while it was read")

    private struct Record {
        let id: Bytes16
        let length: UInt32
    }

    /// Looks through the tree once; items count as they come in the order of keys.
    init(_ tree: TreeReader, items: UInt64, start: UInt64) throws(VaultError) {
        // The halves of ids apart, since two items hardly ever share the first one.
        var ids: [UInt64] = []
        var lengths: [UInt32] = []
        let expected = Int(min(items, 1 << 24))
        ids.reserveCapacity(expected)
        lengths.reserveCapacity(expected)
        var leaves = LeafBatches(tree, isCaching: false) { (leaf, _, found: inout [Record]) throws(VaultError) in
            let page = try tree.source.load(leaf)
            for index in 0..<page.count where !page.isTombstone(index) {
                let entry = try ItemCodec.decode(page, index).entry
                found.append(Record(id: entry.id, length: UInt32(entry.record.length)))
            }
            return false
        }
        while let found = try leaves.nextOutputs() {
            for record in found {
                ids.append(UInt64(bigEndian: record.id.words.0))
                lengths.append(record.length)
            }
        }
        guard let count = UInt32(exactly: ids.count) else { throw VaultError(.limitExceeded, "too many items") }
        let order = Self.order(ids, count)
        ids = []
        (offsets, bytes) = Self.place(order, lengths, from: start)
    }

    private static func order(_ ids: [UInt64], _ count: UInt32) -> [UInt32] {
        var order = Array(0..<count)
        ids.withUnsafeBufferPointer { ids in order.sort { ids[Int($0)] < ids[Int($1)] } }
        return order
    }

    private static func place(_ order: [UInt32], _ lengths: [UInt32], from start: UInt64) -> (offsets: [UInt64], bytes: UInt64) {
        var offsets = [UInt64](repeating: 0, count: order.count)
        var next = start
        for ordinal in order {
            offsets[Int(ordinal)] = next
            next += UInt64(lengths[Int(ordinal)])
        }
        return (offsets, next - start)
    }

    func offset(of ordinal: Int) throws(VaultError) -> UInt64 {
        guard ordinal < offsets.count else { throw Self.changed }
        return offsets[ordinal]
    }
}
