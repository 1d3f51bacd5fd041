package import VaultBytes
package import VaultCrypto
package import VaultStore

/// A vault that is made commit by commit, by a writer that knows nothing of the library: for vectors and whatever has
/// to be forged.
///
/// It writes whole trees, whatever changed; everything else is as the specification says.
package struct Draft {
    package static let clock: UInt64 = 1_750_000_000_000 << 16

    package let random: Randomness
    package var header: Header
    package var keys: ForgeKeys
    package var ring = Keyring()
    package var items: [DraftItem] = []
    package var tombstones: [Bytes16: TombstoneEntry] = [:]
    /// The last revision that was made.
    package var clock = Draft.clock
    package var horizon: UInt64 = 0
    /// The device that changes are made by: 0, or a position in the list.
    package var device = 0
    /// Whether the next commit is synced after what it appends.
    package var isSyncedFirst = false
    /// The greatest length of a page that gets another entry.
    package var pageTarget = Format.pageTarget

    package private(set) var file: [UInt8] = []
    package private(set) var generation: UInt64 = 0
    package private(set) var chain = Bytes32.zero
    /// All states so far, this one not included.
    package private(set) var ancestors: [Ancestor] = []
    private var history: ObjectRef?
    private var keyring: ObjectRef?
    private var writtenRing: Keyring?
    private var root: Commit.Root?
    private var start: UInt64 = 0
    private var hashes: [Bytes32] = []
    /// The length of all pages of the tree.
    private var treeSize: UInt64 = 0

    /// A vault with a full slot for a raw key, and nothing written yet.
    package init(_ seed: String, key: [UInt8]) throws {
        random = .fixed(seed)
        guard let id = Bytes16(random.bytes(16)), let epoch = Bytes32(random.bytes(32)) else {
            throw ForgeError("sizes")
        }
        header = Header(id: id, epoch: epoch, slots: [])
        keys = ForgeKeys(vault: id, vaultKey: random.bytes(32), epoch: epoch)
        try addSlot(.rawKey(key), name: "main")
    }

    /// Lets a vault that has not been written pass for another one, and for what follows one of its states: with keys
    /// of its own, as somebody makes it who has seen that vault's file or its history, and has no factor of it.
    package mutating func pass(for vault: Bytes16, after state: Ancestor? = nil) {
        header.id = vault
        header.slots = []
        keys = ForgeKeys(vault: vault, vaultKey: random.bytes(32), epoch: header.epoch)
        guard let state else { return }
        (generation, chain, ancestors) = (state.generation, state.chain, [state])
    }

    // MARK: slots

    /// Adds a slot for an external key, as its provider makes it.
    package mutating func addSlot(_ factor: any SlotFactor, name: String) throws {
        let id = id()
        let made = try factor.wrap(for: SlotPlace(vault: keys.vault, slot: id))
        let provider = SlotParameters.Provider(name: factor.provider, parameters: made.parameters)
        try addSlot(
            .externalKey(made.key.plain), SlotParameters(stretch: nil, provider: provider), name: name,
            data: made.ownersData, id: id)
    }

    package mutating func addSlot(
        _ factors: ForgeFactors, _ known: SlotParameters = SlotParameters(stretch: nil), name: String,
        granting groups: [UInt64]? = nil,
        data: [UInt8] = [], id: Bytes16? = nil
    ) throws {
        let part = OwnerPart(name: name, revision: revision(), device: deviceID, providerData: data)
        let clear = Slot(
            id: id ?? self.id(), kind: groups == nil ? .full : .scoped, factors: factors.kinds, known,
            ownerPart: OwnerPart.size(providerData: data.count))
        let payload = try groups.map { try keys.scopedPayload($0.sorted()) }
        header.slots.append(try keys.slot(clear, factors, payload: payload, part: part, nonce: nonce()))
    }

    private var deviceID: Bytes16 { device == 0 ? .zero : ring.devices[device - 1] }

    // MARK: keys

    package mutating func addGroup(_ name: String) -> UInt64 {
        let (number, key) = (number(), random.bytes(32))
        keys.groups[number] = key
        let wrapped = Plain.seal(
            key, key: keys.keyring, nonce: nonce(), bound: Bindings.group(keys.vault, number, Array(name.utf8)))
        ring.groups.append(Keyring.Group(number: number, name: name, wrapped: wrapped))
        ring.groups.sort { $0.number < $1.number }
        return number
    }

    package mutating func addCompartment(_ group: UInt64, _ accessibility: UInt8 = 1, device: Bytes16 = .zero) throws
        -> UInt64
    {
        let (number, key) = (number(), random.bytes(32))
        keys.compartments[number] = key
        var info = Keyring.Compartment(
            number: number, group: group, accessibility: accessibility, device: device, wrapped: [])
        info.wrapped = try wrap(info, key)
        ring.compartments.append(info)
        ring.compartments.sort { $0.number < $1.number }
        return number
    }

    private func wrap(_ info: Keyring.Compartment, _ key: [UInt8]) throws -> [UInt8] {
        guard let outer = keys.group(info.group) else { throw ForgeError("no group \(info.group)") }
        var inner = key
        if info.isDeviceBound {
            guard let deviceKey = keys.deviceKey(info.device) else { throw ForgeError("no secret of a device") }
            inner = Plain.seal(key, key: deviceKey, nonce: nonce(), bound: Bindings.deviceCompartment(keys.vault, info))
        }
        return Plain.seal(inner, key: outer, nonce: nonce(), bound: Bindings.compartment(keys.vault, info))
    }

    /// The compartment of a group, made if there is none.
    package mutating func compartment(_ group: String, _ accessibility: UInt8 = 1, device: Bytes16 = .zero) throws
        -> UInt64
    {
        let number = ring.groups.first { $0.name == group }?.number ?? addGroup(group)
        return try compartment(number, accessibility, device: device)
    }

    private mutating func compartment(_ group: UInt64, _ accessibility: UInt8, device: Bytes16) throws -> UInt64 {
        let known = ring.compartments.first {
            $0.group == group && $0.accessibility == accessibility && $0.device == device
        }
        return try known?.number ?? addCompartment(group, accessibility, device: device)
    }

    // MARK: items

    /// Adds an item; what is not given is as a writer makes it.
    @discardableResult
    package mutating func add(
        _ key: [UInt8], _ secret: [UInt8], _ attributes: [DraftAttribute] = [], group: String = "",
        accessibility: UInt8 = 1,
        device: Bytes16 = .zero
    ) throws -> Bytes16 {
        let revision = revision()
        let value = DraftValue(
            secret: secret, attributes: attributes.sorted { $0.name < $1.name }, revision: revision,
            device: self.device,
            modified: milliseconds, key: key, compartment: try compartment(group, accessibility, device: device),
            recordRevision: revision)
        items.append(DraftItem(id: id(), key: key, created: milliseconds, value: value))
        items.sort { ByteOrder.isLess($0.key, $1.key) }
        return items.first { $0.value.revision == revision }?.id ?? .zero
    }

    package func index(_ key: [UInt8]) throws -> Int {
        guard let index = items.firstIndex(where: { $0.key == key }) else { throw ForgeError("no such item") }
        return index
    }

    /// Replaces a secret and, if they are given, the attributes; the old value becomes a version if the setting asks
    /// for that.
    package mutating func set(_ key: [UInt8], _ secret: [UInt8], _ attributes: [DraftAttribute]? = nil) throws {
        let index = try index(key)
        var old = items[index].value
        var value = old
        value.revision = revision()
        value.recordRevision = value.revision
        value.modified = milliseconds
        value.device = device
        value.key = key
        value.secret = secret
        if let attributes { value.attributes = attributes.sorted { $0.name < $1.name } }
        value.record = nil
        items[index].value = value
        guard ring.keeping.count > 0 else { return }
        let source = ring.compartments.first { $0.number == old.compartment }
        let owners = try compartment(
            Keyring.ownersGroup, source?.isDeviceBound == true ? 5 : 1, device: source?.device ?? .zero)
        old.compartment = owners
        old.recordRevision = revision()
        old.record = nil
        old.replaced = milliseconds
        for place in old.attributes.indices where old.attributes[place].isLarge {
            // A record that the live item still refers to is shared.
            if value.attributes.contains(where: {
                $0.name == old.attributes[place].name && $0.value == old.attributes[place].value
            }) {
                continue
            }
            old.attributes[place].record = nil
            old.attributes[place].compartment = owners
            old.attributes[place].revision = revision()
        }
        items[index].versions.append(old)
        if items[index].versions.count > ring.keeping.count { items[index].versions.removeFirst() }
        items[index].frame = nil
    }

    package mutating func rename(_ key: [UInt8], to new: [UInt8]) throws {
        let index = try index(key)
        items[index].key = new
        items[index].value.key = new
        items[index].value.revision = revision()
        items[index].value.recordRevision = items[index].value.revision
        items[index].value.record = nil
        items.sort { ByteOrder.isLess($0.key, $1.key) }
    }

    package mutating func remove(_ key: [UInt8]) throws {
        let item = items.remove(at: try index(key))
        tombstones[item.id] = TombstoneEntry(
            revision: revision(), device: device, lastRevision: item.value.revision, lastDevice: item.value.device)
    }

    // MARK: rotation

    /// Replaces every key, appends a hand-over, and compacts; the closure makes the slots.
    package mutating func rotate(_ slots: (inout Draft) throws -> Void) throws {
        let old = keys
        guard let epoch = Bytes32(random.bytes(32)) else { throw ForgeError("sizes") }
        header.epoch = epoch
        keys = ForgeKeys(vault: old.vault, vaultKey: random.bytes(32), epoch: epoch)
        keys.devices = old.devices
        let (groups, compartments) = (ring.groups, ring.compartments)
        (ring.groups, ring.compartments) = ([], [])
        var newGroups: [UInt64: UInt64] = [Keyring.ownersGroup: Keyring.ownersGroup]
        for group in groups { newGroups[group.number] = addGroup(group.name) }
        var moved: [UInt64: UInt64] = [:]
        for info in compartments {
            guard let group = newGroups[info.group] else { throw ForgeError("a compartment without a group") }
            moved[info.number] = try addCompartment(group, info.accessibility, device: info.device)
        }
        for index in items.indices {
            items[index].value.reseal(moved, revision())
            for version in items[index].versions.indices { items[index].versions[version].reseal(moved, revision()) }
        }
        let message = Bindings.handOver(keys.vault, generation: generation, chain: chain.bytes, next: keys.publicKey)
        ring.handOvers.append(
            HandOver(
                publicKey: old.publicKey, generation: generation, chain: chain,
                signature: Plain.sign(message, seed: old.signingSeed)))
        header.slots = []
        try slots(&self)
        try compact()
    }

    // MARK: numbers

    package mutating func revision() -> UInt64 {
        clock += 1
        return clock
    }

    private var milliseconds: Int64 { Int64(clock >> 16) }

    package func nonce() -> [UInt8] { random.bytes(Format.nonceSize) }
    package func id() -> Bytes16 { Bytes16(random.bytes(16)) ?? .zero }
    private func number() -> UInt64 {
        let bytes = random.bytes(8)
        return (bytes.reduce(0) { $0 << 8 | UInt64($1) }) >> 1 | 1
    }

    // MARK: writing

    /// Makes the next commit.
    package mutating func commit() throws {
        if file.isEmpty { try writeHeader() }
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

    /// Replaces the file by a compacted one, under the present header and keys.
    package mutating func compact(floor: UInt64 = 1, keeping most: Int = .max, newest: Int = 0) throws {
        file = []
        try writeHeader()
        (keyring, writtenRing, root, hashes) = (nil, nil, nil, [])
        for index in items.indices { items[index].forgetPlaces() }
        // Records are written in ascending order of their nonces, and versions in that of item ids.
        try writeRecords(sorted: true)
        for index in items.indices.sorted(by: { items[$0].id < items[$1].id }) { try writeVersions(index) }
        try writeObjects()
        if generation > 0 {
            let kept = Array(ancestors.suffix(most))
            history = appendSealed(.history, History(floor: floor, ancestors: kept, newest: newest).encode())
        }
        isSyncedFirst = true
        try finish()
        isSyncedFirst = false
    }

    /// Adds a state to the history of the next compaction, as a merge does.
    package mutating func addAncestor(_ ancestor: Ancestor) { ancestors.append(ancestor) }

    private mutating func writeObjects() throws {
        try writeRecords(sorted: false)
        for index in items.indices { try writeVersions(index) }
        try writeTree()
        if writtenRing != ring {
            keyring = appendSealed(.keyring, try ring.encode())
            writtenRing = ring
        }
    }

    private mutating func writeRecords(sorted: Bool) throws {
        var made: [(nonce: [UInt8], put: (inout Draft, ObjectRef) -> Void, frame: [UInt8])] = []
        for index in items.indices {
            let id = items[index].id
            for (place, value) in ([items[index].value] + items[index].versions).enumerated() {
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
                        draft.items[index].put(ref, place, at, compartment, revision)
                    }
                    made.append((nonce, put, frame))
                }
                guard value.record == nil else { continue }
                let nonce = nonce()
                let name = ForgedObject.RecordName(
                    item: id, compartment: value.compartment, revision: value.recordRevision)
                let frame = try record(Self.body(value), name, nonce)
                made.append((nonce, { draft, ref in draft.items[index].put(ref, place) }, frame))
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

    private mutating func writeVersions(_ index: Int) throws {
        let item = items[index]
        guard !item.versions.isEmpty, item.frame == nil else { return }
        let versions = try item.versions.map { value in
            guard let record = value.record else { throw ForgeError("a version without a record") }
            return Versions.Version(
                revision: value.revision, device: value.device, replaced: value.replaced, modified: value.modified,
                record: record,
                recordRevision: value.recordRevision, compartment: value.compartment,
                attributes: try value.attributes.map { try $0.inPage(live: item.value) })
        }
        items[index].frame = appendSealed(.versions, try Versions(item: item.id, versions: versions).encode())
    }

    private mutating func writeTree() throws {
        var entries: [PageEntry] = []
        for item in items {
            guard let record = item.value.record else { throw ForgeError("an item without a record") }
            let value = item.value
            let entry = ItemEntry(
                record: record, id: item.id, revision: value.revision, device: value.device,
                recordRevision: value.recordRevision,
                compartment: value.compartment, created: item.created, modified: value.modified,
                versions: item.frame.map { ItemEntry.Versions(count: item.versions.count, frame: $0) })
            let attributes = try value.attributes.map { try $0.inPage(live: value) }
            entries.append(PageEntry(key: item.key, value: ForgedItem(entry: entry, attributes: attributes).encoded()))
        }
        for (id, tombstone) in tombstones.sorted(by: { $0.key < $1.key }) {
            entries.append(PageEntry(key: TombstoneEntry.key(id), value: tombstone.encode()))
        }
        root = try writeTree(entries)
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
        return frame + Plain.seal(body, key: keys.index, nonce: nonce(), bound: bound)
    }

    private mutating func finish() throws {
        guard let keyring else { throw ForgeError("no keyring") }
        file.append(zeros: Int(Padding.commitOffset(UInt64(file.count))) - file.count)
        let offset = UInt64(file.count)
        let greatest = ancestors.map(\.generation).max() ?? 0
        let commit = Commit(
            generation: max(generation, greatest) + 1,
            predecessor: generation == 0 ? nil : .init(generation: generation, chain: chain),
            offset: offset, start: start, clock: clock, tombstoneHorizon: horizon,
            wasSyncedFirst: isSyncedFirst || offset - start > Format.smallCommit, root: root, keyring: keyring,
            history: history,
            header: Bytes32(Array(file[(header.length - 64)..<(header.length - 32)])) ?? .zero,
            digest: Bindings.digest(hashes),
            items: UInt64(items.count), tombstones: UInt64(tombstones.count),
            versions: items.reduce(0) { $0 + UInt64($1.versions.count) }, liveBytes: 0)
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
        ancestors.append(Ancestor(generation: generation, clock: clock, chain: chain))
    }

    /// Header, copy, this commit, keyring and history, and every frame that the tree reaches.
    private func liveBytes(_ commit: Commit) -> UInt64 {
        var refs = Set([commit.keyring] + [commit.history].compactMap { $0 })
        for item in items {
            if let frame = item.frame { refs.insert(frame) }
            for value in [item.value] + item.versions {
                if let record = value.record { refs.insert(record) }
                refs.formUnion(value.attributes.compactMap(\.record))
            }
        }
        return 2 * UInt64(header.length) + 512 + treeSize + refs.reduce(0) { $0 + UInt64($1.length) }
    }
}
