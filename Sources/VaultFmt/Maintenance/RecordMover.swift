internal import Synchronization
internal import VaultBytes

/// An entry of a leaf that is being rewritten.
struct LeafEntry: Sendable {
    let page: Page
    let index: Int
    /// Nil for a tombstone.
    let item: ItemCodec.Decoded?

    /// Adds a leaf's entries, without the cache.
    static func read(_ leaf: LeafRef, _ source: PageSource, into entries: inout [LeafEntry]) throws(VaultError) {
        let page = try source.load(leaf)
        for index in 0..<page.count {
            let item = page.isTombstone(index) ? nil : try ItemCodec.decode(page, index)
            entries.append(LeafEntry(page: page, index: index, item: item))
        }
    }

    /// The value with another entry; its attributes, byte for byte, as they were.
    func value(with new: ItemEntry, insteadOf old: ItemCodec.Decoded) -> [UInt8] {
        let value = page.layout.entries[index].value
        var out: [UInt8] = []
        out.reserveCapacity(value.count + 16)
        new.encode(into: &out)
        let bytes = page.bytes
        out.append(bytes.span.extracting(value.lowerBound + old.entrySize..<value.upperBound))
        return out
    }
}

/// Moves records into a new file: as they are, with another locator, or resealed. Divides them between two threads.
struct RecordMover {
    private let core: VaultCore
    private let newKeys: [UInt32: SecretBox]
    private let first: MovingPart
    private let second: MovingPart
    private let helper = SecondThread()
    private static let leastDivided = 64

    /// `newLocator` is the new locator key, if there is another.
    init(_ core: VaultCore, newKeys: [UInt32: SecretBox], newLocator: SecretBox?, to room: RecordRoom) {
        self.core = core
        self.newKeys = newKeys
        let work = MovingWork(
            file: core.store.file, room: room, sealing: core.store.sealing, locator: SecretBox(core.store.slot.keys.locator.copy()),
            newLocator: newLocator)
        first = MovingPart(work)
        second = MovingPart(work)
    }

    /// Moves the records of a batch's items, and returns their new entries in order. `from` is the first one's place in the order of keys. Meanwhile
    /// this thread does something else, too, which leaves a greater part of the records to the other one.
    mutating func move(
        _ entries: [LeafEntry], _ order: RecordOrder, from: Int, meanwhile: () throws(VaultError) -> Void
    ) throws(VaultError) -> [ItemEntry] {
        var moves: [RecordMove] = []
        moves.reserveCapacity(entries.count)
        for case let item? in entries.lazy.map(\.item) {
            moves.append(try plan(item.entry, to: try order.offset(of: from + moves.count)))
        }
        guard moves.count >= Self.leastDivided else {
            try meanwhile()
            return try first.run(moves[...]).get()
        }
        let middle = moves.count * 7 / 16
        var failure: VaultError?
        let (one, other) = helper.both({
            do throws(VaultError) { try meanwhile() } catch { failure = error }
            return first.run(moves[..<middle])
        }) { [second, moves] in second.run(moves[middle...]) }
        if let failure { throw failure }
        return try one.get() + other.get()
    }

    private func plan(_ entry: ItemEntry, to offset: UInt64) throws(VaultError) -> RecordMove {
        guard let new = newKeys[entry.compartment] else { return RecordMove(old: entry, new: entry, offset: offset, keys: nil) }
        guard let compartment = core.view.compartment(entry.compartment) else {
            throw VaultError(.structureInvalid, "an item's compartment does not exist", at: entry.record.offset)
        }
        var moved = entry
        moved.recordRevision = try core.tick()
        return RecordMove(old: entry, new: moved, offset: offset, keys: (try core.compartments.key(compartment, core.context), new))
    }
}

/// One record: what its entry says and will say, where it goes, and under which keys it was and will be sealed if that changes.
private struct RecordMove: Sendable {
    let old: ItemEntry
    var new: ItemEntry
    let offset: UInt64
    let keys: (old: SecretBox, new: SecretBox)?
}

/// What moving takes, whichever record it is.
private struct MovingWork: Sendable {
    let file: any FileHandle
    let room: RecordRoom
    let sealing: Sealing
    let locator: SecretBox
    let newLocator: SecretBox?

    func move(_ record: RecordMove, _ frame: inout [UInt8], _ memory: inout Secret) throws(VaultError) -> ItemEntry {
        try FrameReader.read(record.old.record, .record, file, into: &frame)
        if let (old, new) = record.keys {
            try reseal(&frame, record, old.secret, new.secret, &memory)
        } else if let newLocator {
            frame.withUnsafeMutableBytes { sealing.relocate($0, from: locator.secret, to: newLocator.secret) }
        }
        var moved = record.new
        moved.record = try room.place(frame, at: record.offset)
        return moved
    }

    private func reseal(
        _ frame: inout [UInt8], _ record: RecordMove, _ old: borrowing Secret, _ new: borrowing Secret, _ memory: inout Secret
    ) throws(VaultError) {
        let size = frame.count - Format.recordOverhead
        if size > memory.count { memory = try Secret(allocating: max(size, 4096)) }
        let head = FrameHead(.record, length: frame.count).encoded
        try memory.withUnsafeMutableBytes { (memory) throws(VaultError) in
            let body = UnsafeMutableRawBufferPointer(rebasing: memory[..<size])
            try frame.span.bytes.withUnsafeBytes { (frame) throws(VaultError) in
                try RecordCodec.open(frame, record.old.identity, key: old, sealing, at: record.old.record.offset, into: body)
            }
            frame.withUnsafeMutableBytes { frame in
                sealing.sealRecord(
                    UnsafeRawBufferPointer(body), record.new.identity, head: head, key: new,
                    locatorKey: (newLocator ?? locator).secret, into: frame)
            }
        }
    }
}

/// One thread's part of the records, and the memory that it uses again.
private final class MovingPart: Sendable {
    private struct Buffers: ~Copyable {
        var frame: [UInt8] = []
        var body = Secret(count: 0)
    }

    private let work: MovingWork
    private let buffers = Mutex(Buffers())

    init(_ work: MovingWork) { self.work = work }

    func run(_ moves: ArraySlice<RecordMove>) -> Result<[ItemEntry], VaultError> {
        buffers.withLock { buffers in
            var moved: [ItemEntry] = []
            moved.reserveCapacity(moves.count)
            do throws(VaultError) {
                for move in moves { moved.append(try work.move(move, &buffers.frame, &buffers.body)) }
            } catch { return .failure(error) }
            return .success(moved)
        }
    }
}
