internal import TestSupport
internal import VaultBytes
internal import VaultCrypto
internal import VaultFmt
internal import VaultStore

/// A vault of ten items, and what may become of it when one bit of it is wrong.
struct FlipSpecimen: Sendable {
    /// A value that can be read or not: the secret of an item, one of its attributes, or an earlier secret.
    private typealias Piece = String

    /// What one state holds.
    private struct Content: Equatable, Sendable {
        var pieces: [Piece: [UInt8]] = [:]
        var items = 0
    }

    /// A frame, and the values that it holds if it is a live record.
    private struct Frame: Sendable {
        let range: Range<Int>
        let type: FrameType
        var pieces: Set<Piece> = []
    }

    let bytes: [UInt8]
    private let headerLength: Int
    private var frames: [Frame] = []
    /// By generation, of those that the file holds.
    private var contents: [UInt64: Content] = [:]
    private let newest: UInt64
    /// What the newest commit appended, with it, if damage there looks like a torn write: then the state before is
    /// served.
    private let fragile: Range<Int>
    private static let path = "a.vault"

    /// - `isUsed`: Whether it was changed since it was written as a whole; with a scoped slot, earlier values
    ///   and a large attribute.
    init(isUsed: Bool) throws {
        let files = MemoryFileSystem(clock: 1_700_000_000_000)
        let place = Store.Place(fileSystem: files, random: .fixed(isUsed ? "used" : "fresh"), cacheBytes: 1 << 16)
        let vault = try Vault.create(
            at: Self.path, factors: try Keys.factors(0), options: CreateOptions(), place: place)
        try vault.transaction { (transaction) throws(VaultError) in
            for number in 0..<10 {
                let large = isUsed && number == 4
                var attributes: Attributes = ["label": "label \(number)"]
                if large { attributes["sealed:large"] = [UInt8](repeating: 0x4C, count: 4100) }
                if number == 5 { attributes["sealed:small"] = [UInt8](repeating: 0x53, count: 20) }
                try transaction.add(
                    try Self.key(number), secret: Secret(text: "secret \(number)"), attributes: attributes)
            }
        }
        if isUsed { _ = try vault.addSlot(try Keys.factors(9), grantedGroups: [""]) }
        try vault.compact()
        var contents = [vault.state.generation: try Self.read(vault).content]
        if isUsed {
            for round in 0..<3 {
                try vault.set(try Self.key(round % 2), secret: Secret(text: "new \(round)"))
                contents[vault.state.generation] = try Self.read(vault).content
            }
            try vault.update(try Self.key(7), attributes: AttributeChanges(set: ["label": "another label"]))
            contents[vault.state.generation] = try Self.read(vault).content
        }
        let commit = try vault.withStore { (store) throws(VaultError) in store.state.commit }
        let read = try Self.read(vault)
        let start = commit.wasSyncedFirst ? commit.offset : commit.start
        fragile = Int(start)..<Int(commit.end)
        newest = commit.generation
        bytes = Array((files.bytes(of: Self.path) ?? []).prefix(Int(commit.end)))
        headerLength = try vault.withStore { (store) throws(VaultError) in store.header.length }
        self.contents = contents
        frames = try Self.frames(bytes, from: 2 * headerLength).map { range, type in
            Frame(range: range, type: type, pieces: read.records[UInt64(range.lowerBound)] ?? [])
        }
    }

    private static func key(_ number: Int) throws(VaultError) -> ItemKey {
        try .genericPassword(service: "s", account: "\(number)")
    }

    private static func frames(_ bytes: [UInt8], from start: Int) throws -> [(Range<Int>, FrameType)] {
        var all: [(Range<Int>, FrameType)] = []
        let file = try MemoryFileSystem(path, bytes).open(path, writable: false)
        try FrameWalker(file: file, UInt64(start)..<UInt64(bytes.count)).walk { (_, head, offset) throws(VaultError) in
            all.append((Int(offset)..<Int(offset) + head.length, head.type))
        }
        return all
    }

    var summary: String {
        var counts: [String: Int] = [:]
        for frame in frames { counts[frame.type.name, default: 0] += 1 }
        return counts.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }.joined(separator: ", ")
    }

    /// Where a byte is, in words.
    func place(_ offset: Int) -> String {
        if offset < headerLength { return "the header" }
        if offset < 2 * headerLength { return "the header's copy" }
        guard let frame = frame(at: offset) else { return "padding" }
        return
            "a \(frame.type.name) at \(frame.range.lowerBound)\(frame.pieces.isEmpty ? "" : " with \(frame.pieces.sorted())")"
    }

    private func frame(at offset: Int) -> Frame? { frames.first { $0.range.contains(offset) } }

    /// What one commit appended, with the commit: the one that a byte belongs to.
    private func appended(with offset: Int) -> Range<Int> {
        let ends = frames.filter { $0.type == .commit }.map(\.range.upperBound)
        return (ends.last { $0 <= offset } ?? 2 * headerLength)..<(ends.first { $0 > offset } ?? bytes.count)
    }

    // MARK: one flip

    func check(_ offset: Int, bit: Int) throws {
        var changed = bytes
        changed[offset] ^= 1 << UInt8(bit)
        let files = MemoryFileSystem(Self.path, changed, clock: 1_700_000_000_000)
        let place = Store.Place(fileSystem: files, cacheBytes: 1 << 16)
        if offset < headerLength { return try checkHeader(place) }
        let vault: Vault
        do throws(VaultError) { vault = try Self.open(Self.path, place) } catch {
            // Records and the copy are not needed to open a vault.
            let isNeeded = offset >= 2 * headerLength && frame(at: offset)?.type != .record
            guard isNeeded || fragile.contains(offset) else { throw Wrong("it does not open: \(error)") }
            return
        }
        try checkServed(vault, offset)
        try checkVerification(vault, offset)
    }

    /// It opens no more, says why, and costs nothing.
    private func checkHeader(_ place: Store.Place) throws {
        do throws(VaultError) {
            _ = try Self.open(Self.path, place)
        } catch {
            guard [.notAVault, .unsupportedVersion, .headerInvalid, .authenticationFailed].contains(error.code) else {
                throw Wrong("\(error.code): \(error)")
            }
            return try checkSalvage(place)
        }
        throw Wrong("a header with a wrong bit is accepted")
    }

    private func checkSalvage(_ place: Store.Place) throws {
        let report = try Vault.salvage(
            Self.path, factors: try Keys.factors(0), to: "new.vault", newFactors: try Keys.factors(1),
            options: CreateOptions(),
            place: place)
        guard report.isComplete, report.recovered == 10 else { throw Wrong("salvage gives \(report)") }
        let new = try Self.open("new.vault", key: 1, place)
        let read = try Self.read(new)
        guard read.failed.isEmpty, read.content == contents[newest] else { throw Wrong("salvage lost something") }
    }

    private func checkServed(_ vault: Vault, _ offset: Int) throws {
        let generation = vault.state.generation
        guard let right = contents[generation] else { throw Wrong("generation \(generation) is none of the vault's") }
        if generation != newest {
            guard fragile.contains(offset), vault.tail != .clean else {
                throw Wrong("an older generation, with the tail \(vault.tail)")
            }
        }
        let frame = frame(at: offset)
        let read: Read
        do throws(VaultError) { read = try Self.read(vault) } catch {
            guard frame?.type == .page else { throw Wrong("it cannot be listed: \(error)") }
            return
        }
        let found = read.content
        guard found.items == right.items else { throw Wrong("\(found.items) items of \(right.items)") }
        for (piece, value) in found.pieces where right.pieces[piece] != value {
            throw Wrong("\(piece) is another value")
        }
        for (piece, error) in read.failed where ![.authenticationFailed, .structureInvalid].contains(error.code) {
            throw Wrong("\(piece): \(error)")
        }
        let lost = Set(right.pieces.keys).subtracting(found.pieces.keys)
        switch frame?.type {
        case .record:
            let costs = generation == newest ? frame?.pieces ?? [] : []
            guard lost == costs else { throw Wrong("it costs \(lost.sorted()), not \(costs.sorted())") }
        case .past:
            guard lost.allSatisfy({ $0.contains("earlier") }) else { throw Wrong("it costs \(lost.sorted())") }
        default: guard lost.isEmpty else { throw Wrong("it costs \(lost.sorted())") }
        }
    }

    /// Verification names it, and where.
    private func checkVerification(_ vault: Vault, _ offset: Int) throws {
        let problems = try vault.verify().problems
        guard !problems.isEmpty else { throw Wrong("verification finds nothing") }
        let place: Range<Int>
        if offset < 2 * headerLength {
            place = offset..<offset + 1
        } else if let frame = frame(at: offset), !frame.pieces.isEmpty, !fragile.contains(offset) {
            place = frame.range
        } else {
            // What is dead, or not served, is named with what its commit appended.
            place = appended(with: offset)
        }
        let isNamed = problems.contains { problem in problem.offset.map { place.contains(Int($0)) } ?? false }
        guard isNamed else { throw Wrong("verification names \(problems)") }
    }

    // MARK: reading

    private static func open(_ path: String, key: Int = 0, _ place: Store.Place) throws(VaultError) -> Vault {
        let factors = try Keys.factors(key)
        return try Vault.open(path, factors: factors, options: OpenOptions(), place: place)
    }

    /// All values that can be read, the records that they are in by offset, and those that cannot be read.
    private struct Read {
        var content = Content()
        var records: [UInt64: Set<Piece>] = [:]
        var failed: [Piece: VaultError] = [:]
    }

    private static func read(_ vault: Vault) throws(VaultError) -> Read {
        var content = Content()
        var records: [UInt64: Set<Piece>] = [:]
        var failed: [Piece: VaultError] = [:]
        func note(_ piece: Piece, _ record: UInt64?, _ read: () throws(VaultError) -> [UInt8]?) {
            if let record { records[record, default: []].insert(piece) }
            do throws(VaultError) { content.pieces[piece] = try read() } catch { failed[piece] = error }
        }
        var cursor = try vault.items()
        while let item = try cursor.next() {
            content.items += 1
            let name = item.key.account ?? ""
            let record = item.entry.record.offset
            note("\(name)/secret", record) { () throws(VaultError) in bytes(try vault.open(item).takeSecret()) }
            for attribute in item.attributes.all {
                var place: UInt64?
                switch attribute.content {
                case .inItemRecord: place = record
                case .inOwnRecord(let own): place = own.record.offset
                case .bytes, .secret: break
                }
                note("\(name)/\(attribute.name)", place) { () throws(VaultError) in
                    guard let value = try vault.attribute(attribute.name, of: item) else { return nil }
                    return bytes(value)
                }
            }
            var earlier: [EarlierValue] = []
            do throws(VaultError) { earlier = try vault.earlierValues(of: item) } catch {
                failed["\(name)/earlier"] = error
            }
            for (index, value) in earlier.enumerated() {
                note("\(name)/earlier \(index)", value.value.record?.record.offset) { () throws(VaultError) in
                    bytes(try vault.secret(of: value))
                }
            }
        }
        return Read(content: content, records: records, failed: failed)
    }

    private static func bytes(_ secret: consuming Secret) -> [UInt8] { secret.withUnsafeBytes { Array($0) } }
}
