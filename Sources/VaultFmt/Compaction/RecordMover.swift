internal import Synchronization
internal import VaultBytes

/// Moves records into a new file: as they are, with another locator, or resealed. Divides them between two threads.
struct RecordMover {
    private let core: VaultCore
    private let view: KeyringView
    private let targets: [UInt64: RecordTarget]
    private let first: MovingPart
    private let second: MovingPart
    private let helper = SecondThread()
    private static let leastDivided = 64

    /// - Parameters:
    ///   - view: Of the keyring that the records' compartments are in.
    ///   - locators: What the file's locators are hidden with; the second one, if it is another, what the new file's
    ///     are.
    init(
        _ core: VaultCore, from source: PageSource, _ view: KeyringView, _ targets: [UInt64: RecordTarget],
        locators: (old: SecretBox, new: SecretBox, areSame: Bool), to room: RecordRoom
    ) {
        self.core = core
        self.view = view
        self.targets = targets
        let work = MovingWork(
            file: source.file, room: room, sealing: core.store.sealing, locator: locators.old, newLocator: locators.new,
            isLocatorSame: locators.areSame)
        first = MovingPart(work)
        second = MovingPart(work)
    }

    /// Moves the records of a batch's items, and returns where they are now, in order. `from` counts those before.
    /// Meanwhile this thread does something else, too, which leaves a greater part of the records to the other one.
    mutating func move(
        _ entries: [LeafEntry], _ layout: RebuildLayout, from: Int, meanwhile: () throws(VaultError) -> Void
    ) throws(VaultError) -> [RecordRef] {
        var moves: [RecordMove] = []
        moves.reserveCapacity(entries.count)
        // Items that follow each other are mostly in one compartment.
        var last: (compartment: UInt64, to: Rekeyed?)?
        func add(_ item: Bytes16, _ place: RecordRef) throws(VaultError) {
            if last?.compartment != place.compartment { last = (place.compartment, try rekeyed(place)) }
            moves.append(try plan(item, place, last?.to, try layout.record(from + moves.count)))
        }
        // By index: an iterator would copy each entry.
        for index in entries.indices {
            guard let item = entries[index].item else { continue }
            let id = item.decoded.entry.id
            try add(id, item.own)
            for place in item.others { try add(id, place) }
        }
        guard moves.count >= Self.leastDivided else {
            try meanwhile()
            return try Self.moved(first.run(moves[...]), of: entries)
        }
        let middle = moves.count * 7 / 16
        var failure: VaultError?
        let (one, other) = helper.both({
            do throws(VaultError) { try meanwhile() } catch { failure = error }
            return first.run(moves[..<middle])
        }) { [second, moves] in second.run(moves[middle...]) }
        if let failure { throw failure }
        return try Self.moved(one, of: entries) + Self.moved(other, of: entries)
    }

    /// Says of which item a record is that could not be moved.
    private static func moved(
        _ result: Result<[RecordRef], MoveFailure>, of entries: [LeafEntry]
    ) throws(VaultError) -> [RecordRef] {
        do throws(MoveFailure) { return try result.get() } catch {
            for entry in entries {
                guard let item = entry.item, item.decoded.entry.id == error.item else { continue }
                throw error.reason.naming(
                    DamagedPart(error.place, of: item), of: try ItemKey(entry.page.key(entry.index)))
            }
            throw error.reason
        }
    }

    /// What becomes of the records in the compartment of one; nil if they stay as they are.
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
            new.revision = try core.tick()
            new.compartment = rekeyed.compartment
            reseal = Reseal(old: rekeyed.old, new: rekeyed.new, nonceStart: target.nonceStart)
        }
        return RecordMove(item: item, old: place, new: new, offset: target.offset, reseal: reseal)
    }
}

/// The compartment that records move to, and the keys of both.
private struct Rekeyed {
    let compartment: UInt64
    let old: SecretBox
    let new: SecretBox
}

/// The keys that a record was and will be sealed under, and the first bytes of its new nonce.
private struct Reseal: Sendable {
    let old: SecretBox
    let new: SecretBox
    let nonceStart: UInt64
}

/// One record: what it was and will be sealed as, where it goes, and how it is sealed again if it is.
private struct RecordMove: Sendable {
    let item: Bytes16
    let old: RecordRef
    var new: RecordRef
    let offset: UInt64
    let reseal: Reseal?
}

/// A record that could not be moved, and why.
private struct MoveFailure: Error {
    let item: Bytes16
    let place: RecordRef
    let reason: VaultError
}

/// What moving takes, whichever record it is.
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

/// One thread's part of the records, and the memory that it uses again.
private final class MovingPart: Sendable {
    private struct Buffers: ~Copyable {
        var frame: [UInt8] = []
        var body = Secret(count: 0)
    }

    private let work: MovingWork
    private let buffers = Mutex(Buffers())

    init(_ work: MovingWork) { self.work = work }

    func run(_ moves: ArraySlice<RecordMove>) -> Result<[RecordRef], MoveFailure> {
        buffers.withLock { buffers in
            var moved: [RecordRef] = []
            moved.reserveCapacity(moves.count)
            for move in moves {
                do throws(VaultError) { moved.append(try work.move(move, &buffers.frame, &buffers.body)) } catch {
                    return .failure(MoveFailure(item: move.item, place: move.old, reason: error))
                }
            }
            return .success(moved)
        }
    }
}
