internal import VaultBytes

/// Where everything goes in a new file: records in the order of their nonces, then versions frames in the order of
/// their items' ids.
///
/// Records and frames are counted as they come in the order of the items' keys. In memory it is 16 bytes for a record,
/// once it is made, and about twice as much while it is.
struct RebuildLayout {
    /// Where each record goes.
    private let records: [UInt64]
    /// The first eight bytes of each record's nonce: of one that is copied, what it has; of one that is resealed, what
    /// it will have.
    private let nonces: [UInt64]
    /// Where each versions frame goes, and how long it will be.
    private let versions: [(offset: UInt64, length: Int)]
    let recordBytes: UInt64
    let versionBytes: UInt64

    static let changed = VaultError(.structureInvalid, "the index changed while it was read")

    /// One item's part of what is laid out.
    fileprivate struct Measured: Sendable {
        typealias Record = (offset: UInt64, length: UInt32, isResealed: Bool)

        let own: Record
        let others: [Record]
        let versions: (id: UInt64, size: Int, places: [Int])?
    }

    /// What is known of all of them before their places are.
    fileprivate struct Measures {
        var lengths: [UInt32] = []
        var nonces: [UInt64] = []
        /// Records whose nonce is to be read.
        var copied: [(record: UInt32, offset: UInt64)] = []
        var frames: [(id: UInt64, size: Int, places: Range<Int>)] = []
        /// The records that versions refer to, frame after frame.
        var places: [UInt32] = []
    }

    /// Goes over the tree once. Records in the compartments of `resealed` are sealed again.
    init(
        _ tree: TreeReader, _ reader: RebuildReader, items: UInt64, resealed: Set<UInt64>, start: UInt64,
        _ random: Randomness
    ) throws(VaultError) {
        var all = Measures()
        let expected = Int(min(items, 1 << 24))
        all.lengths.reserveCapacity(expected)
        all.nonces.reserveCapacity(expected)
        var leaves = LeafBatches(tree, isCaching: false) { (leaf, _, found: inout [Measured]) throws(VaultError) in
            try reader.measure(leaf) { (item) throws(VaultError) in found.append(Measured(item, resealed)) }
            return false
        }
        while let found = try leaves.nextOutputs() {
            for item in found { try all.add(item, random) }
        }
        try all.readNonces(tree.source.file)
        nonces = all.nonces
        (records, recordBytes) = Self.place(all.lengths, by: all.nonces, from: start)
        (versions, versionBytes) = Self.place(all, records, from: start + recordBytes)
    }

    private static func place(
        _ lengths: [UInt32], by nonces: [UInt64], from start: UInt64
    ) -> (offsets: [UInt64], bytes: UInt64) {
        var order = Array(0..<UInt32(lengths.count))
        nonces.withUnsafeBufferPointer { nonces in order.sort { nonces[Int($0)] < nonces[Int($1)] } }
        var offsets = [UInt64](repeating: 0, count: lengths.count)
        var next = start
        for record in order {
            offsets[Int(record)] = next
            next += UInt64(lengths[Int(record)])
        }
        return (offsets, next - start)
    }

    private static func place(
        _ all: Measures, _ records: [UInt64], from start: UInt64
    ) -> (frames: [(offset: UInt64, length: Int)], bytes: UInt64) {
        var frames = [(offset: UInt64, length: Int)](repeating: (0, 0), count: all.frames.count)
        var next = start
        for index in all.frames.indices.sorted(by: { all.frames[$0].id < all.frames[$1].id }) {
            let frame = all.frames[index]
            let places = all.places[frame.places].reduce(0) {
                $0 + VarintSize.of(Int(records[Int($1)])) + VarintSize.of(Int(all.lengths[Int($1)]))
            }
            let length = Padding.steppedFrame(frame.size + places)
            frames[index] = (next, length)
            next += UInt64(length)
        }
        return (frames, next - start)
    }

    func record(_ record: Int) throws(VaultError) -> (offset: UInt64, nonceStart: UInt64) {
        guard record < records.count else { throw Self.changed }
        return (records[record], nonces[record])
    }

    func versions(_ frame: Int) throws(VaultError) -> (offset: UInt64, length: Int) {
        guard frame < versions.count else { throw Self.changed }
        return versions[frame]
    }
}

extension RebuildLayout.Measured {
    fileprivate init(_ item: LiveItem, _ resealed: Set<UInt64>) {
        func measured(_ place: RecordRef) -> Record {
            (place.record.offset, UInt32(place.record.length), resealed.contains(place.compartment))
        }
        own = measured(item.own)
        others = item.others.map(measured)
        // The halves of ids apart, since two items hardly ever share the first one.
        versions = item.versions.map { (UInt64(bigEndian: $0.item.words.0), $0.sizeWithoutPlaces, item.versionPlaces) }
    }
}

extension RebuildLayout.Measures {
    fileprivate mutating func add(_ item: RebuildLayout.Measured, _ random: Randomness) throws(VaultError) {
        let first = lengths.count
        guard first + 1 + item.others.count < Int(UInt32.max) else {
            throw VaultError(.limitExceeded, "too many records")
        }
        add(item.own, random)
        for record in item.others { add(record, random) }
        guard let frame = item.versions else { return }
        let start = places.count
        places += frame.places.map { UInt32(first + $0) }
        frames.append((frame.id, frame.size, start..<places.count))
    }

    private mutating func add(_ record: RebuildLayout.Measured.Record, _ random: Randomness) {
        if !record.isResealed { copied.append((UInt32(lengths.count), record.offset)) }
        lengths.append(record.length)
        nonces.append(record.isResealed ? random.word() : 0)
    }

    /// Reads the beginnings of nonces in the order in which the records are in the file, which makes it a walk over the
    /// file.
    fileprivate mutating func readNonces(_ file: any FileHandle) throws(VaultError) {
        copied.sort { $0.offset < $1.offset }
        var index = 0
        while index < copied.count {
            let from = copied[index].offset
            var end = index + 1
            // As far as reading on is cheaper than another call.
            while end < copied.count, copied[end].offset - copied[end - 1].offset <= 4096,
                copied[end].offset - from < 1 << 20
            { end += 1 }
            let bytes = try file.bytes(Int(copied[end - 1].offset - from) + Format.frameHeadSize + 8, at: from)
            bytes.withUnsafeBytes { bytes in
                for one in copied[index..<end] {
                    let at = Int(one.offset - from) + Format.frameHeadSize
                    nonces[Int(one.record)] = UInt64(
                        bigEndian: bytes.loadUnaligned(fromByteOffset: at, as: UInt64.self))
                }
            }
            index = end
        }
        copied = []
    }
}

extension Randomness {
    /// Eight random bytes.
    fileprivate func word() -> UInt64 {
        var word: UInt64 = 0
        withUnsafeMutableBytes(of: &word) { fill($0) }
        return word
    }
}
