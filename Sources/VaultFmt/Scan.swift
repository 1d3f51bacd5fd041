internal import Synchronization
internal import VaultBytes

/// A secret as a scan meets it.
public enum ScannedSecret {
    /// The secret, lent for the call: it must not be kept.
    case opened(UnsafeRawBufferPointer)
    /// Why this item's secret cannot be read: `deviceBound`, `notPermitted` or `locked`.
    case refused(VaultError)
}

extension Vault {
    /// Calls `body` with every matching item and its secret, in the order of keys, as they are at the start.
    ///
    /// Opens records in pieces, on two threads, into memory that is reused and wiped. An item whose key is not to be had comes with the reason; one that is
    /// damaged ends the scan with `authenticationFailed` or `structureInvalid`. `body` may use the vault.
    public func forEachSecret(
        matching query: Query = Query(), _ body: (Item, ScannedSecret) throws(VaultError) -> Void
    ) throws(VaultError) {
        var cursor = try items(matching: query)
        let reader = try withCore { (core) throws(VaultError) in
            ScanReader(file: core.store.file, sealing: core.store.sealing, view: core.view)
        }
        let first = ScanPart(reader)
        let second = ScanPart(reader)
        while true {
            let batch = try nextBatch(&cursor)
            guard !batch.items.isEmpty else { return }
            let half = batch.items.count / 2
            first.take(batch.items, batch.keys, 0..<half)
            second.take(batch.items, batch.keys, half..<batch.items.count)
            SecondThread.run({ first.open() }, alongside: { second.open() })
            try first.give(to: body)
            try second.give(to: body)
        }
    }

    private struct Batch {
        var items: [Item] = []
        /// The key of each item's compartment, or why it is not to be had.
        var keys: [Result<SecretBox, VaultError>] = []
        var bytes = 0
    }

    /// As many items as make a thousand, or four megabytes.
    private func nextBatch(_ cursor: inout ItemCursor) throws(VaultError) -> Batch {
        var batch = Batch()
        var known: [UInt32: Result<SecretBox, VaultError>] = [:]
        while batch.items.count < 1024, batch.bytes < 4 << 20, let item = try cursor.next() {
            let number = item.entry.compartment
            let key: Result<SecretBox, VaultError>
            if let same = known[number] { key = same } else { key = try compartmentKey(number) }
            known[number] = key
            batch.items.append(item)
            batch.keys.append(key)
            batch.bytes += item.paddedSize
        }
        return batch
    }

    private func compartmentKey(_ number: UInt32) throws(VaultError) -> Result<SecretBox, VaultError> {
        try withCore { (core) throws(VaultError) -> Result<SecretBox, VaultError> in
            guard let compartment = core.view.compartment(number) else {
                return .failure(VaultError(.structureInvalid, "an item's compartment does not exist"))
            }
            do throws(VaultError) { return .success(try core.compartments.key(compartment, core.context)) } catch {
                guard [.deviceBound, .notPermitted, .locked].contains(error.code) else { throw error }
                return .failure(error)
            }
        }
    }
}

/// What reading records takes.
struct ScanReader: Sendable {
    let file: any FileHandle
    let sealing: Sealing
    let view: KeyringView
}

/// Items that one thread opens, and where their secrets then are. Used again for the next batch, with the same memory.
final class ScanPart: Sendable {
    private struct State: ~Copyable {
        var items: [Item] = []
        var keys: [Result<SecretBox, VaultError>] = []
        /// Which of them are this part's.
        var range = 0..<0
        /// Items that have attributes beside their secret, with all of them, by position.
        var whole: [Int: Item] = [:]
        var memory = Secret(count: 0)
        var frame: [UInt8] = []
        /// Where each secret is in the memory, or why it is not.
        var results: [Result<Range<Int>, VaultError>] = []
    }

    private let reader: ScanReader
    private let state = Mutex(State())

    init(_ reader: ScanReader) { self.reader = reader }

    func take(_ items: [Item], _ keys: [Result<SecretBox, VaultError>], _ range: Range<Int>) {
        state.withLock { state in
            state.items = items
            state.keys = keys
            state.range = range
            state.whole = [:]
            state.results.removeAll(keepingCapacity: true)
            let size = items[range].reduce(0) { $0 + $1.paddedSize }
            // Bodies are opened over what the batch before left: it is wiped with the memory.
            if size > state.memory.count { state.memory = Secret(count: size) }
        }
    }

    func open() {
        state.withLock { state in
            var start = 0
            for index in state.range {
                let end = start + state.items[index].paddedSize
                do throws(VaultError) {
                    let key = try state.keys[index].get()
                    let (secret, whole) = try open(state.items[index], key, &state.frame, &state.memory, start..<end)
                    if whole.largeAttributes > 0 { state.whole[index] = whole }
                    state.results.append(.success(secret))
                } catch { state.results.append(.failure(error)) }
                start = end
            }
        }
    }

    private func open(
        _ item: Item, _ key: SecretBox, _ frame: inout [UInt8], _ memory: inout Secret, _ place: Range<Int>
    ) throws(VaultError) -> (Range<Int>, Item) {
        let record = item.entry.record
        try FrameReader.read(record, .record, reader.file, into: &frame)
        return try memory.withUnsafeMutableBytes { (memory) throws(VaultError) in
            let out = UnsafeMutableRawBufferPointer(rebasing: memory[place])
            try frame.span.bytes.withUnsafeBytes { (frame) throws(VaultError) in
                try RecordCodec.open(frame, item.entry.identity, key: key.secret, reader.sealing, at: record.offset, into: out)
            }
            let body = Span<UInt8>(_unsafeElements: UnsafeRawBufferPointer(out).assumingMemoryBound(to: UInt8.self))
            let (secret, whole) = try RecordCodec.take(body, item)
            return (place.lowerBound + secret.lowerBound..<place.lowerBound + secret.upperBound, whole)
        }
    }

    /// Both threads have ended: nobody else asks for the state, but `body` must be called without holding it, as it may do anything.
    func give(to body: (Item, ScannedSecret) throws(VaultError) -> Void) throws(VaultError) {
        let (items, range, whole, results, memory) = state.withLock { state in
            (state.items, state.range, state.whole, state.results, state.memory.withUnsafeBytes { $0 })
        }
        for (index, result) in zip(range, results) {
            let item = whole[index] ?? items[index]
            switch result {
            case .success(let range): try body(item, .opened(UnsafeRawBufferPointer(rebasing: memory[range])))
            case .failure(let error):
                guard [.deviceBound, .notPermitted, .locked].contains(error.code) else { throw error }
                try body(item, .refused(error))
            }
        }
        // The memory belongs to this part.
        withExtendedLifetime(self) {}
    }
}
