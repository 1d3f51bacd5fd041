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
    package var ring: Keyring
    package var items: [DraftItem] = []
    package var forgotten: [ForgottenValue] = []
    /// The hand-overs, which get their places when they are written.
    package var handedOver: [DraftHandOver] = []
    /// The changes that the state includes.
    package var vector = Vector()
    /// The last revision that was made.
    package var clock = Draft.clock
    /// The id under which changes are made.
    package var replica: ReplicaID
    /// Whether the next commit names its writer; a merge or a compaction does not.
    package var isChange = true
    /// Whether a vector that must be written is based on the last whole one.
    package var hasBase = false
    /// Whether the next commit is synced after what it appends.
    package var isSyncedFirst = false
    /// The greatest length of a page that gets another entry.
    package var pageTarget = Format.pageTarget

    package internal(set) var file: [UInt8] = []
    package internal(set) var generation: UInt64 = 0
    package internal(set) var chain = Bytes32.zero
    /// Where the vector is.
    var stored: DraftVector?
    /// What the last commit's state includes.
    var committed = Vector()
    var keyring: ObjectRef?
    var writtenRing: Keyring?
    var root: Commit.Root?
    var start: UInt64 = 0
    var hashes: [Bytes32] = []
    /// The length of all pages of the tree.
    var treeSize: UInt64 = 0

    /// A vault with a full slot for a raw key, and nothing written yet.
    package init(_ seed: String, key: [UInt8], replica: ReplicaID? = nil) throws {
        random = .fixed(seed)
        guard let id = Bytes16(random.bytes(16)), let epoch = Bytes32(random.bytes(32)) else {
            throw ForgeError("sizes")
        }
        header = Header(id: id, epoch: epoch, slots: [])
        keys = ForgeKeys(vault: id, vaultKey: random.bytes(32), epoch: epoch)
        self.replica = replica ?? Draft.number(random)
        ring = Keyring(keeping: Keyring.Keeping(count: 0, dot: StoredDot(1, 1)), vaultKey: StoredDot(1, 1))
        ring.vaultKey = dot()
        ring.keeping.dot = dot()
        try addSlot(.rawKey(key), name: "main")
    }

    /// Lets a vault that has not been written pass for another one, and for what follows one of its states: with keys
    /// of its own, as somebody makes it who has seen that vault's file, and has no factor of it.
    package mutating func pass(for vault: Bytes16, after state: AnchorPoint? = nil) {
        header.id = vault
        header.slots = []
        ring.slots = []
        keys = ForgeKeys(vault: vault, vaultKey: random.bytes(32), epoch: header.epoch)
        guard let state else { return }
        (generation, chain) = (state.generation, state.chain)
        vector.join(state.vector)
    }

    /// What a machine remembers of the state.
    package var anchor: AnchorPoint {
        AnchorPoint(ownersPublicKey: keys.publicKey, generation: generation, chain: chain, vector: vector)
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
        let part = OwnerPart(name: name, providerData: data)
        let clear = Slot(
            id: id ?? self.id(), kind: groups == nil ? .full : .scoped, factors: factors.kinds, known,
            ownerPart: OwnerPart.size(providerData: data.count))
        let payload = try groups.map { try keys.scopedPayload($0.sorted()) }
        header.slots.append(try keys.slot(clear, factors, payload: payload, part: part, nonce: nonce()))
        list(clear.id, granting: groups ?? [])
    }

    /// Lists a slot in the keyring, made and granted by new changes, unless it is listed.
    package mutating func list(_ slot: Bytes16, granting groups: [UInt64] = []) {
        guard !ring.slots.contains(where: { $0.id == slot }) else { return }
        let made = dot()
        let grants = groups.sorted().map { SlotDots.Grant(group: $0, dot: dot()) }
        ring.slots.append(SlotDots(id: slot, made: made, changed: made, grants: grants))
        ring.slots.sort { $0.id < $1.id }
    }

    /// Lists exactly the header's slots.
    mutating func listSlots() {
        let ids = Set(header.slots.map(\.id))
        ring.slots.removeAll { !ids.contains($0.id) }
        for slot in header.slots where !ring.slots.contains(where: { $0.id == slot.id }) { list(slot.id) }
    }

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
        let dot = dot()
        let value = DraftValue(
            secret: secret, attributes: attributes.sorted { $0.name < $1.name }, dot: dot, modified: milliseconds,
            key: key, compartment: try compartment(group, accessibility, device: device),
            recordRevision: dot.revision)
        items.append(DraftItem(id: id(), key: key, created: milliseconds, value: value))
        items.sort { ByteOrder.isLess($0.key, $1.key) }
        return items.first { $0.value.dot == dot }?.id ?? .zero
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
        value.dot = dot()
        value.recordRevision = value.dot.revision
        value.modified = milliseconds
        value.key = key
        if value.secret != secret { (value.secret, value.secretDot) = (secret, value.dot) }
        if let attributes {
            value.attributes = attributes.sorted { $0.name < $1.name }.map { new in
                var new = new
                let same = old.attributes.first {
                    $0.name == new.name && $0.value == new.value && $0.flags == new.flags
                }
                new.dot = same?.dot ?? value.dot
                return new
            }
        }
        value.record = nil
        items[index].value = value
        guard ring.keeping.count > 0 else { return }
        try keep(&old, of: index)
    }

    /// Makes an earlier value of what an item has no more.
    private mutating func keep(_ old: inout DraftValue, of index: Int) throws {
        let value = items[index].value
        old.hasSecret = old.secretDot != value.secretDot
        if !old.hasSecret { old.secret = [] }
        old.attributes.removeAll { attribute in
            guard attribute.flags & 1 != 0 else { return !old.hasSecret }
            return value.attributes.contains { $0.name == attribute.name && $0.dot == attribute.dot }
        }
        guard old.hasSecret || !old.attributes.isEmpty else { return }
        let owners = try ownersCompartment(for: old.compartment)
        old.compartment = owners
        old.recordRevision = revision()
        old.record = nil
        old.replaced = milliseconds
        for place in old.attributes.indices where old.attributes[place].isLarge {
            // A record that the live item still refers to is shared.
            if value.attributes.contains(where: { $0.isSameRecord(old.attributes[place]) }) { continue }
            old.attributes[place].record = nil
            old.attributes[place].compartment = owners
            old.attributes[place].revision = revision()
        }
        items[index].versions.append(old)
        if items[index].versions.count > ring.keeping.count { items[index].versions.removeFirst() }
        items[index].frame = nil
    }

    /// The compartment of group 0 for values that are in a compartment of an item.
    package mutating func ownersCompartment(for compartment: UInt64) throws -> UInt64 {
        let source = ring.compartments.first { $0.number == compartment }
        let isBound = source?.isDeviceBound == true
        return try self.compartment(Keyring.ownersGroup, isBound ? 5 : 1, device: source?.device ?? .zero)
    }

    package mutating func rename(_ key: [UInt8], to new: [UInt8]) throws {
        let index = try index(key)
        let dot = dot()
        items[index].key = new
        items[index].value.key = new
        (items[index].value.dot, items[index].value.keyDot) = (dot, dot)
        items[index].value.recordRevision = dot.revision
        items[index].value.record = nil
        items.sort { ByteOrder.isLess($0.key, $1.key) }
    }

    package mutating func remove(_ key: [UInt8]) throws {
        items.remove(at: try index(key))
        _ = dot()
    }

    // MARK: rotation

    /// Replaces every key, adds a hand-over, and compacts; the closure makes the slots, under the ids that they have.
    package mutating func rotate(restarts: Bool = false, _ slots: (inout Draft) throws -> Void) throws {
        let (old, before) = (keys, vector)
        guard let epoch = Bytes32(random.bytes(32)) else { throw ForgeError("sizes") }
        header.epoch = epoch
        keys = ForgeKeys(vault: old.vault, vaultKey: random.bytes(32), epoch: epoch)
        keys.devices = old.devices
        ring.vaultKey = dot()
        if restarts { restart() }
        let (groups, compartments) = (ring.groups, ring.compartments)
        (ring.groups, ring.compartments) = ([], [])
        var newGroups: [UInt64: UInt64] = [Keyring.ownersGroup: Keyring.ownersGroup]
        for group in groups { newGroups[group.number] = addGroup(group.name) }
        var moved: [UInt64: UInt64] = [:]
        for info in compartments {
            guard let group = newGroups[info.group] else { throw ForgeError("a compartment without a group") }
            moved[info.number] = try addCompartment(group, info.accessibility, device: info.device)
        }
        for index in ring.slots.indices {
            ring.slots[index].grants = ring.slots[index].grants.map { grant in
                SlotDots.Grant(group: newGroups[grant.group] ?? grant.group, dot: grant.dot)
            }.sorted { $0.group < $1.group }
        }
        for index in items.indices {
            for place in items[index].places { items[index][place].reseal(moved, revision()) }
        }
        handOver(from: old, before)
        header.slots = []
        try slots(&self)
        try compact()
    }

    /// Lets every dot before the rotation's be known by its revision. All revisions differ, whatever their ids.
    private mutating func restart() {
        let floor = ring.vaultKey.revision - 1
        vector = Vector(floor: floor)
        vector.include(replica, ring.vaultKey.revision)
        func below(_ dot: inout StoredDot) { dot.position = dot.revision <= floor ? 0 : 1 }
        below(&ring.vaultKey)
        below(&ring.keeping.dot)
        for index in ring.slots.indices { ring.slots[index].mapDots(below) }
        for index in items.indices { items[index].mapDots(below) }
        forgotten = forgotten.map { value in
            ForgottenValue(dot: Dot(revision: value.dot.revision, replica: 0), kind: value.kind, name: value.name)
        }
    }

    /// Adds a hand-over of a vector from other keys to the present ones.
    package mutating func handOver(from old: ForgeKeys, _ vector: Vector) {
        let message = Bindings.handOver(keys.vault, vector, next: keys.publicKey)
        handedOver.append(
            DraftHandOver(
                publicKey: old.publicKey, next: keys.publicKey, vector: vector,
                signature: Plain.sign(message, seed: old.signingSeed)))
    }

    // MARK: numbers

    package mutating func revision() -> UInt64 {
        clock += 1
        vector.include(replica, clock)
        return clock
    }

    /// The dot of a new change.
    package mutating func dot() -> StoredDot {
        let revision = revision()
        return StoredDot(revision, vector.position(of: replica) ?? 0)
    }

    /// Goes on under another id.
    package mutating func change(to id: ReplicaID? = nil) { replica = id ?? Draft.number(random) }

    private var milliseconds: Int64 { Int64(clock >> 16) }

    package func nonce() -> [UInt8] { random.bytes(Format.nonceSize) }
    package func id() -> Bytes16 { Bytes16(random.bytes(16)) ?? .zero }
    private func number() -> UInt64 { Draft.number(random) }

    private static func number(_ random: Randomness) -> UInt64 {
        random.bytes(8).reduce(0) { $0 << 8 | UInt64($1) } >> 1 | 1
    }
}
