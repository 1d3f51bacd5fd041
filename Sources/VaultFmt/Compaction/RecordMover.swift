internal import VaultBytes
internal import VaultCrypto
internal import VaultStore

/// Moves records into a new file: unchanged, with a new locator, or resealed. The work is divided among threads.
struct RecordMover {
    private let core: VaultCore
    private let view: KeyringView
    private let targets: [UInt64: RecordTarget]
    /// The revision of resealed records: the clock of the new state.
    private let revision: UInt64
    private let lanes: [MovingLane]
    private let workers: Workers
    /// The minimum number of records to divide: moving fewer takes less time than waking a thread.
    private static let leastDivided = 64

    /// `view` is the view of the keyring that contains the records' compartments. `locators` contains the keys that
    /// mask locators in the old and the new file, which may be the same key.
    init(
        _ core: VaultCore, from source: PageSource, _ view: KeyringView, _ targets: [UInt64: RecordTarget],
        revision: UInt64, locators: (old: SecretBox, new: SecretBox, areSame: Bool), to room: RecordRoom,
        on workers: Workers
    ) {
        self.workers = workers
        self.core = core
        self.view = view
        self.targets = targets
        self.revision = revision
        let work = MovingWork(
            file: source.file, room: room, sealing: core.store.sealing, locator: locators.old, newLocator: locators.new,
            isLocatorSame: locators.areSame)
        let large = [LargeBuffers(), LargeBuffers()]
        lanes = (0..<workers.count).map { MovingLane(work, large: large[$0 % large.count]) }
    }

    /// Moves the records of a batch's items, and returns their new places in order. `from` is the number of records
    /// before the batch. The calling thread runs `meanwhile` first, so the other threads move more of the records.
    mutating func move(
        _ entries: [LeafEntry], _ layout: RebuildLayout, from: Int, meanwhile: () throws(VaultError) -> Void
    ) throws(VaultError) -> [RecordRef] {
        let moves = try plan(entries, layout, from: from)
        // In the order of the file, records that are close together are read with one call.
        let order = moves.indices.sorted { moves[$0].old.record.offset < moves[$1].old.record.offset }
        guard moves.count >= Self.leastDivided, workers.count > 1 else {
            try meanwhile()
            let result = lanes[0].run(moves, order[...], Nonces(moves, core.store.random))
            return try Self.moved([result], order, moves, of: entries)
        }
        let nonces = Nonces(moves, core.store.random)
        // There are more parts than threads, which balances the load if a thread is slow.
        let size = max(Self.leastDivided / 2, moves.count / (workers.count * 8))
        var failure: VaultError?
        let results = workers.map((moves.count + size - 1) / size) {
            do throws(VaultError) { try meanwhile() } catch { failure = error }
        } _: { [lanes] part, lane in
            lanes[lane].run(moves, order[part * size..<min((part + 1) * size, moves.count)], nonces)
        }
        if let failure { throw failure }
        return try Self.moved(results, order, moves, of: entries)
    }

    /// Returns the moves of a batch's records, in the order of the items and of each item's places.
    private func plan(
        _ entries: [LeafEntry], _ layout: RebuildLayout, from: Int
    ) throws(VaultError) -> [RecordMove] {
        var moves: [RecordMove] = []
        moves.reserveCapacity(entries.count)
        var resealed = 0
        // Consecutive items are usually in the same compartment.
        var last: (compartment: UInt64, to: Rekeyed?)?
        // Iterate by index: an iterator would copy each entry.
        for index in entries.indices {
            guard let item = entries[index].item else { continue }
            let id = item.decoded.entry.id
            for place in item.places {
                if last?.compartment != place.compartment { last = (place.compartment, try rekeyed(place)) }
                let target = try layout.record(from + moves.count)
                moves.append(plan(id, place, last?.to, target, number: resealed))
                if last?.to != nil { resealed += 1 }
            }
        }
        return moves
    }

    /// Returns the new places in the order of the moves, or throws the error for the first record in the file that
    /// could not be moved, with the name of that record's item.
    private static func moved(
        _ results: [Result<[RecordRef], MoveFailure>], _ order: [Int], _ moves: [RecordMove], of entries: [LeafEntry]
    ) throws(VaultError) -> [RecordRef] {
        var moved = moves.map(\.new)
        var next = 0
        for result in results {
            do throws(MoveFailure) {
                for place in try result.get() {
                    moved[order[next]] = place
                    next += 1
                }
            } catch { throw named(error, of: entries) }
        }
        return moved
    }

    private static func named(_ failure: MoveFailure, of entries: [LeafEntry]) -> VaultError {
        for entry in entries {
            guard let item = entry.item, item.decoded.entry.id == failure.item else { continue }
            do throws(VaultError) {
                return failure.reason.naming(
                    DamagedPart(failure.place, of: item),
                    of: try PageName(entry.page.key(entry.index), failure.item).key
                )
            } catch { return error }
        }
        return failure.reason
    }

    /// Returns the new compartment and keys for the records of a compartment; nil if they do not change.
    private func rekeyed(_ place: RecordRef) throws(VaultError) -> Rekeyed? {
        guard let target = targets[place.compartment] else { return nil }
        guard let compartment = view.compartment(place.compartment) else {
            throw VaultError(.structureInvalid, "an item's compartment does not exist", at: place.record.offset)
        }
        return Rekeyed(
            compartment: target.number, old: try core.compartments.key(compartment, core.context), new: target.key)
    }

    private func plan(
        _ item: Bytes16, _ place: RecordRef, _ rekeyed: Rekeyed?, _ target: (offset: UInt64, nonceStart: UInt64),
        number: Int
    ) -> RecordMove {
        var new = place
        var reseal: Reseal?
        if let rekeyed {
            new.revision = revision
            new.compartment = rekeyed.compartment
            reseal = Reseal(old: rekeyed.old, new: rekeyed.new, nonceStart: target.nonceStart, number: number)
        }
        return RecordMove(item: item, old: place, new: new, offset: target.offset, reseal: reseal)
    }
}

/// The compartment that records move to, and the keys of both compartments.
private struct Rekeyed {
    let compartment: UInt64
    let old: SecretBox
    let new: SecretBox
}

/// The old and new keys of a record, the first bytes of its new nonce, and its number among the resealed records of the
/// batch.
private struct Reseal: Sendable {
    let old: SecretBox
    let new: SecretBox
    let nonceStart: UInt64
    let number: Int
}

/// The nonces of a batch's resealed records. Any bytes that the layout has not drawn are drawn all at once, because
/// each draw is a system call.
private struct Nonces: Sendable {
    private let words: [UInt64]

    init(_ moves: [RecordMove], _ random: Randomness) {
        var words = [UInt64](repeating: 0, count: moves.count(where: { $0.reseal != nil }) * 2)
        words.withUnsafeMutableBytes { random.fill($0) }
        self.words = words
    }

    func nonce(_ record: Reseal) -> Sealing.RecordNonce {
        Sealing.RecordNonce(
            start: record.nonceStart, rest: (words[record.number * 2], words[record.number * 2 + 1]))
    }
}

/// One record to move: its old and new identity, its new place, and how it is resealed, if at all.
private struct RecordMove: Sendable {
    let item: Bytes16
    let old: RecordRef
    var new: RecordRef
    let offset: UInt64
    let reseal: Reseal?
}

/// A record that could not be moved, and the reason.
private struct MoveFailure: Error {
    let item: Bytes16
    let place: RecordRef
    let reason: VaultError
}

/// The data needed to move any record.
private struct MovingWork: Sendable {
    let file: any FileHandle
    let room: RecordRoom
    let sealing: Sealing
    let locator: SecretBox
    let newLocator: SecretBox
    let isLocatorSame: Bool

    /// Writes a record whose old frame was read; if the record is resealed, its new nonce is given.
    func move(
        _ record: RecordMove, _ frame: inout [UInt8], _ memory: inout Secret, _ nonces: Nonces
    ) throws(VaultError) -> RecordRef {
        if let reseal = record.reseal {
            try self.reseal(&frame, record, reseal, nonces.nonce(reseal), &memory)
        } else if !isLocatorSame {
            frame.withUnsafeMutableBytes { sealing.relocate($0, from: locator.secret, to: newLocator.secret) }
        }
        var moved = record.new
        moved.record = try room.place(frame, at: record.offset)
        return moved
    }

    private func reseal(
        _ frame: inout [UInt8], _ record: RecordMove, _ keys: Reseal, _ nonce: Sealing.RecordNonce,
        _ memory: inout Secret
    ) throws(VaultError) {
        let size = frame.count - Format.recordOverhead
        if size > memory.count { memory = try Secret(allocating: max(size, 4096)) }
        let head = FrameHead(.record, length: frame.count).encoded
        try memory.withUnsafeMutableBytes { (memory) throws(VaultError) in
            let body = UnsafeMutableRawBufferPointer(rebasing: memory[..<size])
            try frame.span.bytes.withUnsafeBytes { (frame) throws(VaultError) in
                try RecordCodec.open(
                    frame, record.old.identity(of: record.item), key: keys.old.secret, sealing,
                    at: record.old.record.offset, into: body)
            }
            frame.withUnsafeMutableBytes { frame in
                sealing.sealRecord(
                    UnsafeRawBufferPointer(body), record.new.identity(of: record.item), head: head, nonce: nonce,
                    key: keys.new.secret, locatorKey: newLocator.secret, into: frame)
            }
        }
    }
}

/// The buffers through which records are moved, reused for each record.
private struct MovingBuffers: ~Copyable {
    var frame: [UInt8] = []
    var body = Secret(count: 0)
}

/// Buffers that several lanes share.
private final class LargeBuffers: Sendable {
    let buffers = Guarded(MovingBuffers())
}

/// The state of one thread that moves records.
private final class MovingLane: Sendable {
    private struct Own: ~Copyable {
        var frames: NearbyFrames
        var buffers = MovingBuffers()
    }

    /// The size above which records use memory shared by several lanes, which limits the total memory.
    private static let mostOwn = 1 << 18

    private let work: MovingWork
    private let own: Guarded<Own>
    private let large: LargeBuffers

    init(_ work: MovingWork, large: LargeBuffers) {
        self.work = work
        self.large = large
        own = Guarded(Own(frames: NearbyFrames(work.file)))
    }

    /// Moves the records with these indices, which are sorted by offset, and returns their new places in this order.
    func run(
        _ moves: [RecordMove], _ order: ArraySlice<Int>, _ nonces: Nonces
    ) -> Result<[RecordRef], MoveFailure> {
        own.withLock { own in
            var moved: [RecordRef] = []
            moved.reserveCapacity(order.count)
            own.frames.begin(order.map { moves[$0].old.record })
            for (position, index) in order.enumerated() {
                let move = moves[index]
                do throws(VaultError) {
                    guard move.old.record.length <= Self.mostOwn else {
                        moved.append(try runLarge(move, nonces))
                        continue
                    }
                    try own.frames.read(position, .record, into: &own.buffers.frame)
                    moved.append(try work.move(move, &own.buffers.frame, &own.buffers.body, nonces))
                } catch { return .failure(MoveFailure(item: move.item, place: move.old, reason: error)) }
            }
            return .success(moved)
        }
    }

    private func runLarge(_ move: RecordMove, _ nonces: Nonces) throws(VaultError) -> RecordRef {
        try large.buffers.withLock { (buffers) throws(VaultError) in
            try FrameReader.read(move.old.record, .record, work.file, into: &buffers.frame)
            return try work.move(move, &buffers.frame, &buffers.body, nonces)
        }
    }
}
