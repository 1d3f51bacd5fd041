internal import VaultBytes
internal import VaultCrypto
internal import VaultForge
internal import VaultStore

/// Appends commits and pages to a file, under the keys of whoever forges.
struct CommitForger {
    private let vault: Bytes16
    private let keys: ForgeKeys
    private(set) var file: [UInt8]
    private(set) var commit: Commit
    private(set) var chain: Bytes32
    private var numbers: Numbers

    /// - Parameter isOwner: Whether he has the vault key; else index and reader key only, and invents the owner key.
    init(
        _ version: MachineVersion, _ state: MachineState, vault: Bytes16, isOwner: Bool, numbers: Numbers
    ) {
        var keys = ForgeKeys(vault: vault, vaultKey: state.vaultKey, epoch: version.epoch)
        self.numbers = numbers
        if !isOwner { keys.owner = self.numbers.bytes(32) }
        self.vault = vault
        self.keys = keys
        file = version.bytes
        commit = version.commit
        chain = state.chain
    }

    /// A commit with the tree of an older one of the same file.
    mutating func append(treeOf other: Commit) {
        append(root: other.root, items: other.items, tombstones: other.tombstones)
    }

    /// A commit whose tree lacks the last item; false if its root is not a leaf with several.
    mutating func appendWithoutLastItem() throws -> Bool {
        guard let root = commit.root, root.level == 0 else { return false }
        let start = Int(root.ref.offset)
        let frame = Array(file[start..<start + root.ref.length])
        let sealed = Array(frame[Format.frameHeadSize...])
        let body = try AEAD.unwrap(
            sealed, bound(.page, at: root.ref.offset, length: frame.count), key: Secret(bytes: keys.index)
        ).plain
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
            frames: [ref.hash])
        return true
    }

    private mutating func append(root: Commit.Root?, items: UInt64, tombstones: UInt64, frames: [Bytes32] = []) {
        var next = commit
        next.generation += 1
        next.previous = commit.offset
        next.previousChain = chain
        next.start = commit.end
        next.clock += 1 + UInt64(numbers.below(1_000_000))
        next.root = root
        next.items = items
        next.tombstones = tombstones
        let label = "vaultfmt-1 digest"
        next.digest = Bytes32(hashing: [UInt8(label.utf8.count)] + Array(label.utf8) + frames.flatMap(\.bytes))
        next.wasSyncedFirst = true
        file += [UInt8](repeating: 0, count: (64 - file.count % 64) % 64)
        next.offset = UInt64(file.count)
        let body = next.encode()
        let frame = seal(body, .commit, at: next.offset)
        let covered = vault.bytes + frame
        file += frame
        file += Plain.mac(keys.reader, "vaultfmt-1 commit reader", covered)
        file += Plain.mac(keys.owner, "vaultfmt-1 commit owner", covered)
        chain = Chain.value(vault: vault, generation: next.generation, previous: chain, link: Chain.link(body))
        commit = next
    }

    private mutating func seal(_ body: [UInt8], _ type: FrameType, at offset: UInt64) -> [UInt8] {
        let length = type == .commit ? Format.commitSize : body.count + Format.sealOverhead
        let bound = bound(type, at: offset, length: length)
        return Self.head(type, length)
            + Plain.seal(body, key: keys.index, nonce: numbers.bytes(Format.nonceSize), bound: bound)
    }

    private func bound(_ type: FrameType, at offset: UInt64, length: Int) -> [UInt8] {
        let label = "vaultfmt-1 \(type.name)"
        return [UInt8(label.utf8.count)] + Array(label.utf8) + vault.bytes
            + withUnsafeBytes(of: offset.littleEndian, Array.init) + Self.head(type, length)
    }

    private static func head(_ type: FrameType, _ length: Int) -> [UInt8] {
        withUnsafeBytes(of: FrameHead(type, length: length).encoded.littleEndian, Array.init)
    }
}
