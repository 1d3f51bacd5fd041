internal import VaultBytes

/// The layout of a new file: records sorted by nonce, then pasts sorted by their items' ids.
///
/// Records and pasts are numbered in the order of the items' keys. The layout uses 4 bytes for each record, plus 8 if
/// records are resealed, and 16 while the layout is being computed.
struct RebuildLayout {
    private let records: RecordPlaces
    /// The first eight bytes of each record's new nonce; empty if no record is resealed.
    private let nonces: [UInt64]
    /// The offset and length of each past.
    private let pasts: [(offset: UInt64, length: Int)]
    let recordBytes: UInt64
    let pastBytes: UInt64

    static let changed = VaultError(.structureInvalid, "the index changed while it was being read")

    /// The measurements of one item.
    fileprivate struct Measured: Sendable {
        typealias Record = (offset: UInt64, length: UInt32, isResealed: Bool)

        let own: Record?
        let others: [Record]
        let past: (id: UInt64, size: Int, places: [Int])?

        /// The number of the item's records that will be resealed.
        var resealed: Int { others.reduce(own?.isResealed ?? false ? 1 : 0) { $0 + ($1.isResealed ? 1 : 0) } }
    }

    /// The measurements of all items, before places are assigned.
    fileprivate struct Measures {
        var lengths: [UInt32] = []
        /// The first bytes of each record's nonce; for a record that is copied, initially the record's offset.
        var nonces: [UInt64] = []
        /// The records that will be copied.
        var copied: [UInt32] = []
        var hasResealed = false
        var frames: [(id: UInt64, size: Int, places: Range<Int>)] = []
        /// The records that pasts refer to, frame by frame.
        var places: [UInt32] = []
    }

    /// Walks the tree once. Records in the compartments of `resealed` will be resealed.
    init(
        _ tree: TreeReader, _ reader: RebuildReader, items: UInt64, resealed: Set<UInt64>, start: UInt64,
        _ random: Randomness, on workers: Workers
    ) throws(VaultError) {
        var all = Measures()
        let expected = Int(min(items, 1 << 24))
        all.lengths.reserveCapacity(expected)
        all.nonces.reserveCapacity(expected)
        if resealed.isEmpty { all.copied.reserveCapacity(expected) }
        var leaves = LeafBatches(tree, on: workers, isCaching: false) {
            (leaf, _, found: inout [Measured]) throws(VaultError) in
            try reader.measure(leaf) { (item) throws(VaultError) in found.append(Measured(item, resealed)) }
            return false
        }
        while let found = try leaves.nextOutputs() {
            // Draws all the random numbers for this part at once, because each draw is a system call.
            var words = RandomWords(found.reduce(0) { $0 + $1.resealed }, random)
            for item in found { try all.add(item, &words) }
        }
        try all.readNonces(tree.source.file)
        records = RecordPlaces(&all.lengths, by: all.nonces, from: start)
        recordBytes = records.bytes
        nonces = all.hasResealed ? all.nonces : []
        (pasts, pastBytes) = Self.place(all, records, from: start + recordBytes)
    }

    private static func place(
        _ all: Measures, _ records: RecordPlaces, from start: UInt64
    ) -> (frames: [(offset: UInt64, length: Int)], bytes: UInt64) {
        var frames = [(offset: UInt64, length: Int)](repeating: (0, 0), count: all.frames.count)
        var next = start
        for index in all.frames.indices.sorted(by: { all.frames[$0].id < all.frames[$1].id }) {
            let frame = all.frames[index]
            let places = all.places[frame.places].reduce(0) { $0 + VarintSize.of(Int(records[Int($1)])) }
            let length = Padding.steppedFrame(frame.size + places)
            frames[index] = (next, length)
            next += UInt64(length)
        }
        return (frames, next - start)
    }

    /// Returns the offset of a record, and the beginning of its new nonce if it is resealed (0 if no record is
    /// resealed).
    func record(_ record: Int) throws(VaultError) -> (offset: UInt64, nonceStart: UInt64) {
        guard record < records.count else { throw Self.changed }
        return (records[record], nonces.isEmpty ? 0 : nonces[record])
    }

    func past(_ frame: Int) throws(VaultError) -> (offset: UInt64, length: Int) {
        guard frame < pasts.count else { throw Self.changed }
        return pasts[frame]
    }
}

extension RebuildLayout.Measured {
    fileprivate init(_ item: LiveItem, _ resealed: Set<UInt64>) {
        func measured(_ place: RecordRef) -> Record {
            (place.record.offset, UInt32(place.record.length), resealed.contains(place.compartment))
        }
        own = item.own.map(measured)
        others = item.others.map(measured)
        // The halves of ids are compared separately, because two items almost never share the first half.
        past = item.past.map { (UInt64(bigEndian: $0.item.words.0), $0.sizeWithoutPlaces, item.pastPlaces) }
    }
}

extension RebuildLayout.Measures {
    fileprivate mutating func add(_ item: RebuildLayout.Measured, _ random: inout RandomWords) throws(VaultError) {
        let first = lengths.count
        guard first + 1 + item.others.count < Int(UInt32.max) else {
            throw VaultError(.limitExceeded, "too many records")
        }
        if let own = item.own { add(own, &random) }
        for record in item.others { add(record, &random) }
        guard let frame = item.past else { return }
        let start = places.count
        places += frame.places.map { UInt32(first + $0) }
        let lengthSizes = frame.places.reduce(0) { $0 + VarintSize.of(Int(lengths[first + $1])) }
        frames.append((frame.id, frame.size + lengthSizes, start..<places.count))
    }

    private mutating func add(_ record: RebuildLayout.Measured.Record, _ random: inout RandomWords) {
        if record.isResealed { hasResealed = true } else { copied.append(UInt32(lengths.count)) }
        lengths.append(record.length)
        nonces.append(record.isResealed ? random.next() : record.offset)
    }

    /// Reads the first bytes of the nonces in file order, because sequential reads are faster. The nonces replace the
    /// records' offsets.
    fileprivate mutating func readNonces(_ file: any FileHandle) throws(VaultError) {
        nonces.withUnsafeBufferPointer { offsets in copied.sort { offsets[Int($0)] < offsets[Int($1)] } }
        var index = 0
        while index < copied.count {
            let from = nonces[Int(copied[index])]
            var last = from
            var end = index + 1
            // Extend the read as long as that is cheaper than another call.
            while end < copied.count {
                let next = nonces[Int(copied[end])]
                guard next - last <= 4096, next - from < Self.mostRead else { break }
                last = next
                end += 1
            }
            let bytes = try file.bytes(Int(last - from) + Format.frameHeadSize + 8, at: from)
            bytes.withUnsafeBytes { bytes in
                for record in copied[index..<end] {
                    let at = Int(nonces[Int(record)] - from) + Format.frameHeadSize
                    nonces[Int(record)] = UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: at, as: UInt64.self))
                }
            }
            index = end
        }
        copied = []
    }

    private static var mostRead: UInt64 { 1 << 18 }
}

/// The places of records, sorted by nonce.
///
/// Offsets are stored in units of 16 bytes, because every record length is a multiple of 16, and reuse the memory of
/// the lengths. The offsets take 8 bytes each only if 32 bits are not enough (beyond 64 GiB), or if a length is not one
/// of those that writers choose.
struct RecordPlaces {
    private var units: [UInt32]
    private var offsets: [UInt64] = []
    private let start: UInt64
    /// The total length of the records.
    let bytes: UInt64
    private static let unit: UInt64 = 16

    /// Computes the places, reusing the memory of the lengths, which are empty afterwards.
    init(_ lengths: inout [UInt32], by nonces: [UInt64], from start: UInt64) {
        units = []
        swap(&units, &lengths)
        var order = Array(0..<UInt32(units.count))
        nonces.withUnsafeBufferPointer { nonces in order.sort { nonces[Int($0)] < nonces[Int($1)] } }
        var (bytes, bits): (UInt64, UInt32) = (0, 0)
        for length in units {
            bytes += UInt64(length)
            bits |= length
        }
        self.start = start
        self.bytes = bytes
        let isWide = UInt64(bits) % Self.unit != 0 || bytes / Self.unit > UInt64(UInt32.max)
        if isWide { offsets = [UInt64](repeating: 0, count: units.count) }
        var next: UInt64 = 0
        for record in order {
            let length = UInt64(units[Int(record)])
            if isWide { offsets[Int(record)] = next } else { units[Int(record)] = UInt32(next / Self.unit) }
            next += length
        }
        if isWide { units = [] }
    }

    var count: Int { max(units.count, offsets.count) }

    /// The offset of a record in the file.
    subscript(record: Int) -> UInt64 {
        start + (offsets.isEmpty ? UInt64(units[record]) * Self.unit : offsets[record])
    }
}

/// Eight-byte random numbers, all drawn at once.
private struct RandomWords {
    private let words: [UInt64]
    private var used = 0

    init(_ count: Int, _ random: Randomness) {
        var words = [UInt64](repeating: 0, count: count)
        words.withUnsafeMutableBytes { random.fill($0) }
        self.words = words
    }

    mutating func next() -> UInt64 {
        defer { used += 1 }
        return words[used]
    }
}
