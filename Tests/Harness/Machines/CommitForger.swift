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
    private var numbers: Numbers

    /// - `isOwner`: Whether he has the vault key; else the index key only, and invents the owner key and the
    ///   signing seed.
    init(
        _ version: MachineVersion, _ state: MachineState, vault: Bytes16, isOwner: Bool, numbers: Numbers
    ) {
        var keys = ForgeKeys(vault: vault, vaultKey: state.vaultKey, epoch: version.epoch)
        self.numbers = numbers
        if !isOwner {
            keys.owner = self.numbers.bytes(32)
            keys.signingSeed = self.numbers.bytes(32)
        }
        self.vault = vault
        self.keys = keys
        file = version.bytes
        commit = version.commit
        chain = state.chain
    }

    /// A commit with the tree of an older one of the same file.
    mutating func append(treeOf other: Commit) {
        append(root: other.root, items: other.items, tombstones: other.tombstones, versions: other.versions)
    }

    /// A commit whose tree lacks the last item; false if its root is not a leaf with several.
    mutating func appendWithoutLastItem() throws -> Bool {
        guard let root = commit.root, root.level == 0 else { return false }
        let start = Int(root.ref.offset)
        let frame = Array(file[start..<start + root.ref.length])
        let bound = Bindings.placed(.page, vault, at: root.ref.offset, length: frame.count)
        guard let body = Plain.open(Array(frame[Format.frameHeadSize...]), key: keys.index, bound: bound) else {
            throw Wrong("the forger cannot open a page")
        }
        var entries = try PageEntry.all(body, at: root.ref.offset)
        guard entries.count > 1, entries.last?.key.first != Format.tombstoneTag else { return false }
        entries.removeLast()
        let page = PageEntry.encode(entries, level: 0)
        let offset = UInt64(file.count)
        let new = seal(page, .page, at: offset)
        file += new
        let ref = ObjectRef(offset: offset, length: new.count, hash: Bytes32(hashing: new))
        append(
            root: Commit.Root(ref: ref, level: 0), items: commit.items - 1, tombstones: commit.tombstones,
            versions: commit.versions,
            frames: [ref.hash])
        return true
    }

    private mutating func append(
        root: Commit.Root?, items: UInt64, tombstones: UInt64, versions: UInt64, frames: [Bytes32] = []
    ) {
        var next = commit
        next.generation += 1
        next.predecessor = Commit.Predecessor(generation: commit.generation, chain: chain)
        next.start = commit.end
        next.clock += 1 + UInt64(numbers.below(1_000_000))
        next.root = root
        next.items = items
        next.tombstones = tombstones
        next.versions = versions
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

    private mutating func seal(_ body: [UInt8], _ type: FrameType, at offset: UInt64) -> [UInt8] {
        let length = body.count + Format.sealOverhead
        let bound = Bindings.placed(type, vault, at: offset, length: length)
        return withUnsafeBytes(of: FrameHead(type, length: length).encoded.littleEndian, Array.init)
            + Plain.seal(body, key: keys.index, nonce: numbers.bytes(Format.nonceSize), bound: bound)
    }
}
