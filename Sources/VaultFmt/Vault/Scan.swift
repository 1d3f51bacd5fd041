internal import VaultBytes
internal import VaultStore

/// A secret during a scan.
public enum ScannedSecret {
    /// The secret, valid only during the call: it must not be kept.
    case opened(UnsafeRawBufferPointer)
    /// The reason why this item's secret cannot be read: `deviceBound`, `notPermitted`, `locked` or `noSecret`.
    case refused(VaultError)
}

extension Vault {
    /// Calls `body` with every matching item and its secret, sorted by key, as they were at the start of the call.
    ///
    /// Items are read in batches, on several threads, into memory that is reused and wiped. If an item's key is not
    /// available, `body` is passed the reason; a damaged item ends the scan with `authenticationFailed` or
    /// `structureInvalid`. `body` may use the vault; if the vault's keys are replaced meanwhile, here or by another
    /// thread, the scan can end with `busy`.
    public func forEachSecret(
        matching query: Query = Query(), _ body: (Item, ScannedSecret) throws(VaultError) -> Void
    ) throws(VaultError) {
        try forEachSecret(matching: query, continuesPastDamage: false, body)
    }

    /// Scans as the function above does. If `continuesPastDamage` is true, a damaged item does not end the scan: `body`
    /// is passed the error as the reason.
    package func forEachSecret(
        matching query: Query = Query(), continuesPastDamage: Bool,
        _ body: (Item, ScannedSecret) throws(VaultError) -> Void
    ) throws(VaultError) {
        var expected = ScanPart.refusals
        if continuesPastDamage { expected.formUnion([.authenticationFailed, .structureInvalid]) }
        let (leafReader, reader, tree, whole, workers, epoch) = try withCore { (core) throws(VaultError) in
            (
                LeafReader(core.store.tree, check: core.entryCheck, query: query),
                ScanReader(file: core.store.file, sealing: core.store.sealing, bodyStart: core.store.header.bodyStart),
                core.store.tree,
                TreeTally(core.store.tree, core.store.state.commit, core.entryCheck), Workers(core.store.threads),
                core.store.header.epoch
            )
        }
        var tally = whole
        var leaves = tree.leaves(from: leafReader.prefix)
        var parts: [ScanPart] = []
        var keys = ScanKeys(epoch: epoch)
        var window = 1
        var isLast = false
        while !isLast {
            let next = try leaves.next(window)
            guard !next.isEmpty else { break }
            let count = window < Self.leastDivided ? 1 : min(workers.count, next.count)
            window = min(window * 4, Self.mostLeaves(workers))
            while parts.count < count { parts.append(ScanPart(leafReader, reader, threads: workers.count)) }
            // This is repeated for each batch, because `body` may have locked the vault.
            try keys.renew(self)
            for (index, part) in parts.prefix(count).enumerated() {
                part.assign(next[next.count * index / count..<next.count * (index + 1) / count], keys)
            }
            workers.run(count) { [parts] part, _ in parts[part].read() }
            for part in parts.prefix(count) where !isLast {
                isLast = try part.deliver(&keys, &tally, self, expected, to: body)
            }
        }
        if query == Query() { try tally.finish() }
    }

    /// The minimum number of leaves to divide: opening the records of fewer takes less time than starting a thread.
    private static var leastDivided: Int { 8 }

    /// Returns the number of leaves to read at a time, which limits the memory for their contents.
    private static func mostLeaves(_ workers: Workers) -> Int { min(max(workers.count * 32, 64), 256) }

    /// `known`: the cached result for the compartment, if the scan has encountered it before.
    fileprivate func compartmentKey(
        _ number: UInt64, epoch: Bytes32, known: Result<SecretBox, VaultError>? = nil
    ) throws(VaultError) -> Result<SecretBox, VaultError> {
        try withCore { (core) throws(VaultError) -> Result<SecretBox, VaultError> in
            guard let compartment = core.view.compartment(number) else {
                guard core.store.header.epoch != epoch else {
                    return .failure(VaultError(.structureInvalid, "an item's compartment does not exist"))
                }
                if core.isLocked { return .failure(VaultError(.locked, "the vault is locked")) }
                // The state is unchanged, so the cached result is still valid.
                return known
                    ?? .failure(VaultError(.busy, "the vault's keys were replaced while it was read: read it again"))
            }
            do throws(VaultError) { return .success(try core.compartments.key(compartment, core.context)) } catch {
                guard [.deviceBound, .notPermitted, .locked].contains(error.code) else { throw error }
                return .failure(error)
            }
        }
    }
}

/// The data needed to read records.
struct ScanReader: Sendable {
    let file: any FileHandle
    let sealing: Sealing
    let bodyStart: UInt64
}

/// The keys of the compartments that a scan has encountered, or the reasons why they are not available.
struct ScanKeys: Sendable {
    /// The epoch in which the scan began.
    let epoch: Bytes32
    private var known: [UInt64: Result<SecretBox, VaultError>] = [:]

    init(epoch: Bytes32) { self.epoch = epoch }

    func key(_ number: UInt64) -> Result<SecretBox, VaultError>? { known[number] }

    mutating func find(_ number: UInt64, _ vault: Vault) throws(VaultError) {
        known[number] = try vault.compartmentKey(number, epoch: epoch, known: known[number])
    }

    mutating func renew(_ vault: Vault) throws(VaultError) {
        for number in Array(known.keys) { try find(number, vault) }
    }
}

/// Leaves whose records one thread opens, and the places of their secrets. The part and its memory are reused for the
/// next batch.
final class ScanPart: Sendable {
    private struct State: ~Copyable {
        var leaves: ArraySlice<PageRef> = []
        var keys = ScanKeys(epoch: .zero)
        var items: [Item] = []
        var isLast = false
        /// The error that prevented reading further items.
        var failure: VaultError?
        /// The next item whose record will be opened.
        var next = 0
        var memory = Secret(count: 0)
        var frames: NearbyFrames
        var frame: [UInt8] = []
        /// For the items up to `next`: the places of their secrets in memory, or the reasons why these could not be
        /// read.
        var results: [Result<Range<Int>, VaultError>] = []
        /// The items that have attributes in their records, with these attributes, by position.
        var whole: [Int: Item] = [:]
    }

    /// The possible sizes of the memory. If secrets are small, memory of one of these sizes is enough for a batch;
    /// otherwise, the memory holds a single secret.
    private static let memorySizes = [32_768, 65_536, 131_072, 262_144]
    private let leafReader: LeafReader
    private let reader: ScanReader
    private let sizes: [Int]
    private let state: Guarded<State>

    /// Makes a part. All threads together use as much memory as two parts, unless each thread would then have less than
    /// the minimum.
    init(_ leafReader: LeafReader, _ reader: ScanReader, threads: Int) {
        self.leafReader = leafReader
        self.reader = reader
        sizes = Self.memorySizes.filter { $0 <= max(524_288 / threads, 32_768) }
        state = Guarded(State(frames: NearbyFrames(reader.file)))
    }

    func assign(_ leaves: ArraySlice<PageRef>, _ keys: ScanKeys) {
        state.withLock { state in
            state.leaves = leaves
            state.keys = keys
        }
    }

    /// Reads the leaves, and opens as many records as fit in memory and have known keys.
    func read() {
        state.withLock { state in
            state.items.removeAll(keepingCapacity: true)
            state.next = 0
            state.isLast = false
            state.failure = nil
            do throws(VaultError) {
                for leaf in state.leaves where !state.isLast {
                    state.isLast = try leafReader.read(leaf, inPassing: true, into: &state.items)
                }
            } catch { state.failure = error }
            open(&state)
        }
    }

    private func open(_ state: inout State) {
        state.results.removeAll(keepingCapacity: true)
        state.whole.removeAll(keepingCapacity: true)
        guard state.next < state.items.count, makeRoom(&state) else { return }
        let first = state.next
        // This is a constant so that its items are not copied.
        let items = state.items
        let (records, keys) = plan(items, &state)
        state.frames.begin(records.map { items[$0.item].entry.record })
        for (index, record) in records.enumerated() {
            let item = items[record.item]
            do throws(VaultError) {
                try state.frames.read(index, .record, into: &state.frame)
                let place = record.start..<record.start + Self.size(item)
                let (secret, attributes) = try open(item, keys[record.key], state.frame, &state.memory, place)
                state.results[record.item - first] = .success(secret)
                if let attributes { state.whole[record.item] = Item(item, attributes) }
            } catch { state.results[record.item - first] = .failure(error) }
        }
    }

    /// Allocates memory for the next items, or at least for the first of them; returns false if the allocation fails,
    /// in which case that failure is the result for the first item.
    private func makeRoom(_ state: inout State) -> Bool {
        let rest = state.items[state.next...].reduce(0) { $0 + Self.size($1) }
        let usual = sizes.first { $0 >= rest } ?? sizes[sizes.count - 1]
        let size = max(usual, Self.size(state.items[state.next]))
        // Bodies overwrite those of the previous batch; the memory is wiped at the end.
        guard size > state.memory.count else { return true }
        do throws(VaultError) {
            state.memory = try Secret(allocating: size)
            return true
        } catch {
            state.results.append(.failure(error))
            state.next += 1
            return false
        }
    }

    /// A record to open: its offset, the index of its item, the index of its key, and its place in memory.
    private typealias PlannedRecord = (offset: UInt64, item: Int, key: Int, start: Int)

    /// Moves on by as many items as fit in memory and have known keys. Returns the records of these items and their
    /// keys; the records are in the order of the file, in which records that are close together are read with one call.
    /// Items whose records cannot be read get their results, and the others get placeholders.
    private func plan(_ items: [Item], _ state: inout State) -> (records: [PlannedRecord], keys: [SecretBox]) {
        var records: [PlannedRecord] = []
        records.reserveCapacity(items.count - state.next)
        var keys: [SecretBox] = []
        var start = 0
        // Consecutive items are usually in the same compartment.
        var last: (compartment: UInt64, key: Result<Int, VaultError>)?
        // Fields are read by index, because a copy of an item would update reference counts.
        while state.next < items.count {
            let index = state.next
            guard !items[index].entry.lacksSecret else {
                state.results.append(.failure(VaultError.noSecret(.unknown)))
                state.next += 1
                continue
            }
            let end = start + Self.size(items[index])
            let compartment = items[index].entry.compartment
            if last?.compartment != compartment {
                last = state.keys.key(compartment).map { known in (compartment, known.map { _ in keys.count }) }
                if case .success(let key)? = state.keys.key(compartment) { keys.append(key) }
            }
            guard let key = last?.key, end <= state.memory.count else { break }
            do throws(VaultError) {
                let key = try key.get()
                let record = items[index].entry.record
                try decoding { () throws(FormatError) in
                    try record.check(.record, from: reader.bodyStart, before: items[index].referrer)
                }
                records.append((record.offset, index, key, start))
                state.results.append(.success(start..<start))
            } catch { state.results.append(.failure(error)) }
            state.next += 1
            start = end
        }
        records.sort { $0.offset < $1.offset }
        return (records, keys)
    }

    /// Returns the memory needed for an item's opened record. The reference is checked later; until then, it can
    /// contain any length.
    private static func size(_ item: Item) -> Int { min(max(item.paddedSize, 0), Format.Limit.recordFrame) }

    private func open(
        _ item: Item, _ key: SecretBox, _ frame: [UInt8], _ memory: inout Secret, _ place: Range<Int>
    ) throws(VaultError) -> (Range<Int>, Attributes?) {
        try memory.withUnsafeMutableBytes { (memory) throws(VaultError) in
            let out = UnsafeMutableRawBufferPointer(rebasing: memory[place])
            try frame.span.bytes.withUnsafeBytes { (frame) throws(VaultError) in
                try RecordCodec.open(
                    frame, item.entry.identity, key: key.secret, reader.sealing, at: item.entry.record.offset, into: out
                )
            }
            let body = Span<UInt8>(_unsafeElements: UnsafeRawBufferPointer(out).assumingMemoryBound(to: UInt8.self))
            let (secret, attributes) = try RecordCodec.read(body, item)
            return (place.lowerBound + secret.lowerBound..<place.lowerBound + secret.upperBound, attributes)
        }
    }

    /// Calls `body` with all items of the leaves; returns true if there are no further items. All threads have
    /// finished, so nothing else uses the state, but it must not be held while `body` runs, because `body` may do
    /// anything.
    func deliver(
        _ keys: inout ScanKeys, _ tally: inout TreeTally, _ vault: Vault, _ expected: Set<VaultError.Code>,
        to body: (Item, ScannedSecret) throws(VaultError) -> Void
    ) throws(VaultError) -> Bool {
        while true {
            let (items, next, results, whole, memory) = state.withLock { state in
                (state.items, state.next, state.results, state.whole, state.memory.withUnsafeBytes { $0 })
            }
            for (index, result) in zip(next - results.count..<next, results) {
                tally.add(items[index])
                if let item = whole.isEmpty ? nil : whole[index] {
                    try Self.deliver(item, result, memory, expected, to: body)
                } else {
                    try Self.deliver(items[index], result, memory, expected, to: body)
                }
            }
            guard next < items.count else { break }
            let number = items[next].entry.compartment
            if keys.key(number) == nil { try keys.find(number, vault) }
            state.withLock { state in
                state.keys = keys
                open(&state)
            }
        }
        // The memory belongs to this part, which must therefore stay alive.
        return try withExtendedLifetime(self) { () throws(VaultError) in
            try state.withLock { (state) throws(VaultError) in
                if let failure = state.failure { throw failure }
                return state.isLast
            }
        }
    }

    /// The errors that do not end a scan.
    static let refusals: Set<VaultError.Code> = [.deviceBound, .notPermitted, .locked, .noSecret]

    private static func deliver(
        _ item: Item, _ result: Result<Range<Int>, VaultError>, _ memory: UnsafeRawBufferPointer,
        _ expected: Set<VaultError.Code>, to body: (Item, ScannedSecret) throws(VaultError) -> Void
    ) throws(VaultError) {
        switch result {
        case .success(let range): try body(item, .opened(UnsafeRawBufferPointer(rebasing: memory[range])))
        case .failure(let error):
            let named = error.naming(read: .secret, of: item.key)
            guard expected.contains(error.code) else { throw named }
            try body(item, .refused(named))
        }
    }
}
