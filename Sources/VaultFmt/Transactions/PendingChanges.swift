internal import VaultBytes

/// The changes made by one transaction: the last change for each key. They are stored in large pieces, because a
/// transaction can have a million changes.
struct PendingChanges: TreeChanges {
    private static let pieceSize = 1 << 20
    private static let removed = UInt32.max

    /// The changes, one after the other: key length, value length (all ones if the key was removed), key and value.
    private var pieces: [[UInt8]] = []
    /// The position of each change: piece, then offset.
    private var places: [UInt64] = []
    /// A hash table with open addressing: the index of a change plus one, or zero.
    private var table = [UInt32](repeating: 0, count: 16)
    private var isSorted = true

    var count: Int { places.count }

    func key(_ index: Int) -> [UInt8] {
        let (piece, start, keyLength, _) = layout(index)
        return Array(pieces[piece][start..<start + keyLength])
    }

    func value(_ index: Int) -> [UInt8]? {
        let (piece, start, keyLength, valueLength) = layout(index)
        guard let valueLength else { return nil }
        return Array(pieces[piece][start + keyLength..<start + keyLength + valueLength])
    }

    /// Returns the change to this key: a new value, or an inner nil if the key was removed; the outer nil means no
    /// change.
    func find(_ key: [UInt8]) -> [UInt8]?? {
        let slot = slot(of: key)
        guard table[slot] != 0 else { return nil }
        return .some(value(Int(table[slot]) - 1))
    }

    /// Sets the value of a key; nil removes the key.
    mutating func set(_ key: [UInt8], _ value: [UInt8]?) {
        precondition(isSorted, "changes must be set before they are sorted")
        let place = store(key, value)
        let slot = slot(of: key)
        if table[slot] != 0 {
            places[Int(table[slot]) - 1] = place
            return
        }
        places.append(place)
        table[slot] = UInt32(places.count)
        if places.count * 2 > table.count { grow() }
    }

    /// Sorts the changes by key; after this, no further changes can be set.
    mutating func sort() {
        table = []
        isSorted = false
        let pieces = pieces
        places.sort { left, right in
            let (leftPiece, a) = Self.keyRange(left, pieces)
            let (rightPiece, b) = Self.keyRange(right, pieces)
            let x = pieces[leftPiece]
            let y = pieces[rightPiece]
            return ByteOrder.compare(x.span, a, y.span, b) < 0
        }
    }

    private mutating func store(_ key: [UInt8], _ value: [UInt8]?) -> UInt64 {
        let size = 8 + key.count + (value?.count ?? 0)
        if pieces.isEmpty || pieces[pieces.count - 1].count + size > Self.pieceSize {
            pieces.append([])
            // Small transactions should not allocate large pieces.
            if pieces.count > 1 { pieces[pieces.count - 1].reserveCapacity(max(Self.pieceSize, size)) }
        }
        let last = pieces.count - 1
        let offset = pieces[last].count
        pieces[last].append(u32: UInt32(key.count))
        pieces[last].append(u32: value.map { UInt32($0.count) } ?? Self.removed)
        pieces[last].append(contentsOf: key)
        if let value { pieces[last].append(contentsOf: value) }
        return UInt64(last) << 32 | UInt64(offset)
    }

    private func layout(_ index: Int) -> (piece: Int, start: Int, key: Int, value: Int?) {
        let place = places[index]
        let (piece, range) = Self.keyRange(place, pieces)
        let length = Self.u32(pieces[piece], range.lowerBound - 4)
        return (piece, range.lowerBound, range.count, length == Self.removed ? nil : Int(length))
    }

    private static func keyRange(_ place: UInt64, _ pieces: [[UInt8]]) -> (piece: Int, range: Range<Int>) {
        let piece = Int(place >> 32)
        let start = Int(place & 0xFFFF_FFFF) + 8
        return (piece, start..<start + Int(u32(pieces[piece], start - 8)))
    }

    private static func u32(_ bytes: [UInt8], _ at: Int) -> UInt32 {
        UInt32(bytes[at]) | UInt32(bytes[at + 1]) << 8 | UInt32(bytes[at + 2]) << 16 | UInt32(bytes[at + 3]) << 24
    }

    /// Returns the key's slot in the table, or the slot where it would be inserted.
    private func slot(of key: [UInt8]) -> Int {
        var slot = hash(key)
        while table[slot] != 0, !isKey(Int(table[slot]) - 1, key) { slot = (slot + 1) & (table.count - 1) }
        return slot
    }

    private func isKey(_ index: Int, _ key: [UInt8]) -> Bool {
        let (piece, range) = Self.keyRange(places[index], pieces)
        guard range.count == key.count else { return false }
        let bytes = pieces[piece]
        return ByteOrder.compare(bytes.span, range, key.span, 0..<key.count) == 0
    }

    private func hash(_ key: some Sequence<UInt8>) -> Int {
        var hasher = Hasher()
        if key.withContiguousStorageIfAvailable({ hasher.combine(bytes: UnsafeRawBufferPointer($0)) }) == nil {
            for byte in key { hasher.combine(byte) }
        }
        return hasher.finalize() & (table.count - 1)
    }

    private mutating func grow() {
        table = [UInt32](repeating: 0, count: table.count * 2)
        for index in places.indices {
            let (piece, range) = Self.keyRange(places[index], pieces)
            var slot = hash(pieces[piece][range])
            while table[slot] != 0 { slot = (slot + 1) & (table.count - 1) }
            table[slot] = UInt32(index + 1)
        }
    }
}
