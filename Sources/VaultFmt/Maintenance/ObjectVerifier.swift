internal import VaultBytes
internal import VaultStore

/// Authenticates individual objects, live or dead, on several threads.
struct ObjectVerifier: Sendable {
    /// The results for some consecutive objects.
    struct Findings: Sendable {
        var objects: [FrameType: Int] = [:]
        /// The number of objects whose keys are not available.
        var unopened = 0
        var problems: [VaultError] = []
        /// The offsets of commits. Checking a commit requires other objects as well.
        var commits: [UInt64] = []
        var hashes: [Bytes32] = []
    }

    private let pages: PageSource
    private let view: KeyringView
    /// The key of each compartment, or the reason why it is not available. Keys are opened in advance, because only one
    /// thread at a time may do so.
    private let keys: [UInt64: Result<SecretBox, VaultError>]
    /// Nil if the slot does not grant the locator key.
    private let locator: SecretBox?
    /// Nil if the slot does not grant the key of pasts.
    private let pastKey: SecretBox?
    /// The minimum number of objects to divide: checking fewer takes less time than waking a thread.
    private static let leastDivided = 32

    init(_ core: VaultCore, _ locator: SecretBox?, pastKey: SecretBox?) {
        pages = core.store.pages
        view = core.view
        self.locator = locator
        self.pastKey = pastKey
        var keys: [UInt64: Result<SecretBox, VaultError>] = [:]
        for info in core.view.keyring.compartments {
            guard locator != nil, let compartment = core.view.compartment(info.number) else { continue }
            do throws(VaultError) {
                keys[info.number] = .success(try core.compartments.key(compartment, core.context))
            } catch { keys[info.number] = .failure(error) }
        }
        self.keys = keys
    }

    /// Checks the objects that one generation appended, in consecutive parts.
    func check(_ piece: FrameWalker.Piece, of generation: UInt64, on workers: Workers) -> [Findings] {
        let count = piece.frames.count
        let size = max(Self.leastDivided / 2, count / (workers.count * 4))
        return workers.map(count < Self.leastDivided ? 1 : (count + size - 1) / size) { part, _ in
            let frames = count < Self.leastDivided ? 0..<count : part * size..<min((part + 1) * size, count)
            var found = Findings()
            found.hashes.reserveCapacity(frames.count)
            piece.bytes.withUnsafeBytes { bytes in
                for frame in piece.frames[frames] {
                    check(UnsafeRawBufferPointer(rebasing: bytes[frame.range]), frame, generation, &found)
                }
            }
            return found
        }
    }

    private func check(
        _ bytes: UnsafeRawBufferPointer, _ frame: FrameWalker.Piece.Frame, _ generation: UInt64, _ found: inout Findings
    ) {
        found.hashes.append(Bytes32(hashing: bytes))
        found.objects[frame.head.type, default: 0] += 1
        let offset = frame.offset
        do throws(VaultError) {
            switch frame.head.type {
            case .record: if try !isOpen(record: bytes, offset) { found.unopened += 1 }
            case .page:
                try open(bytes, .page, offset) { (body) throws(FormatError) in
                    _ = try PageLayout(body.span, at: offset)
                }
            case .past:
                guard let pastKey else {
                    found.unopened += 1
                    break
                }
                let body = try pages.open(Array(bytes), .past, at: offset, key: pastKey.secret)
                try decoding { () throws(FormatError) in _ = try Past(body.span, at: offset) }
            case .keyring:
                try open(bytes, .keyring, offset) { (body) throws(FormatError) in
                    _ = try Keyring(body.span, at: offset)
                }
            case .vector:
                try open(bytes, .vector, offset) { (body) throws(FormatError) in
                    _ = try VectorFrame(body.span, at: offset)
                }
            case .chunk: found.unopened += 1
            case .commit: found.commits.append(offset)
            }
        } catch { found.problems.append(error) }
    }

    private func open(
        _ frame: UnsafeRawBufferPointer, _ kind: Sealing.Placed, _ offset: UInt64,
        _ parse: ([UInt8]) throws(FormatError) -> Void
    ) throws(VaultError) {
        let body = try pages.open(Array(frame), kind, at: offset)
        try decoding { () throws(FormatError) in try parse(body) }
    }

    /// Checks a live or dead record under the identity in its locator. Returns false if the record's key is not
    /// available.
    private func isOpen(record frame: UnsafeRawBufferPointer, _ offset: UInt64) throws(VaultError) -> Bool {
        guard let locator else { return false }
        let identity = pages.sealing.claimedIdentity(frame, locatorKey: locator.secret)
        // The key is missing because it was replaced or the locator is damaged; the digest distinguishes the two cases.
        guard let known = keys[identity.compartment] else { return false }
        let key: SecretBox
        do throws(VaultError) { key = try known.get() } catch {
            guard error.code == .deviceBound || error.code == .notPermitted else { throw error }
            return false
        }
        let body = try RecordCodec.open(frame, identity, key: key.secret, pages.sealing, at: offset)
        _ = try body.withSpan { (bytes) throws(VaultError) in try RecordCodec.found(bytes, at: offset) }
        return true
    }
}
