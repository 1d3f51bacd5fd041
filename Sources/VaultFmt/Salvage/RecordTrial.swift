internal import VaultBytes
internal import VaultStore

/// Tries to open regions that look like records, many at a time on several threads, with keys that have already been
/// unwrapped.
struct RecordTrial: Sendable {
    /// The result for one region.
    enum Outcome: Sendable {
        case record(Sealing.RecordIdentity, FoundRecord)
        /// The record authenticates, but its body is damaged or has a form that this version does not know.
        case unreadable(VaultError)
        /// The region does not authenticate.
        case failed(VaultError)
        /// The key of the compartment in the record's locator has not been unwrapped yet.
        case keyNeeded(Sealing.RecordIdentity)
    }

    private let file: any FileHandle
    private let sealing: Sealing
    private let locator: SecretBox
    private let keys: [UInt64: SecretBox]
    /// The maximum total size of the regions opened at a time, unless there is only one. A damaged file must not
    /// determine the amount of memory used.
    private static let batchBytes = 4 << 20
    private static let batchCount = 1024
    private static let leastDivided = 16

    init(_ file: any FileHandle, _ sealing: Sealing, locator: SecretBox, keys: [UInt64: SecretBox]) {
        self.file = file
        self.sealing = sealing
        self.locator = locator
        self.keys = keys
    }

    /// Returns the number of regions at the start that are opened together.
    static func batch(_ regions: ArraySlice<Range<UInt64>>) -> Int {
        var bytes = 0
        var count = 0
        for region in regions.prefix(batchCount) {
            bytes += region.count
            guard count == 0 || bytes <= batchBytes else { break }
            count += 1
        }
        return count
    }

    /// Returns the results for the regions, in order.
    func outcomes(_ regions: ArraySlice<Range<UInt64>>, on workers: Workers) -> [Outcome] {
        let parts = max(1, min(regions.count / Self.leastDivided, workers.count * 4))
        let size = (regions.count + parts - 1) / parts
        return workers.map(parts) { part, _ in
            let start = regions.startIndex + min(part * size, regions.count)
            return regions[start..<min(start + size, regions.endIndex)].map(outcome)
        }.flatMap { $0 }
    }

    private func outcome(_ region: Range<UInt64>) -> Outcome {
        do throws(VaultError) {
            // Only an owner can have made a locator that contains the number of a compartment of this vault.
            let start = try file.bytes(Sealing.recordBodyStart, at: region.lowerBound)
            let identity = start.withUnsafeBytes { sealing.claimedIdentity($0, locatorKey: locator.secret) }
            guard let key = keys[identity.compartment] else { return .keyNeeded(identity) }
            let frame = try file.bytes(region.count, at: region.lowerBound)
            let body = try frame.span.bytes.withUnsafeBytes { (frame) throws(VaultError) in
                try RecordCodec.open(frame, identity, key: key.secret, sealing, at: region.lowerBound)
            }
            return found(body, identity, region)
        } catch { return .failed(error) }
    }

    private func found(
        _ body: borrowing Secret, _ identity: Sealing.RecordIdentity, _ region: Range<UInt64>
    ) -> Outcome {
        do throws(VaultError) {
            return .record(
                identity,
                try body.withSpan { (bytes) throws(VaultError) in
                    try RecordCodec.found(bytes, at: region.lowerBound)
                })
        } catch { return .unreadable(error) }
    }
}
