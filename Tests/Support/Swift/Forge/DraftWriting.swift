package import VaultBytes

extension Draft {
    // MARK: writing

    /// Makes the next commit.
    package mutating func commit() throws {
        if file.isEmpty { try writeHeader() }
        listSlots()
        try writeObjects()
        try finish()
    }

    private mutating func writeHeader() throws {
        var bytes = try header.encodeWithoutProof()
        bytes += Plain.hash(Plain.label("vaultfmt-1 header") + bytes).bytes
        bytes += Plain.mac(keys.index, "vaultfmt-1 header", Array(bytes.suffix(32)))
        file = bytes + bytes
        start = UInt64(file.count)
    }

    /// Replaces the file by a compacted one, under the present header and keys; with what has changed.
    package mutating func compact() throws {
        file = []
        listSlots()
        try writeHeader()
        (keyring, writtenRing, root, hashes, stored) = (nil, nil, nil, [], nil)
        for index in handedOver.indices { handedOver[index].stored = nil }
        for index in items.indices { items[index].forgetPlaces() }
        // Records are written in ascending order of their nonces, and pasts in that of item ids.
        try writeRecords(sorted: true)
        for index in items.indices.sorted(by: { items[$0].id < items[$1].id }) { try writePast(index) }
        try writeObjects()
        let wasChange = isChange
        (isChange, isSyncedFirst) = (wasChange && vector != committed, true)
        try finish()
        (isChange, isSyncedFirst) = (wasChange, false)
    }

    private mutating func writeObjects() throws {
        try writeRecords(sorted: false)
        for index in items.indices { try writePast(index) }
        try writeTree()
        try writeHandOvers()
        if writtenRing != ring {
            keyring = appendSealed(.keyring, try ring.encode())
            writtenRing = ring
        }
    }

    private mutating func writeRecords(sorted: Bool) throws {
        var made: [(nonce: [UInt8], put: (inout Draft, ObjectRef) -> Void, frame: [UInt8])] = []
        for index in items.indices {
            let id = items[index].id
            for place in items[index].places {
                let value = items[index][place]
                let live = items[index].value
                for (at, attribute) in value.attributes.enumerated() where attribute.isLarge && attribute.record == nil
                {
                    let shared = place > 0 && live.attributes.contains { $0.isSameRecord(attribute) }
                    guard !shared else { continue }
                    let compartment = attribute.compartment ?? value.compartment
                    let revision = attribute.revision ?? value.recordRevision
                    let nonce = nonce()
                    let name = ForgedObject.RecordName(item: id, compartment: compartment, revision: revision)
                    let frame = try record(Self.body(attribute, key: value.key), name, nonce)
                    let put = { (draft: inout Draft, ref: ObjectRef) in
                        draft.items[index][place].attributes[at].put(ref, compartment, revision)
                    }
                    made.append((nonce, put, frame))
                }
                guard value.record == nil, value.needsRecord else { continue }
                let nonce = nonce()
                let name = ForgedObject.RecordName(
                    item: id, compartment: value.compartment, revision: value.recordRevision)
                let frame = try record(Self.body(value), name, nonce)
                made.append((nonce, { draft, ref in draft.items[index][place].record = ref }, frame))
            }
        }
        if sorted { made.sort { ByteOrder.isLess($0.nonce, $1.nonce) } }
        for one in made { one.put(&self, append(one.frame)) }
    }

    private func record(_ body: [UInt8], _ name: ForgedObject.RecordName, _ nonce: [UInt8]) throws -> [UInt8] {
        guard let key = keys.compartments[name.compartment] else { throw ForgeError("no key of a compartment") }
        let length = body.count + Format.recordOverhead
        var frame: [UInt8] = []
        frame.append(u64: FrameHead(.record, length: length).encoded)
        let sealed = Plain.seal(body, key: key, nonce: nonce, bound: Bindings.record(keys.vault, name, length: length))
        return frame + nonce + ForgedObject.RecordName.masked(name.bytes, nonce: nonce, key: keys.locator)
            + sealed[Format.nonceSize...]
    }

    /// The body of an item's record.
    package static func body(_ value: DraftValue) -> [UInt8] {
        var out: [UInt8] = [0]
        out.append(varint: UInt64(value.key.count))
        out += value.key
        out.append(varint: UInt64(value.secret.count))
        out += value.secret
        let inside = value.attributes.filter { $0.flags & 0x10 != 0 }
        out.append(varint: UInt64(inside.count))
        for attribute in inside {
            out += [attribute.flags, UInt8(attribute.name.utf8.count)] + Array(attribute.name.utf8)
            out.append(varint: UInt64(attribute.value.count))
            out += attribute.value
        }
        out.append(zeros: Padding.record(out.count) - out.count)
        return out
    }

    /// The body of an attribute's record.
    package static func body(_ attribute: DraftAttribute, key: [UInt8]) -> [UInt8] {
        var out: [UInt8] = [1]
        out.append(varint: UInt64(key.count))
        out += key
        out += [attribute.flags, UInt8(attribute.name.utf8.count)] + Array(attribute.name.utf8)
        out.append(varint: UInt64(attribute.value.count))
        out += attribute.value
        out.append(zeros: Padding.record(out.count) - out.count)
        return out
    }

    private mutating func writePast(_ index: Int) throws {
        let item = items[index]
        guard item.frame == nil, let past = try item.past() else { return }
        items[index].frame = appendSealed(.past, try past.encode())
    }

    private mutating func writeTree() throws {
        var entries: [PageEntry] = []
        for item in items {
            let value = item.value
            let entry = ItemEntry(
                record: value.record ?? .zero, id: item.id, dot: value.dot,
                recordRevision: value.record == nil ? 0 : value.recordRevision, compartment: value.compartment,
                created: item.created, modified: value.modified, hasConflicts: item.hasConflicts,
                lacksSecret: !value.hasSecret, past: item.frame, further: value.further)
            let attributes = try value.attributes.map { try $0.inPage(live: value) }
            entries.append(PageEntry(key: item.key, value: ForgedItem(entry: entry, attributes: attributes).encoded()))
        }
        for one in forgotten.map(\.key).sorted(by: ByteOrder.isLess) { entries.append(PageEntry(key: one, value: [])) }
        root = try writeTree(entries)
    }

    /// Writes the vectors of new hand-overs, and lists all of them.
    private mutating func writeHandOvers() throws {
        for index in handedOver.indices where handedOver[index].stored == nil {
            handedOver[index].stored = appendSealed(.vector, try VectorFrame(handedOver[index].vector.rows).encode())
        }
        ring.handOvers = handedOver.compactMap(\.listed).sorted(by: HandOver.precedes)
    }

    /// Writes the vector, unless the last frame has every row but the writer's.
    private mutating func writeVector() throws -> DraftVector {
        if let stored, isChange, stored.vector.floor == vector.floor, stored.vector.rows.count == vector.rows.count,
            zip(stored.vector.rows, vector.rows).allSatisfy({ $0 == $1 || $0.id == replica && !$1.isSplit })
        {
            return stored
        }
        let base = hasBase ? stored.map { $0.base ?? ($0.ref, $0.vector.rows) } : nil
        let ref = appendSealed(.vector, try VectorFrame(vector.rows, on: base).encode())
        return DraftVector(ref: ref, base: base, vector: vector)
    }

    /// Writes a tree of these entries, in their order.
    package mutating func writeTree(_ entries: [PageEntry]) throws -> Commit.Root? {
        treeSize = 0
        guard !entries.isEmpty else { return nil }
        var level: UInt8 = 0
        var rest = entries
        let before = file.count
        defer { treeSize = UInt64(file.count - before) }
        while true {
            var parents: [PageEntry] = []
            var page = PageBuilder(level: level)
            for entry in rest {
                if !takes(page, entry) {
                    parents.append(
                        PageEntry(
                            key: page.firstKey ?? [], value: PageBuilder.child(appendSealed(.page, page.encode()))))
                    page.removeAll()
                }
                page.append(entry.key, entry.value)
            }
            let last = appendSealed(.page, page.encode())
            guard !parents.isEmpty else { return Commit.Root(ref: last, level: level) }
            parents.append(PageEntry(key: page.firstKey ?? [], value: PageBuilder.child(last)))
            rest = parents
            level += 1
        }
    }

    private func takes(_ page: PageBuilder, _ entry: PageEntry) -> Bool {
        guard page.count >= (page.level == 0 ? 1 : Format.leastChildren) else { return true }
        return page.frameLength(adding: entry.key, entry.value) <= pageTarget
    }

    /// Appends a frame to what the next commit covers.
    @discardableResult
    package mutating func append(_ frame: [UInt8]) -> ObjectRef {
        let ref = ObjectRef(offset: UInt64(file.count), length: frame.count, hash: Plain.hash(frame))
        file += frame
        hashes.append(ref.hash)
        return ref
    }

    @discardableResult
    package mutating func appendSealed(_ type: FrameType, _ body: [UInt8]) -> ObjectRef {
        append(sealed(type, body, at: UInt64(file.count)))
    }

    private func sealed(_ type: FrameType, _ body: [UInt8], at offset: UInt64) -> [UInt8] {
        let length = body.count + Format.sealOverhead
        var frame: [UInt8] = []
        frame.append(u64: FrameHead(type, length: length).encoded)
        let bound = Bindings.placed(type, keys.vault, at: offset, length: length)
        return frame + Plain.seal(body, key: keys.sealingKey(type), nonce: nonce(), bound: bound)
    }

    mutating func finish() throws {
        guard let keyring else { throw ForgeError("no keyring") }
        let stored = try writeVector()
        self.stored = stored
        file.append(zeros: Int(Padding.commitOffset(UInt64(file.count))) - file.count)
        let offset = UInt64(file.count)
        let commit = Commit(
            generation: generation + 1,
            predecessor: generation == 0 ? nil : .init(generation: generation, chain: chain),
            offset: offset, start: start, clock: vector.clock, floor: vector.floor,
            wasSyncedFirst: isSyncedFirst || offset - start > Format.smallCommit, root: root, keyring: keyring,
            vector: stored.ref,
            header: Bytes32(Array(file[(header.length - 64)..<(header.length - 32)])) ?? .zero,
            digest: Bindings.digest(hashes),
            items: UInt64(items.count), forgotten: UInt64(forgotten.count),
            pasts: UInt64(items.count { $0.frame != nil }), liveBytes: 0,
            own: isChange && vector.row(of: replica)?.revision == vector.clock
                ? Commit.OwnRow(id: replica, revision: vector.clock) : nil)
        var measured = commit
        measured.liveBytes = liveBytes(commit)
        let core = measured.encode()
        let chain = Bindings.chain(keys.vault, core)
        var body = core + Plain.mac(keys.owner, "vaultfmt-1 commit owner", chain.bytes)
        if header.needsSignature {
            body += Plain.sign(Bindings.commit(chain.bytes), seed: keys.signingSeed)
        } else {
            body.append(zeros: 64)
        }
        file += sealed(.commit, body, at: offset)
        start = UInt64(file.count)
        hashes = []
        generation = commit.generation
        self.chain = chain
        committed = vector
    }

    /// Header, copy, this commit, keyring and vectors, and every frame that the tree reaches.
    private func liveBytes(_ commit: Commit) -> UInt64 {
        var refs = Set([commit.keyring, commit.vector] + ring.handOvers.map(\.vector))
        if let base = stored?.base { refs.insert(base.ref) }
        for item in items {
            if let frame = item.frame { refs.insert(frame) }
            for value in item.places.map({ item[$0] }) {
                if let record = value.record { refs.insert(record) }
                refs.formUnion(value.attributes.compactMap(\.record))
            }
        }
        return 2 * UInt64(header.length) + 512 + treeSize + refs.reduce(0) { $0 + UInt64($1.length) }
    }
}
