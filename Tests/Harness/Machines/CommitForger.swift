internal import TestSupport
internal import VaultBytes
internal import VaultCrypto
internal import VaultStore

/// Appends commits and pages to a file, under the keys of whoever forges.
struct CommitForger {
    private let vault: Bytes16
    private let keys: ForgeKeys
    private(set) var file: [UInt8]
    private(set) var commit: Commit
    private(set) var chain: Bytes32
    /// The name of the last change.
    private(set) var dot: Dot
    private var numbers: Numbers
    /// The vector that the commits refer to, once it is in the file.
    private var vector: ObjectRef?
    private let rows: [Vector.Row]

    /// - `isOwner`: Whether he has the vault key; else the index key only, and invents the owner key and the
    ///   signing seed.
    init(
        _ version: MachineVersion, _ state: MachineState, vault: Bytes16, isOwner: Bool, _ numbers: Numbers
    ) throws {
        var (keys, numbers) = (ForgeKeys(vault: vault, vaultKey: state.vaultKey, epoch: version.epoch), numbers)
        if !isOwner {
            keys.owner = numbers.bytes(32)
            keys.signingSeed = numbers.bytes(32)
        }
        let known = try Self.stored(version.commit, in: version.bytes, keys)
        rows = Self.rows(state.vector, after: known)
        dot = Dot(revision: version.commit.clock, replica: numbers.next() | 1)
        self.vault = vault
        self.keys = keys
        self.numbers = numbers
        file = version.bytes
        commit = version.commit
        chain = state.chain
    }

    // MARK: vectors

    /// The rows of a vector, those of another one first, in the order of their positions.
    static func rows(_ vector: MachineVector, after known: [Vector.Row]) -> [Vector.Row] {
        let positions = known.map(\.id)
        let further = vector.rows.keys.filter { !positions.contains($0) }.sorted()
        return (positions + further).map { Vector.Row($0, vector.rows[$0] ?? 1) }
    }

    /// The rows that a file stores for a commit.
    private static func stored(_ commit: Commit, in file: [UInt8], _ keys: ForgeKeys) throws -> [Vector.Row] {
        let frame = try frame(commit.vector, in: file, keys)
        var base: VectorFrame?
        if let ref = frame.base { base = try self.frame(ref, in: file, keys) }
        return try frame.vector(on: base, floor: commit.floor, at: commit.vector.offset).rows
    }

    private static func frame(_ ref: ObjectRef, in file: [UInt8], _ keys: ForgeKeys) throws -> VectorFrame {
        let body = try open(ref, .vector, in: file, keys)
        return try VectorFrame(body.span, at: ref.offset)
    }

    private static func open(_ ref: ObjectRef, _ type: FrameType, in file: [UInt8], _ keys: ForgeKeys) throws -> [UInt8]
    {
        let frame = Array(file[Int(ref.offset)..<Int(ref.offset) + ref.length])
        let bound = Bindings.placed(type, keys.vault, at: ref.offset, length: frame.count)
        guard let body = Plain.open(Array(frame[Format.frameHeadSize...]), key: keys.index, bound: bound) else {
            throw Wrong("the forger cannot open a \(type.name)")
        }
        return body
    }

    // MARK: commits

    /// A commit with the tree of an older one of the same file.
    mutating func append(treeOf other: Commit) {
        append(root: other.root, items: other.items, forgotten: other.forgotten, pasts: other.pasts)
    }

    /// A commit whose tree lacks the last item; false if its root is not a leaf with several.
    mutating func appendWithoutLastItem() throws -> Bool {
        guard let root = commit.root, root.level == 0 else { return false }
        var entries = try PageEntry.all(try Self.open(root.ref, .page, in: file, keys), at: root.ref.offset)
        guard entries.count > 1, let last = entries.last, last.key.first != Format.forgottenTag,
            let item = ForgedItem(last.value)
        else { return false }
        entries.removeLast()
        let ref = append(PageEntry.encode(entries, level: 0), .page)
        append(
            root: Commit.Root(ref: ref, level: 0), items: commit.items - 1, forgotten: commit.forgotten,
            pasts: commit.pasts - (item.entry.past == nil ? 0 : 1), frames: [ref.hash])
        return true
    }

    private mutating func append(
        root: Commit.Root?, items: UInt64, forgotten: UInt64, pasts: UInt64, frames: [Bytes32] = []
    ) {
        var frames = frames
        var next = commit
        dot = Dot(revision: commit.clock + 1 + UInt64(numbers.below(1_000_000)), replica: dot.replica)
        next.generation += 1
        next.predecessor = Commit.Predecessor(generation: commit.generation, chain: chain)
        next.start = commit.end
        next.clock = dot.revision
        next.own = Commit.OwnRow(id: dot.replica, revision: dot.revision)
        next.root = root
        next.items = items
        next.forgotten = forgotten
        next.pasts = pasts
        next.vector = writtenVector(&frames)
        next.digest = Bindings.digest(frames)
        next.wasSyncedFirst = true
        file += [UInt8](repeating: 0, count: Int(Padding.commitOffset(UInt64(file.count))) - file.count)
        next.offset = UInt64(file.count)
        let core = next.encode()
        chain = Bindings.chain(vault, core)
        let proof =
            Plain.mac(keys.owner, "vaultfmt-1 commit owner", chain.bytes)
            + Plain.sign(Bindings.commit(chain.bytes), seed: keys.signingSeed)
        file += seal(core + proof, .commit, at: next.offset)
        commit = next
    }

    /// The vector, with a row of his own, which the first of his commits appends.
    private mutating func writtenVector(_ frames: inout [Bytes32]) -> ObjectRef {
        if let vector { return vector }
        var body: [UInt8] = [0]
        body.append(varint: UInt64(rows.count + 1))
        for row in rows + [Vector.Row(dot.replica, dot.revision)] { row.encode(into: &body) }
        body.padSteppedBody()
        let ref = append(body, .vector)
        frames.append(ref.hash)
        vector = ref
        return ref
    }

    private mutating func append(_ body: [UInt8], _ type: FrameType) -> ObjectRef {
        let offset = UInt64(file.count)
        let frame = seal(body, type, at: offset)
        file += frame
        return ObjectRef(offset: offset, length: frame.count, hash: Bytes32(hashing: frame))
    }

    private mutating func seal(_ body: [UInt8], _ type: FrameType, at offset: UInt64) -> [UInt8] {
        let length = body.count + Format.sealOverhead
        let bound = Bindings.placed(type, vault, at: offset, length: length)
        return withUnsafeBytes(of: FrameHead(type, length: length).encoded.littleEndian, Array.init)
            + Plain.seal(body, key: keys.index, nonce: numbers.bytes(Format.nonceSize), bound: bound)
    }
}
