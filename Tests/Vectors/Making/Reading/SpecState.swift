internal import TestSupport
internal import VaultBytes
internal import VaultCrypto

/// The state that is served, and what follows it (section 7.1, steps 3 to 8).
struct SpecState {
    enum Tail { case none, torn, incomplete, damaged }

    private let bodyStart: UInt64
    private(set) var commit: Commit
    private(set) var chain = Bytes32.zero
    private(set) var tail = Tail.none

    /// Until `find`, there is none.
    init(bodyStart: UInt64) {
        self.bodyStart = bodyStart
        let none = ObjectRef(offset: 0, length: 0, hash: .zero)
        commit = Commit(
            generation: 0, predecessor: nil, offset: 0, start: 0, clock: 0, floor: 0, wasSyncedFirst: false, root: nil,
            keyring: none, vector: none, header: .zero, digest: .zero, items: 0, forgotten: 0, pasts: 0, liveBytes: 0,
            own: nil)
    }

    mutating func find(_ reader: SpecReader) throws(Refusal) {
        let file = reader.file
        let end = UInt64(SpecState.endWithoutReserve(file))
        var heads = 0
        // The greatest multiple of 512 that is at least 512 before the end; a file has 2L + 1024 bytes, but perhaps
        // zeros only.
        var offset = end >= 512 ? (end - 512) / 512 * 512 : 0
        while true {
            try Refusal.unless(offset >= bodyStart && end - offset <= 268_436_480, .authenticationFailed)
            if SpecState.isHead(file, offset) {
                if let body = SpecState.open(reader, offset) {
                    try serve(reader, body, offset)
                    break
                }
                heads += 1
                try Refusal.unless(heads < 64, .authenticationFailed)
            }
            try Refusal.unless(offset >= 512, .authenticationFailed)
            offset -= 512
        }
        tail = SpecState.tail(reader, from: Int(commit.end))
    }

    /// Steps 6 to 8.
    private mutating func serve(_ reader: SpecReader, _ body: [UInt8], _ offset: UInt64) throws(Refusal) {
        let newest = try SpecState.checked(reader, body, offset)
        if newest.commit.wasSyncedFirst || SpecState.digest(reader, newest.commit) == newest.commit.digest {
            (commit, chain) = newest
            return
        }
        guard let before = newest.commit.predecessor, let at = newest.commit.predecessorOffset(from: bodyStart),
            let earlier = SpecState.open(reader, at)
        else { throw Refusal(.authenticationFailed) }
        let last = try SpecState.checked(reader, earlier, at)
        try Refusal.unless(
            last.commit.generation == before.generation && last.chain == before.chain
                && (last.commit.wasSyncedFirst || SpecState.digest(reader, last.commit) == last.commit.digest),
            .authenticationFailed)
        (commit, chain) = last
    }

    /// Step 6: the proof, the table, the header hash.
    private static func checked(_ reader: SpecReader, _ body: [UInt8], _ offset: UInt64) throws(Refusal) -> (
        commit: Commit, chain: Bytes32
    ) {
        let core = Array(body[..<368])
        let chain = Bindings.chain(reader.vault, core)
        if let owner = reader.owner {
            let mac = Plain.mac(owner.owner, "vaultfmt-1 commit owner", chain.bytes)
            try Refusal.unless(mac == Array(body[368..<400]), .authenticationFailed)
        } else {
            let message = Bindings.commit(chain.bytes)
            try Refusal.unless(
                Signature.isValid(Array(body[400...]), of: message, under: reader.publicKey), .authenticationFailed)
        }
        let commit = try Refusal.of { () throws(FormatError) in
            try Commit(core.span, at: offset, from: reader.bodyStart)
        }
        try Refusal.unless(commit.header == reader.headerHash, .authenticationFailed)
        return (commit, chain)
    }

    /// A commit's plaintext, if its head is there and it opens.
    static func open(_ reader: SpecReader, _ offset: UInt64) -> [UInt8]? {
        guard isHead(reader.file, offset), UInt64(reader.file.count) - offset >= 512 else { return nil }
        let frame = reader.file[Int(offset)..<Int(offset) + 512]
        let bound = Bindings.placed(.commit, reader.vault, at: offset, length: 512)
        return Plain.open(Array(frame.dropFirst(8)), key: reader.index, bound: bound)
    }

    private static func isHead(_ file: [UInt8], _ offset: UInt64) -> Bool {
        let at = Int(offset)
        return file.count - at >= 8 && file[at..<at + 8].elementsEqual([0x76, 0x43, 0x4D, 0x54, 0, 2, 0, 0])
    }

    private static func endWithoutReserve(_ file: [UInt8]) -> Int {
        let last = (file.lastIndex { $0 != 0 } ?? -1) + 1
        let first = (last + 511) / 512 * 512
        guard first < file.count else { return file.count }
        return file.count - min(file.count - first, Int(Format.Limit.reserve))
    }

    /// The digest of what a commit appended; nil if it has none (step 7).
    private static func digest(_ reader: SpecReader, _ commit: Commit) -> Bytes32? {
        var hashes: [Bytes32] = []
        var at = Int(commit.start)
        let end = Int(commit.offset)
        while at < end {
            let rest = reader.file[at..<end]
            if rest.count <= 511, rest.allSatisfy({ $0 == 0 }) { break }
            guard rest.count >= 8 else { return nil }
            do throws(FormatError) {
                let head = try FrameHead(Array(rest.prefix(8)).span, at: 0)
                guard head.type != .commit, head.length <= rest.count else { return nil }
                hashes.append(Plain.hash(Array(rest.prefix(head.length))))
                at += head.length
            } catch { return nil }
        }
        return Bindings.digest(hashes)
    }

    private static func tail(_ reader: SpecReader, from start: Int) -> Tail {
        let file = reader.file
        let end = endWithoutReserve(file)
        guard start < end else { return .none }
        var kind = Tail.torn
        // Heads count at any offset, but commits open only at multiples of 512.
        for offset in start..<end where file[offset] == 0x76 && end - offset >= 8 && isHead(file, UInt64(offset)) {
            if offset % 512 != 0 || open(reader, UInt64(offset)) == nil { return .damaged }
            kind = .incomplete
        }
        return kind
    }
}
