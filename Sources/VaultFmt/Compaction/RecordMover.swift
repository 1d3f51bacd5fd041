internal import VaultBytes
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
        let large = [MovingBuffers(), MovingBuffers()]
        lanes = (0..<workers.count).map { MovingLane(work, large: large[$0 % large.count]) }
    }

    /// Moves the records of a batch's items, and returns their new places in order. `from` is the number of records
    /// before the batch. The calling thread runs `meanwhile` first, so the other threads move more of the records.
    mutating func move(
        _ entries: [LeafEntry], _ layout: RebuildLayout, from: Int, meanwhile: () throws(VaultError) -> Void
    ) throws(VaultError) -> [RecordRef] {
        var moves: [RecordMove] = []
        moves.reserveCapacity(entries.count)
        // Consecutive items are usually in the same compartment.
        var last: (compartment: UInt64, to: Rekeyed?)?
        func add(_ item: Bytes16, _ place: RecordRef) throws(VaultError) {
            if last?.compartment != place.compartment { last = (place.compartment, try rekeyed(place)) }
            moves.append(try plan(item, place, last?.to, try layout.record(from + moves.count)))
        }
        // Iterate by index: an iterator would copy each entry.
        for index in entries.indices {
            guard let item = entries[index].item else { continue }
            let id = item.decoded.entry.id
            for place in item.places { try add(id, place) }
        }
        guard moves.count >= Self.leastDivided, workers.count > 1 else {
            try meanwhile()
            return try Self.moved(lanes[0].run(moves[...]), of: entries)
        }
        // There are more parts than threads, which balances the load if a thread is slow.
        let size = max(Self.leastDivided / 2, moves.count / (workers.count * 8))
        var failure: VaultError?
        let results = workers.map((moves.count + size - 1) / size) {
            do throws(VaultError) { try meanwhile() } catch { failure = error }
        } _: { [lanes, moves] part, lane in
            lanes[lane].run(moves[part * size..<min((part + 1) * size, moves.count)])
        }
        if let failure { throw failure }
        var moved: [RecordRef] = []
        moved.reserveCapacity(moves.count)
        for result in results { moved += try Self.moved(result, of: entries) }
        return moved
    }

    /// Adds the item's name to the error for a record that could not be moved.
    private static func moved(
        _ result: Result<[RecordRef], MoveFailure>, of entries: [LeafEntry]
    ) throws(VaultError) -> [RecordRef] {
        do throws(MoveFailure) { return try result.get() } catch {
            for entry in entries {
                guard let item = entry.item, item.decoded.entry.id == error.item else { continue }
                throw error.reason.naming(
                    DamagedPart(error.place, of: item), of: try PageName(entry.page.key(entry.index), error.item).key)
            }
            throw error.reason
        }
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
        _ item: Bytes16, _ place: RecordRef, _ rekeyed: Rekeyed?, _ target: (offset: UInt64, nonceStart: UInt64)
    ) throws(VaultError) -> RecordMove {
        var new = place
        var reseal: Reseal?
        if let rekeyed {
            new.revision = revision
            new.compartment = rekeyed.compartment
            reseal = Reseal(old: rekeyed.old, new: rekeyed.new, nonceStart: target.nonceStart)
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

/// The old and new keys of a record, and the first bytes of its new nonce.
private struct Reseal: Sendable {
    let old: SecretBox
    let new: SecretBox
    let nonceStart: UInt64
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

    func move(_ record: RecordMove, _ frame: inout [UInt8], _ memory: inout Secret) throws(VaultError) -> RecordRef {
        try FrameReader.read(record.old.record, .record, file, into: &frame)
        if let reseal = record.reseal {
            try self.reseal(&frame, record, reseal, &memory)
        } else if !isLocatorSame {
            frame.withUnsafeMutableBytes { sealing.relocate($0, from: locator.secret, to: newLocator.secret) }
        }
        var moved = record.new
        moved.record = try room.place(frame, at: record.offset)
        return moved
    }

    private func reseal(
        _ frame: inout [UInt8], _ record: RecordMove, _ keys: Reseal, _ memory: inout Secret
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
                    UnsafeRawBufferPointer(body), record.new.identity(of: record.item), head: head,
                    nonceStart: keys.nonceStart,
                    key: keys.new.secret, locatorKey: newLocator.secret, into: frame)
            }
        }
    }
}

/// The buffers through which records are moved, reused for each record.
private final class MovingBuffers: Sendable {
    struct Buffers: ~Copyable {
        var frame: [UInt8] = []
        var body = Secret(count: 0)
    }

    let buffers = Guarded(Buffers())
}

/// The state of one thread that moves records.
private final class MovingLane: Sendable {
    /// The size above which records use memory shared by several lanes, which limits the total memory.
    private static let mostOwn = 1 << 18

    private let work: MovingWork
    private let own = MovingBuffers()
    private let large: MovingBuffers

    init(_ work: MovingWork, large: MovingBuffers) {
        self.work = work
        self.large = large
    }

    func run(_ moves: ArraySlice<RecordMove>) -> Result<[RecordRef], MoveFailure> {
        var moved: [RecordRef] = []
        moved.reserveCapacity(moves.count)
        for move in moves {
            let memory = move.old.record.length <= Self.mostOwn ? own : large
            do throws(VaultError) {
                moved.append(
                    try memory.buffers.withLock { (buffers) throws(VaultError) in
                        try work.move(move, &buffers.frame, &buffers.body)
                    })
            } catch { return .failure(MoveFailure(item: move.item, place: move.old, reason: error)) }
        }
        return .success(moved)
    }
}
