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
        while true {
            let batch = try nextBatch(&cursor)
            guard !batch.items.isEmpty else { return }
            let half = batch.items.count / 2
            let first = ScanPart(items: Array(batch.items[..<half]), keys: Array(batch.keys[..<half]), reader)
            let second = ScanPart(items: Array(batch.items[half...]), keys: Array(batch.keys[half...]), reader)
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

/// Items that one thread opens, and where their secrets then are.
final class ScanPart: Sendable {
    private struct Opened: ~Copyable {
        var memory: Secret
        var results: [Result<Range<Int>, VaultError>] = []
        var items: [Item] = []
    }

    private let items: [Item]
    private let keys: [Result<SecretBox, VaultError>]
    private let reader: ScanReader
    private let opened: Mutex<Opened>

    init(items: [Item], keys: [Result<SecretBox, VaultError>], _ reader: ScanReader) {
        self.items = items
        self.keys = keys
        self.reader = reader
        opened = Mutex(Opened(memory: Secret(count: items.reduce(0) { $0 + $1.paddedSize })))
    }

    func open() {
        opened.withLock { opened in
            opened.results.reserveCapacity(items.count)
            var frame: [UInt8] = []
            var start = 0
            for (item, key) in zip(items, keys) {
                let end = start + item.paddedSize
                do throws(VaultError) {
                    let (range, whole) = try open(item, try key.get(), &frame, &opened.memory, start..<end)
                    opened.results.append(.success(range))
                    opened.items.append(whole)
                } catch {
                    opened.results.append(.failure(error))
                    opened.items.append(item)
                }
                start = end
            }
        }
    }

    private func open(
        _ item: Item, _ key: SecretBox, _ frame: inout [UInt8], _ memory: inout Secret, _ place: Range<Int>
    ) throws(VaultError) -> (Range<Int>, Item) {
        let record = item.entry.record
        try FrameReader.read(record, .record, reader.file, into: &frame)
        var result: Result<(Range<Int>, Item), VaultError> = .failure(VaultError(.structureInvalid, "a record is empty", at: record.offset))
        memory.withUnsafeMutableBytes { memory in
            let out = UnsafeMutableRawBufferPointer(rebasing: memory[place])
            do throws(VaultError) {
                try frame.span.bytes.withUnsafeBytes { (frame) throws(VaultError) in
                    try RecordCodec.open(frame, item.entry.identity, key: key.secret, reader.sealing, at: record.offset, into: out)
                }
                let body = Span<UInt8>(_unsafeElements: UnsafeRawBufferPointer(out).assumingMemoryBound(to: UInt8.self))
                let (secret, whole) = try RecordCodec.take(body, item)
                result = .success((place.lowerBound + secret.lowerBound..<place.lowerBound + secret.upperBound, whole))
            } catch { result = .failure(error) }
        }
        return try result.get()
    }

    func give(to body: (Item, ScannedSecret) throws(VaultError) -> Void) throws(VaultError) {
        // Both threads have ended: nobody else asks for it, and `body` may do anything but reach this.
        for index in items.indices {
            let (result, item) = opened.withLock { ($0.results[index], $0.items[index]) }
            switch result {
            case .success(let range): try lend(range) { (bytes) throws(VaultError) in try body(item, .opened(bytes)) }
            case .failure(let error):
                guard [.deviceBound, .notPermitted, .locked].contains(error.code) else { throw error }
                try body(item, .refused(error))
            }
        }
    }

    private func lend(_ range: Range<Int>, _ body: (UnsafeRawBufferPointer) throws(VaultError) -> Void) throws(VaultError) {
        let bytes = opened.withLock { opened in
            opened.memory.withUnsafeBytes { UnsafeRawBufferPointer(rebasing: $0[range]) }
        }
        // The memory lives as long as this part does.
        try withExtendedLifetime(self) { () throws(VaultError) in try body(bytes) }
    }
}
