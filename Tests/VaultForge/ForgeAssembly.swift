internal import VaultBytes
internal import VaultCrypto
internal import VaultStore

extension Forge {
    /// The whole file.
    package func assemble() throws -> [UInt8] {
        var assembly = try Assembly(self)
        for object in objects { try assembly.append(object) }
        return assembly.file + tail
    }
}

/// One pass from front to back: what is referred to always stands before what refers to it.
private struct Assembly {
    private let forge: Forge
    private(set) var file: [UInt8]
    private var layout = ForgeLayout()
    private let headerHash: Bytes32
    private let originalHash: Bytes32
    private var byOrigin: [UInt64: ForgedObject.ID] = [:]
    /// How much longer each object got.
    private var growth: [ForgedObject.ID: Int64] = [:]
    private var start: UInt64
    private var previous: (offset: UInt64, chain: Bytes32)?
    /// Of the frames since the last commit.
    private var hashes: [Bytes32] = []

    init(_ forge: Forge) throws {
        self.forge = forge
        var header = forge.header
        var bytes = try header.encodeWithoutMACs()
        for edit in forge.editHeader { try edit(&bytes) }
        let covered = bytes
        bytes += Plain.mac(forge.keys.reader, "vaultfmt-1 header reader", covered)
        bytes += Plain.mac(forge.keys.owner, "vaultfmt-1 header owner", covered)
        for edit in forge.editHeaderSealed { try edit(&bytes) }
        headerHash = Bytes32(hashing: bytes)
        for edit in forge.editHeaderWritten { try edit(&bytes) }
        file = bytes
        originalHash = Bytes32(hashing: forge.originalHeader)
        start = UInt64(bytes.count)
        for object in forge.objects { if let origin = object.origin { byOrigin[origin] = object.id } }
    }

    mutating func append(_ object: ForgedObject) throws {
        if object.type == .commit { try pad(object) }
        layout.begin(at: UInt64(file.count))
        var frame: [UInt8]
        var chain: Bytes32?
        if let opaque = object.opaque {
            frame = opaque
        } else {
            var body = try updated(object)
            for edit in object.editBody { try edit(&body, layout) }
            frame = try seal(object, body)
            if object.type == .commit { chain = chainValue(of: body) }
        }
        for edit in object.editSealed { try edit(&frame) }
        layout.add(object.id, ObjectRef(offset: layout.offset, length: frame.count, hash: Bytes32(hashing: frame)))
        for edit in object.editReferenced { try edit(&frame) }
        hashes.append(Bytes32(hashing: frame))
        for edit in object.editWritten { try edit(&frame) }
        file += frame
        if object.origin != nil, object.type != .commit { growth[object.id] = Int64(frame.count - originalLength(object)) }
        if object.type == .commit {
            if let chain { previous = (layout.offset, chain) }
            start = UInt64(file.count)
            hashes = []
        }
    }

    private mutating func pad(_ object: ForgedObject) throws {
        let alignment = Format.commitAlignment
        var padding = [UInt8](repeating: 0, count: (file.count + alignment - 1) / alignment * alignment - file.count)
        for edit in object.editPadding { try edit(&padding) }
        file += padding
    }

    private func originalLength(_ object: ForgedObject) -> Int {
        if let opaque = object.opaque { return opaque.count }
        return object.body.count + (object.type == .record ? Format.recordOverhead : Format.sealOverhead)
    }

    // MARK: references

    /// The body with its references to objects where they are now.
    private func updated(_ object: ForgedObject) throws -> [UInt8] {
        guard let origin = object.origin else { return object.body }
        switch object.type {
        case .record, .keyring, .history: return object.body
        case .page: return try updatedPage(object.body, at: origin)
        case .commit: return try updatedCommit(object, at: origin)
        }
    }

    private func moved(_ ref: ObjectRef) throws -> ObjectRef {
        guard let id = byOrigin[ref.offset], layout.knows(id) else { return ref }
        return try layout.ref(id)
    }

    private func updatedPage(_ body: [UInt8], at origin: UInt64) throws -> [UInt8] {
        var entries: [PageEntry]
        // What is malformed already stays as it is.
        do { entries = try PageEntry.all(body, at: origin) } catch { return body }
        let isLeaf = body[0] == 0
        for index in entries.indices where !isLeaf || entries[index].key.first != Format.tombstoneTag {
            entries[index].value = try PageEntry.withReference(entries[index].value) { try moved($0) }
        }
        return PageEntry.encode(entries, level: body[0])
    }

    private func updatedCommit(_ object: ForgedObject, at origin: UInt64) throws -> [UInt8] {
        var commit: Commit
        do { commit = try Commit(object.body.span, at: origin) } catch { return object.body }
        let live = reachable(from: commit)
        let grown = live.reduce(Int64(forge.header.length) - Int64(forge.originalHeader.count)) { $0 + (growth[$1] ?? 0) }
        commit.offset = layout.offset
        commit.start = start
        commit.previous = previous?.offset ?? 0
        commit.root = try commit.root.map { Commit.Root(ref: try moved($0.ref), level: $0.level) }
        commit.keyring = try moved(commit.keyring)
        commit.history = try commit.history.map { try moved($0) }
        if commit.header == originalHash { commit.header = headerHash }
        if let previous { commit.previousChain = previous.chain }
        commit.digest = digestOfAppended()
        commit.liveBytes = UInt64(clamping: Int64(clamping: commit.liveBytes) + grown)
        return commit.encode()
    }

    private func digestOfAppended() -> Bytes32 {
        let label = "vaultfmt-1 digest"
        return Bytes32(hashing: [UInt8(label.utf8.count)] + Array(label.utf8) + hashes.flatMap(\.bytes))
    }

    /// The objects that a commit's state consists of, as it was before any change.
    private func reachable(from commit: Commit) -> Set<ForgedObject.ID> {
        var found: Set<ForgedObject.ID> = []
        var open = [commit.root?.ref.offset, commit.keyring.offset, commit.history?.offset].compactMap { $0 }
        while let offset = open.popLast() {
            guard let id = byOrigin[offset], found.insert(id).inserted else { continue }
            let object = forge[id]
            guard object.type == .page, object.opaque == nil else { continue }
            let entries: [PageEntry]
            do { entries = try PageEntry.all(object.body, at: offset) } catch { continue }
            for entry in entries where !(object.body[0] == 0 && entry.key.first == Format.tombstoneTag) {
                var cursor = Cursor(entry.value.span, at: 0, else: .structureInvalid)
                do { open.append(try cursor.varint(entry.value.span)) } catch { continue }
            }
        }
        return found
    }

    private func chainValue(of body: [UInt8]) -> Bytes32? {
        var cursor = Cursor(body.span, at: 0, else: .structureInvalid)
        guard body.count == Format.commitBodySize else { return nil }
        do {
            let generation = try cursor.u64(body.span)
            guard let before = Bytes32(Array(body[224..<256])) else { return nil }
            return Chain.value(vault: forge.keys.vault, generation: generation, previous: before, link: Chain.link(body))
        } catch { return nil }
    }

    // MARK: sealing

    private func seal(_ object: ForgedObject, _ body: [UInt8]) throws -> [UInt8] {
        let overhead = object.type == .record ? Format.recordOverhead : Format.sealOverhead
        let length = object.type == .commit ? Format.commitSize : body.count + overhead
        var recipe = try recipe(object, length: length)
        for edit in object.editRecipe { try edit(&recipe, layout) }
        let sealed = Plain.seal(body, key: recipe.key, nonce: recipe.nonce, bound: recipe.bound)
        var frame = recipe.clearHead + sealed[..<Format.nonceSize]
        if let locator = recipe.locator { frame += Self.locator(locator, recipe) }
        frame += sealed[Format.nonceSize...]
        if object.type == .commit {
            let covered = forge.keys.vault.bytes + frame
            frame += Plain.mac(recipe.reader, "vaultfmt-1 commit reader", covered)
            frame += Plain.mac(recipe.owner, "vaultfmt-1 commit owner", covered)
        }
        return frame
    }

    private func recipe(_ object: ForgedObject, length: Int) throws -> SealRecipe {
        let head = withUnsafeBytes(of: FrameHead(object.type, length: length).encoded.littleEndian, Array.init)
        let keys = forge.keys
        var x: [UInt8] = []
        guard object.type == .record else {
            x.append(u64: layout.offset)
            return SealRecipe(
                key: keys.index, nonce: object.nonce, label: "vaultfmt-1 \(object.type.name)", vault: keys.vault.bytes, x: x, head: head,
                clearHead: head, reader: keys.reader, owner: keys.owner)
        }
        guard let name = object.identity, let key = keys.compartments[name.compartment] else { throw ForgeError("a record without a key") }
        x.append(name.item)
        x.append(u32: name.compartment)
        x.append(u64: name.revision)
        return SealRecipe(
            key: key, nonce: object.nonce, label: "vaultfmt-1 record", vault: keys.vault.bytes, x: x, head: head,
            clearHead: head, locator: name, locatorKey: keys.locator)
    }

    /// The 28 bytes, encrypted as a whole record's are.
    private static func locator(_ name: ForgedObject.RecordName, _ recipe: SealRecipe) -> [UInt8] {
        var frame = [UInt8](repeating: 0, count: Format.recordOverhead)
        let sealing = Sealing(vault: (0, 0), random: .repeating(recipe.nonce))
        frame.withUnsafeMutableBytes { frame in
            sealing.sealRecord(
                UnsafeRawBufferPointer(start: nil, count: 0), name.identity, head: 0, key: Secret(count: 32),
                locatorKey: Secret(bytes: recipe.locatorKey), into: frame)
        }
        return Array(frame[Format.bodyStart..<Format.bodyStart + Format.locatorSize])
    }
}
