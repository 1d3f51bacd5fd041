internal import VaultBytes
internal import VaultCrypto
internal import VaultStore

/// The keys and readers of a damaged vault: like a `Store`, but tolerant of missing parts.
final class SalvageStore: RecordReading {
    /// The file that is read, with the objects at the offsets for which they were sealed.
    let file: any FileHandle
    let header: Header
    let sealing: Sealing
    let pages: PageSource
    let finder: StateFinder
    private let slot: OpenedSlot
    /// The owners' public key.
    let owners: OwnersPublicKey
    /// The keyring in use; nil until a keyring has been found.
    private var keyring: Keyring?
    private(set) var view = SalvageStore.emptyView
    private(set) var forgeable: Forgeable
    /// The objects that holders of scoped slots could have forged, according to the header.
    private var forgeableByHeader: Forgeable
    /// True if an owner's commit refers to the current keyring.
    private(set) var isKeyringProven = false
    private let device: SecretBox?
    private let deviceID: Bytes16
    private let locator: SecretBox
    private let past: SecretBox
    private var keys: [UInt64: SecretBox] = [:]

    fileprivate static let ownersOnly = VaultError(.notPermitted, "salvaging needs a full slot")

    init(
        _ file: any FileHandle, _ found: SalvageHeader, _ slot: consuming OpenedSlot, _ deviceID: Bytes16,
        _ device: SecretBox?
    ) throws(VaultError) {
        (locator, past) = try slot.keys.asOwner(else: Self.ownersOnly) { (owner) throws(VaultError) in
            (SecretBox(owner.locator.copy()), SecretBox(owner.past.copy()))
        }
        owners = OwnersPublicKey(slot.keys.ownersPublicKey())
        self.file = file
        header = found.header
        sealing = Sealing(vault: header.id, random: .system)
        pages = PageSource(
            file: file, sealing: sealing, bodyStart: header.bodyStart, indexKey: slot.keys.index.copy(),
            cacheBytes: 8 << 20)
        let codec = CommitCodec(slot.keys, sealing: sealing, vault: header.id, isSigning: header.isSigned)
        var hash = Bytes32.zero
        do throws(VaultError) { hash = try HeaderSeal.checkHash(found.bytes) } catch {
            // The header is then not recorded in any commit and counts as unproven.
        }
        finder = StateFinder(file: file, codec: codec, vault: header.id, bodyStart: header.bodyStart, headerHash: hash)
        forgeableByHeader = Forgeable(header, slot.keys)
        forgeable = forgeableByHeader
        self.device = device
        self.deviceID = deviceID
        self.slot = slot
    }

    /// Opens records with this keyring from now on. If other people have the index key, an unproven keyring does not
    /// show who could have made which objects.
    func use(_ keyring: Keyring, isProven: Bool) {
        isKeyringProven = isProven
        forgeable = isProven || !forgeableByHeader.hasIndex ? forgeableByHeader : .everything
        guard self.keyring != keyring else { return }
        self.keyring = keyring
        view = KeyringView(keyring)
        keys = [:]
    }

    private static var emptyView: KeyringView {
        let dot = StoredDot(1, 0)
        return KeyringView(Keyring(keeping: Keyring.Keeping(count: 0, dot: dot), vaultKey: dot))
    }

    /// Treats the header as unproven: a header that is not recorded in a commit proves nothing about its slots.
    func distrust() {
        forgeableByHeader = .everything
        forgeable = .everything
    }

    /// Returns the slots other than the one that was opened, with their names if those can be read: either the known
    /// slots, which can be recreated with their factors, or the unknown slots.
    func otherSlots(known: Bool) -> [SlotInfo] {
        header.slots.filter { $0.isOpaque != known && $0.id != slot.id }.map { slot in
            do throws(VaultError) { return SlotInfo(slot, part: try ownerPart(slot), dots: nil) } catch {
                return SlotInfo(slot, dots: nil)
            }
        }
    }

    private func ownerPart(_ slot: Slot) throws(VaultError) -> OwnerPart {
        try self.slot.keys.asOwner(else: Self.ownersOnly) { (owner) throws(VaultError) in
            try SlotSeal.openOwner(slot, vault: header.id, keys: owner).part
        }
    }

    // MARK: records

    /// Returns whether anyone other than an owner could have made a record of this compartment.
    func isForgeable(_ compartment: UInt64) -> Bool {
        view.compartment(compartment).map { forgeable.contains(group: $0.group.number) } ?? true
    }

    /// Returns whether the compartment holds earlier values.
    func isOwners(_ compartment: UInt64) -> Bool { view.compartment(compartment)?.isOwners ?? false }

    /// A trial that opens records with the keys unwrapped so far.
    var recordTrial: RecordTrial { RecordTrial(file, sealing, locator: locator, keys: keys) }

    /// Throws if the key of the compartment in a record's locator is unknown or cannot be opened.
    func requireKey(of identity: Sealing.RecordIdentity, at offset: UInt64) throws(VaultError) {
        _ = try key(identity.compartment, at: offset)
    }

    func open(_ frame: [UInt8], _ identity: Sealing.RecordIdentity, at offset: UInt64) throws(VaultError) -> Secret {
        let key = try key(identity.compartment, at: offset)
        return try frame.span.bytes.withUnsafeBytes { (frame) throws(VaultError) in
            try RecordCodec.open(frame, identity, key: key.secret, sealing, at: offset)
        }
    }

    /// Returns the body of a record that was found without the index.
    func open(_ record: SalvageScan.Record) throws(VaultError) -> Secret {
        try open(try file.bytes(record.length, at: record.offset), record.identity, at: record.offset)
    }

    /// Reads a frame that another frame, at `referrer`, refers to; checks the reference, hash and head.
    func frame(_ ref: ObjectRef, _ type: FrameType, before referrer: UInt64) throws(VaultError) -> [UInt8] {
        try decoding { () throws(FormatError) in try ref.check(type, from: header.bodyStart, before: referrer) }
        return try FrameReader.read(ref, type, file)
    }

    /// Returns the item key in the body of a record that authenticated.
    func key(of record: SalvageScan.Record) throws(VaultError) -> ItemKey {
        try open(record).withSpan { (body) throws(VaultError) in
            switch try RecordCodec.found(body, at: record.offset) {
            case .item(let key, _, _): key
            case .attribute(let key, _, _, _): key
            }
        }
    }

    // MARK: reading

    var ownersPublicKey: Bytes32 { slot.keys.ownersPublicKey() }

    var limit: Int { view.keyring.keeping.count }

    /// The check for entries of any state: salvaged objects may be newer than every commit.
    var entryCheck: EntryCheck { EntryCheck(view, clock: Format.Limit.number, floor: floor) }

    /// The floor of the newest commit that was found.
    var floor: UInt64 = 0

    func key(_ compartment: UInt64) throws(VaultError) -> SecretBox { try key(compartment, at: 0) }

    func pastKey() throws(VaultError) -> SecretBox { past }

    func vector() throws(VaultError) -> Vector {
        throw VaultError(.structureInvalid, "the vector of a damaged vault is not used")
    }

    /// Returns the whole state of an item. Positions are used as replica ids, so no vector is needed, but the dots are
    /// not valid in any vault.
    func state(of item: Item, _ past: Past?) throws(VaultError) -> ItemState {
        try ItemStates(standingInFor: item, past, floor: floor).state(of: item, past)
    }

    private func key(_ number: UInt64, at offset: UInt64) throws(VaultError) -> SecretBox {
        if let known = keys[number] { return known }
        guard let compartment = view.compartment(number) else {
            throw VaultError(.authenticationFailed, "a record's compartment is unknown", at: offset)
        }
        let opened = SecretBox(
            try Wrapping.compartmentKey(
                compartment.info, try groupKey(compartment).secret, vault: header.id, device: device, deviceID: deviceID
            ))
        keys[number] = opened
        return opened
    }

    private func groupKey(_ compartment: KeyringView.Compartment) throws(VaultError) -> SecretBox {
        guard compartment.isOwners else {
            return SecretBox(try Wrapping.groupKey(compartment.group, slot.keys, header.id))
        }
        return try slot.keys.asOwner(else: Self.ownersOnly) { (owner) throws(VaultError) in
            SecretBox(owner.earlier.copy())
        }
    }
}

/// The objects that holders of scoped slots could have forged: pages, keyrings, and the records of the groups that the
/// slots open. If there are no scoped slots, everything that authenticates was made by an owner.
struct Forgeable {
    /// True if pages and keyrings could have been forged.
    let hasIndex: Bool
    /// The groups whose records could have been forged; nil for all groups.
    private let groups: Set<UInt64>?

    static let everything = Forgeable(hasIndex: true, groups: nil)

    private init(hasIndex: Bool, groups: Set<UInt64>?) {
        self.hasIndex = hasIndex
        self.groups = groups
    }

    /// Determines the forgeable objects from an authentic header. A slot whose kind is unknown or whose owner part
    /// cannot be opened could grant anything.
    init(_ header: Header, _ keys: borrowing VaultKeys) {
        let others = header.slots.filter { $0.kind != .full }
        var groups: Set<UInt64>? = []
        for slot in others {
            do throws(VaultError) { groups?.formUnion(try Self.groups(of: slot, header, keys)) } catch { groups = nil }
        }
        self.init(hasIndex: !others.isEmpty, groups: groups)
    }

    func contains(group: UInt64) -> Bool {
        // No one else has the key of the owners' group, which is derived from the vault key.
        guard group != Keyring.ownersGroup else { return false }
        return groups?.contains(group) ?? true
    }

    private static func groups(of slot: Slot, _ header: Header, _ keys: borrowing VaultKeys) throws(VaultError)
        -> [UInt64]
    {
        try keys.asOwner(else: SalvageStore.ownersOnly) { (owner) throws(VaultError) in
            guard slot.kind == .scoped else { throw VaultError(.structureInvalid, "a slot has an unknown kind") }
            let part = try SlotSeal.openOwner(slot, vault: header.id, keys: owner)
            return try SlotOpener.grants(slot, header.id, wrappingKey: part.wrappingKey.secret).numbers
        }
    }
}
