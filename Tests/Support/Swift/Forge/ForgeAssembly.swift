internal import VaultBytes

extension Forge {
    /// The whole file.
    package func assemble() throws -> [UInt8] {
        var assembly = try Assembly(self)
        for object in objects { try assembly.append(object) }
        return assembly.file + tail
    }
}

/// One pass from front to back: an object always comes before what refers to it.
private struct Assembly {
    private let forge: Forge
    private(set) var file: [UInt8]
    private var layout: ForgeLayout
    private let headerHash: Bytes32
    private var byOrigin: [UInt64: ForgedObject.ID] = [:]
    /// How much longer each object got.
    private var growth: [ForgedObject.ID: Int64] = [:]
    private var start: UInt64
    private var predecessor: Commit.Predecessor?
    /// Of the frames since the last commit.
    private var hashes: [Bytes32] = []

    init(_ forge: Forge) throws {
        self.forge = forge
        var header = forge.header
        var bytes = try header.encodeWithoutProof()
        for edit in forge.editHeader { try edit(&bytes) }
        bytes += Plain.hash(Plain.label("vaultfmt-1 header") + bytes).bytes
        for edit in forge.editHeaderHashed { try edit(&bytes) }
        bytes += Plain.mac(forge.keys.index, "vaultfmt-1 header", Array(bytes.suffix(32)))
        for edit in forge.editHeaderSealed { try edit(&bytes) }
        headerHash = Bytes32(Array(bytes.suffix(64).prefix(32))) ?? .zero
        var copy = bytes
        for edit in forge.editCopy { try edit(&copy) }
        file = bytes + copy
        layout = ForgeLayout(bodyStart: 2 * UInt64(bytes.count), headerHash: headerHash)
        start = UInt64(file.count)
        for object in forge.objects { if let origin = object.origin { byOrigin[origin] = object.id } }
    }

    mutating func append(_ object: ForgedObject) throws {
        if object.type == .commit { try pad(object) }
        layout.begin(at: UInt64(file.count))
        var frame: [UInt8]
        var core: [UInt8]?
        if let opaque = object.opaque {
            frame = opaque
        } else {
            var body = try updated(object)
            for edit in object.editBody { try edit(&body, layout) }
            if object.type == .commit {
                core = body
                body += try proof(object, core: body)
            }
            frame = try seal(object, body)
        }
        for edit in object.editSealed { try edit(&frame) }
        layout.add(object.id, ObjectRef(offset: layout.offset, length: frame.count, hash: Plain.hash(frame)))
        for edit in object.editReferenced { try edit(&frame) }
        hashes.append(Plain.hash(frame))
        for edit in object.editWritten { try edit(&frame) }
        file += frame
        if object.origin != nil, object.type != .commit {
            growth[object.id] = Int64(frame.count - originalLength(object))
        }
        if object.type == .commit {
            if let core { layout.add(object.id, core: core) }
            if let core, let generation = number(core) {
                predecessor = Commit.Predecessor(generation: generation, chain: Bindings.chain(forge.keys.vault, core))
            }
            start = UInt64(file.count)
            hashes = []
        }
    }

    private func number(_ core: [UInt8]) -> UInt64? {
        var cursor = Cursor(core.span, at: 0, else: .structureInvalid)
        do { return try cursor.u64(core.span) } catch { return nil }
    }

    private mutating func pad(_ object: ForgedObject) throws {
        var padding = [UInt8](repeating: 0, count: Int(Padding.commitOffset(UInt64(file.count))) - file.count)
        for edit in object.editPadding { try edit(&padding) }
        file += padding
    }

    private func originalLength(_ object: ForgedObject) -> Int {
        if let opaque = object.opaque { return opaque.count }
        return object.body.count + (object.type == .record ? Format.recordOverhead : Format.sealOverhead)
    }

    // MARK: references

    /// The body with its references to objects where they are now; as it is if it is malformed already.
    private func updated(_ object: ForgedObject) throws -> [UInt8] {
        guard let origin = object.origin else { return object.body }
        switch object.type {
        case .record, .chunk: return object.body
        case .keyring, .vector: return try updatedReferences(object, at: origin)
        case .page:
            let entries: [PageEntry]
            do { entries = try PageEntry.all(object.body, at: origin) } catch { return object.body }
            let isLeaf = object.body[0] == 0
            return PageEntry.encode(
                try entries.map { try $0.mapReferences(isLeaf: isLeaf, moved) }, level: object.body[0])
        case .past:
            let past: Past
            do { past = try Past(object.body.span, at: origin) } catch { return object.body }
            return try past.mapReferences(moved).encode()
        case .commit: return try updatedCommit(object, at: origin)
        }
    }

    /// A keyring with the places of its hand-overs' vectors, or a vector with that of its base.
    private func updatedReferences(_ object: ForgedObject, at origin: UInt64) throws -> [UInt8] {
        do {
            if object.type == .keyring {
                var ring = try Keyring(object.body.span, at: origin)
                for index in ring.handOvers.indices {
                    ring.handOvers[index].vector = try moved(ring.handOvers[index].vector)
                }
                if ring.slots.map(\.id) == forge.originalSlots { listSlots(&ring) }
                return try ring.encode()
            }
            var frame = try VectorFrame(object.body.span, at: origin)
            frame.base = try frame.base.map(moved)
            return try frame.encode()
        } catch { return object.body }
    }

    /// Lists the slots that the header has now; a new one was made by the change that made the vault key.
    private func listSlots(_ ring: inout Keyring) {
        let known = Dictionary(ring.slots.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
        let dot = ring.vaultKey
        ring.slots = Set(forge.header.slots.map(\.id)).sorted().map { id in
            var slot = known[id] ?? SlotDots(id: id, made: dot, changed: dot)
            if let groups = forge.grants[id] {
                slot.grants = groups.sorted().map { SlotDots.Grant(group: $0, dot: dot) }
            }
            return slot
        }
    }

    private func moved(_ ref: ObjectRef) throws -> ObjectRef {
        guard let id = byOrigin[ref.offset], layout.knows(id) else { return ref }
        return try layout.ref(id)
    }

    private func updatedCommit(_ object: ForgedObject, at origin: UInt64) throws -> [UInt8] {
        var commit: Commit
        do { commit = try forge.commit(object.id) } catch { return object.body }
        let headerGrowth = 2 * (Int64(layout.bodyStart / 2) - Int64(forge.originalLength))
        let grown = reachable(from: commit).reduce(headerGrowth) { $0 + (growth[$1] ?? 0) }
        commit.offset = layout.offset
        commit.start = start
        commit.root = try commit.root.map { Commit.Root(ref: try moved($0.ref), level: $0.level) }
        commit.keyring = try moved(commit.keyring)
        commit.vector = try moved(commit.vector)
        if commit.header == forge.originalHash { commit.header = headerHash }
        if let predecessor, commit.predecessor != nil { commit.predecessor = predecessor }
        commit.digest = Bindings.digest(hashes)
        commit.liveBytes = UInt64(clamping: Int64(clamping: commit.liveBytes) + grown)
        return commit.encode()
    }

    /// The objects that a commit's state consists of, as it was before any change.
    private func reachable(from commit: Commit) -> Set<ForgedObject.ID> {
        var found: Set<ForgedObject.ID> = []
        var open = [commit.root?.ref, commit.keyring, commit.vector].compactMap { $0?.offset }
        while let offset = open.popLast() {
            guard let id = byOrigin[offset], found.insert(id).inserted else { continue }
            let object = forge[id]
            guard object.opaque == nil else { continue }
            do {
                switch object.type {
                case .past:
                    open += try Past(object.body.span, at: offset).values.flatMap(\.records).map(\.record.offset)
                case .keyring: open += try Keyring(object.body.span, at: offset).handOvers.map(\.vector.offset)
                case .vector: open += try [VectorFrame(object.body.span, at: offset).base].compactMap { $0?.offset }
                default: break
                }
                guard object.type == .page else { continue }
                for entry in try PageEntry.all(object.body, at: offset) {
                    _ = try entry.mapReferences(isLeaf: object.body[0] == 0) {
                        open.append($0.offset); return $0
                    }
                }
            } catch { continue }
        }
        return found
    }

    // MARK: sealing

    /// Owner MAC and signature of a commit.
    private func proof(_ object: ForgedObject, core: [UInt8]) throws -> [UInt8] {
        let chain = Bindings.chain(forge.keys.vault, core).bytes
        var out = Plain.mac(forge.keys.owner, "vaultfmt-1 commit owner", chain)
        let isSigned = object.isSigned ?? forge.header.needsSignature
        if isSigned {
            out += Plain.sign(Bindings.commit(chain), seed: forge.keys.signingSeed)
        } else {
            out.append(zeros: 64)
        }
        for edit in object.editProof { try edit(&out, chain) }
        return out
    }

    private func seal(_ object: ForgedObject, _ body: [UInt8]) throws -> [UInt8] {
        let overhead = object.type == .record ? Format.recordOverhead : Format.sealOverhead
        var recipe = try recipe(object, length: body.count + overhead)
        for edit in object.editRecipe { try edit(&recipe, layout) }
        let sealed = Plain.seal(body, key: recipe.key, nonce: recipe.nonce, bound: recipe.bound)
        var frame = recipe.clearHead + sealed[..<Format.nonceSize]
        if let locator = recipe.locator {
            frame += ForgedObject.RecordName.masked(locator.bytes, nonce: recipe.nonce, key: recipe.locatorKey)
        }
        return frame + sealed[Format.nonceSize...]
    }

    private func recipe(_ object: ForgedObject, length: Int) throws -> SealRecipe {
        var head: [UInt8] = []
        head.append(u32: object.type.rawValue)
        head.append(u32: UInt32(length))
        let keys = forge.keys
        guard object.type == .record else {
            var x: [UInt8] = []
            x.append(u64: layout.offset)
            return SealRecipe(
                key: keys.sealingKey(object.type), nonce: object.nonce, label: Bindings.labelOf(object.type),
                vault: keys.vault.bytes,
                x: x, head: head,
                clearHead: head)
        }
        guard let name = object.identity, let key = keys.compartments[name.compartment] else {
            throw ForgeError("a record without a key")
        }
        return SealRecipe(
            key: key, nonce: object.nonce, label: "vaultfmt-1 record", vault: keys.vault.bytes, x: name.bytes,
            head: head, clearHead: head,
            locator: name, locatorKey: keys.locator)
    }
}
