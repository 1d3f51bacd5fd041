internal import VaultBytes

/// The keys and readers of a damaged vault: like a `Store`, but content with what there is.
final class SalvageStore {
    private let file: any FileHandle
    let header: Header
    let sealing: Sealing
    let pages: PageSource
    let finder: StateFinder
    private let slot: OpenedSlot
    private(set) var view = KeyringView(Keyring())
    private(set) var forgeable: Forgeable
    /// As far as the header tells.
    private var forgeableByHeader: Forgeable
    /// Whether an owner's commit names the keyring that is used.
    private(set) var isKeyringProven = false
    private let device: SecretBox?
    private let deviceID: Bytes16
    private var keys: [UInt64: SecretBox] = [:]

    fileprivate static let ownersOnly = VaultError(.notPermitted, "salvaging needs a full slot")

    private init(
        _ file: any FileHandle, _ found: SalvageHeader, _ slot: consuming OpenedSlot, _ deviceID: Bytes16,
        _ device: SecretBox?
    ) throws(VaultError) {
        guard slot.keys.isOwner else { throw Self.ownersOnly }
        self.file = file
        header = found.header
        sealing = Sealing(vault: header.id, random: .system)
        pages = PageSource(
            file: file, sealing: sealing, bodyStart: header.bodyStart, indexKey: slot.keys.index.copy(),
            cacheBytes: 8 << 20)
        let codec = CommitCodec(slot.keys, sealing: sealing, vault: header.id, isSigning: header.isSigned)
        var hash = Bytes32.zero
        do throws(VaultError) { hash = try HeaderSeal.checkHash(found.bytes) } catch {
            // No commit states it then, and the header counts as unproven.
        }
        finder = StateFinder(file: file, codec: codec, vault: header.id, bodyStart: header.bodyStart, headerHash: hash)
        forgeableByHeader = Forgeable(header, slot.keys)
        forgeable = forgeableByHeader
        self.device = device
        self.deviceID = deviceID
        self.slot = slot
    }

    /// Opens the first header that these factors fit and that a commit with a valid proof states; if there is none, the
    /// first that they fit.
    static func open(
        _ file: any FileHandle, _ factors: borrowing Factors, _ limits: ReaderLimits, _ device: consuming Device?,
        _ owners: OwnersPublicKey?, _ report: inout SalvageReport
    ) throws(VaultError) -> (store: SalvageStore, scan: SalvageScan) {
        let (deviceID, secret) = parts(device)
        var first: (found: SalvageHeader, store: SalvageStore, scan: SalvageScan)?
        var failure: VaultError?
        for found in try SalvageHeader.candidates(file) {
            do throws(VaultError) {
                let slot = try SlotOpener.open(
                    found.header, found.bytes, factors.keys, limits, external: factors.provider,
                    checkingHeader: found.isWhole)
                try Store.requireOwner(slot, owners?.value)
                let store = try SalvageStore(file, found, slot, deviceID, secret)
                let scan = try SalvageScan(file, store)
                if first == nil { first = (found, store, scan) }
                guard scan.provesHeader else { continue }
                if found.offset > 0 { report.notes.append("the header is damaged: its copy was used") }
                return (store, scan)
            } catch {
                guard error.code != .io else { throw error }
                if failure == nil || error.code == .foreignOwner { failure = error }
            }
        }
        guard let first else {
            throw failure ?? VaultError(.headerInvalid, "neither the header nor its copy can be read")
        }
        report.notes.append(
            "no commit proves the header that was used: its slots or extensions may have been damaged or altered")
        first.store.distrust()
        return (first.store, first.scan)
    }

    private static func parts(_ device: consuming Device?) -> (Bytes16, SecretBox?) {
        guard let device = consume device else { return (.zero, nil) }
        return (device.id.bytes, SecretBox(device.secret.copy()))
    }

    /// Opens records with this keyring from now on. One that no owner's commit names says nothing about who could have
    /// made what, if others have the index key.
    func use(_ keyring: Keyring, isProven: Bool) {
        isKeyringProven = isProven
        forgeable = isProven || !forgeableByHeader.hasIndex ? forgeableByHeader : .everything
        guard view.keyring != keyring else { return }
        view = KeyringView(keyring)
        keys = [:]
    }

    /// A header that no commit states proves nothing about its slots.
    private func distrust() {
        forgeableByHeader = .everything
        forgeable = .everything
    }

    /// The slots other than the one that opened, with their names as far as those can be read: those that this version
    /// knows, which can be made again with their factors, or those that it does not know.
    func otherSlots(known: Bool) -> [SlotInfo] {
        header.slots.filter { $0.isOpaque != known && $0.id != slot.id }.map { slot in
            do throws(VaultError) { return SlotInfo(slot, part: try ownerPart(slot)) } catch { return SlotInfo(slot) }
        }
    }

    private func ownerPart(_ slot: Slot) throws(VaultError) -> OwnerPart {
        try self.slot.keys.asOwner(else: Self.ownersOnly) { (owner) throws(VaultError) in
            try SlotSeal.openOwner(slot, vault: header.id, keys: owner).part
        }
    }

    // MARK: records

    /// Whether anybody other than an owner could have made a record of this compartment.
    func isForgeable(_ compartment: UInt64) -> Bool {
        view.compartment(compartment).map { forgeable.contains(group: $0.group.number) } ?? true
    }

    /// Whether it holds earlier values.
    func isOwners(_ compartment: UInt64) -> Bool { view.compartment(compartment)?.isOwners ?? false }

    /// What a record's locator says of it.
    func claimedIdentity(_ frame: [UInt8]) -> Sealing.RecordIdentity {
        frame.withUnsafeBytes { frame in
            switch slot.keys.owner {
            case .some(let owner): sealing.claimedIdentity(frame, locatorKey: owner.locator)
            case .none: preconditionFailure("only owners salvage")
            }
        }
    }

    /// Throws if the key that a record claims to be sealed under is not known, or cannot be opened.
    func requireKey(of identity: Sealing.RecordIdentity, at offset: UInt64) throws(VaultError) {
        _ = try key(identity.compartment, at: offset)
    }

    func open(_ frame: [UInt8], _ identity: Sealing.RecordIdentity, at offset: UInt64) throws(VaultError) -> Secret {
        let key = try key(identity.compartment, at: offset)
        return try frame.span.bytes.withUnsafeBytes { (frame) throws(VaultError) in
            try RecordCodec.open(frame, identity, key: key.secret, sealing, at: offset)
        }
    }

    /// The body of a record that was found by itself.
    func open(_ record: SalvageScan.Record) throws(VaultError) -> Secret {
        try open(try file.bytes(record.length, at: record.offset), record.identity, at: record.offset)
    }

    /// The body of a record that a frame at `referrer` refers to.
    func open(_ place: RecordRef, of item: Bytes16, before referrer: UInt64) throws(VaultError) -> Secret {
        try open(try frame(place.record, .record, before: referrer), place.identity(of: item), at: place.record.offset)
    }

    /// A frame that another one, at `referrer`, refers to; the reference, its hash and its head are checked.
    func frame(_ ref: ObjectRef, _ type: FrameType, before referrer: UInt64) throws(VaultError) -> [UInt8] {
        try decoding { () throws(FormatError) in try ref.check(type, from: header.bodyStart, before: referrer) }
        return try FrameReader.read(ref, type, file)
    }

    /// The key that a record, which authenticated, has in its body.
    func key(of record: SalvageScan.Record) throws(VaultError) -> ItemKey {
        try open(record).withSpan { (body) throws(VaultError) in
            switch try RecordCodec.found(body, at: record.offset) {
            case .item(let key, _, _): key
            case .attribute(let key, _, _, _): key
            }
        }
    }

    private func key(_ number: UInt64, at offset: UInt64) throws(VaultError) -> SecretBox {
        if let known = keys[number] { return known }
        guard let compartment = view.compartment(number) else {
            throw VaultError(.authenticationFailed, "a record's compartment is not known", at: offset)
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

/// What the holders of scoped slots could have made themselves: pages and keyrings, and the records of the groups that
/// they open. If there is no scoped slot, an owner made all that authenticates.
struct Forgeable {
    /// Whether pages and keyrings are.
    let hasIndex: Bool
    /// Nil: of all groups.
    private let groups: Set<UInt64>?

    static let everything = Forgeable(hasIndex: true, groups: nil)

    private init(hasIndex: Bool, groups: Set<UInt64>?) {
        self.hasIndex = hasIndex
        self.groups = groups
    }

    /// From a header that authenticates. A slot whose owner part does not open, or of an unknown kind, could grant
    /// anything.
    init(_ header: Header, _ keys: borrowing VaultKeys) {
        let others = header.slots.filter { $0.kind != .full }
        var groups: Set<UInt64>? = []
        for slot in others {
            do throws(VaultError) { groups?.formUnion(try Self.groups(of: slot, header, keys)) } catch { groups = nil }
        }
        self.init(hasIndex: !others.isEmpty, groups: groups)
    }

    func contains(group: UInt64) -> Bool {
        // Nobody else holds the key of the owners' group, which follows from the vault key.
        guard group != Keyring.ownersGroup else { return false }
        return groups?.contains(group) ?? true
    }

    private static func groups(of slot: Slot, _ header: Header, _ keys: borrowing VaultKeys) throws(VaultError)
        -> [UInt64]
    {
        try keys.asOwner(else: SalvageStore.ownersOnly) { (owner) throws(VaultError) in
            guard slot.kind == .scoped else { throw VaultError(.structureInvalid, "a slot of an unknown kind") }
            let part = try SlotSeal.openOwner(slot, vault: header.id, keys: owner)
            return try SlotOpener.grants(slot, header.id, wrappingKey: part.wrappingKey.secret).numbers
        }
    }
}
